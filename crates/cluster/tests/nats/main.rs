//! A log on a real NATS, whose servers the tests start on free ports of this machine, kill, stop for a while and start from older
//! copies: what it promises as any log does, `on_nats`, and what is special to it. `make cluster-nats` runs them, with the program
//! `nats-server`, which it fetches; without it they say that they were skipped.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

#[path = "../etcd/certificates.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod certificates;
mod failures;
#[path = "../../../../tests/src/folders.rs"]
mod folders;
#[path = "../../../../tests/src/free_ports.rs"]
mod free_ports;
#[path = "../running_cluster/graph.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod graph;
#[path = "../../../../tests/src/guarded_process.rs"]
mod guarded_process;
#[path = "../log_promises/mod.rs"]
mod log_promises;
#[path = "../../../../tests/src/nats.rs"]
mod nats;
mod nodes;
mod raw_client;
#[path = "../real_log/mod.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod real_log;
mod refusals;
mod security;
mod servers;
#[path = "../running_cluster/site.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod site;
#[path = "../../../../tests/src/skips.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod skips;
mod streams;
mod trims;

/// What any log promises.
mod on_nats {
    crate::log_promises::promises_on!(crate::servers::Servers);
}
