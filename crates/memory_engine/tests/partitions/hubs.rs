//! Hubs: lists of a partition that grow until they are taken apart, at every moment from the horizon on.

use crate::parts::{Part, go_on, own};
use evergraph_bodies::edge_body::HUB_DEGREE;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::{Direction, EdgeId, GroupId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor};
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::snapshot::handle::Snapshot;
use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};

/// Rows of a group that are used.
const ROWS: u32 = 4000;

/// The vertex whose list grows: the source of its edges, or the target, both in group 0 of partition 0.
const HUB: VertexId = VertexId::new(GroupId(0), 0);

/// The other end of edge `number`: in groups of partition 1, since half of an edge is enough.
fn other_end(number: u32) -> VertexId {
    VertexId::new(GroupId(1 + 2 * (number / ROWS)), (number % ROWS) as u16)
}

fn edge(side: Direction, number: u32) -> EdgeId {
    let (source, target) = match side {
        Direction::In => (other_end(number), HUB),
        _ => (HUB, other_end(number)),
    };
    EdgeId { source, edge_type: TypeId(0), target, discriminator: 0 }
}

fn insert(side: Direction, numbers: Range<u32>) -> Vec<Mutation> {
    let properties = Properties::EMPTY;
    let edges = numbers.map(|number| edge(side, number));
    edges.map(|edge| Mutation::InsertEdge { edge, properties: properties.clone() }).collect()
}

fn delete(side: Direction, numbers: Range<u32>) -> Vec<Mutation> {
    numbers.map(|number| Mutation::DeleteEdge { edge: edge(side, number) }).collect()
}

/// The list as a snapshot shows it.
fn list(snapshot: &Snapshot<MemoryEngine>, side: Direction) -> BTreeSet<EdgeId> {
    let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
    while !cursor.done {
        snapshot.neighbors(&[HUB], None, side, &mut cursor, 1000, &mut batch).unwrap();
    }
    let list: BTreeSet<EdgeId> = batch.edges.iter().copied().collect();
    assert_eq!(list.len(), batch.edges.len(), "an edge twice");
    list
}

/// A list that becomes a hub at 20 and is one no more at 30 and is one again at 40: at every moment it is what it was then,
/// while the horizon holds merges back, when the list is taken apart, and after a power cut.
#[expect(clippy::single_range_in_vec_init, reason = "these are lists of ranges")]
fn a_list_is_what_it_was_at_every_moment(side: Direction) {
    let (below, above) = (HUB_DEGREE as u32 - 400, HUB_DEGREE as u32 + 600);
    let numbers = |ranges: &[Range<u32>]| -> BTreeSet<EdgeId> {
        ranges.iter().flat_map(Clone::clone).map(|number| edge(side, number)).collect()
    };
    let mut part = Part::new(own(0, 2));
    // A list that has its segment to itself is not taken apart.
    let other = VertexId::new(GroupId(0), 1);
    let mut first = insert(side, 0..1);
    for mutation in &mut first {
        let Mutation::InsertEdge { edge, .. } = mutation else { continue };
        *(if side == Direction::In { &mut edge.target } else { &mut edge.source }) = other;
    }
    let vertices = [HUB, other].map(|vertex| Mutation::InsertVertex {
        vertex,
        label: LabelId(0),
        properties: Properties::EMPTY,
    });
    part.store().apply(Timestamp(5), &[&vertices[..], &first].concat()).unwrap();
    let commits = [
        (10, insert(side, 0..below)),
        (20, insert(side, below..above)),
        (30, delete(side, 0..2000)),
        (40, insert(side, above..above + 3000)),
    ];
    for (at, mutations) in commits {
        part.store().apply(Timestamp(at), &mutations).unwrap();
    }
    let wanted = |at| match at {
        ..10 => numbers(&[]),
        10..20 => numbers(&[0..below]),
        20..30 => numbers(&[0..above]),
        30..40 => numbers(&[2000..above]),
        _ => numbers(&[2000..above + 3000]),
    };
    let check = |part: &Part, moments: &[u64]| {
        for at in moments {
            let snapshot = part.store().snapshot_at(Timestamp(*at)).unwrap();
            assert!(list(&snapshot, side) == wanted(*at), "{side:?} at {at}");
        }
    };
    let statistics = |part: &Part| part.store().statistics().engine;
    let all = [5, 9, 10, 19, 20, 29, 30, 39, 40];
    check(&part, &all);
    part.store().engine().merge_everything();
    assert_eq!((statistics(&part).merges, statistics(&part).hubs), (0, 0), "the horizon holds them back");
    check(&part, &all);

    part.store().set_horizon(Timestamp(20)).unwrap();
    part.store().engine().merge_everything();
    assert_eq!((statistics(&part).merges > 0, statistics(&part).hubs), (true, 1));
    check(&part, &all[4..]);
    let refused = part.store().snapshot_at(Timestamp(19)).map(drop).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    let held = part.store().snapshot_at(Timestamp(20)).unwrap();
    part.store().set_horizon(Timestamp(35)).unwrap();
    part.store().engine().merge_everything();
    check(&part, &[35, 39, 40]);
    assert!(list(&held, side) == wanted(20), "a snapshot that stays open keeps its list");
    drop(held);

    let made = part.open.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(made.covered_through, Timestamp(35));
    part.reopen(true);
    assert_eq!(part.published(), Timestamp(40), "the checkpoint needs it");
    part.store().apply(Timestamp(50), &delete(side, above..above + 100)).unwrap();
    check(&part, &[40, 49]);
    part.store().set_horizon(Timestamp(50)).unwrap();
    part.store().engine().merge_everything();
    let snapshot = part.store().snapshot_at(Timestamp(50)).unwrap();
    let left = numbers(&[2000..above, above + 100..above + 3000]);
    assert!(list(&snapshot, side) == left, "{side:?} at 50");
    drop(snapshot);
    let report = part.open.check(&mut go_on).unwrap();
    assert!(report.is_healthy(), "{report:?}");
}

#[test]
fn out_lists_that_become_hubs_are_what_they_were_at_every_moment() {
    a_list_is_what_it_was_at_every_moment(Direction::Out);
}

#[test]
fn in_lists_that_become_hubs_are_what_they_were_at_every_moment() {
    a_list_is_what_it_was_at_every_moment(Direction::In);
}
