//! Conversions: a database of one engine becomes one of another, there and back, with the same ids.

use crate::keeps::Keeps;
use crate::naive_engine::NaiveEngine;
use crate::test_store::{TestEngine, options};
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, KeyId, LabelId, VertexId};
use evergraph_graph::index::IndexKind;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::{EdgeCursor, GraphView as _, VertexCursor};
use evergraph_storage::conversion::run::ConversionSummary;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::{Random as _, SplitMix64};
use evergraph_storage::open::{OpenOptions, OpenStore};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Vertices of the graph that is converted: two groups of one label, and one between them of another.
const VERTICES: u64 = 5000;
/// Edges of its hub: more than a source hands out at once.
const HUB_EDGES: u64 = 9_000;

fn open<E: TestEngine>(kind: E::Kind, directory: &MemoryDirectory) -> OpenStore<E> {
    OpenStore::open(Arc::new(directory.clone()), &options::<E>(kind)).unwrap()
}

/// What must stay the same: everything that a view shows, names, indexes, and the commit.
#[derive(PartialEq, Debug)]
struct Content {
    vertices: Vec<VertexId>,
    labels: Vec<Option<LabelId>>,
    edges: Vec<EdgeId>,
    /// The values of each key, of all vertices and of all edges.
    values: Vec<(KeyId, Column, Column)>,
    schema: Vec<SchemaChange>,
    at: Timestamp,
}

fn content<E: DurableEngine>(open: &OpenStore<E>) -> Content {
    let report = open.check(&mut |_, _, _| ControlFlow::Continue(())).unwrap();
    assert!(report.is_healthy(), "{report:?}");
    let snapshot = open.store().snapshot();
    let catalogue = snapshot.catalogue();
    let (mut vertices, mut labels, mut edges) = (Vec::new(), Vec::new(), Vec::new());
    snapshot.scan_vertices(None, &mut VertexCursor::default(), usize::MAX, &mut vertices).unwrap();
    snapshot.labels(&vertices, &mut labels).unwrap();
    snapshot.scan_edges(None, &mut EdgeCursor::default(), usize::MAX / 2, &mut edges).unwrap();
    let values = catalogue.keys().map(|(key, _)| {
        let [mut of_vertices, mut of_edges] = [ValueType::Any; 2].map(Column::new);
        snapshot.vertex_properties(&vertices, key, &mut of_vertices).unwrap();
        snapshot.edge_properties(&edges, key, &mut of_edges).unwrap();
        (key, of_vertices, of_edges)
    });
    let values = values.collect();
    Content { vertices, labels, edges, values, schema: catalogue.changes(), at: snapshot.timestamp() }
}

fn convert<E: DurableEngine, T: TestEngine>(
    from: &OpenStore<E>,
    kind: T::Kind,
    target: &Arc<dyn Directory>,
) -> Result<ConversionSummary> {
    from.convert::<T>(T::name(kind), target, &mut |_, done, total| {
        assert!(done <= total);
        ControlFlow::Continue(())
    })
}

/// A database of this kind with the content of `from`, which was closed and opened once more since.
fn converted<E: DurableEngine, T: TestEngine>(from: &OpenStore<E>, kind: T::Kind) -> OpenStore<T> {
    let directory = MemoryDirectory::new("new");
    let target: Arc<dyn Directory> = Arc::new(directory.clone());
    let made = convert::<E, T>(from, kind, &target).unwrap();
    let wanted = content(from);
    let found = open::<T>(kind, &directory.power_cut());
    assert_eq!(content(&found), wanted);
    assert_eq!(made.through, wanted.at);
    let counted = (made.vertices_count, made.edges_count);
    assert_eq!(counted, (wanted.vertices.len() as u64, wanted.edges.len() as u64));
    found.close().unwrap();
    open::<T>(kind, &directory)
}

