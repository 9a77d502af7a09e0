//! Entries: merges of index entries, and an index whose scan ends up below commits that it saw.

use evergraph_disk_engine::format::entries::entry::EntryRecord;
use evergraph_disk_engine::format::operation::RecordOperation::{self, Delete, Insert, Set};
use evergraph_disk_engine::format::subject::Subject;
use evergraph_disk_engine::merge::delete_rule::{Below, DeleteRule};
use evergraph_disk_engine::merge::entry_merge::{EntryMerge, EntrySource};
use evergraph_disk_engine::merge::merge_error::MergeError;
use evergraph_graph::id::VertexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::timestamp::Timestamp;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

/// Value and item.
type Entry = (Vec<u8>, ItemId);
type Record = (Entry, RecordOperation, Option<Timestamp>);

struct MemoryEntries {
    records: Vec<Record>,
    position: usize,
}

impl EntrySource for MemoryEntries {
    type Error = Infallible;

    fn entry(&self) -> Option<(Subject, EntryRecord<'_>)> {
        let ((value, item), operation, stamp) = self.records.get(self.position)?;
        let stamp = stamp.unwrap_or(Timestamp::ZERO);
        Some((index(), EntryRecord { value, item: *item, operation: *operation, stamp }))
    }

    fn advance(&mut self) -> Result<(), Infallible> {
        self.position += 1;
        Ok(())
    }
}

fn index() -> Subject {
    Subject::index(4).unwrap()
}

fn entry(value: u8, item: u8) -> Entry {
    (vec![value; usize::from(value % 3) + 1], ItemId::Vertex(VertexId(item.into())))
}

fn merged(
    sources: Vec<Vec<Record>>,
    until: Timestamp,
    rule: DeleteRule,
) -> Result<Vec<(Entry, RecordOperation)>, MergeError<Infallible>> {
    let sources = sources.into_iter().map(|records| MemoryEntries { records, position: 0 }).collect();
    let mut merge = EntryMerge::new(sources, until, rule);
    let mut found = Vec::new();
    while let Some((subject, record)) = merge.next_entry()? {
        assert_eq!((subject, record.stamp), (index(), Timestamp::ZERO));
        found.push(((record.value.to_vec(), record.item), record.operation));
    }
    Ok(found)
}

fn rule(below: Below) -> DeleteRule {
    DeleteRule::new(below, [])
}

fn at(timestamp: u64) -> Option<Timestamp> {
    Some(Timestamp(timestamp))
}

#[test]
fn an_insert_and_a_delete_of_an_entry_stay_a_delete() {
    let (a, all) = (entry(1, 1), Timestamp::MAX);
    let newer = vec![(a.clone(), Insert, at(3)), (a.clone(), Delete, at(5))];
    let upper = merged(vec![newer], all, rule(Below::OlderRecords)).unwrap();
    assert_eq!(upper, [(a.clone(), Delete)], "the scan below may have seen the insert");
    let upper = upper.into_iter().map(|(entry, operation)| (entry, operation, None)).collect();
    let scanned = vec![(a, Insert, None)];
    assert_eq!(merged(vec![upper, scanned], all, rule(Below::Nothing)).unwrap(), []);
}

#[test]
fn a_delete_of_an_index_that_is_being_built_stays() {
    let deleted = || vec![vec![(entry(1, 1), Delete, None)]];
    let building = DeleteRule::new(Below::Nothing, [index()]);
    let found = merged(deleted(), Timestamp::MAX, building).unwrap();
    assert_eq!(found, [(entry(1, 1), Delete)], "the scan will put the entry below");
    let other = DeleteRule::new(Below::Nothing, [Subject::index(5).unwrap()]);
    assert_eq!(merged(deleted(), Timestamp::MAX, other).unwrap(), []);
}

#[test]
fn what_is_no_insert_or_delete_of_an_entry_is_an_error() {
    let error =
        merged(vec![vec![(entry(1, 1), Set, None)]], Timestamp::MAX, rule(Below::Nothing)).unwrap_err();
    assert!(matches!(error, MergeError::Inexact { later: Set, .. }), "{error}");
    let descending = vec![(entry(2, 1), Insert, None), (entry(1, 1), Insert, None)];
    let error = merged(vec![descending], Timestamp::MAX, rule(Below::Nothing));
    assert_eq!(error.unwrap_err(), MergeError::Disordered { source: 0, subject: index() });
}

