//! Front: what all transactions of one store share, above its engine.

use crate::engine::Engine;
use crate::index::directory::IndexDirectory;
use crate::log::writer::Log;
use crate::memory_budget::MemoryBudget;
use crate::notes::owning::{Owning, refusal};
use crate::notes::versions::NoteVersions;
use crate::sync::ArcCell;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::timeline::clock::Timeline;
use crate::transaction::names::Names;
use crate::vertex_ids::VertexIds;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::note::OWNER_NOTE;
use std::sync::Arc;

/// The shared state of a store.
///
/// Concurrency: each part says its own; the commit latch in `timeline` orders all changes of
/// `catalogue`, `indexes`, `notes` and `owning`, and they change before the commit is published. So whoever reads them
/// after taking a timestamp sees at least what that timestamp names.
pub struct Front<E: Engine> {
    pub(crate) engine: Arc<E>,
    pub(crate) timeline: Arc<Timeline>,
    pub(crate) log_access: LogAccess,
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

/// Who writes the log of a store.
#[derive(Clone)]
pub enum LogAccess {
    /// This process does.
    Writes(Arc<Log>),
    /// Another process does: this one reads.
    Reads(WriterProcess),
}

impl<E: Engine> Front<E> {
    /// The log, to write.
    ///
    /// # Errors
    /// `invalid` in a store that only reads, naming the process that writes.
    #[inline]
    pub(crate) fn log(&self) -> Result<&Arc<Log>> {
        match &self.log_access {
            LogAccess::Writes(log) => Ok(log),
            LogAccess::Reads(writer) => Err(read_only(writer())),
        }
    }

    /// The newest names that another process shares, in a store that reads them there. One that writes has its own.
    pub(crate) fn shared_catalogue(&self, pin: &E::Pin) -> Option<Arc<Catalogue>> {
        match &self.log_access {
            LogAccess::Writes(_) => None,
            LogAccess::Reads(_) => self.engine.shared_catalogue(pin),
        }
    }

    /// Why somebody may not write: see [`Owning`].
    pub(crate) fn not_owner(&self) -> Error {
        refusal(self.notes.newest(OWNER_NOTE).as_deref())
    }
}

#[cold]
fn read_only(writer: Option<u32>) -> Error {
    Error::invalid(match writer {
        Some(writer) => format!(
            "the database is open to be read here, and to be written in process {writer}: change it through that process"
        ),
        None => "the database is open to be read here: open it to be written to change it".to_owned(),
    })
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
