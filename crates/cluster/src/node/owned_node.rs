//! Owned node: a node on its log and on its network, as the thread that owns it steps both.
//!
//! ```text
//! step   node_loop ── applied ──> peer_loop ── answers ──> whoever asked
//!          │    │                     ├── horizon ──> stores: merges may go up to there
//!          │    │                     └── another log ──> node_loop: the log is read again
//!          │    └── tables and own partitions, for whoever reads here
//!          └── what became of records ──> whoever coordinates here
//! ```
//!
//! The tables of a message are published before anybody learns what became of its records: whoever begins to read after a commit
//! of its own sees it.
//!
//! What an operator should know of goes to a [`NodeListener`]. When the log stops the node, its thread ends: nobody is answered
//! from a node that may have applied another log than others.

use crate::certification::outcome::Refusal;
use crate::copy::message::{CopyMessage, CopyRefusal, CopySubject};
use crate::log::shared_log::{EndId, LogError, SharedLog};
use crate::log_position::LogPosition;
use crate::node::answering::AnswerQuestions;
use crate::node::checkpoint_steps::{BegunCheckpoint, SaveError, WrittenCheckpoint};
use crate::node::node_error::{NodeError, NodePushError};
use crate::node::node_loop::{NodeEvent, NodeLoop};
use crate::node::node_status::{NodeCounts, NodeStatus};
use crate::node::node_thread::{NodeStep, ThreadedNode};
use crate::node::own_partitions::{OwnPartitions, OwnPublisher, ReadableStore};
use crate::node::partition_store::PartitionStore;
use crate::node::peer_loop::{PeerEvent, PeerLoop};
use crate::node::replicated_state::AppliedRecord;
use crate::node::shared_tables::{SharedTables, TablesPublisher};
use crate::node::store_partition::StorePartition;
use crate::planted::{Bug, planted};
use crate::record::body::RecordBody;
use crate::record::transaction_part::TransactionPart;
use crate::record_id::{NodeId, RecordId};
use crate::remote::asking::{Ask, AskId, AskOutcome, AskRefusal};
use crate::transport::interface::Transport;
use crate::travel::stage_view::StoreStageViews;
use crate::travel::stage_workers::StageWorkers;
use crate::travel::travel_options::{TravelOptions, TravelParts};
use crate::travel::travelling_queries::TravellingQueries;
use evergraph_graph::budget::Budget;
use evergraph_graph::stage_programs::StagePrograms;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::io::directory::Directory;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::Waker;
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

    /// The log is not kept for another node any more, which has not told for long that it needs less of it.
    fn left_behind(&mut self, node: NodeId);

    /// A checkpoint was made, which has everything through this message; or it failed, and the node goes on with the one before.
    fn checkpoint_ended(&mut self, result: Result<LogPosition, &SaveError>);

    /// The node has stopped, and its thread ends.
    fn stopped(&mut self, error: NodeError);
}

/// Gives other nodes copies of what this one has, in threads of its own. Its methods are called by the thread of the node, and do not
/// wait.
pub trait AnswerCopies<P>: Send {
    /// Takes what the node `from` says about a copy. If it begins one of a partition, `store` is that, or says why there is none;
    /// `needed_from` is what this node needs of the log.
    fn take(
        &mut self,
        now: Duration,
        from: NodeId,
        message: CopyMessage,
        store: Result<Option<&P>, CopyRefusal>,
        needed_from: LogPosition,
    );

    /// What is to be sent next.
    fn next_reply(&mut self, now: Duration) -> Option<(NodeId, CopyMessage)>;
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

/// Who waits for what becomes of a record. Dropped without being called, nobody knows: the node has stopped.
pub type DecisionCallback = Box<dyn FnOnce(AppliedRecord) + Send>;

/// Who waits for the end of the log. Dropped without being called, nobody knows: the node has stopped.
pub type EndCallback = Box<dyn FnOnce(Result<LogPosition, LogError>) + Send>;

/// A node that appends records for whoever coordinates. Its callbacks are called by the thread of the node: they must not wait.
pub trait CoordinatingNode: AskingNode {
    /// Sends a record, as [`NodeLoop::push`].
    ///
    /// # Errors
    /// As there; the callback is dropped.
    fn push(
        &mut self,
        now: Duration,
        body: RecordBody,
        callback: DecisionCallback,
    ) -> Result<RecordId, NodePushError>;

