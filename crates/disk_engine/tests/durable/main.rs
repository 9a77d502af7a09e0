//! The disk engine as a database: power cuts and failing disks at every operation, files that nobody names and files
//! that are missing.
//!
//! ```text
//! compaction   files are replaced by others while readers hold them
//! crash        the power fails, or the disk refuses, at every operation of two checkpoints
//! indexes      built, dropped and reopened beside commits, flushes and compactions; planted faults of their protocol
//! files        what opening makes of a directory that is not as a manifest says
//! ```

#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

mod compaction;
mod crash;
mod files;
mod indexes;
mod support;
