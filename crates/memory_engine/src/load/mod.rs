//! Bulk loads into the memory engine: blocks become bodies of vertex groups.
//!
//! ```text
//! parts   which groups are built at once, so that it takes no more than a given memory
//! buckets which of them a thread sorts alone, in its cache
//! sort    the edges of one type, counting-sorted by source, then by target: lists in order
//! bodies  vertex and edge bodies of whole groups out of blocks and sorted edges
//! extend  edges at vertices that are there: new bodies over those of their segments
//! build   all of it, read by index checks, then installed
//! ```

pub mod bodies;
pub mod buckets;
pub mod build;
pub mod extend;
pub mod parts;
pub mod sort;
