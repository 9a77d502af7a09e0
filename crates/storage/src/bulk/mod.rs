//! Bulk loading: a graph in blocks becomes bodies of vertex groups, without a record a row.
//!
//! ```text
//! shape   a load whose tables contradict each other is refused
//! parts   which groups are built at once, so that it takes no more than a given memory
//! sort    the edges of one type, counting-sorted by source, then by target: lists in order
//! bodies  vertex and edge bodies of whole groups out of blocks and sorted edges
//! extend  edges at vertices that are there: new bodies over those of their segments
//! load    the steps of a store: names, bodies, indexes, one commit, then they are made durable
//! ```

pub mod bodies;
pub mod extend;
pub mod load;
pub mod parts;
pub mod shape;
pub mod sort;
