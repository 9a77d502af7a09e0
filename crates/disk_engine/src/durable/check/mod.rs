//! Check: verifies the CSR files that a manifest names, alone and together; damage becomes findings.
//!
//! ```text
//! each file   stored_bytes   head, footer, page index and directory; every page's checksum and place
//!             topology       pages in order and as the index says; directory, filters, ranks, first and last key
//!             columns        pages in order; positions; long values
//! all files   sums           live vertices; both sides of all edges by sums; edges of vertices that are not alive
//!             sides          the edges of groups whose sums differ, one by one
//!             (compact::exactness)   records that contradict each other, by a merge that writes nothing
//! ```
//!
//! Up to the merge no file is read beside another: records are exact (rule D5), so that what all files say together of a
//! vertex, of a list's length or of a side is the sum of what each says, in any order. An edge adds its hash
//! where it is inserted and takes it away where it is deleted. What sums cannot show is a record that is
//! wrong on both sides, such as a second Insert of one edge; the counts of a group's directories agree with it too. So
//! what is sound up to then is merged, key by key: what comes out must be Inserts.
//!
//! What a damaged page held is missing in the sums. So sides are compared, and ends looked for, only where
//! everything could be read: one damaged page is one finding, and not a thousand.
//!
//! How many vertices and edges there are is not counted here: the graph's own check, `check_graph`, goes through them.
//!
//! Source: disk-engine, section 8 (Check).

mod columns;
pub mod files;
mod sides;
mod stored_bytes;
mod sums;
#[cfg(all(test, not(any(shuttle, loom))))]
mod tests;
mod topology;
