//! Builds: indexes of a graph that lies elsewhere, which its stores build, and which one of them makes unique.

use crate::log_engine::{Builds, LogEngine, SharedGraph};
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::id::{KeyId, LabelId, VertexId};
use evergraph_graph::index::{IndexId, IndexKind, IndexState};
use evergraph_graph::look_up::{MatchCursor, Matches};
use evergraph_graph::owner::Owner;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView as _;
use evergraph_storage::indexing::{IndexProgress, IndexRequest, OwnerName};
use evergraph_storage::store::Store;
use std::sync::Arc;

/// So little memory that the hashes of some thousand vertices are looked at in slices.
const BUDGET_BYTES: u64 = 40 << 10;

const BY_NAME: IndexRequest<'static> =
    IndexRequest { owner: OwnerName::Label("Person"), key: "name", kind: IndexKind::Hash, unique: true };

fn graph() -> (Arc<SharedGraph>, Store<LogEngine>, LabelId, KeyId) {
    let graph = SharedGraph::new();
    *graph.builds.lock() = Some(Builds::default());
    let store = graph.store_with(BUDGET_BYTES);
    let names = store.transact(|transaction| Ok((transaction.label("Person")?, transaction.key("name")?)));
    let (label, key) = names.unwrap();
    (graph, store, label, key)
}

fn add(store: &Store<LogEngine>, label: LabelId, key: KeyId, name: &str) -> Result<VertexId, Error> {
    store.transact(|transaction| transaction.add_vertex(label, &[(key, name.into())]))
}

fn holders(store: &Store<LogEngine>, label: LabelId, key: KeyId, name: &str) -> Vec<VertexId> {
    let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
    let snapshot = store.snapshot();
    snapshot.look_up_vertices(label, key, &[name.into()], &mut cursor, 9, &mut found).unwrap();
    found.items
}

/// Whether there is an index that answers, and is unique.
fn known(store: &Store<LogEngine>, label: LabelId, key: KeyId) -> Option<bool> {
    let id = IndexId { owner: Owner::Label(label), key, kind: BY_NAME.kind };
    store.catalogue().index(id).map(|index| index.unique)
}

fn create(store: &Store<LogEngine>, request: &IndexRequest<'_>) -> Result<bool, Error> {
    store.create_index(request, &mut |_| Ok(()))
}

#[test]
fn values_that_are_there_twice_are_found_however_little_memory_there_is() {
    let (_graph, store, label, key) = graph();
    let vertices = store.transact(|transaction| {
        // Every 300th name is that of the vertex before.
        let name = |at: i64| Value::I64(if at % 300 == 299 { at - 1 } else { at });
        (0..6000).map(|at| transaction.add_vertex(label, &[(key, name(at))])).collect::<Result<Vec<_>, _>>()
    });
    let vertices = vertices.unwrap();
    let error = create(&store, &BY_NAME).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let [first, second] = [vertices[298], vertices[299]];
    let named = format!("Person.name can't be unique: \"298\" of {first} and {second}, ");
    assert!(error.to_string().starts_with(&named), "{error}");
    assert!(error.to_string().ends_with(", and 15 more"), "all duplicates are found: {error}");
    assert_eq!((known(&store, label, key), store.indexes().len()), (None, 0), "it is dropped");
    // One of each two goes.
    let twice = vertices.iter().skip(299).step_by(300);
    store
        .transact(|transaction| twice.clone().try_for_each(|vertex| transaction.delete_vertex(*vertex)))
        .unwrap();
    assert!(create(&store, &BY_NAME).unwrap());
    assert!(!create(&store, &BY_NAME).unwrap(), "it is there");
    assert_eq!((known(&store, label, key), store.indexes().len()), (Some(true), 0), "nothing is built");
    let taken = store.transact(|transaction| transaction.add_vertex(label, &[(key, Value::I64(298))]));
    assert_eq!(taken.unwrap_err().kind(), ErrorKind::Invalid);
    store.drop_index(BY_NAME.owner, BY_NAME.key, None).unwrap();
    store.transact(|transaction| transaction.add_vertex(label, &[(key, Value::I64(298))])).unwrap();
}

#[test]
fn one_value_that_all_have_is_found_and_counted_in_little_memory() {
    let (_graph, store, label, key) = graph();
    store
        .transact(|transaction| {
            let mut add = || transaction.add_vertex(label, &[(key, "ada".into())]);
            (0..9000).try_for_each(|_| add().map(drop))
        })
        .unwrap();
    let error = create(&store, &BY_NAME).unwrap_err();
    assert!(error.to_string().ends_with(", and 8994 more"), "{error}");
}

