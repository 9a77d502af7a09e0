//! Naive graph: a graph in maps, one for each commit, beside a mapped engine that is given the same commits.

pub mod database;
pub mod graph;
