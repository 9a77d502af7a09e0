//! Store: one graph, open. Begins transactions and snapshots over any engine.
//!
//! ```text
//! checkpoint + log --Replay--> engine, catalogue, ids --assemble--> Store
//!                                            begin() -> Transaction    snapshot() -> Snapshot
//! ```
//!
//! Assembling reads what indexes hold (`indexing.rs`, which creates and drops them, too); opening files, recovery's order and checkpoints are
//! their caller's.

use crate::engine::{Engine, EngineStatistics};
use crate::index::directory::IndexDirectory;
use crate::indexing::build_all;
use crate::io::random::Random;
use crate::log::writer::{Log, LogStatistics};
use crate::memory_budget::MemoryBudget;
use crate::snapshot::handle::Snapshot;
use crate::sync::ArcCell;
use crate::timeline::clock::Timeline;
use crate::transaction::front::{Counters, Front};
use crate::transaction::handle::Transaction;
use crate::transaction::names::Names;
use crate::transaction::retry::Retry;
use crate::vertex_ids::{GroupState, VertexIds};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::{Isolation, Transaction as _};
use std::sync::Arc;

/// What a store is made of. Engine, catalogue and ids are those of the timeline's newest commit.
pub struct Parts<E: Engine> {
    /// Where the graph lies.
    pub engine: Arc<E>,
    /// Time, shared with the engine.
    pub timeline: Arc<Timeline>,
    /// The log, open for the commit after the newest.
    pub log: Arc<Log>,
    /// The names.
    pub catalogue: Catalogue,
    /// Where new vertices get their ids.
    pub ids: VertexIds,
    /// Jitter for retries and seeds for hashes.
    pub random: Box<dyn Random>,
    /// Choices.
    pub options: StoreOptions,
}

/// Choices that don't change what is stored.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Bytes that algorithms and caches may reserve; without limit by default.
    pub memory_limit_bytes: u64,
    /// How often [`Store::transact`] runs a transaction that conflicts. 100.
    pub attempts_max: u32,
    /// How far transactions are kept apart that don't ask for something else. By snapshots.
    pub isolation: Isolation,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { memory_limit_bytes: u64::MAX, attempts_max: 100, isolation: Isolation::Snapshot }
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
    /// The oldest open snapshot: what it sees is kept.
    pub oldest_snapshot: Option<Timestamp>,
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
    /// Bytes of indexes.
    pub index_bytes: u64,
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
    attempts_max: u32,
    isolation: Isolation,
}

impl<E: Engine> Clone for Store<E> {
    fn clone(&self) -> Self {
        let (front, retry) = (Arc::clone(&self.front), Arc::clone(&self.retry));
        Self { front, retry, attempts_max: self.attempts_max, isolation: self.isolation }
    }
}

impl<E: Engine> Store<E> {
    /// Opens what `parts` hold. Cost: a scan of every label and edge type that has an index.
    ///
    /// # Errors
    /// `corrupt` if a value of a unique index is there twice; what reading may meet.
    pub fn assemble(parts: Parts<E>) -> Result<Self> {
        let Parts { engine, timeline, log, catalogue, ids, random, options } = parts;
        let retry = Retry::new(random);
        let newest = timeline.published();
        let indexes = build_all(&engine, newest, &catalogue, || retry.next_u64())?;
        let front = Front {
            engine,
            timeline,
            log,
            names: Names::of(&catalogue),
            catalogue: ArcCell::new(Arc::new(catalogue)),
            ids,
            indexes: IndexDirectory::new(indexes),
            budget: Arc::new(MemoryBudget::new(options.memory_limit_bytes)),
            counters: Counters::default(),
        };
        let StoreOptions { attempts_max, isolation, .. } = options;
        Ok(Self { front: Arc::new(front), retry: Arc::new(retry), attempts_max, isolation })
    }

    /// How far transactions are kept apart that don't ask for something else.
    #[must_use]
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Begins a transaction at the newest commit, kept apart from others as the store's options say.
    #[must_use]
    pub fn begin(&self) -> Transaction<E> {
        self.begin_with(self.isolation)
    }

    /// Begins a transaction at the newest commit.
    #[must_use]
    pub fn begin_with(&self, isolation: Isolation) -> Transaction<E> {
        Transaction::begin(&self.front, isolation)
    }

    /// A snapshot of the newest commit that is readable: durable, in mode `sync`.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<E> {
        Snapshot::begin(&self.front)
    }

    /// Runs `body` in a transaction and commits it; again from the beginning, after a short random
    /// wait, when another transaction was first. `body` must not do anything that it can't do twice.
    ///
    /// # Errors
    /// What `body` or the commit says, at once unless it is `conflict`; `conflict` after the last
    /// attempt, with their number.
    pub fn transact<T>(&self, mut body: impl FnMut(&mut Transaction<E>) -> Result<T>) -> Result<T> {
        self.retrying(|| {
            let mut transaction = self.begin();
            let value = body(&mut transaction)?;
            transaction.commit()?;
            Ok(value)
        })
    }

    /// Calls `attempt` until it doesn't fail with `conflict`, with a short random wait in between, which
    /// grows. `attempt` must not leave a transaction open when it fails: its snapshot would be held.
    ///
    /// # Errors
    /// What `attempt` says, at once unless it is `conflict`; `conflict` after the last attempt, with
    /// their number.
    pub fn retrying<T>(&self, mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
        let mut attempts = 0;
        loop {
            let error = match attempt() {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            attempts += 1;
            if !error.is_conflict() {
                return Err(error);
            }
            if attempts >= self.attempts_max {
                return Err(error.context(format!("after {attempts} attempts")));
            }
            self.retry.wait(attempts);
        }
    }

    pub(crate) fn front(&self) -> &Arc<Front<E>> {
        &self.front
    }

    pub(crate) fn random_u64(&self) -> u64 {
        self.retry.next_u64()
    }

    /// The names as of the newest commit.
    #[must_use]
    pub fn catalogue(&self) -> Arc<Catalogue> {
        self.front.catalogue.load_full()
    }

    /// Does what is due in indexes: removals that no open snapshot needs. For a background
    /// thread, every now and then. Cost: linear in those removals.
    pub fn collect_indexes(&self) {
        // R before the registry, as merges do: whoever registers later is no older.
        let readable = self.front.timeline.readable();
        let oldest = self.front.timeline.registry().oldest();
        self.front.indexes.collect(oldest.map_or(readable, |oldest| oldest.min(readable)));
    }

    /// What a checkpoint must keep of the vertex ids: rows given out, by group.
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

    /// The log.
    #[must_use]
    pub fn log(&self) -> &Arc<Log> {
        &self.front.log
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
        let indexes = front.indexes.load().statistics();
        let (oldest_snapshot, (readers, writers)) = {
            let registry = front.timeline.registry();
            (registry.oldest(), registry.len())
        };
        StoreStatistics {
            published: front.timeline.published(),
            readable: front.timeline.readable(),
            oldest_snapshot,
            readers,
            writers,
            commits,
            conflicts,
            renamed_edges,
            index_entries: indexes.iter().map(|index| index.entries).sum(),
            index_bytes: indexes.iter().map(|index| index.bytes).sum(),
            reservations: front.budget.reservations(),
            engine: front.engine.statistics(),
            log: front.log.statistics(),
        }
    }
}
