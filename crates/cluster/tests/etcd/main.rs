//! A log on a real etcd, whose members the tests start on free ports of this machine, kill, stop for a while and start
//! from older copies: what it promises as any log does, `on_etcd`, and what is special to it. Without the program `etcd` they say that
//! they were skipped; with `CI` set they fail.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod certificates;
#[path = "../../../../tests/src/etcd.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod etcd;
mod failures;
#[path = "../../../../tests/src/folders.rs"]
mod folders;
#[path = "../../../../tests/src/free_ports.rs"]
mod free_ports;
mod full;
#[path = "../../../../tests/src/guarded_process.rs"]
mod guarded_process;
mod http;
#[path = "../log_promises/mod.rs"]
mod log_promises;
mod members;
mod other_keys;
#[path = "../real_log/mod.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod real_log;
mod security;
#[path = "../../../../tests/src/skips.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod skips;

/// What any log promises.
mod on_etcd {
    crate::log_promises::promises_on!(crate::members::Members);
}
