//! Channel: the present connection of requests, or of streams, and who is asked when it fails.
//!
//! ```text
//! endpoints   a   b   c
//!             ^ used until it fails; then b, c, a, ..., each for a third of a request's time
//! ```
//!
//! Requests may go to any member. A stream belongs to one, so it has a channel of its own: a slow stream does not hold
//! up requests, and a request that fails does not break a stream.

use crate::log::etcd::connection::Connection;
use crate::log::etcd::etcd_cluster::EtcdCluster;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

/// How long nobody is asked after every member has failed: whoever waited meanwhile gets the same answer.
const RETRY_WAIT: Duration = Duration::from_millis(100);

/// In how many parts a request's time is split for attempts to connect.
const ATTEMPTS_PER_REQUEST: u32 = 3;

/// A way to the cluster.
///
/// # Concurrency
///
/// Any number of tasks ask for the connection. One of them connects, with the lock, and the others wait: each no longer
/// than its own time limit. If the one that connects gives up, the next one goes on with the next member.
pub(super) struct Channel {
    cluster: Arc<EtcdCluster>,
    state: Mutex<ChannelState>,
}

#[derive(Default)]
struct ChannelState {
    connection: Option<Connection>,
    /// Which endpoint is tried next, round and round.
    next: usize,
    /// When every member had failed last, and how.
    failed: Option<(Instant, String)>,
}

impl Channel {
    /// A channel without a connection yet.
    pub(super) fn new(cluster: Arc<EtcdCluster>) -> Self {
        Self { cluster, state: Mutex::default() }
    }

    /// A connection that has not failed, made if there is none.
    ///
    /// # Errors
    /// What each member said.
    pub(super) async fn connection(&self) -> Result<Connection, String> {
        let mut state = self.state.lock().await;
        if let Some(connection) = state.connection.as_ref().filter(|connection| !connection.is_unusable()) {
            return Ok(connection.clone());
        }
        // What runs for it ends, unless requests are still under way.
        state.connection = None;
        if let Some((_, reason)) = state.failed.as_ref().filter(|(at, _)| at.elapsed() < RETRY_WAIT) {
            return Err(reason.clone());
        }
        let endpoints = self.cluster.endpoints();
        let attempt_limit = self.cluster.time_limit() / ATTEMPTS_PER_REQUEST;
        let mut reasons = Vec::new();
        for _ in endpoints {
            let endpoint = &endpoints[state.next % endpoints.len()];
            // Before the attempt, which its caller may give up.
            state.next = state.next.wrapping_add(1);
            let opened = timeout(attempt_limit, Connection::open(&self.cluster, endpoint)).await;
            let reason = match opened {
                Ok(Ok(connection)) => {
                    state.failed = None;
                    state.connection = Some(connection.clone());
                    return Ok(connection);
                }
                Ok(Err(reason)) => reason,
                Err(_) => format!("no answer within {attempt_limit:?}"),
            };
            reasons.push(format!("{endpoint}: {reason}"));
        }
        let reason = reasons.join("; ");
        state.failed = Some((Instant::now(), reason.clone()));
        Err(reason)
    }
}
