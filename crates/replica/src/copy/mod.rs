//! Copy: the rows of all mapped tables at one moment, as a graph in blocks for one bulk load.
//!
//! ```text
//! tables of vertices   COPY ──> rows ──> batches ──> assembly   which key is which vertex; edges wait
//! tables of edges      COPY ──> rows ──> batches ──> assembly   ends become vertices, once all of these are there
//!                      4 connections, one snapshot   one thread ──> load
//! ```
//!
//! Each row comes once, for all that it becomes. Memory holds rows of vertices, ids and edges up to a limit; what is beyond it
//! lies in a temporary file, as in an import of files: that is cheaper than to read it from the source again. Nothing is
//! written before all rows were read: an error, a broken connection and a crash leave nothing behind.
//!
//! GART (USENIX ATC 2023) loads its graph anew from the rows (section 3) and does not say how. Here COPY reads within the
//! snapshot of the slot, so that no row comes twice and none is missing.

pub mod graph_builder;
pub mod missing_ends;
pub mod options;
pub mod passes;
pub mod row_batch;
pub mod run;
pub mod table_readers;
