//! Engine model: random commits, merges and snapshots on the mapped engine, beside a naive graph of each commit.
//!
//! After each step one of the open snapshots answers every question as the graph of its commit does, and at the end all of
//! them; writers learn of every change since they began; and frozen lists are those of the graph. At the end nothing is left
//! that nobody needs.

#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

mod naive_graph;

use evergraph_graph::budget::{Budget, Reservation, Unlimited};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, GroupId, KeyId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::Projection;
use evergraph_mapped_engine::body_store::body_table::{BodySource, BodyTable};
use evergraph_mapped_engine::engine::options::MappedOptions;
use evergraph_mapped_engine::view::mapped_view::MappedView;
use evergraph_mapped_engine::view::source::{LiveSource, edges};
use evergraph_mapped_engine::words::LineNumber;
use evergraph_storage::engine::{ChangedSince, Engine, Key};
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use evergraph_storage::timeline::registry::Access;
use evergraph_storage::view::View;
use naive_graph::database::{NaiveStore, OpenSnapshot};
use naive_graph::graph::{Change, GROUPS, TYPES};
use proptest::prelude::*;
use std::sync::Arc;

#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<Change>),
    Merge(usize),
    MergeEverything,
    Round,
    Reclaim,
    Begin(Access),
    End(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    let commit = |most| proptest::collection::vec(Change::any(), 1..most).prop_map(Step::Commit);
    prop_oneof![
        10 => commit(8),
        2 => commit(120),
        4 => (0usize..20).prop_map(Step::Merge),
        1 => Just(Step::MergeEverything),
        2 => Just(Step::Round),
        2 => Just(Step::Reclaim),
        2 => Just(Step::Begin(Access::Read)),
        2 => Just(Step::Begin(Access::Write)),
        3 => (0usize..8).prop_map(Step::End),
    ]
}

/// Small thresholds, so that rounds merge.
const SMALL: MappedOptions = MappedOptions {
    items_a_record: 4,
    records_worth_a_merge: 16,
    live_bytes_max: 1 << 30,
    region_sizes: evergraph_mapped_engine::words::RegionSizes::STANDARD,
    slots: 16,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn every_snapshot_answers_as_the_graph_of_its_commit(
        steps in proptest::collection::vec(any_step(), 1..30),
        asked in proptest::collection::vec((0u8..12, any::<u16>()), 8),
    ) {
        let store = NaiveStore::new(SMALL);
        let mut open: Vec<OpenSnapshot> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Commit(changes) => store.commit(&changes),
                Step::Merge(at) => store.merge_one(at),
                Step::MergeEverything => store.engine.graph().merge_everything().unwrap(),
                Step::Round => store.engine.graph().step_merges(true),
                Step::Reclaim => store.engine.graph().reclaim(),
                Step::Begin(access) if open.len() < 8 => open.push(store.begin(access)),
                Step::Begin(_) => {}
                Step::End(at) if at < open.len() => store.end(open.swap_remove(at)),
                Step::End(_) => {}
            }
            if let Some(snapshot) = open.get(number % open.len().max(1)) {
                store.check(snapshot);
                if snapshot.access == Access::Write {
                    for (kind, number) in &asked {
                        store.check_newer(snapshot.timestamp, *kind, *number);
                    }
                }
            }
        }
        let last = store.begin(Access::Read);
        open.iter().chain([&last]).for_each(|snapshot| store.check(snapshot));
        open.iter().take(2).chain([&last]).for_each(|snapshot| store.check_frozen(snapshot));
        open.into_iter().chain([last]).for_each(|snapshot| store.end(snapshot));
        // Nobody reads: one body a segment is left, and no record.
        store.engine.graph().merge_everything().unwrap();
        store.engine.graph().reclaim();
        store.engine.graph().reclaim();
        let statistics = store.engine.statistics();
        prop_assert_eq!((statistics.retained_versions, statistics.fresh_edge_records), (0, 0));
        prop_assert!(store.engine.graph().bodies().count() as u64 <= statistics.segments);
        prop_assert_eq!(store.engine.graph().writer().retired_count(), 0);
        prop_assert_eq!(store.engine.graph().records_waiting(), 0);
        let last = store.begin(Access::Read);
        store.check(&last);
        store.end(last);
    }
}

/// Two rows of one group, of which one has very many edges: a list that is alone in its segment stays there.
fn with_hub() -> (NaiveStore, OpenSnapshot) {
    let store = NaiveStore::new(SMALL);
    store.commit(&[Change::vertex(0), Change::vertex(1), Change::vertex(2)]);
    store.commit(&[Change::edge(1, 0)]);
    let before = store.begin(Access::Write);
    store.commit_parallel(0, 1, 0..17_000);
    (store, before)
}

#[test]
fn a_row_that_becomes_a_hub_is_read_as_before_and_its_history_goes_with_it() {
    let (store, before) = with_hub();
    let during = store.begin(Access::Read);
    assert_eq!(store.engine.statistics().hubs, 0);
    store.engine.graph().merge_everything().unwrap();
    assert_eq!(store.engine.statistics().hubs, 2, "on both sides");
    [&before, &during].into_iter().for_each(|snapshot| store.check(snapshot));
    // What the writer asks about was taken by the merge.
    for kind in 0..12 {
        for number in 0..30 {
            store.check_newer(before.timestamp, kind, number);
        }
    }
    store.check_frozen(&during);
    [before, during].into_iter().for_each(|snapshot| store.end(snapshot));
}