    /// Gives an id to a record that is sent later, as [`NodeLoop::reserve`].
    ///
    /// # Errors
    /// As there.
    fn reserve(&mut self) -> Result<RecordId, NodePushError>;

    /// Sends a record with such an id, as [`NodeLoop::push_reserved`].
    ///
    /// # Errors
    /// As there; the callback is dropped.
    fn push_reserved(
        &mut self,
        now: Duration,
        id: RecordId,
        body: RecordBody,
        callback: DecisionCallback,
    ) -> Result<(), NodePushError>;

    /// Nobody waits any more for what becomes of the record: the callback is dropped.
    fn forget_record(&mut self, id: RecordId);

    /// Why a transaction that reads at `since` would be refused if its record came next, whose parts are all in `part`.
    fn would_refuse(&self, since: Timestamp, part: &TransactionPart) -> Option<Refusal>;

    /// Asks where the log ends: at or behind everything that was acknowledged before.
    fn ask_for_end(&mut self, callback: EndCallback);
}

/// A node, as one thread owns it.
pub struct OwnedNode<P, L, T, A> {
    node: NodeLoop<P, L>,
    peers: PeerLoop<T, A>,
    listener: Box<dyn NodeListener>,
    copies: Option<Box<dyn AnswerCopies<P>>>,
    tables: TablesPublisher,
    own: OwnPublisher,
    callbacks: BTreeMap<AskId, AskCallback>,
    decisions: BTreeMap<RecordId, DecisionCallback>,
    ends: BTreeMap<EndId, EndCallback>,
    counts: NodeCounts,
    /// The threads that run stages of queries, if any do.
    stages: Option<StageWorkers>,
}

impl<P: PartitionStore, L: SharedLog, T, A> OwnedNode<P, L, T, A> {
    /// Of its two loops, which have applied the same.
    #[must_use]
    pub fn new(node: NodeLoop<P, L>, peers: PeerLoop<T, A>, listener: Box<dyn NodeListener>) -> Self {
        let (tables, own) = (TablesPublisher::new(node.applier().state()), OwnPublisher::new());
        let (callbacks, decisions, ends) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let counts = NodeCounts::default();
        Self {
            node,
            peers,
            listener,
            copies: None,
            tables,
            own,
            callbacks,
            decisions,
            ends,
            counts,
            stages: None,
        }
    }

    /// Gives others copies of what it has.
    #[must_use]
    pub fn giving_copies(self, copies: Box<dyn AnswerCopies<P>>) -> Self {
        Self { copies: Some(copies), ..self }
    }
}

impl<P: PartitionStore, L: SharedLog, T: Transport, A> OwnedNode<P, L, T, A> {
    /// Stages of queries run here, by threads of its own. What they need is in `environment`.
    ///
    /// # Errors
    /// What the system says if it has no thread to give.
    pub fn run_stages(&mut self, name: &str, environment: StageEnvironment) -> io::Result<TravellingQueries> {
        let StageEnvironment { programs, budget, clock, waker, options } = environment;
        let (own, tables) = (self.own.own().clone(), self.tables.tables().clone());
        let readers = self.peers.readers().clone();
        let queries = self.peers.run_stages(TravelParts {
            author: self.node.author(),
            views: Arc::new(StoreStageViews { own, tables }),
            readers,
            programs,
            budget,
            clock,
            waker,
            options,
        });
        self.stages = Some(StageWorkers::start(name, &queries)?);
        Ok(queries)
    }
}

/// What stages of queries need on a node.
pub struct StageEnvironment {
    /// What programs are.
    pub programs: Arc<dyn StagePrograms>,
    /// What their memory comes from.
    pub budget: Arc<dyn Budget>,
    /// The clock of the node's thread.
    pub clock: Arc<dyn Clock>,
    /// What wakes it.
    pub waker: Waker,
    /// How much runs at once.
    pub options: TravelOptions,
}

impl<P, L, T, A> OwnedNode<P, L, T, A> {
    /// What the other threads of the node know of its tables.
    #[must_use]
    pub fn tables(&self) -> &SharedTables {
        self.tables.tables()
    }

