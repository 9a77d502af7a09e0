//! Flusher: frozen memory graphs become files of the set, one after the other, oldest first.
//!
//! ```text
//! flush lock ──> oldest frozen graph, all of it readable ──> file, synced ──> install: in the set
//! ```
//!
//! Three callers flush: the background thread; a checkpoint; and a writer that nobody else would serve, in a store without
//! threads and during replay. No manifest names the file before the next checkpoint does (`durable/checkpoint`). That is
//! safe: until then a crash loses the file and not the log, which a checkpoint alone prunes.
//!
//! Lock order: the checkpoint lock, the flush lock, latch, registry. No other lock is held while
//! a file is written.
//!
//! Source: disk-engine, section 4 (flush).

use crate::engine::DiskEngine;
use crate::file::csr_file::CsrFile;
use crate::flush::write_generation_watched;
use crate::generation::Generation;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::timeline::clock::LatchState;
use std::sync::Arc;
use std::time::Duration;

/// What the memory of flushes is called in a budget.
pub const FLUSH_PURPOSE: &str = "flushes";
/// What a flush takes: a span of each file, filters, and the records of a long list. Pages of columns that wait for the
/// end of their subject come on top.
const FLUSH_BYTES: u64 = 4 << 20;
/// Bytes for such pages that are reserved at once.
const WAITING_STEP_BYTES: u64 = 1 << 20;

/// What a flush wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlushedGeneration {
    /// Bytes of its file; `None` if it changed nothing and has no file.
    pub bytes: Option<u64>,
}

impl DiskEngine {
    /// Flushes everything that is readable now, and does the compactions that are due: for tests, benchmarks and quiet
    /// times. What fails is told to writers that wait, as of background work.
    pub fn merge_everything(&self) {
        let merged = self.flush_all().and_then(|()| {
            while self.compact_once()? {}
            Ok(())
        });
        if let Err(error) = merged {
            self.pacing().note_failure(error.to_string());
        }
    }

    /// Flushes everything that is readable now.
    ///
    /// # Errors
    /// As [`DiskEngine::flush_oldest`].
    pub fn flush_all(&self) -> CheckpointResult<()> {
        self.freeze_and(|_| ()).map_err(CheckpointError::Refused)?;
        while self.flush_oldest()? {}
        Ok(())
    }

    /// Freezes the open graph, unless it has no commit. Returns W as of that moment: files and frozen graphs have
    /// every commit through it. Takes the latch.
    ///
    /// # Errors
    /// `limit` if the budget refuses the next graph.
    pub fn freeze_open(&self) -> Result<Timestamp> {
        Ok(self.freeze_by(|| self.supply().make_ready(), |_| ())?.0)
    }

    /// The same for who flushes it at once, and what `look` finds at that moment, under the latch. A full budget does not
    /// stop it: the next graph takes less than flushing this one frees.
    ///
    /// # Errors
    /// `limit` if writers were promised more than a graph holds.
    pub fn freeze_and<T>(&self, look: impl Fn(&LatchState) -> T) -> Result<(Timestamp, T)> {
        self.freeze_by(|| self.supply().make_ready_in_place(), look)
    }

    fn freeze_by<T>(
        &self,
        make_ready: impl Fn() -> Result<()>,
        look: impl Fn(&LatchState) -> T,
    ) -> Result<(Timestamp, T)> {
        loop {
            if self.tree().open_graph().last().is_some() {
                make_ready()?;
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
            let (published, found) = (self.timeline().published(), look(&latch));
            drop(latch);
            drop(replaced);
            return Ok((published, found));
        }
    }

    /// Flushes the oldest frozen graph, if all of its commits are readable; returns whether it did. Waits for the flush
    /// lock.
    ///
    /// # Errors
    /// What the writer and the system say. The graph is as it was then, and is written to another file the next time;
    /// what was written of this one is removed.
    pub fn flush_oldest(&self) -> CheckpointResult<bool> {
        Ok(self.flush_oldest_if(|oldest| self.tree().is_readable(oldest))?.is_some())
    }

    /// Flushes the oldest frozen graph, if it has no commit after `through`, up to which the log is synced: for a
    /// checkpoint.
    ///
    /// # Errors
    /// As [`DiskEngine::flush_oldest`].
    pub fn flush_oldest_through(&self, through: Timestamp) -> CheckpointResult<Option<FlushedGeneration>> {
        self.flush_oldest_if(|oldest| oldest.last().is_none_or(|last| last <= through))
    }

    fn flush_oldest_if(
        &self,
        is_due: impl Fn(&Generation<CsrFile>) -> bool,
    ) -> CheckpointResult<Option<FlushedGeneration>> {
        let _lock = self.files().lock_flush();
        let oldest = self.tree().with_current(|current| current.frozen().first().cloned());
        let Some(generation) = oldest.filter(|oldest| is_due(oldest)) else { return Ok(None) };
        let graph = generation.graph().expect("a graph is freed when it has a file");
        let clock = self.timeline().clock();
        let began = clock.now();
        // A full budget does not stop what frees a graph.
        let mut reserved = vec![self.budget().reserve_anyway(FLUSH_PURPOSE, FLUSH_BYTES)];
        let mut reserved_bytes = FLUSH_BYTES;
        let mut count_waiting = |waiting_bytes: u64| {
            let missing = (FLUSH_BYTES + waiting_bytes).saturating_sub(reserved_bytes);
            if missing > 0 {
                let more = missing.max(WAITING_STEP_BYTES);
                reserved.push(self.budget().reserve_anyway(FLUSH_PURPOSE, more));
                reserved_bytes += more;
            }
        };
        let (number, directory) = (self.files().take_number(), self.files().directory());
        let filters = self.tuning().filters;
        let written = write_generation_watched(directory, number, &graph, filters, &mut count_waiting);
        drop(reserved);
        let written = written.and_then(|stored| {
            let open = |stored| CsrFile::open_in_place(directory, &stored, self.page_reader());
            stored.map(open).transpose()
        });
        drop(graph);
        match written {
            Ok(file) => {
                let bytes = file.as_ref().map(|file| file.stored().bytes());
                let took = clock.now().saturating_sub(began);
                self.install(&generation, file.map(Arc::new), took);
                Ok(Some(FlushedGeneration { bytes }))
            }
            Err(error) => {
                // What cannot be removed now goes when the database is opened next.
                let _ = self.files().remove(number);
                Err(error)
            }
        }
    }

    /// Puts the file of the oldest frozen generation, which took so long to write, into the set in place of its graph;
    /// `None` if there was nothing to write. Then frees graphs that nobody needs, and wakes writers that wait.
    fn install(&self, generation: &Arc<Generation<CsrFile>>, file: Option<Arc<CsrFile>>, took: Duration) {
        let bytes = file.as_ref().map(|file| file.stored().bytes());
        let last = generation.last().unwrap_or(Timestamp::ZERO);
        drop(self.tree().install(generation, file, |other| other.stored().first_ts > last));
        if let Some(bytes) = bytes {
            self.flushes().flushed(took, bytes);
        }
        self.free_graphs();
        self.pacing().wake_writers();
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
