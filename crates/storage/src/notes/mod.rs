//! Notes: named bytes that an owner keeps beside the graph, and what having an owner means for others.
//!
//! ```text
//! writes    a transaction's notes ──commit──> log, code 27
//! versions                                └─> tail ─> base        what a snapshot at S reads
//!                                                                 manifest, under the feature `notes`
//! owning    who may write: the holder of the note `owner`, and nobody else
//! ```
//!
//! The front keeps notes; an engine only puts them into its manifest. A database without notes pays a load of one
//! atomic for each write and each commit.

pub mod owning;
pub mod versions;
pub mod writes;
