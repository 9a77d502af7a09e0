//! Opened, checkpointed, killed and reopened: what a database on any durable engine promises, on every engine.

use crate::keeps::Keeps;
use crate::model::{Model, dump};
use crate::naive_engine::NaiveEngine;
use crate::test_store::{TestEngine, on_every_engine, options};
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::column::Column;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, GroupId, KeyId, TypeId, VertexId};
use evergraph_graph::load::{EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::transaction::{Isolation, Transaction as _};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor};
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::open::{BackgroundStep, OpenOptions, OpenStore, check, salvage};
use std::ops::ControlFlow;
use std::sync::Arc;

fn open<E: TestEngine>(kind: E::Kind, directory: &MemoryDirectory) -> Result<OpenStore<E>> {
    OpenStore::open(Arc::new(directory.clone()), &options::<E>(kind))
}

fn state<E: DurableEngine>(open: &OpenStore<E>) -> Model {
    dump(&open.store().snapshot(), 100)
}

fn state_of<E: TestEngine>(kind: E::Kind, directory: &MemoryDirectory) -> Model {
    let open = open::<E>(kind, directory).unwrap();
    let report = open.check(&mut |_, _, _| ControlFlow::Continue(())).unwrap();
    assert!(report.is_healthy(), "{report:?}");
    state(&open)
}

fn checkpoint<E: DurableEngine>(open: &OpenStore<E>) {
    open.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
}

/// Names everything, with a unique index, and commits a little.
fn begun<E: TestEngine>(kind: E::Kind, directory: &MemoryDirectory) -> OpenStore<E> {
    let open = open::<E>(kind, directory).unwrap();
    open.store().create_unique_index("Person", "name").unwrap();
    (0..3).for_each(|round| commit(&open, round));
    open
}

/// Three people, who know each other, one of them twice; one of the round before goes.
fn commit<E: DurableEngine>(open: &OpenStore<E>, round: i64) {
    let done = open.store().transact(|tx| {
        let (label, edge_type) = (tx.label("Person")?, tx.edge_type("KNOWS")?);
        let (name, weight) = (tx.key("name")?, tx.key("weight")?);
        let person = |number| Value::I64(round * 10 + number);
        let mut people = Vec::new();
        for number in 0..3 {
            people.push(tx.add_vertex(label, &[(name, person(number))])?);
        }
        for target in [1, 2, 2] {
            tx.add_edge(people[0], edge_type, people[target], &[(weight, Value::F64(0.5))])?;
        }
        tx.set_vertex_property(people[1], weight, Some(Value::I64(round)))
    });
    done.unwrap();
}

fn load<E: TestEngine>() -> Load {
    let numbers: Vec<Value> = (1000..1000 + i64::from(E::MANY)).map(Value::I64).collect();
    let column = |values: &[Value]| PackedColumn::from_values(values.iter().map(Some));
    let block = VertexBlock { rows: numbers.len(), columns: vec![column(&numbers)] };
    let people = VertexTable::new("Person", vec![("name".into(), ValueType::I64)], vec![block]);
    let ends = EdgeBlock::bare((0..E::MANY - 1).map(|row| (row, row + 1)).chain([(7, 8), (7, 8)]));
    let knows = EdgeTable::new("KNOWS", 0, 0, Vec::new(), vec![ends]);
    Load { vertices: vec![people.unique_key("name")], edges: vec![knows] }
}

/// Questions about a vertex that isn't there, of an edge type and a property.
type Ask = fn(&dyn GraphView, VertexId, TypeId, KeyId);
const QUESTIONS: [(&str, Ask); 8] = [
    ("label", |view, vertex, _, _| view.labels(&[vertex], &mut Vec::new()).unwrap()),
    ("property", |view, vertex, _, key| {
        view.vertex_properties(&[vertex], key, &mut Column::new(ValueType::Any)).unwrap();
    }),
    ("all properties", |view, vertex, _, _| assert!(view.vertex_property_map(vertex).unwrap().is_empty())),
    ("neighbours", |view, vertex, edge_type, _| {
        let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
        view.neighbors(&[vertex], Some(&[edge_type]), Direction::Out, &mut cursor, 9, &mut batch).unwrap();
    }),
    ("degree", |view, vertex, edge_type, _| {
        view.degrees(&[vertex], Some(&[edge_type]), Direction::Out, &mut Vec::new()).unwrap();
    }),
    ("edge", |view, vertex, edge_type, _| {
        let edge = EdgeId { source: vertex, edge_type, target: VertexId(vertex.0 + 1), discriminator: 0 };
        view.has_edges(&[edge], &mut Vec::new()).unwrap();
    }),
    ("property of an edge", |view, vertex, edge_type, key| {
        let edge = EdgeId { source: vertex, edge_type, target: VertexId(vertex.0 + 1), discriminator: 0 };
        view.edge_properties(&[edge], key, &mut Column::new(ValueType::Any)).unwrap();
    }),
    ("edges between", |view, vertex, edge_type, _| {
        let pair = (vertex, VertexId(vertex.0 + 1));
        view.count_edges_between(&[pair], edge_type, &mut Vec::new()).unwrap();
    }),
];

