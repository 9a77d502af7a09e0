//! Staging: where a load's tables wait while files are read, in memory or in a temporary file.

pub mod number_file;
pub mod spill;
pub mod stage;
pub mod temporary_file;
pub mod undirected;
