//! Peer: another node as this one knows it: what waits for it, its two connections, and what they carried.
//!
//! Concurrency: the thread of the node and those of the network share it. A connection has a number; what one that was
//! replaced still says of itself is ignored.

use crate::record_id::NodeId;
use crate::transport::frame_counts::FrameTotal;
use crate::transport::tcp::frame_queue::RoomNews;
use crate::transport::tcp::link_error::LinkError;
use crate::transport::tcp::options::QueueLimits;
use crate::transport::tcp::send_queue::SendQueue;
use crate::transport::tcp::statistics::{LinkDirection, LinkStatistics, PeerStatistics};
use evergraph_storage::sync::Mutex;
use std::sync::Arc;
use tokio::task::AbortHandle;

/// Another node.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) node: NodeId,
    /// What waits to be sent to it.
    pub(super) queue: SendQueue,
    state: Mutex<PeerState>,
}

#[derive(Debug)]
struct PeerState {
    address: Box<str>,
    outgoing: PeerLink,
    incoming: PeerLink,
    dropped: FrameTotal,
    /// It is no member any more.
    has_left: bool,
}

/// One direction.
#[derive(Debug, Default)]
struct PeerLink {
    /// Of the newest task.
    number: u64,
    /// It dials and sends, or reads.
    task: Option<AbortHandle>,
    statistics: LinkStatistics,
}

impl PeerLink {
    /// Another task takes the place of the one that there is, which is returned: it is ended without the lock.
    fn replace(&mut self, number: u64, task: Option<AbortHandle>) -> Option<AbortHandle> {
        self.number = number;
        self.statistics.is_connected = false;
        std::mem::replace(&mut self.task, task)
    }
}

impl PeerState {
    fn link(&mut self, direction: LinkDirection) -> &mut PeerLink {
        match direction {
            LinkDirection::Outgoing => &mut self.outgoing,
            LinkDirection::Incoming => &mut self.incoming,
        }
    }
}

/// What became of a connection that the peer opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Acceptance {
    /// It is read.
    Only,
    /// It is read, in place of an earlier one.
    InPlaceOfAnother,
    /// The peer is no member any more.
    HasLeft,
}

/// Whether something is worth an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Novelty {
    /// It differs from what was before.
    New,
    /// It was said before, or a connection says it that was replaced.
    Known,
}

impl Peer {
    /// Without connections.
    pub(super) fn new(node: NodeId, address: &str, limits: QueueLimits) -> Self {
        let state = PeerState {
            address: address.into(),
            outgoing: PeerLink::default(),
            incoming: PeerLink::default(),
            dropped: FrameTotal::default(),
            has_left: false,
        };
        Self { node, queue: SendQueue::new(limits), state: Mutex::new(state) }
    }

    /// Whether it is dialled at this address.
    pub(super) fn is_at(&self, address: &str) -> bool {
        *self.state.lock().address == *address
    }

    /// From here on the task that `spawn` starts, of this number, dials it at `address`, and the one before does not.
    pub(super) fn dial_by(&self, number: u64, address: &str, spawn: impl FnOnce() -> AbortHandle) {
        // Held meanwhile: what the task says of itself finds its number.
        let mut state = self.state.lock();
        state.address = address.into();
        let before = state.outgoing.replace(number, Some(spawn()));
        drop(state);
        end(before);
    }

    /// From here on `task`, of this number, reads what it sends, and the one before does not: the newest connection
    /// counts.
    pub(super) fn accept(&self, number: u64, task: AbortHandle) -> Acceptance {
        let mut state = self.state.lock();
        if state.has_left {
            return Acceptance::HasLeft;
        }
        let was_connected = state.incoming.statistics.is_connected;
        let before = state.incoming.replace(number, Some(task));
        drop(state);
        end(before);
        if was_connected { Acceptance::InPlaceOfAnother } else { Acceptance::Only }
    }

    /// It is no member any more: its connections end, and what waits for it is dropped.
    pub(super) fn leave(&self) {
        let mut state = self.state.lock();
        state.has_left = true;
        let before = [state.outgoing.replace(u64::MAX, None), state.incoming.replace(u64::MAX, None)];
        drop(state);
        before.into_iter().for_each(end);
        self.queue.clear();
    }

    /// The connection of this number is there.
    pub(super) fn connected(&self, direction: LinkDirection, number: u64) -> Novelty {
        let mut state = self.state.lock();
        let link = state.link(direction);
        if link.number != number {
            return Novelty::Known;
        }
        link.statistics.is_connected = true;
        link.statistics.connects += 1;
        Novelty::New
    }

    /// The connection of this number did not come about, or ended.
    pub(super) fn failed(&self, direction: LinkDirection, number: u64, error: &LinkError) -> Novelty {
        let mut state = self.state.lock();
        let link = state.link(direction);
        if link.number != number {
            return Novelty::Known;
        }
        let statistics = &mut link.statistics;
        let is_new = statistics.is_connected || statistics.last_failure.as_ref() != Some(error);
        statistics.is_connected = false;
        statistics.failures += 1;
        statistics.last_failure = Some(error.clone());
        if is_new { Novelty::New } else { Novelty::Known }
    }