/// Two labels whose groups take turns, a hub, values of several types and sizes, an index of each kind, and
/// holes: vertices and parallel edges that were deleted.
fn filled<E: TestEngine>(kind: E::Kind, directory: &MemoryDirectory) -> OpenStore<E> {
    let open = open::<E>(kind, directory);
    let store = open.store();
    store.create_unique_index("Person", "id").unwrap();
    store
        .transact(|tx| {
            let (follows, at) = (tx.edge_type("FOLLOWS")?, tx.key("at")?);
            tx.declare_simple_type("LIKES")?;
            tx.declare_edge_property(follows, at, ValueType::I64)?;
            tx.declare_newest_first(follows, at)
        })
        .unwrap();
    let mut random = SplitMix64::new(5);
    let vertices: Vec<VertexId> = store
        .transact(|tx| {
            let labels = [tx.label("Person")?, tx.label("Post")?];
            let keys = [tx.key("id")?, tx.key("text")?, tx.key("third")?];
            let vertex = |number: u64| {
                let text =
                    if number.is_multiple_of(500) { "long ".repeat(2000) } else { format!("text {number}") };
                let third =
                    if number.is_multiple_of(2) { Value::F64(number as f64) } else { Value::F64(-0.5) };
                let mut values = vec![(keys[0], Value::I64(number as i64)), (keys[1], text.as_str().into())];
                if number.is_multiple_of(3) {
                    values.push((keys[2], third));
                }
                tx.add_vertex(labels[usize::from(number.is_multiple_of(8))], &values)
            };
            (0..VERTICES).map(vertex).collect()
        })
        .unwrap();
    store
        .transact(|tx| {
            let (follows, likes, at) = (tx.edge_type("FOLLOWS")?, tx.edge_type("LIKES")?, tx.key("at")?);
            let mut any = || vertices[1 + random.next_u64() as usize % (vertices.len() - 1)];
            for number in 0..HUB_EDGES {
                tx.add_edge(vertices[0], follows, any(), &[(at, Value::I64(number as i64))])?;
                if number.is_multiple_of(4) {
                    let (source, target) = (any(), any());
                    tx.add_edge(source, follows, target, &[])?;
                    tx.put_edge(target, likes, source, &[(at, Value::I64(1))])?;
                }
            }
            let parallel: Vec<EdgeId> =
                (0..5).map(|_| tx.add_edge(vertices[7], follows, vertices[8], &[])).collect::<Result<_>>()?;
            [0, 2, 3].iter().try_for_each(|at| tx.delete_edge(parallel[*at]))
        })
        .unwrap();
    open.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
    for (owner, key, ordered) in
        [(OwnerName::Label("Post"), "text", false), (OwnerName::EdgeType("FOLLOWS"), "at", true)]
    {
        let kind = if ordered { IndexKind::Ordered } else { IndexKind::Hash };
        store.create_index(&IndexRequest { owner, key, kind, unique: false }, &mut |_| Ok(())).unwrap();
    }
    store
        .transact(|tx| {
            let id = tx.key("id")?;
            for vertex in vertices.iter().skip(1).step_by(41) {
                tx.delete_vertex(*vertex)?;
            }
            tx.set_vertex_property(vertices[2], id, None)
        })
        .unwrap();
    open
}

/// Writes that show which ids come next.
fn next_ids<E: DurableEngine>(open: &OpenStore<E>) -> (Vec<VertexId>, EdgeId, Timestamp) {
    let store = open.store();
    let made = store
        .transact(|tx| {
            let labels = [tx.label("Person")?, tx.label("Post")?, tx.label("Robot")?];
            let new: Vec<VertexId> =
                labels.iter().map(|label| tx.add_vertex(*label, &[])).collect::<Result<_>>()?;
            let follows = tx.edge_type("FOLLOWS")?;
            let edge = tx.add_edge(VertexId(5), follows, new[0], &[])?;
            Ok((new, edge))
        })
        .unwrap();
    (made.0, made.1, store.snapshot().timestamp())
}

fn there_and_back<A: TestEngine, B: TestEngine>(first_kind: A::Kind, other_kind: B::Kind) {
    let directory = MemoryDirectory::new("db");
    let first = filled::<A>(first_kind, &directory);
    let there = converted::<A, B>(&first, other_kind);
    let back = converted::<B, A>(&there, first_kind);
    assert_eq!(content(&back), content(&first));
    let wanted = next_ids(&first);
    assert_eq!(next_ids(&there), wanted);
    assert_eq!(next_ids(&back), wanted);
    // What was converted goes on as any database: checkpoints, and loads of the log.
    there.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(content(&there), content(&first));
}

