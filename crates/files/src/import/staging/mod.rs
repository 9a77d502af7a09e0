//! Staging: where the tables of a load wait while files are read, in memory or in a temporary file.

pub mod memory;
pub mod spill;
pub mod stage;
