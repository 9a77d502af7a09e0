//! Commits that come in between: after another one's writes were resolved, before it has the latch. What it must check
//! wasn't listed, since nobody had committed when it began to commit.

use crate::keeps::Keeps;
use crate::naive_engine::NaiveEngine;
use crate::test_store::{HookedEngine, LateHook};
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::transaction::{Committed, Transaction as _};
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView as _;
use evergraph_storage::store::Store;
use evergraph_storage::transaction::handle::Transaction;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

struct Graph<E: HookedEngine> {
    store: Store<E>,
    hook: Box<dyn Fn(LateHook)>,
    follows: TypeId,
    knows: TypeId,
    age: KeyId,
    people: [VertexId; 3],
}

/// Three vertices, and two edge types between them: a simple one and one with parallel edges.
fn graph<E: HookedEngine>(kind: E::Kind) -> Graph<E> {
    let (store, hook) = E::hooked(kind);
    let mut setup = store.begin();
    let (label, age) = (setup.label("Person").unwrap(), setup.key("age").unwrap());
    let (follows, knows) = (setup.declare_simple_type("FOLLOWS").unwrap(), setup.edge_type("KNOWS").unwrap());
    let people = [36, 41, 20].map(|years| setup.add_vertex(label, &[(age, Value::I64(years))]).unwrap());
    setup.commit().unwrap();
    Graph { store, hook, follows, knows, age, people }
}

/// Commits `write` while `late` commits in between.
fn with_late_commit<E: HookedEngine>(
    graph: &Graph<E>,
    write: impl FnOnce(&mut Transaction<E>),
    late: impl Fn(&mut Transaction<E>) -> Result<()> + Send + 'static,
) -> Result<Committed> {
    let mut transaction = graph.store.begin();
    write(&mut transaction);
    let beside = graph.store.clone();
    let (began, is_late) = (graph.store.snapshot().timestamp(), Arc::new(AtomicBool::new(false)));
    let done = Arc::clone(&is_late);
    (graph.hook)(Box::new(move || {
        beside.transact(&late).unwrap();
        assert!(beside.snapshot().timestamp() > began);
        done.store(true, Ordering::Relaxed);
    }));
    let committed = transaction.commit();
    assert!(is_late.load(Ordering::Relaxed), "nobody committed in between");
    committed
}

type Write<E> = fn(&mut Transaction<E>, TypeId, KeyId, [VertexId; 3]) -> Result<()>;

fn late_of_the_same_conflicts<E: HookedEngine>(kind: E::Kind) {
    let Graph { follows, age, people: [ada, bob, eve], .. } = graph::<E>(kind);
    let put: Write<E> = |tx, follows, _, [ada, bob, _]| tx.put_edge(ada, follows, bob, &[]).map(drop);
    let delete: Write<E> = |tx, _, _, [_, bob, _]| tx.delete_vertex(bob);
    let set: Write<E> = |tx, _, age, [ada, ..]| tx.set_vertex_property(ada, age, Some(Value::I64(1)));
    for (write, late) in [(put, put), (put, delete), (delete, put), (set, set), (delete, delete)] {
        let graph = graph::<E>(kind);
        let people = [ada, bob, eve];
        let conflict = with_late_commit(
            &graph,
            |tx| write(tx, follows, age, people).unwrap(),
            move |tx| late(tx, follows, age, people),
        );
        assert_eq!(conflict.unwrap_err().kind(), ErrorKind::Conflict);
    }
}

fn late_of_something_else_commits<E: HookedEngine>(kind: E::Kind) {
    let graph = graph::<E>(kind);
    let Graph { follows, knows, age, people: [ada, bob, eve], .. } = graph;
    let committed = with_late_commit(
        &graph,
        |tx| {
            tx.put_edge(ada, follows, bob, &[]).unwrap();
        },
        move |tx| {
            tx.put_edge(bob, follows, ada, &[])?;
            tx.add_edge(ada, knows, bob, &[])?;
            tx.set_vertex_property(eve, age, Some(Value::I64(21)))
        },
    );
    assert_eq!(committed.unwrap().timestamp, graph.store.snapshot().timestamp());
    let mut degrees = Vec::new();
    graph.store.snapshot().degrees(&[ada, bob], Some(&[follows]), Direction::Out, &mut degrees).unwrap();
    assert_eq!(degrees, [1, 1]);
}

fn a_taken_name_is_replaced<E: HookedEngine>(kind: E::Kind) {
    let graph = graph::<E>(kind);
    let Graph { knows, people: [ada, bob, _], .. } = graph;
    let committed = with_late_commit(
        &graph,
        |tx| {
            tx.add_edge(ada, knows, bob, &[]).unwrap();
        },
        move |tx| tx.add_edge(ada, knows, bob, &[]).map(drop),
    );
    let edge = |discriminator| EdgeId { source: ada, edge_type: knows, target: bob, discriminator };
    assert_eq!(committed.unwrap().renamed, [(edge(0), edge(1))]);
}

#[test]
fn a_late_commit_of_the_same_item_is_a_conflict() {
    late_of_the_same_conflicts::<NaiveEngine>(Keeps::NoIndexes);
    late_of_the_same_conflicts::<AnyEngine>(EngineKind::Disk);
}

#[test]
fn a_late_commit_of_something_else_is_none() {
    late_of_something_else_commits::<NaiveEngine>(Keeps::NoIndexes);
    late_of_something_else_commits::<AnyEngine>(EngineKind::Disk);
}

#[test]
fn an_edge_whose_name_a_late_commit_took_gets_another_one() {
    a_taken_name_is_replaced::<NaiveEngine>(Keeps::NoIndexes);
    a_taken_name_is_replaced::<AnyEngine>(EngineKind::Disk);
}