#[test]
fn memory_becomes_disk_and_memory_again() {
    there_and_back::<AnyEngine, AnyEngine>(EngineKind::Memory, EngineKind::Disk);
}

#[test]
fn memory_becomes_mapped_and_memory_again() {
    there_and_back::<AnyEngine, AnyEngine>(EngineKind::Memory, EngineKind::Mapped);
}

#[test]
fn disk_becomes_mapped_and_disk_again() {
    there_and_back::<AnyEngine, AnyEngine>(EngineKind::Disk, EngineKind::Mapped);
}

#[test]
fn an_empty_database_is_converted_too() {
    fn between<A: TestEngine, B: TestEngine>(from_kind: A::Kind, kind: B::Kind) {
        let empty = open::<A>(from_kind, &MemoryDirectory::new("db"));
        assert_eq!(content(&converted::<A, B>(&empty, kind)), content(&empty));
        let names = open::<A>(from_kind, &MemoryDirectory::new("db"));
        names.store().create_unique_index("Person", "id").unwrap();
        assert_eq!(content(&converted::<A, B>(&names, kind)), content(&names));
    }
    between::<NaiveEngine, AnyEngine>(Keeps::NoIndexes, EngineKind::Memory);
    between::<AnyEngine, AnyEngine>(EngineKind::Memory, EngineKind::Disk);
    between::<AnyEngine, NaiveEngine>(EngineKind::Disk, Keeps::NoIndexes);
    between::<AnyEngine, AnyEngine>(EngineKind::Memory, EngineKind::Mapped);
    between::<AnyEngine, AnyEngine>(EngineKind::Mapped, EngineKind::Disk);
}

/// A small graph with everything that tells a source from a wrong one, committed in several steps.
fn small<E: TestEngine>(kind: E::Kind, directory: &MemoryDirectory) -> OpenStore<E> {
    let open = open::<E>(kind, directory);
    for round in 0..3 {
        open.store()
            .transact(|tx| {
                let (label, edge_type, key) = (tx.label("V")?, tx.edge_type("E")?, tx.key("k")?);
                let new: Vec<VertexId> = (0..4)
                    .map(|number| tx.add_vertex(label, &[(key, Value::I64(round * 4 + number))]))
                    .collect::<Result<_>>()?;
                for target in [1, 2, 2, 2] {
                    tx.add_edge(new[0], edge_type, new[target], &[(key, Value::I64(round))])?;
                }
                tx.delete_edge(EdgeId { source: new[0], edge_type, target: new[2], discriminator: 1 })?;
                tx.delete_vertex(new[3])
            })
            .unwrap();
    }
    open
}

fn failures_leave_nothing<A: TestEngine, B: TestEngine>(from_kind: A::Kind, kind: B::Kind) {
    let from = small::<A>(from_kind, &MemoryDirectory::new("db"));
    let wanted = content(&from);
    let mut refused = 0;
    for nth in 1.. {
        let directory = MemoryDirectory::new("new");
        let failing = Arc::new(FailingDirectory::new(Arc::new(directory.clone())));
        failing.plan(Fault::any_change(std::io::ErrorKind::StorageFull).nth(nth));
        let target: Arc<dyn Directory> = Arc::clone(&failing) as _;
        let made = convert::<A, B>(&from, kind, &target);
        // Whatever happened, the power may fail now.
        for image in [directory.clone(), directory.power_cut()] {
            if image.exists("manifest").unwrap() {
                assert_eq!(content(&open::<B>(kind, &image)), wanted);
                continue;
            }
            let opened = OpenStore::<B>::open(
                Arc::new(image.clone()),
                &OpenOptions { create: false, ..options::<B>(kind) },
            );
            assert!(opened.is_err(), "half of a database is none");
            // The same again, into what was left.
            let again: Arc<dyn Directory> = Arc::new(image.clone());
            convert::<A, B>(&from, kind, &again).unwrap();
            assert_eq!(content(&open::<B>(kind, &image)), wanted);
        }
        if let Err(error) = made {
            assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
            refused += 1;
        } else if failing.changes_count() < nth {
            break;
        }
    }
    assert!(refused > 8, "each change was refused once: {refused}");
}

