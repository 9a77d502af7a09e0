//! Elements: files that hold vertices and edges together, as GraphSON and GraphML do.
//!
//! ```text
//! graphson ── texts of vertices ──> parsed ──┐             ┌──> vertices at once
//!             one thread            all      ├──> rows ──> element_graph
//! graphml ─── elements ──────────────────────┘    all      └──> edges, kept in blocks until all
//!             one thread                                        vertices of all files are there
//! ```
//!
//! Types of properties are learned from the values: a key whose values are of two types in one label or
//! edge type is of type `any`. A vertex's several values of one key become a list; what is left
//! out (meta-properties, drawings) is counted and told.

pub mod element_graph;
pub mod graphml;
pub mod graphson;
pub mod rows;
