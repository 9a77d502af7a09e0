//! Mapping: how rows of tables become vertices and edges, by rules on a catalogue.
//!
//! ```text
//! mapping.toml ──> [[table]] rules ──┐
//! rg_mapping: GART's calls ──────────┼──resolve──> plan ──> what a row becomes
//! catalogue ──> propose ──> a text   │               │
//!           └────────────────────────┘               └──check, with the server's state──> findings, and SQL
//! ```
//!
//! The graph is a function of the source's rows: a mapping never joins. A vertex comes from one row, an edge from one row,
//! and an edge exists exactly while its row and both of its ends exist.
#![doc = include_str!("reference.md")]

mod agreement;
pub mod check;
pub mod filter;
pub mod key;
pub mod plan;
pub mod problem;
pub mod property;
pub mod propose;
pub mod resolve;
pub mod rg_mapping;
mod row_properties;
pub mod scope;
pub mod server_state;
pub mod sql_name;
mod used_columns;
