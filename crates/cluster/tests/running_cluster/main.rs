//! Running cluster: nodes as a process runs them, from the folders that were created for them, on a real etcd and over TCP.
//!
//! ```text
//! site        a cluster that was created, its nodes on free ports of this machine
//! graph       what is written and read through the stores of nodes
//! lives       nodes are closed, dropped and opened again: all see everything
//! copies      folders that were copied: two processes are one node; a node that needs more of the log than there is
//! lacking     nodes that lack partitions of each other start together; partitions that all have lost; two processes that are one node
//! recovery    disks and partitions that are lost, a node that was away for too long: the others have what it lacks
//! restored    a log that was restored from an older copy than a node that was killed had applied
//! refusals    what keeps a node from starting, in words that name the cause
//! ```
//!
//! Without the program `etcd` those that need it say that they were skipped; with `CI` set they fail.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod copies;
#[path = "../../../../tests/src/etcd.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod etcd;
#[path = "../../../../tests/src/folders.rs"]
mod folders;
#[path = "../../../../tests/src/free_ports.rs"]
mod free_ports;
mod graph;
#[path = "../../../../tests/src/guarded_process.rs"]
mod guarded_process;
#[path = "../etcd/http.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod http;
mod lacking;
mod lives;
#[path = "../etcd/members.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod members;
#[path = "../real_log/mod.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod real_log;
mod recovery;
mod refusals;
mod restored;
mod site;
#[path = "../../../../tests/src/skips.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod skips;
