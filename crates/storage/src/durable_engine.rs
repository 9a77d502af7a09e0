//! Durable engine: what an engine must offer so that a database can be opened, stored and salvaged.
//!
//! ```text
//! open        manifest, its section ──> open ──> replay (log after C) ──> recovered: a store
//! work        run_background, or step by step; checkpoint when the front or the engine finds it due
//! loads       build_load ──> view_load (indexes read it) ──> install_load, under the latch
//! copies      pin_files, while no checkpoint is made; write_graph, of another engine's snapshot
//! damage      check_files finds it, salvage saves what verifies
//! ```
//!
//! The front has the lock, the manifest's frame, the log, names, ids and indexes; an engine has its files, and
//! its *section* of the manifest says what they come to. An engine never looks at another one's files: the
//! manifest names the engine, and [`DurableEngine::opens`] says whether this one can open it.
//!
//! Rules for a checkpoint, beside those of [`Engine`]
//! - It covers every commit through C, which is W at its beginning, or the horizon if that is older, synced in the log, and it
//!   may hold later ones: the manifest's `need` says up to which the log must reach, and is synced before the manifest is.
//! - Its files are synced before its manifest names them; the log is pruned, and files that nothing names are
//!   removed, when the manifest is durable.
//! - A bulk load is in no log: a checkpoint has all of it or nothing. One that a load overtook
//!   ([`LatchState::loads`](crate::timeline::clock::LatchState::loads)) begins anew.
//! - Whoever failed before the manifest was renamed leaves the checkpoint before as it was.

use std::collections::HashSet;
use std::sync::Arc;

use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::TypeId;
use evergraph_graph::index::IndexId;
use evergraph_graph::load::{Load, VertexChange};
use evergraph_graph::partition::OwnGroups;
use evergraph_graph::timestamp::Timestamp;

use crate::bulk::numbers::Numbers;
use crate::checkpoint::contract::{CheckpointOutcome, CheckpointSources, OnCheckpointProgress};
use crate::checkpoint::error::CheckpointResult;
use crate::checkpoint::manifest::Manifest;
use crate::checkpoint::report::{CheckProgress, Report};
use crate::conversion::source::GraphSource;
use crate::engine::Engine;
use crate::index::fill::IndexFill;
use crate::io::directory::Directory;
use crate::io::environment::Background;
use crate::log::options::Durability;
use crate::memory_budget::MemoryBudget;
use crate::salvage::new_database::SalvageTarget;
use crate::salvage::salvaged::Salvaged;
use crate::salvage::source::SalvageSource;
use crate::timeline::clock::Timeline;
use crate::view::View;

/// The most threads that merge files: of more, most would wait for memory and for each other's files.
const COMPACTION_THREADS_MAX: usize = 16;
/// Bytes of `live_bytes_max`, by default.
pub const LIVE_BYTES_MAX: u64 = 4 << 30;
/// The least of them: of less, little is left beside what each segment has there.
const LIVE_BYTES_MAX_FLOOR: u64 = 16 << 20;
/// The most of them: no file of changes is larger.
const LIVE_BYTES_MAX_CEILING: u64 = 256 << 30;

/// Refuses what no engine is opened with; see [`OpenContext`].
///
/// # Errors
/// `invalid` if `compaction_threads` is 0 or more than 16; that of [`check_live_bytes_max`].
pub fn check_engine_options(compaction_threads: usize, live_bytes_max: u64) -> Result<()> {
    if !(1..=COMPACTION_THREADS_MAX).contains(&compaction_threads) {
        let text = format!(
            "compaction_threads is {compaction_threads}, but must be from 1 to {COMPACTION_THREADS_MAX}"
        );
        return Err(Error::invalid(text));
    }
    check_live_bytes_max(live_bytes_max)
}

