//! Every question that a reader asks of a file, against the model.

use super::model::{FIRST_TS, HUB, HistorySize, KEYS, LAST_TS, Model, below, subjects};
use crate::file::csr_file::CsrFile;
use crate::file::page_reader::PageReader;
use crate::format::file_head::FileStamps;
use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use crate::source::{PropertyAnswer, PropertyMap, RecordSource};
use evergraph_graph::id::{GroupId, KeyId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::view::GroupBits;
use std::sync::Arc;

pub(crate) fn directory() -> Arc<dyn Directory> {
    Arc::new(MemoryDirectory::new("memory"))
}

/// For indexes of files beside the cache; less than a page, so that there is no cache without more.
const INDEXES_BYTES: u64 = 12 << 10;

pub(crate) fn reader(budget_bytes: u64, background: Background) -> Arc<PageReader> {
    PageReader::start(&MemoryBudget::new(INDEXES_BYTES.saturating_add(budget_bytes)), background).unwrap()
}

/// Asks a file.
fn check(model: &Model, file: &CsrFile, until: Timestamp, random: &mut SplitMix64) {
    let seen = if model.stamps == FileStamps::Stamped { until } else { Timestamp::MAX };
    if model.stamps == FileStamps::Unstamped && !file.stored().last_ts.visible_at(until) {
        // All of it or nothing: that of a load that the reader does not see.
        let items: Vec<_> = (0..120).map(|_| model.any_item(random)).collect();
        let mut found = vec![None; items.len()];
        file.at(until).presence(&items, &mut found).unwrap();
        assert!(found.iter().all(Option::is_none), "nothing is seen at {until}");
        return;
    }
    check_records(model, &file.at(until), seen, random);
}

/// Asks `records` all that can be asked, of some items and lists.
pub(crate) fn check_records(
    model: &Model,
    records: &impl RecordSource,
    seen: Timestamp,
    random: &mut SplitMix64,
) {
    let mut items: Vec<_> = (0..60).map(|_| model.any_item(random)).collect();
    if below(random, 2) == 0 {
        items.sort_unstable();
    }
    check_items(model, records, &items, seen);
    let mut lists: Vec<ListId> = items.iter().map(|(list, _)| *list).collect();
    lists.extend(subjects().map(|subject| ListId { subject, vertex: HUB }));
    check_lists(model, records, &lists, seen, random);
    for group in (0..4).map(GroupId) {
        for subject in subjects().into_iter().chain([Subject::VERTICES]) {
            check_group(model, records, subject, group, seen);
        }
        let mut live: GroupBits = std::array::from_fn(|_| random.next_u64());
        let mut expected = live;
        let of_group = |list: ListId| list.subject == Subject::VERTICES && list.vertex.group() == group;
        let mut versions: Vec<_> = model.versions_of(seen, of_group).collect();
        versions.reverse();
        for version in versions {
            let row = usize::from(version.list.vertex.row());
            expected[row / 64] &= !(1 << (row % 64));
            expected[row / 64] |= u64::from(version.operation != RecordOperation::Delete) << (row % 64);
        }
        records.apply_live(group, &mut live).unwrap();
        assert_eq!(live, expected, "{group:?} at {seen}");
    }
}

fn check_items(model: &Model, records: &impl RecordSource, items: &[(ListId, ItemKey)], seen: Timestamp) {
    let mut found = vec![None; items.len()];
    // A newer source has spoken: its answer stays.
    found[3] = Some(false);
    records.presence(items, &mut found).unwrap();
    for (at, (item, found)) in items.iter().zip(&found).enumerate() {
        let expected = if at == 3 { Some(false) } else { model.presence(*item, seen) };
        assert_eq!(*found, expected, "{item:?} at {seen}");
        if at % 5 == 0 {
            let mut one = [None];
            records.presence(&[*item], &mut one).unwrap();
            assert_eq!(one[0], model.presence(*item, seen), "{item:?} at {seen}");
        }
    }
    for key in (0..=KEYS).map(KeyId) {
        // Those of edges are in out lists.
        let items: Vec<_> = items.iter().filter(|(list, _)| list.carries_properties()).copied().collect();
        let mut answers = vec![PropertyAnswer::Undecided; items.len()];
        answers[2] = PropertyAnswer::Value(Value::from(1));
        records.property(&items, key, &mut answers).unwrap();
        for (at, (item, answer)) in items.iter().zip(&answers).enumerate() {
            let expected = model.property(*item, key, seen);
            if at == 2 {
                assert_eq!(*answer, PropertyAnswer::Value(Value::from(1)));
            } else {
                assert_eq!(*answer, expected, "{item:?} {key:?} at {seen}");
            }
            if at % 5 == 0 {
                let mut one = [PropertyAnswer::Undecided];
                records.property(&[*item], key, &mut one).unwrap();
                assert_eq!(one[0], expected, "{item:?} {key:?} at {seen}");
            }
        }
    }
    for item in items.iter().filter(|(list, _)| list.carries_properties()).step_by(3) {
        let mut map = PropertyMap::default();
        map.add(KeyId(1), Some(Value::from(5)));
        let mut expected = map.clone();
        model.property_map(*item, seen, &mut expected);
        records.property_map(item.0, item.1, &mut map).unwrap();
        assert_eq!(map, expected, "{item:?} at {seen}");
    }
}

fn check_lists(
    model: &Model,
    records: &impl RecordSource,
    lists: &[ListId],
    seen: Timestamp,
    random: &mut SplitMix64,
) {
    let mut differences = vec![5; lists.len()];
    records.differences(lists, &mut differences).unwrap();
    for (at, (list, difference)) in lists.iter().zip(&differences).enumerate().step_by(4) {
        let expected = 5 + model.difference(seen, |one| one == *list);
        assert_eq!(*difference, expected, "{list:?} at {seen}");
        let mut one = [5];
        records.differences(&[*list], &mut one).unwrap();
        assert_eq!(one[0], expected, "{list:?} at {seen}, number {at}");
    }
    for list in lists.iter().rev().step_by(3) {
        let expected = model.list(*list, seen);
        let limit = 1 + below(random, 2 + expected.len() as u64 / 2) as usize;
        let mut found = Vec::new();
        loop {
            let (after, before) =
                (found.last().map(|item: &crate::source::ListedItem| item.item), found.len());
            let has_more = records.list(*list, after, limit, &mut found).unwrap();
            assert!(found.len() - before <= limit);
            if !has_more {
                break;
            }
            assert!(found.len() > before, "a piece is not empty while there are more: {list:?}");
        }
        assert_eq!(found, expected, "{list:?} at {seen}");
        let (_, after) = model.any_item(random);
        found.clear();
        records.list(*list, Some(after), 10, &mut found).unwrap();
        if list.subject != Subject::VERTICES {
            let behind: Vec<_> = expected.iter().filter(|one| one.item > after).take(10).copied().collect();
            assert_eq!(found, behind, "{list:?} after {after:?} at {seen}");
            for neighbor in [after.neighbor(), VertexId(20_000), VertexId(20_001), VertexId(3)] {
                let is_parallel = |one: &&crate::source::ListedItem| one.item.neighbor() == neighbor;
                let parallel: Vec<_> = expected.iter().filter(is_parallel).copied().collect();
                found.clear();
                records.between(*list, neighbor, &mut found).unwrap();
                assert_eq!(found, parallel, "{list:?} {neighbor} at {seen}");
            }
        }
    }
}

fn check_group(
    model: &Model,
    records: &impl RecordSource,
    subject: Subject,
    group: GroupId,
    seen: Timestamp,
) {
    let of_group = |list: ListId| list.subject == subject && list.vertex.group() == group;
    let difference = records.group_difference(subject, group).unwrap();
    assert_eq!(difference, model.difference(seen, of_group), "{subject} {group:?} at {seen}");
    let mut rows: GroupBits = [0; 64];
    records.mark_rows(subject, group, &mut rows).unwrap();
    let has = |vertex: VertexId| rows[usize::from(vertex.row()) / 64] >> (vertex.row() % 64) & 1 == 1;
    for version in model.versions_of(seen, of_group) {
        assert!(has(version.list.vertex), "{subject} {} at {seen}", version.list.vertex);
    }
    let mut all: GroupBits = [0; 64];
    for version in model.versions_of(Timestamp::MAX, of_group) {
        let row = usize::from(version.list.vertex.row());
        all[row / 64] |= 1 << (row % 64);
    }
    assert!(rows.iter().zip(&all).all(|(rows, all)| rows & !all == 0), "rows without any record");
}

fn untils(random: &mut SplitMix64) -> [Timestamp; 6] {
    let some = |random: &mut SplitMix64| Timestamp(FIRST_TS + below(random, LAST_TS - FIRST_TS));
    [
        Timestamp(FIRST_TS - 1),
        Timestamp(FIRST_TS),
        some(random),
        some(random),
        Timestamp(LAST_TS),
        Timestamp::MAX,
    ]
}

#[test]
fn a_stamped_file_answers_as_the_model_for_every_reader() {
    for seed in 0..2 {
        let mut random = SplitMix64::new(seed);
        let model = Model::random(seed, FileStamps::Stamped, HistorySize::Large);
        // No page, a few, or all of them fit into the cache.
        let reader = reader([0, u64::MAX][seed as usize % 2], Background::Stepped);
        let file = model.open(&directory(), &reader);
        assert!(file.topology_index().pages().len() > 10 && file.heap_bytes() > 0);
        for until in untils(&mut random) {
            check(&model, &file, until, &mut random);
        }
    }
}

#[test]
fn a_file_without_stamps_answers_as_the_model() {
    for seed in 10..12 {
        let mut random = SplitMix64::new(seed);
        let model = Model::random(seed, FileStamps::Unstamped, HistorySize::Large);
        let reader = reader(40 << 14, Background::Stepped);
        let file = model.open(&directory(), &reader);
        // Every reader that is not older sees all of it, others nothing: it is then of a bulk load.
        assert!(file.at(Timestamp(LAST_TS - 1)).sees_nothing());
        for until in [Timestamp(LAST_TS), Timestamp::MAX] {
            check(&model, &file, until, &mut random);
        }
    }
}

#[test]
fn small_files_answer_as_the_model() {
    for seed in 20..32 {
        let mut random = SplitMix64::new(seed);
        let stamps = [FileStamps::Stamped, FileStamps::Unstamped][seed as usize % 2];
        let model = Model::random(seed, stamps, HistorySize::Small);
        let file = model.open(&directory(), &reader(u64::MAX, Background::Stepped));
        let is_seen = |until: &Timestamp| stamps == FileStamps::Stamped || until.0 >= LAST_TS;
        for until in untils(&mut random).into_iter().filter(is_seen) {
            check(&model, &file, until, &mut random);
        }
    }
}

#[test]
fn readers_that_share_a_small_cache_get_the_same_answers_from_a_removed_file() {
    let model = Model::random(5, FileStamps::Stamped, HistorySize::Small);
    let (directory, reader) = (directory(), reader(3 << 14, Background::Threads));
    let file = model.open(&directory, &reader);
    for name in directory.list().unwrap() {
        directory.remove(&name).unwrap();
    }
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (model, file) = (&model, &file);
            scope.spawn(move || {
                let mut random = SplitMix64::new(seed);
                for until in untils(&mut random) {
                    check(model, file, until, &mut random);
                }
            });
        }
    });
    assert!(reader.statistics().misses > 0);
    reader.close();
}
