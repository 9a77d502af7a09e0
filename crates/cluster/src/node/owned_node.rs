//! Owned node: a node on its log and on its network, as the thread that owns it steps both.
//!
//! ```text
//! step   node_loop ── applied ──> peer_loop ── answers ──> whoever asked
//!                                     ├── horizon ──> stores: merges may go up to there
//!                                     └── another log ──> node_loop: the log is read again
//! ```
//!
//! What an operator should know of goes to a [`NodeListener`]. When the log stops the node, its thread ends: nobody is answered
//! from a node that may have applied another log than others.

use crate::log::shared_log::SharedLog;
use crate::log_position::LogPosition;
use crate::node::answering::AnswerQuestions;
use crate::node::node_loop::{NodeError, NodeEvent, NodeLoop};
use crate::node::node_thread::{NodeStep, ThreadedNode};
use crate::node::partition_store::PartitionStore;
use crate::node::peer_loop::{PeerEvent, PeerLoop};
use crate::node::store_partition::StorePartition;
use crate::record_id::NodeId;
use crate::remote::asking::{Ask, AskId, AskOutcome, AskRefusal};
use crate::transport::interface::Transport;
use evergraph_storage::durable_engine::DurableEngine;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A store that merges what nobody reads any more.
pub trait MergingStore {
    /// No snapshot before the end of the message at `oldest` begins any more. An older one than before changes nothing.
    fn set_horizon(&self, oldest: LogPosition);
}

impl<E: DurableEngine> MergingStore for StorePartition<E> {
    fn set_horizon(&self, oldest: LogPosition) {
        Self::set_horizon(self, oldest);
    }
}

/// Hears of a node. Its methods are called by the thread of the node, and do not wait.
pub trait NodeListener: Send {
    /// Something happened to the node on its log.
    fn node_event(&mut self, event: NodeEvent);

    /// The horizon of the node has risen up to a message.
    fn horizon_rose(&mut self, horizon: LogPosition);

    /// Another node has applied another log, up to a message. This one reads its own again.
    fn other_log(&mut self, node: NodeId, position: LogPosition);

    /// The node has stopped, and its thread ends.
    fn stopped(&mut self, error: NodeError);
}

/// Who waits for what comes of an ask. Dropped without being called, nothing comes of it.
pub type AskCallback = Box<dyn FnOnce(AskOutcome) + Send>;

/// A node that asks others for whoever reads.
pub trait AskingNode: ThreadedNode {
    /// Asks. Nothing comes of it before the next step.
    ///
    /// # Errors
    /// [`AskRefusal`]; nothing is asked.
    fn ask(&mut self, now: Duration, ask: Ask) -> Result<AskId, AskRefusal>;

    /// Calls `callback` when the ask has ended, by the thread of the node: it must not wait.
    fn when_ended(&mut self, id: AskId, callback: AskCallback);

    /// Nobody waits for it any more: the callback is dropped.
    fn forget(&mut self, now: Duration, id: AskId);
}

/// A node, as one thread owns it.
pub struct OwnedNode<P, L, T, A> {
    node: NodeLoop<P, L>,
    peers: PeerLoop<T, A>,
    listener: Box<dyn NodeListener>,
    callbacks: BTreeMap<AskId, AskCallback>,
}

impl<P, L, T, A> OwnedNode<P, L, T, A> {
    /// Of its two loops, which have applied the same.
    #[must_use]
    pub fn new(node: NodeLoop<P, L>, peers: PeerLoop<T, A>, listener: Box<dyn NodeListener>) -> Self {
        Self { node, peers, listener, callbacks: BTreeMap::new() }
    }

    /// The node on its log.
    pub fn node(&mut self) -> &mut NodeLoop<P, L> {
        &mut self.node
    }

    /// The node on its network.
    pub fn peers(&mut self) -> &mut PeerLoop<T, A> {
        &mut self.peers
    }
}

impl<P, L, T, A> OwnedNode<P, L, T, A>
where
    P: PartitionStore + MergingStore,
    L: SharedLog,
    T: Transport,
    A: AnswerQuestions<P>,
{
    fn step_log(&mut self, now: Duration) -> Result<(), NodeError> {
        let mut events = Vec::new();
        let stepped = self.node.step(now, &mut events);
        for event in events {
            if let NodeEvent::Applied(message) = &event {
                self.peers.applied(message.seen);
            }
            self.listener.node_event(event);
        }
        stepped
    }

    fn step_network(&mut self, now: Duration) {
        let mut events = Vec::new();
        self.peers.step(now, &mut self.node, &mut events);
        for event in events {
            match event {
                PeerEvent::Asked(id, outcome) => {
                    if let Some(callback) = self.callbacks.remove(&id) {
                        callback(outcome);
                    }
                }
                PeerEvent::HorizonRose(horizon) => {
                    self.node.applier().stores().for_each(|(_, store)| store.set_horizon(horizon));
                    self.listener.horizon_rose(horizon);
                }
                PeerEvent::OtherLog { node, position } => {
                    self.node.doubt(node, position, now);
                    self.listener.other_log(node, position);
                }
            }
        }
    }
}

impl<P, L, T, A> ThreadedNode for OwnedNode<P, L, T, A>
where
    P: PartitionStore + MergingStore + Send + 'static,
    L: SharedLog + Send + 'static,
    T: Transport + Send + 'static,
    A: AnswerQuestions<P> + Send + 'static,
{
    fn step(&mut self, now: Duration) -> NodeStep {
        if let Err(error) = self.step_log(now) {
            self.listener.stopped(error);
            return NodeStep::End;
        }
        self.step_network(now);
        NodeStep::Sleep([self.node.next_step_at(), self.peers.next_step_at()].into_iter().flatten().min())
    }
}

impl<P, L, T, A> AskingNode for OwnedNode<P, L, T, A>
where
    P: PartitionStore + MergingStore + Send + 'static,
    L: SharedLog + Send + 'static,
    T: Transport + Send + 'static,
    A: AnswerQuestions<P> + Send + 'static,
{
    fn ask(&mut self, now: Duration, ask: Ask) -> Result<AskId, AskRefusal> {
        self.peers.ask(now, ask)
    }

    fn when_ended(&mut self, id: AskId, callback: AskCallback) {
        self.callbacks.insert(id, callback);
    }

    fn forget(&mut self, now: Duration, id: AskId) {
        self.callbacks.remove(&id);
        self.peers.forget(now, id);
    }
}

impl<P: fmt::Debug, L: fmt::Debug, T: fmt::Debug, A: fmt::Debug> fmt::Debug for OwnedNode<P, L, T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = self.callbacks.len();
        let mut out = f.debug_struct("OwnedNode");
        out.field("node", &self.node).field("peers", &self.peers).field("asks", &waiting).finish()
    }
}

#[cfg(test)]
mod tests;