fn apply(state: &mut BTreeSet<Entry>, entry: &Entry, enters: bool) {
    match enters {
        true => state.insert(entry.clone()),
        false => state.remove(entry),
    };
}

/// What is there after the first `count` changes.
fn state(history: &[(Entry, bool)], count: usize) -> BTreeSet<Entry> {
    let mut state = BTreeSet::new();
    for (entry, enters) in &history[..count] {
        apply(&mut state, entry, *enters);
    }
    state
}

fn entries(found: &[(Entry, RecordOperation)], below: BTreeSet<Entry>) -> BTreeSet<Entry> {
    let mut state = below;
    for (entry, operation) in found {
        apply(&mut state, entry, *operation == Insert);
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn an_index_built_beside_writers_has_what_its_history_left(
        changes in proptest::collection::vec((0..4_u8, 0..3_u8), 1..60),
        join in any::<proptest::sample::Index>(),
        scan in any::<proptest::sample::Index>(),
        cuts in proptest::collection::vec((any::<proptest::sample::Index>(), any::<bool>()), 0..6),
        until in any::<proptest::sample::Index>(),
    ) {
        // An entry enters and leaves in turns.
        let mut present = BTreeSet::new();
        let history: Vec<(Entry, bool)> = changes
            .into_iter()
            .map(|(value, item)| {
                let entry = entry(value, item);
                let enters = present.insert(entry.clone());
                if !enters {
                    present.remove(&entry);
                }
                (entry, enters)
            })
            .collect();
        // The scan sees what was there at some time after the join; records are kept from the join on.
        let join = join.index(history.len());
        let scan = join + scan.index(history.len() + 1 - join);
        let scanned = state(&history, scan).into_iter().map(|entry| (entry, Insert, None)).collect::<Vec<_>>();
        let mut cuts: Vec<_> =
            cuts.into_iter().map(|(cut, stamped)| (join + cut.index(history.len() + 1 - join), stamped)).collect();
        cuts.push((history.len(), true));
        cuts.sort_unstable();
        let mut sources: Vec<Vec<Record>> = Vec::new();
        let (mut start, mut levels_end, mut are_levels) = (join, join, true);
        for (cut, stamped) in cuts {
            are_levels &= !stamped;
            let part = (start..cut).map(|at| {
                let (entry, enters) = history[at].clone();
                (entry, if enters { Insert } else { Delete }, Some(Timestamp(at as u64 + 1)))
            });
            let mut records: Vec<Record> = part.collect();
            records.sort_by_key(|(entry, _, timestamp)| (entry.clone(), *timestamp));
            if are_levels {
                let last: BTreeMap<Entry, RecordOperation> =
                    records.into_iter().map(|(entry, operation, _)| (entry, operation)).collect();
                records = last.into_iter().map(|(entry, operation)| (entry, operation, None)).collect();
                levels_end = cut;
            }
            sources.insert(0, records);
            start = cut;
        }
        let until = levels_end + until.index(history.len() + 1 - levels_end);
        // Before the scan is there, everything is kept; then it lies below.
        let building = DeleteRule::new(Below::Nothing, [index()]);
        let kept = merged(sources.clone(), Timestamp(until as u64), building).unwrap();
        prop_assert!(kept.is_sorted_by(|left, right| left.0 < right.0));
        if until >= scan {
            let below = scanned.iter().map(|record| record.0.clone()).collect();
            prop_assert_eq!(entries(&kept, below), state(&history, until), "over the scan");
            sources.push(scanned);
            let whole = merged(sources, Timestamp(until as u64), rule(Below::Nothing)).unwrap();
            prop_assert!(whole.iter().all(|(_, operation)| *operation == Insert));
            prop_assert_eq!(entries(&whole, BTreeSet::new()), state(&history, until), "with the scan");
        }
    }
}