/// Refuses what `live_bytes_max` cannot be.
///
/// # Errors
/// `invalid` for less than 16 MiB or more than 256 GiB.
pub fn check_live_bytes_max(live_bytes_max: u64) -> Result<()> {
    let bound = match live_bytes_max {
        ..LIVE_BYTES_MAX_FLOOR => format!("at least {} MiB", LIVE_BYTES_MAX_FLOOR >> 20),
        LIVE_BYTES_MAX_FLOOR..=LIVE_BYTES_MAX_CEILING => return Ok(()),
        _ => format!("at most {} GiB", LIVE_BYTES_MAX_CEILING >> 30),
    };
    Err(Error::invalid(format!("live_bytes_max is {live_bytes_max} bytes, but must be {bound}")))
}

/// Refuses a partition whose commits would wait for its own log: whoever decided them has them durable.
///
/// # Errors
/// `invalid`.
pub fn check_own_groups(own: Option<OwnGroups>, durability: Durability) -> Result<()> {
    match own {
        Some(own) if durability == Durability::Sync => Err(Error::invalid(format!(
            "{own} of a graph is opened with durability `interval` or `none`, not `sync`: its commits are durable where \
             they were decided"
        ))),
        _ => Ok(()),
    }
}

/// A database that is being opened: its lock is held, its log not read yet.
pub struct OpenContext<'a> {
    /// Where its files lie.
    pub directory: &'a Arc<dyn Directory>,
    /// Its manifest, whose engine is one that [`DurableEngine::opens`] knows.
    pub manifest: &'a Manifest,
    /// Time, which stands at the manifest's C.
    pub timeline: &'a Arc<Timeline>,
    /// Whether threads may help.
    pub background: Background,
    /// Threads that read pages for others, 1 or more, of an engine that reads while it is open. None where `background`
    /// says so.
    pub io_threads: usize,
    /// Threads that merge files, 1 or more, of an engine that does so in the background. None where `background` says so.
    pub compaction_threads: usize,
    /// What the engine's caches and records reserve from, as algorithms do.
    pub budget: &'a Arc<MemoryBudget>,
    /// Bytes that changes may take before a merge takes them in, of an engine that shares these with other processes.
    pub live_bytes_max: u64,
}

/// An engine that was opened.
pub struct OpenedEngine<E> {
    /// The engine, with every commit through C.
    pub engine: E,
    /// Bytes that were read of its files.
    pub bytes_count: u64,
}

impl<E> OpenedEngine<E> {
    /// The same behind another type.
    pub fn map<A>(self, wrap: impl FnOnce(E) -> A) -> OpenedEngine<A> {
        OpenedEngine { engine: wrap(self.engine), bytes_count: self.bytes_count }
    }
}

/// A bulk load, whose shape was checked and whose names and rows have their numbers.
pub struct LoadPlan<'a> {
    /// The load.
    pub load: &'a Load,
    /// Its numbers.
    pub numbers: &'a Numbers,
    /// What building may take beside the blocks and what it makes. More only where it can't do with less.
    pub memory_bytes: u64,
    /// The types whose edges are in an index.
    pub indexed: HashSet<TypeId>,
    /// What changes of vertices that are there, ascending by vertex, one entry each: properties without an index. None, for an
    /// engine that does not take them ([`DurableEngine::takes_vertex_changes`]).
    pub changes: Vec<VertexChange>,
}

/// Hears of edges that were put in place, and may fail to cancel.
pub type OnLoadProgress<'a> = dyn FnMut(u64) -> Result<()> + 'a;

/// Files of an engine that are held open, so that they can be copied whatever becomes of their names.
pub trait PinnedFiles {
    /// How many bytes copying them reads.
    fn bytes(&self) -> u64;

    /// Writes them to `target` under their names and syncs them; bytes written. `progress` hears of each stretch
    /// of bytes and may stop it.
    ///
    /// # Errors
    /// `Corrupt` if a file isn't what was written; what `progress` and the system say.
    fn copy(
        &self,
        target: &dyn Directory,
        progress: &mut dyn FnMut(u64) -> CheckpointResult<()>,
    ) -> CheckpointResult<u64>;
}

