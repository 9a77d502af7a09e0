//! The write-ahead log: commits in order, on disk before they are acknowledged.
//!
//! ```text
//! committers --reserve--> --append (under the latch)--> buffer --leader--> log file, synced
//!                                                          \--wait_durable--/
//! log-1 [header|batch|batch|..] <- log-2 [header|batch|..] <- log-3 (zeros, prepared ahead)
//! ```
//!
//! - [`frame`]: one commit's bytes; a *batch* is what one leader writes, padded to whole pages
//! - [`file`](mod@file): a log file's header, its link to its predecessor, its preallocation
//! - [`end_file`]: where the log ends at least, written outside of its files
//! - [`buffer`]: frames that wait for a leader, and the space promised to them
//! - [`leader`]: writes one batch, and goes over to the next file
//! - [`group_commit`]: one sync for many, hand-over between leaders, poison
//! - [`writer`]: `Log`, the face of it all
//! - [`acknowledger`]: the thread that waits for the disk in place of commits that hold none
//! - [`background`]: the threads that prepare files, sync at intervals and seal; `bell` wakes them
//! - [`scan`], [`recovery`]: reading it back, telling a torn end from corruption
//! - [`copy`]: a range of commits in one file of a new log
//! - [`damaged_log`]: what a log that can't be recovered still holds
//! - [`options`], [`error`]
//!
//! The log does not look into payloads. Timestamps are counts from 1 that only grow.

pub mod acknowledger;
pub mod background;
pub mod buffer;
pub mod copy;
pub mod damaged_log;
pub mod end_file;
pub mod error;
pub mod file;
pub mod frame;
pub mod group_commit;
pub mod leader;
pub mod options;
pub mod recovery;
pub mod scan;
mod wake_signal;
pub mod writer;
