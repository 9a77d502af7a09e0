//! Compactor: what is due is compacted, and its outputs take the place of its inputs in the set.
//!
//! ```text
//! set, R ──pick──> inputs ──job──> outputs, durable ──> checkpoint lock, latch: outputs in place of inputs
//!                    └ one that overlaps nothing: moves to the next level as it is
//! manifest   the next checkpoint names the outputs; when it is durable, the inputs that one named are removed
//! ```
//!
//! - The manifest on disk names inputs until then, and so they stay: after a crash the outputs are removed, and what
//!   the log has after C comes on top of the inputs. Inputs that no manifest ever named, such as outputs of
//!   compactions since the last one, are removed at once: the log, or files that are named, have all of them.
//! - A checkpoint is due when nothing else is, when replaced files take much space, and before closing.
//! - The swap holds the checkpoint lock. A checkpoint through C takes the files of the set whose last commit is at
//!   most C. An output has the commits of all its inputs, and must not mix those before C with later ones while a
//!   checkpoint is made; at the next one all of them are before C, since they are readable now.
//! - Older snapshots keep the inputs in the sets that they pinned, open, whatever becomes of their names.
//! - Several compactions may be under way, each in an area of its own (`compaction_areas.rs`), and are installed in any
//!   order. An area is taken while the set is looked at, and is free when the outputs are in the set.
//!
//! Source: disk-engine, section 4 (Compact), rules D1 to D3; LSMGraph (SIGMOD 2024), section 4.3. Differs: the manifest
//! follows the set, at the next checkpoint.

use crate::compact::job::CompactionJob;
use crate::compaction_areas::{CompactionArea, TakenArea};
use crate::durable::files::FilesOnDisk;
use crate::engine::DiskEngine;
use crate::file::csr_file::CsrFile;
use crate::format::file_name::FileNumber;
use crate::format::subject::SubjectKind;
use crate::merge::delete_rule::DeleteRule;
use crate::pick::limits::{FLUSHED_RUNS_MAX, PickLimits};
use crate::pick::picker::{PickedCompaction, pick, pick_beside};
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::planted::{Bug, planted};
use std::sync::Arc;
use std::time::Duration;

/// What the memory of compactions is called in a budget.
pub const COMPACTION_PURPOSE: &str = "compaction";
/// Runs of L0 that are merged at once where memory is short.
const RUNS_MIN: usize = 2;

/// A compaction that is under way: it has its area and its memory, and nothing is written yet.
///
/// Dropped, it is given up.
#[must_use = "a compaction that is dropped is given up"]
pub struct BegunCompaction<'e> {
    engine: &'e DiskEngine,
    picked: PickedCompaction<CsrFile>,
    /// `None` of a file that moves to the next level as it is.
    work: Option<(CompactionJob, Reservation)>,
    area: TakenArea<'e>,
}

/// A compaction whose outputs are durable, and not in the set yet. Dropped, it is given up, and they are removed.
#[must_use = "a compaction that is dropped is given up"]
pub struct WrittenCompaction<'e> {
    engine: &'e DiskEngine,
    picked: PickedCompaction<CsrFile>,
    outputs: Vec<Arc<CsrFile>>,
    /// How long that took; `None` if nothing had to be written.
    took: Option<Duration>,
    unused: UnusedFiles<'e>,
    /// Given back last.
    _area: TakenArea<'e>,
}

/// Files that were written and are not in the set; removed when this is dropped.
struct UnusedFiles<'e> {
    engine: &'e DiskEngine,
    numbers: Vec<FileNumber>,
}

impl Drop for UnusedFiles<'_> {
    fn drop(&mut self) {
        for number in self.numbers.drain(..) {
            // What cannot be removed now goes when the database is opened next.
            let _ = self.engine.files().remove(number);
        }
    }
}