    /// The partitions that the node keeps, for readers of other threads: those that have all of what it has applied.
    #[must_use]
    pub fn own_partitions(&self) -> &OwnPartitions {
        self.own.own()
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

impl<P: PartitionStore, L: SharedLog, T: Transport, A> OwnedNode<P, L, T, A> {
    /// Begins a checkpoint of what the node has applied. It is written beside its thread, and ends by
    /// [`OwnedNode::end_checkpoint`].
    ///
    /// # Errors
    /// As [`NodeLoop::begin_checkpoint`]; it has ended then.
    pub fn begin_checkpoint(&mut self, now: Duration) -> Result<BegunCheckpoint<P::PendingSync>, SaveError> {
        let begun = self.node.begin_checkpoint();
        match &begun {
            Ok(_) => self.counts.checkpoint.is_being_written = true,
            Err(error) => self.checkpoint_ended(now, Err(error)),
        }
        begun
    }

    /// A checkpoint was written, or could not be. If it was, the node asks for the log before what any node needs to be dropped.
    /// Each node does so: the log keeps the least of all. Returns the newest message that the checkpoint has.
    ///
    /// # Errors
    /// What it failed by: the one before is in place, and so is what it needs of the log.
    pub fn end_checkpoint(
        &mut self,
        now: Duration,
        result: Result<WrittenCheckpoint, SaveError>,
    ) -> Result<LogPosition, SaveError> {
        let ended = result.map(|written| {
            self.node.end_checkpoint(written);
            self.trim_log();
            written.moment().position
        });
        self.checkpoint_ended(now, ended.as_ref().copied());
        ended
    }

    fn checkpoint_ended(&mut self, now: Duration, result: Result<LogPosition, &SaveError>) {
        self.counts.checkpoint_ended(now, result);
        self.listener.checkpoint_ended(result);
    }

    /// Asks for the log before what any node needs to be dropped: others may need less of it by now.
    pub fn trim_log(&mut self) {
        let own = self.node.applier().needed_from();
        if let Some(first) = self.peers.trims_to(own) {
            self.node.trim(first);
        }
    }

    /// Makes a checkpoint in one go: for whoever has no other thread. Waits for disks.
    ///
    /// # Errors
    /// As [`OwnedNode::begin_checkpoint`] and [`BegunCheckpoint::write`].
    pub fn checkpoint(&mut self, now: Duration, directory: &dyn Directory) -> Result<LogPosition, SaveError> {
        let written = self.begin_checkpoint(now)?.write(directory);
        self.end_checkpoint(now, written)
    }

    /// How the node is at `now`. Waits for nothing.
    ///
    /// Cost: linear in members and partitions.
    #[must_use]
    pub fn status(&self, now: Duration) -> NodeStatus {
        NodeStatus::of(&self.node, self.peers.status(now), &self.counts)
    }
}

impl<P, L, T, A> OwnedNode<P, L, T, A>
where
    P: PartitionStore + MergingStore + ReadableStore,
    L: SharedLog,
    T: Transport,
    A: AnswerQuestions<P>,
{
    fn step_log(&mut self, now: Duration) -> Result<(), NodeError> {
        let mut events = Vec::new();
        let stepped = self.node.step(now, &mut events);
        let messages = events.iter().filter_map(|event| match event {
            NodeEvent::Applied(message) => Some(message),
            _ => None,
        });
        // First, so that whoever begins at a moment of the tables finds it here.
        self.own.publish(self.node.applier());
        self.tables.publish(self.node.applier().state(), messages);
        for event in events {
            self.tell(&event);
            self.listener.node_event(event);
        }
        stepped
    }

    /// Counts it, and tells whoever waits here.
    fn tell(&mut self, event: &NodeEvent) {
        match event {
            NodeEvent::Applied(message) => {
                self.counts.applied(message, self.node.author());
                self.peers.applied(message.seen, message.bytes);
                for record in &message.records {
                    if let Some(callback) = self.decisions.remove(&record.id) {
                        callback(*record);
                    }
                }
            }
            NodeEvent::Appended(appended) => self.counts.appended(appended),
            NodeEvent::Alarm(alarm) => self.counts.alarm(alarm),
            NodeEvent::End { id, result } => {
                if let Ok(end) = result {
                    self.counts.ends_at(*end);
                }
                if let Some(callback) = self.ends.remove(id) {
                    callback(result.clone());
                }
            }
            NodeEvent::Joined | NodeEvent::Partition(_) => {}
        }
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
                    self.own.horizon_rose(horizon);
                    self.node.applier().stores().for_each(|(_, store)| store.set_horizon(horizon));
                    self.listener.horizon_rose(horizon);
                }
                PeerEvent::OtherLog { node, position } => {
                    self.node.doubt(node, position, now);
                    self.listener.other_log(node, position);
                }
                PeerEvent::LeftBehind(node) => self.listener.left_behind(node),
                PeerEvent::Copy(from, message) => self.take_copy(now, from, message),
            }
        }
        self.send_copies(now);
    }

