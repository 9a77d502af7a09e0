//! Disks that fail, fill up or lie: what is refused, what goes on, and what is found afterwards.
//!
//! ```text
//! broken_log      a write or sync of the log fails: read-only from there, everything acknowledged stays
//! full_disk       commits are refused before they happen, and heal
//! checkpoints     a checkpoint that fails at any operation leaves the one before
//! live_writers    a disk that fills up below the disk engine while threads write and read
//! limits          limits of memory: too low, lowered between two openings, too small for a kernel
//! salvaged        what is saved of a database without a manifest
//! damage          a flipped byte or a lost file is an error that names the file, and changes nothing
//! database        (support) a small graph on a disk that fails as planned
//! ```
//!
//! Log and checkpoints have such tests of their own, at every operation; these go through the whole.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

mod broken_log;
mod checkpoints;
mod damage;
mod database;
mod full_disk;
mod limits;
mod live_writers;
mod salvaged;
