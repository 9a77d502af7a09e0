//! Compactor: what is due is compacted, and its outputs take the place of its inputs in the set.
//!
//! ```text
//! set, R ──pick──> inputs ──job──> outputs, durable ──> checkpointer's place, latch: outputs in place of inputs
//!                    └ one that overlaps nothing: moves to the next level as it is
//! manifest   the next checkpoint names the outputs; when it is durable, the inputs that one named are removed
//! ```
//!
//! - The manifest on disk names inputs until then, and so they stay: after a crash the outputs are removed, and what
//!   the log has after C comes on top of the inputs. Inputs that no manifest ever named, such as outputs of
//!   compactions since the last one, are removed at once: the log, or files that are named, have all of them.
//! - A checkpoint is due when nothing else is, when replaced files take much space, and before closing.
//! - The swap holds the checkpointer's place. A checkpoint through C takes the files of the set whose last commit is at
//!   most C. An output has the commits of all its inputs, and must not mix those before C with later ones while a
//!   checkpoint is made; at the next one all of them are before C, since they are readable now.
//! - Older snapshots keep the inputs in the sets that they pinned, open as they are, whatever becomes of their names.
//!
//! Source: disk-engine, section 4 (Compact), rules D1 to D3; LSMGraph (SIGMOD 2024), section 4.3. Differs: the manifest
//! follows the set, at the next checkpoint.

use crate::compact::job::CompactionJob;
use crate::durable::files::FilesOnDisk;
use crate::engine::DiskEngine;
use crate::file::csr_file::CsrFile;
use crate::file_set::FileSet;
use crate::format::file_name::FileNumber;
use crate::format::subject::{Subject, SubjectKind};
use crate::merge::delete_rule::DeleteRule;
use crate::pick::{FLUSHED_RUNS_MAX, PickLimits, PickedCompaction, pick, pick_within};
use evergraph_graph::budget::Budget;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::planted::{Bug, planted};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the memory of compactions is called in a budget.
pub const COMPACTION_PURPOSE: &str = "compaction";
/// Runs of L0 that are merged at once where memory is short.
const RUNS_MIN: usize = 2;

impl DiskEngine {
    /// Does the compaction that is most urgent; returns whether one was due. One at a time: its thread's affair, or that
    /// of who steps the engine. Waits for a checkpoint that is under way.
    ///
    /// Cost: as [`CompactionJob::run`].
    ///
    /// # Errors
    /// Those of the job: damage, a full disk, the budget, closing. The set is as it was then, and what was written is
    /// removed.
    pub fn compact_once(&self) -> CheckpointResult<bool> {
        self.compact_by(self.pick_limits())
    }

    /// The same, by other limits: so a test sees compactions of a few small files.
    ///
    /// # Errors
    /// As [`DiskEngine::compact_once`].
    pub fn compact_by(&self, limits: &PickLimits) -> CheckpointResult<bool> {
        // Before the set: of an index that is filled by now, this set may lack the scan.
        let builds = self.indexes().builds();
        let set = Arc::clone(&self.tree().current().set);
        // After it: of an index that began before, it has entries.
        let kept = self.indexes().subjects();
        if self.remove_dropped(&set, &kept)? {
            return Ok(true);
        }
        // R only grows: what is readable now of a set taken before is readable.
        let readable = self.timeline().readable();
        let building = builds.without_scan(&kept);
        let mut runs_max = FLUSHED_RUNS_MAX;
        let (picked, mut job, reserved) = loop {
            let Some(picked) = pick_within(&set, readable, limits, runs_max) else { return Ok(false) };
            if picked.may_move() {
                drop(set);
                self.install_compacted(&picked, &picked.inputs)?;
                return Ok(true);
            }
            let deletes = DeleteRule::new(picked.below, building.iter().copied());
            let job = CompactionJob::new(picked.inputs.clone(), picked.output_level, deletes)
                .within(self.budget().limit_bytes());
            match self.budget().reserve(COMPACTION_PURPOSE, job.memory_bytes()) {
                Ok(reserved) => break (picked, job, reserved),
                // Fewer runs at once take less memory, and are written again sooner.
                Err(_) if picked.input_level == 0 && runs_max > RUNS_MIN => runs_max /= 2,
                Err(refused) => return Err(CheckpointError::Refused(refused)),
            }
        };
        drop(set);
        job.kept_indexes = Some(kept);
        let clock = self.timeline().clock();
        let began = clock.now();
        let directory = self.files().directory();
        let stop = || self.pacing().is_closed();
        let stored = job.run(directory, &mut || self.files().take_number(), &stop)?;
        let numbers: Vec<FileNumber> = stored.iter().map(|stored| stored.number).collect();
        // Indexes of the outputs take its place, and then that of the inputs'.
        drop(reserved);
        let open = |stored| CsrFile::open_in_place(directory, &stored, self.page_reader()).map(Arc::new);
        let outputs: CheckpointResult<Vec<_>> = stored.into_iter().map(open).collect();
        let installed = outputs.and_then(|outputs| {
            let written: u64 = outputs.iter().map(|file| file.stored().bytes()).sum();
            let rows = outputs.iter().flat_map(|file| file.directory_rows());
            let records: u64 = rows.map(|row| row.difference.unsigned_abs()).sum();
            Ok(self.install_compacted(&picked, &outputs)?.then_some((written, records)))
        });
        if let Ok(Some((written, records))) = installed {
            let read = picked.inputs.iter().map(|file| file.stored().bytes()).sum();
            self.compactions().compacted(clock.now().saturating_sub(began), read, written, records);
            return Ok(true);
        }
        for number in numbers {
            // What cannot be removed now goes when the database is opened next.
            let _ = self.files().remove(number);
        }
        installed.map(|_| true)
    }

