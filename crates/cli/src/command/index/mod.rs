//! `evergraph index`: indexes and uniqueness, created, dropped and listed; edge types that are newest-first.

pub mod arguments;
pub mod execute;
pub mod graph_names;
pub mod indexed_database;
pub mod report;
