//! The disk engine as a database: power cuts and failing disks at every operation, files that nobody names and files
//! that are missing.
//!
//! ```text
//! compaction   files are replaced by others while readers hold them
//! crash        the power fails, or the disk refuses, at every operation of two checkpoints
//! indexes      built, dropped and reopened beside commits, flushes and compactions; planted faults of their protocol
//! files        what opening makes of a directory that is not as a manifest says
//! flipped_bits a wrong bit in any page is an error with a place, or nothing that anybody sees
//! tuned        files without filters, and beside others that have them
//! salvage      what is saved of damaged files is what was there, and the report says what is missing
//! ```

#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

mod compaction;
mod crash;
mod files;
mod flipped_bits;
mod indexes;
mod salvage;
mod support;
mod tuned;
