//! Load: a graph in blocks becomes CSR files, beside the log and past the memory graph.
//!
//! ```text
//! write      vertices, then the edges of each type, out side and in side: the order of files
//!   ends       the tables of a type, and how many edges each group has
//!   parts      groups that are sorted in memory together; until then their edges lie in buckets (`spill`)
//!   edges      a part: lists, discriminators, files; its edges to the buckets of the in side
//!   present    the parallel edges that are there
//!   vertices   rows to records
//!   output     two sequences of files: of older groups, of new ones
//! built      the files, open: what index checks read, and what is installed
//! touched    what the load changed, for writers with older snapshots
//! ```
//!
//! - Nothing of a load is seen before it is installed, and its files are removed if it never is. A crash
//!   before a manifest names them leaves files that the next opening removes.
//! - Its files have no stamps. All of their records are of the load's timestamp T, so that a snapshot sees a
//!   file whole or not at all: it doesn't if T is above it. The set that has them may be pinned by older
//!   snapshots (rule D1 is kept by that).
//! - Lists of vertices that were there before are newer than everything: all earlier commits are in files, or
//!   in graphs that stand behind the load's files.
//!
//! Source: disk-engine, section 8 (Import). Differs: edges are gathered by re-reading the blocks once and not
//! by spilling them beforehand; the in side's buckets are filled while the out side is written, as there; all
//! ids of a load lie in RAM, the front's.

pub mod built;
mod edges;
mod ends;
pub(super) mod output;
mod parts;
mod present;
#[cfg(all(test, not(any(shuttle, loom))))]
mod tests;
pub mod touched;
mod vertices;
mod write;
