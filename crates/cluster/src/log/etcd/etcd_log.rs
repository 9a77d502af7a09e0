//! `EtcdLog`: a shared log on etcd, as one node uses it.

use crate::log::channel::Channel;
use crate::log::etcd::etcd_cluster::EtcdCluster;
use crate::log::etcd::message_stream::MessageStream;
use crate::log::etcd::options::EtcdOptions;
use crate::log::etcd::requests::Requests;
use crate::log::server_log::{LogEngine, MessageSender, ServerLog};
use crate::log::shared_log::LogError;
use crate::log_position::LogPosition;
use evergraph_graph::error::Result;
use std::fmt;
use std::sync::Arc;
use std::task::Waker;

/// A log on etcd: the versions of one key.
///
/// The cluster of etcd is for this log alone. A trim forgets old versions of all of its keys; somebody else's
/// compaction, or `--auto-compaction-retention`, would trim the log. Members are reached directly: behind a proxy
/// nobody would know which member a stream reads from.
pub type EtcdLog = ServerLog<Etcd>;

/// A cluster of etcd: one way to it for requests, and one for streams.
pub struct Etcd {
    cluster: Arc<EtcdCluster>,
    requests: Requests,
    streams: Arc<Channel<EtcdCluster>>,
}

impl EtcdLog {
    /// A log whose news wakes `waker`. It waits for nobody: that etcd cannot be reached, the answers to requests say.
    ///
    /// # Errors
    /// `invalid` for options that cannot work; `not_found`, `io` for files that they name, and if the system gives no
    /// thread.
    pub fn open(options: EtcdOptions, waker: Waker) -> Result<Self> {
        let cluster = Arc::new(EtcdCluster::new(options)?);
        let requests = Requests::new(Arc::clone(&cluster));
        let streams = Arc::new(Channel::new(Arc::clone(&cluster)));
        Self::start(Etcd { cluster, requests, streams }, waker)
    }
}

impl LogEngine for Etcd {
    const NAME: &'static str = "etcd";

    async fn append(&self, message: Arc<[u8]>) -> std::result::Result<LogPosition, LogError> {
        self.requests.append(message).await
    }

    async fn end(&self) -> std::result::Result<LogPosition, LogError> {
        self.requests.end().await
    }

    async fn trim(&self, first: LogPosition) -> std::result::Result<(), LogError> {
        self.requests.trim(first).await
    }

    async fn read(self: Arc<Self>, first: LogPosition, seen: LogPosition, sender: MessageSender) {
        let (cluster, channel) = (Arc::clone(&self.cluster), Arc::clone(&self.streams));
        MessageStream { cluster, channel, first, seen, sender }.run().await;
    }
}

impl fmt::Debug for Etcd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoints: Vec<String> = self.cluster.endpoints().iter().map(ToString::to_string).collect();
        f.debug_struct("Etcd").field("endpoints", &endpoints).finish_non_exhaustive()
    }
}
