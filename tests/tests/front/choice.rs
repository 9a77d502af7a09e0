//! Choice: the engine of a new database, and of one that is there.

use crate::model::{Model, dump};
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::load::{EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::topology::{PieceBuffer, Projection, Topology, Visit};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::Freeze;
use evergraph_storage::checkpoint::manifest::{self, Manifest};
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::engine::Engine as _;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::open::{OpenOptions, OpenStore, check};
use std::ops::ControlFlow;
use std::sync::Arc;

fn chosen(engine: Option<EngineKind>) -> OpenOptions {
    OpenOptions { engine: engine.map(EngineKind::name), ..OpenOptions::default() }
}

fn open(directory: &MemoryDirectory, options: &OpenOptions) -> Result<OpenStore<AnyEngine>> {
    OpenStore::open(Arc::new(directory.clone()), options)
}

fn kind(open: &OpenStore<AnyEngine>) -> EngineKind {
    open.store().engine().kind()
}

fn refused(directory: &MemoryDirectory, options: &OpenOptions) -> String {
    let error = open(directory, options).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    error.to_string()
}

#[test]
fn an_engine_is_chosen_once_and_another_one_is_refused_with_the_way_out() {
    let all = EngineKind::ALL;
    let pairs = all.into_iter().flat_map(|engine| all.map(|other| (engine, other)));
    for (engine, other) in pairs.filter(|(engine, other)| engine != other) {
        let directory = MemoryDirectory::new("db");
        assert_eq!(kind(&open(&directory, &chosen(Some(engine))).unwrap()), engine);
        let manifest = Manifest::read(&directory, AnyEngine::opens).unwrap();
        assert_eq!(manifest.engine, engine.name());
        assert_eq!(kind(&open(&directory, &chosen(None)).unwrap()), engine);
        assert_eq!(kind(&open(&directory, &chosen(Some(engine))).unwrap()), engine);
        let text = refused(&directory, &chosen(Some(other)));
        for part in
            [format!("`{engine}`, not `{other}`"), format!("evergraph convert db NEW --engine {other}")]
        {
            assert!(text.contains(&part), "{text}");
        }
        assert_eq!(kind(&open(&directory, &chosen(None)).unwrap()), engine);
    }
    let unchosen = open(&MemoryDirectory::new("db"), &chosen(None)).unwrap();
    assert_eq!(kind(&unchosen), EngineKind::Memory);
}

#[test]
fn what_is_refused_creates_no_database() {
    let directory = MemoryDirectory::new("db");
    let unknown = OpenOptions { engine: Some("lsm"), ..OpenOptions::default() };
    assert!(refused(&directory, &unknown).contains("there is no engine `lsm`"));
    let small = OpenOptions { memory_limit_bytes: (64 << 20) - 1, ..chosen(Some(EngineKind::Disk)) };
    assert!(refused(&directory, &small).contains("at least 64 MiB"));
    assert!(!directory.exists(manifest::FILE_NAME).unwrap());
    // Nor is one opened that has a lower limit than before.
    let enough = OpenOptions { memory_limit_bytes: 64 << 20, ..small.clone() };
    let disk = open(&directory, &enough).unwrap();
    assert_eq!(disk.store().budget().limit_bytes(), 64 << 20);
    drop(disk);
    assert!(refused(&directory, &OpenOptions { engine: None, ..small.clone() }).contains("at least 64 MiB"));
    // The memory engine has no such bound: its graph isn't counted.
    let memory = open(&MemoryDirectory::new("db"), &OpenOptions { engine: None, ..small }).unwrap();
    assert_eq!(memory.store().budget().limit_bytes(), (64 << 20) - 1);
}

/// 5,000 people in a ring, the first of whom know each other twice.
fn load() -> Load {
    let numbers: Vec<Value> = (0..5000).map(Value::I64).collect();
    let column = PackedColumn::from_values(numbers.iter().map(Some));
    let block = VertexBlock { rows: numbers.len(), columns: vec![column] };
    let people = VertexTable::new("Person", vec![("name".into(), ValueType::I64)], vec![block]);
    let ends = EdgeBlock::bare((0..5000).map(|row| (row, (row + 1) % 5000)).chain([(0, 1)]));
    let knows = EdgeTable::new("KNOWS", 0, 0, Vec::new(), vec![ends]);
    Load { vertices: vec![people.unique_key("name")], edges: vec![knows] }
}

fn state(open: &OpenStore<AnyEngine>) -> Model {
    let report = open.check(&mut |_, _, _| ControlFlow::Continue(())).unwrap();
    assert!(report.is_healthy(), "{report:?}");
    dump(&open.store().snapshot(), 1000)
}

/// Everything that a store does with its engine, and what its graph is at the end.
fn everything_once(engine: EngineKind) -> Model {
    let go_on = &mut |_: &str, _, _| ControlFlow::Continue(());
    let directory = MemoryDirectory::new("db");
    let first = open(&directory, &chosen(Some(engine))).unwrap();
    first.load_within(u64::MAX, &load(), &mut |_| Ok(()), &mut |_| ControlFlow::Continue(())).unwrap();
    let loaded = first.store().snapshot();
    for round in 0..3 {
        let done = first.store().transact(|tx| {
            let (label, edge_type, name) = (tx.label("Person")?, tx.edge_type("KNOWS")?, tx.key("name")?);
            let one = tx.add_vertex(label, &[(name, Value::I64(5000 + round))])?;
            let other = tx.add_vertex(label, &[])?;
            tx.add_edge(one, edge_type, other, &[(name, Value::F64(0.5))])?;
            tx.add_edge(other, edge_type, one, &[]).map(drop)
        });
        done.unwrap();
        first.store().engine().merge_everything();
    }
    first.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
    let topology = first.store().snapshot().freeze(&Projection::all(Direction::Both)).unwrap();
    let (mut edges, mut buffer) = (0, PieceBuffer::default());
    let count = |_, piece: evergraph_graph::topology::Piece<'_>| {
        edges += piece.neighbors.len();
        Visit::Continue
    };
    topology.visit(Direction::In, 0..topology.bound(), &mut buffer, count).unwrap();
    assert_eq!((edges, topology.edge_count()), (5007, 5007));
    assert_eq!(topology.shared_lists(Direction::Out).unwrap().is_some(), engine == EngineKind::Memory);
    assert_eq!(dump(&loaded, 1000).edges.len(), 5001);
    let end = state(&first);

    let copy = MemoryDirectory::new("copy");
    first.backup(&copy, &mut |_| ControlFlow::Continue(())).unwrap();
    drop((loaded, topology));
    let tree = first.store().engine().tree_statistics();
    assert_eq!(tree.is_some_and(|tree| tree.flushes.files > 0), engine == EngineKind::Disk);
    let mapped = first.store().engine().mapped_statistics();
    let has_arrays =
        mapped.is_some_and(|mapped| mapped.file_bytes > mapped.free_bytes && mapped.live_bytes > 0);
    assert_eq!(has_arrays, engine == EngineKind::Mapped);
    assert!(first.store().engine().statistics().groups >= 2);
    first.close().unwrap();
    for directory in [directory, copy] {
        assert!(check::<AnyEngine>(Arc::new(directory.clone()), go_on).unwrap().is_healthy());
        let again = open(&directory, &chosen(None)).unwrap();
        assert_eq!((kind(&again), again.recovery().commits), (engine, 0));
        assert_eq!(state(&again), end);
    }
    end
}

#[test]
fn a_store_does_the_same_with_each_engine() {
    let [memory, disk, mapped] = EngineKind::ALL.map(everything_once);
    assert_eq!(memory, disk);
    assert_eq!(memory, mapped);
}