impl DiskEngine {
    /// Does the compaction that is most urgent of those that are possible beside others; returns whether one was. Waits for
    /// a checkpoint that is under way.
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
        if self.remove_dropped()? {
            return Ok(true);
        }
        let Some(begun) = self.begin_compaction(limits)? else { return Ok(false) };
        begun.write()?.install()?;
        Ok(true)
    }

    /// Begins the compaction that is most urgent by `limits`, of those that are possible beside others; `None` if there is
    /// none, or no memory for it until one of the others ends. [`DiskEngine::compact_once`] does all of it.
    ///
    /// # Errors
    /// `Refused` if there is no memory for it, and no other is under way.
    pub fn begin_compaction(&self, limits: &PickLimits) -> CheckpointResult<Option<BegunCompaction<'_>>> {
        let mut runs_max = FLUSHED_RUNS_MAX;
        loop {
            // Before the set: of an index that is filled by now, this set may lack the scan.
            let builds = self.indexes().builds();
            // Held until the areas are unlocked: the last one who holds a set frees its files.
            let mut looked_at = None;
            let taken = self.compaction_areas().take(|under_way| {
                let set = looked_at.insert(Arc::clone(&self.tree().current().set));
                // R only grows: what is readable now of a set taken before is readable.
                let readable = self.timeline().readable();
                let picked = pick_beside(under_way, set, readable, limits, runs_max)?;
                let area = picked.area()?;
                Some((picked, area))
            });
            drop(looked_at);
            let Some((picked, area)) = taken else { return Ok(None) };
            if picked.may_move() {
                return Ok(Some(BegunCompaction { engine: self, picked, work: None, area }));
            }
            // After it: of an index that began before, it has entries.
            let kept = self.indexes().subjects();
            let deletes = DeleteRule::new(picked.below, builds.without_scan(&kept));
            let mut job = CompactionJob::new(picked.inputs.clone(), picked.output_level, deletes)
                .within(self.budget().limit_bytes(), self.compaction_threads());
            job.kept_indexes = Some(kept);
            job.filters = self.tuning().filters;
            match self.budget().reserve(COMPACTION_PURPOSE, job.memory_bytes()) {
                Ok(memory) => {
                    return Ok(Some(BegunCompaction {
                        engine: self,
                        picked,
                        work: Some((job, memory)),
                        area,
                    }));
                }
                // Fewer runs at once take less memory, and are written again sooner.
                Err(_) if picked.input_level == 0 && runs_max > RUNS_MIN => runs_max /= 2,
                // The others give theirs back.
                Err(_) if self.compaction_areas().count() > 1 => return Ok(None),
                Err(refused) => return Err(CheckpointError::Refused(refused)),
            }
        }
    }

    /// Takes the files below L0 out of the set that have nothing but entries of indexes that were dropped; whether there
    /// were any.
    fn remove_dropped(&self) -> CheckpointResult<bool> {
        let set = Arc::clone(&self.tree().current().set);
        // After the set: of an index that began before, it has entries.
        let kept = self.indexes().subjects();
        let is_dropped = |file: &&Arc<CsrFile>| {
            file.directory_rows().iter().all(|row| {
                matches!(row.subject.kind(), SubjectKind::Index(_)) && !kept.contains(&row.subject)
            })
        };
        let mut removed = false;
        for (level, files) in (0_u8..).zip(set.levels()).skip(1) {
            let inputs: Vec<_> = files.iter().filter(is_dropped).cloned().collect();
            let Some(area) = CompactionArea::of(level..=level, &inputs) else { continue };
            // A compaction that meets them leaves these entries out by itself, or they go when it has ended.
            let is_free =
                |under_way: &[Arc<CompactionArea>]| !under_way.iter().any(|other| other.meets(&area));
            let taken =
                self.compaction_areas().take(|under_way| is_free(under_way).then(|| ((), area.clone())));
            removed |= taken.is_some() && self.replace(&inputs, level, &[])?;
        }
        Ok(removed)
    }

    /// Whether a compaction is due or under way. Cost: a pick.
    #[must_use]
    pub fn is_compaction_due(&self) -> bool {
        if self.compaction_areas().count() > 0 {
            return true;
        }
        let set = Arc::clone(&self.tree().current().set);
        pick(&set, self.timeline().readable(), self.pick_limits()).is_some()
    }

    fn replace(
        &self,
        inputs: &[Arc<CsrFile>],
        level: u8,
        outputs: &[Arc<CsrFile>],
    ) -> CheckpointResult<bool> {
        let mut on_disk = self.files().lock_checkpoint();
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
        // Before their names go. One that can't be opened keeps its name for now; whoever reads it then hears why, if it still
        // can't.
        let is_readable = |file: &Arc<CsrFile>| planted(Bug::RemovedNotKept) || file.keep_open().is_ok();
        let (named, unnamed): (Vec<_>, Vec<_>) =
            replaced.iter().partition(|file| on_disk.may_be_named(file.number()));
        self.files().note_compacted(named.iter().map(|file| file.stored().bytes()).sum());
        named.iter().for_each(|file| _ = is_readable(file));
        let kept =
            unnamed.iter().filter(|file| !is_readable(file) || self.files().remove(file.number()).is_err());
        on_disk.add_unremoved(kept.map(|file| file.stored()));
    }
}

