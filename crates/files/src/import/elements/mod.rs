//! Elements: files that hold vertices and edges together, as GraphSON and GraphML do.
//!
//! ```text
//! graphson ────── texts of vertices ──> parsed ──┐             ┌──> vertices at once
//!                 one thread            all      ├──> rows ──> element_graph
//! element_stream elements ──────────────────────┘    all      └──> edges, kept in blocks until all
//! all others      one thread                                        vertices of all files are there
//! ```
//!
//! Types of properties are learned from the values: a key whose values are of two types in one label or
//! edge type is of type `any`. A vertex's several values of one key become a list; what is left
//! out (meta-properties, drawings) is counted and told. The ids of a file are kept as property `id`, or as
//! `_id` if its vertices have a property `id` of their own.

pub mod element_file;
pub mod element_graph;
pub mod element_stream;
pub mod graphson;
pub mod read;
pub mod rows;
