//! Copy: the rows of all mapped tables at one moment, as a graph in blocks for one bulk load.
//!
//! ```text
//! first pass    columns of vertices         COPY ──> rows ──> batches ──> assembly   which key is which vertex
//! second pass   keys, foreign keys, edges   COPY ──> rows ──> batches ──> assembly   ends become vertices
//!                                           4 connections, one snapshot   one thread ──> load
//! ```
//!
//! The second pass reads keys and foreign keys again instead of keeping them: memory holds rows of vertices, ids and edges up
//! to a limit, what is beyond it lies in a temporary file, as in an import of files. Nothing is written before all rows were
//! read: an error, a broken connection and a crash leave nothing behind.
//!
//! Source: GART (USENIX ATC 2023), section 4.2. Differs: COPY within the snapshot of the slot, so that no row comes twice.

pub mod graph_builder;
pub mod missing_ends;
pub mod options;
pub mod passes;
pub mod row_batch;
pub mod run;
pub mod table_readers;
