//! Indexes whose entries the engine keeps: what opening, look-ups and unique checks do with them. That they say what
//! a scan says is in `indexes.rs`, `rules.rs` and `serializable.rs`, which run on such an engine too.

use crate::keeps::Keeps;
use crate::naive_engine::NaiveEngine;
use crate::oracle::{check_indexes, some_ranges};
use crate::test_store::{TestEngine, open, options};
use evergraph_graph::error::ErrorKind;
use evergraph_graph::index::{IndexKind, IndexState};
use evergraph_graph::load::{Load, VertexBlock, VertexTable};
use evergraph_graph::look_up::{MatchCursor, Matches};
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::transaction::{Isolation, Transaction as _};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::OpenStore;
use evergraph_storage::store::Store;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Ten people with unique names, hashed, and ages, in order.
fn people<E: TestEngine>(kind: E::Kind, directory: &MemoryDirectory) -> Store<E> {
    let store = open::<E>(kind, directory, Durability::Sync).unwrap();
    for (key, kind, unique) in [("name", IndexKind::Hash, true), ("age", IndexKind::Ordered, false)] {
        let request = IndexRequest { owner: OwnerName::Label("Person"), key, kind, unique };
        store.create_index(&request, &mut |_| Ok(())).unwrap();
    }
    let added = store.transact(|transaction| {
        let (label, name, age) =
            (transaction.label("Person")?, transaction.key("name")?, transaction.key("age")?);
        for number in 0..10 {
            let named = (name, Value::from(format!("p{number}")));
            transaction.add_vertex(label, &[named, (age, Value::I64(number % 3))])?;
        }
        Ok(())
    });
    added.unwrap();
    store
}

fn entries<E: TestEngine>(store: &Store<E>) -> Vec<(u64, IndexState)> {
    store.indexes().iter().map(|index| (index.entries, index.state)).collect()
}

#[test]
fn opening_builds_no_index_that_the_engine_keeps_and_it_answers_all_the_same() {
    let values = [Value::from("p3"), Value::from("nobody"), Value::I64(1)];
    let directory = MemoryDirectory::new("db");
    drop(people::<NaiveEngine>(Keeps::Indexes, &directory));
    let store = open::<NaiveEngine>(Keeps::Indexes, &directory, Durability::Sync).unwrap();
    assert_eq!(entries(&store), [(10, IndexState::Ready); 2]);
    check_indexes(&store.snapshot(), &values, &some_ranges(), 2);
    // A planner asks a transaction, too, how much there is.
    let told: Vec<u64> = store.begin().indexes().iter().map(|index| index.entries).collect();
    assert_eq!(told, [10; 2]);
    let taken = store.transact(|transaction| {
        let (label, name) = (transaction.label("Person")?, transaction.key("name")?);
        transaction.add_vertex(label, &[(name, Value::from("p3"))])
    });
    assert!(taken.unwrap_err().to_string().contains("Person.name is unique, and v3 already has"));
    drop(store);
    // The same files under an engine that leaves indexes to the front.
    let store = open::<NaiveEngine>(Keeps::NoIndexes, &directory, Durability::Sync).unwrap();
    assert_eq!(entries(&store), [(10, IndexState::Ready); 2]);
    check_indexes(&store.snapshot(), &values, &some_ranges(), 2);
}

#[test]
fn two_who_enter_the_same_unique_value_at_once_find_each_other_without_entries_of_the_front() {
    let store = people::<NaiveEngine>(Keeps::Indexes, &MemoryDirectory::new("db"));
    let add = || {
        let mut transaction = store.begin();
        let (label, name) = (transaction.label("Person").unwrap(), transaction.key("name").unwrap());
        transaction.add_vertex(label, &[(name, Value::from("new"))]).unwrap();
        transaction
    };
    let (first, second) = (add(), add());
    first.commit().unwrap();
    assert_eq!(second.commit().unwrap_err().kind(), ErrorKind::Conflict);
}

#[test]
fn a_load_is_found_by_indexes_that_the_engine_keeps_and_refused_where_it_breaks_a_unique_one() {
    let directory = MemoryDirectory::new("db");
    let open = || {
        OpenStore::<NaiveEngine>::open(Arc::new(directory.clone()), &options::<NaiveEngine>(Keeps::Indexes))
            .unwrap()
    };
    let load = |numbers: std::ops::Range<i64>| {
        let names: Vec<Value> = numbers.map(Value::I64).collect();
        let columns = vec![PackedColumn::from_values(names.iter().map(Some))];
        let block = VertexBlock { rows: names.len(), columns };
        let people = VertexTable::new("Person", vec![("name".into(), ValueType::I64)], vec![block]);
        Load { vertices: vec![people.unique_key("name")], edges: Vec::new() }
    };
    let first = open();
    // The first load makes the index, the second one finds it there.
    for (numbers, count) in [(0..20, 20), (20..40, 40)] {
        first
            .load_within(u64::MAX, &load(numbers), &mut |_| Ok(()), &mut |_| ControlFlow::Continue(()))
            .unwrap();
        assert_eq!(entries(first.store()), [(count, IndexState::Ready)]);
        check_indexes(&first.store().snapshot(), &[Value::I64(7), Value::I64(39)], &some_ranges(), 2);
    }
    for numbers in [39..50, 0..3] {
        let refused = first.store().load(&load(numbers), &mut |_| Ok(()), &mut || panic!("refused before"));
        assert!(refused.unwrap_err().to_string().contains("Person.name can't be unique"));
    }
    first.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
    first.close().unwrap();
    let again = open();
    assert_eq!(entries(again.store()), [(40, IndexState::Ready)]);
    check_indexes(&again.store().snapshot(), &[Value::I64(7), Value::I64(39)], &some_ranges(), 2);
    let report = again.check(&mut |_, _, _| ControlFlow::Continue(())).unwrap();
    assert!(report.is_healthy(), "{report:?}");
}

/// The engine's exact answer reads no property, so what it depends on must be noted without.
#[test]
fn a_holder_that_was_looked_up_exactly_and_lost_its_value_is_a_conflict() {
    let store = people::<NaiveEngine>(Keeps::Indexes, &MemoryDirectory::new("db"));
    let catalogue = store.catalogue();
    let (label, age) = (catalogue.label("Person").unwrap(), catalogue.key("age").unwrap());
    for (rival_value, is_conflict) in
        [(Some(Value::I64(7)), true), (None, true), (Some(Value::I64(9)), false)]
    {
        let mut transaction = store.begin_with(Isolation::Serializable);
        let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
        transaction.look_up_vertices(label, age, &[Value::I64(1)], &mut cursor, 100, &mut found).unwrap();
        let holder = found.items[0];
        transaction.add_vertex(label, &[]).unwrap();
        let other = match is_conflict {
            true => holder,
            // Somebody whose age nobody asked for.
            false => {
                let mut found = Matches::default();
                let twos = [Value::I64(2)];
                store
                    .snapshot()
                    .look_up_vertices(label, age, &twos, &mut MatchCursor::default(), 1, &mut found)
                    .unwrap();
                found.items[0]
            }
        };
        store.transact(|rival| rival.set_vertex_property(other, age, rival_value.clone())).unwrap();
        let committed = transaction.commit();
        assert_eq!(committed.is_err_and(|error| error.is_conflict()), is_conflict, "{rival_value:?}");
    }
}
