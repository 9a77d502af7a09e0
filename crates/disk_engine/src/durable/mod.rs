//! Durable: the disk engine as a database in a directory: its part of the manifest, opening, checkpoints, copies.

pub mod copy;
pub mod files;
pub mod section;
