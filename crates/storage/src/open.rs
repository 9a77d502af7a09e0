//! Opening a database: lock, manifest, bodies, log, and the threads that maintain it.
//!
//! ```text
//! lock ──> manifest ──> engine's files ──> log after C ──> indexes ──> OpenStore
//!            │ none, empty directory: a new database                        │
//!            v                                                              ├ engine's thread
//!          empty manifest                                                   └ checkpoint thread
//! ```
//!
//! While it is recovered, everything in the log counts as durable: it was read from it. Afterwards R
//! follows the log in mode `sync`. A crash while a database is created leaves an empty directory, or
//! one whose manifest was not renamed yet: both are created again.
//! In a simulated [`Environment`] there are no threads: [`OpenStore::step`] does what they do in one round.

use crate::backup::{BackupProgress, BackupSummary, backup};
use crate::bulk::load::{LoadProgress, LoadSummary};
use crate::checkpoint::check::check_files;
use crate::checkpoint::check_graph::{check_graph, check_index};
use crate::checkpoint::contract::{CheckpointOutcome, OnCheckpointProgress};
use crate::checkpoint::error::CheckpointResult;
use crate::checkpoint::manifest::Manifest;
use crate::checkpoint::report::{CheckProgress, Report};
use crate::conversion::run::{ConversionSummary, convert};
use crate::durable_engine::{
    DurableEngine, EngineStep, LIVE_BYTES_MAX, OpenContext, OpenedEngine, check_engine_options,
    check_own_groups,
};
use crate::engine_listener::engine_listener;
use crate::found_database::{FoundDatabase, WantedDatabase, find_or_create, refuse_strangers};
use crate::indexing::{IndexProgress, IndexRequest};
use crate::io::directory::{Directory, LockGuard};
use crate::io::environment::{Background, Environment};
use crate::io::pool::READERS;
use crate::log::options::{Durability, LogOptions};
use crate::log::writer::Log;
use crate::memory_budget::MemoryBudget;
use crate::operations::Operations;
use crate::recovered_graph::replay_log;
use crate::refused_opening::RefusedOpening;
use crate::salvage::run;
use crate::salvage::salvaged::Salvaged;
use crate::snapshot::session::Session;
use crate::store::{Parts, Store, StoreOptions};
use crate::sync::Mutex;
use crate::sync::thread::{self, JoinHandle};
use crate::timeline::clock::{Readable, Timeline};
use crate::timeline::registry::Access;
use crate::transaction::front::LogAccess;
use crate::transaction::replay::BATCH_MUTATIONS;
use crate::unfinished_directory::LOCK_NAME;
use crate::upkeep::{CheckpointState, Upkeep, UpkeepLimits};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, VertexId};
use evergraph_graph::index::IndexDefinition;
use evergraph_graph::load::Load;
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Isolation;
use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How a database is opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Create a database if the directory is empty. Default: true.
    pub create: bool,
    /// Name of the engine. A new database gets it; one that is there must have it. Default: none, which opens a database
    /// with whichever engine it has, and gives a new one the default engine.
    pub engine: Option<&'static str>,
    /// When a commit is acknowledged. Default: after its sync.
    pub durability: Durability,
    /// Memory that algorithms, queries and the engine's records and caches may reserve, in bytes. Default: [`u64::MAX`],
    /// with which the engine chooses: see [`DurableEngine::memory_limit`].
    pub memory_limit_bytes: u64,
    /// A budget that several databases share, whose limit counts in place of [`OpenOptions::memory_limit_bytes`]. Default: none, for
    /// one of its own.
    pub shared_budget: Option<MemoryBudget>,
    /// Threads that read pages for others, in an engine that reads while it is open; at least one. Default: 8.
    pub io_threads: usize,
    /// Threads that merge files, in an engine that does so in the background: 1 to 16. Default: 1.
    pub compaction_threads: usize,
    /// Size that log files grow to, in bytes. Default: 64 MiB.
    pub log_file_bytes: u64,
    /// Bytes of commits in the log after which a checkpoint is made in the background. Default: 32 MiB.
    /// Recovery reads at most about twice as much, at some 70 MiB/s if commits are small.
    pub checkpoint_after_bytes: u64,
    /// How often `transact` runs a transaction that conflicts. Default: 100.
    pub attempts_max: u32,
    /// Isolation level of transactions that do not choose one.
    pub isolation: Isolation,
    /// Bytes of commits that modes `interval` and `none` buffer before a committer writes them out. Default: 1 MiB.
    pub log_spill_bytes: usize,
    /// Changes in the log that recovery installs at once. Default: 65,536; fewer take longer.
    pub replay_batch_mutations: usize,
    /// Source of randomness, time and background work. Default: the system; a simulation replaces it.
    pub environment: Environment,
    /// Timeout of transactions that do not choose one: see
    /// [`TransactionOptions::timeout`](evergraph_graph::transaction::TransactionOptions). Default: no timeout.
    pub transaction_timeout: Duration,
    /// Memory for the writes of one transaction, in bytes; a write beyond it is refused. Default: 1 GiB, about
    /// what the log accepts at once; with the disk engine an eighth of the memory limit, if that is less.
    pub transaction_bytes_max: u64,
    /// How long a commit may wait for merges that fell behind, before it is refused with `limit`. Default: 10 seconds.
    /// Overdue merges in the commit's own segments come first and are not limited by it.
    pub stall_max: Duration,
    /// Memory of changes that no merge has taken in yet, and of old versions that open snapshots need, in an engine that shares them
    /// with other processes, in bytes, 16 MiB to 256 GiB; a commit beyond it is refused. Default: 4 GiB.
    pub live_bytes_max: u64,
    /// The groups of a database of one partition of a graph: see [`crate::partition`]. Default: none, for a whole graph.
    pub own_groups: Option<OwnGroups>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        let (log, store) = (LogOptions::default(), StoreOptions::default());
        Self {
            create: true,
            engine: None,
            durability: log.durability,
            memory_limit_bytes: u64::MAX,
            shared_budget: None,
            io_threads: READERS,
            compaction_threads: 1,
            log_file_bytes: log.log_file_bytes,
            checkpoint_after_bytes: 32 << 20,
            attempts_max: store.attempts_max,
            isolation: store.isolation,
            log_spill_bytes: log.spill_bytes,
            replay_batch_mutations: BATCH_MUTATIONS,
            environment: Environment::default(),
            transaction_timeout: store.transaction_timeout,
            transaction_bytes_max: store.transaction_bytes_max,
            stall_max: store.stall_max,
            live_bytes_max: LIVE_BYTES_MAX,
            own_groups: None,
        }
    }
}

