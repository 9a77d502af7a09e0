//! Channel: the present connection of requests, or of streams, and who is asked when it fails.
//!
//! ```text
//! endpoints   a   b   c
//!             ^ used until it fails; then b, c, a, ..., each for a third of a request's time, about
//! ```
//!
//! Of more than three servers that are silent, a request asks three, and the next one goes on behind them: a shorter time for each
//! would take a server that is far away for one that is lost.
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

/// A sixteenth of a request's time stays after the attempts, so that its error can name what each server answered.
const REPORTING_SHARE: u32 = 16;

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
        let attempt_limit = attempt_limit(self.servers.time_limit());
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

/// How long an attempt to connect may take, where a request may take `limit`.
fn attempt_limit(limit: Duration) -> Duration {
    (limit - limit / REPORTING_SHARE) / ATTEMPTS_PER_REQUEST
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Servers that accept a connection, and say nothing.
    struct SilentServers([&'static str; 3]);

    impl LogServers for SilentServers {
        type Endpoint = &'static str;
        type Connection = ();

        fn endpoints(&self) -> &[&'static str] {
            &self.0
        }

        fn time_limit(&self) -> Duration {
            Duration::from_millis(96)
        }

        async fn connect(&self, _: &&'static str) -> Result<(), String> {
            std::future::pending().await
        }

        fn is_unusable((): &()) -> bool {
            false
        }
    }

    #[tokio::test]
    async fn an_error_names_each_server_that_was_silent() {
        let channel = Channel::new(Arc::new(SilentServers(["a", "b", "c"])));
        let error = channel.connection().await.unwrap_err();
        assert_eq!(error, "a: no answer within 30ms; b: no answer within 30ms; c: no answer within 30ms");
    }

    #[test]
    fn a_request_has_time_left_when_three_servers_were_silent() {
        // A third of each is exact: without the share nothing would be left.
        for limit in [Duration::from_millis(600), Duration::from_secs(3), Duration::from_secs(60)] {
            assert!(attempt_limit(limit) * 3 < limit, "{limit:?}");
        }
    }
}
