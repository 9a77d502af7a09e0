//! `evergraph run`: an algorithm on a live snapshot, and its answer as a table, JSON or CSV.
//!
//! ```text
//! arguments -> names, keys (source) -> freeze -> kernel -> answer -> top rows, answer_file -> report
//! ```

pub mod answer;
pub mod answer_file;
pub mod arguments;
pub mod execute;
pub mod keys;
pub mod report;
pub mod scope;
