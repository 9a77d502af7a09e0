//! The real program, killed with SIGKILL at random moments, or betrayed by the system below it: whatever it
//! was doing, everything acknowledged is there, nothing by half, and `check` finds nothing.
//!
//! ```text
//! writing      durable transactions of several threads, with merges and checkpoints beside them
//! opening      recovery of a long log, killed again and again before it is done
//! checkpoint   files of bodies or of the tree, the manifest, the log that goes
//! import       a load into a database with data
//! faults       fdatasync, pwrite and rename that fail once, by strace
//! full_disk    a file system of a few megabytes
//! plain_io     a file system without direct I/O
//! replicas     a replica of PostgreSQL, PostgreSQL itself, or both
//! server_jobs  a server with a job at work, and one whose disk is full
//! served_...   a server: under 64 clients, on a disk that fails or is full, while it creates or drops databases
//! ```
//!
//! Each on a database of each engine, or of EVERGRAPH_KILL_ENGINE's. EVERGRAPH_KILL_CYCLES sets the number of kills
//! (15, shared out), EVERGRAPH_REPLICA_KILLS those of replicas, EVERGRAPH_KILL_SEED the moments.
//! A kill proves recovery, not fdatasync, whose effects outlive the process: power cuts are simulated by
//! `tests/tests/simulation.rs`.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod bank;
mod checkpoint;
mod entries;
mod faults;
mod file_system;
mod full_disk;
mod import;
mod moments;
mod opening;
#[cfg(target_os = "linux")]
mod plain_io;
mod replicas;
#[allow(dead_code, reason = "other tests use more of it")]
mod running_replica;
mod served_databases;
mod served_faults;
mod served_writes;
mod server_jobs;
mod service;
#[path = "../../../../tests/src/skips.rs"]
mod skips;
mod writing;
