//! Consumer: gives the messages of the stream from a number on, by the copy of one server.
//!
//! ```text
//! pull: 16 messages ──> server ──> message, message, ...        16 more are asked for before the last has come
//!                              ──> heartbeat                    nothing new, and it lives
//!                              ──> 408                          the pull is over: another one
//! ```
//!
//! It lies in the memory of one server, and ends with it: it never goes on elsewhere by itself. One that nobody asks any more
//! ends after a while.
//!
//! Source: ADR-13 (pull subscriptions), ADR-17 (ordered consumers) of NATS. Differs: nothing is made again by itself.

use crate::log::nats::api::{
    ConsumerConfig, ConsumerRequest, Done, IDLE_HEARTBEAT, PULL_EXPIRED, PullRequest,
    create_consumer_subject, delete_consumer_subject, pull_subject, sequence_of,
};
use crate::log::nats::connection::Connection;
use crate::log::nats::sequence_order::{Arrival, SequenceOrder};
use crate::log::shared_log::LogError;
use crate::log_position::LogPosition;
use async_nats::{Message, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;
use std::time::Duration;
use tokio::time::timeout;

/// Messages of a pull: 1 MiB.
const PULL_MESSAGES: u32 = 16;

/// Pulls that a server may have at once.
const PULLS_MAX: u32 = 8;

/// How long a pull waits for messages, at least.
const PULL_TIME_MIN: Duration = Duration::from_secs(30);

/// Heartbeats within the time that a server may be silent.
const HEARTBEATS: u32 = 3;

/// How long a consumer lives that nobody asks.
const IDLE_TIME_MAX: Duration = Duration::from_secs(120);

/// A consumer of the stream, on one connection.
pub(super) struct Consumer {
    connection: Connection,
    stream: String,
    name: String,
    inbox: String,
    messages: Subscriber,
    /// Messages that were asked for and did not come yet.
    pending: u32,
    silence_max: Duration,
    order: SequenceOrder,
}

/// What came.
pub(super) enum Consumed {
    /// The next message.
    Message { position: LogPosition, bytes: Bytes },
    /// Messages from `first` to before `found` did not come.
    Gap { first: LogPosition, found: LogPosition },
}

impl Consumer {
    /// One that begins at `first`, or at the first message behind it. It is heard of at least every `silence_max`.
    ///
    /// # Errors
    /// `Unavailable`.
    pub(super) async fn begin(
        connection: &Connection,
        stream: &str,
        first: LogPosition,
        silence_max: Duration,
    ) -> Result<Self, LogError> {
        let unavailable = |reason: String| LogError::Unavailable { reason };
        let (inbox, messages) = connection.subscribe_inbox().await.map_err(unavailable)?;
        let name = format!("evergraph-{}", inbox.rsplit('.').next().unwrap_or_default());
        let config = ConsumerConfig {
            name: &name,
            deliver_policy: "by_start_sequence",
            opt_start_seq: first.0.max(1),
            ack_policy: "none",
            replay_policy: "instant",
            max_waiting: PULLS_MAX,
            num_replicas: 1,
            mem_storage: true,
            inactive_threshold: nanoseconds(IDLE_TIME_MAX),
        };
        let request = ConsumerRequest { stream_name: stream, config, action: "create" };
        let made: Result<Done, _> =
            connection.call(create_consumer_subject(stream, &name), Some(&request)).await;
        made.map_err(|failure| unavailable(format!("make a consumer: {}", failure.reason())))?;
        Ok(Self {
            connection: connection.clone(),
            stream: stream.to_owned(),
            name,
            inbox,
            messages,
            pending: 0,
            silence_max,
            order: SequenceOrder::new(first),
        })
    }

    /// Whether it is one of this connection.
    pub(super) fn is_on(&self, connection: &Connection) -> bool {
        self.connection.is_same(connection)
    }

    /// The number of the message that it gives next, if none is missing.
    pub(super) fn next(&self) -> LogPosition {
        self.order.next()
    }

    /// The next message, which counts as given then. What was given already is left out.
    ///
    /// If this is dropped before it is done, no message is lost.
    ///
    /// # Errors
    /// `Unavailable`: it has ended, or its server is silent.
    pub(super) async fn take(&mut self) -> Result<Consumed, LogError> {
        loop {
            self.pull().await?;
            let received = timeout(self.silence_max, self.messages.next()).await;
            let received = received.map_err(|_| ended(format!("silent for {:?}", self.silence_max)))?;
            let message = received.ok_or_else(|| ended("the connection broke".to_owned()))?;
            let status = message.status.map_or(200, |status| status.as_u16());
            match status {
                200 => {
                    self.pending = self.pending.saturating_sub(1);
                    if let Some(consumed) = self.arrived(&message)? {
                        return Ok(consumed);
                    }
                }
                IDLE_HEARTBEAT => {}
                // The rest of a pull will not come.
                PULL_EXPIRED => self.pending = self.pending.saturating_sub(unanswered(&message)),
                status => {
                    let why = message.description.as_deref().unwrap_or_default();
                    return Err(ended(format!("status {status}: {why}")));
                }
            }
        }
    }

    fn arrived(&mut self, message: &Message) -> Result<Option<Consumed>, LogError> {
        let sequence = message.reply.as_deref().and_then(sequence_of);
        let sequence = sequence.ok_or_else(|| ended("a message without its number".to_owned()))?;
        let position = LogPosition(sequence);
        Ok(match self.order.take(position) {
            Arrival::Earlier => None,
            Arrival::Next => Some(Consumed::Message { position, bytes: message.payload.clone() }),
            Arrival::BehindGap { first } => Some(Consumed::Gap { first, found: position }),
        })
    }

    /// Asks for more if little is under way.
    async fn pull(&mut self) -> Result<(), LogError> {
        if self.pending >= PULL_MESSAGES {
            return Ok(());
        }
        let expires = PULL_TIME_MIN.max(2 * self.silence_max);
        let request = PullRequest {
            batch: PULL_MESSAGES,
            expires: nanoseconds(expires),
            idle_heartbeat: nanoseconds(self.silence_max / HEARTBEATS),
        };
        let payload = serde_json::to_vec(&request).map_err(|error| ended(error.to_string()))?;
        let subject = pull_subject(&self.stream, &self.name);
        let sent = self.connection.send(subject, Some(self.inbox.clone()), payload.into()).await;
        sent.map_err(ended)?;
        self.pending += PULL_MESSAGES;
        Ok(())
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        let (connection, subject) =
            (self.connection.clone(), delete_consumer_subject(&self.stream, &self.name));
        // Outside of the log's thread the server forgets it later.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { connection.send(subject, None, Bytes::new()).await });
        }
    }
}

fn ended(why: String) -> LogError {
    LogError::Unavailable { reason: format!("the stream of messages ended: {why}") }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// How many messages of a pull do not come.
fn unanswered(message: &Message) -> u32 {
    let headers = message.headers.as_ref();
    let count = headers.and_then(|headers| headers.get("Nats-Pending-Messages"));
    count.and_then(|count| count.as_str().parse().ok()).unwrap_or(PULL_MESSAGES)
}
