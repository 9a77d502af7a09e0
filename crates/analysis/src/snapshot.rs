//! Snapshot: the graph that algorithms run on, and the lists that it freezes into.

use evergraph_engines::engine::AnyEngine;
use evergraph_graph::view::Freeze;

/// A read-only view of one moment of a database.
pub type Snapshot = evergraph_storage::snapshot::handle::Snapshot<AnyEngine>;

/// What a snapshot freezes into.
pub type FrozenLists = <Snapshot as Freeze>::Topology;
