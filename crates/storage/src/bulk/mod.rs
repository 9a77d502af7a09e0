//! Bulk loading: a graph in blocks becomes bodies of new vertex groups, without a record a row.
//!
//! ```text
//! shape   a load whose tables contradict each other is refused
//! sort    the edges of one type, counting-sorted by source, then by target: lists in order
//! bodies  vertex and edge bodies of whole groups out of blocks and sorted edges
//! load    the steps of a store: names, bodies, indexes, one commit, then they are made durable
//! ```

pub mod bodies;
pub mod load;
pub mod shape;
pub mod sort;
