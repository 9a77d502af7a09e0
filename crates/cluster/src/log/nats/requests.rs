//! Requests: appends and trims, each with a time limit, by whichever server answers.
//!
//! | request | NATS | answer |
//! |---|---|---|
//! | append | a message to the subject of the stream | its number there, once a majority has written it |
//! | trim | a purge of what lies before a number | none |
//!
//! An append goes out again only if it certainly went to nobody. What becomes of one that nobody answers is not known, nor of one
//! that JetStream refuses: its leader may have told the others. For a moment after that appends do not go out, so that
//! their answers can say what JetStream said.

use crate::log::channel::Channel;
use crate::log::nats::api::{Done, PublishAnswer, PurgeRequest, StreamCall};
use crate::log::nats::checked_stream::checked_stream;
use crate::log::nats::connection::{CallFailure, Connection, read};
use crate::log::nats::nats_cluster::NatsCluster;
use crate::log::shared_log::LogError;
use crate::log_position::LogPosition;
use bytes::Bytes;
use evergraph_storage::sync::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

/// Connections that a request tries.
const CONNECTIONS_MAX: usize = 3;

/// How long appends do not go out after JetStream refused one.
const REFUSAL_WAIT: Duration = Duration::from_millis(500);

/// What tasks ask NATS for a log.
///
/// # Concurrency
///
/// Any number of tasks ask at once, over one connection.
pub(super) struct Requests {
    cluster: Arc<NatsCluster>,
    channel: Channel<NatsCluster>,
    /// One trim at a time.
    trimming: Semaphore,
    /// When JetStream refused an append, and took none since; and what it said.
    refused: Mutex<Option<(Instant, String)>>,
}

impl Requests {
    /// Nothing is under way.
    pub(super) fn new(cluster: Arc<NatsCluster>) -> Self {
        let channel = Channel::new(Arc::clone(&cluster));
        Self { cluster, channel, trimming: Semaphore::new(1), refused: Mutex::default() }
    }

    /// Appends `message`.
    ///
    /// # Errors
    /// `Unavailable` if it is not in the log and will not be, else `UnknownOutcome`.
    pub(super) async fn append(&self, message: Arc<[u8]>) -> Result<LogPosition, LogError> {
        if let Some(reason) = self.refusal() {
            return Err(LogError::Unavailable { reason });
        }
        let (message, deadline) = (Bytes::from_owner(message), self.deadline());
        if self.cluster.is_refused() {
            self.check_again(deadline).await?;
        }
        let stream = self.cluster.name();
        let ask = |connection: Connection| {
            let message = message.clone();
            async move {
                let answer = connection.ask(stream.to_owned(), message).await?;
                read::<PublishAnswer>(&answer.payload)
            }
        };
        match self.call(deadline, ask).await {
            Ok(answer) if answer.stream == stream && answer.seq > 0 => {
                *self.refused.lock() = None;
                Ok(LogPosition(answer.seq))
            }
            Ok(_) => Err(LogError::UnknownOutcome),
            Err(failure) => {
                if let CallFailure::Refused(_) = failure {
                    *self.refused.lock() = Some((Instant::now(), failure.reason()));
                }
                Err(outcome(failure))
            }
        }
    }

    /// What JetStream said, if that was a moment ago.
    fn refusal(&self) -> Option<String> {
        let refused = self.refused.lock();
        let refused = refused.as_ref().filter(|(at, _)| at.elapsed() < REFUSAL_WAIT);
        refused.map(|(_, reason)| reason.clone())
    }

    /// Whether servers that could not keep a log can by now.
    ///
    /// # Errors
    /// `Unavailable`, with what to set.
    async fn check_again(&self, deadline: Instant) -> Result<(), LogError> {
        let check = |connection: Connection| async move {
            let checked = checked_stream(&self.cluster, &connection).await;
            checked.map(drop).map_err(CallFailure::NobodyListens)
        };
        self.call(deadline, check).await.map_err(|failure| failure.unavailable())
    }

    /// Forgets what lies before `first`.
    ///
    /// # Errors
    /// `Unavailable`; it may be forgotten all the same.
    pub(super) async fn trim(&self, first: LogPosition) -> Result<(), LogError> {
        let Ok(_turn) = self.trimming.try_acquire() else {
            return Err(LogError::Unavailable { reason: "another trim is under way".to_owned() });
        };
        let deadline = self.deadline();
        let trim = |connection: Connection| async move {
            let info = checked_stream(&self.cluster, &connection).await.map_err(CallFailure::Unknown)?;
            // A purge behind the end would move the numbers of messages to come.
            let seq = first.0.min(info.state.last_seq.saturating_add(1));
            if seq <= info.state.first_seq.max(1) {
                return Ok(());
            }
            let subject = StreamCall::Purge.subject(self.cluster.name());
            connection.call(subject, Some(&PurgeRequest { seq })).await.map(|Done {}| ())
        };
        self.call(deadline, trim).await.map_err(|failure| failure.unavailable())
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.cluster.time_limit()
    }

    /// Asks by the present connection, and again by others while the question went to nobody.
    async fn call<A, F>(&self, deadline: Instant, ask: impl Fn(Connection) -> F) -> Result<A, CallFailure>
    where
        F: Future<Output = Result<A, CallFailure>>,
    {
        let limit = self.cluster.time_limit();
        let mut last = CallFailure::NotTaken(format!("no server could be reached within {limit:?}"));
        for _ in 0..CONNECTIONS_MAX {
            let connection = match timeout_at(deadline, self.channel.connection()).await {
                Ok(Ok(connection)) => connection,
                Ok(Err(reason)) => return Err(CallFailure::NotTaken(reason)),
                Err(_) => return Err(last),
            };
            let failure = match timeout_at(deadline, ask(connection.clone())).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(failure)) => failure,
                Err(_) => CallFailure::Unknown(format!("no answer within {limit:?}")),
            };
            if matches!(failure, CallFailure::NotTaken(_) | CallFailure::Unknown(_)) {
                connection.abandon();
            }
            if !matches!(failure, CallFailure::NotTaken(_)) {
                return Err(failure);
            }
            last = failure;
        }
        Err(last)
    }
}

/// What an append that failed is answered with.
fn outcome(failure: CallFailure) -> LogError {
    match failure {
        CallFailure::NotTaken(reason) | CallFailure::NobodyListens(reason) => {
            LogError::Unavailable { reason }
        }
        CallFailure::Unknown(_) | CallFailure::Refused(_) => LogError::UnknownOutcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::nats::api::ApiError;

    #[test]
    fn an_append_is_unavailable_only_if_it_never_happens() {
        let nobody = outcome(CallFailure::NotTaken("nobody".to_owned()));
        assert_eq!(nobody, LogError::Unavailable { reason: "nobody".to_owned() });
        let no_leader = outcome(CallFailure::NobodyListens("no leader".to_owned()));
        assert_eq!(no_leader, LogError::Unavailable { reason: "no leader".to_owned() });
        assert_eq!(outcome(CallFailure::Unknown("late".to_owned())), LogError::UnknownOutcome);
        let refused = ApiError { err_code: 10077, description: "maximum bytes exceeded".to_owned() };
        assert_eq!(outcome(CallFailure::Refused(refused)), LogError::UnknownOutcome);
    }
}
