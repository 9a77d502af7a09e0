//! Loads of an owner: with notes, and with changes of vertices that are there.

use crate::model::dump;
use crate::notes::{POSITION, SOURCE, commit, load, open, state, state_of};
use crate::test_store::{TestEngine, on_every_engine};
use evergraph_graph::column::Column;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::index::IndexKind;
use evergraph_graph::load::VertexChange;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::collection::{List, Map};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView as _;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::open::OpenStore;
use evergraph_storage::ownership::{OwnerChanges, Ownership};
use evergraph_storage::store::Store;
use std::ops::ControlFlow;

/// Gives a person another name, if the engine takes that with a load.
fn renaming<E: DurableEngine>(open: &OpenStore<E>, person: VertexId, number: i64) -> Vec<VertexChange> {
    if !open.store().engine().takes_vertex_changes() {
        return Vec::new();
    }
    let key = open.store().catalogue().key("name").unwrap();
    let properties = [(key, Some(Value::I64(number)))].into_iter().collect();
    vec![VertexChange { vertex: person, properties }]
}

/// A load with these changes is refused, and nothing has happened.
fn refused<E: DurableEngine>(
    open: &OpenStore<E>,
    ownership: &mut Ownership<E>,
    vertices: &[VertexChange],
    why: &str,
) {
    let before = state(open.store());
    let changes = OwnerChanges { vertices, ..OwnerChanges::default() };
    let (building, writing) = (&mut |_| Ok(()), &mut |_| ControlFlow::Continue(()));
    let error = open.load_owned(ownership, u64::MAX, &load(), changes, building, writing).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains(why), "{error}");
    assert_eq!(state(open.store()), before);
}

on_every_engine! {
    fn a_load_has_its_notes_and_changes_or_none_is_there<E: TestEngine>(kind: E::Kind) {
        let directory = MemoryDirectory::new("db");
        let first = open::<E>(kind, &directory);
        let mut ownership = first.own(SOURCE).unwrap();
        commit(&mut ownership, 1);
        let before = state(first.store());
        let (mut images, old) = (Vec::new(), first.store().snapshot());
        let notes = [(POSITION, &b"copied"[..])];
        let person = before.0.vertices.keys().copied().next().unwrap();
        let vertices = renaming::<E>(&first, person, 77);
        let is_changed = !vertices.is_empty();
        let changes = OwnerChanges { notes: &notes, vertices: &vertices };
        first.load_owned(&mut ownership, u64::MAX, &load(), changes, &mut |_| Ok(()), &mut |_| {
            images.push(directory.power_cut());
            assert_eq!(state(first.store()), before, "nobody sees it before it is durable");
            ControlFlow::Continue(())
        }).unwrap();
        let after = state(first.store());
        assert_eq!((after.0.vertices.len(), after.1[POSITION].as_str()), (11, "copied"));
        let name = *before.0.vertices[&person].1.keys().next().unwrap();
        let expected = if is_changed { Value::I64(77) } else { Value::I64(1) };
        assert_eq!(after.0.vertices[&person].1[&name], expected);
        assert_eq!(dump(&old, 100), before.0, "an older snapshot sees what was there before");
        assert!(!images.is_empty());
        for image in images {
            assert_eq!(state_of::<E>(kind, &image), before);
        }
        assert_eq!(state_of::<E>(kind, &directory.power_cut()), after);
        commit(&mut ownership, 2);
        assert_eq!(state_of::<E>(kind, &directory.power_cut()), state(first.store()));
    }

    fn a_load_that_changes_what_it_may_not_leaves_everything<E: TestEngine>(kind: E::Kind) {
        let first = open::<E>(kind, &MemoryDirectory::new("db"));
        let mut ownership = first.own(SOURCE).unwrap();
        commit(&mut ownership, 1);
        let person = state(first.store()).0.vertices.keys().copied().next().unwrap();
        let change = renaming::<E>(&first, person, 77);
        let Some(change) = change.first() else {
            let key = first.store().catalogue().key("name").unwrap();
            let properties = [(key, Some(Value::I64(77)))].into_iter().collect();
            let vertices = [VertexChange { vertex: person, properties }];
            refused(&first, &mut ownership, &vertices, "this engine");
            return;
        };
        refused(&first, &mut ownership, &[change.clone(), change.clone()], "twice");
        let nobody = VertexChange { vertex: VertexId(person.0 + 9), ..change.clone() };
        refused(&first, &mut ownership, &[nobody], "which isn't there");
        let name = change.properties.as_slice()[0].0;
        let properties = [(name, Some(Value::from("text")))].into_iter().collect();
        refused(&first, &mut ownership, &[VertexChange { properties, ..change.clone() }], "takes");
        let owner = OwnerName::Label("Person");
        let request = IndexRequest { owner, key: "name", kind: IndexKind::Ordered, unique: false };
        first.store().create_index(&request, &mut |_| Ok(())).unwrap();
        refused(&first, &mut ownership, std::slice::from_ref(change), "index");
    }

    fn a_load_that_changes_a_value_forgets_what_was_known_of_it<E: TestEngine>(kind: E::Kind) {
        let directory = MemoryDirectory::new("db");
        let first = open::<E>(kind, &directory);
        let mut ownership = first.own(SOURCE).unwrap();
        commit(&mut ownership, 1);
        commit(&mut ownership, 2);
        let people: Vec<VertexId> = state(first.store()).0.vertices.keys().copied().collect();
        let Some(mut renamed) = renaming::<E>(&first, people[0], 77).pop() else { return };
        let known = Value::List(List::new(vec![Value::Map(Map::default())]).unwrap());
        let mut transaction = ownership.begin().unwrap();
        let (label, name) = (transaction.label("Person").unwrap(), transaction.key("name").unwrap());
        transaction.declare_meta_properties(label, name).unwrap();
        let meta = transaction.catalogue().meta_key(label, name).unwrap();
        for person in &people {
            transaction.set_vertex_property(*person, meta, Some(known.clone())).unwrap();
        }
        transaction.commit().unwrap();
        let removed = VertexChange { vertex: people[1], properties: [(name, None)].into_iter().collect() };
        let kept = [(name, Some(Value::I64(78))), (meta, Some(known.clone()))];
        let mut load_with = |vertices: &[VertexChange]| {
            let changes = OwnerChanges { vertices, ..OwnerChanges::default() };
            first.load_owned(&mut ownership, u64::MAX, &load(), changes, &mut |_| Ok(()), &mut |_| ControlFlow::Continue(())).unwrap();
        };
        load_with(&[renamed.clone(), removed]);
        let of = |store: &Store<E>, key: KeyId| -> Vec<Option<Value>> {
            let mut column = Column::new(ValueType::Any);
            store.snapshot().vertex_properties(&people, key, &mut column).unwrap();
            (0..people.len()).map(|row| column.get(row)).collect()
        };
        assert_eq!(of(first.store(), name), [Some(Value::I64(77)), None]);
        assert_eq!(of(first.store(), meta), [None, None]);
        renamed.properties = kept.into_iter().collect();
        load_with(&[renamed]);
        let again = open::<E>(kind, &directory.power_cut());
        assert_eq!(of(again.store(), name), [Some(Value::I64(78)), None]);
        assert_eq!(of(again.store(), meta), [Some(known), None]);
    }
}
