//! Stores: the same changes in a store of each engine; those of the disk and mapped engines in files of all kinds.

use evergraph_analysis::lists::Lists;
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_disk_engine::pick::limits::PickLimits;
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_engines::topology::AnyTopology;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor, VertexCursor};
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A change of an edge between two of the vertices, by its numbers.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    kind: u8,
    source: u16,
    target: u16,
    edge_type: u8,
    weight: u8,
}

/// Transactions, and how many of them lie in each layer, the oldest first.
#[derive(Clone, Debug)]
pub struct Changes {
    vertices: u16,
    transactions: Vec<Vec<Change>>,
}

/// Hubs, pairs with several edges, and vertices without any.
pub fn any_changes() -> impl Strategy<Value = Changes> {
    let end = prop_oneof![1 => 0_u16..6, 4 => 0_u16..120];
    let change = (0_u8..10, end.clone(), end, 0_u8..2, 0_u8..24).prop_map(
        |(kind, source, target, edge_type, weight)| Change { kind, source, target, edge_type, weight },
    );
    let transactions = proptest::collection::vec(proptest::collection::vec(change, 1..120), 1..7);
    (1_u16..120, transactions).prop_map(|(vertices, transactions)| Changes { vertices, transactions })
}

/// Some hundred edges.
pub fn fixed_changes() -> Changes {
    let change = |at: u16| Change {
        kind: 0,
        source: at * 7 % 50,
        target: at * 13 % 50,
        edge_type: (at % 2) as u8,
        weight: (at % 24) as u8,
    };
    Changes { vertices: 50, transactions: vec![(0..300).map(change).collect(); 4] }
}

/// An edge between each two of some vertices.
pub fn dense_changes() -> Changes {
    let change =
        |source, target| Change { kind: 0, source, target, edge_type: (target % 2) as u8, weight: 1 };
    let edges = (0..20).flat_map(|target| (0..target).map(move |source| change(source, target)));
    Changes { vertices: 20, transactions: vec![edges.collect()] }
}

/// Opens the database in `directory`, without threads.
pub fn open(engine: EngineKind, directory: MemoryDirectory) -> Result<OpenStore<AnyEngine>> {
    open_in(engine, Arc::new(directory))
}

/// The same in any directory.
pub fn open_in(engine: EngineKind, directory: Arc<dyn Directory>) -> Result<OpenStore<AnyEngine>> {
    let environment = Environment::simulated(1);
    let options = OpenOptions {
        engine: Some(engine.name()),
        durability: Durability::None,
        memory_limit_bytes: 64 << 20,
        environment,
        ..OpenOptions::default()
    };
    OpenStore::open(directory, &options)
}

/// Flips a bit of each page of a file.
pub fn flip_bits_of_pages(directory: &MemoryDirectory, name: &str) {
    let file = directory.open(name, OpenMode::ReadWrite).unwrap();
    let length = file.len().unwrap();
    // The index begins behind the pages; what is broken of it is found when the file is opened.
    let mut byte = [0];
    file.read_at(&mut byte, 4096 + 100).unwrap();
    assert!(length > 4096 + 16384);
    file.write_at(&[byte[0] ^ 4], 4096 + 100).unwrap();
}

/// The same graph in all engines, as the one type that is compiled above them.
pub struct Same {
    pub memory: OpenStore<AnyEngine>,
    pub disk: OpenStore<AnyEngine>,
    pub mapped: OpenStore<AnyEngine>,
    pub directory: MemoryDirectory,
    pub weight: KeyId,
}

impl Same {
    pub fn new(changes: &Changes) -> Self {
        let directory = MemoryDirectory::new("disk");
        let memory = open(EngineKind::Memory, MemoryDirectory::new("memory")).unwrap();
        let disk = open(EngineKind::Disk, directory.clone()).unwrap();
        write(&memory, changes, &mut |_| {});
        write(&disk, changes, &mut |transaction| settle(&disk, transaction));
        let mapped = open(EngineKind::Mapped, MemoryDirectory::new("mapped")).unwrap();
        write(&mapped, changes, &mut |transaction| settle_mapped(&mapped, transaction));
        let weight = disk.store().snapshot().catalogue().key("weight").unwrap();
        Self { memory, disk, mapped, directory, weight }
    }
}

