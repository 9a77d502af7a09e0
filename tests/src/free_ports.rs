//! Free ports of the loopback, for whoever is told where to listen, and starts there again.
//!
//! They lie below those that the system gives to connections by itself: one of these would take the port of a process that was
//! killed and is about to start again. Tests of crates that this one depends on have no dependency on it, and include the file by
//! its path.

use std::hash::{BuildHasher as _, RandomState};
use std::net::TcpListener;
use std::ops::Range;

/// Linux gives those from 32768 on to connections, other systems those from 49152 on.
const RANGE: Range<u64> = 20_000..32_000;

/// So many that nobody listens at, all different.
///
/// # Panics
/// If hardly any is free.
pub fn free_ports(count: usize) -> Vec<u16> {
    let random = RandomState::new();
    let tried =
        (0..10_000_u64).map(|at| (RANGE.start + random.hash_one(at) % (RANGE.end - RANGE.start)) as u16);
    // Bound until all are chosen.
    let bound = tried.filter_map(|port| TcpListener::bind(("127.0.0.1", port)).ok());
    let bound: Vec<TcpListener> = bound.take(count).collect();
    assert_eq!(bound.len(), count, "hardly any port from {} to {} is free", RANGE.start, RANGE.end);
    bound.iter().map(|listener| listener.local_addr().expect("it is bound").port()).collect()
}
