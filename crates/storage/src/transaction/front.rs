//! Front: what all transactions of one store share, above its engine.

use crate::engine::Engine;
use crate::index::directory::IndexDirectory;
use crate::index::pending_fills::PendingFills;
use crate::log::writer::Log;
use crate::memory_budget::MemoryBudget;
use crate::notes::owning::{Owning, refusal};
use crate::notes::versions::NoteVersions;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{ArcCell, Mutex};
use crate::timeline::clock::Timeline;
use crate::transaction::graph_log::GraphLog;
use crate::transaction::names::Names;
use crate::vertex_ids::VertexIds;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::note::OWNER_NOTE;
use evergraph_graph::partition::OwnGroups;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// The shared state of a store.
///
/// Concurrency: each part says its own; the commit latch in `timeline` orders all changes of
/// `catalogue`, `indexes`, `notes` and `owning`, and they change before the commit is published. So whoever reads them
/// after taking a timestamp sees at least what that timestamp names.
pub struct Front<E: Engine> {
    /// Dropped first, while the engine that their snapshots hold something of is there for certain.
    pub(crate) fills: PendingFills<E>,
    pub(crate) engine: Arc<E>,
    pub(crate) timeline: Arc<Timeline>,
    pub(crate) log_access: LogAccess<E>,
    pub(crate) catalogue: ArcCell<Catalogue>,
    pub(crate) names: Names,
    pub(crate) ids: VertexIds,
    pub(crate) indexes: IndexDirectory,
    pub(crate) notes: NoteVersions,
    pub(crate) owning: Owning,
    pub(crate) budget: Arc<MemoryBudget>,
    pub(crate) counters: Counters,
    /// Bytes that the writes of one transaction may take.
    pub(crate) write_bytes_max: u64,
}

/// The process that writes what is read here, if it is known now.
pub type WriterProcess = Arc<dyn Fn() -> Option<u32> + Send + Sync>;

/// Finds the log in what a snapshot pins. A function, which the engine's kinds can be told apart in.
pub type LogOfPin<E> = for<'p> fn(&'p <E as Engine>::Pin) -> &'p dyn GraphLog;

/// Who writes the log of a store.
pub enum LogAccess<E: Engine> {
    /// This process does, with what its transactions commit.
    Writes(Arc<Log>),
    /// This process does, with commits that were decided elsewhere: the store has one partition of a graph.
    Applies(Arc<PartitionLog>),
    /// Another process does: this one reads.
    Reads(WriterProcess),
    /// All stores of one graph do, whose partitions lie elsewhere: the log decides, for this store by its pins.
    Shared(LogOfPin<E>),
}

impl<E: Engine> Clone for LogAccess<E> {
    fn clone(&self) -> Self {
        match self {
            Self::Writes(log) => Self::Writes(Arc::clone(log)),
            Self::Applies(partition) => Self::Applies(Arc::clone(partition)),
            Self::Reads(writer) => Self::Reads(Arc::clone(writer)),
            Self::Shared(log) => Self::Shared(*log),
        }
    }
}

/// The log of a store that has one partition of a graph.
///
/// Concurrency: `applying` is held while a commit is applied, before the commit latch: one at a time, in their order.
pub struct PartitionLog {
    pub(crate) log: Arc<Log>,
    pub(crate) own: OwnGroups,
    pub(crate) applying: Mutex<()>,
}

impl<E: Engine> LogAccess<E> {
    /// Writes `log`: with commits that were decided elsewhere, if the store has `own` groups of a graph only.
    #[must_use]
    pub fn of(log: Arc<Log>, own: Option<OwnGroups>) -> Self {
        match own {
            None => Self::Writes(log),
            Some(own) => Self::Applies(Arc::new(PartitionLog { log, own, applying: Mutex::default() })),
        }
    }
}

impl<E: Engine> Front<E> {
    /// Refuses whoever is about to write.
    ///
    /// # Errors
    /// `invalid` in a store that only reads, naming the process that writes, and in one of a partition.
    #[inline]
    pub(crate) fn check_writable(&self) -> Result<()> {
        match &self.log_access {
            LogAccess::Writes(_) | LogAccess::Shared(_) => Ok(()),
            LogAccess::Applies(partition) => Err(decided_elsewhere(partition.own)),
            LogAccess::Reads(writer) => Err(read_only(writer())),
        }
    }

    /// The log, to commit what is decided here.
    ///
    /// # Errors
    /// As [`Front::check_writable`]; `invalid` where a shared log decides.
    #[inline]
    pub(crate) fn log(&self) -> Result<&Arc<Log>> {
        match &self.log_access {
            LogAccess::Writes(log) => Ok(log),
            LogAccess::Applies(partition) => Err(decided_elsewhere(partition.own)),
            LogAccess::Reads(writer) => Err(read_only(writer())),
            LogAccess::Shared(_) => Err(decided_by_shared_log()),
        }
    }

