//! The network over TCP, on loopback: frames between nodes, strangers, nodes that are slow or start again, the end.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]
#![allow(clippy::disallowed_methods, reason = "sockets, certificates, threads and waits are real here")]

mod certificates;
mod frames;
mod node;
mod raw_client;
mod restarts;
mod slow;
mod strangers;
