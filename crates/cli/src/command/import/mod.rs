//! `evergraph import`: files of vertices and edges, or tables of a PostgreSQL database, become a database, or are added to one.
//!
//! ```text
//! arguments (values) ──> options ──> execute: read, then load ──> report
//!                  └─ postgres://... ──> tables: copy, then load ──┘
//! ```
//!
//! Everything is read and understood before the database is touched: a bad row in the last file leaves
//! nothing behind.

pub mod arguments;
pub mod execute;
pub mod options;
mod remote;
pub mod report;
mod tables;
pub mod values;
