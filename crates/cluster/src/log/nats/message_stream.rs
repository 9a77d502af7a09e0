//! Message stream: reads the log from a position on, by one server, until that fails or nobody reads any more.
//!
//! ```text
//! what the stream has, as its leader says     does it reach what was read before? what was trimmed?
//!      ├─> messages one by one, by the leader   what a consumer that is at hand has given already
//!      │     └─> that consumer goes on
//!      └─> a consumer from there on             without one, or for many
//! ```
//!
//! Readers begin a new stream every second, a few messages back. A new consumer is an entry in the log of JetStream itself, so
//! that one is kept as long as it lives, and what lies before it is asked for by number.
//!
//! The numbers of a stream have no gaps, since no message of it is deleted by itself. A message that does not come is an
//! error: nothing is read over it.

use crate::log::channel::Channel;
use crate::log::nats::api::{MessageAnswer, MessageRequest, NO_MESSAGE, StreamCall, StreamState};
use crate::log::nats::checked_stream::checked_stream;
use crate::log::nats::connection::{CallFailure, Connection};
use crate::log::nats::consumer::{Consumed, Consumer};
use crate::log::nats::nats_cluster::NatsCluster;
use crate::log::server_log::MessageSender;
use crate::log::shared_log::{LogError, LogMessage};
use crate::log_position::LogPosition;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::try_join_all;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

/// How often the stream's leader is asked for an end that seems to lie before what was read. One that was paused may answer for a
/// moment as if nothing had happened since, and one that was just elected before it has applied what it has.
const END_QUESTIONS: usize = 8;

/// Between two of these questions.
const END_QUESTION_WAIT: Duration = Duration::from_millis(500);

/// Messages that are asked for one by one, at most: readers go back by 16, and some came since.
const MESSAGES_AGAIN_MAX: u64 = 48;

/// The consumer of a log, while nobody reads. The stream that reads has it; the next one waits for it.
pub(super) type ConsumerSlot = Mutex<Option<Consumer>>;

/// A stream, as a task.
pub(super) struct MessageStream {
    pub(super) cluster: Arc<NatsCluster>,
    pub(super) channel: Arc<Channel<NatsCluster>>,
    pub(super) consumer: Arc<ConsumerSlot>,
    /// Where it begins.
    pub(super) first: LogPosition,
    /// What was read of the log before.
    pub(super) seen: LogPosition,
    /// Where messages go. It is closed when nobody reads any more.
    pub(super) sender: MessageSender,
}

impl MessageStream {
    /// Reads until there is an error, which is the last thing that it gives, or nobody reads any more.
    pub(super) async fn run(self) {
        self.sender.give_end_of(self.read()).await;
    }

    async fn read(&self) -> Result<Infallible, LogError> {
        // The stream before has ended, or is about to.
        let mut slot = self.consumer.lock().await;
        let limit = self.cluster.time_limit();
        let found = timeout(limit, self.channel.connection()).await;
        let found = found.unwrap_or_else(|_| Err(format!("no server could be reached within {limit:?}")));
        let connection = found.map_err(|reason| LogError::Unavailable { reason })?;
        let ended = tokio::select! {
            ended = self.read_by(&connection, &mut slot) => ended,
            () = connection.broken() => Err(unavailable("the connection broke".to_owned())),
        };
        *slot = None;
        if matches!(ended, Err(LogError::Unavailable { .. })) {
            connection.abandon();
        }
        ended
    }

    async fn read_by(
        &self,
        connection: &Connection,
        slot: &mut Option<Consumer>,
    ) -> Result<Infallible, LogError> {
        let state = self.check_end(connection).await?;
        self.check_begin(state)?;
        if !slot.as_ref().is_some_and(|consumer| self.can_use(consumer, connection)) {
            let begun =
                Consumer::begin(connection, self.cluster.name(), self.first, self.cluster.time_limit());
            *slot = Some(self.within_limit(begun).await??);
        }
        let consumer = slot.as_mut().ok_or_else(|| unavailable("there is no consumer".to_owned()))?;
        for message in self.messages_before(connection, consumer.next()).await? {
            self.sender.give(Ok(message)).await;
        }
        loop {
            match consumer.take().await? {
                // It counts as given before it is, which may be where the stream ends: the next one asks for it by number.
                Consumed::Message { position, bytes } => {
                    self.sender.give(Ok(LogMessage { position, bytes: bytes.as_ref().into() })).await;
                }
                Consumed::Gap { first, found } => return Err(self.missing(connection, first, found).await),
            }
        }
    }

