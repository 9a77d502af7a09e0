//! Opening a database: lock, manifest, bodies, log, and the threads that look after it.
//!
//! ```text
//! lock ──> manifest ──> bodies ──> log after C ──> indexes ──> OpenStore
//!            │ none, empty directory: a new database                    │
//!            v                                                          ├ merge thread
//!          empty manifest                                               └ checkpoint thread
//! ```
//!
//! While it is recovered, everything in the log counts as durable: it was read from it. Afterwards R
//! follows the log in mode `sync`. A crash while a database is created leaves an empty directory, or
//! one whose manifest was not renamed yet: both are created again.

use crate::checkpoint::check::{CheckProgress, Report, check_files};
use crate::checkpoint::check_graph::{check_graph, check_index};
use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::manifest::{self, Manifest, StoredGroup};
use crate::checkpoint::read;
use crate::checkpoint::write::{Checkpointed, Checkpointer, Progress, Sources};
use crate::engine::Engine;
use crate::io::directory::{Directory, LockGuard};
use crate::io::random::{Random, SplitMix64};
use crate::log::options::{Durability, LogOptions};
use crate::log::recovery::{self, Recovered, Replay as LogReplay};
use crate::log::writer::Log;
use crate::memory::engine::MemoryEngine;
use crate::snapshot::session::Session;
use crate::store::{Parts, Store, StoreOptions};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Condvar, Mutex};
use crate::timeline::clock::{Readable, Timeline};
use crate::timeline::registry::Access;
use crate::transaction::replay::Replay;
use crate::vertex_ids::{GroupState, VertexIds};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, VertexId};
use evergraph_graph::index::IndexDefinition;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Isolation;
use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The lock file in a database's directory: one process writes a database.
pub const LOCK_NAME: &str = "lock";
/// How often the checkpoint thread looks whether one is due.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Looks after a failed checkpoint before the next try: about 10 seconds.
const LOOKS_AFTER_FAILURE: u32 = 50;
/// Log on disk at which a checkpoint is due even if its payload is small.
const LOG_DISK_BYTES_MAX: u64 = 1 << 30;

/// How a database is opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Make a new database if the directory is empty. Yes.
    pub create: bool,
    /// When a commit is acknowledged: after its sync by default.
    pub durability: Durability,
    /// Bytes that algorithms may reserve: unlimited by default.
    pub memory_limit_bytes: u64,
    /// Size that log files grow to. 64 MiB.
    pub log_file_bytes: u64,
    /// Commits in the log, in bytes, after which a checkpoint is made in the background: 32 MiB.
    /// Recovery reads at most about twice as much, at some 30 MiB/s if commits are small.
    pub checkpoint_after_bytes: u64,
    /// How often a transaction that conflicts is run again by `transact`. 100.
    pub attempts_max: u32,
    /// How far transactions are kept apart that don't ask for something else.
    pub isolation: Isolation,
}

impl Default for OpenOptions {
    fn default() -> Self {
        let (log, store) = (LogOptions::default(), StoreOptions::default());
        Self {
            create: true,
            durability: log.durability,
            memory_limit_bytes: store.memory_limit_bytes,
            log_file_bytes: log.log_file_bytes,
            checkpoint_after_bytes: 32 << 20,
            attempts_max: store.attempts_max,
            isolation: store.isolation,
        }
    }
}

/// What recovery found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recovery {
    /// Whether the database was made by this opening.
    pub created: bool,
    /// Bytes of bodies read from checkpoint files.
    pub body_bytes: u64,
    /// Commits replayed from the log.
    pub commits: u64,
    /// Bytes of their payload.
    pub payload_bytes: u64,
    /// Whether a crash had torn the end of the log; nothing in it had been acknowledged.
    pub torn_end: bool,
}

/// What the checkpoint thread did, for `stats`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CheckpointState {
    /// Checkpoints made since opening, asked for or not.
    pub checkpoints: u64,
    /// C of the newest one.
    pub covered_through: Timestamp,
    /// Why the last attempt in the background failed, if it did.
    pub failure: Option<String>,
}

