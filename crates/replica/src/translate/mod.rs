//! Translate: what the messages of a stream change in the graph, row by row, without looking at the graph.
//!
//! ```text
//! Relation ──bind, with the plan──> which column of the table is which of the plan
//! Insert, Update, Delete ──translate──> for each rule of the table: a row is new, changed, gone: key, cells
//! Truncate ────────────────translate──> for each rule of the table: all rows are gone
//! ```
//!
//! A change says what the row is now. Of the row as it was it says the key alone, if that was another one: what there is to
//! remove is known to who has the graph. A row that a condition leaves out is a row all the same, with a key that may come and
//! go, so that changes of it say so.
//!
//! Pure: translators are cloned to worker threads.

pub mod binding;
pub mod loss;
pub mod pause;
pub mod row_change;
pub mod row_reader;
pub mod rules;
pub mod translator;
