//! CSV: text files whose rows are vertices or edges, with a header that describes the columns.
//!
//! ```text
//! file ──> records ──────> rows ──────────> graph ─────────────> assembly: place ──> store
//!   delimiter, blanks:      header: what      labels, types,               └──> rejected rows ──> graph: described,
//!   between fields          columns hold      their tables                                         with other bad rows
//! one thread               all threads       one thread, in the order of the file
//! ```
//!
//! A row goes from left to right; no stage calls one before it.

pub mod blanks;
pub mod delimiter;
pub mod file;
pub mod graph;
pub mod header;
pub mod quoted_name;
pub mod records;
pub mod rows;
