//! Many threads at one store: what must hold whoever is first.

use crate::keeps::Keeps;
use crate::model::dump;
use crate::naive_engine::NaiveEngine;
use crate::test_store::{TestEngine, empty};
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::{LabelId, VertexId};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView;
use evergraph_storage::store::Store;
use evergraph_storage::sync::thread;

const THREADS: usize = 4;
const ROUNDS: usize = 50;

/// Runs `body` in some threads, with each one's number.
fn in_threads<E: TestEngine>(store: &Store<E>, body: impl Fn(&Store<E>, usize) + Clone + Send + 'static) {
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let (store, body) = (store.clone(), body.clone());
            thread::spawn("writer", move || body(&store, number)).unwrap()
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn add_people<E: TestEngine>(store: &Store<E>, count: usize) -> (LabelId, Vec<VertexId>) {
    let people = store.transact(|transaction| {
        let label = transaction.label("Person")?;
        let people: Result<_, _> = (0..count).map(|_| transaction.add_vertex(label, &[])).collect();
        Ok((label, people?))
    });
    people.unwrap()
}

fn unique_inserts<E: TestEngine>(kind: E::Kind) {
    let store = empty::<E>(kind);
    store.create_unique_index("Person", "name").unwrap();
    in_threads(&store, |store, _| {
        for round in 0..ROUNDS as i64 {
            let inserted = store.transact(|transaction| {
                let (label, key) = (transaction.label("Person")?, transaction.key("name")?);
                transaction.add_vertex(label, &[(key, Value::I64(round))])
            });
            if let Err(error) = inserted {
                assert_eq!(error.kind(), ErrorKind::Invalid, "somebody else was first: {error}");
            }
        }
    });
    assert_eq!(dump(&store.snapshot(), 100).vertices.len(), ROUNDS, "one vertex a value");
    let (label, key) = (store.catalogue().label("Person").unwrap(), store.catalogue().key("name").unwrap());
    let values: Vec<Value> = (0..ROUNDS as i64).map(Value::I64).collect();
    let mut found = Vec::new();
    store.snapshot().look_up(label, key, &values, &mut found).unwrap();
    assert!(found.iter().all(Option::is_some));
}

fn deletes_against_adds<E: TestEngine>(kind: E::Kind) {
    let store = empty::<E>(kind);
    let (_, people) = add_people(&store, 2 * ROUNDS);
    in_threads(&store, move |store, number| {
        for pair in people.chunks(2) {
            let done = store.transact(|transaction| {
                if number % 2 == 0 {
                    let knows = transaction.edge_type("KNOWS")?;
                    transaction.add_edge(pair[0], knows, pair[1], &[]).map(|_| ())
                } else {
                    transaction.delete_vertex(pair[number / 2])
                }
            });
            if let Err(error) = done {
                assert_eq!(error.kind(), ErrorKind::NotFound, "somebody deleted an end: {error}");
            }
        }
    });
    let model = dump(&store.snapshot(), 100);
    let ends = model.edges.keys().flat_map(|edge| [edge.source, edge.target]);
    assert_eq!(ends.filter(|end| !model.vertices.contains_key(end)).count(), 0, "no edge dangles");
    assert!(model.vertices.is_empty(), "both ends of every pair were deleted");
}

fn parallel_adds<E: TestEngine>(kind: E::Kind) {
    let store = empty::<E>(kind);
    let (_, people) = add_people(&store, 2);
    in_threads(&store, move |store, number| {
        for round in 0..ROUNDS {
            let by = Value::I64((number * ROUNDS + round) as i64);
            let (key, edge, committed) = loop {
                let mut transaction = store.begin();
                let (knows, key) = (transaction.edge_type("KNOWS").unwrap(), transaction.key("by").unwrap());
                let edge = transaction.add_edge(people[0], knows, people[1], &[(key, by.clone())]).unwrap();
                match transaction.commit() {
                    Err(error) if store.engine().forgets() && error.is_conflict() => {}
                    committed => break (key, edge, committed.unwrap()),
                }
            };
            let name = committed.renamed.iter().find(|(old, _)| *old == edge).map_or(edge, |(_, new)| *new);
            let values = store.snapshot().edge_property_map(name).unwrap();
            assert_eq!(values, [(key, by)], "the reported name is the edge's");
        }
    });
    let model = dump(&store.snapshot(), 100);
    assert_eq!(model.edges.len(), THREADS * ROUNDS, "every edge survives");
    let highest = model.edges.keys().map(|edge| usize::from(edge.discriminator)).max().unwrap();
    assert_eq!(highest, THREADS * ROUNDS - 1, "discriminators are taken from the lowest");
}

#[test]
fn concurrent_inserts_of_a_unique_value_make_one_vertex() {
    unique_inserts::<NaiveEngine>(Keeps::NoIndexes);
    unique_inserts::<NaiveEngine>(Keeps::Indexes);
    unique_inserts::<AnyEngine>(EngineKind::Memory);
    unique_inserts::<AnyEngine>(EngineKind::Disk);
    unique_inserts::<AnyEngine>(EngineKind::Mapped);
}

#[test]
fn deleting_a_vertex_against_adding_edges_never_leaves_a_dangling_edge() {
    deletes_against_adds::<NaiveEngine>(Keeps::NoIndexes);
    deletes_against_adds::<AnyEngine>(EngineKind::Memory);
    deletes_against_adds::<AnyEngine>(EngineKind::Disk);
    deletes_against_adds::<AnyEngine>(EngineKind::Mapped);
}

#[test]
fn parallel_adds_by_many_threads_all_survive() {
    parallel_adds::<NaiveEngine>(Keeps::NoIndexes);
    parallel_adds::<AnyEngine>(EngineKind::Memory);
    parallel_adds::<AnyEngine>(EngineKind::Disk);
    parallel_adds::<AnyEngine>(EngineKind::Mapped);
}
