//! Spill: temporary files of one process, for what memory doesn't hold: loads, salvages and algorithms.
//!
//! ```text
//! file      bytes that are appended, and read anywhere     buckets   filled side by side, taken one by one
//! scratch   the same for algorithms                        sorter    records of bytes, sorted
//! ```
//!
//! A file is made in the database's directory under a number that is never written there, and loses its name before it has a
//! byte: it goes with its last holder, however the process ends. A crash in between leaves an empty file, which is removed
//! when the database is opened, as all that no manifest names. Bytes are nobody's but this process': they have no checksums
//! and are never synced.

pub(crate) mod buckets;
pub(crate) mod file;
pub mod scratch;
pub(crate) mod sorter;
