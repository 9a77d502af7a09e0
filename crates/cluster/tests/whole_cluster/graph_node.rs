//! Graph node: what the front of a store needs of a node, for one client, where nobody waits: whoever would wait lets time pass.
//!
//! ```text
//! client ── read, commit ──> front ──> graph node ── question, record ──> node
//!                                          └── until there is an answer: the world goes on, and the other clients with it
//! ```
//!
//! It does what [`Coordinator`](evergraph_cluster::transaction::coordinator::Coordinator),
//! [`Submitter`](evergraph_cluster::transaction::submission::Submitter) and
//! [`NodeAsker`](evergraph_cluster::node::node_asker::NodeAsker) do in threads that wait.

use crate::first_state::SALT;
use crate::judge::Items;
use crate::machine::Node;
use crate::simulated::Simulated;
use evergraph_cluster::certification::outcome::{CancelAnswer, Outcome};
use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::engine::graph_node::{BegunSnapshot, GraphNode};
use evergraph_cluster::key_hash::subject::Subject;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::own_partitions::OwnPartitions;
use evergraph_cluster::node::owned_node::{AskingNode as _, CoordinatingNode as _};
use evergraph_cluster::node::readers::{OpenReader, ReaderRefusal, Readers};
use evergraph_cluster::node::replicated_state::{AppliedRecord, RecordResult};
use evergraph_cluster::node::shared_tables::{SharedTables, TablesMoment};
use evergraph_cluster::node::snapshot_partitions::SnapshotPartitions;
use evergraph_cluster::record::body::{NewName, RecordBody};
use evergraph_cluster::record::large_transaction::parts;
use evergraph_cluster::record::transaction_part::TransactionPart;
use evergraph_cluster::record_id::{NodeId, RecordId};
use evergraph_cluster::remote::asking::{Ask, AskOutcome, AskRefusal};
use evergraph_cluster::remote::partition_view::PartitionView;
use evergraph_cluster::remote::remote_snapshot::GraphMap as _;
use evergraph_cluster::remote::view_asking::{OwnWork, PartitionAsker};
use evergraph_cluster::tables::cluster_tables::TableAnswer;
use evergraph_cluster::tables::names::NameId;
use evergraph_cluster::transaction::coordinator::{BeginAt, CoordinatorOptions};
use evergraph_cluster::transaction::vertex_ids::VertexIds;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{LabelId, PartitionId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::travel::Travels;
use evergraph_graph::unknown_commit::UnknownCommit;
use evergraph_storage::sync::Mutex;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// What comes of something, once it comes. Nobody waits in a thread for it.
type Slot<T> = Arc<Mutex<Option<T>>>;

/// A client's way to one start of a node.
pub struct SimulatedNode {
    simulated: Weak<Simulated>,
    node: NodeId,
    start: u64,
    tables: SharedTables,
    readers: Readers,
    own: OwnPartitions,
    options: CoordinatorOptions,
    ids: VertexIds,
    state: Mutex<ClientState>,
}

#[derive(Default)]
struct ClientState {
    begun: Option<SeenLog>,
    /// What the transaction that commits next rests on.
    items: Items,
    chosen: u16,
}

struct Asker {
    node: Arc<SimulatedNode>,
    reader: OpenReader,
    /// What it reads where it lies, if it does not ask its own node by messages, too.
    opened: Option<SnapshotPartitions>,
}

impl SimulatedNode {
    /// To the node, if it runs.
    pub fn attach(
        simulated: &Arc<Simulated>,
        node: NodeId,
        patience: Duration,
        chosen: u16,
    ) -> Option<Arc<Self>> {
        let mut world = simulated.world.lock();
        let (start, running) = world.running(node)?;
        let options =
            CoordinatorOptions { patience, read_patience: 2 * patience, ..CoordinatorOptions::default() };
        let (tables, own) = (running.tables().clone(), running.own_partitions().clone());
        let readers = running.peers().readers().clone();
        let (ids, state) =
            (VertexIds::default(), Mutex::new(ClientState { chosen, ..ClientState::default() }));
        let simulated = Arc::downgrade(simulated);
        Some(Arc::new(Self { simulated, node, start, tables, readers, own, options, ids, state }))
    }

    /// Where the last snapshot began.
    pub fn begun(&self) -> Option<SeenLog> {
        self.state.lock().begun
    }

    /// What the next commit rests on.
    pub fn rests_on(&self, items: Items) {
        self.state.lock().items = items;
    }

    /// Whether the node has not started again, nor stopped.
    pub fn runs(&self) -> bool {
        self.on_node(|_, _| ()).is_ok()
    }

    fn simulated(&self) -> Arc<Simulated> {
        self.simulated.upgrade().expect("clients end before the world does")
    }

    /// Does something with the node.
    fn on_node<T>(&self, work: impl FnOnce(&mut Node, Duration) -> T) -> Result<T> {
        let simulated = self.simulated();
        let mut world = simulated.world.lock();
        let now = world.now;
        match world.start_of(self.node, self.start) {
            Some(node) => Ok(work(node, now)),
            None => Err(Error::new(ErrorKind::Io, "the node has stopped")),
        }
    }

    /// Lets time pass until something holds, for as long as `patience` lasts; `None` if it does not.
    ///
    /// # Errors
    /// `io` if the node has stopped meanwhile.
    fn wait<T>(&self, patience: Duration, mut holds: impl FnMut() -> Option<T>) -> Result<Option<T>> {
        let simulated = self.simulated();
        let until = simulated.world.lock().now + patience;
        loop {
            if let Some(come) = holds() {
                return Ok(Some(come));
            }
            self.on_node(|_, _| ())?;
            let world = simulated.world.lock();
            let is_over = world.now >= until || world.wrong.is_some();
            drop(world);
            if is_over {
                return Ok(None);
            }
            simulated.tick();
        }
    }

    /// Sends a record. What becomes of it comes into the slot.
    fn push(&self, body: RecordBody, reserved: Option<RecordId>) -> Result<(RecordId, Slot<AppliedRecord>)> {
        let decided = Slot::default();
        let tells = Arc::clone(&decided);
        let callback = Box::new(move |record| *tells.lock() = Some(record));
        let pushed = self.on_node(|node, now| match reserved {
            Some(id) => node.push_reserved(now, id, body, callback).map(|()| id),
            None => node.push(now, body, callback),
        })?;
        let id = pushed.map_err(|error| Error::new(ErrorKind::Busy, error.to_string()))?;
        Ok((id, decided))
    }

    /// Tells a client what became of a transaction.
    fn tell(&self, id: RecordId, outcome: Result<Timestamp>) -> Result<Timestamp> {
        let committed = match &outcome {
            Ok(at) => Some(*at),
            Err(error) if error.kind() == ErrorKind::Unknown => return outcome,
            Err(_) => None,
        };
        self.simulated().world.lock().tells(id, committed);
        outcome
    }

    fn send_ahead(&self, ahead: Vec<TransactionPart>) -> Result<Option<RecordId>> {
        if ahead.is_empty() {
            return Ok(None);
        }
        let reserved = self.on_node(|node, _| node.reserve())?;
        let id = reserved.map_err(|error| Error::new(ErrorKind::Busy, error.to_string()))?;
        for (place, part) in (0..).zip(ahead) {
            let (_, decided) = self.push(RecordBody::Part { of: id.number, place, part }, None)?;
            match self.wait(self.options.patience, || decided.lock().take())? {
                Some(AppliedRecord { result: RecordResult::PartKept, .. }) => {}
                Some(_) => return Err(Error::conflict("a part was not kept")),
                None => return Err(Error::new(ErrorKind::Busy, "a part did not come in time")),
            }
        }
        Ok(Some(id))
    }

    /// Calls a transaction off, unless it has committed.
    fn cancel(&self, of: RecordId, unknown: UnknownCommit) -> Result<Timestamp> {
        let Ok((_, decided)) = self.push(RecordBody::Cancel { of, since: unknown.since }, None) else {
            return Err(unknown.into());
        };
        let answer = match self.wait(self.options.patience, || decided.lock().take()) {
            Ok(Some(AppliedRecord { result: RecordResult::Cancel(answer), .. })) => answer,
            _ => return Err(unknown.into()),
        };
        let simulated = self.simulated();
        let mut world = simulated.world.lock();
        match answer {
            CancelAnswer::Decided(Outcome::Committed(_)) => world.tally.cancels_committed += 1,
            CancelAnswer::Decided(_) | CancelAnswer::Cancelled => world.tally.cancels_of_nothing += 1,
            CancelAnswer::Unknown => {
                world.tally.cancels_unknown += 1;
                let floor = world.judge().floor();
                if unknown.since >= floor {
                    world.fail(format!("{of} of {} is unknown, and the floor is {floor}", unknown.since));
                }
            }
        }
        drop(world);
        self.tell(
            of,
            match answer {
                CancelAnswer::Decided(outcome) => of_outcome(outcome),
                CancelAnswer::Cancelled => Err(Error::conflict("it was called off")),
                CancelAnswer::Unknown => Err(unknown.into()),
            },
        )
    }

    fn begin(self: &Arc<Self>) -> Result<BegunSnapshot> {
        loop {
            let moment = self.tables.newest();
            match self.readers.begin_at(moment.seen()) {
                Ok(reader) => {
                    let at = reader.at();
                    self.state.lock().begun = Some(at);
                    let (own, position) = (self.own.clone(), at.position);
                    // Both ways are played.
                    let opened = position
                        .0
                        .is_multiple_of(2)
                        .then(|| SnapshotPartitions::new(own, position, moment.partitions()));
                    let asker = Asker { node: Arc::clone(self), reader, opened };
                    return Ok(BegunSnapshot {
                        moment,
                        timestamp: at.position.end(),
                        asker: Arc::new(asker),
                    });
                }
                Err(ReaderRefusal::TooOld { .. }) if self.tables.newest().seen() != moment.seen() => {}
                Err(refusal) => return Err(Error::new(ErrorKind::Busy, refusal.to_string())),
            }
        }
    }
}

/// What is remembered of a transaction.
fn of_outcome(outcome: Outcome) -> Result<Timestamp> {
    match outcome {
        Outcome::Committed(timestamp) => Ok(timestamp),
        other => Err(Error::conflict(format!("it did not commit: {other:?}"))),
    }
}

fn of_result(record: &AppliedRecord) -> Result<Timestamp> {
    match record.result {
        RecordResult::Committed => Ok(record.timestamp),
        RecordResult::Double(outcome) => of_outcome(outcome),
        RecordResult::Refused(refusal) => Err(Error::conflict(refusal.to_string())),
        other => Err(Error::new(ErrorKind::Io, format!("a transaction was taken for {other:?}"))),
    }
}

/// What the front holds: a node of one client.
pub struct AttachedNode(pub Arc<SimulatedNode>);

impl GraphNode for AttachedNode {
    fn wait_for(&self, at: BeginAt) -> Result<()> {
        let node = &self.0;
        let least = match at {
            BeginAt::Applied => return Ok(()),
            BeginAt::After(position) => position,
            BeginAt::Fresh => {
                let said = Slot::default();
                let tells = Arc::clone(&said);
                node.on_node(|node, _| {
                    node.ask_for_end(Box::new(move |end| *tells.lock() = Some(end)));
                })?;
                let said = node.wait(node.options.patience, || said.lock().take())?;
                let end: LogPosition = said
                    .ok_or_else(|| Error::new(ErrorKind::Busy, "the log has not said where it ends"))?
                    .map_err(|error| Error::new(ErrorKind::Io, error.to_string()))?;
                end
            }
        };
        let is_applied = || (node.tables.newest().seen().position >= least).then_some(());
        let applied = node.wait(node.options.patience, is_applied)?;
        applied.ok_or_else(|| Error::new(ErrorKind::Busy, "the node is behind the log"))
    }

    fn begin_now(&self) -> Result<BegunSnapshot> {
        self.0.on_node(|_, _| ())?;
        self.0.begin()
    }

    fn tables(&self) -> &SharedTables {
        &self.0.tables
    }

    fn wait_until(
        &self,
        at_most: Duration,
        holds: &dyn Fn(&TablesMoment) -> bool,
    ) -> Result<Arc<TablesMoment>> {
        self.0.wait(at_most, || holds(&self.0.tables.newest()).then_some(()))?;
        Ok(self.0.tables.newest())
    }

    fn options(&self) -> &CoordinatorOptions {
        &self.0.options
    }

    fn name(&self, name: NewName) -> Result<NameId> {
        match self.ask(RecordBody::Name { name, touches: Vec::new() })? {
            RecordResult::Table(TableAnswer::Name(Ok(id))) => Ok(id),
            other => Err(Error::conflict(format!("no name was given, but {other:?}"))),
        }
    }

    fn choose_partition(&self) -> PartitionId {
        let partitions = self.0.tables.newest().partitions().get();
        let mut state = self.0.state.lock();
        state.chosen = (state.chosen + 1) % partitions;
        PartitionId(state.chosen)
    }

    fn take_id(&self, label: LabelId, partition: PartitionId) -> Result<VertexId> {
        loop {
            if let Some(vertex) = self.0.ids.take(label, partition) {
                return Ok(vertex);
            }
            let salt = self.0.tables.newest().salt();
            let touches = vec![Subject::Groups(label).hash(salt)];
            match self.ask(RecordBody::Rows { label, partition, touches })? {
                RecordResult::Table(TableAnswer::Rows(Ok(range))) => self.0.ids.add(label, partition, range),
                other => return Err(Error::conflict(format!("no vertex id was given, but {other:?}"))),
            }
        }
    }

    fn give_back(&self, label: LabelId, partition: PartitionId, vertex: VertexId) {
        self.0.ids.give_back(label, partition, std::iter::once(vertex));
    }

    fn submit(&self, since: Timestamp, part: TransactionPart) -> Result<Timestamp> {
        let node = &self.0;
        if node.on_node(|node, _| node.would_refuse(since, &part))?.is_some() {
            node.simulated().world.lock().tally.refused_ahead += 1;
            return Err(Error::conflict("its own node would refuse it"));
        }
        let mut ahead = parts(part);
        let last = ahead.pop().expect("a transaction has a part at least");
        let count = ahead.len() as u16;
        let reserved = node.send_ahead(ahead)?;
        let (id, decided) = node.push(RecordBody::Transaction { since, parts: count, last }, reserved)?;
        let items = std::mem::take(&mut node.state.lock().items);
        node.simulated().world.lock().sends(id, items);
        match node.wait(node.options.patience, || decided.lock().take()) {
            Ok(Some(record)) => node.tell(id, of_result(&record)),
            // Nobody knows, and its node asks no more.
            Err(_) => Err(id.unknown_commit(since, SALT).into()),
            Ok(None) => {
                let settled = node.cancel(id, id.unknown_commit(since, SALT));
                let _ = node.on_node(|node, _| node.forget_record(id));
                settled
            }
        }
    }

    fn settle(&self, unknown: UnknownCommit) -> Result<Timestamp> {
        let id = RecordId::of_unknown(unknown, SALT)
            .ok_or_else(|| Error::invalid("no node has named such a transaction"))?;
        self.0.cancel(id, unknown)
    }

    fn ask(&self, body: RecordBody) -> Result<RecordResult> {
        let (id, decided) = self.0.push(body, None)?;
        match self.0.wait(self.0.options.patience, || decided.lock().take())? {
            Some(record) => Ok(record.result),
            None => {
                let _ = self.0.on_node(|node, _| node.forget_record(id));
                Err(Error::new(ErrorKind::Busy, "the log has not answered in time"))
            }
        }
    }
}

impl PartitionAsker for Asker {
    fn ask_beside(
        &self,
        messages: Vec<(PartitionId, Vec<u8>)>,
        own_work: OwnWork<'_>,
    ) -> Result<Vec<Vec<u8>>> {
        own_work(&|| Ok(()))?;
        let (node, at) = (&self.node, self.reader.at());
        let patience = node.options.read_patience;
        let mut slots = Vec::new();
        for (partition, asked) in messages {
            let slot: Slot<AskOutcome> = Slot::default();
            let own = node.own.reader(partition, at.position);
            let read = own.and_then(|reader| reader.answer(at.position, &asked, &|| Ok(())).ok());
            match read {
                Some(answered) => *slot.lock() = Some(AskOutcome::Answered(answered)),
                None => {
                    let tells = Arc::clone(&slot);
                    let asked = node.on_node(|node, now| {
                        let id = node.ask(now, Ask { partition, at, patience, asked })?;
                        node.when_ended(id, Box::new(move |outcome| *tells.lock() = Some(outcome)));
                        Ok(())
                    })?;
                    asked.map_err(|refusal: AskRefusal| Error::new(ErrorKind::Busy, refusal.to_string()))?;
                }
            }
            slots.push((partition, slot));
        }
        let mut answers = Vec::new();
        for (partition, slot) in slots {
            // Each ask ends by its own patience.
            let outcome = node.wait(2 * patience, || slot.lock().take())?;
            answers.push(match outcome {
                Some(AskOutcome::Answered(answered)) => answered,
                Some(AskOutcome::TooOld) => {
                    return Err(Error::conflict(format!("partition {} is not kept so old", partition.0)));
                }
                Some(AskOutcome::OtherLog) => return Err(Error::new(ErrorKind::Io, "another log")),
                Some(AskOutcome::NotAnswered { reason }) => {
                    return Err(Error::new(ErrorKind::Busy, format!("not read: {reason:?}")));
                }
                None => return Err(Error::new(ErrorKind::Busy, "an ask does not end")),
            });
        }
        Ok(answers)
    }

    fn travels(&self) -> Option<Arc<dyn Travels>> {
        None
    }

    fn own_view(&self, partition: PartitionId) -> Option<Arc<dyn PartitionView>> {
        let view = self.opened.as_ref()?.view(partition)?;
        self.node.simulated().world.lock().tally.own_views += 1;
        Some(view)
    }

    fn keeps_all(&self) -> bool {
        self.opened.as_ref().is_some_and(SnapshotPartitions::are_all)
    }
}

impl fmt::Debug for AttachedNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttachedNode").field("node", &self.0.node).finish_non_exhaustive()
    }
}
