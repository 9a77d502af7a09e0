//! Contract: what is promised of a store of a partition, one by one.

use crate::parts::{Part, go_on, open, own};
use crate::shown::{Shown, value_of};
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::note::NoteChange;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::Projection;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::{Freeze as _, GraphView as _};
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore, check, salvage};
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
