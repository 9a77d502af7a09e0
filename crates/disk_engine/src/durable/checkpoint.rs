//! Checkpoint: frozen memory graphs become files of level 0, and a manifest that names them replaces the one before.
//!
//! ```text
//! 1  latch      C := W; open graph frozen; catalogue of that moment, and how many loads were installed
//! 2             log synced through C
//! 3  flush      each generation through C, oldest first: written, synced, in the set
//! 4             files of the set through C; groups, and how many of their ids were given out
//!    latch      a bulk load was installed since 1: begins anew
//! 5  manifest   C = need: written aside, synced, renamed, directory synced
//! 6             log pruned; files that no manifest names any more removed
//! ```
//!
//! Why what is written is one graph. Every commit through C was appended before C was taken, so it is in a file of the
//! set or in a generation that is frozen by then. The graph that takes later ones was opened under the same latch, so each
//! file has commits through C alone, or after C alone. The catalogue is that of C. Groups are taken later: the id of
//! each vertex in the files was given out by then, and gaps do no harm. Recovery puts the log after C on top.
//!
//! Flush and manifest are apart: a generation that is flushed in the background (`background.rs`) is in the set, and its
//! file in no manifest yet. After a crash the log has its commits, since nothing is pruned but by a checkpoint, and
//! opening removes the file.
//!
//! Rule D1 asks that all of a generation is readable when it is installed. In mode sync that is what step 2 gives: R
//! is the smaller of what is durable and W. While a bulk load holds R back, all generations are older than it.
//!
//! A failure before the renaming leaves the manifest as it was; what was flushed stays in the set. One during it leaves
//! either manifest: the files of both stay until a later checkpoint is durable.
//!
//! Source: disk-engine, section 4 (Flush), and its model; core-protocol section 8. Differs: a
//! file is in the set before a manifest names it, so that writers wait for a flush alone, and not for the front's
//! checkpoint thread, which alone has the log, the catalogue and the ids that a manifest takes.

use crate::durable::files::{DatabaseFiles, FilesOnDisk};
use crate::durable::section::FileList;
use crate::engine::DiskEngine;
use crate::stored_file::StoredFile;
use evergraph_graph::catalogue::Catalogue;
use evergraph_storage::checkpoint::contract::{
    CheckpointOutcome, CheckpointProgress, CheckpointSources, OnCheckpointProgress,
};
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::checkpoint::manifest::{Manifest, NEW_FILE_NAME, remove_if_there};
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::timeline::clock::LatchState;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Makes a checkpoint of `engine`: as `DurableEngine::checkpoint`. Takes the checkpoint lock.
///
/// # Errors
/// As `DurableEngine::checkpoint`.
pub fn checkpoint(
    engine: &DiskEngine,
    sources: &CheckpointSources<'_>,
    progress: &mut OnCheckpointProgress<'_>,
) -> CheckpointResult<CheckpointOutcome> {
    let files = engine.files();
    let mut on_disk = files.lock_checkpoint();
    let (done, flushed) = (CheckpointProgress::default(), 0);
    let mut run = CheckpointRun { engine, files, sources, progress, done, flushed };
    loop {
        let Some((mut manifest, list)) = run.gather()? else { continue };
        list.put_into(&mut manifest)?;
        run.replace_manifest(&manifest, &list, &mut on_disk)?;
        engine.indexes().named(manifest.covered_through);
        return Ok(run.clean_up(&mut on_disk, &manifest, &list));
    }
}

/// One checkpoint under way.
struct CheckpointRun<'a> {
    engine: &'a DiskEngine,
    files: &'a DatabaseFiles,
    sources: &'a CheckpointSources<'a>,
    progress: &'a mut OnCheckpointProgress<'a>,
    done: CheckpointProgress,
    /// Files that were written.
    flushed: u64,
}

