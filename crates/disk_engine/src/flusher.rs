//! Flusher: frozen memory graphs become files of the set, one after the other, oldest first.
//!
//! ```text
//! place of the flush ──> oldest frozen graph ──> file, written, synced, opened ──> install: in the set
//! ```
//!
//! Who holds the place flushes; others wait for it, or do without. No manifest names the file yet: a crash loses it and
//! not the log, which only a checkpoint prunes. The manifest that names it comes from a checkpoint, which syncs the log
//! through C first (`durable/checkpoint`).
//!
//! Lock order: the checkpointer's place, the place of the flush, latch, registry. Nothing is locked but the places
//! while a file is written.
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
use evergraph_storage::timeline::clock::LatchState;
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
    /// Freezes the open graph, unless it has no commit, and calls `look` under the same latch. Returns W as of that
    /// moment: files and frozen graphs have every commit through it, and no other.
    ///
    /// # Errors
    /// `limit` if the budget refuses the next graph.
    pub fn freeze_and<T>(&self, look: impl FnOnce(&LatchState) -> T) -> Result<(Timestamp, T)> {
        loop {
            if self.tree().open_graph().last().is_some() {
                self.supply().make_ready()?;
            }
            let latch = self.timeline().latch();
            let replaced = match self.tree().open_graph().last() {
                None => None,
                Some(_) => match self.supply().take() {
                    Some(next) => Some(self.tree().switch(next)),
                    // A writer took it, and went on in it.
                    None => continue,
                },
            };
            let looked = look(&latch);
            let published = self.timeline().published();
            drop(latch);
            drop(replaced);
            return Ok((published, looked));
        }
    }

    /// Waits for the place of the flush, and takes it.
    pub fn flush_place(&self) -> FlushPlace<'_> {
        FlushPlace { engine: self, _place: self.flushing().lock() }
    }

    /// Flushes the oldest frozen graph, if all of its commits are readable; returns whether it did. Waits for the place
    /// of the flush.
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
            self.flushes().freed(freed.len());
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

    /// Writes a frozen generation, which is not in the set, to a file of the next number, synced, and opens it. Readers
    /// and writers go on.
    ///
    /// # Errors
    /// What the writer, the file and the system say: the generation is as it was, and is written to another file the
    /// next time.
    ///
    /// # Panics
    /// If the generation has no graph any more: then it is in the set.
    pub fn write(&self, generation: &Arc<Generation<CsrFile>>) -> CheckpointResult<WrittenGeneration> {
        let engine = self.engine;
        let clock = engine.timeline().clock();
        let began = clock.now();
        let graph = generation.graph().expect("a graph is freed when its file is in the set");
        let directory = engine.files().directory();
        let stored = write_generation(directory, engine.files().take_number(), &graph)?;
        let open = |stored| CsrFile::open(directory, &stored, engine.page_reader()).map(Arc::new);
        let file = stored.map(open).transpose()?;
        let took = clock.now().saturating_sub(began);
        Ok(WrittenGeneration { generation: Arc::clone(generation), file, took })
    }

    /// Puts a generation that was written into the set, in place of its graph; takes latch and registry. Then frees
    /// graphs that nobody needs, and wakes writers that wait.
    ///
    /// # Panics
    /// As [`Tree::install`](crate::tree::Tree::install).
    pub fn install(&self, written: WrittenGeneration) {
        let last = written.last();
        let WrittenGeneration { generation, file, took } = written;
        let bytes = file.as_ref().map(|file| file.stored().bytes());
        let is_newer = |other: &CsrFile| other.stored().first_ts > last;
        drop(self.engine.tree().install(&generation, file, is_newer));
        if let Some(bytes) = bytes {
            self.engine.flushes().flushed(took, bytes);
        }
        self.engine.free_graphs();
        self.engine.pacing().wake_writers();
    }
}