#[test]
fn who_asks_a_segment_what_changed_is_led_to_its_hub() {
    let (store, before) = with_hub();
    store.end(before);
    store.engine.graph().merge_everything().unwrap();
    let writer = store.begin(Access::Write);
    store.commit(&[Change::delete_edge(0, 1, 5), Change::set_edge(0, 1, 9, 3)]);
    for kind in 0..12 {
        for number in 0..30 {
            store.check_newer(writer.timestamp, kind, number);
        }
    }
    store.check(&writer);
    store.end(writer);
}

#[test]
fn a_hub_is_changed_merged_and_read_by_itself() {
    let (store, before) = with_hub();
    store.engine.graph().merge_everything().unwrap();
    store.commit_parallel(0, 1, 17_000..17_200);
    store.commit(&[Change::delete_edge(0, 1, 5), Change::set_edge(0, 1, 9, 3), Change::edge(0, 2)]);
    store.commit(&[Change::edge(2, 0)]);
    let after = store.begin(Access::Write);
    [&before, &after].into_iter().for_each(|snapshot| store.check(snapshot));
    store.check_frozen(&after);
    store.engine.graph().merge_everything().unwrap();
    store.commit(&[Change::delete_edge(0, 1, 6), Change::set_edge(0, 1, 7, 2)]);
    let last = store.begin(Access::Read);
    [&before, &after, &last].into_iter().for_each(|snapshot| store.check(snapshot));
    store.check_frozen(&last);
    [before, after, last].into_iter().for_each(|snapshot| store.end(snapshot));
    store.engine.graph().merge_everything().unwrap();
    store.engine.graph().reclaim();
    let statistics = store.engine.statistics();
    assert_eq!((statistics.hubs, statistics.retained_versions), (2, 0));
    let last = store.begin(Access::Read);
    store.check(&last);
    store.end(last);
}

/// A budget of so many bytes.
#[derive(Debug)]
struct Bytes(u64);

impl Budget for Bytes {
    fn reserve(&self, purpose: &str, bytes: u64) -> Result<Reservation> {
        if bytes > self.0 {
            return Err(Error::new(ErrorKind::Limit, format!("{bytes} bytes for {purpose}")));
        }
        Unlimited.reserve(purpose, bytes)
    }
}

/// The paper's point is analysis in place: a record on top of a segment made a copy of all its lists.
#[test]
fn fresh_records_of_a_segment_leave_its_lists_in_place() {
    let store = NaiveStore::new(SMALL);
    store.commit(&[Change::vertex(0), Change::vertex(1), Change::vertex(2)]);
    store.commit_parallel(0, 1, 0..10_000);
    store.engine.graph().merge_everything().unwrap();
    store.commit(&[Change::edge(0, 2), Change::edge(2, 1)]);
    store.commit(&[Change::delete_edge(2, 1, 0), Change::edge(1, 2)]);
    let snapshot = store.begin(Access::Read);
    store.check_frozen(&snapshot);
    let few: Arc<dyn Budget> = Arc::new(Bytes(4096));
    for side in [Direction::Out, Direction::In, Direction::Both] {
        let frozen = store.freeze_within(&snapshot, &Projection::all(side), &few).unwrap();
        assert!(frozen.fresh_share() > 0.0 && frozen.fresh_share() < 0.001, "{}", frozen.fresh_share());
    }
    store.end(snapshot);
}

#[test]
fn damage_of_directory_page_or_group_is_an_error_of_every_read_that_would_answer_less() {
    let store = NaiveStore::new(SMALL);
    store.commit(&[Change::vertex(0), Change::vertex(6), Change::edge(0, 6)]);
    let snapshot = store.begin(Access::Read);
    store.check_frozen(&snapshot);
    let live = store.engine.graph().live();
    let bodies: Arc<dyn BodySource> = Arc::<BodyTable>::clone(store.engine.graph().bodies());
    let shared = LiveSource::new(Arc::clone(live), bodies);
    let page = &live.group_directory()[0];
    let line = |word: &AtomicU64| LineNumber(word.load(Ordering::Relaxed) as u32);
    let cell = &live.words().slice(line(page), 8).unwrap()[GROUPS[1] as usize];
    let head = &live.words().slice(line(cell), 1).unwrap()[0];
    for (what, word, damage) in
        [("directory", page, 1 << 40), ("page", cell, 1 << 40), ("group", head, u64::MAX)]
    {
        let sound = word.load(Ordering::Relaxed);
        word.store(damage, Ordering::Relaxed);
        let group = GroupId(GROUPS[1]);
        let kind = |error: Error| error.kind();
        let view = MappedView::new(&shared, snapshot.timestamp);
        assert_eq!(view.group_label(group).map_err(kind), Err(ErrorKind::Corrupt), "{what}");
        assert_eq!(view.edge_types(group, Direction::In).map_err(kind), Err(ErrorKind::Corrupt), "{what}");
        let own = store.view(&snapshot);
        assert!(own.group_label(group).unwrap().is_some(), "{what}: who writes knows its label");
        assert_eq!(own.edge_types(group, Direction::In).map_err(kind), Err(ErrorKind::Corrupt), "{what}");
        let budget: Arc<dyn Budget> = Arc::new(Bytes(1 << 20));
        let frozen = store.freeze_within(&snapshot, &Projection::all(Direction::Out), &budget);
        assert_eq!(frozen.map(|_| ()).map_err(kind), Err(ErrorKind::Corrupt), "{what}");
        word.store(sound, Ordering::Relaxed);
    }
    store.check_frozen(&snapshot);
    store.end(snapshot);
}

