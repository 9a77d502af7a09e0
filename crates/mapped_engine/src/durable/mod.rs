//! The mapped engine as a database: its files, opened, and checkpoints of its segments.
//!
//! - [`segments`]: segments as checkpoints see them
//! - [`opening`]: files become a graph, and are closed
//! - [`load`]: bulk loads
//! - [`new_files`]: whole graphs that are converted or salvaged
//! - [`salvage`]: what of damaged files verifies
//! - [`engine`]: all of it behind `DurableEngine`

pub mod engine;
pub mod load;
pub mod new_files;
pub mod opening;
pub mod salvage;
pub mod segments;