/// What an engine without threads does in one step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineStep {
    /// A round of background work: what is due.
    Due,
    /// The same after a quiet while: what is idle, if nothing is due.
    Idle,
}

/// An engine whose graph outlives the process.
pub trait DurableEngine: Engine {
    /// What is built of a bulk load before it is installed.
    type Load: Send;

    /// The engine of a new database for which none was chosen.
    const NEW: &'static str;

    /// Whether this opens databases whose manifest names `engine`.
    fn opens(engine: &str) -> bool;

    /// Whether a database of `engine`, which [`DurableEngine::opens`] knows, may have one partition of a graph, as
    /// [`Manifest::partition`] says then: edges with one side, and merges that keep to
    /// [`Timeline::merge_limit`]. Not by default.
    fn takes_partition(engine: &str) -> bool {
        let _ = engine;
        false
    }

    /// The section of a manifest of `engine`, which [`DurableEngine::opens`] knows, for a database in which nothing
    /// was ever committed.
    fn empty_section(engine: &str) -> Vec<u8>;

    /// The bytes that everything of a database of `engine` may take together, where `asked_bytes` were asked for;
    /// [`u64::MAX`] if none were. Asked before a database is created or opened. By default what was asked for.
    ///
    /// # Errors
    /// `invalid` for less than the engine can work with.
    fn memory_limit(engine: &str, asked_bytes: u64) -> Result<u64> {
        let _ = engine;
        Ok(asked_bytes)
    }

    /// The bytes that writes of one transaction may take by default, in a database of `engine` that may take
    /// `memory_limit_bytes`; [`u64::MAX`] if the engine has no opinion.
    fn transaction_bytes_max(engine: &str, memory_limit_bytes: u64) -> u64 {
        let _ = (engine, memory_limit_bytes);
        u64::MAX
    }

    /// Whether a file of this name is one of an engine's that this opens. Such files are removed from a directory
    /// in which a backup, salvage or conversion was left unfinished.
    fn is_file(name: &str) -> bool;