impl OpenOptions {
    /// Refuses what no database is opened with.
    ///
    /// # Errors
    /// As [`check_engine_options`]; `invalid` for a partition with durability `Sync`.
    pub fn check(&self) -> Result<()> {
        check_own_groups(self.own_groups, self.durability)?;
        check_engine_options(self.compaction_threads, self.live_bytes_max)
    }
}

/// What recovery found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recovery {
    /// Whether this opening created the database.
    pub created: bool,
    /// Bytes of bodies read from checkpoint files.
    pub body_bytes: u64,
    /// Commits replayed from the log.
    pub commits: u64,
    /// Bytes of their payload.
    pub payload_bytes: u64,
    /// Whether a crash tore the end of the log; none of its commits had been acknowledged.
    pub torn_end: bool,
}

/// Background work that is done as one step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BackgroundStep {
    /// A round of merges: the first segment that is due, layers that no snapshot needs.
    Merge,
    /// The same after a quiet while: idle segments, if none is due.
    MergeIdle,
    /// Removals in indexes, and a checkpoint if one is due.
    LookAfter,
    /// The log's next file, if it is time.
    PrepareLog,
    /// The log's timer: woken in one step, a period later in the next, when it syncs or seals.
    LogTimer,
}

/// A database that is open: its store, and the threads that merge and make checkpoints.
///
/// Closing, or dropping, ends the threads and syncs the log. Clones of the store that live longer
/// read on; their commits are refused.
///
/// Concurrency: any thread calls any method. Closing waits for the checkpoints, loads, backups and checks
/// of other threads, since they work on files that belong to the next who opens the database.
pub struct OpenStore<E: DurableEngine> {
    store: Store<E>,
    directory: Arc<dyn Directory>,
    environment: Environment,
    pub(crate) upkeep: Arc<Upkeep<E>>,
    recovery: Recovery,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Whether there are no threads, and [`OpenStore::step`] does their work.
    is_stepped: bool,
    /// Checkpoints, loads, backups and checks, for which closing waits.
    pub(crate) operations: Operations,
    /// Given back when the database is closed. Locked while it is being closed.
    lock: Mutex<Option<LockGuard>>,
}