    /// So much came from it.
    pub(super) fn count_received(&self, total: FrameTotal) {
        self.state.lock().incoming.statistics.carried.add_all(total);
    }

    /// Drops what waits to be sent, after its connection failed.
    pub(super) fn drop_waiting(&self) -> RoomNews {
        let (dropped, news) = self.queue.clear();
        self.state.lock().dropped.add_all(dropped);
        news
    }

    /// What it carried.
    pub(super) fn statistics(&self, waits_here: FrameTotal) -> PeerStatistics {
        let waits_there = self.queue.total();
        let state = self.state.lock();
        PeerStatistics {
            node: self.node,
            address: state.address.to_string(),
            outgoing: LinkStatistics { waiting: waits_there, ..state.outgoing.statistics.clone() },
            incoming: LinkStatistics { waiting: waits_here, ..state.incoming.statistics.clone() },
            dropped: state.dropped,
        }
    }
}

fn end(task: Option<AbortHandle>) {
    if let Some(task) = task {
        task.abort();
    }
}

/// Frames that are being sent. If they are not, whatever the reason, they count as dropped.
#[derive(Debug)]
pub(super) struct Batch {
    peer: Arc<Peer>,
    frames: Vec<Vec<u8>>,
    total: FrameTotal,
    is_sent: bool,
}

impl Batch {
    /// The next frames for `peer`, and whether whoever found its queue full may try again.
    pub(super) fn take(peer: &Arc<Peer>) -> (Self, RoomNews) {
        let (frames, total, news) = peer.queue.take_batch();
        (Self { peer: Arc::clone(peer), frames, total, is_sent: false }, news)
    }

    /// The frames, in order.
    pub(super) fn frames(&self) -> &[Vec<u8>] {
        &self.frames
    }

    /// All of them were given to the system.
    pub(super) fn sent(mut self) {
        self.is_sent = true;
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let mut state = self.peer.state.lock();
        let total = match self.is_sent {
            true => &mut state.outgoing.statistics.carried,
            false => &mut state.dropped,
        };
        total.add_all(self.total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer() -> Arc<Peer> {
        Arc::new(Peer::new(NodeId(3), "db3:7000", QueueLimits::default()))
    }

    fn push(peer: &Peer, frames: usize) {
        (0..frames).for_each(|_| assert!(peer.queue.push(10, || vec![7; 10])));
    }

    fn total(frames: u64) -> FrameTotal {
        FrameTotal { frames, bytes: 10 * frames }
    }

    #[test]
    fn a_frame_is_carried_or_dropped_and_counted_once() {
        let peer = peer();
        push(&peer, 3);
        assert_eq!(peer.statistics(FrameTotal::default()).outgoing.waiting, total(3));
        let (whole, _) = Batch::take(&peer);
        whole.sent();
        push(&peer, 2);
        let (broken, _) = Batch::take(&peer);
        push(&peer, 4);
        drop(broken);
        assert_eq!(peer.drop_waiting(), RoomNews::Nothing);
        let statistics = peer.statistics(total(1));
        assert_eq!((statistics.outgoing.carried, statistics.dropped), (total(3), total(6)));
        assert_eq!((statistics.outgoing.waiting, statistics.incoming.waiting), (total(0), total(1)));
    }

    #[tokio::test]
    async fn the_newest_connection_counts_and_one_that_was_replaced_says_nothing() {
        let peer = peer();
        let task = || tokio::spawn(std::future::pending::<()>());
        let (first, second) = (task(), task());
        assert_eq!(peer.accept(1, first.abort_handle()), Acceptance::Only);
        assert_eq!(peer.connected(LinkDirection::Incoming, 1), Novelty::New);
        assert_eq!(peer.accept(2, second.abort_handle()), Acceptance::InPlaceOfAnother);
        assert!(first.await.unwrap_err().is_cancelled());
        assert_eq!(peer.connected(LinkDirection::Incoming, 2), Novelty::New);
        assert_eq!(peer.failed(LinkDirection::Incoming, 1, &LinkError::Closed), Novelty::Known);
        let incoming = peer.statistics(FrameTotal::default()).incoming;
        assert_eq!((incoming.is_connected, incoming.connects, incoming.failures), (true, 2, 0));
        peer.leave();
        assert!(second.await.unwrap_err().is_cancelled());
        assert_eq!(peer.accept(3, task().abort_handle()), Acceptance::HasLeft);
    }

    #[test]
    fn a_failure_that_repeats_is_news_once() {
        let peer = peer();
        let (direction, wrong) = (LinkDirection::Outgoing, LinkError::OtherAuthority);
        let fail = |error: &LinkError| peer.failed(direction, 0, error);
        assert_eq!(fail(&wrong), Novelty::New);
        assert_eq!((fail(&wrong), fail(&LinkError::Closed)), (Novelty::Known, Novelty::New));
        peer.connected(direction, 0);
        assert_eq!(fail(&LinkError::Closed), Novelty::New, "there was a connection");
        let outgoing = peer.statistics(FrameTotal::default()).outgoing;
        assert_eq!((outgoing.failures, outgoing.last_failure), (4, Some(LinkError::Closed)));
    }
}
