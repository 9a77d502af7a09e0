//! Export: a graph written to files that other programs read, and that an import reads back as an equal graph.
//!
//! ```text
//! options ──> scope ──> survey ──┬──> csv          a file a label, and one a type and pair of labels
//!                                ├──> parquet      the same files
//!             one snapshot       ├──> graphson     one file, a vertex a line
//!             read twice         ├──> graphml      one file
//!                                └──> edge_list    vertices, and a list a type
//!                     pages            identity, cell_form, packed_file ──> target
//! ```
//!
//! A survey reads everything once, since headers and schemas stand before the data: it learns which
//! properties there are and which types their values have. Then the same snapshot is written, page by
//! page. Files appear in whole or not at all.
//!
//! What a format can't carry is told in the report, never dropped in silence: `docs/guide/export.md`.

pub mod cell_form;
pub mod csv;
pub mod edge_list;
pub mod elements;
pub mod facts;
pub mod file_names;
pub mod graphml;
pub mod graphson;
pub mod identity;
pub mod losses;
pub mod meter;
pub mod options;
pub mod packed_file;
pub mod pages;
pub mod parquet;
pub mod run;
pub mod scope;
pub mod survey;
pub mod target;