    /// Takes the files below L0 out of the set that have nothing but entries of indexes that were dropped; whether there
    /// were any.
    fn remove_dropped(&self, set: &FileSet<CsrFile>, kept: &BTreeSet<Subject>) -> CheckpointResult<bool> {
        let is_dropped = |file: &&Arc<CsrFile>| {
            file.directory_rows().iter().all(|row| {
                matches!(row.subject.kind(), SubjectKind::Index(_)) && !kept.contains(&row.subject)
            })
        };
        let mut removed = false;
        for (level, files) in (0_u8..).zip(set.levels()).skip(1) {
            let inputs: Vec<_> = files.iter().filter(is_dropped).cloned().collect();
            removed |= !inputs.is_empty() && self.replace(&inputs, level, &[])?;
        }
        Ok(removed)
    }

    /// Whether a compaction is due or under way. Cost: a pick.
    #[must_use]
    pub fn is_compaction_due(&self) -> bool {
        let set = Arc::clone(&self.tree().current().set);
        pick(&set, self.timeline().readable(), self.pick_limits()).is_some()
    }

    /// Puts `outputs` in the place of the inputs; whether the set was still one that they fit into.
    fn install_compacted(
        &self,
        picked: &PickedCompaction<CsrFile>,
        outputs: &[Arc<CsrFile>],
    ) -> CheckpointResult<bool> {
        self.replace(&picked.inputs, picked.output_level, outputs)
    }

    fn replace(
        &self,
        inputs: &[Arc<CsrFile>],
        level: u8,
        outputs: &[Arc<CsrFile>],
    ) -> CheckpointResult<bool> {
        let mut on_disk = self.files().hold();
        let replaced = {
            let _latch = self.timeline().latch();
            self.tree().replace_compacted(inputs, level, outputs)
        };
        let Some(replaced) = replaced else { return Ok(false) };
        let is_left = |input: &&Arc<CsrFile>| !outputs.iter().any(|output| Arc::ptr_eq(output, input));
        if planted(Bug::InputsRemovedEarly) {
            inputs.iter().filter(is_left).try_for_each(|input| self.files().remove(input.number()))?;
        }
        let left: Vec<_> = inputs.iter().filter(is_left).cloned().collect();
        self.retire(&mut on_disk, &left);
        drop(on_disk);
        drop(replaced);
        self.pacing().note_compaction();
        Ok(true)
    }

    /// Files that are in the set no more: what no manifest ever named is removed at once, since readers have it open and a
    /// crash would remove it; the others with the next manifest.
    pub(crate) fn retire(&self, on_disk: &mut FilesOnDisk, replaced: &[Arc<CsrFile>]) {
        if replaced.is_empty() {
            return;
        }
        replaced.iter().for_each(|file| file.note_replaced());
        let (named, unnamed): (Vec<_>, Vec<_>) =
            replaced.iter().partition(|file| on_disk.may_be_named(file.number()));
        self.files().note_compacted(named.iter().map(|file| file.stored().bytes()).sum());
        let kept = unnamed.iter().filter(|file| self.files().remove(file.number()).is_err());
        on_disk.add_unremoved(kept.map(|file| file.stored()));
    }
}
