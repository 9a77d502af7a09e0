//! Bulk loads: blocks become sorted bodies of vertex groups, for every engine that keeps segments.
//!
//! ```text
//! parts   which groups are built at once, so that it takes no more than a given memory
//! buckets which of them a thread sorts alone, in its cache
//! sort    the edges of one type, counting-sorted by source, then by target: lists in order
//! sorter  vertex and edge bodies of whole groups out of blocks and sorted edges
//! ```

pub mod buckets;
pub mod parts;
pub mod sort;
pub mod sorter;
