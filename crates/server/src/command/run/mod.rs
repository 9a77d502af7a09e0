//! `evergraph run`: an algorithm on a live snapshot, and its answer as a table, JSON, CSV or Parquet.
//!
//! ```text
//! arguments -> names, keys, conditions -> setting ─┬─> algorithm/* (freeze, kernel) -> answer
//!                                                  └─ one file an algorithm
//! answer -> top rows -> report
//!        └> answer_file -> csv_answer, parquet_answer
//! ```

pub mod algorithm;
pub mod answer;
pub mod answer_file;
pub mod answer_rows;
pub mod arguments;
pub mod choices;
pub mod condition;
pub mod csv_answer;
pub mod execute;
pub mod keys;
pub mod names;
pub mod parquet_answer;
pub mod report;
pub mod rounds;
pub mod scope;
pub mod setting;