impl<'e> BegunCompaction<'e> {
    /// What is compacted, and where to.
    #[must_use]
    pub fn picked(&self) -> &PickedCompaction<CsrFile> {
        &self.picked
    }

    /// Writes the outputs, durable when this returns. Cost: as [`CompactionJob::run`].
    ///
    /// # Errors
    /// As [`CompactionJob::run`], and those of opening the outputs; `Cancelled` when the engine closes. Nothing is left of
    /// them then.
    pub fn write(self) -> CheckpointResult<WrittenCompaction<'e>> {
        let Self { engine, picked, work, area } = self;
        let mut unused = UnusedFiles { engine, numbers: Vec::new() };
        let Some((job, memory)) = work else {
            let outputs = picked.inputs.clone();
            return Ok(WrittenCompaction { engine, picked, outputs, took: None, unused, _area: area });
        };
        let clock = engine.timeline().clock();
        let began = clock.now();
        let directory = engine.files().directory();
        let stop = || engine.pacing().is_closed() || engine.compaction_areas().is_stopped();
        let stored = job.run(directory, &mut || engine.files().take_number(), &stop)?;
        unused.numbers = stored.iter().map(|stored| stored.number).collect();
        // Indexes of the outputs take its place, and then that of the inputs'.
        drop(memory);
        let open = |stored| CsrFile::open_in_place(directory, &stored, engine.page_reader()).map(Arc::new);
        let outputs = stored.into_iter().map(open).collect::<CheckpointResult<Vec<_>>>()?;
        let took = Some(clock.now().saturating_sub(began));
        Ok(WrittenCompaction { engine, picked, outputs, took, unused, _area: area })
    }
}

impl WrittenCompaction<'_> {
    /// Puts the outputs in the place of the inputs; whether the set was still one that they fit into. If not, a load or the
    /// build of an index has changed it, and they are removed. Waits for a checkpoint that is under way.
    ///
    /// # Errors
    /// What the system says of removing inputs.
    pub fn install(mut self) -> CheckpointResult<bool> {
        let PickedCompaction { inputs, output_level, .. } = &self.picked;
        if !self.engine.replace(inputs, *output_level, &self.outputs)? {
            return Ok(false);
        }
        self.unused.numbers.clear();
        if let Some(took) = self.took {
            let written: u64 = self.outputs.iter().map(|file| file.stored().bytes()).sum();
            let rows = self.outputs.iter().flat_map(|file| file.directory_rows());
            let records: u64 = rows.map(|row| row.difference.unsigned_abs()).sum();
            let read = inputs.iter().map(|file| file.stored().bytes()).sum();
            self.engine.compactions().compacted(took, read, written, records);
        }
        Ok(true)
    }
}
