//! Bulk loading: a graph in blocks becomes one commit, without a record for each row.
//!
//! ```text
//! shape    a load whose tables contradict each other is refused
//! numbers  what its names and rows are called in the database
//! load_indexes  its rows in the indexes of their labels and types, checked where these are unique
//! load     the steps of a store: names, what its engine builds, indexes, one commit, then it is made durable
//! ```

pub mod load;
mod load_indexes;
pub mod numbers;
pub mod shape;
