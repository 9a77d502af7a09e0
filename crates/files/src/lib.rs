//! Files: imports and exports of whole graphs, independent of the database that holds them.
//!
//! ```text
//! files ──import──> a load: tables of packed columns     a view of one moment ──export──> files
//! ```
//!
//! What a database has already comes in as [`import::existing_graph::ExistingGraph`], a view; what an import gives is a
//! [`Load`](evergraph_graph::load::Load), which a database adds as one commit. The crate `evergraph` joins both ends,
//! behind its feature `files`: without it nobody builds Arrow, Parquet and zstd.

pub mod export;
pub mod import;
