//! Format: the words of CSR files that merges need.

pub mod operation;
pub mod subject;
