//! Contract: what is promised of a store of a partition, one by one.

use crate::parts::{Part, go_on, open, own};
use crate::shown::{Shown, value_of};
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind, IndexState};
use evergraph_graph::look_up::{MatchCursor, Matches};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::note::NoteChange;
use evergraph_graph::owner::Owner;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::Projection;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::{Freeze as _, GraphView as _};
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::checkpoint::manifest::FILE_NAME;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{BackgroundStep, OpenOptions, OpenStore, check, salvage};
use evergraph_storage::store::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// A vertex in group 0 and one in group 1, and an edge from the first to the second.
fn pair() -> (VertexId, VertexId, EdgeId) {
    let (source, target) = (VertexId::new(GroupId(0), 0), VertexId::new(GroupId(1), 7));
    (source, target, EdgeId { source, edge_type: TypeId(0), target, discriminator: 0 })
}

fn weighing(weight: i64) -> Properties {
    Properties::new(vec![(KeyId(0), Some(Value::I64(weight)))])
}

/// Both vertices and the edge, at once.
fn insert_pair() -> Vec<Mutation> {
    let (source, target, edge) = pair();
    let insert = |vertex: VertexId| {
        let label = LabelId(vertex.group().0 as u16);
        Mutation::InsertVertex { vertex, label, properties: weighing(1) }
    };
    vec![insert(source), insert(target), Mutation::InsertEdge { edge, properties: weighing(2) }]
}

fn set_weight(weight: i64) -> [Mutation; 1] {
    [Mutation::SetVertexProperties { vertex: pair().0, properties: weighing(weight) }]
}

/// The weight of the first vertex.
fn weight_at(part: &Part, at: u64) -> Option<i64> {
    let snapshot = part.store().snapshot_at(Timestamp(at)).unwrap();
    value_of(&snapshot.vertex_property_map(pair().0).unwrap(), KeyId(0))
}

/// Partition 0 of 2 with the pair at 10, and weights of 20 and 30 at these timestamps.
fn weighed() -> Part {
    let part = Part::new(own(0, 2));
    part.store().apply(Timestamp(10), &insert_pair()).unwrap();
    for weight in [20, 30] {
        part.store().apply(Timestamp(weight), &set_weight(weight as i64)).unwrap();
    }
    part
}

#[test]
fn an_edge_between_partitions_has_a_half_in_each() {
    let parts = [0, 1].map(|partition| Part::new(own(partition, 2)));
    let (source, target, edge) = pair();
    for part in &parts {
        part.store().apply(Timestamp(5), &insert_pair()).unwrap();
    }
    let [first, second] = [0, 1].map(|at| Shown::of(&parts[at].store().snapshot_at(Timestamp(5)).unwrap()));
    assert_eq!(first.vertices.keys().collect::<Vec<_>>(), [&source]);
    assert_eq!(second.vertices.keys().collect::<Vec<_>>(), [&target]);
    assert_eq!(first.out, BTreeMap::from([(edge, vec![(KeyId(0), Value::I64(2))])]));
    assert_eq!(second.into, BTreeSet::from([edge]), "the in side lies where the target is");
    assert!(first.into.is_empty() && second.out.is_empty());
    for part in &parts {
        part.store().apply(Timestamp(6), &[Mutation::DeleteEdge { edge }]).unwrap();
        let left = Shown::of(&part.store().snapshot_at(Timestamp(6)).unwrap());
        assert!(left.out.is_empty() && left.into.is_empty());
    }
}

