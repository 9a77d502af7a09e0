//! Algorithms of `evergraph run`: one file each says what it is told, how it is called, what it answers.

pub mod betweenness;
pub mod bfs;
pub mod cdlp;
pub mod closeness;
pub mod cycles;
pub mod eigenvector;
pub mod k_hop;
pub mod kcore;
pub mod lcc;
pub mod louvain;
pub mod pagerank;
pub mod scc;
pub mod shortest_path;
pub mod sssp;
pub mod topological_order;
pub mod triangles;
pub mod wcc;
