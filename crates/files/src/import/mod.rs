//! Import: files of vertices and edges, read into tables of packed columns.
//!
//! ```text
//! options ──> plan ──> bytes ──> list: line ───────────────────> list: graph ──┐
//!              │         ├─────> csv: records ──> csv: rows ──┐                ├──> load
//!  recognise, mapping    │                header    field     ├──> assembly ───┘
//!                        ├─────> elements ──────> rows ───────┤    staging
//!                        └─────> parquet ───────> cells ──────┘
//!                      │ one thread             │ all threads │ one thread, in file order
//! ```
//!
//! [`read::read`] does it all. The result is the same with any number of threads. A bad row is named
//! by file, line and column; it stops the import, or is counted, left out and told in a report.

pub mod assembly;
pub mod bad_row;
pub mod bytes;
pub mod context;
pub mod csv;
pub mod declared_types;
pub mod elements;
pub mod existing_graph;
pub mod faults;
pub mod field;
pub mod file_name;
pub mod id_options;
pub mod id_type;
pub mod identity;
pub mod list;
pub mod mapping;
pub mod meter;
pub mod options;
pub mod parquet;
pub mod pipeline;
pub mod plan;
pub mod policy;
pub mod read;
pub mod recognise;
pub mod report;
pub mod role;
pub mod row_origins;
pub mod setting;
pub mod spilled_ids;
pub mod staging;
