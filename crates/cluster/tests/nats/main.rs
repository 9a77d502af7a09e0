//! A log on a real NATS, whose servers the tests start on free ports of this machine, kill, stop for a while and start from older
//! copies. `make cluster-nats` runs them, with the program `nats-server`, which it fetches; without it they say that they were skipped.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

#[path = "../etcd/acknowledged.rs"]
mod acknowledged;
mod appends;
#[path = "../etcd/certificates.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod certificates;
mod end_to_end;
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
#[path = "../shared_log/model.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod model;
#[path = "../../../../tests/src/nats.rs"]
mod nats;
#[path = "../etcd/node.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod node;
mod nodes;
mod raw_client;
mod refusals;
mod security;
mod servers;
#[path = "../running_cluster/site.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod site;
#[path = "../../../../tests/src/skips.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod skips;
#[path = "../etcd/test_log.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod test_log;
mod trims;
