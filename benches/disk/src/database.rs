//! Database: the same graph in a store of either engine.

use crate::rmat::{EDGE_TYPE, Rmat, WEIGHT, weight};
use evergraph_graph::error::Result;
use evergraph_graph::id::{TypeId, VertexId};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// Edges of a transaction.
const TRANSACTION_EDGES: u64 = 1000;

/// Opens or creates the database in `folder`.
pub fn open<E: DurableEngine>(folder: &Path, limit_bytes: u64) -> Result<OpenStore<E>> {
    let directory = Arc::new(DiskDirectory::open_or_create(folder)?);
    let options = OpenOptions {
        durability: Durability::None,
        memory_limit_bytes: limit_bytes,
        ..OpenOptions::default()
    };
    OpenStore::open(directory, &options)
}

/// Loads the vertices and `edges` edges at once, then adds `fresh` more by transactions.
pub fn fill<E: DurableEngine>(open: &OpenStore<E>, rmat: &mut Rmat, edges: u64, fresh: u64) -> Result<()> {
    let load = rmat.load(edges);
    open.load_within(4 << 30, &load, &mut |_| Ok(()), &mut |_| ControlFlow::Continue(()))?;
    drop(load);
    let mut left = fresh;
    while left > 0 {
        let count = left.min(TRANSACTION_EDGES);
        insert(open, rmat, count)?;
        left -= count;
    }
    Ok(())
}

/// One transaction of `count` edges.
pub fn insert<E: DurableEngine>(open: &OpenStore<E>, rmat: &mut Rmat, count: u64) -> Result<()> {
    let edges: Vec<(u32, u32)> = (0..count).map(|_| rmat.edge()).collect();
    open.store().transact(|transaction| {
        let (edge_type, key): (TypeId, _) = (transaction.edge_type(EDGE_TYPE)?, transaction.key(WEIGHT)?);
        for (source, target) in &edges {
            let value = Value::F64(weight(*source, *target));
            transaction.add_edge(VertexId(*source), edge_type, VertexId(*target), &[(key, value)])?;
        }
        Ok(())
    })
}
