//! Parquet: files of vertices or of edges whose columns state their types.
//!
//! ```text
//! file ── schema ──> columns: role words in names, or a mapping's ──> row groups ──> batches ──> assembly
//!                    types: of the schema                             all threads    in file order
//! ```

pub mod cells;
pub mod file;
pub mod graph;
pub mod guards;
pub mod packing;
pub mod types;
