//! Coordinator: what transactions of a node begin with: a snapshot, and names and vertex ids of the log.
//!
//! ```text
//! applied   S is what this node has applied
//! after     S has what a client has seen or written: its token came from a commit, on any node
//! fresh     S has everything that was acknowledged to anybody before
//! ```
//!
//! S is a moment of the node's tables ([`crate::node::shared_tables`]), and a reader of the node holds it until the transaction
//! ends. A session that begins after its own commits sees them, and never goes back.
//!
//! Names are given by the log before a transaction uses them: the same number to all who ask, whatever becomes of the
//! transaction. A vertex goes to a partition that its transaction has chosen, each to the next one.

use crate::key_hash::graph_salt::{GraphSalt, KeyHash};
use crate::key_hash::subject::{NameKind, Subject, ValueHash};
use crate::log::shared_log::LogError;
use crate::log_position::LogPosition;
use crate::node::node_asker::NodeAsker;
use crate::node::node_thread::NodeHandle;
use crate::node::own_partitions::OwnPartitions;
use crate::node::owned_node::CoordinatingNode;
use crate::node::readers::{OpenReader, ReaderRefusal, Readers};
use crate::node::replicated_state::RecordResult;
use crate::node::shared_tables::{SharedTables, TablesMoment, WaitError};
use crate::record::body::{NewName, RecordBody};
use crate::remote::remote_snapshot::{GraphMap as _, RemoteLimits};
use crate::tables::cluster_tables::TableAnswer;
use crate::tables::names::NameId;
use crate::transaction::one_answer::{Waited, one_answer};
use crate::transaction::submission::{AheadCheck, Submitter, stopped};
use crate::transaction::vertex_ids::VertexIds;
use crate::travel::travelling_queries::TravellingQueries;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{LabelId, PartitionId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::unknown_commit::UnknownCommit;
use evergraph_graph::wait_limit::WaitLimit;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How a coordinator waits and reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoordinatorOptions {
    /// How long it waits for the log: for a snapshot to be applied, for what becomes of a record.
    pub patience: Duration,
    /// How long a read waits for whoever keeps a partition.
    pub read_patience: Duration,
    /// Whether its transactions are certified before they are sent.
    pub ahead: AheadCheck,
    /// How much is read at once, and kept.
    pub limits: RemoteLimits,
}

impl Default for CoordinatorOptions {
    fn default() -> Self {
        let (patience, read_patience) = (Duration::from_secs(10), Duration::from_secs(30));
        Self { patience, read_patience, ahead: AheadCheck::default(), limits: RemoteLimits::default() }
    }
}

/// Which snapshot a transaction reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BeginAt {
    /// What this node has applied.
    Applied,
    /// This message and all before it, or more: what a client has seen, as the message of its newest timestamp.
    After(LogPosition),
    /// Everything that was acknowledged to anybody before. Cost: a question to the log.
    Fresh,
}

/// Coordinates on one node.
///
/// # Concurrency
///
/// Any number of threads begin transactions and ask for names; none of them is one that the node needs. No lock is held while
/// one of them waits.
pub struct Coordinator<N> {
    node: NodeHandle<N>,
    readers: Readers,
    tables: SharedTables,
    /// Of the node, if its readers read them.
    own: Option<OwnPartitions>,
    /// What runs stages of queries, if anything does.
    travelling: Option<TravellingQueries>,
    clock: Arc<dyn Clock>,
    options: CoordinatorOptions,
    salt: GraphSalt,
    ids: VertexIds,
    /// Transactions that have chosen a partition.
    chosen: AtomicU64,
}

impl<N: CoordinatingNode> Coordinator<N> {
    /// On a node, by its thread, its readers and its tables. `clock` is that of the thread.
    #[must_use]
    pub fn new(
        node: NodeHandle<N>,
        readers: Readers,
        tables: SharedTables,
        clock: Arc<dyn Clock>,
        options: CoordinatorOptions,
    ) -> Self {
        let (salt, ids, chosen) = (tables.newest().salt(), VertexIds::default(), AtomicU64::new(0));
        Self { node, readers, tables, own: None, travelling: None, clock, options, salt, ids, chosen }
    }

    /// Transactions read the partitions of the node in their own threads.
    #[must_use]
    pub fn reading_own(self, own: OwnPartitions) -> Self {
        Self { own: Some(own), ..self }
    }

    /// Stages of queries run where the vertices lie.
    #[must_use]
    pub fn travelling(self, queries: TravellingQueries) -> Self {
        Self { travelling: Some(queries), ..self }
    }

    /// Asks for `reader`, which begins at `moment`, as [`Coordinator::begin_at`] gives both.
    pub(crate) fn asker(&self, moment: &TablesMoment, reader: OpenReader) -> NodeAsker<N> {
        let asker = NodeAsker::new(self.node.clone(), reader, self.options.read_patience);
        let asker = match &self.travelling {
            Some(queries) => asker.travelling(queries.clone()),
            None => asker,
        };
        match &self.own {
            Some(own) => asker.beside(own.clone(), moment, Arc::clone(&self.clock)),
            None => asker,
        }
    }

