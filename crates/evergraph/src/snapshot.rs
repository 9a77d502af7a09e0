//! Snapshot: a read-only view of one moment of a database.

use evergraph_engines::engine::AnyEngine;

/// A read-only view of one moment: a [`GraphView`](evergraph_graph::view::GraphView), and what algorithms
/// [freeze](evergraph_graph::view::Freeze). Released when dropped.
pub type Snapshot = evergraph_storage::snapshot::handle::Snapshot<AnyEngine>;