#[test]
fn every_moment_from_the_horizon_on_can_be_read_whatever_was_merged() {
    let mut part = weighed();
    part.store().engine().merge_everything();
    assert_eq!(
        [9, 10, 15, 20, 29, 30].map(|at| weight_at(&part, at)),
        [None, Some(1), Some(1), Some(20), Some(20), Some(30)]
    );
    part.store().set_horizon(Timestamp(20)).unwrap();
    let held = part.store().snapshot_at(Timestamp(20)).unwrap();
    part.store().engine().merge_everything();
    let refused = |at| part.store().snapshot_at(Timestamp(at)).map(drop).unwrap_err().kind();
    assert_eq!((refused(19), refused(31)), (ErrorKind::Conflict, ErrorKind::Busy));
    assert_eq!([20, 29, 30].map(|at| weight_at(&part, at)), [Some(20), Some(20), Some(30)]);
    assert!(part.store().statistics().engine.merges > 0, "what is older than the horizon is merged");
    // Beyond R it counts as R, and whoever holds a snapshot keeps it.
    part.store().set_horizon(Timestamp(99)).unwrap();
    part.store().engine().merge_everything();
    assert_eq!((refused(29), weight_at(&part, 30)), (ErrorKind::Conflict, Some(30)));
    assert_eq!(value_of(&held.vertex_property_map(pair().0).unwrap(), KeyId(0)), Some(20));
    drop(held);
    part.reopen(false);
    assert_eq!((part.published(), weight_at(&part, 30)), (Timestamp(30), Some(30)));
    assert_eq!(part.store().snapshot_at(Timestamp(29)).map(drop).unwrap_err().kind(), ErrorKind::Conflict);
}

#[test]
fn a_checkpoint_covers_what_is_older_than_the_horizon_and_the_log_has_the_rest() {
    let mut part = weighed();
    part.store().publish_through(Timestamp(44)).unwrap();
    part.store().set_horizon(Timestamp(25)).unwrap();
    let made = part.open.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((made.covered_through, made.need), (Timestamp(25), Timestamp(44)));
    part.reopen(true);
    assert_eq!(part.published(), Timestamp(44), "what was published without a commit is in the log, too");
    assert_eq!(weight_at(&part, 44), Some(30));
    part.store().publish_through(Timestamp(50)).unwrap();
    part.reopen(true);
    assert_eq!(part.published(), Timestamp(44), "nothing was synced for it");
}

