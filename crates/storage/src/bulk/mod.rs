//! Bulk loading: a graph in blocks becomes one commit, without a record for each row.
//!
//! ```text
//! shape    a load whose tables contradict each other is refused
//! numbers  what its names and rows are called in the database
//! load     the steps of a store: names, what its engine builds, indexes, one commit, then it is made durable
//! ```

pub mod load;
pub mod numbers;
pub mod shape;