impl CheckpointRun<'_> {
    /// A manifest, but for the files, and the files; `None` if a bulk load overtook the checkpoint.
    fn gather(&mut self) -> CheckpointResult<Option<(Manifest, FileList)>> {
        let (sources, timeline) = (self.sources, self.engine.tree().timeline());
        let frozen = self.engine.freeze_and(|latch| {
            check_healthy(latch, sources)?;
            // Under the latch W stands still: it is C.
            let named = ((sources.catalogue)(), (sources.notes)(timeline.published()));
            Ok::<_, CheckpointError>((named, latch.loads, self.engine.indexes().ready()))
        });
        let (through, looked) = frozen.map_err(CheckpointError::Refused)?;
        let ((catalogue, notes), loads, indexes) = looked?;
        if !planted(Bug::NeedNotSynced) {
            sources.log.wait_durable(through.0)?;
        }
        self.done.groups_count += self.engine.tree().with_current(|current| current.frozen().len()) as u64;
        self.tell()?;
        while let Some(flushed) = self.engine.flush_oldest_through(through)? {
            self.done.groups_done += 1;
            if let Some(bytes) = flushed.bytes {
                self.done.bytes_written += bytes;
                self.flushed += 1;
            }
            self.tell()?;
        }
        let set = Arc::clone(&self.engine.tree().current().set);
        // A file is in the level that the set has it in, whatever it was written for.
        let placed = (0..).zip(set.levels()).flat_map(|(level, files)| {
            files.iter().map(move |file| StoredFile { level, ..file.stored().clone() })
        });
        let files = placed.filter(|stored| stored.last_ts <= through).collect();
        // Later than all that the files have entries of.
        let next_subject = self.engine.indexes().next_subject();
        let list = FileList { files, indexes, next_subject };
        let groups = (sources.groups)();
        {
            let latch = timeline.latch();
            check_healthy(&latch, sources)?;
            if latch.loads != loads {
                return Ok(None);
            }
        }
        if planted(Bug::PruneBeforeManifest) {
            sources.log.prune(through.0)?;
        }
        sources.log.make_end_file()?;
        let manifest = Manifest {
            covered_through: through,
            need: through,
            next_file: self.files.next_number(),
            catalogue: Catalogue::clone(&catalogue),
            groups,
            notes,
            has_end_file: true,
            ..Manifest::empty(DiskEngine::NAME, Vec::new())
        };
        Ok(Some((manifest, list)))
    }

    fn replace_manifest(
        &self,
        manifest: &Manifest,
        list: &FileList,
        on_disk: &mut FilesOnDisk,
    ) -> CheckpointResult<()> {
        let directory = &**self.files.directory();
        let mut is_renaming = false;
        let written = manifest.write(directory, || {
            // Once more: a store that takes no commits any more, because it was closed or something failed,
            // leaves the manifest to whoever opens the database next.
            check_healthy(&self.engine.tree().timeline().latch(), self.sources)?;
            is_renaming = true;
            Ok(())
        });
        if written.is_err() {
            if is_renaming {
                on_disk.add(list);
            } else {
                // What cannot be removed now is removed, or told of, by the next checkpoint.
                let _ = remove_if_there(directory, NEW_FILE_NAME);
            }
        }
        written
    }

    /// After the manifest is durable: what nobody needs goes.
    fn clean_up(&self, on_disk: &mut FilesOnDisk, manifest: &Manifest, list: &FileList) -> CheckpointOutcome {
        let mut outcome = CheckpointOutcome::new(manifest.covered_through, manifest.need);
        outcome.segments_count = list.files.len() as u64;
        outcome.bodies_written = self.flushed;
        outcome.bytes_written = self.done.bytes_written;
        match self.sources.log.prune(manifest.covered_through.0) {
            Ok(bytes) => outcome.log_bytes_freed = bytes,
            Err(error) => outcome.left_over = Some(error.into()),
        }
        self.files.note_named();
        if let Some(error) = on_disk.remove_unnamed(&**self.files.directory(), list) {
            outcome.left_over = Some(error.into());
        }
        outcome
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
