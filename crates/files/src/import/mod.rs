//! Import: files of vertices and edges, read into tables of packed columns.
//!
//! ```text
//! options ──> plan ──> source ──> lines ────────> edge_list ──> edge_list_graph ──┐
//!              │         ├──────> csv_records ──> csv_rows ──┐                    ├──> load
//!  recognise, mapping    │        header          cell       ├─> assembly ────────┘
//!                        ├──────> elements ─────> rows ──────┤   stage
//!                        └──────> parquet ──────> cells ─────┘
//!                      │ one thread             │ all threads │ one thread, in file order
//! ```
//!
//! [`read::read`] does it all. The result is the same with any number of threads. A bad row is named
//! by file, line and column; it stops the import, or is counted, left out and told in a report.

pub mod assembly;
pub mod bad_row;
pub mod blanks;
pub mod cell;
pub mod context;
pub mod csv_file;
pub mod csv_graph;
pub mod csv_records;
pub mod csv_rows;
pub mod declared;
pub mod delimiter;
pub mod edge_list;
pub mod edge_list_file;
pub mod edge_list_graph;
pub mod elements;
pub mod epoch;
pub mod faults;
pub mod file_name;
pub mod guess;
pub mod header;
pub mod id_options;
pub mod id_type;
pub mod identity;
pub mod input;
pub mod integer;
pub mod known;
pub mod lenient;
pub mod lines;
pub mod list_file;
pub mod list_header;
pub mod literal;
pub mod mapping;
pub mod memory;
pub mod meter;
pub mod options;
pub mod parquet;
pub mod pipeline;
pub mod places;
pub mod plan;
pub mod policy;
pub mod quoted_name;
pub mod read;
pub mod recognise;
pub mod report;
pub mod role;
pub mod source;
pub mod spill;
pub mod stage;
