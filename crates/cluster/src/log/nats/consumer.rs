//! Consumer: gives the messages of the stream from a number on, by the copy of one server.
//!
//! ```text
//! pull: 16 messages ──> server ──> message, message, ...        16 more are asked for before the last has come
//!                              ──> heartbeat                    nothing new, and it lives
//!                              ──> 408                          the pull is over: another one
//! ```
//!
//! It lies in the memory of one server, often another one than that of the connection, and ends with it: it never goes on elsewhere by
//! itself. Then nothing comes any more while the connection lives, so silence counts from what came last, however often whoever reads
//! begins anew. One that nobody asks any more ends after a while.
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
use tokio::time::{Instant, timeout_at};

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
    /// When something came last, or was asked for while nothing was to come.
    heard_at: Instant,
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
            heard_at: Instant::now(),
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
            // What has come already is taken, however long ago it came.
            let silent_at = self.heard_at + self.silence_max;
            let received = timeout_at(silent_at, self.messages.next()).await;
            let received = received.map_err(|_| ended(format!("silent for {:?}", self.silence_max)))?;
            self.heard_at = Instant::now();
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
        if self.pending == 0 {
            self.heard_at = Instant::now();
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::nats::nats_cluster::NatsCluster;
    use crate::log::nats::options::{NatsOptions, NatsServer, NatsSync};
    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    const INFO: &str = r#"INFO {"server_id":"S","server_name":"m0","version":"2.12.0","go":"","host":"127.0.0.1","port":4222,"proto":1,"client_id":1,"headers":true,"max_payload":1048576}"#;

    /// A server that makes each consumer that it is asked for; these give nothing.
    async fn silent_server() -> NatsServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (read, mut write) = listener.accept().await.unwrap().0.into_split();
            write.write_all(format!("{INFO}\r\n").as_bytes()).await.unwrap();
            let (mut lines, mut line) = (BufReader::new(read), String::new());
            let mut subscriptions: Vec<(String, String)> = Vec::new();
            while lines.read_line(&mut line).await.unwrap_or(0) > 0 {
                let words: Vec<&str> = line.split_whitespace().collect();
                match &words[..] {
                    ["PING"] => write.write_all(b"PONG\r\n").await.unwrap(),
                    ["SUB", subject, id] => {
                        subscriptions.push((subject.trim_end_matches('*').to_owned(), (*id).to_owned()));
                    }
                    ["PUB", subject, reply, size] => {
                        let mut payload = vec![0; size.parse::<usize>().unwrap() + 2];
                        lines.read_exact(&mut payload).await.unwrap();
                        if subject.starts_with("$JS.API.CONSUMER.CREATE.") {
                            let mut found = subscriptions.iter().filter(|(to, _)| reply.starts_with(to));
                            let (_, id) = found.next().unwrap();
                            let answer = format!("MSG {reply} {id} 2\r\n{{}}\r\n");
                            write.write_all(answer.as_bytes()).await.unwrap();
                        }
                    }
                    _ => {}
                }
                line.clear();
            }
        });
        format!("nats://127.0.0.1:{port}").parse().unwrap()
    }

    /// A node stopped reading for good when the server with its consumer was lost, but that of its connection was not: it began a new
    /// stream every second, each of which waited for three seconds of silence.
    #[tokio::test]
    async fn a_consumer_is_missed_however_often_it_is_waited_for_anew() {
        let server = silent_server().await;
        let options = NatsOptions::new(vec![server.clone()], "log", NatsSync::Asserted);
        let cluster = NatsCluster::new(options).unwrap();
        let connection = Connection::open(&cluster, &server).await.unwrap();
        let silence_max = Duration::from_millis(300);
        let begun = Consumer::begin(&connection, "log", LogPosition(1), silence_max);
        let (mut consumer, began) = (begun.await.unwrap(), Instant::now());
        let ended = loop {
            match timeout(silence_max / 3, consumer.take()).await {
                Ok(ended) => break ended,
                Err(_) => assert!(began.elapsed() < Duration::from_secs(20), "it is waited for without end"),
            }
        };
        assert!(began.elapsed() >= silence_max, "{:?}", began.elapsed());
        let Err(LogError::Unavailable { reason }) = ended else { panic!("it gives something") };
        assert!(reason.contains("silent for 300ms"), "{reason}");
    }
}
