//! Ways and neighbourhoods: how far, by which way, and who is near.

pub mod bfs;
pub mod k_hop;
pub mod shortest_path;
pub mod sssp;
