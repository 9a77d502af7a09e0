//! Ways and neighbourhoods: how far, by which way, and who is near.

pub(crate) mod bfs;
pub(crate) mod k_hop;
pub(crate) mod shortest_path;
pub(crate) mod sssp;