    /// Waits until the node has applied what a snapshot has to show. The newest moment then.
    ///
    /// # Errors
    /// `busy` if it has not applied as much in time; `cancelled` if the limit of the thread has ended before; `io` if it has
    /// stopped, or the log cannot be asked.
    pub(crate) fn wait_for_moment(&self, at: BeginAt) -> Result<Arc<TablesMoment>> {
        let until = self.clock.now().saturating_add(self.options.patience);
        let least = match at {
            BeginAt::Applied => LogPosition::START,
            BeginAt::After(position) => position,
            BeginAt::Fresh => self.end_of_log(until)?,
        };
        let limit = WaitLimit::of_thread();
        let waited = self.tables.wait_for(least, until, &*self.clock, &limit);
        waited.map_err(|error| match error {
            WaitError::TimedOut => limit.check().err().unwrap_or_else(|| not_applied(error)),
            WaitError::Ended => not_applied(error),
        })
    }

    /// The newest moment, once `holds` says so, or `at_most` so long afterwards.
    ///
    /// # Errors
    /// `cancelled` if the limit of the thread has ended before; `io` if the node has stopped.
    pub(crate) fn wait_for_tables(
        &self,
        at_most: Duration,
        holds: &dyn Fn(&TablesMoment) -> bool,
    ) -> Result<Arc<TablesMoment>> {
        let (until, limit) = (self.clock.now().saturating_add(at_most), WaitLimit::of_thread());
        loop {
            let newest = self.tables.newest();
            if holds(&newest) {
                return Ok(newest);
            }
            let next = newest.seen().position.next();
            match self.tables.wait_for(next, until, &*self.clock, &limit) {
                Ok(_) if self.clock.now() < until => {}
                Ok(newest) => return Ok(newest),
                Err(WaitError::TimedOut) => {
                    limit.check()?;
                    return Ok(self.tables.newest());
                }
                Err(WaitError::Ended) => return Err(not_applied(WaitError::Ended)),
            }
        }
    }

    /// A snapshot to read at, of `moment` or a later one, and the tables there. The reader holds it. Waits for nothing: tables and
    /// readers are locked for a moment each.
    ///
    /// # Errors
    /// `busy` if the node has not joined; `conflict` if so old a snapshot is not kept.
    pub(crate) fn begin_at(&self, mut moment: Arc<TablesMoment>) -> Result<(Arc<TablesMoment>, OpenReader)> {
        loop {
            let refusal = match self.readers.begin_at(moment.seen()) {
                Ok(reader) => return Ok((moment, reader)),
                Err(refusal) => refusal,
            };
            let newest = self.tables.newest();
            match refusal {
                // The node has applied more since, and told others so.
                ReaderRefusal::TooOld { .. } if newest.seen() != moment.seen() => moment = newest,
                ReaderRefusal::TooOld { .. } => return Err(Error::conflict(refusal.to_string())),
                ReaderRefusal::NotJoined => return Err(Error::new(ErrorKind::Busy, refusal.to_string())),
            }
        }
    }

    /// The number of a name, new or not. A transaction that begins later on this node knows the name; elsewhere one that begins
    /// after what this node has applied by then ([`Coordinator::applied`]).
    ///
    /// Cost: nothing, if this node knows it; else a record of the log.
    ///
    /// # Errors
    /// `invalid` for an empty name, an edge type that exists in the other kind, a key that is not there; `limit` for one too
    /// many; those of [`Submitter::ask`].
    pub fn name(&self, name: NewName) -> Result<NameId> {
        let moment = self.tables.newest();
        if let Some(known) = known_name(moment.catalogue(), &name) {
            return Ok(known);
        }
        let touches = name_touches(&name, moment.salt());
        match self.submitter().ask(RecordBody::Name { name, touches })? {
            RecordResult::Table(TableAnswer::Name(Ok(id))) => Ok(id),
            RecordResult::Table(TableAnswer::Name(Err(refusal))) => Err(Error::invalid(refusal.to_string())),
            other => Err(not_given("name", &other)),
        }
    }

    /// The newest message that this node has applied: whoever begins after it, anywhere, sees what was seen here.
    #[must_use]
    pub fn applied(&self) -> LogPosition {
        self.tables.newest().seen().position
    }

    /// What the node has applied.
    pub(crate) fn tables(&self) -> &SharedTables {
        &self.tables
    }

    /// Sees to it that a transaction of any node has committed or never will: its timestamp if it has.
    ///
    /// # Errors
    /// As [`Submitter::settle`].
    pub fn settle(&self, unknown: UnknownCommit) -> Result<Timestamp> {
        self.submitter().settle(unknown)
    }

