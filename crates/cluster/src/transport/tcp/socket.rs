//! Socket: what the system is told of a connection between nodes.

use socket2::{SockRef, TcpKeepalive};
use std::time::Duration;
use tokio::net::TcpStream;

/// How long a connection is silent before the system asks whether the other machine is still there, how often it asks
/// then, and how many times until the connection is lost. Heartbeats come more often: this is for nodes that have
/// stopped.
const PROBE_AFTER: Duration = Duration::from_secs(15);
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
const PROBES: u32 = 3;

/// Prepares a connection on which the other side may take nothing for `stalled`. A system that refuses has times of
/// its own.
pub(super) fn prepare(stream: &TcpStream, stalled: Duration) {
    // Small frames are not held back: whoever sends them has put together what goes together.
    let _ = stream.set_nodelay(true);
    let socket = SockRef::from(stream);
    let probes =
        TcpKeepalive::new().with_time(PROBE_AFTER).with_interval(PROBE_INTERVAL).with_retries(PROBES);
    let _ = socket.set_tcp_keepalive(&probes);
    // Of a machine that vanished nothing comes, and while there is room here to write into, no write fails either.
    // Longer than what writing itself waits, which says more.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let _ = socket.set_tcp_user_timeout(Some(stalled.saturating_mul(2)));
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = stalled;
}