impl<E: DurableEngine> OpenStore<E> {
    /// Opens, or creates, the database in `directory`.
    ///
    /// Cost: reads the bodies once and the log since the last checkpoint, about half a second for 32 MiB
    /// of small commits; then builds the indexes that the engine doesn't keep with two threads, a read and an insertion
    /// an entry. The disk and mapped engines read no bodies, and keep all indexes.
    ///
    /// # Errors
    /// `busy` if it is open elsewhere, naming the process; `not_found` if there is no database and
    /// `create` is off; `invalid` for a directory of something else, another engine, a newer format, a memory limit
    /// that is too low for the engine, or options that [`OpenOptions::check`] refuses;
    /// `corrupt`, naming file and offset; `io`.
    pub fn open(directory: Arc<dyn Directory>, options: &OpenOptions) -> Result<Self> {
        Self::open_by(directory, options, E::open)
    }

    /// As [`OpenStore::open`], with `open_engine` in place of the engine's own: for measurements of a tuned engine.
    ///
    /// # Errors
    /// As [`OpenStore::open`].
    #[doc(hidden)]
    pub fn open_by(
        directory: Arc<dyn Directory>,
        options: &OpenOptions,
        open_engine: impl FnOnce(&OpenContext<'_>) -> CheckpointResult<OpenedEngine<E>>,
    ) -> Result<Self> {
        options.check()?;
        // Before the lock, whose file would be the first thing of ours in somebody else's folder.
        refuse_strangers::<E>(&*directory, options.create)?;
        let lock = directory.lock_exclusive(LOCK_NAME)?;
        let shared_budget = options.shared_budget.as_ref();
        let wanted = WantedDatabase {
            create: options.create,
            engine: options.engine,
            memory_limit_bytes: shared_budget.map_or(options.memory_limit_bytes, MemoryBudget::limit_bytes),
            own_groups: options.own_groups,
        };
        let FoundDatabase { manifest, created, memory_limit_bytes } =
            find_or_create::<E>(&*directory, &wanted)?;

        let log: Arc<OnceLock<Arc<Log>>> = Arc::default();
        let readable = match options.durability {
            Durability::Sync => {
                let log = Arc::clone(&log);
                let all = Timestamp::MAX;
                Readable::Durable(Arc::new(move || log.get().map_or(all, |log| Timestamp(log.durable()))))
            }
            _ => Readable::Published,
        };
        let timeline = Timeline::new(manifest.covered_through, readable);
        let timeline = Arc::new(timeline.with_clock(options.environment.clock()));
        let background = options.environment.background();
        let budget =
            Arc::new(shared_budget.cloned().unwrap_or_else(|| MemoryBudget::new(memory_limit_bytes)));
        let transaction_bytes_max = match options.transaction_bytes_max {
            // Not chosen.
            default if default == StoreOptions::default().transaction_bytes_max => {
                default.min(E::transaction_bytes_max(&manifest.engine, memory_limit_bytes))
            }
            chosen => chosen,
        };
        let opening = OpenContext {
            directory: &directory,
            manifest: &manifest,
            timeline: &timeline,
            background,
            io_threads: options.io_threads.max(1),
            compaction_threads: options.compaction_threads,
            budget: &budget,
            live_bytes_max: options.live_bytes_max,
        };
        let OpenedEngine { engine, bytes_count } = open_engine(&opening)?;
        let engine = Arc::new(engine);
        let mut refused = RefusedOpening(Some(Arc::clone(&engine)));
        let (recovered, replayed) =
            replay_log(&*directory, &manifest, (&*engine, &timeline), options.replay_batch_mutations)?;
        let recovery = Recovery {
            created,
            body_bytes: bytes_count,
            commits: recovered.frames_count,
            payload_bytes: recovered.payload_bytes,
            torn_end: recovered.torn.is_some(),
        };

        let log_options = LogOptions {
            durability: options.durability,
            log_file_bytes: options.log_file_bytes,
            spill_bytes: options.log_spill_bytes,
            background,
            durable_listener: (options.durability == Durability::Sync).then(|| engine_listener(&engine)),
            ..LogOptions::default()
        };
        let opened = Arc::new(Log::open(
            Arc::clone(&directory),
            recovered,
            log_options,
            options.environment.random_or_error()?,
        )?);
        assert!(log.set(Arc::clone(&opened)).is_ok(), "the log is opened once");
        let store = Store::assemble(Parts {
            engine,
            timeline,
            log: LogAccess::of(opened, manifest.partition),
            replayed,
            budget,
            random: options.environment.random_or_error()?,
            options: StoreOptions {
                attempts_max: options.attempts_max,
                isolation: options.isolation,
                background,
                transaction_timeout: options.transaction_timeout,
                transaction_bytes_max,
                stall_max: options.stall_max,
            },
        })?;
        let limits = UpkeepLimits {
            checkpoint_after_bytes: options.checkpoint_after_bytes,
            log_file_bytes: options.log_file_bytes,
        };
        let upkeep = Arc::new(Upkeep::new(store.clone(), manifest.covered_through, limits));
        let open = Self {
            store,
            directory,
            environment: options.environment.clone(),
            upkeep: Arc::clone(&upkeep),
            recovery,
            threads: Mutex::default(),
            is_stepped: background == Background::Stepped,
            operations: Operations::default(),
            lock: Mutex::new(Some(lock)),
        };
        // From here on closing does it.
        refused.0 = None;
        if open.is_stepped {
            return Ok(open);
        }
        let engine = Arc::clone(open.store.engine());
        open.start("evergraph-merge", move || engine.run_background())?;
        open.start("evergraph-checkpoint", move || upkeep.look_after())?;
        Ok(open)
    }

    /// Starts a thread whose panic, a defect of ours, makes the store read-only instead of passing by.
    fn start(&self, name: &'static str, life: impl FnOnce() + Send + 'static) -> Result<()> {
        let failed = |source: std::io::Error| {
            Error::new(ErrorKind::Io, format!("start the thread {name}: {source}")).because(source)
        };
        let timeline = Arc::clone(self.store().timeline());
        let guarded = move || {
            if std::panic::catch_unwind(AssertUnwindSafe(life)).is_err() {
                let cause =
                    format!("its thread {name} panicked: reopen the database, and please report this");
                timeline.latch().poisoned.get_or_insert(cause);
            }
        };
        self.threads.lock().push(thread::spawn(name, guarded).map_err(failed)?);
        Ok(())
    }

    /// Does a piece of background work now, in a store that is stepped. What fails in it is told where a
    /// thread would tell it: by [`OpenStore::checkpoint_state`], or the next commit.
    ///
    /// # Panics
    /// If threads do that work.
    pub fn step(&self, step: BackgroundStep) {
        assert!(self.is_stepped, "only a store without threads is stepped");
        let (store, log) = (self.store(), self.store().log());
        match step {
            BackgroundStep::Merge => store.engine().step(EngineStep::Due),
            BackgroundStep::MergeIdle => store.engine().step(EngineStep::Idle),
            BackgroundStep::LookAfter => self.upkeep.look(),
            BackgroundStep::PrepareLog => log.step_preparer(),
            BackgroundStep::LogTimer => log.step_timer(),
        }
    }

    /// The store: transactions and snapshots.
    #[must_use]
    pub fn store(&self) -> &Store<E> {
        &self.store
    }

    /// Where the files are.
    #[must_use]
    pub fn directory(&self) -> &Arc<dyn Directory> {
        &self.directory
    }

    /// What opening found.
    #[must_use]
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// What happened with checkpoints so far.
    #[must_use]
    pub fn checkpoint_state(&self) -> CheckpointState {
        self.upkeep.state()
    }

    /// Builds an index: see [`Store::create_index`]. Closing the database ends the build, and waits for that.
    ///
    /// # Errors
    /// As [`Store::create_index`]; `invalid` if the database is closed, or is about to be.
    pub fn create_index(
        &self,
        request: &IndexRequest<'_>,
        progress: &mut dyn FnMut(IndexProgress) -> Result<()>,
    ) -> Result<bool> {
        let _operation = self.operations.begin()?;
        self.store().create_index(request, &mut |now| {
            self.operations.check_open()?;
            progress(now)
        })
    }

    /// Makes a checkpoint now, while others go on writing. `progress` may stop it.
    ///
    /// # Errors
    /// `cancelled`; `limit` on a full disk, `io`: the checkpoint before stays valid. `invalid` if the database
    /// is closed.
    pub fn checkpoint(&self, progress: &mut OnCheckpointProgress<'_>) -> Result<CheckpointOutcome> {
        let _operation = self.operations.begin()?;
        Ok(self.upkeep.checkpoint(progress)?)
    }

    /// Adds a whole graph as one commit, and makes it durable by a checkpoint: see [`Store::load_within`].
    /// `building` is told how far its lists are and may fail, `writing` how far the checkpoint is and may stop
    /// it.
    ///
    /// # Errors
    /// As [`Store::load_within`] and [`OpenStore::checkpoint`].
    pub fn load_within(
        &self,
        memory_bytes: u64,
        load: &Load,
        building: &mut dyn FnMut(LoadProgress) -> Result<()>,
        writing: &mut OnCheckpointProgress<'_>,
    ) -> Result<LoadSummary> {
        let _operation = self.operations.begin()?;
        let make_durable = &mut || Ok(self.upkeep.checkpoint(writing).map(drop)?);
        self.store.load_within(memory_bytes, load, building, make_durable)
    }

    /// Copies everything committed so far into `target`, an empty directory, while others go on: the copy
    /// is a database of its own. `progress` may stop it.
    ///
    /// Cost: each file read and written once, its checksums compared.
    ///
    /// # Errors
    /// `invalid` if `target` is taken, or the database closed; `corrupt` if a file isn't what was written;
    /// `limit` on a full disk, `io`, `cancelled`. Nothing is left in `target` then.
    pub fn backup(
        &self,
        target: &dyn Directory,
        progress: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<BackupSummary> {
        let _operation = self.operations.begin()?;
        let salt = self.environment.random_or_error()?.next_u64();
        backup(&self.store, &*self.directory, target, salt, progress)
    }

    /// Writes the graph of a snapshot taken now to `target`, an empty directory, as a database of `engine`, one that `T`
    /// opens: see [`convert`]. `progress` hears of vertices and edges, and may stop it.
    ///
    /// # Errors
    /// `invalid` for an engine that isn't known; as [`convert`]. Nothing is left in `target` then.
    pub fn convert<T: DurableEngine>(
        &self,
        engine: &str,
        target: &Arc<dyn Directory>,
        progress: &mut CheckProgress<'_>,
    ) -> Result<ConversionSummary> {
        if !T::opens(engine) {
            return Err(Error::invalid(format!("there is no engine `{engine}` to convert to")));
        }
        let _operation = self.operations.begin()?;
        let salt = self.environment.random_or_error()?.next_u64();
        convert::<E, T>(&self.store, engine, target, salt, progress)
    }

    /// Checks the graph of a snapshot taken now: lists sorted, both sides of every edge, its ends alive,
    /// indexes against a scan. Others go on writing.
    ///
    /// # Errors
    /// `cancelled`; `invalid` if the database is closed; errors of reading.
    pub fn check(&self, progress: &mut CheckProgress<'_>) -> Result<Report> {
        let _operation = self.operations.begin()?;
        let front = self.store().front();
        let session = Session::begin(front, Access::Read);
        let catalogue = self.store().catalogue();
        let mut report = check_graph(&session.view(), self.store().own_groups(), progress)?;
        for IndexDefinition { id, .. } in catalogue.indexes() {
            let (view, at) = (session.view(), session.timestamp());
            if let Some(index) = front.indexes.get::<VertexId>(id).filter(|index| index.serves(at)) {
                report.add(check_index(&view, &*index, &catalogue, progress)?);
            }
            if let Some(index) = front.indexes.get::<EdgeId>(id).filter(|index| index.serves(at)) {
                report.add(check_index(&view, &*index, &catalogue, progress)?);
            }
        }
        Ok(report)
    }

    /// Waits for the checkpoints, loads, backups and checks of other threads, ends the background threads and
    /// syncs the log; commits are refused from here on. Again: nothing, but whoever calls it meanwhile waits too.
    ///
    /// Cost: a sync or two; a checkpoint if many short runs have left more than 16 log files.
    ///
    /// # Errors
    /// What the log says when it is synced for the last time; `invalid` if it is called from inside a
    /// checkpoint, load, backup or check, for instance by its `progress`: nothing was done then.
    pub fn close(&self) -> Result<()> {
        self.operations.refuse_more()?;
        let mut lock = self.lock.lock();
        if lock.is_none() {
            return Ok(());
        }
        // A checkpoint in the background ends early; what somebody asked for runs to its end.
        self.upkeep.close();
        self.operations.wait();
        self.upkeep.checkpoint_before_closing();
        // Who has not committed yet will not: nothing is acknowledged after the log's last sync.
        let closed = || "the database is closed".to_owned();
        self.store.timeline().latch().poisoned.get_or_insert_with(closed);
        self.store.engine().close();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            // A panic of a background thread was printed by it; closing goes on.
            drop(thread.join());
        }
        let closed = self.store.log().close();
        self.store.engine().let_go();
        // Nothing writes any more: another process, or this one, may open it.
        drop(lock.take());
        Ok(closed?)
    }
}

impl<E: DurableEngine> Drop for OpenStore<E> {
    fn drop(&mut self) {
        // Whoever wants to hear of a failure closes before; the log's own state says it too.
        drop(self.close());
    }
}

/// Checks a database that nobody has open: the files that it consists of, then, if those are sound, the
/// graph that they come to. Changes nothing but what opening does after a crash.
///
/// Cost: reads every file twice and every list once.
///
/// # Errors
/// As [`OpenStore::open`], but damage to files is a finding; `cancelled`.
pub fn check<E: DurableEngine>(
    directory: Arc<dyn Directory>,
    progress: &mut CheckProgress<'_>,
) -> Result<Report> {
    check_with::<E>(directory, OpenOptions::default(), progress)
}

/// As [`check`], opened with `options`: its memory limit holds while the graph is checked.
///
/// # Errors
/// As [`check`].
pub fn check_with<E: DurableEngine>(
    directory: Arc<dyn Directory>,
    options: OpenOptions,
    progress: &mut CheckProgress<'_>,
) -> Result<Report> {
    refuse_strangers::<E>(&*directory, false)?;
    let lock = directory.lock_exclusive(LOCK_NAME)?;
    let mut report = check_files::<E>(&*directory, progress)?;
    drop(lock);
    if report.is_healthy() {
        let own_groups = Manifest::read(&*directory, E::opens)?.partition;
        let durability = own_groups.map_or(options.durability, |_| Durability::None);
        let options = OpenOptions { create: false, own_groups, durability, ..options };
        let open = OpenStore::<E>::open(directory, &options)?;
        report.add(open.check(progress)?);
        open.close()?;
    }
    Ok(report)
}

/// Reads the database in `directory`, damaged or not, and writes what verifies into `target`, an empty
/// directory. Not a byte of the first is changed. `progress` may stop it.
///
/// # Errors
/// As [`run::salvage`].
pub fn salvage<E: DurableEngine>(
    directory: &dyn Directory,
    target: &Arc<dyn Directory>,
    progress: &mut CheckProgress<'_>,
) -> Result<Salvaged> {
    run::salvage::<E>(directory, target, Environment::default().random_or_error()?.next_u64(), progress)
}
