//! Durable: the disk engine as a database in a directory: its part of the manifest, opening, checkpoints, copies.

// pub mod background;
// pub mod checkpoint;
pub mod copy;
pub mod files;
// pub mod open;
pub mod section;
