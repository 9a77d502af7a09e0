//! Monitor: what other threads may look at of a network: for metrics, for the status of a cluster, for a log.

use crate::transport::tcp::events::LinkEvents;
use crate::transport::tcp::network::TcpNetwork;
use crate::transport::tcp::statistics::{ListenerStatistics, PeerStatistics};
use std::sync::Arc;

/// Looks at a network, also when that has ended.
///
/// Concurrency: any number of threads. None of its methods waits.
#[derive(Clone, Debug)]
pub struct NetworkMonitor {
    pub(super) network: Arc<TcpNetwork>,
}

impl NetworkMonitor {
    /// The other nodes, ascending: what was carried, what waits, and why there is no connection.
    #[must_use]
    pub fn peers(&self) -> Vec<PeerStatistics> {
        let peers: Vec<_> = self.network.peers.lock().values().cloned().collect();
        peers.iter().map(|peer| peer.statistics(self.network.received.total(peer.node))).collect()
    }

    /// Those who did not prove who they are.
    #[must_use]
    pub fn listener(&self) -> ListenerStatistics {
        self.network.listener.lock().clone()
    }

    /// What happened to connections since this was asked last, by whomever.
    #[must_use]
    pub fn take_events(&self) -> LinkEvents {
        self.network.events.lock().take()
    }
}