    /// The log that this process writes, whoever decides what is committed.
    ///
    /// # Errors
    /// `invalid` where it writes none: who does.
    #[inline]
    pub(crate) fn own_log(&self) -> Result<&Arc<Log>> {
        match &self.log_access {
            LogAccess::Writes(log) => Ok(log),
            LogAccess::Applies(partition) => Ok(&partition.log),
            LogAccess::Reads(writer) => Err(read_only(writer())),
            LogAccess::Shared(_) => Err(no_own_log()),
        }
    }

    /// Refuses whoever would become the owner.
    ///
    /// # Errors
    /// As [`Front::log`]: only what is decided here can be one owner's.
    pub(crate) fn check_ownable(&self) -> Result<()> {
        match &self.log_access {
            LogAccess::Writes(_) => Ok(()),
            LogAccess::Applies(_) | LogAccess::Reads(_) => self.log().map(drop),
            LogAccess::Shared(_) => Err(Error::invalid(
                "a graph whose commits a shared log decides has no owner, and keeps no notes: follow a source in a database \
                 of its own",
            )),
        }
    }

    /// The log, to apply commits that were decided elsewhere.
    ///
    /// # Errors
    /// `invalid` in a store that has no partition of a graph.
    pub(crate) fn partition(&self) -> Result<&PartitionLog> {
        match &self.log_access {
            LogAccess::Applies(partition) => Ok(partition),
            LogAccess::Writes(_) | LogAccess::Reads(_) => Err(Error::invalid(
                "the store has a whole graph, whose commits are decided here: nothing is applied to it",
            )),
            LogAccess::Shared(_) => Err(decided_by_shared_log()),
        }
    }

    /// The newest names that are shared, in a store whose graph lies elsewhere. Others have their own.
    pub(crate) fn shared_catalogue(&self, pin: &E::Pin) -> Option<Arc<Catalogue>> {
        match &self.log_access {
            LogAccess::Writes(_) | LogAccess::Applies(_) => None,
            LogAccess::Reads(_) | LogAccess::Shared(_) => self.engine.shared_catalogue(pin),
        }
    }

    /// Why somebody may not write: see [`Owning`].
    pub(crate) fn not_owner(&self) -> Error {
        refusal(self.notes.newest(OWNER_NOTE).as_deref())
    }
}

#[cold]
fn decided_elsewhere(own: OwnGroups) -> Error {
    Error::invalid(format!(
        "the store has {own} of a graph: what changes it is decided for the whole graph, and applied here"
    ))
}

#[cold]
fn no_own_log() -> Error {
    Error::invalid(
        "this store writes no log and no files: what it commits is in a log that all stores of the graph share, durable when \
         the commit returns. For checkpoints, backups and checks ask the nodes that keep the partitions",
    )
}

#[cold]
pub(crate) fn decided_by_shared_log() -> Error {
    Error::invalid(
        "the partitions of the graph lie elsewhere, and a log that all share decides what is committed: this is done in \
         transactions, or by whoever keeps the partitions",
    )
}

/// A change of a store that only reads: the cause of an error of kind `invalid`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadOnlyStore {
    /// The process that writes, if it is known.
    pub writer: Option<u32>,
}

impl fmt::Display for ReadOnlyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.writer {
            Some(writer) => write!(
                f,
                "the database is open to be read here, and to be written in process {writer}: change it through that process"
            ),
            None => write!(f, "the database is open to be read here: open it to be written to change it"),
        }
    }
}

impl StdError for ReadOnlyStore {}

#[cold]
fn read_only(writer: Option<u32>) -> Error {
    let cause = ReadOnlyStore { writer };
    Error::invalid(cause.to_string()).because(cause)
}

/// Counters for `stats`. Nothing is decided by them.
#[derive(Debug, Default)]
pub struct Counters {
    commits: AtomicU64,
    conflicts: AtomicU64,
    renamed: AtomicU64,
}

impl Counters {
    /// A commit was published, with `renamed` edges renamed.
    #[inline]
    pub fn committed(&self, renamed: usize) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        if renamed > 0 {
            self.renamed.fetch_add(renamed as u64, Ordering::Relaxed);
        }
    }

    /// A commit was refused because another transaction was first.
    #[inline]
    pub fn conflicted(&self) {
        self.conflicts.fetch_add(1, Ordering::Relaxed);
    }

    /// Commits, conflicts and renamed edges so far.
    #[must_use]
    #[inline]
    pub fn load(&self) -> (u64, u64, u64) {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (load(&self.commits), load(&self.conflicts), load(&self.renamed))
    }
}
