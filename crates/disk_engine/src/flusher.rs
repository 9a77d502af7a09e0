//! Flusher: frozen memory graphs become files of the set, one after the other, oldest first.
//!
//! ```text
//! checkpointer's place ──> oldest frozen graph ──> file, synced ──> [ manifest names it ] ──> install: in the set
//! ```
//!
//! A checkpoint (`durable/checkpoint`) does all of it: it syncs the log first, and writes its manifest before it
//! installs. What is here flushes without log and manifest: in a store that is never opened again, in one without
//! threads whose writers would wait for nobody, and while a log is replayed. That is safe as long as no manifest
//! names the file: a crash loses the file and not the log, and the next manifest that names it comes from a checkpoint,
//! which syncs the log first.
//!
//! Lock order: the checkpointer's place, latch, registry. Nothing is locked but the place while a file is written.
//!
//! Source: disk-engine, section 4 (flush).

use crate::engine::DiskEngine;
use crate::file::csr_file::CsrFile;
use crate::flush::write_generation;
use crate::generation::Generation;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointResult;
use std::sync::Arc;
use std::time::Duration;

impl DiskEngine {
    /// Freezes the open graph, unless it has no commit. Returns W as of that moment: files and frozen graphs have
    /// every commit through it. Takes the latch.
    ///
    /// # Errors
    /// `limit` if the budget refuses the next graph.
    pub fn freeze_open(&self) -> Result<Timestamp> {
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
            return Ok(published);
        }
    }

    /// Flushes the oldest frozen graph without log and manifest, if all of its commits are readable; returns whether
    /// it did. Waits for the checkpointer's place.
    ///
    /// # Errors
    /// What the writer and the system say. The graph is as it was then, and is written to another file the next time;
    /// what was written of this one is removed.
    pub fn flush_oldest(&self) -> CheckpointResult<bool> {
        let _place = self.files().hold();
        let oldest = self.tree().with_current(|current| current.frozen().first().cloned());
        let Some(generation) = oldest.filter(|oldest| self.tree().is_readable(oldest)) else {
            return Ok(false);
        };
        let graph = generation.graph().expect("a graph is freed when it has a file");
        let clock = self.timeline().clock();
        let began = clock.now();
        let number = self.files().take_number();
        let written = write_generation(self.files().directory(), number, &graph).and_then(|stored| {
            let open = |stored| CsrFile::open(self.files().directory(), &stored, self.page_reader());
            stored.map(open).transpose()
        });
        drop(graph);
        match written {
            Ok(file) => {
                let took = clock.now().saturating_sub(began);
                self.install(&generation, file.map(Arc::new), took);
                Ok(true)
            }
            Err(error) => {
                // What cannot be removed now goes when the database is opened next.
                let _ = self.files().remove(number);
                Err(error)
            }
        }
    }

    /// Puts the file of the oldest frozen generation, which took so long to write, into the set in place of its graph;
    /// `None` if there was nothing to write. With the checkpointer's place; takes latch and registry. Then frees graphs
    /// that nobody needs, and wakes writers that wait.
    ///
    /// # Panics
    /// As [`Tree::install`](crate::tree::Tree::install).
    pub fn install(
        &self,
        generation: &Arc<Generation<CsrFile>>,
        file: Option<Arc<CsrFile>>,
        took: Duration,
    ) {
        let bytes = file.as_ref().map(|file| file.stored().bytes());
        drop(self.tree().install(generation, file));
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
