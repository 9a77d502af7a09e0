//! The disk engine: a graph larger than memory, in an LSM tree of CSR files.
//!
//! ```text
//! format   bytes of pages and files, without I/O
//! ```

pub mod format;
