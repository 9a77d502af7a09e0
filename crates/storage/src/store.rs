//! Store: one open graph over any engine; begins transactions and snapshots.
//!
//! ```text
//! checkpoint + log --Replay--> engine, catalogue, ids --assemble--> Store
//!                                            begin() -> Transaction    snapshot() -> Snapshot
//! ```
//!
//! Assembling reads what indexes hold (`indexing.rs`, which creates and drops them, too); opening files, recovery's order and checkpoints are
//! their caller's.

use crate::engine::{Engine, EngineStatistics};
use crate::index::directory::{IndexDirectory, Indexes};
use crate::index::pending_fills::PendingFills;
use crate::index::rebuild::build_all;
use crate::io::environment::Background;
use crate::io::random::Random;
use crate::log::frame::PAYLOAD_BYTES_MAX;
use crate::log::writer::{Log, LogStatistics};
use crate::memory_budget::MemoryBudget;
use crate::notes::owning::{Author, Hold, Owning};
use crate::notes::versions::NoteVersions;
use crate::planted::{Bug, planted};
use crate::snapshot::handle::Snapshot;
use crate::snapshot::session::Session;
use crate::sync::ArcCell;
use crate::timeline::clock::Timeline;
use crate::timeline::registry::Access;
use crate::transaction::deadline::Deadline;
use crate::transaction::front::{Counters, Front, LogAccess, LogOfPin, WriterProcess};
use crate::transaction::handle::Transaction;
use crate::transaction::names::Names;
use crate::transaction::replay::Replayed;
use crate::transaction::retry::{ATTEMPTS_MAX, Retry};
use crate::vertex_ids::{GroupState, VertexIds};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::note::OWNER_NOTE;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::{Freshness, Isolation, Transaction as _, TransactionOptions};
use evergraph_graph::unknown_commit::UnknownCommit;
use std::sync::Arc;
use std::time::Duration;

/// The parts of a store. Engine, names, ids and notes are those of the timeline's newest commit.
pub struct Parts<E: Engine> {
    /// Where the graph lies.
    pub engine: Arc<E>,
    /// Time, shared with the engine.
    pub timeline: Arc<Timeline>,
    /// The log, open for the commit after the newest, or who writes it.
    pub log: LogAccess<E>,
    /// Names, ids and notes.
    pub replayed: Replayed,
    /// What algorithms reserve from, shared with the engine.
    pub budget: Arc<MemoryBudget>,
    /// Jitter for retries and seeds for hashes.
    pub random: Box<dyn Random>,
    /// Choices.
    pub options: StoreOptions,
}

/// The parts of a store whose graph lies elsewhere.
pub struct SharedParts<E: Engine> {
    /// Where the graph lies. It says which names there are: [`Engine::shared_catalogue`].
    pub engine: Arc<E>,
    /// Time, shared with the engine and with whoever writes:
    /// [`Readable::Shared`](crate::timeline::clock::Readable::Shared).
    pub timeline: Arc<Timeline>,
    /// What algorithms reserve from, shared with the engine.
    pub budget: Arc<MemoryBudget>,
    /// Jitter for retries and seeds for hashes.
    pub random: Box<dyn Random>,
    /// Choices.
    pub options: StoreOptions,
}

/// Options that do not change stored data.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// How often [`Store::transact`] runs a transaction that conflicts. Default: 100.
    pub attempts_max: u32,
    /// Isolation level of transactions that do not choose one. Default: snapshot isolation.
    pub isolation: Isolation,
    /// Whether threads help while the store is assembled.
    pub background: Background,
    /// Timeout of transactions that do not choose one: see
    /// [`TransactionOptions::timeout`](evergraph_graph::transaction::TransactionOptions). Default: no timeout.
    pub transaction_timeout: Duration,
    /// Memory for the writes of one transaction, in bytes; a write beyond it is refused. Default: 1 GiB, about
    /// what the log accepts at once.
    pub transaction_bytes_max: u64,
    /// How long a commit may wait for merges that fell behind, before it is refused with `limit`. Default: 10 seconds.
    /// Overdue merges in the commit's own segments come first and are not limited by it.
    pub stall_max: Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            attempts_max: ATTEMPTS_MAX,
            isolation: Isolation::Snapshot,
            background: Background::Threads,
            transaction_timeout: Duration::MAX,
            transaction_bytes_max: PAYLOAD_BYTES_MAX as u64,
            stall_max: Duration::from_secs(10),
        }
    }
}

