//! `evergraph run`: an algorithm on a live snapshot, and its answer as a table, JSON, CSV or Parquet.
//!
//! ```text
//! arguments, parameters -> names, keys, conditions -> the table's algorithm on a snapshot, here or on a server (remote)
//! outcome: answer -> top rows -> report
//!                 └> answer_file -> csv_answer, parquet_answer
//! ```

pub mod answer;
pub mod answer_file;
pub mod answer_rows;
pub mod arguments;
pub mod common_arguments;
pub mod condition;
pub mod csv_answer;
pub mod execute;
pub mod keys;
pub mod names;
pub mod outcome;
pub mod parameters;
pub mod parquet_answer;
pub mod remote;
pub mod report;
pub mod scope;
pub mod vertex_naming;