    /// The engine whose file is called `name`, if one that this opens calls its files so: where no manifest says it.
    fn engine_of_file(name: &str) -> Option<&'static str> {
        Self::is_file(name).then_some(Self::NEW)
    }

    /// Opens the files that a manifest names, and removes what an interrupted checkpoint left. The log follows, by
    /// [`Engine::replay`].
    ///
    /// The directory is synced before anything is removed: the manifest that was read could be one whose
    /// renaming a power cut still takes back, and then the files of the one before are needed.
    ///
    /// # Errors
    /// `Corrupt`, and what the system says.
    fn open(opening: &OpenContext<'_>) -> CheckpointResult<OpenedEngine<Self>>;

    /// Makes a checkpoint while others commit: see the rules above. Asked for by any thread; one is made at a time,
    /// the others wait. `progress` may stop it up to the renaming of the manifest.
    ///
    /// # Errors
    /// `Cancelled`, `Poisoned`, those of the log, and what the system says: a
    /// full disk among it, which heals. The checkpoint before is valid then.
    fn checkpoint(
        &self,
        sources: &CheckpointSources<'_>,
        progress: &mut OnCheckpointProgress<'_>,
    ) -> CheckpointResult<CheckpointOutcome>;

    /// Whether a checkpoint is due for reasons of the engine's own, beside those of the front; of a store that is about to
    /// be closed, whether closing would lose work. Cheap.
    fn wants_checkpoint(&self, is_closing: bool) -> bool {
        let _ = is_closing;
        false
    }

    /// Does `work` while no checkpoint is made: the manifest on disk stays, and every file that it needs.
    fn holding<T>(&self, work: impl FnOnce() -> T) -> T;

    /// Opens the files that `manifest` names, so that they can be copied later. Inside of
    /// [`DurableEngine::holding`].
    ///
    /// # Errors
    /// `Corrupt`, and what the system says.
    fn pin_files(&self, manifest: &Manifest) -> CheckpointResult<Box<dyn PinnedFiles>>;

    /// Whether a load may change properties of vertices that are there.
    fn takes_vertex_changes(&self) -> bool {
        false
    }

    /// Builds what becomes of a load. Nothing of it is seen yet; every commit is readable, and none comes
    /// meanwhile.
    ///
    /// # Errors
    /// `limit` for too many edges of one type at a group, or too many parallel ones; `invalid` for parallel ones of
    /// a simple type; what reading blocks and `progress` say.
    fn build_load(&self, plan: &LoadPlan<'_>, progress: &mut OnLoadProgress<'_>) -> Result<Self::Load>;

    /// Reads the new vertices of a load, and of its edges those of new vertices and of indexed types, for index
    /// checks. `timestamp` is the one that the load will have.
    fn view_load<'a>(&'a self, load: &'a Self::Load, timestamp: Timestamp) -> Self::View<'a>;

    /// Takes what a load's rows, and what the store has already, come to in an index that the engine keeps, before the load
    /// is installed: entries of an index that is there, or all of a new one, which is ready with the load. `None` as
    /// [`Engine::fill_index`].
    ///
    /// # Errors
    /// `limit` if the budget refuses.
    fn fill_load<'a>(
        &'a self,
        load: &'a Self::Load,
        index: IndexId,
        at: Timestamp,
    ) -> Result<Option<Box<dyn IndexFill + 'a>>> {
        let _ = (load, index, at);
        Ok(None)
    }

    /// Installs a load. Under the latch, before it is published; cannot fail.
    fn install_load(&self, timestamp: Timestamp, load: &Self::Load) -> Self::Displaced;

    /// Does background work until [`DurableEngine::close`]: the life of a thread.
    fn run_background(&self);

    /// Does a piece of that work now, in a store without threads.
    fn step(&self, step: EngineStep);

    /// Asks [`DurableEngine::run_background`] to return.
    fn close(&self);

    /// Removes files that only an open database needs. The caller has the database's lock, and nothing writes any more: the
    /// engine's threads have ended, and the next process may open the database as soon as the lock is given back. What can't be
    /// removed stays for the next opening.
    fn let_go(&self) {}

    /// Checks the files that `manifest` names. Nobody writes to them.
    ///
    /// # Errors
    /// `cancelled`, and what the system says. Damage is a finding.
    fn check_files(
        directory: &dyn Directory,
        manifest: &Manifest,
        report: &mut Report,
        progress: &mut CheckProgress<'_>,
    ) -> Result<()>;

    /// Writes the graph of `source` into `directory`, which has no files of an engine, as files of `engine`, which
    /// [`DurableEngine::opens`] knows; syncs them. Gives the manifest that names them, with every group of the source,
    /// and their bytes. Each group, type and side is asked for once.
    ///
    /// Cost: one pass over the source; memory as for one segment, or less.
    ///
    /// # Errors
    /// What reading the source says, `cancelled` among it; `limit` on a full disk, `io`. Files may be left then.
    fn write_graph<V: View>(
        engine: &str,
        source: &mut GraphSource<'_, V>,
        directory: &Arc<dyn Directory>,
    ) -> Result<(Manifest, u64)>;

    /// Writes what verifies of `source` to `target`, with the same ids; what doesn't is listed.
    ///
    /// # Errors
    /// `corrupt` if nothing can be named; `invalid` for a target that is taken; `busy`, `limit`, `io`, `cancelled`.
    /// What was written is removed then.
    fn salvage(
        source: SalvageSource<'_>,
        target: &SalvageTarget<'_>,
        progress: &mut CheckProgress<'_>,
    ) -> Result<Salvaged>;
}
