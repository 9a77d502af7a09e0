//! Checkpoint: frozen memory graphs become files of level 0, and a manifest that names them replaces the one before.
//!
//! ```text
//! 1  latch      C := W; open graph frozen; catalogue, files and loads of that moment
//! 2             log synced through C
//! 3  each frozen generation, oldest first: its file written and synced, and opened
//! 4             groups, and how many of their ids were given out
//!    latch      a bulk load was installed since 1: begins anew, with the files that it has
//! 5  manifest   C = need: written aside, synced, renamed, directory synced
//! 6  install    each file takes its generation's place, under latch and registry
//! 7             log pruned; files that no manifest names any more removed
//! ```
//!
//! Why what is written is one graph. Every commit through C was appended before C was taken, so it is in a file of the
//! set or in a generation that is frozen by then; none later is, since the graph that takes them was opened under
//! the same latch. The catalogue is that of C. Groups are taken later: a vertex of the files has its id given out
//! in them, and ids of later commits that a crash undoes are never given out again. Recovery puts the log
//! after C on top.
//!
//! Rule D1 asks that a generation is installed when all of it is readable. In mode sync that is what step 2 gives: R
//! is the smaller of what is durable and W. While a bulk load holds R back, all generations are older than it.
//!
//! A failure before the renaming leaves everything as it was, but for frozen graphs: the next checkpoint writes them.
//! One during it leaves either manifest: the files of both stay until a later checkpoint is durable.
//!
//! Source: disk-engine, section 4 (Flush), and its model (`models/disk-protocol`); core-protocol section 8. Differs:
//! the manifest's edit needs the front's catalogue, groups and log, which it hands out to checkpoints only; so its
//! checkpoint thread writes the files, and a frozen graph makes a checkpoint due.

use crate::durable::files::{DatabaseFiles, FilesOnDisk};
use crate::durable::section::FileList;
use crate::engine::DiskEngine;
use crate::file::csr_file::CsrFile;
use crate::file_set::FileSet;
use crate::flush::write_generation;
use crate::format::file_name::FileNumber;
use crate::generation::Generation;
use crate::tree::Replaced;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::contract::{
    CheckpointOutcome, CheckpointProgress, CheckpointSources, OnCheckpointProgress,
};
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::checkpoint::manifest::{Manifest, NEW_FILE_NAME, remove_if_there};
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::timeline::clock::LatchState;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Makes a checkpoint of `engine`: as `DurableEngine::checkpoint`.
pub fn checkpoint(
    engine: &DiskEngine,
    sources: &CheckpointSources<'_>,
    progress: &mut OnCheckpointProgress<'_>,
) -> CheckpointResult<CheckpointOutcome> {
    let files = engine.files();
    let mut on_disk = files.hold();
    let done = CheckpointProgress::default();
    let (numbers, written) = (Vec::new(), Vec::new());
    let mut run = Run { engine, files, sources, progress, done, numbers, written, is_renaming: false };
    match run.make() {
        Ok((manifest, list)) => Ok(run.finish(&mut on_disk, &manifest, &list)),
        Err(error) => {
            run.forget(&mut on_disk);
            Err(error)
        }
    }
}

/// A generation and the file that was written of it; `None` if it had no records.
type Written = (Arc<Generation<CsrFile>>, Option<Arc<CsrFile>>);

/// One checkpoint under way.
struct Run<'a> {
    engine: &'a DiskEngine,
    files: &'a DatabaseFiles,
    sources: &'a CheckpointSources<'a>,
    progress: &'a mut OnCheckpointProgress<'a>,
    done: CheckpointProgress,
    /// Numbers of files that may have been created.
    numbers: Vec<FileNumber>,
    /// Oldest first.
    written: Vec<Written>,
    /// Whether the new manifest may be on disk.
    is_renaming: bool,
}

/// What a checkpoint covers.
struct Moment {
    /// C.
    through: Timestamp,
    catalogue: Arc<Catalogue>,
    set: Arc<FileSet<CsrFile>>,
    /// Oldest first.
    frozen: Vec<Arc<Generation<CsrFile>>>,
    loads: u64,
}