on_every_engine! {
    fn what_was_committed_is_there_again_whenever_the_power_is_cut<E: TestEngine>(kind: E::Kind) {
        let directory = MemoryDirectory::new("db");
        let first = begun::<E>(kind, &directory);
        assert!(first.recovery().created);
        assert_eq!(state_of::<E>(kind, &directory.power_cut()), state(&first));
        checkpoint(&first);
        assert_eq!(state_of::<E>(kind, &directory.power_cut()), state(&first));
        commit(&first, 3);
        let image = directory.power_cut();
        let again = open::<E>(kind, &image).unwrap();
        assert_eq!((state(&again), again.recovery().commits), (state(&first), 1));
        assert!(again.recovery().body_bytes > 0, "the rest was in the engine's files");
        commit(&again, 4);
        checkpoint(&again);
        commit(&again, 5);
        let last = state(&again);
        again.close().unwrap();
        assert_eq!(state_of::<E>(kind, &image), last);
    }

    fn a_checkpoint_that_ends_early_changes_nothing<E: TestEngine>(kind: E::Kind) {
        let directory = MemoryDirectory::new("db");
        let first = begun::<E>(kind, &directory);
        checkpoint(&first);
        commit(&first, 3);
        let before = state(&first);
        let mut images = Vec::new();
        first.checkpoint(&mut |_| {
            images.push(directory.power_cut());
            ControlFlow::Continue(())
        }).unwrap();
        assert!(images.len() > 1);
        for image in images {
            assert_eq!(state_of::<E>(kind, &image), before);
        }
        commit(&first, 4);
        let files = || directory.list().unwrap().into_iter().filter(|name| E::is_file(name)).collect::<Vec<_>>();
        let present = files();
        let stopped = first.checkpoint(&mut |_| ControlFlow::Break(())).unwrap_err();
        assert_eq!(stopped.kind(), ErrorKind::Cancelled);
        assert_eq!(files(), present);
        let after = state(&first);
        drop(first);
        assert_eq!(state_of::<E>(kind, &directory), after);
    }

    fn a_load_is_there_whole_or_not_at_all<E: TestEngine>(kind: E::Kind) {
        let directory = MemoryDirectory::new("db");
        let first = begun::<E>(kind, &directory);
        let before = state(&first);
        let mut images = Vec::new();
        first.load_within(u64::MAX, &load::<E>(), &mut |_| Ok(()), &mut |_| {
            images.push(directory.power_cut());
            ControlFlow::Continue(())
        }).unwrap();
        let after = state(&first);
        let many = E::MANY as usize;
        assert_eq!((after.vertices.len(), after.edges.len()), (9 + many, 9 + many + 1));
        // Some of them, since each is a whole database to open.
        for image in images.iter().step_by((images.len() / 8).max(1)) {
            assert_eq!(state_of::<E>(kind, image), before);
        }
        assert_eq!(state_of::<E>(kind, &directory.power_cut()), after);
        let twice = first.store().load(&load::<E>(), &mut |_| Ok(()), &mut || panic!("refused before"));
        assert!(twice.unwrap_err().to_string().contains("Person.name can't be unique"));
        assert_eq!(state(&first), after);
        commit(&first, 3);
        let after = state(&first);
        assert_eq!(state_of::<E>(kind, &directory.power_cut()), after);
    }

    fn a_serialisable_read_of_what_a_load_then_brings_conflicts<E: TestEngine>(kind: E::Kind) {
        for (number, (question, ask)) in QUESTIONS.iter().enumerate() {
            for loads in [false, true] {
                let directory = MemoryDirectory::new("db");
                let open = begun::<E>(kind, &directory);
                let store = open.store();
                let catalogue = store.snapshot().catalogue();
                let name = catalogue.key("name").unwrap();
                // A load puts its vertices into groups of their own, behind those that are there.
                let loaded = VertexId::new(GroupId(store.engine().group_count()), 7);
                let mut reader = store.begin_with(Isolation::Serializable);
                ask(&reader, loaded, catalogue.edge_type("KNOWS").unwrap(), name);
                reader.set_vertex_property(VertexId(0), name, Some(Value::I64(-1))).unwrap();
                if loads {
                    let load = load::<E>();
                    open.load_within(u64::MAX, &load, &mut |_| Ok(()), &mut |_| ControlFlow::Continue(())).unwrap();
                    let mut labels = Vec::new();
                    store.snapshot().labels(&[loaded], &mut labels).unwrap();
                    assert!(labels[0].is_some(), "the load brings the vertex that was read");
                }
                let committed = reader.commit();
                assert_eq!(committed.is_err_and(|error| error.is_conflict()), loads, "{number}: {question}");
            }
        }
    }

    fn a_backup_is_a_database_of_its_own<E: TestEngine>(kind: E::Kind) {
        let directory = MemoryDirectory::new("db");
        let first = begun::<E>(kind, &directory);
        checkpoint(&first);
        commit(&first, 3);
        let target = MemoryDirectory::new("copy");
        let (before, mut done) = (state(&first), 0);
        let made = first.backup(&target, &mut |now| {
            assert!(done <= now.bytes_done && now.bytes_done <= now.bytes_total);
            done = now.bytes_done;
            ControlFlow::Continue(())
        }).unwrap();
        assert_eq!((made.vertices_count, made.edges_count), (12, 12));
        commit(&first, 4);
        checkpoint(&first);
        assert_eq!(state_of::<E>(kind, &target), before);
        let stopped = MemoryDirectory::new("stopped");
        assert!(first.backup(&stopped, &mut |_| ControlFlow::Break(())).is_err());
        assert!(stopped.list().unwrap().is_empty(), "{:?}", stopped.list().unwrap());
    }

    fn a_store_without_threads_is_stepped<E: TestEngine>(kind: E::Kind) {
        let directory = MemoryDirectory::new("db");
        let options = OpenOptions {
            environment: Environment::simulated(7),
            checkpoint_after_bytes: 1,
            ..options::<E>(kind)
        };
        let open = OpenStore::<E>::open(Arc::new(directory.clone()), &options).unwrap();
        (0..3).for_each(|round| commit(&open, round));
        for step in [BackgroundStep::Merge, BackgroundStep::MergeIdle, BackgroundStep::LookAfter] {
            open.step(step);
        }
        assert_eq!(open.checkpoint_state().checkpoints, 1);
        assert_eq!(state_of::<E>(kind, &directory.power_cut()), state(&open));
    }
}

