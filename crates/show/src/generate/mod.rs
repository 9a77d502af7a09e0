//! `evergraph generate`: a seeded graph of a kind, and the files that `evergraph import` reads it back from.

pub mod graph;
pub mod graph_files;
