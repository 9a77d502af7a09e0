//! Graph: what is written and read through the stores of nodes.

use evergraph_cluster::engine::cluster_engine::{ClusterEngine, cluster_store};
use evergraph_cluster::running::cluster_node::ClusterNode;
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use evergraph_graph::transaction::{Freshness, Transaction as _, TransactionOptions};
use evergraph_graph::view::{EdgeCursor, GraphView, VertexCursor};
use evergraph_storage::io::clock::SystemClock;
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::store::{Store, StoreOptions};
use std::sync::Arc;

pub type ClusterStore = Store<ClusterEngine>;

/// The graph by a node.
pub fn store(node: &ClusterNode) -> ClusterStore {
    let (clock, random) = (Arc::new(SystemClock::new()), Box::new(SplitMix64::from_system().unwrap()));
    cluster_store(node.graph_node(), clock, Arc::clone(node.budget()), random, StoreOptions::default())
}

/// A path of `count` new vertices, in a transaction of its own for each two of them, so that they lie in all partitions.
pub fn write_path(store: &ClusterStore, count: usize) {
    let mut before: Option<VertexId> = None;
    for _ in 0..count / 2 {
        let fresh = TransactionOptions::default().freshness(Freshness::Fresh);
        let written = store.retrying(fresh, |mut transaction| {
            let (label, next) = (transaction.label("Stop")?, transaction.edge_type("NEXT")?);
            let ends = [transaction.add_vertex(label, &[])?, transaction.add_vertex(label, &[])?];
            transaction.add_edge(ends[0], next, ends[1], &[])?;
            if let Some(before) = before {
                transaction.add_edge(before, next, ends[0], &[])?;
            }
            transaction.commit()?;
            Ok(ends[1])
        });
        before = Some(written.unwrap());
    }
}

/// Vertices and edges of everything that was acknowledged to anybody.
pub fn count(store: &ClusterStore) -> Result<(usize, usize)> {
    let snapshot = store.snapshot_with(Freshness::Fresh);
    let (mut cursor, mut vertices) = (VertexCursor::default(), Vec::new());
    while !cursor.done {
        snapshot.scan_vertices(None, &mut cursor, 1000, &mut vertices)?;
    }
    let (mut cursor, mut edges) = (EdgeCursor::default(), Vec::new());
    while !cursor.done {
        snapshot.scan_edges(None, &mut cursor, 1000, &mut edges)?;
    }
    Ok((vertices.len(), edges.len()))
}
