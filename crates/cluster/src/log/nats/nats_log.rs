//! `NatsLog`: a shared log on NATS JetStream, as one node uses it.

use crate::log::channel::Channel;
use crate::log::nats::message_stream::{ConsumerSlot, MessageStream};
use crate::log::nats::nats_cluster::NatsCluster;
use crate::log::nats::options::NatsOptions;
use crate::log::nats::requests::Requests;
use crate::log::server_log::{LogEngine, MessageSender, ServerLog};
use crate::log::shared_log::LogError;
use crate::log_position::LogPosition;
use evergraph_graph::error::Result;
use std::fmt;
use std::sync::Arc;
use std::task::Waker;

/// A log on NATS: the messages of one stream.
///
/// The stream is for this log alone; others may lie in the same cluster of NATS. Whoever else publishes to its subject, deletes
/// messages of it or purges it damages the log: nodes find that, and stop.
pub type NatsLog = ServerLog<Nats>;

/// A cluster of NATS: one way to it for requests, and one for streams.
pub struct Nats {
    cluster: Arc<NatsCluster>,
    requests: Requests,
    streams: Arc<Channel<NatsCluster>>,
    consumer: Arc<ConsumerSlot>,
}

impl NatsLog {
    /// A log whose news wakes `waker`. It waits for nobody: that NATS cannot be reached, or must not be used, the answers to
    /// requests say.
    ///
    /// # Errors
    /// `invalid` for options that cannot work; `not_found`, `io` for files that they name, and if the system gives no
    /// thread.
    pub fn open(options: NatsOptions, waker: Waker) -> Result<Self> {
        let cluster = Arc::new(NatsCluster::new(options)?);
        let requests = Requests::new(Arc::clone(&cluster));
        let streams = Arc::new(Channel::new(Arc::clone(&cluster)));
        Self::start(Nats { cluster, requests, streams, consumer: Arc::default() }, waker)
    }
}

impl LogEngine for Nats {
    const NAME: &'static str = "nats";

    async fn append(&self, message: Arc<[u8]>) -> std::result::Result<LogPosition, LogError> {
        self.requests.append(message).await
    }

    /// JetStream has no read that its servers agree on.
    async fn end(&self) -> std::result::Result<LogPosition, LogError> {
        Err(LogError::BarrierNeeded)
    }

    async fn trim(&self, first: LogPosition) -> std::result::Result<(), LogError> {
        self.requests.trim(first).await
    }

    async fn read(self: Arc<Self>, first: LogPosition, seen: LogPosition, sender: MessageSender) {
        let (cluster, channel) = (Arc::clone(&self.cluster), Arc::clone(&self.streams));
        let consumer = Arc::clone(&self.consumer);
        MessageStream { cluster, channel, consumer, first, seen, sender }.run().await;
    }
}

impl fmt::Debug for Nats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers: Vec<String> = self.cluster.servers().iter().map(ToString::to_string).collect();
        f.debug_struct("Nats")
            .field("servers", &servers)
            .field("stream", &self.cluster.name())
            .finish_non_exhaustive()
    }
}
