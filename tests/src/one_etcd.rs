//! One etcd: a member that is alone, for tests that need a log and nothing that happens to it.
//!
//! Tests of crates that this one depends on have no dependency on it, and include the file by its path, with `etcd.rs`,
//! `free_ports.rs`, `guarded_process.rs` and `skips.rs`.

use crate::etcd;
use crate::free_ports::free_ports;
use crate::guarded_process::GuardedProcess;
use crate::skips::skip;
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long it may take until it serves.
const START_TIME: Duration = Duration::from_secs(60);
/// How often it is started, on other ports each time: another process may take a port before the member does.
const STARTS_MAX: usize = 4;

/// Starts a member whose data lies in `folder`, and waits until it serves. It ends when what is returned is dropped; the text is its URL.
/// `None` where there is no etcd: the test of this thread is skipped then, and with `CI` set it fails.
///
/// # Panics
/// If it does not serve in time.
pub fn start_etcd(folder: &Path) -> Option<(GuardedProcess, String)> {
    let Some(program) = etcd::program() else {
        skip(etcd::HOW_TO_INSTALL);
        return None;
    };
    let log = folder.join("etcd.log");
    for start in 0..STARTS_MAX {
        let ports = free_ports(2);
        let [client, peer] = [ports[0], ports[1]].map(|port| format!("http://127.0.0.1:{port}"));
        let data = folder.join(format!("etcd-{start}"));
        let mut flags = etcd::member_flags("m0", &data, &client, &peer, &format!("m0={peer}"));
        flags.extend(etcd::SETTINGS.map(str::to_owned));
        let mut member = etcd::run_member(&program, &flags, &log);
        let began = Instant::now();
        while member.process.try_wait().expect("it is a child").is_none() {
            if etcd::is_healthy(ports[0]) {
                return Some((member, client));
            }
            assert!(began.elapsed() < START_TIME, "etcd serves nobody after {START_TIME:?}: {}", said(&log));
            sleep(Duration::from_millis(20));
        }
    }
    panic!("etcd ends whenever it is started: {}", said(&log));
}

/// What it wrote.
fn said(log: &Path) -> String {
    fs::read_to_string(log).unwrap_or_default()
}