fn damage_is_found_and_the_rest_is_saved<E: TestEngine>(kind: E::Kind) {
    let directory = MemoryDirectory::new("db");
    let first = begun::<E>(kind, &directory);
    checkpoint(&first);
    (3..6).for_each(|round| commit(&first, round));
    let last = state(&first);
    first.close().unwrap();
    drop(first);
    let go_on = &mut |_: &str, _, _| ControlFlow::Continue(());
    let saved = |directory: &MemoryDirectory| {
        let target = MemoryDirectory::new("saved");
        let new: Arc<dyn Directory> = Arc::new(target.clone());
        let made = salvage::<E>(directory, &new, &mut |_, _, _| ControlFlow::Continue(())).unwrap();
        (made, state_of::<E>(kind, &target))
    };
    assert!(check::<E>(Arc::new(directory.power_cut()), go_on).unwrap().is_healthy());
    let (made, whole) = saved(&directory);
    assert!(made.is_complete() && made.vertices_count == 18, "{made:?}");
    assert_eq!(whole, last);
    for name in directory.list().unwrap().iter().filter(|name| E::is_file(name)) {
        let file = directory.open(name, OpenMode::ReadWrite).unwrap();
        // Behind what is used, an array file has free space.
        let bytes = directory.read_all(name, u64::MAX).unwrap();
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(16, |last| last as u64 + 1).max(16);
        let middle = used / 2;
        file.write_at(&[0xa5; 16], middle.min(used - 16)).unwrap();
        file.write_at(&[0xa5; 16], middle.min(4100)).unwrap();
    }
    assert!(!check::<E>(Arc::new(directory.clone()), go_on).unwrap().is_healthy());
    let (made, rest) = saved(&directory);
    assert!(!made.is_complete());
    assert!(
        rest.vertices.len() >= 9 && rest.vertices.iter().all(|(vertex, of)| last.vertices[vertex] == *of)
    );
}

#[test]
fn damage_is_found_and_the_rest_is_saved_on_engines_that_salvage() {
    damage_is_found_and_the_rest_is_saved::<NaiveEngine>(Keeps::NoIndexes);
    damage_is_found_and_the_rest_is_saved::<AnyEngine>(EngineKind::Memory);
    damage_is_found_and_the_rest_is_saved::<AnyEngine>(EngineKind::Disk);
    damage_is_found_and_the_rest_is_saved::<AnyEngine>(EngineKind::Mapped);
}

/// Opens, checks and saves a database of engine `A` as one of engine `B`; each refusal.
fn refusals<A: TestEngine, B: TestEngine>(kind: A::Kind, other_kind: B::Kind) -> Vec<String> {
    let directory = MemoryDirectory::new("db");
    drop(begun::<A>(kind, &directory));
    let before = state_of::<A>(kind, &directory);
    let new: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("new"));
    let refused = [
        open::<B>(other_kind, &directory).map(drop),
        check::<B>(Arc::new(directory.clone()), &mut |_, _, _| ControlFlow::Continue(())).map(drop),
        salvage::<B>(&directory, &new, &mut |_, _, _| ControlFlow::Continue(())).map(drop),
    ];
    assert_eq!(state_of::<A>(kind, &directory), before);
    refused.into_iter().map(|refused| refused.unwrap_err().to_string()).collect()
}

#[test]
fn a_database_of_another_engine_is_refused_by_name() {
    for text in refusals::<AnyEngine, NaiveEngine>(EngineKind::Memory, Keeps::NoIndexes) {
        assert!(text.contains("uses the engine `memory`"), "{text}");
    }
    for text in refusals::<NaiveEngine, AnyEngine>(Keeps::NoIndexes, EngineKind::Memory) {
        assert!(text.contains("uses the engine `naive`"), "{text}");
    }
}
