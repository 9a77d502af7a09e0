//! A log on a real etcd, whose members the tests start on free ports of this machine, kill, stop for a while and start
//! from older copies. Without the program `etcd` they say that they were skipped; with `CI` set they fail.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod acknowledged;
mod appends;
mod certificates;
mod end_to_end;
#[path = "../../../../tests/src/etcd.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod etcd;
mod failures;
#[path = "../../../../tests/src/folders.rs"]
mod folders;
#[path = "../../../../tests/src/free_ports.rs"]
mod free_ports;
#[path = "../../../../tests/src/guarded_process.rs"]
mod guarded_process;
mod http;
mod members;
#[path = "../shared_log/model.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod model;
mod node;
mod security;
#[path = "../../../../tests/src/skips.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod skips;
mod test_log;
mod trims;
