//! Hubs: a view reads little more of long lists than what it is asked for.

use evergraph_disk_engine::format::entries::visible_entry::VisibleEntry;
use evergraph_disk_engine::format::subject::{EdgeSide, Subject};
use evergraph_disk_engine::format::tree_key::{ItemKey, ListId};
use evergraph_disk_engine::source::{EntriesSize, ListedItem, PropertyAnswer, PropertyMap, RecordSource};
use evergraph_disk_engine::view::merged_records::MergedRecords;
use evergraph_disk_engine::view::read_source::ReadSource;
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, KeyId, TypeId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::index::entry_range::EntryRange;
use evergraph_storage::view::GroupBits;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A list of so many neighbours, 0, `step`, 2 `step`, ...; it counts what it gives.
#[derive(Default)]
struct Hub {
    count: usize,
    step: usize,
    first: usize,
    deletes: bool,
    given: AtomicUsize,
}

impl ReadSource for Hub {
    type Records<'l> = &'l Self;

    fn at(&self, _: Timestamp) -> &Self {
        self
    }
}

/// Only lists are asked for.
impl RecordSource for &Hub {
    fn presence(&self, _: &[(ListId, ItemKey)], _: &mut [Option<bool>]) -> Result<()> {
        unreachable!("only lists are asked for")
    }

    fn property(&self, _: &[(ListId, ItemKey)], _: KeyId, _: &mut [PropertyAnswer]) -> Result<()> {
        unreachable!("only lists are asked for")
    }

    fn property_map(&self, _: ListId, _: ItemKey, _: &mut PropertyMap) -> Result<()> {
        unreachable!("only lists are asked for")
    }

    fn list(
        &self,
        _: ListId,
        after: Option<ItemKey>,
        limit: usize,
        items: &mut Vec<ListedItem>,
    ) -> Result<bool> {
        let next = after.map_or(0, |after| after.neighbor().0 as usize + 1).saturating_sub(self.first);
        let begin = next.div_ceil(self.step).min(self.count);
        let end = begin.saturating_add(limit).min(self.count);
        items.extend((begin..end).map(|at| ListedItem {
            item: ItemKey::edge(VertexId((self.first + at * self.step) as u32), 0),
            is_present: !self.deletes,
        }));
        self.given.fetch_add(end - begin, Ordering::Relaxed);
        Ok(end < self.count)
    }

    fn between(&self, _: ListId, _: VertexId, _: &mut Vec<ListedItem>) -> Result<()> {
        unreachable!("only lists are asked for")
    }

    fn differences(&self, _: &[ListId], _: &mut [i64]) -> Result<()> {
        unreachable!("only lists are asked for")
    }

    fn group_difference(&self, _: Subject, _: GroupId) -> Result<i64> {
        unreachable!("only lists are asked for")
    }

    fn index_size(&self, _: Subject) -> EntriesSize {
        unreachable!("only lists are asked for")
    }

    fn apply_live(&self, _: GroupId, _: &mut GroupBits) -> Result<()> {
        unreachable!("only lists are asked for")
    }

    fn mark_rows(&self, _: Subject, _: GroupId, _: &mut GroupBits) -> Result<()> {
        unreachable!("only lists are asked for")
    }

    fn index_entries(
        &self,
        _: Subject,
        _: &EntryRange<'_>,
        _: usize,
        _: &mut Vec<VisibleEntry>,
    ) -> Result<()> {
        unreachable!("only lists are asked for")
    }
}

const LIST: ListId = ListId::edges(VertexId(1), TypeId(0), EdgeSide::Out);

fn read(hubs: &[Hub], after: Option<u32>, limit: usize) -> (Vec<usize>, usize) {
    let after = after.map(|after| ItemKey::edge(VertexId(after), 0));
    let mut found = Vec::new();
    MergedRecords::new(hubs, Timestamp(1)).neighbors(LIST, after, limit, &mut found).unwrap();
    let given = hubs.iter().map(|hub| hub.given.swap(0, Ordering::Relaxed)).sum();
    (found.into_iter().map(|(neighbor, _)| neighbor.0 as usize).collect(), given)
}

#[test]
fn the_first_ten_neighbors_of_hubs_cost_little_more_than_ten_a_source() {
    let hub = |step, first| Hub { count: 1 << 30, step, first, ..Hub::default() };
    let hubs = [hub(3, 7), hub(2, 0), hub(1, 1000)];
    let (found, given) = read(&hubs, None, 10);
    assert_eq!(found, [0, 2, 4, 6, 7, 8, 10, 12, 13, 14]);
    assert!(given <= 3 * 20, "{given} items were listed");
    let (found, given) = read(&hubs, Some(5000), 3);
    assert_eq!((found, given <= 3 * 20), (vec![5001, 5002, 5003], true));
}

#[test]
fn deleted_neighbors_are_passed_in_pieces_that_grow() {
    let hubs = [
        Hub { count: 100_000, step: 1, deletes: true, ..Hub::default() },
        Hub { count: 200_000, step: 2, ..Hub::default() },
    ];
    let (found, given) = read(&hubs, None, 4);
    assert_eq!(found, [100_000, 100_002, 100_004, 100_006]);
    assert!(given < 2 * 2 * 100_000 + 200_000, "{given} items were listed");
}

#[test]
fn a_whole_hub_comes_in_bounded_pieces_and_the_newest_source_decides() {
    let hubs = [
        Hub { count: 10_000, step: 90, first: 30, deletes: true, ..Hub::default() },
        Hub { count: 400_000, step: 3, ..Hub::default() },
        Hub { count: 600_000, step: 2, first: 1_000_000, ..Hub::default() },
    ];
    let (found, given) = read(&hubs, None, usize::MAX);
    let is_deleted = |at: &usize| *at >= 30 && (at - 30).is_multiple_of(90) && (at - 30) / 90 < 10_000;
    let is_there = |at: &usize| {
        at.is_multiple_of(3) && at / 3 < 400_000
            || at.is_multiple_of(2) && *at >= 1_000_000 && *at < 2_200_000
    };
    let expected: Vec<_> = (0..2_200_000).filter(|at| is_there(at) && !is_deleted(at)).collect();
    assert_eq!(found.len(), expected.len());
    assert!(found == expected);
    assert!(given < 4 * 1_010_000, "{given} items were listed");
}