#[test]
fn nobody_enters_a_value_that_is_there_while_duplicates_are_looked_for() {
    let (graph, store, label, key) = graph();
    let other = graph.store();
    let ada = add(&store, label, key, "ada").unwrap();
    let mut refused = None;
    let mut progress = |now: IndexProgress| {
        if now.groups_done == now.groups_count && refused.is_none() {
            refused = Some(add(&other, label, key, "ada"));
            add(&other, label, key, "bob").map(drop)?;
        }
        Ok(())
    };
    assert!(store.create_index(&BY_NAME, &mut progress).unwrap());
    let error = refused.expect("the build tells how far it is").unwrap_err();
    assert_eq!(error.to_string(), format!("Person.name is unique, and {ada} already has the value \"ada\""));
    assert_eq!(holders(&store, label, key, "ada"), [ada]);
    assert!(add(&store, label, key, "bob").is_err(), "it came meanwhile");
}

#[test]
fn a_build_whose_creator_is_gone_can_be_dropped_by_anybody() {
    let (graph, store, label, key) = graph();
    let other = graph.store();
    add(&store, label, key, "ada").unwrap();
    let drop_it = |kind| other.drop_index(BY_NAME.owner, BY_NAME.key, kind);
    graph.builds.lock().as_mut().unwrap().waits = 3;
    let mut dropped = None;
    // Others drop it while it is built; its creator comes to an end without a word, as one whose process has died.
    let mut progress = |_: IndexProgress| {
        assert_eq!(drop_it(Some(IndexKind::Ordered)).unwrap_err().kind(), ErrorKind::NotFound);
        dropped = Some(drop_it(None));
        Err(Error::new(ErrorKind::Cancelled, "its process died"))
    };
    assert_eq!(store.create_index(&BY_NAME, &mut progress).unwrap_err().kind(), ErrorKind::Cancelled);
    let definition = dropped.expect("it was told how far it is").unwrap();
    assert_eq!((definition.id.key, definition.id.kind, definition.unique), (key, BY_NAME.kind, true));
    assert_eq!((store.indexes().len(), other.indexes().len()), (0, 0), "it is gone");
    assert_eq!(drop_it(None).unwrap_err().kind(), ErrorKind::NotFound);
    graph.builds.lock().as_mut().unwrap().waits = 0;
    assert!(create(&other, &BY_NAME).unwrap(), "it can be created anew");
}

#[test]
fn a_build_is_joined_and_ends_for_all_when_who_began_it_stops_it() {
    let (graph, store, label, key) = graph();
    let other = graph.store();
    add(&store, label, key, "ada").unwrap();
    let with_waits = |waits| graph.builds.lock().as_mut().unwrap().waits = waits;
    with_waits(3);
    let mut joined = None;
    let mut progress = |now: IndexProgress| {
        assert_eq!((now.groups_done, now.groups_count), (0, 1));
        let known = store.indexes().remove(0);
        assert_eq!((known.definition.unique, known.state), (true, IndexState::Building));
        let another = create(&other, &IndexRequest { unique: false, ..BY_NAME }).unwrap_err();
        assert!(another.to_string().contains("is unique, but one that is not unique was requested"));
        with_waits(0);
        joined = Some(create(&other, &BY_NAME));
        Err(Error::new(ErrorKind::Cancelled, "enough"))
    };
    let stopped = store.create_index(&BY_NAME, &mut progress).unwrap_err();
    assert_eq!(stopped.kind(), ErrorKind::Cancelled);
    assert!(joined.expect("it was told how far it is").unwrap(), "it was there by then");
    assert_eq!(known(&store, label, key), Some(true), "what somebody else has finished stays");

    let by_age = IndexRequest { key: "age", unique: false, ..BY_NAME };
    with_waits(2);
    let stop = &mut |_| Err(Error::new(ErrorKind::Cancelled, "enough"));
    assert_eq!(store.create_index(&by_age, stop).unwrap_err().kind(), ErrorKind::Cancelled);
    let age = store.catalogue().key("age").unwrap();
    assert_eq!((known(&store, label, age), store.indexes().len()), (None, 0), "it is gone");
    with_waits(0);
    assert!(create(&other, &by_age).unwrap());
    assert_eq!(known(&other, label, age), Some(false));
    let differs = create(&store, &IndexRequest { unique: true, ..by_age }).unwrap_err();
    assert!(differs.to_string().contains("is not unique, but one that is unique was requested"));
}
