//! Loaded: a graph whose vertices have a number by which they are found, on one engine.

use crate::engine::store::Edge;
use evergraph::{Database, Durability, EngineKind, Options};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{TypeId, VertexId};
use evergraph_graph::load::{BLOCK_ROWS, EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::PackedColumnBuilder;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::ValueType;
use std::path::Path;

pub const LABEL: &str = "Vertex";
pub const NUMBER: &str = "number";
const EDGE: &str = "EDGE";

/// An empty database on `engine`.
///
/// # Errors
/// What opening meets.
pub fn create(engine: EngineKind, folder: &Path, durability: Durability) -> Result<Database> {
    let options = Options { durability, engine: Some(engine), ..Options::default() };
    Database::open_with(folder, &options)
}

/// Adds so many vertices, numbered from `first` on, and edges among them; the id of the first. The others' follow. Of the first load the
/// numbers are ids as well.
///
/// # Errors
/// What loading meets.
pub fn load(database: &Database, first: u64, vertices: u32, edges: &[Edge]) -> Result<VertexId> {
    let block = |from: u32| {
        let rows = (vertices - from).min(BLOCK_ROWS as u32);
        let mut numbers = PackedColumnBuilder::default();
        (from..from + rows).for_each(|vertex| numbers.push_i64((first + u64::from(vertex)) as i64));
        VertexBlock { rows: rows as usize, columns: vec![numbers.finish()] }
    };
    let of_vertices = (0..vertices).step_by(BLOCK_ROWS).map(block).collect();
    let of_edges = edges.chunks(BLOCK_ROWS).map(|edges| EdgeBlock::bare(edges.iter().copied())).collect();
    let properties = vec![(NUMBER.to_owned(), ValueType::I64)];
    let load = Load {
        vertices: vec![VertexTable::new(LABEL, properties, of_vertices)],
        edges: vec![EdgeTable::new(EDGE, 0, 0, Vec::new(), of_edges)],
    };
    let loaded = database.load(&load, &|_| (), &Default::default())?;
    // Later ones begin a group of their own.
    match loaded.first_vertices.first() {
        Some(id) if first > 0 || *id == VertexId(0) => Ok(*id),
        _ => Err(Error::new(ErrorKind::Corrupt, "the first vertex of the first load isn't number 0")),
    }
}

/// Bytes of what lies in array files, without what is free between it; 0 of other engines.
pub fn file_bytes(database: &Database) -> f64 {
    let files = database.store().engine().mapped_statistics();
    files.map_or(0.0, |files| (files.file_bytes - files.free_bytes) as f64)
}

/// The part of the edges that is in no body yet. Cost: a look at each segment.
pub fn fresh_share(database: &Database) -> f64 {
    let statistics = database.store().statistics().engine;
    let (fresh, merged) = (statistics.fresh_edge_records as f64, statistics.body_edges as f64);
    fresh / (fresh + merged)
}

/// The type of the edges.
///
/// # Errors
/// `corrupt` before the first load.
pub fn edge_type(database: &Database) -> Result<TypeId> {
    let missing = || Error::new(ErrorKind::Corrupt, "the edges were not loaded");
    database.store().catalogue().edge_type(EDGE).ok_or_else(missing)
}

/// Inserts edges by transactions of `size`, beside those that are there.
///
/// # Errors
/// What committing meets.
pub fn insert(database: &Database, edges: &[Edge], size: usize) -> Result<()> {
    let edge_type = edge_type(database)?;
    edges.chunks(size).try_for_each(|edges| {
        database.transact(|tx| {
            edges.iter().try_for_each(|(source, target)| {
                tx.by_id().add_edge(VertexId(*source), edge_type, VertexId(*target), &[]).map(drop)
            })
        })
    })
}
