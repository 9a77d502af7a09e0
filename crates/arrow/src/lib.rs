//! Arrow: columns of properties and results of queries as Arrow arrays and tables, for every face of the database.
//!
//! ```text
//! Column ──> column_array ──> array ─┐
//!              │ time_array          ├─> TableBuilder ──> RecordBatch
//! Item ──> result_table ─────────────┘
//! an algorithm's column ──> answer_array ──> array
//! ```

pub mod answer_array;
pub mod column_array;
pub mod result_table;
pub mod table_builder;
mod time_array;
