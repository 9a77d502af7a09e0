//! The disk engine: a graph larger than memory, in an LSM tree of CSR files.

pub mod format;
pub mod merge;
