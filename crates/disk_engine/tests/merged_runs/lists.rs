//! Lists: what merges of lists tell is what their histories did.

use crate::history::{Changes, History, Sources, State, any_history, apply, fresh, out_edges};
use crate::list_records::{Key, MemorySource, Merged, merged};
use evergraph_disk_engine::format::operation::RecordOperation::{self, Delete, Insert, Replace, Set};
use evergraph_disk_engine::format::subject::Subject;
use evergraph_disk_engine::merge::delete_rule::{Below, DeleteRule};
use evergraph_disk_engine::merge::list_merge::ListMerge;
use evergraph_disk_engine::merge::merge_error::MergeError;
use evergraph_disk_engine::merge::merged_run::Origin;
use evergraph_graph::id::{GroupId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use proptest::prelude::*;
use std::collections::BTreeMap;

const KEEP: Below = Below::OlderRecords;

fn rule(below: Below) -> DeleteRule {
    DeleteRule::new(below, [])
}

fn edge(neighbor: u32) -> Key {
    (out_edges(), 1, neighbor, 0)
}

/// A level of these records.
fn level(records: &[(Key, RecordOperation)]) -> MemorySource {
    MemorySource::new(records, None, |_| false)
}

/// A stamped file of these records.
fn stamped(records: &[(Key, RecordOperation, u64)]) -> MemorySource {
    let operations: Vec<_> = records.iter().map(|record| (record.0, record.1)).collect();
    let stamps: Vec<_> = records.iter().map(|record| Timestamp(record.2)).collect();
    MemorySource::new(&operations, Some(&stamps), |_| false)
}

fn operations(output: &[Merged]) -> Vec<(Key, RecordOperation)> {
    output.iter().map(|record| (record.key, record.operation)).collect()
}

fn origin(source: usize, rank: u64) -> Origin {
    Origin { source, rank }
}

#[test]
fn a_delete_above_older_files_stays() {
    let (output, _) = merged(vec![level(&[(edge(3), Delete)])], Timestamp::MAX, rule(KEEP)).unwrap();
    assert_eq!(operations(&output), [(edge(3), Delete)], "an older file still has the edge");
    let output = merged(
        vec![stamped(&[(edge(3), Delete, 9)]), level(&[(edge(2), Insert)])],
        Timestamp::MAX,
        rule(KEEP),
    );
    assert_eq!(operations(&output.unwrap().0), [(edge(2), Insert), (edge(3), Delete)]);
}

#[test]
fn a_delete_with_nothing_below_goes() {
    let sources = || vec![level(&[(edge(3), Delete), (edge(4), Insert), (edge(5), Delete)])];
    let (output, _) = merged(sources(), Timestamp::MAX, rule(Below::Nothing)).unwrap();
    assert_eq!(operations(&output), [(edge(4), Insert)]);
    assert_eq!(output[0].base, origin(0, 1));
}

#[test]
fn a_delete_and_the_insert_after_it_are_a_replace() {
    let (sources, inserts) = (
        vec![stamped(&[(edge(3), Insert, 8)]), stamped(&[(edge(3), Delete, 5)])],
        vec![level(&[(edge(3), Insert)])],
    );
    let (output, counts) = merged(sources, Timestamp::MAX, rule(KEEP)).unwrap();
    assert_eq!(operations(&output), [(edge(3), Replace)], "the edge is counted below");
    assert_eq!(output[0].base, origin(0, 0));
    assert_eq!(counts, [], "it is still one edge");
    let replaced = vec![level(&[(edge(3), Replace)])].into_iter().chain(inserts).collect();
    let (output, counts) = merged(replaced, Timestamp::MAX, rule(Below::Nothing)).unwrap();
    assert_eq!(operations(&output), [(edge(3), Insert)], "nothing is below any more");
    assert_eq!(counts[0].difference, 1);
}

#[test]
fn sets_lie_on_the_record_that_they_fall_on_the_oldest_first() {
    let sources = vec![
        stamped(&[(edge(3), Set, 8), (edge(3), Set, 9)]),
        stamped(&[(edge(3), Set, 7)]),
        level(&[(edge(2), Insert), (edge(3), Insert)]),
    ];
    let (output, _) = merged(sources, Timestamp::MAX, rule(KEEP)).unwrap();
    assert_eq!(operations(&output), [(edge(2), Insert), (edge(3), Insert)]);
    assert_eq!(output[1].base, origin(2, 1));
    assert_eq!(output[1].later_sets, [origin(1, 0), origin(0, 0), origin(0, 1)]);
}

#[test]
fn a_list_of_one_source_is_one_property_run() {
    let list = |vertex: u32| (0..9_u32).map(move |neighbor| ((out_edges(), vertex, neighbor, 0), Insert));
    let whole: Vec<_> = list(1).chain(list(2)).collect();
    let sources = vec![level(&[((out_edges(), 1, 4, 0), Set)]), level(&whole)];
    let mut merge = ListMerge::new(sources, Timestamp::MAX, rule(KEEP));
    let mut found = Vec::new();
    while let Some(run) = merge.next_run().unwrap() {
        let runs = run.property_runs.iter().map(|one| (one.first, one.count));
        found.push((run.list.vertex.0, run.neighbors.len(), runs.collect::<Vec<_>>()));
    }
    let first = (1, 5, vec![(origin(1, 0), 5)]);
    assert_eq!(found, [first, (1, 4, vec![(origin(1, 5), 4)]), (2, 9, vec![(origin(1, 9), 9)])]);
}

#[test]
fn vertices_are_counted_by_their_own_group() {
    let vertex = |vertex: u32| (Subject::VERTICES, 0, vertex, 0);
    let sources = vec![
        level(&[(vertex(4), Delete), (vertex(5000), Delete)]),
        level(&[(vertex(3), Insert), (vertex(4096), Insert), (vertex(4097), Insert), (vertex(5000), Insert)]),
    ];
    let (_, counts) = merged(sources, Timestamp::MAX, rule(KEEP)).unwrap();
    let counts: Vec<_> = counts.iter().map(|count| (count.group, count.difference)).collect();
    assert_eq!(counts, [(GroupId(1), 2)], "one came and one went in the first group");
}

#[test]
fn records_that_exclude_each_other_are_named() {
    let twice = vec![level(&[(edge(3), Insert)]), level(&[(edge(3), Insert)])];
    let error = merged(twice, Timestamp::MAX, rule(KEEP)).unwrap_err();
    assert_eq!(
        error,
        MergeError::Inexact {
            subject: out_edges(),
            vertex: VertexId(1),
            neighbor: VertexId(3),
            before: Some(Insert),
            later: Insert
        }
    );
    let descending = vec![level(&[(edge(3), Insert), (edge(2), Insert)]), level(&[(edge(4), Insert)])];
    let error = merged(descending, Timestamp::MAX, rule(KEEP)).unwrap_err();
    assert_eq!(error, MergeError::Disordered { source: 0, subject: out_edges() });
}

#[test]
fn a_long_list_is_merged_piece_by_piece() {
    let records = |step: usize| (0..40_000_u32).step_by(step).map(|neighbor| (edge(neighbor), Insert));
    let (even, odd) = (records(2).collect::<Vec<_>>(), records(2).map(|(key, one)| (edge(key.2 + 1), one)));
    let odd: Vec<_> = odd.filter(|(key, _)| key.2 % 1001 == 0).collect();
    let sources = vec![
        MemorySource::new(&odd, None, |rank| rank % 3 == 0),
        MemorySource::new(&even, None, |rank| rank % 5000 == 0),
    ];
    let (output, _) = merged(sources, Timestamp::MAX, rule(KEEP)).unwrap();
    assert_eq!(output.len(), even.len() + odd.len());
    assert!(output.is_sorted_by(|left, right| left.key < right.key));
}

/// Applies the output of a merge to what lay below it; each record must be exact there.
fn replay(
    below: &State,
    output: &[Merged],
    changes_at: impl Fn(Origin) -> (RecordOperation, Changes),
) -> Result<State, TestCaseError> {
    let mut state = below.clone();
    for record in output {
        let (operation, base) = changes_at(record.base);
        let is_below = below.contains_key(&record.key);
        prop_assert_eq!(is_below, record.operation != Insert, "records are exact: {:?}", record);
        let mut values = match record.operation {
            Delete => {
                prop_assert!(record.later_sets.is_empty());
                state.remove(&record.key);
                continue;
            }
            Insert | Replace => {
                prop_assert!(
                    matches!(operation, Insert | Replace),
                    "{:?} begins with a {:?}",
                    record,
                    operation
                );
                fresh(&base)
            }
            Set => {
                prop_assert_eq!(operation, Set);
                let mut values = below[&record.key].clone();
                apply(&mut values, &base);
                values
            }
        };
        for set in &record.later_sets {
            let (operation, changes) = changes_at(*set);
            prop_assert_eq!(operation, Set);
            apply(&mut values, &changes);
        }
        state.insert(record.key, values);
    }
    Ok(state)
}

fn check(
    history: &History,
    cuts: &[usize],
    levels_count: usize,
    until: usize,
    slice_ends: &[bool],
) -> Result<(), TestCaseError> {
    let below = history.state(cuts[0]);
    let is_lowest = below.is_empty() && cuts[0] == 0;
    let Sources { sources, records } = Sources::new(history, cuts, levels_count, slice_ends);
    let rule = rule(if is_lowest { Below::Nothing } else { KEEP });
    let (output, counts) = merged(sources, Timestamp(until as u64), rule).unwrap();
    prop_assert!(output.is_sorted_by(|left, right| left.key < right.key), "one record a key, in order");
    let changes_at = |origin: Origin| {
        let record = &records[origin.source][origin.rank as usize];
        (record.operation, record.changes.clone())
    };
    let wanted = history.state(until);
    let found = replay(&below, &output, changes_at)?;
    prop_assert_eq!(&found, &wanted, "the state after the merge");
    // Counts are sums.
    let mut differences: BTreeMap<(Subject, GroupId), i64> = BTreeMap::new();
    let mut count = |state: &State, sign: i64| {
        for key in state.keys() {
            let vertex = if key.0 == Subject::VERTICES { key.2 } else { key.1 };
            *differences.entry((key.0, VertexId(vertex).group())).or_default() += sign;
        }
    };
    count(&wanted, 1);
    count(&below, -1);
    let wanted_counts = differences.into_iter().filter(|(_, difference)| *difference != 0);
    let found_counts = counts.iter().map(|count| ((count.subject, count.group), count.difference));
    prop_assert!(wanted_counts.eq(found_counts), "counts are sums: {:?}", counts);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_merge_tells_what_its_history_did(
        history in any_history(120),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 2..8),
        from_start in any::<bool>(),
        levels in any::<proptest::sample::Index>(),
        until in any::<proptest::sample::Index>(),
        slice_ends in proptest::collection::vec(proptest::bool::weighted(0.3), 0..20),
    ) {
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(history.0.len() + 1)).collect();
        cuts.sort_unstable();
        if from_start {
            cuts[0] = 0;
        }
        let (levels_count, end) = (levels.index(cuts.len()), cuts[cuts.len() - 1]);
        // Levels hold nothing newer than a reader's timestamp.
        let least = cuts[levels_count];
        check(&history, &cuts, levels_count, least + until.index(end - least + 1), &slice_ends)?;
    }

    #[test]
    fn few_keys_with_long_histories_come_to_one_record_each(
        choices in proptest::collection::vec((0..3_u32, 0..6_u8), 0..150),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 2..12),
        levels in any::<proptest::sample::Index>(),
        slice_ends in proptest::collection::vec(any::<bool>(), 1..9),
    ) {
        let mut state = State::new();
        let mut history = History::default();
        for (at, (neighbor, choice)) in choices.into_iter().enumerate() {
            let key = edge(neighbor);
            let operation = match (state.contains_key(&key), choice) {
                (false, _) => Insert,
                (true, 0..2) => Delete,
                (true, 2) => Replace,
                (true, _) => Set,
            };
            let changes = Changes::from([(choice, Some(at as u32))]);
            let changes = if operation == Delete { Changes::new() } else { changes };
            match operation {
                Delete => drop(state.remove(&key)),
                _ => drop(state.insert(key, fresh(&changes))),
            }
            history.0.push(crate::history::HistoryRecord { key, operation, changes });
        }
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(history.0.len() + 1)).collect();
        cuts.sort_unstable();
        let (levels_count, end) = (levels.index(cuts.len()), cuts[cuts.len() - 1]);
        check(&history, &cuts, levels_count, end, &slice_ends)?;
    }
}