/// A database that is open: its store, and the threads that merge and make checkpoints.
///
/// Closing, or dropping, ends the threads and syncs the log. Clones of the store that live longer
/// read on; their commits are refused.
pub struct OpenStore {
    shared: Arc<Shared>,
    recovery: Recovery,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    store: Store<MemoryEngine>,
    directory: Arc<dyn Directory>,
    checkpointer: Checkpointer,
    checkpoint_after_bytes: u64,
    log_file_bytes: u64,
    /// Bytes of frames in the log when the newest checkpoint began. Relaxed: a hint.
    frames_at_checkpoint: AtomicU64,
    state: Mutex<CheckpointState>,
    closing: AtomicBool,
    wake: (Mutex<()>, Condvar),
    /// Given back when the database is closed.
    lock: Mutex<Option<LockGuard>>,
}

impl OpenStore {
    /// Opens, or creates, the database in `directory`.
    ///
    /// Cost: reads the bodies once and the log since the last checkpoint, about a second for 32 MiB
    /// of small commits; then builds the indexes with two threads, a read and an insertion an entry.
    ///
    /// # Errors
    /// `busy` if it is open elsewhere, naming the process; `not_found` if there is no database and
    /// `create` is off; `invalid` for a directory of something else, another engine or a newer format;
    /// `corrupt`, naming file and offset; `io`.
    pub fn open(directory: Arc<dyn Directory>, options: &OpenOptions) -> Result<Self> {
        // Before the lock, whose file would be the first thing of ours in somebody else's folder.
        refuse_strangers(&*directory, options.create)?;
        let lock = directory.lock_exclusive(LOCK_NAME)?;
        let (manifest, created) = read_or_create(&*directory, options.create)?;
        let checkpointer = Checkpointer::open(Arc::clone(&directory), &manifest)?;

        let log: Arc<OnceLock<Arc<Log>>> = Arc::default();
        let readable = match options.durability {
            Durability::Sync => {
                let log = Arc::clone(&log);
                let all = Timestamp::MAX;
                Readable::Durable(Arc::new(move || log.get().map_or(all, |log| Timestamp(log.durable()))))
            }
            _ => Readable::Published,
        };
        let timeline = Arc::new(Timeline::new(manifest.covered_through, readable));
        let engine = Arc::new(MemoryEngine::new(Arc::clone(&timeline)));
        let loaded = read::load(&*directory, &manifest, |group| engine.attach(Arc::new(group)))?;
        let groups = manifest.groups.iter();
        let groups = groups.map(|g| GroupState { group: g.id, label: g.label, rows: g.rows });
        let ids = VertexIds::import(&groups.collect::<Vec<_>>());
        let mut replay = Replay::new(&*engine, &timeline, manifest.catalogue.clone(), ids);
        let recovered = replay_log(&*directory, &manifest, &mut replay)?;
        let (catalogue, ids) = replay.finish();
        let recovery = Recovery {
            created,
            body_bytes: loaded.bytes_count,
            commits: recovered.frames_count,
            payload_bytes: recovered.payload_bytes,
            torn_end: recovered.torn.is_some(),
        };

        let log_options = LogOptions {
            durability: options.durability,
            log_file_bytes: options.log_file_bytes,
            ..LogOptions::default()
        };
        let opened = Arc::new(Log::open(Arc::clone(&directory), recovered, log_options, random()?)?);
        assert!(log.set(Arc::clone(&opened)).is_ok(), "the log is opened once");
        let store = Store::assemble(Parts {
            engine,
            timeline,
            log: opened,
            catalogue,
            ids,
            random: random()?,
            options: StoreOptions {
                memory_limit_bytes: options.memory_limit_bytes,
                attempts_max: options.attempts_max,
                isolation: options.isolation,
            },
        })?;
        let shared = Arc::new(Shared {
            store,
            directory,
            checkpointer,
            checkpoint_after_bytes: options.checkpoint_after_bytes,
            log_file_bytes: options.log_file_bytes,
            // The log counts what was replayed: a database that crashes often still gets its checkpoints.
            frames_at_checkpoint: AtomicU64::new(0),
            state: Mutex::new(CheckpointState {
                covered_through: manifest.covered_through,
                ..CheckpointState::default()
            }),
            closing: AtomicBool::new(false),
            wake: (Mutex::new(()), Condvar::new()),
            lock: Mutex::new(Some(lock)),
        });
        let open = Self { shared: Arc::clone(&shared), recovery, threads: Mutex::default() };
        let engine = Arc::clone(shared.store.engine());
        open.start("evergraph-merge", move || engine.run_merges())?;
        open.start("evergraph-checkpoint", move || shared.look_after())?;
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

    /// The store: transactions and snapshots.
    #[must_use]
    pub fn store(&self) -> &Store<MemoryEngine> {
        &self.shared.store
    }

    /// Where the files are.
    #[must_use]
    pub fn directory(&self) -> &Arc<dyn Directory> {
        &self.shared.directory
    }

    /// What opening found.
    #[must_use]
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// What happened with checkpoints so far.
    #[must_use]
    pub fn checkpoint_state(&self) -> CheckpointState {
        self.shared.state.lock().clone()
    }

    /// Makes a checkpoint now, while others go on writing. `progress` may stop it.
    ///
    /// # Errors
    /// `cancelled`; `limit` on a full disk, `io`: the checkpoint before stays valid.
    pub fn checkpoint(&self, progress: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<Checkpointed> {
        Ok(self.shared.checkpoint(progress)?)
    }

    /// Checks the graph of a snapshot taken now: lists sorted, both sides of every edge, its ends alive,
    /// indexes against a scan. Others go on writing.
    ///
    /// # Errors
    /// `cancelled`; what reading may meet.
    pub fn check(&self, progress: &mut CheckProgress<'_>) -> Result<Report> {
        let front = self.store().front();
        let session = Session::begin(front, Access::Read);
        let catalogue = self.store().catalogue();
        let mut report = check_graph(&session.view(), progress)?;
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

    /// Ends the threads and syncs the log; commits are refused from here on. Again: nothing.
    ///
    /// # Errors
    /// What the log says when it is synced for the last time.
    pub fn close(&self) -> Result<()> {
        if self.shared.closing.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        // Who has not committed yet will not: nothing is acknowledged after the log's last sync.
        let closed = || "the database is closed".to_owned();
        self.shared.store.timeline().latch().poisoned.get_or_insert_with(closed);
        {
            let _awake = self.shared.wake.0.lock();
            self.shared.wake.1.notify_all();
        }
        self.shared.store.engine().merger().close();
        for thread in std::mem::take(&mut *self.threads.lock()) {
            // A panic of a background thread was printed by it; closing goes on.
            drop(thread.join());
        }
        let closed = self.shared.store.log().close();
        // Nothing writes any more: another process, or this one, may open it.
        drop(self.shared.lock.lock().take());
        Ok(closed?)
    }
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        // Whoever wants to hear of a failure closes before; the log's own state says it too.
        drop(self.close());
    }
}

impl Shared {
    fn checkpoint(
        &self,
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> std::result::Result<Checkpointed, CheckpointError> {
        let store = &self.store;
        let frames = store.log().frame_bytes();
        let groups = || {
            let states = store.vertex_id_state();
            // A group whose ids were taken for a load that failed has no vertices and is not kept.
            let known = states.iter().filter(|state| store.engine().groups().get(state.group).is_some());
            known.map(|s| StoredGroup { id: s.group, label: s.label, rows: s.rows }).collect()
        };
        let sources = Sources {
            engine: store.engine(),
            log: store.log(),
            catalogue: &|| store.catalogue(),
            groups: &groups,
        };
        let made = self.checkpointer.checkpoint(&sources, progress)?;
        self.frames_at_checkpoint.store(frames, Ordering::Relaxed);
        let mut state = self.state.lock();
        state.checkpoints += 1;
        state.covered_through = made.covered_through;
        state.failure = made.left_over.as_ref().map(ToString::to_string);
        Ok(made)
    }

    fn is_due(&self) -> bool {
        // A load makes its own: one in between would keep names of a load that may still fail.
        if self.store.timeline().latch().loading {
            return false;
        }
        let log = self.store.log();
        let since = log.frame_bytes().wrapping_sub(self.frames_at_checkpoint.load(Ordering::Relaxed));
        since > self.checkpoint_after_bytes
            || (since > 0 && log.disk_bytes() > LOG_DISK_BYTES_MAX.max(4 * self.log_file_bytes))
    }

    /// Makes checkpoints when they are due and tidies indexes, until closing: the life of a thread.
    fn look_after(&self) {
        let mut wait = 0;
        loop {
            {
                let guard = self.wake.0.lock();
                if !self.closing.load(Ordering::Acquire) {
                    drop(self.wake.1.wait_timeout(guard, LOOK_EVERY));
                }
            }
            if self.closing.load(Ordering::Acquire) {
                return;
            }
            self.store.collect_indexes();
            wait = u32::saturating_sub(wait, 1);
            if wait == 0 && !self.store.log().is_poisoned() && self.is_due() {
                let stop = &mut |_| match self.closing.load(Ordering::Acquire) {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                };
                match self.checkpoint(stop) {
                    Ok(_) | Err(CheckpointError::Cancelled) => {}
                    Err(error) => {
                        self.state.lock().failure = Some(error.to_string());
                        wait = LOOKS_AFTER_FAILURE;
                    }
                }
            }
        }
    }
}

fn random() -> Result<Box<dyn Random>> {
    let seeded = SplitMix64::from_system();
    let seeded = seeded.map_err(|source| {
        Error::new(ErrorKind::Io, format!("ask the system for random bytes: {source}")).because(source)
    })?;
    Ok(Box::new(seeded))
}

/// Refuses a directory that is neither a database nor fit to become one.
fn refuse_strangers(directory: &dyn Directory, create: bool) -> Result<()> {
    if directory.exists(manifest::FILE_NAME)? {
        return Ok(());
    }
    let ours = [LOCK_NAME, manifest::NEW_FILE_NAME];
    let names = directory.list()?;
    if let Some(left) = names.iter().find(|name| name.starts_with("bodies-") || name.starts_with("log-")) {
        return Err(Error::new(
            ErrorKind::Corrupt,
            format!(
                "{} has lost its manifest: `{left}` is there; restore the manifest, or the whole directory \
                 from a copy",
                directory.location().display()
            ),
        ));
    }
    if let Some(stranger) = names.iter().find(|name| !ours.contains(&name.as_str())) {
        return Err(Error::invalid(format!(
            "{} is not an Evergraph database: it has no manifest, but a file `{stranger}`; name an empty or \
             a new directory for a new database",
            directory.location().display()
        )));
    }
    if !create {
        let location = directory.location().display();
        let text = format!("there is no database in {location}: import a graph, or create one");
        return Err(Error::new(ErrorKind::NotFound, text));
    }
    Ok(())
}

/// The manifest, or that of a new database. The caller holds the lock.
fn read_or_create(directory: &dyn Directory, create: bool) -> Result<(Manifest, bool)> {
    // Again: somebody may have made or removed it before the lock was ours.
    refuse_strangers(directory, create)?;
    if directory.exists(manifest::FILE_NAME)? {
        return Ok((Manifest::read(directory, MemoryEngine::NAME)?, false));
    }
    manifest::remove_if_there(directory, manifest::NEW_FILE_NAME)?;
    let manifest = Manifest::empty(MemoryEngine::NAME);
    manifest.write(directory, || {})?;
    Ok((manifest, true))
}

/// Checks a database that nobody has open: the files that it consists of, then, if those are sound, the
/// graph that they come to. Changes nothing but what opening does after a crash.
///
/// Cost: reads every file twice and every list once.
///
/// # Errors
/// As [`OpenStore::open`], but damage to files is a finding; `cancelled`.
pub fn check(directory: Arc<dyn Directory>, progress: &mut CheckProgress<'_>) -> Result<Report> {
    refuse_strangers(&*directory, false)?;
    let lock = directory.lock_exclusive(LOCK_NAME)?;
    let mut report = check_files(&*directory, MemoryEngine::NAME, progress)?;
    drop(lock);
    if report.is_healthy() {
        let open = OpenStore::open(directory, &OpenOptions { create: false, ..OpenOptions::default() })?;
        report.add(open.check(progress)?);
        open.close()?;
    }
    Ok(report)
}

fn replay_log(
    directory: &dyn Directory,
    manifest: &Manifest,
    replay: &mut Replay<'_, MemoryEngine>,
) -> Result<Recovered> {
    let wanted = LogReplay { after_ts: manifest.covered_through.0, need_ts: manifest.need.0 };
    recovery::recover(directory, wanted, |ts, payload| replay.payload(Timestamp(ts), payload))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::memory::MemoryDirectory;
    use evergraph_graph::load::{EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
    use evergraph_graph::transaction::Transaction as _;
    use evergraph_graph::view::GraphView;

    fn open(directory: &MemoryDirectory) -> Result<OpenStore> {
        OpenStore::open(Arc::new(directory.clone()), &OpenOptions::default())
    }

    fn counts(open: &OpenStore) -> (u64, u64) {
        let statistics = open.store().snapshot().statistics().unwrap();
        let sum = |list: &[u64]| list.iter().sum();
        let vertices: Vec<u64> = statistics.vertices.iter().map(|entry| entry.1).collect();
        let edges: Vec<u64> = statistics.edges.iter().map(|entry| entry.1).collect();
        (sum(&vertices), sum(&edges))
    }

    fn small() -> Load {
        let table = VertexTable::new("V", Vec::new(), vec![VertexBlock::bare(5000)]);
        let ends = EdgeBlock::bare((0..4999).map(|row| (row, row + 1)));
        let edges = EdgeTable::new("E", 0, 0, Vec::new(), vec![ends]);
        Load { vertices: vec![table], edges: vec![edges] }
    }

    #[test]
    fn commits_survive_a_power_cut_with_and_without_a_checkpoint() {
        let directory = MemoryDirectory::new("db");
        let first = open(&directory).unwrap();
        assert!(first.recovery().created);
        let commit = |open: &OpenStore| {
            let added = open.store().transact(|tx| {
                let (label, edge_type) = (tx.label("V")?, tx.edge_type("E")?);
                let (a, b) = (tx.add_vertex(label, &[])?, tx.add_vertex(label, &[])?);
                tx.add_edge(a, edge_type, b, &[])
            });
            added.unwrap();
        };
        commit(&first);
        let cut = open(&directory.power_cut()).unwrap();
        assert_eq!((counts(&cut), cut.recovery().commits), ((2, 1), 1));
        first.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
        commit(&first);
        let cut = open(&directory.power_cut()).unwrap();
        assert_eq!((counts(&cut), cut.recovery().commits), ((4, 2), 1));
        commit(&cut);
        assert_eq!(counts(&cut), (6, 3));
    }

    #[test]
    fn a_load_is_there_whole_or_not_at_all() {
        let directory = MemoryDirectory::new("db");
        let first = open(&directory).unwrap();
        let mut before = None;
        let made = first.store().load(&small(), &mut |_| Ok(()), &mut || {
            before = Some(directory.power_cut());
            // The empty frame is durable, the bodies are not.
            first.store().log().wait_durable(first.store().timeline().published().0)?;
            assert_eq!(counts(&first), (0, 0), "not seen before it is durable");
            first.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop)
        });
        assert_eq!(made.unwrap().first_vertices.len(), 1);
        assert_eq!(counts(&first), (5000, 4999));
        assert_eq!(counts(&open(&directory.power_cut()).unwrap()), (5000, 4999));
        assert_eq!(counts(&open(&before.unwrap()).unwrap()), (0, 0));
        let durable = &mut || first.checkpoint(&mut |_| ControlFlow::Continue(())).map(drop);
        first.store().load(&small(), &mut |_| Ok(()), durable).unwrap();
        assert_eq!(counts(&first), (10_000, 9998), "the label has vertices, and gets more");
    }

    #[test]
    fn a_snapshot_from_before_a_load_doesnt_see_it() {
        let directory = MemoryDirectory::new("db");
        let first = open(&directory).unwrap();
        let old = first.store().snapshot();
        first.store().load(&small(), &mut |_| Ok(()), &mut || Ok(())).unwrap();
        assert_eq!(old.statistics().unwrap().vertices.iter().map(|entry| entry.1).sum::<u64>(), 0);
    }

    #[test]
    fn what_is_no_database_and_what_is_open_already_are_told_apart() {
        let directory = MemoryDirectory::new("db");
        let first = open(&directory).unwrap();
        assert_eq!(open(&directory).err().map(|error| error.kind()), Some(ErrorKind::Busy));
        first.store().transact(|tx| tx.label("V")).unwrap();
        first.close().unwrap();
        assert!(open(&directory).is_ok(), "closing gives the lock back");
        let other = MemoryDirectory::new("photos");
        other.write_all_new("cat.jpg", b"cat").unwrap();
        let error = open(&other).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        directory.remove(manifest::FILE_NAME).unwrap();
        let lost = open(&directory).err().unwrap();
        assert_eq!(lost.kind(), ErrorKind::Corrupt, "{lost}");
        assert!(error.to_string().contains("photos is not an Evergraph database"), "{error}");
        let missing = OpenOptions { create: false, ..OpenOptions::default() };
        let error = OpenStore::open(Arc::new(MemoryDirectory::new("new")), &missing).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