    fn take_copy(&mut self, now: Duration, from: NodeId, message: CopyMessage) {
        let Some(copies) = &mut self.copies else { return };
        let needed_from = self.node.applier().needed_from();
        let store = match &message {
            CopyMessage::Begin { subject: CopySubject::Partition { at_least, .. }, .. }
                if self.node.applier().state().seen().position < *at_least && !planted(Bug::CopyBehind) =>
            {
                Err(CopyRefusal::Behind)
            }
            CopyMessage::Begin { subject: CopySubject::Partition { partition, .. }, .. } => {
                self.node.proved(*partition).map(Some).ok_or(CopyRefusal::NotServed)
            }
            CopyMessage::Begin { subject: CopySubject::State, .. } if self.peers.is_alive(now, from) => {
                Err(CopyRefusal::AskerAlive)
            }
            _ => Ok(None),
        };
        copies.take(now, from, message, store, needed_from);
        self.send_copies(now);
    }

    fn send_copies(&mut self, now: Duration) {
        let Some(copies) = &mut self.copies else { return };
        while let Some((to, message)) = copies.next_reply(now) {
            self.peers.send_copy(now, to, message);
        }
    }
}

impl<P, L, T, A> ThreadedNode for OwnedNode<P, L, T, A>
where
    P: PartitionStore + MergingStore + ReadableStore + Send + 'static,
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
    P: PartitionStore + MergingStore + ReadableStore + Send + 'static,
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

impl<P, L, T, A> CoordinatingNode for OwnedNode<P, L, T, A>
where
    P: PartitionStore + MergingStore + ReadableStore + Send + 'static,
    L: SharedLog + Send + 'static,
    T: Transport + Send + 'static,
    A: AnswerQuestions<P> + Send + 'static,
{
    fn push(
        &mut self,
        now: Duration,
        body: RecordBody,
        callback: DecisionCallback,
    ) -> Result<RecordId, NodePushError> {
        let id = self.node.push(body, now)?;
        self.decisions.insert(id, callback);
        Ok(id)
    }

    fn reserve(&mut self) -> Result<RecordId, NodePushError> {
        self.node.reserve()
    }

    fn push_reserved(
        &mut self,
        now: Duration,
        id: RecordId,
        body: RecordBody,
        callback: DecisionCallback,
    ) -> Result<(), NodePushError> {
        self.node.push_reserved(id, body, now)?;
        self.decisions.insert(id, callback);
        Ok(())
    }

    fn forget_record(&mut self, id: RecordId) {
        self.decisions.remove(&id);
    }

    fn would_refuse(&self, since: Timestamp, part: &TransactionPart) -> Option<Refusal> {
        self.node.applier().state().certifier().would_refuse(since, part)
    }

    fn ask_for_end(&mut self, callback: EndCallback) {
        let id = self.node.ask_for_end();
        self.ends.insert(id, callback);
    }
}

impl<P: fmt::Debug, L: fmt::Debug, T: fmt::Debug, A: fmt::Debug> fmt::Debug for OwnedNode<P, L, T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (asks, records) = (self.callbacks.len(), self.decisions.len());
        let mut out = f.debug_struct("OwnedNode");
        out.field("node", &self.node).field("peers", &self.peers).field("tables", &self.tables);
        out.field("own", self.own.own()).field("asks", &asks).field("records", &records).finish()
    }
}

#[cfg(test)]
mod tests;
