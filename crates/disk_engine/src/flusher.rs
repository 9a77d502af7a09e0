//! Flusher: frozen memory graphs become files of the set, one after the other, oldest first.
//!
//! ```text
//! place ──> oldest ──> write: file, synced ──> [ manifest names it ] ──> install: in the set
//! ```
//!
//! Who holds the place flushes; others wait for it, or do without. A database syncs the log through the generation's
//! last commit before it writes, and writes its manifest between `write` and `install` (`durable`). A store that is
//! never opened again does neither.
//!
//! Lock order: the place of the flush, then latch and registry, which `install` takes for an exchange. Nothing is
//! locked but the place while a file is written.
//!
//! Source: disk-engine, section 4 (flush).

use crate::engine::DiskEngine;
use crate::file::csr_file::CsrFile;
use crate::flush::write_generation;
use crate::generation::Generation;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::sync::MutexGuard;
use std::sync::Arc;
use std::time::Duration;

/// The place of the flush: whoever holds it is the only one that installs files of generations.
#[must_use = "the place is given back when this is dropped"]
pub struct FlushPlace<'e> {
    engine: &'e DiskEngine,
    _place: MutexGuard<'e, ()>,
}

/// A generation that was written, and is not in the set yet.
#[derive(Debug)]
pub struct WrittenGeneration {
    generation: Arc<Generation<CsrFile>>,
    file: Option<Arc<CsrFile>>,
    took: Duration,
}

impl WrittenGeneration {
    /// The file, open and durable; `None` if the generation changed nothing.
    #[must_use]
    pub const fn file(&self) -> Option<&Arc<CsrFile>> {
        self.file.as_ref()
    }

    /// F: the last commit of the generation, which the set covers when it is installed.
    #[must_use]
    pub fn last(&self) -> Timestamp {
        self.generation.last().unwrap_or(Timestamp::ZERO)
    }
}

impl DiskEngine {
    /// Freezes the open graph, unless it has no commit. Returns W as of that moment: files and frozen graphs have
    /// every commit through it. Takes the latch.
    ///
    /// # Errors
    /// `limit` if the budget refuses the next graph.
    pub fn freeze(&self) -> Result<Timestamp> {
        loop {
            if self.tree().open_graph().last().is_some() {
                self.supply().make_ready()?;
            }
            let latch = self.timeline().latch();
            let replaced = match self.tree().open_graph().last() {
                None => None,
                Some(_) => match self.supply().take() {
                    Some(next) => Some(self.tree().switch(next)),
                    // A writer took it, and filled a graph since.
                    None => continue,
                },
            };
            let published = self.timeline().published();
            drop(latch);
            drop(replaced);
            self.pacing().wake_background();
            return Ok(published);
        }
    }

    /// Waits for the place of the flush, and takes it.
    pub fn flush_place(&self) -> FlushPlace<'_> {
        FlushPlace { engine: self, _place: self.flushing().lock() }
    }

    /// Flushes the oldest frozen graph without a log and a manifest: for a store that is never opened again, for a
    /// store without threads that is behind, and while a log is replayed, whose manifest follows. Returns whether there
    /// was one whose commits are all readable.
    ///
    /// # Errors
    /// As [`FlushPlace::write`].
    pub fn flush_oldest(&self) -> CheckpointResult<bool> {
        let place = self.flush_place();
        let Some(generation) = place.oldest().filter(|oldest| self.tree().is_readable(oldest)) else {
            return Ok(false);
        };
        let written = place.write(&generation)?;
        place.install(written);
        Ok(true)
    }

    /// Frees the graphs of flushed generations that conflict checks do not need (rule D4). Takes the registry's lock
    /// for a look, if there are such graphs.
    pub fn free_graphs(&self) {
        let freed = self.tree().free_graphs();
        if !freed.is_empty() {
            drop(freed);
            self.pacing().wake_writers();
        }
    }
}

impl FlushPlace<'_> {
    /// The oldest generation that waits to be written, if there is one.
    #[must_use]
    pub fn oldest(&self) -> Option<Arc<Generation<CsrFile>>> {
        self.engine.tree().with_current(|current| current.frozen().first().cloned())
    }

    /// Writes a frozen generation to a file of the next number, synced, and opens it. Readers and writers go on.
    /// The file is not in the set yet, and nobody removes it: the next opening does, unless a manifest names it.
    ///
    /// # Errors
    /// What the writer, the file and the system say: the generation is as it was, and may be written again, to
    /// another file.
    pub fn write(&self, generation: &Arc<Generation<CsrFile>>) -> CheckpointResult<WrittenGeneration> {
        let engine = self.engine;
        let clock = engine.timeline().clock();
        let began = clock.now();
        let Some(graph) = generation.graph() else {
            // Only what is in the set has no graph; it is not the oldest that waits.
            let (generation, file) = (Arc::clone(generation), generation.file().cloned());
            return Ok(WrittenGeneration { generation, file, took: Duration::ZERO });
        };
        let stored = write_generation(engine.directory(), engine.take_file_number(), &graph)?;
        let file = match stored {
            Some(stored) => Some(Arc::new(CsrFile::open(engine.directory(), &stored, engine.reader())?)),
            None => None,
        };
        let took = clock.now().saturating_sub(began);
        Ok(WrittenGeneration { generation: Arc::clone(generation), file, took })
    }

    /// Puts a generation that was written into the set, in place of its graph. Takes latch and registry. Then frees
    /// the graphs that nobody needs.
    ///
    /// # Panics
    /// If it isn't the oldest, or has a commit that is not readable yet: the log is synced through its last commit
    /// before.
    pub fn install(&self, written: WrittenGeneration) {
        let WrittenGeneration { generation, file, took } = written;
        let bytes = file.as_ref().map_or(0, |file| file.stored().bytes());
        let replaced = self.engine.tree().install(&generation, file);
        self.engine.flushes().flushed(took, bytes);
        drop((replaced, generation));
        drop(self.engine.tree().free_graphs());
        self.engine.pacing().wake_writers();
    }
}