    pub(crate) fn submitter(&self) -> Submitter<'_, N> {
        let (node, clock, options) = (&self.node, &*self.clock, &self.options);
        let (patience, ahead) = (options.patience, options.ahead);
        Submitter { node, clock, patience, salt: self.salt, ahead, limit: WaitLimit::of_thread() }
    }

    pub(crate) fn options(&self) -> &CoordinatorOptions {
        &self.options
    }

    /// Where the vertices of the next transaction go.
    pub(crate) fn choose_partition(&self) -> PartitionId {
        let chosen = self.chosen.fetch_add(1, Ordering::Relaxed);
        PartitionId((chosen % u64::from(self.tables.newest().partitions().get())) as u16)
    }

    /// An id that no vertex has or ever had.
    ///
    /// # Errors
    /// `limit` if the partition has none left for the label; those of [`Submitter::ask`].
    pub(crate) fn take_id(&self, label: LabelId, partition: PartitionId) -> Result<VertexId> {
        loop {
            if let Some(vertex) = self.ids.take(label, partition) {
                return Ok(vertex);
            }
            let touches = vec![Subject::Groups(label).hash(self.tables.newest().salt())];
            match self.submitter().ask(RecordBody::Rows { label, partition, touches })? {
                RecordResult::Table(TableAnswer::Rows(Ok(range))) => self.ids.add(label, partition, range),
                RecordResult::Table(TableAnswer::Rows(Err(refusal))) => {
                    return Err(Error::new(ErrorKind::Limit, refusal.to_string()));
                }
                other => return Err(not_given("vertex id", &other)),
            }
        }
    }

    pub(crate) fn give_back(&self, partition: PartitionId, ids: &[(LabelId, VertexId)]) {
        for (label, vertex) in ids {
            self.ids.give_back(*label, partition, std::iter::once(*vertex));
        }
    }

    fn end_of_log(&self, until: Duration) -> Result<LogPosition> {
        let mut end = None;
        let submitter = self.submitter();
        submitter.call(until, || {
            let (teller, waiter) = one_answer();
            end = Some(waiter);
            Box::new(move |node: &mut N, _: Duration| {
                node.ask_for_end(Box::new(move |position| teller.tell(position)));
            })
        })?;
        match end.map(|end| end.wait(until, &*self.clock, &submitter.limit)) {
            Some(Waited::Came(Ok(position))) => Ok(position),
            Some(Waited::Came(Err(error))) => {
                // Who asks again later gets an answer.
                let may_pass = matches!(error, LogError::Unavailable { .. });
                let kind = if may_pass { ErrorKind::Busy } else { ErrorKind::Io };
                Err(Error::new(kind, error.to_string()))
            }
            Some(Waited::TimedOut) => {
                submitter.limit.check()?;
                Err(Error::new(ErrorKind::Busy, "the log has not said where it ends"))
            }
            Some(Waited::Never) | None => Err(stopped()),
        }
    }
}

fn not_applied(error: WaitError) -> Error {
    let kind = match error {
        WaitError::TimedOut => ErrorKind::Busy,
        WaitError::Ended => ErrorKind::Io,
    };
    Error::new(kind, error.to_string())
}

fn not_given(what: &str, result: &RecordResult) -> Error {
    match result {
        RecordResult::Refused(refusal) => {
            Error::conflict(format!("no {what} was given, since {refusal}: ask again"))
        }
        other => Error::new(ErrorKind::Io, format!("no {what} was given, but {other:?}")),
    }
}

/// The number that a name has already.
fn known_name(catalogue: &Catalogue, name: &NewName) -> Option<NameId> {
    let edge_type = |name: &str, is_simple: bool| {
        let id = catalogue.edge_type(name)?;
        let is_same = catalogue.edge_type_definition(id).is_some_and(|known| known.simple == is_simple);
        is_same.then_some(NameId::EdgeType(id))
    };
    match name {
        NewName::Label(name) => catalogue.label(name).map(NameId::Label),
        NewName::EdgeType(name) => edge_type(name, false),
        NewName::SimpleEdgeType(name) => edge_type(name, true),
        NewName::Key(name) => catalogue.key(name).map(NameId::Key),
        NewName::MetaKey(of) => catalogue.meta_key_of(*of).map(NameId::Key),
    }
}

fn name_touches(name: &NewName, salt: GraphSalt) -> Vec<KeyHash> {
    let of_name = |kind, name: &str| Subject::Name(ValueHash::of_name(salt, kind, name));
    let subject = match name {
        NewName::Label(name) => of_name(NameKind::Label, name),
        NewName::EdgeType(name) | NewName::SimpleEdgeType(name) => of_name(NameKind::EdgeType, name),
        NewName::Key(name) => of_name(NameKind::Key, name),
        NewName::MetaKey(of) => Subject::MetaKey(*of),
    };
    [subject, Subject::Names].map(|subject| subject.hash(salt)).to_vec()
}

impl<N> fmt::Debug for Coordinator<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator").field("tables", &self.tables).finish_non_exhaustive()
    }
}