/// Numbers for `stats`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoreStatistics {
    /// W: the newest published commit.
    pub published: Timestamp,
    /// R: the newest commit that snapshots see.
    pub readable: Timestamp,
    /// The oldest open snapshot; versions that it needs are kept.
    pub oldest_snapshot: Option<Timestamp>,
    /// The snapshot of the oldest reader, and how long it has been open.
    pub oldest_reader: Option<(Timestamp, Duration)>,
    /// The snapshot of the oldest transaction.
    pub oldest_writer: Option<Timestamp>,
    /// Open snapshots.
    pub readers: u32,
    /// Open transactions.
    pub writers: u32,
    /// Commits since opening.
    pub commits: u64,
    /// Commits refused because another transaction was first.
    pub conflicts: u64,
    /// Added edges that got another discriminator at commit.
    pub renamed_edges: u64,
    /// Entries of indexes, stale ones included.
    pub index_entries: u64,
    /// Bytes of memory of indexes, but for what the engine counts among its own.
    pub index_bytes: u64,
    /// Bytes of files of indexes.
    pub index_file_bytes: u64,
    /// Bytes reserved from the memory budget, by purpose.
    pub reservations: Vec<(Arc<str>, u64)>,
    /// The engine's numbers.
    pub engine: EngineStatistics,
    /// The log's numbers.
    pub log: LogStatistics,
}

/// An open graph. Clones share it.
///
/// Concurrency: any thread begins and commits; commits meet at one short latch.
pub struct Store<E: Engine> {
    front: Arc<Front<E>>,
    retry: Arc<Retry>,
    options: Arc<StoreOptions>,
}

impl<E: Engine> Clone for Store<E> {
    fn clone(&self) -> Self {
        let (front, retry) = (Arc::clone(&self.front), Arc::clone(&self.retry));
        Self { front, retry, options: Arc::clone(&self.options) }
    }
}

impl<E: Engine> Store<E> {
    /// Opens what `parts` hold. Cost: a scan of every label and edge type that has an index whose entries the engine
    /// doesn't keep.
    ///
    /// # Errors
    /// `corrupt` if a value of a unique index occurs twice; errors of reading.
    pub fn assemble(parts: Parts<E>) -> Result<Self> {
        let Parts { engine, timeline, log, replayed, budget, random, options } = parts;
        let Replayed { catalogue, ids, notes, newest_note } = replayed;
        if let LogAccess::Applies(_) = &log {
            timeline.keep_from_now();
        }
        let retry = Retry::new(random);
        let newest = timeline.published();
        let indexes = build_all(&engine, newest, &catalogue, options.background, || retry.next_u64())?;
        let catalogue = Arc::new(catalogue);
        engine.catalogue_changed(newest, &catalogue);
        let front = Front {
            fills: PendingFills::default(),
            engine,
            timeline,
            log_access: log,
            names: Names::of(&catalogue),
            catalogue: ArcCell::new(catalogue),
            ids,
            indexes: IndexDirectory::new(indexes),
            owning: Owning::new(notes.get(OWNER_NOTE).is_some()),
            notes: NoteVersions::new(notes, newest_note),
            budget,
            counters: Counters::default(),
            write_bytes_max: options.transaction_bytes_max,
        };
        front.engine.readable_grew();
        Ok(Self { front: Arc::new(front), retry: Arc::new(retry), options: Arc::new(options) })
    }