    /// Whether a consumer that is at hand has not come too far.
    fn can_use(&self, consumer: &Consumer, connection: &Connection) -> bool {
        let again = consumer.next().0.checked_sub(self.first.0);
        consumer.is_on(connection) && again.is_some_and(|again| again <= MESSAGES_AGAIN_MAX)
    }

    /// Whether the log reaches what was read before; what it has.
    async fn check_end(&self, connection: &Connection) -> Result<StreamState, LogError> {
        let mut questions = 0;
        loop {
            let asked = self.within_limit(checked_stream(&self.cluster, connection)).await?;
            let state = asked.map_err(unavailable)?.state;
            let end = LogPosition(state.last_seq);
            questions += 1;
            if end >= self.seen {
                return Ok(state);
            }
            if questions == END_QUESTIONS {
                return Err(LogError::LostSuffix { position: self.seen, end });
            }
            sleep(END_QUESTION_WAIT).await;
        }
    }

    fn check_begin(&self, state: StreamState) -> Result<(), LogError> {
        let first = LogPosition(state.first_seq);
        if first > self.first.max(LogPosition(1)) { Err(LogError::Trimmed { first }) } else { Ok(()) }
    }

    /// Messages from the first one on, before `end`, by the stream's leader.
    async fn messages_before(
        &self,
        connection: &Connection,
        end: LogPosition,
    ) -> Result<Vec<LogMessage>, LogError> {
        let first = self.first.0.max(1);
        let asked = (first..end.0).map(|sequence| self.message(connection, LogPosition(sequence)));
        let found = self.within_limit(try_join_all(asked)).await?;
        match found {
            Ok(messages) => Ok(messages),
            Err((position, CallFailure::Refused(error))) if error.err_code == NO_MESSAGE => {
                Err(self.missing(connection, position, position.next()).await)
            }
            Err((_, failure)) => Err(failure.unavailable()),
        }
    }

    async fn message(
        &self,
        connection: &Connection,
        position: LogPosition,
    ) -> Result<LogMessage, (LogPosition, CallFailure)> {
        let subject = StreamCall::Message.subject(self.cluster.name());
        let asked = connection.call(subject, Some(&MessageRequest { seq: position.0 })).await;
        let MessageAnswer { message } = asked.map_err(|failure| (position, failure))?;
        let bytes = STANDARD.decode(message.data).ok().filter(|_| message.seq == position.0);
        let bytes = bytes.ok_or_else(|| {
            let failure = CallFailure::Unknown(format!("message {} came in another form", position.0));
            (position, failure)
        })?;
        Ok(LogMessage { position, bytes: bytes.into() })
    }

    /// Why messages from `first` on did not come, but one at `found`.
    async fn missing(&self, connection: &Connection, first: LogPosition, found: LogPosition) -> LogError {
        let asked = self.within_limit(checked_stream(&self.cluster, connection)).await;
        let state = match asked {
            Ok(Ok(info)) => info.state,
            Ok(Err(reason)) => return unavailable(reason),
            Err(error) => return error,
        };
        if LogPosition(state.first_seq) > first {
            return LogError::Trimmed { first: LogPosition(state.first_seq) };
        }
        if LogPosition(state.last_seq) < first {
            return unavailable(format!("the leader of the stream ends at {} so far", state.last_seq));
        }
        unavailable(format!(
            "the stream {} has no messages from {} to {}, which nobody trimmed: it lost them, or somebody deleted them",
            self.cluster.name(),
            first.0,
            found.0 - 1
        ))
    }

    async fn within_limit<T>(&self, work: impl Future<Output = T>) -> Result<T, LogError> {
        let limit = self.cluster.time_limit();
        timeout(limit, work).await.map_err(|_| unavailable(format!("no answer within {limit:?}")))
    }
}

fn unavailable(reason: String) -> LogError {
    LogError::Unavailable { reason }
}