#[test]
fn a_merge_of_properties_alone_writes_the_columns_that_changed_and_shares_the_others() {
    let store = NaiveStore::new(SMALL);
    store.commit(&[Change::vertex(0), Change::vertex(1)]);
    store.commit(&[Change::Edge(0, 1, 0, 0, vec![(0, 1), (1, 2), (2, 3)])]);
    store.engine.graph().merge_everything().unwrap();
    let columns = || {
        let group = store.engine.graph().groups().get(GroupId(GROUPS[0])).cloned().unwrap();
        let segment = group.segment(edges(TYPES[0], Direction::Out)).unwrap();
        let body = store.engine.graph().bodies().get(segment.version().body).unwrap();
        body.columns().iter().map(|(_, column)| column.extent().place()).collect::<Vec<_>>()
    };
    let before = columns();
    store.commit(&[Change::set_edge(0, 1, 0, 77)]);
    store.engine.graph().merge_everything().unwrap();
    let snapshot = store.begin(Access::Read);
    store.check(&snapshot);
    store.end(snapshot);
    let after = columns();
    assert!(after[0] != before[0] && after[1..] == before[1..], "{before:?}, {after:?}");
}

#[test]
fn a_commit_that_is_not_installed_leaves_no_trace() {
    let store = NaiveStore::new(SMALL);
    store.commit(&[Change::vertex(0), Change::vertex(1)]);
    let used = store.engine.graph().arena().used_bytes();
    for _ in 0..3 {
        // Segments that were made for it stay, empty.
        drop(store.prepare(&[Change::edge(0, 1), Change::set_vertex(0, 0, 5)]));
    }
    let made = store.engine.graph().arena().used_bytes() - used;
    assert!(made <= 2 * 3 * 64 + 2 * 64, "{made} bytes");
    store.engine.graph().reclaim();
    let snapshot = store.begin(Access::Read);
    store.check(&snapshot);
    store.end(snapshot);
}

#[test]
fn a_writer_that_began_before_two_merges_learns_what_both_took() {
    let store = NaiveStore::new(SMALL);
    store.commit(&[Change::vertex(0), Change::vertex(1), Change::vertex(2), Change::edge(0, 1)]);
    let writer = store.begin(Access::Write);
    store.commit(&[Change::set_vertex(0, 0, 5), Change::edge(0, 2)]);
    store.engine.graph().merge_everything().unwrap();
    // Of the same segments; nothing that is asked about.
    store.commit(&[Change::set_vertex(2, 0, 6), Change::edge(2, 0)]);
    store.engine.graph().merge_everything().unwrap();
    let (vertex, other) = (store.vertex(0), store.vertex(1));
    let newer = |key| store.engine.newer(&key, writer.timestamp);
    assert_eq!(newer(Key::VertexProperty(vertex, KeyId(0))), ChangedSince::Yes);
    assert_eq!(newer(Key::VertexProperty(vertex, KeyId(1))), ChangedSince::No);
    assert_eq!(newer(Key::Adjacency(vertex)), ChangedSince::Yes);
    assert_eq!(newer(Key::Adjacency(other)), ChangedSince::No);
    assert_eq!(newer(Key::Members(GroupId(GROUPS[0]))), ChangedSince::No);
    store.end(writer);
    // Whoever begins now asks about none of it, and nothing is kept for it.
    store.commit(&[Change::set_vertex(1, 0, 5)]);
    store.engine.graph().merge_everything().unwrap();
    assert_eq!(store.engine.newer(&Key::VertexRecord(vertex), Timestamp(3)), ChangedSince::No);
}

#[test]
fn a_commit_is_refused_with_the_reason_when_records_outgrow_bodies_and_merges_do_not_help() {
    let store = NaiveStore::new(SMALL);
    store.commit(&[Change::vertex(0), Change::vertex(1)]);
    let waiting = &store.engine.graph().counters().records;
    waiting.fetch_add(1 << 40, Ordering::Relaxed);
    let error = store.try_prepare(&[Change::edge(0, 1)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("records wait to be merged, more than the"), "{error}");
    waiting.fetch_sub(1 << 40, Ordering::Relaxed);
    store.commit(&[Change::edge(0, 1)]);
    let snapshot = store.begin(Access::Read);
    store.check(&snapshot);
    store.end(snapshot);
}