#[test]
fn commits_are_applied_in_the_order_of_their_timestamps_and_none_twice() {
    let part = Part::new(own(0, 2));
    let refused = |at| part.store().apply(Timestamp(at), &set_weight(9)).unwrap_err().kind();
    part.store().apply(Timestamp(5), &insert_pair()).unwrap();
    for at in [5, 4, 1 << 62] {
        assert_eq!(refused(at), ErrorKind::Invalid, "{at}");
    }
    part.store().publish_through(Timestamp(4)).unwrap();
    assert_eq!(part.published(), Timestamp(5), "that was published already");
    part.store().publish_through(Timestamp(8)).unwrap();
    assert_eq!((part.published(), refused(8)), (Timestamp(8), ErrorKind::Invalid));
    assert_eq!((weight_at(&part, 4), weight_at(&part, 8)), (None, Some(1)));
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_of_it_is_there() {
    let part = Part::new(own(0, 1));
    let apply = |at, mutations: &[Mutation]| part.store().apply(Timestamp(at), mutations);
    apply(5, &insert_pair()).unwrap();
    let vertex = VertexId::new(GroupId(0), 1);
    let other_label = Mutation::InsertVertex { vertex, label: LabelId(9), properties: Properties::EMPTY };
    let lost = EdgeId { target: VertexId::new(GroupId(8), 0), ..pair().2 };
    let without_end = Mutation::InsertEdge { edge: lost, properties: Properties::EMPTY };
    for mutation in [other_label, without_end] {
        assert_eq!(apply(6, &[mutation]).unwrap_err().kind(), ErrorKind::Corrupt);
    }
    let note = Mutation::Note(NoteChange { name: "owner".into(), bytes: None });
    assert_eq!(apply(6, &[note]).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(part.published(), Timestamp(5));
    apply(6, &set_weight(6)).unwrap();
    part.open.close().unwrap();
    assert_eq!(apply(7, &set_weight(7)).unwrap_err().kind(), ErrorKind::Io, "it is closed");
    assert_eq!(weight_at(&part, 6), Some(6), "whoever has the store reads on");
}

#[test]
fn a_note_changes_with_its_commit_and_is_what_it_was_at_every_moment() {
    let mut part = weighed();
    let note = |text: &[u8]| Mutation::Note(NoteChange { name: "applied".into(), bytes: Some(text.into()) });
    let [set] = set_weight(40);
    part.store().apply(Timestamp(40), &[set.clone(), note(b"one")]).unwrap();
    part.store().apply(Timestamp(50), &[note(b"two")]).unwrap();
    let misplaced = part.store().apply(Timestamp(60), &[note(b"three"), set]);
    assert_eq!(misplaced.unwrap_err().kind(), ErrorKind::Invalid);
    let read = |part: &Part, at| {
        let snapshot = part.store().snapshot_at(Timestamp(at)).unwrap();
        snapshot.note("applied").map(|bytes| bytes.to_vec())
    };
    let expected = [None, Some(b"one".to_vec()), Some(b"one".to_vec()), Some(b"two".to_vec())];
    assert_eq!([39, 40, 49, 50].map(|at| read(&part, at)), expected);
    part.store().set_horizon(Timestamp(45)).unwrap();
    part.open.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!([45, 49, 50].map(|at| read(&part, at)), expected[1..]);
    part.reopen(true);
    assert_eq!((part.published(), read(&part, 50)), (Timestamp(50), expected[3].clone()));
}

/// A note in each of so many commits that the versions take more than a reservation.
#[test]
fn versions_of_notes_are_reserved_while_the_horizon_stands_still_and_go_when_it_moves() {
    let part = weighed();
    let note = |at: u64| {
        let bytes = [at as u8; 1000];
        Mutation::Note(NoteChange { name: "applied".into(), bytes: Some(bytes.as_slice().into()) })
    };
    let reserved = || {
        let all = part.store().statistics().reservations;
        all.iter().find(|(purpose, _)| &**purpose == "versions of notes").map_or(0, |(_, bytes)| *bytes)
    };
    (31..3031).for_each(|at| part.store().apply(Timestamp(at), &[note(at)]).unwrap());
    assert!(reserved() >= 3000 * 1000, "{} bytes", reserved());
    part.store().set_horizon(Timestamp(3000)).unwrap();
    assert!(reserved() <= 1 << 20, "{} bytes", reserved());
    let read = |at| part.store().snapshot_at(Timestamp(at)).unwrap().note("applied").map(|bytes| bytes[0]);
    assert_eq!([3000, 3030].map(read), [Some(3000u64 as u8), Some(3030u64 as u8)]);
}

/// A commit and a look each time, as if the look of every fifth of a second came after each commit.
#[test]
fn a_checkpoint_is_due_by_the_log_that_is_older_than_the_horizon() {
    let options = OpenOptions {
        durability: Durability::None,
        environment: Environment::simulated(7),
        own_groups: Some(own(0, 2)),
        checkpoint_after_bytes: 1000,
        ..OpenOptions::default()
    };
    let open = OpenStore::<MemoryEngine>::open(Arc::new(MemoryDirectory::new("part")), &options).unwrap();
    let look = || {
        open.step(BackgroundStep::LookAfter);
        let state = open.checkpoint_state();
        assert_eq!(state.failure, None);
        (state.checkpoints, state.covered_through)
    };
    open.store().apply(Timestamp(1), &insert_pair()).unwrap();
    for at in 2..=200 {
        open.store().apply(Timestamp(at), &set_weight(at as i64)).unwrap();
        assert_eq!(look(), (0, Timestamp::ZERO), "nothing would be freed");
    }
    assert!(open.store().log().frame_bytes() > 4000);
    let raise = |horizon| open.store().set_horizon(Timestamp(horizon)).unwrap();
    raise(100);
    assert_eq!([(); 3].map(|()| look()), [(1, Timestamp(100)); 3], "one, and no more");
    raise(102);
    assert_eq!(look().0, 1, "that is too little");
    raise(999);
    assert_eq!([(); 3].map(|()| look()), [(2, Timestamp(200)); 3]);
}

#[test]
fn a_store_of_a_partition_decides_nothing_and_one_of_a_whole_graph_applies_nothing() {
    let part = weighed();
    let mut transaction = part.store().begin();
    let error = transaction.label("person").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("partition 0 of 2 of a graph"), "{error}");
    assert_eq!(transaction.delete_vertex(pair().0).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(transaction.commit().unwrap().timestamp, Timestamp(30), "a reader that wrote nothing");
    assert_eq!(part.store().create_unique_index("person", "id").unwrap_err().kind(), ErrorKind::Invalid);
    let frozen = part.store().snapshot().freeze(&Projection::all(Direction::Out));
    assert_eq!(frozen.map(drop).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(part.store().own_groups(), Some(own(0, 2)));

    let whole = open(&MemoryDirectory::new("whole"), None).unwrap();
    let store = whole.store();
    let refused = [
        store.apply(Timestamp(5), &insert_pair()),
        store.publish_through(Timestamp(5)),
        store.set_horizon(Timestamp(0)),
        store.snapshot_at(Timestamp(0)).map(drop),
    ];
    for refused in refused {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert_eq!((store.timeline().published(), store.own_groups()), (Timestamp(0), None));
}

#[test]
fn a_directory_keeps_its_partition_and_is_opened_as_nothing_else() {
    let part = weighed();
    part.open.close().unwrap();
    for other in [None, Some(own(1, 2)), Some(own(0, 1))] {
        assert_eq!(open(&part.directory, other).map(drop).unwrap_err().kind(), ErrorKind::Invalid);
    }
    let whole = MemoryDirectory::new("whole");
    drop(open(&whole, None).unwrap());
    assert_eq!(open(&whole, Some(own(0, 1))).map(drop).unwrap_err().kind(), ErrorKind::Invalid);
    let synced =
        OpenOptions { own_groups: Some(own(0, 2)), durability: Durability::Sync, ..OpenOptions::default() };
    let refused = OpenStore::<MemoryEngine>::open(Arc::new(part.directory.clone()), &synced);
    assert_eq!(refused.map(drop).unwrap_err().kind(), ErrorKind::Invalid);
    assert!(open(&part.directory, Some(part.own)).is_ok());
}

/// Partition 0 of 1 with 100 vertices, whose weights are 0 to 6, and an index on them that was created at 3.
fn indexed(unique: bool) -> (Part, IndexId) {
    let part = Part::new(own(0, 1));
    let (label, key) = (LabelId(0), KeyId(0));
    let names = [
        SchemaChange::AddLabel { id: label, name: "person".into() },
        SchemaChange::AddKey { id: key, name: "weight".into() },
    ];
    part.store().apply(Timestamp(1), &names.map(Mutation::Schema)).unwrap();
    let insert = |row: u16| {
        let vertex = VertexId::new(GroupId(0), row);
        Mutation::InsertVertex { vertex, label, properties: weighing(i64::from(row % 7)) }
    };
    part.store().apply(Timestamp(2), &(0..100).map(insert).collect::<Vec<_>>()).unwrap();
    let id = IndexId { owner: Owner::Label(label), key, kind: IndexKind::Hash };
    let create = Mutation::Schema(SchemaChange::AddIndex(IndexDefinition { id, unique }));
    part.store().apply(Timestamp(3), &[create, insert(101)]).unwrap();
    (part, id)
}

#[test]
fn an_index_is_filled_beside_commits_and_look_ups_are_right_before_and_after() {
    let (part, id) = indexed(false);
    let set = |row: u16, weight: i64| {
        let vertex = VertexId::new(GroupId(0), row);
        Mutation::SetVertexProperties { vertex, properties: weighing(weight) }
    };
    let find = |at: u64, weight: i64| {
        let snapshot = part.store().snapshot_at(Timestamp(at)).unwrap();
        let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
        while !cursor.done {
            let values = [Value::I64(weight)];
            snapshot.look_up_vertices(LabelId(0), id.key, &values, &mut cursor, 7, &mut found).unwrap();
        }
        found.items.into_iter().map(|vertex| vertex.row()).collect::<BTreeSet<u16>>()
    };
    let wanted = |at: u64, weight: i64| {
        let weight_of = |row: u16| match (row, at) {
            (101, ..3) => None,
            (3, 5..) => Some(6),
            (4, 4) => Some(3),
            _ => Some(i64::from(row % 7)),
        };
        let rows = (0..100).chain([101]).filter(|row| weight_of(*row) == Some(weight));
        rows.collect::<BTreeSet<u16>>()
    };
    let check = || {
        for (at, weight) in (2..=5).flat_map(|at| (0..7).map(move |weight| (at, weight))) {
            assert_eq!(find(at, weight), wanted(at, weight), "{weight} at {at}");
        }
    };
    let state = || part.store().indexes()[0].state;
    part.store().apply(Timestamp(4), &[set(4, 3)]).unwrap();
    part.store().apply(Timestamp(5), &[set(4, 4), set(3, 6)]).unwrap();
    assert_eq!(state(), IndexState::Building);
    check();
    part.open.step(BackgroundStep::LookAfter);
    assert_eq!(state(), IndexState::Ready);
    check();
    assert_eq!(part.store().statistics().oldest_snapshot, None, "the snapshot that filled it has ended");
    part.store().set_horizon(Timestamp(5)).unwrap();
    part.open.step(BackgroundStep::LookAfter);
    assert_eq!(part.store().indexes()[0].entries, 101, "what left is removed");
    let report = part.open.check(&mut go_on).unwrap();
    assert!(report.is_healthy(), "{report:?}");
}

#[test]
fn an_index_that_is_dropped_before_it_was_filled_is_let_go_of_and_one_that_is_not_unique_stops_the_store() {
    let (part, id) = indexed(false);
    part.store().apply(Timestamp(4), &[Mutation::Schema(SchemaChange::DropIndex(id))]).unwrap();
    part.open.step(BackgroundStep::LookAfter);
    assert!(part.store().indexes().is_empty());
    assert_eq!(part.store().statistics().oldest_snapshot, None);

    let (part, _) = indexed(true);
    part.store().publish_through(Timestamp(4)).unwrap();
    part.open.step(BackgroundStep::LookAfter);
    let error = part.store().publish_through(Timestamp(5)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("is unique, but was stored twice"), "{error}");
}

#[test]
fn a_partition_whose_manifest_is_damaged_is_not_salvaged_as_a_whole_graph() {
    let part = weighed();
    part.open.close().unwrap();
    let damaged = part.directory.power_cut();
    damaged.open(FILE_NAME, OpenMode::ReadWrite).unwrap().write_at(&[0; 16], 0).unwrap();
    let missing = part.directory.power_cut();
    missing.remove(FILE_NAME).unwrap();
    for directory in [damaged, missing] {
        let new = MemoryDirectory::new("new");
        let target: Arc<dyn Directory> = Arc::new(new.clone());
        let error = salvage::<MemoryEngine>(&directory, &target, &mut go_on).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("it is that of one partition of a graph"), "{error}");
        assert!(!new.exists(FILE_NAME).unwrap(), "nothing was made of it");
    }
}

#[test]
fn half_edges_are_sound_are_backed_up_and_are_neither_converted_nor_salvaged() {
    let part = weighed();
    part.open.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
    let report = part.open.check(&mut go_on).unwrap();
    assert_eq!((report.findings_count, report.vertices_count, report.edges_count), (0, 1, 1), "{report:?}");

    let copy = MemoryDirectory::new("copy");
    part.open.backup(&copy, &mut |_| ControlFlow::Continue(())).unwrap();
    let copy = open(&copy, Some(part.own)).unwrap();
    let shown = |store: &Store<MemoryEngine>| Shown::of(&store.snapshot());
    assert_eq!(shown(copy.store()), shown(part.store()));

    let target: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("new"));
    let converted = part.open.convert::<MemoryEngine>(MemoryEngine::NAME, &target, &mut go_on);
    assert_eq!(converted.map(drop).unwrap_err().kind(), ErrorKind::Invalid);
    part.open.close().unwrap();
    let salvaged = salvage::<MemoryEngine>(&part.directory, &target, &mut go_on);
    assert_eq!(salvaged.map(drop).unwrap_err().kind(), ErrorKind::Invalid);
    let report = check::<MemoryEngine>(Arc::new(part.directory.clone()), &mut go_on).unwrap();
    assert_eq!((report.findings_count, report.edges_count), (0, 1), "{report:?}");
}
