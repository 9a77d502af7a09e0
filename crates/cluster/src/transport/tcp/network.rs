//! Network: what the threads of a network and the thread of its node share.

use crate::record_id::NodeId;
use crate::transport::tcp::events::{EventLog, LinkEvent};
use crate::transport::tcp::frame_queue::RoomNews;
use crate::transport::tcp::identity::NodeIdentity;
use crate::transport::tcp::link_error::LinkError;
use crate::transport::tcp::options::TcpOptions;
use crate::transport::tcp::peer::{Novelty, Peer};
use crate::transport::tcp::receive_queues::ReceiveQueues;
use crate::transport::tcp::statistics::{LinkDirection, ListenerStatistics};
use evergraph_storage::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;

/// The network of one node.
///
/// Concurrency: no lock is taken while another one of these is held, and none is held while somebody waits.
#[derive(Debug)]
pub(super) struct TcpNetwork {
    pub(super) identity: NodeIdentity,
    pub(super) options: TcpOptions,
    /// The members, without this node.
    pub(super) peers: Mutex<BTreeMap<NodeId, Arc<Peer>>>,
    /// What came.
    pub(super) received: ReceiveQueues,
    pub(super) listener: Mutex<ListenerStatistics>,
    pub(super) events: Mutex<EventLog>,
    /// Of the thread of the node.
    waker: Waker,
}

impl TcpNetwork {
    /// Without peers.
    pub(super) fn new(identity: NodeIdentity, options: TcpOptions, waker: Waker) -> Self {
        let received = ReceiveQueues::new(options.incoming);
        received.open(identity.node());
        Self {
            identity,
            options,
            peers: Mutex::new(BTreeMap::new()),
            received,
            listener: Mutex::new(ListenerStatistics::default()),
            events: Mutex::new(EventLog::default()),
            waker,
        }
    }

    /// A member.
    pub(super) fn peer(&self, node: NodeId) -> Option<Arc<Peer>> {
        self.peers.lock().get(&node).cloned()
    }

    /// Something came.
    pub(super) fn wake(&self) {
        self.waker.wake_by_ref();
    }

    /// Perhaps there is room in a queue again.
    pub(super) fn wake_for(&self, news: RoomNews) {
        if news == RoomNews::Room {
            self.wake();
        }
    }

    /// There is a connection with a peer.
    pub(super) fn connected(&self, peer: &Peer, direction: LinkDirection, number: u64, address: String) {
        if peer.connected(direction, number) == Novelty::New {
            self.record(Some(peer.node), direction, address, Ok(()));
        }
    }

    /// A connection with a peer did not come about, or ended.
    pub(super) fn failed(
        &self,
        peer: &Peer,
        direction: LinkDirection,
        number: u64,
        address: String,
        error: LinkError,
    ) {
        if peer.failed(direction, number, &error) == Novelty::New {
            self.record(Some(peer.node), direction, address, Err(error));
        }
    }

    /// A connection of somebody who did not prove who it is ended.
    pub(super) fn stranger_failed(&self, address: String, error: LinkError) {
        let mut listener = self.listener.lock();
        listener.failures += 1;
        let is_new = listener.last_failure.as_ref() != Some(&error);
        listener.last_failure = Some(error.clone());
        drop(listener);
        if is_new {
            self.record(None, LinkDirection::Incoming, address, Err(error));
        }
    }

    /// A connection that the peer opened took the place of an earlier one.
    pub(super) fn replaced(&self, peer: &Peer, address: String) {
        self.record(Some(peer.node), LinkDirection::Incoming, address, Err(LinkError::Replaced));
    }

    fn record(
        &self,
        node: Option<NodeId>,
        direction: LinkDirection,
        address: String,
        outcome: Result<(), LinkError>,
    ) {
        self.events.lock().push(LinkEvent { node, direction, address, outcome });
    }
}