    /// Opens what `parts` share, to be read: snapshots see each commit as soon as the process that writes lets them. Writes are
    /// refused, naming that process: `writer` says which, if it is known, another one in the course of time. Look-ups by value
    /// read everything of their label or type, unless the engine shares their index. Notes are not shared: there are none here.
    ///
    /// Cost: a snapshot's begin. Nothing is read.
    #[must_use]
    pub fn assemble_reader(parts: SharedParts<E>, writer: WriterProcess) -> Self {
        Self::assemble_shared(parts, LogAccess::Reads(writer))
    }

    /// Opens what `parts` share, to be read and written: `log` decides all commits, for this store and others. As
    /// [`Store::assemble_reader`] otherwise; nobody can own the graph here.
    #[must_use]
    pub fn assemble_coordinator(parts: SharedParts<E>, log: LogOfPin<E>) -> Self {
        Self::assemble_shared(parts, LogAccess::Shared(log))
    }

    fn assemble_shared(parts: SharedParts<E>, log_access: LogAccess<E>) -> Self {
        let SharedParts { engine, timeline, budget, random, options } = parts;
        let catalogue = Catalogue::default();
        let front = Front {
            fills: PendingFills::default(),
            engine,
            timeline,
            log_access,
            names: Names::of(&catalogue),
            catalogue: ArcCell::new(Arc::new(catalogue)),
            ids: VertexIds::default(),
            indexes: IndexDirectory::new(Indexes::default()),
            owning: Owning::default(),
            notes: NoteVersions::default(),
            budget,
            counters: Counters::default(),
            write_bytes_max: options.transaction_bytes_max,
        };
        Self { front: Arc::new(front), retry: Arc::new(Retry::new(random)), options: Arc::new(options) }
    }

    /// Refuses whoever is about to write, before work that would be refused at its end.
    ///
    /// # Errors
    /// `invalid` in a store that only reads, naming the process that writes.
    pub fn check_writable(&self) -> Result<()> {
        self.front.check_writable()
    }

    /// The other process that writes what is read here, if it is known now; `None` where transactions write.
    #[must_use]
    pub fn writer_process(&self) -> Option<u32> {
        match &self.front.log_access {
            LogAccess::Writes(_) | LogAccess::Applies(_) | LogAccess::Shared(_) => None,
            LogAccess::Reads(writer) => writer(),
        }
    }

