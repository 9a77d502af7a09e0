//! Algorithms: those of the table, run on a snapshot for a client.
//!
//! ```text
//! description <── table of evergraph-analysis ──> call ──> task: computes, then sends rows as its client reads them
//! ```

pub mod call;
pub mod description;
pub mod key_columns;
mod memory;
pub mod name_columns;
pub mod rows;
pub mod task;
pub mod threads;
