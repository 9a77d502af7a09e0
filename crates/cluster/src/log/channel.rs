//! Channel: the present connection of requests, or of streams, and who is asked when it fails.
//!
//! ```text
//! endpoints   a   b   c
//!             ^ used until it fails; then b, c, a, ..., each for a third of a request's time, about
//! ```
//!
//! Requests may go to any server. A stream belongs to one, so it has a channel of its own: a slow stream does not hold
//! up requests, and a request that fails does not break a stream.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

/// How long nobody is asked after every server has failed: whoever waited meanwhile gets the same answer.
const RETRY_WAIT: Duration = Duration::from_millis(100);

/// In how many parts a request's time is split for attempts to connect.
const ATTEMPTS_PER_REQUEST: u32 = 3;

/// A request's time over what is left of it behind these attempts: so it can tell what each server said, or that it said nothing.
const REQUEST_PER_REST: u32 = 16;

/// The servers of a log, as one node reaches them.
pub(super) trait LogServers: Send + Sync + 'static {
    /// Where a server is.
    type Endpoint: fmt::Display + Sync;
    /// A connection to one, which has found out that it can serve. What runs for it ends with the last clone.
    type Connection: Clone + Send + Sync;

    /// The servers, the preferred one first; at least one.
    fn endpoints(&self) -> &[Self::Endpoint];

    /// How long a request may take.
    fn time_limit(&self) -> Duration;

    /// Connects. It takes as long as the network does: the caller has a time limit.
    ///
    /// # Errors
    /// What went wrong, for people.
    fn connect(
        &self,
        endpoint: &Self::Endpoint,
    ) -> impl Future<Output = Result<Self::Connection, String>> + Send;

    /// Whether another connection is needed.
    fn is_unusable(connection: &Self::Connection) -> bool;
}

/// A way to the servers.
///
/// # Concurrency
///
/// Any number of tasks ask for the connection. One of them connects, with the lock, and the others wait: each no longer
/// than its own time limit. If the one that connects gives up, the next one goes on with the next server.
pub(super) struct Channel<S: LogServers> {
    servers: Arc<S>,
    state: Mutex<ChannelState<S::Connection>>,
}

struct ChannelState<C> {
    connection: Option<C>,
    /// Which endpoint is tried next, round and round.
    next: usize,
    /// When every server had failed last, and how.
    failed: Option<(Instant, String)>,
}

impl<S: LogServers> Channel<S> {
    /// A channel without a connection yet.
    pub(super) fn new(servers: Arc<S>) -> Self {
        let state = ChannelState { connection: None, next: 0, failed: None };
        Self { servers, state: Mutex::new(state) }
    }

    /// A connection that has not failed, made if there is none.
    ///
    /// # Errors
    /// What each server said.
    pub(super) async fn connection(&self) -> Result<S::Connection, String> {
        let mut state = self.state.lock().await;
        if let Some(connection) = state.connection.as_ref().filter(|connection| !S::is_unusable(connection)) {
            return Ok(connection.clone());
        }
        // What runs for it ends, unless requests are still under way.
        state.connection = None;
        if let Some((_, reason)) = state.failed.as_ref().filter(|(at, _)| at.elapsed() < RETRY_WAIT) {
            return Err(reason.clone());
        }
        let endpoints = self.servers.endpoints();
        let limit = self.servers.time_limit();
        let attempt_limit = (limit - limit / REQUEST_PER_REST) / ATTEMPTS_PER_REQUEST;
        let mut reasons = Vec::new();
        for _ in endpoints {
            let endpoint = &endpoints[state.next % endpoints.len()];
            // Before the attempt, which its caller may give up.
            state.next = state.next.wrapping_add(1);
            let opened = timeout(attempt_limit, self.servers.connect(endpoint)).await;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Servers that let themselves be connected to, and say nothing.
    struct SilentServers([&'static str; 3]);

    impl LogServers for SilentServers {
        type Endpoint = &'static str;
        type Connection = ();

        fn endpoints(&self) -> &[&'static str] {
            &self.0
        }

        fn time_limit(&self) -> Duration {
            Duration::from_millis(3200)
        }

        async fn connect(&self, _: &&'static str) -> Result<(), String> {
            std::future::pending().await
        }

        fn is_unusable((): &()) -> bool {
            false
        }
    }

    #[tokio::test]
    async fn a_request_can_tell_that_each_server_was_silent() {
        let servers = Arc::new(SilentServers(["a", "b", "c"]));
        let channel = Channel::new(Arc::clone(&servers));
        let told = timeout(servers.time_limit(), channel.connection()).await;
        let told = told.expect("before the time of the request is over").unwrap_err();
        assert_eq!(told, "a: no answer within 1s; b: no answer within 1s; c: no answer within 1s");
    }
}