    /// Isolation level of transactions that do not choose one.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        self.options.isolation
    }

    /// Begins a transaction at the newest commit, with the store's default options.
    #[must_use]
    pub fn begin(&self) -> Transaction<E> {
        self.begin_with(TransactionOptions::default())
    }

    /// Begins a transaction at the newest commit. Where the graph lies elsewhere this may fail: then
    /// [`check_begun`](evergraph_graph::view::GraphView::check_begun) says why, and so do its reads and its commit.
    #[must_use]
    pub fn begin_with(&self, options: impl Into<TransactionOptions>) -> Transaction<E> {
        let options = options.into();
        self.begin_until(options, self.deadline(options))
    }

    fn begin_until(&self, options: TransactionOptions, deadline: Deadline) -> Transaction<E> {
        let isolation = options.isolation.unwrap_or(self.options.isolation);
        Transaction::begin(&self.front, options.freshness, isolation, deadline, Author::User)
    }

    /// Begins a transaction of the owner, which may take any time. Nobody writes beside it: it needs no other isolation.
    pub(crate) fn begin_owned(&self, hold: Hold) -> Transaction<E> {
        let deadline = self.deadline(TransactionOptions::default().timeout(Duration::MAX));
        let author = Author::Owner(hold);
        Transaction::begin(&self.front, Freshness::Applied, Isolation::Snapshot, deadline, author)
    }

    fn deadline(&self, options: TransactionOptions) -> Deadline {
        let timeout = options.timeout.unwrap_or(self.options.transaction_timeout);
        Deadline::after(self.front.timeline.clock(), timeout, self.options.stall_max)
    }

    /// A snapshot of the newest readable commit: in mode `sync`, the newest durable one.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<E> {
        self.snapshot_with(Freshness::Applied)
    }

    /// The same, with at least what `freshness` says. If that isn't there in time, each of its reads says so, and
    /// [`check_begun`](evergraph_graph::view::GraphView::check_begun).
    #[must_use]
    pub fn snapshot_with(&self, freshness: Freshness) -> Snapshot<E> {
        Snapshot::begin(&self.front, freshness)
    }

    /// Runs `body` in a transaction and commits it. Repeats both, after a short random
    /// wait, if another transaction was first, so `body` must not have side effects that cannot be repeated.
    ///
    /// # Errors
    /// Errors of `body` or of the commit, at once unless it is `conflict`; `conflict` after the last
    /// attempt, with their number.
    pub fn transact<T>(&self, mut body: impl FnMut(&mut Transaction<E>) -> Result<T>) -> Result<T> {
        self.retrying(TransactionOptions::default(), |mut transaction| {
            let value = body(&mut transaction)?;
            transaction.commit()?;
            Ok(value)
        })
    }

    /// Deletes a vertex with all its edges in as many transactions as necessary, at most 100,000 edges each; returns
    /// the number of
    /// edges. `progress` gets the number of deleted edges after each transaction, and may stop it.
    ///
    /// Meanwhile others see the vertex with its remaining edges, and may add some, which are deleted, too. If it
    /// stops early, the vertex and its remaining edges still exist; deleting it again continues.
    ///
    /// # Errors
    /// `not_found` if the vertex does not exist; errors of `progress`; as [`Store::transact`].
    pub fn delete_vertex_in_parts(
        &self,
        vertex: VertexId,
        progress: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<u64> {
        let mut deleted = 0;
        loop {
            let part = self.transact(|transaction| {
                let limit = transaction.part_of_edges();
                let count = transaction.delete_edges_of(vertex, limit)?;
                let is_last = count < limit;
                if is_last {
                    transaction.delete_vertex(vertex)?;
                }
                Ok((count as u64, is_last))
            });
            let (count, is_last) = match part {
                // Somebody else deleted what was left of it.
                Err(error) if deleted > 0 && error.kind() == ErrorKind::NotFound => return Ok(deleted),
                part => part?,
            };
            deleted += count;
            if is_last {
                return Ok(deleted);
            }
            progress(deleted)?;
        }
    }

    /// Calls `attempt` with a transaction, which it commits or drops, until it does not fail with `conflict`,
    /// with short random waits in between, which grow.
    ///
    /// # Errors
    /// Errors of `attempt`, and where the graph lies elsewhere why a transaction could not begin, at once unless it is `conflict`;
    /// `conflict` after the last attempt, or when the transaction's time is over, with their number.
    pub fn retrying<T>(
        &self,
        options: impl Into<TransactionOptions>,
        mut attempt: impl FnMut(Transaction<E>) -> Result<T>,
    ) -> Result<T> {
        let options = options.into();
        let deadline = self.deadline(options);
        self.retry.retrying(
            self.options.attempts_max,
            || deadline.has_passed(),
            || {
                let transaction = self.begin_until(options, deadline.clone());
                transaction.session().check_begun()?;
                attempt(transaction)
            },
        )
    }

    /// What became of a transaction of any store on the same log, whose commit returned `unknown`: the timestamp of its commit;
    /// `None` if it did not commit, and never will. One that is still under way is called off.
    ///
    /// Cost: a record of the log, and the wait for it.
    ///
    /// # Errors
    /// `unknown` if that is still not known, or has been forgotten; `invalid` if it names no transaction, or where this store alone
    /// decides its commits: there none is unknown.
    pub fn settle(&self, unknown: UnknownCommit) -> Result<Option<Timestamp>> {
        let session = Session::begin(&self.front, Access::Read);
        let Some(log) = session.graph_log() else {
            return Err(Error::invalid(format!(
                "transaction {unknown} is of a cluster, and this database is none: settle it on a node of that cluster"
            )));
        };
        match log.settle(unknown) {
            Ok(timestamp) => Ok(Some(timestamp)),
            Err(error) if error.is_conflict() => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn front(&self) -> &Arc<Front<E>> {
        &self.front
    }

    pub(crate) fn random_u64(&self) -> u64 {
        self.retry.next_u64()
    }

    /// The names as of the newest commit; where the graph lies elsewhere, of the newest that snapshots see, or those that were known
    /// last if none can begin: ask a snapshot for its [`names`](evergraph_graph::view::GraphView::names) to know.
    #[must_use]
    pub fn catalogue(&self) -> Arc<Catalogue> {
        if let LogAccess::Reads(_) | LogAccess::Shared(_) = self.front.log_access {
            // The names that others added come with a snapshot.
            drop(self.snapshot());
        }
        self.front.catalogue.load_full()
    }

    /// Removes index entries that no open snapshot needs any more. For a background
    /// thread, every now and then. Cost: linear in those removals.
    pub fn collect_indexes(&self) {
        // Before the registry, as merges do: whoever registers later is no older.
        let limit = self.front.timeline.merge_limit();
        let oldest = self.front.timeline.registry().oldest().filter(|_| !planted(Bug::RemovalTooEarly));
        self.front.indexes.collect(oldest.map_or(limit, |oldest| oldest.min(limit)));
    }

    /// The state of vertex ids that a checkpoint stores: assigned rows, by group.
    #[must_use]
    pub fn vertex_id_state(&self) -> Vec<GroupState> {
        self.front.ids.export()
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &Arc<E> {
        &self.front.engine
    }

    /// The timeline.
    #[must_use]
    pub fn timeline(&self) -> &Arc<Timeline> {
        &self.front.timeline
    }

    /// The log that this process writes.
    ///
    /// # Errors
    /// `invalid` in a store whose graph lies elsewhere: which process or nodes to ask.
    pub fn own_log(&self) -> Result<&Arc<Log>> {
        self.front.own_log()
    }

    /// The log, of a store that was opened with its files.
    ///
    /// # Panics
    /// In a store whose graph lies elsewhere, which is not opened so: see [`Store::own_log`].
    #[must_use]
    pub fn log(&self) -> &Arc<Log> {
        self.front.own_log().expect("a store whose log is asked for was assembled with one")
    }

    /// The budget that algorithms and caches reserve from.
    #[must_use]
    pub fn budget(&self) -> &Arc<MemoryBudget> {
        &self.front.budget
    }

    /// Numbers for people and monitoring. Cost: a look at each part; the engine's may be more.
    #[must_use]
    pub fn statistics(&self) -> StoreStatistics {
        let front = &self.front;
        let (commits, conflicts, renamed_edges) = front.counters.load();
        let indexes = self.indexes();
        let (oldest_snapshot, oldest_reader, oldest_writer, (readers, writers)) = {
            let registry = front.timeline.registry();
            (registry.oldest(), registry.oldest_reader(), registry.oldest_writer(), registry.len())
        };
        let now = front.timeline.clock().now();
        let oldest_reader = oldest_reader.map(|(oldest, begun)| (oldest, now.saturating_sub(begun)));
        StoreStatistics {
            // Where the graph lies elsewhere nothing is published here but what is readable.
            published: front.timeline.published().max(front.timeline.readable()),
            readable: front.timeline.readable(),
            oldest_snapshot,
            oldest_reader,
            oldest_writer,
            readers,
            writers,
            commits,
            conflicts,
            renamed_edges,
            index_entries: indexes.iter().map(|index| index.entries).sum(),
            index_bytes: indexes.iter().map(|index| index.bytes - index.engine_bytes).sum(),
            index_file_bytes: indexes.iter().map(|index| index.file_bytes).sum(),
            reservations: front.budget.reservations(),
            engine: front.engine.statistics(),
            log: front.own_log().map_or_else(|_| LogStatistics::default(), |log| log.statistics()),
        }
    }
}