/// Frozen lists as the type that kernels are compiled for.
pub fn lists(frozen: AnyTopology) -> Lists {
    Lists::from(frozen)
}

/// The disk engine below a store.
pub fn disk_engine(open: &OpenStore<AnyEngine>) -> &DiskEngine {
    let AnyEngine::Disk(engine) = &**open.store().engine() else { panic!("made by the disk engine") };
    engine
}

/// After some transactions, what was written becomes a file of L0; after others, files of L0 become a level.
fn settle(disk: &OpenStore<AnyEngine>, transaction: usize) {
    let limits = PickLimits { flushed_runs: 2, flushed_bytes_max: 1 << 30, size_ratio: 2, base_bytes: 1 };
    if transaction % 4 != 3 {
        disk.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
    }
    while transaction % 3 == 1 && disk_engine(disk).compact_by(&limits).unwrap() {}
}

/// After some transactions, what was written becomes bodies; after others, runs in files.
fn settle_mapped(mapped: &OpenStore<AnyEngine>, transaction: usize) {
    if transaction % 3 == 1 {
        mapped.store().engine().merge_everything();
    }
    if transaction % 4 == 2 {
        mapped.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
    }
}

/// Commits `changes`; `written` is told the number of each transaction.
pub fn write(open: &OpenStore<AnyEngine>, changes: &Changes, written: &mut dyn FnMut(usize)) {
    let weight_of = |weight: u8| Value::F64(f64::from(weight) / 8.0);
    let store = open.store();
    store
        .transact(|tx| {
            let labels = [tx.label("A")?, tx.label("B")?];
            let _ = (tx.edge_type("X")?, tx.edge_type("Y")?, tx.key("weight")?);
            (0..changes.vertices)
                .try_for_each(|at| tx.add_vertex(labels[usize::from(at % 5 == 4)], &[]).map(drop))
        })
        .unwrap();
    for (at, transaction) in changes.transactions.iter().enumerate() {
        let vertices: Vec<VertexId> = {
            let mut all = Vec::new();
            store.snapshot().scan_vertices(None, &mut VertexCursor::default(), 1000, &mut all).unwrap();
            all
        };
        let pick = |number: u16| vertices[usize::from(number) % vertices.len()];
        store
            .transact(|tx| {
                let (types, key) = ([tx.edge_type("X")?, tx.edge_type("Y")?], tx.key("weight")?);
                for change in transaction {
                    let edge_type = types[usize::from(change.edge_type)];
                    let (source, target) = (pick(change.source), pick(change.target));
                    let values = [(key, weight_of(change.weight))];
                    let values = if change.weight % 5 == 0 { &[][..] } else { &values[..] };
                    match change.kind {
                        0..7 => drop(tx.add_edge(source, edge_type, target, values)?),
                        kind => {
                            for edge in first_edges(tx, source, edge_type)? {
                                if kind == 7 {
                                    tx.set_edge_property(edge, key, Some(weight_of(change.weight)))?;
                                } else {
                                    tx.delete_edge(edge)?;
                                }
                            }
                        }
                    }
                }
                Ok(())
            })
            .unwrap();
        written(at);
    }
}

/// All edges to the first neighbour of a list, as the transaction sees it: engines number parallel edges as they like.
fn first_edges(view: &impl GraphView, source: VertexId, edge_type: TypeId) -> Result<Vec<EdgeId>> {
    let (mut batch, mut cursor) = (NeighborBatch::default(), NeighborCursor::default());
    view.neighbors(&[source], Some(&[edge_type]), Direction::Out, &mut cursor, usize::MAX, &mut batch)?;
    let mut edges = batch.edges;
    let first = edges.first().map(|edge| edge.target);
    edges.retain(|edge| Some(edge.target) == first);
    Ok(edges)
}