#[test]
fn a_full_disk_leaves_no_half_of_a_database() {
    failures_leave_nothing::<NaiveEngine, AnyEngine>(Keeps::NoIndexes, EngineKind::Memory);
    failures_leave_nothing::<NaiveEngine, AnyEngine>(Keeps::NoIndexes, EngineKind::Disk);
    failures_leave_nothing::<NaiveEngine, AnyEngine>(Keeps::NoIndexes, EngineKind::Mapped);
}

#[test]
fn whoever_stops_a_conversion_finds_nothing_of_it() {
    fn between<A: TestEngine, B: TestEngine>(from_kind: A::Kind, kind: B::Kind) {
        let from = small::<A>(from_kind, &MemoryDirectory::new("db"));
        for stop in 0..100 {
            let directory = MemoryDirectory::new("new");
            let target: Arc<dyn Directory> = Arc::new(directory.clone());
            let mut told = 0;
            let made: std::result::Result<_, Error> =
                from.convert::<B>(B::name(kind), &target, &mut |_, _, _| {
                    told += 1;
                    if told > stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
            match made {
                Ok(_) => {
                    assert!(stop > 1, "it was asked whether to go on");
                    return;
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled),
            }
            assert!(directory.list().unwrap().is_empty(), "{:?}", directory.list().unwrap());
        }
        panic!("it never ends");
    }
    between::<AnyEngine, AnyEngine>(EngineKind::Memory, EngineKind::Disk);
    between::<AnyEngine, AnyEngine>(EngineKind::Disk, EngineKind::Memory);
    between::<AnyEngine, AnyEngine>(EngineKind::Disk, EngineKind::Mapped);
    between::<AnyEngine, AnyEngine>(EngineKind::Mapped, EngineKind::Memory);
}

#[test]
fn a_folder_that_is_taken_and_an_engine_that_is_unknown_are_refused() {
    let from = small::<AnyEngine>(EngineKind::Memory, &MemoryDirectory::new("db"));
    let taken = MemoryDirectory::new("taken");
    drop(small::<AnyEngine>(EngineKind::Disk, &taken));
    let target: Arc<dyn Directory> = Arc::new(taken.clone());
    let error = convert::<AnyEngine, AnyEngine>(&from, EngineKind::Disk, &target).unwrap_err();
    assert!(error.to_string().contains("there is a database in taken already"), "{error}");
    let target: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("new"));
    let error =
        from.convert::<AnyEngine>("tape", &target, &mut |_, _, _| ControlFlow::Continue(())).unwrap_err();
    assert!(error.to_string().contains("no engine `tape`"), "{error}");
}

#[test]
fn a_conversion_is_of_one_moment_whatever_is_committed_meanwhile() {
    let from = small::<AnyEngine>(EngineKind::Memory, &MemoryDirectory::new("db"));
    let wanted = content(&from);
    let directory = MemoryDirectory::new("new");
    let target: Arc<dyn Directory> = Arc::new(directory.clone());
    from.convert::<AnyEngine>(EngineKind::Disk.name(), &target, &mut |_, _, _| {
        let done = from.store().transact(|tx| {
            let (label, edge_type) = (tx.label("Robot")?, tx.edge_type("BUILT")?);
            let robot = tx.add_vertex(label, &[])?;
            tx.add_edge(robot, edge_type, VertexId(0), &[])
        });
        done.unwrap();
        ControlFlow::Continue(())
    })
    .unwrap();
    let found = open::<AnyEngine>(EngineKind::Disk, &directory);
    let found = content(&found);
    assert_eq!((found.vertices, found.edges, found.at), (wanted.vertices, wanted.edges, wanted.at));
}
