//! Snapshot: the graph that algorithms run on.

use evergraph_engines::engine::AnyEngine;

/// A read-only view of one moment of a database.
pub type Snapshot = evergraph_storage::snapshot::handle::Snapshot<AnyEngine>;
