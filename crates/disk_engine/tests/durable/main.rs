//! The disk engine as a database: power cuts and failing disks at every operation, files that nobody names and files
//! that are missing. In one program, since what is generic over an engine is compiled for each.
//!
//! ```text
//! compaction          files are replaced by others while readers hold them
//! compaction_pause    one that fails is tried again later, and who waits for it learns why
//! compaction_threads  two of them under writers and a held snapshot
//! crash               the power fails, or the disk refuses, at every operation of two checkpoints
//! files               what opening makes of a directory that is not as a manifest says
//! flipped_bits        a wrong bit in any page is an error with a place, or nothing that anybody sees
//! full_budget         what frees memory goes on when others have taken all of it
//! indexes             built, dropped and reopened beside commits, flushes and compactions; planted faults of their protocol
//! lsmgraph            the worked examples of LSMGraph's figures
//! salvage             what is saved of damaged files is what was there, and the report says what is missing
//! tuned               files without filters, and beside others that have them
//! ```

#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

mod compaction;
mod compaction_pause;
mod compaction_threads;
mod crash;
mod files;
mod flipped_bits;
mod full_budget;
mod indexes;
mod lsmgraph;
mod salvage;
mod support;
mod tuned;