impl Run<'_> {
    /// The manifest that is on disk now, and its files.
    fn make(&mut self) -> CheckpointResult<(Manifest, FileList)> {
        loop {
            let moment = self.freeze()?;
            if !planted(Bug::NeedNotSynced) {
                self.sources.log.wait_durable(moment.through.0)?;
            }
            self.tell()?;
            self.write_files(&moment)?;
            let groups = (self.sources.groups)();
            {
                let latch = self.engine.tree().timeline().latch();
                check_healthy(&latch, self.sources)?;
                if latch.loads != moment.loads {
                    continue;
                }
            }
            if planted(Bug::PruneBeforeManifest) {
                self.sources.log.prune(moment.through.0)?;
            }
            self.sources.log.make_end_file()?;
            let mut manifest = Manifest {
                covered_through: moment.through,
                need: moment.through,
                next_file: self.files.next_number(),
                catalogue: Catalogue::clone(&moment.catalogue),
                groups,
                has_end_file: true,
                ..Manifest::empty(DiskEngine::NAME, Vec::new())
            };
            let list = self.list(&moment.set);
            list.put_into(&mut manifest)?;
            let (sources, timeline) = (self.sources, self.engine.tree().timeline());
            let is_renaming = &mut self.is_renaming;
            manifest.write(&**self.files.directory(), || {
                // Once more: a store that takes no commits any more, because it was closed or something failed,
                // leaves the manifest to whoever opens the database next.
                check_healthy(&timeline.latch(), sources)?;
                *is_renaming = true;
                Ok(())
            })?;
            return Ok((manifest, list));
        }
    }

    /// Takes C, and freezes what has commits up to it.
    fn freeze(&self) -> CheckpointResult<Moment> {
        let tree = self.engine.tree();
        let next = self.engine.new_graph()?;
        let (moment, replaced, unused) = {
            let latch = tree.timeline().latch();
            check_healthy(&latch, self.sources)?;
            let (replaced, unused): (Option<Replaced<CsrFile>>, _) = match tree.open_graph().last() {
                Some(_) => (Some(tree.switch(next)), None),
                None => (None, Some(next)),
            };
            let current = tree.current();
            let moment = Moment {
                through: tree.timeline().published(),
                catalogue: (self.sources.catalogue)(),
                set: Arc::clone(&current.set),
                frozen: current.frozen().to_vec(),
                loads: latch.loads,
            };
            (moment, replaced, unused)
        };
        drop((replaced, unused));
        Ok(moment)
    }

    /// Writes and opens the file of each frozen generation that has none yet.
    fn write_files(&mut self, moment: &Moment) -> CheckpointResult<()> {
        let directory = self.files.directory();
        self.done.groups_count = moment.frozen.len() as u64;
        // A checkpoint that a load overtook has written some of them.
        for generation in &moment.frozen[self.written.len()..] {
            let graph = generation.graph().expect("a graph is freed when it has a file");
            let number = self.files.take_number();
            self.numbers.push(number);
            let stored = write_generation(directory, number, &graph)?;
            let file = stored.map(|stored| {
                self.done.bytes_written += stored.bytes();
                CsrFile::open(directory, &stored, self.engine.page_reader()).map(Arc::new)
            });
            self.written.push((Arc::clone(generation), file.transpose()?));
            self.done.groups_done += 1;
            self.tell()?;
        }
        Ok(())
    }

    /// The files of the manifest: those of `set` with what was written.
    fn list(&self, set: &FileSet<CsrFile>) -> FileList {
        let new = self.written.iter().filter_map(|(_, file)| file.as_ref());
        let set = new.fold(set.clone(), |set, file| set.with_flushed(Arc::clone(file)));
        let files = set.iter().map(|file| file.stored().clone()).collect();
        FileList { files, ..FileList::default() }
    }

    /// After the manifest is durable: the files take their generations' places, and what nobody needs goes.
    fn finish(self, on_disk: &mut FilesOnDisk, manifest: &Manifest, list: &FileList) -> CheckpointOutcome {
        let mut outcome = CheckpointOutcome::new(manifest.covered_through, manifest.need);
        outcome.segments_count = list.files.len() as u64;
        outcome.bodies_written = self.written.iter().filter(|(_, file)| file.is_some()).count() as u64;
        outcome.bytes_written = self.done.bytes_written;
        let tree = self.engine.tree();
        for (generation, file) in self.written {
            drop(tree.install(&generation, file));
        }
        drop(tree.free_graphs());
        self.engine.pacing().wake_writers();
        match self.sources.log.prune(manifest.covered_through.0) {
            Ok(bytes) => outcome.log_bytes_freed = bytes,
            Err(error) => outcome.left_over = Some(error.into()),
        }
        if let Some(error) = on_disk.remove_unnamed(&**self.files.directory(), list) {
            outcome.left_over = Some(error.into());
        }
        outcome
    }

    /// After a failure: removes what was written, so that a full disk gets its space back. What cannot be removed now
    /// is removed, or told of, by the next checkpoint.
    fn forget(self, on_disk: &mut FilesOnDisk) {
        for number in self.numbers {
            // After the renaming began either manifest may be on disk: everything stays.
            if self.is_renaming || self.files.remove(number).is_err() {
                on_disk.add(number);
            }
        }
        if !self.is_renaming {
            let _ = remove_if_there(&**self.files.directory(), NEW_FILE_NAME);
        }
    }

    fn tell(&mut self) -> CheckpointResult<()> {
        match (self.progress)(self.done) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(CheckpointError::Cancelled),
        }
    }
}

/// Whether commits go on: what a panic left half done, or the log does not have, is not written.
fn check_healthy(latch: &LatchState, sources: &CheckpointSources<'_>) -> CheckpointResult<()> {
    match &latch.poisoned {
        Some(cause) => Err(CheckpointError::Poisoned { cause: cause.clone() }),
        None => Ok(sources.log.check_poison()?),
    }
}
