//! Written files: what the writer and the flush write, read back with the format's decoders alone.
//!
//! ```text
//! read_back    both parts of a file, every byte verified: records with their properties, indexes searched
//! records      random records in file order, and the file that they become
//! large_files  lists, columns, long values and filters of many pages
//! flush        memory graphs as files, beside the graph's own records
//! faults       every call fails once, or from then on; power cuts
//! ```

#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod faults;
mod flush;
mod large_files;
mod read_back;
mod records;
