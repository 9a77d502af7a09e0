//! Picker: which files of the level that is due are merged with which of the next, so that no record passes a newer one.
//!
//! ```text
//! L0    [      c      ] [ d ]        c, b, a: one component, its hull is a .. z
//!         [   b   ]
//!       [ a ]
//! L4      [ e ]  [  f  ]   [ g ]     of L0: c b a with e f, into L4, the base level
//! L5    [  h  ][ i ][ j ][ k ]       of L4, over its size: g with k, the least overlap a byte
//! ```
//!
//! *Order.* A compaction puts its outputs below every file that stays in the level of its inputs. So, of L0:
//!
//! - with a file go all older files of L0 that overlap it: left in L0, an older file would hide newer records
//!   in the outputs;
//! - with the inputs go all files of the output level that overlap their *hull*, the smallest range with all
//!   their keys, since an output may reach over any gap between inputs. These may widen the hull; what overlaps
//!   the wider one alone is newer, in L0, or not in the output level, whose files are disjoint.
//!
//! A *component* is a set of files of L0 that overlap directly or through each other; different ones have
//! disjoint hulls. The oldest files of one are taken, as many as the limits in bytes and in runs allow: an older
//! one is never left out.
//!
//! *Readable files alone.* All files of a set are readable (rule D1), so every snapshot that pins the set
//! after the swap has an S at which all inputs count, and outputs need no stamps. The one exception are the
//! files of a bulk load that is installed and not yet checkpointed: snapshots before it may pin the set that
//! has it, and leave its files out. Merged with others they could not be left out any more. They are inputs
//! when their commit is readable.
//!
//! *Deletes* may be dropped if no deeper file overlaps the hull ([`Below::Nothing`]). Levels between L0 and
//! the base level are empty.
//!
//! *Beside others.* A compaction is picked so that its area meets none of those that are under way (`compaction_areas.rs`);
//! what those take out of a level is not counted there any more. Files of L0 mostly have keys of all subjects: while they
//! wait for a compaction out of the base level, no further one is picked there, since there would always be one.
//!
//! Source: disk-engine, section 4; LSMGraph (SIGMOD 2024), section 4.3, takes all overlapping files of L0 at
//! once. RocksDB's choice by least overlap (Dong et al., CIDR 2017, section 3).

use crate::compaction_areas::CompactionArea;
use crate::file_set::{FileSet, sorted_runs};
use crate::format::file_head::FileStamps;
use crate::key_range::KeyRange;
use crate::merge::delete_rule::Below;
use crate::pick::level_sizes::{BOTTOMMOST, LevelScore, LevelSizes};
use crate::pick::limits::{FLUSHED_RUNS_MAX, PickLimits};
use crate::stored_file::KeyedFile;
use evergraph_graph::timestamp::Timestamp;
use std::sync::Arc;

/// A compaction that is due.
#[derive(Clone, Debug)]
pub struct PickedCompaction<F> {
    /// What is merged, newest first: files of the input level, L0's by age, then those of the output level,
    /// by key.
    pub inputs: Vec<Arc<F>>,
    /// The level of the first inputs.
    pub input_level: u8,
    /// The level of the outputs, and of the other inputs.
    pub output_level: u8,
    /// Whether an older record of a key may lie below the outputs.
    pub below: Below,
}

impl<F: KeyedFile> PickedCompaction<F> {
    /// Whether the input may become a file of the output level as it is, by an edit of the manifest alone: it
    /// overlaps nothing there, and has no stamps. Its Deletes stay.
    #[must_use]
    pub fn may_move(&self) -> bool {
        matches!(self.inputs.as_slice(), [input] if input.stored().stamps == FileStamps::Unstamped)
    }

    /// What it reads and writes; `None` without inputs. Cost: a comparison of keys an input.
    #[must_use]
    pub fn area(&self) -> Option<CompactionArea> {
        CompactionArea::of(self.input_level..=self.output_level, &self.inputs)
    }
}

/// The compaction of `set` that is most urgent; `None` if none is due, or none is possible before more is
/// readable.
///
/// `readable` is R when the set was taken, or later. The set that the compaction is installed in may have new
/// files in L0 since; it must not have others in the output level ([`FileSet::with_compacted`] refuses that).
///
/// Cost: O(files x log files), and comparisons of keys.
#[must_use]
pub fn pick<F: KeyedFile>(
    set: &FileSet<F>,
    readable: Timestamp,
    limits: &PickLimits,
) -> Option<PickedCompaction<F>> {
    pick_beside(&[], set, readable, limits, FLUSHED_RUNS_MAX)
}

/// The same beside compactions that are under way, with areas that it does not meet; and with at most `runs_max` runs of L0,
/// and at least one, where memory is short. `set` has what every compaction has installed that is not `under_way`.
///
/// Cost: as [`pick`], and for each file a look into each of the areas.
#[must_use]
pub fn pick_beside<F: KeyedFile>(
    under_way: &[Arc<CompactionArea>],
    set: &FileSet<F>,
    readable: Timestamp,
    limits: &PickLimits,
    runs_max: usize,
) -> Option<PickedCompaction<F>> {
    let sizes = LevelSizes::of(set, limits);
    let picker = Picker { under_way, set, readable, limits, runs_max, base: sizes.base };
    let mut due: Vec<LevelScore> = Vec::with_capacity(BOTTOMMOST);
    let flushed = match under_way {
        [] => set.flushed_runs(),
        _ => sorted_runs(&picker.staying(0)),
    };
    if flushed >= limits.flushed_runs.max(1) {
        due.push(LevelScore { level: 0, has: flushed as u64, wants: limits.flushed_runs.max(1) as u64 });
    }
    for level in sizes.base..BOTTOMMOST {
        let (has, wants) = (sizes.bytes[level] - picker.leaving_bytes(level), sizes.targets[level]);
        if has > wants {
            due.push(LevelScore { level, has, wants });
        }
    }
    due.sort_by(LevelScore::by_urgency);
    let mut has_waiting = false;
    due.into_iter().find_map(|due| match due.level {
        0 => {
            let picked = picker.flushed();
            has_waiting = picked.is_none() && !under_way.is_empty();
            picked
        }
        // L0 is compacted when those out of the base level have ended.
        level if level == sizes.base && has_waiting => None,
        level => picker.deeper(level),
    })
}

/// What one pick looks at.
pub(super) struct Picker<'a, F> {
    pub(super) under_way: &'a [Arc<CompactionArea>],
    pub(super) set: &'a FileSet<F>,
    pub(super) readable: Timestamp,
    pub(super) limits: &'a PickLimits,
    pub(super) runs_max: usize,
    pub(super) base: usize,
}

impl<F: KeyedFile> Picker<'_, F> {
    fn is_readable(&self, file: &Arc<F>) -> bool {
        file.stored().last_ts <= self.readable
    }

    /// Whether a compaction under way takes a file of `level` to another one.
    fn is_leaving(&self, level: usize, file: &Arc<F>) -> bool {
        self.under_way.iter().any(|area| area.takes_from(level, file.stored()))
    }

    /// The files of a level but for those that compactions under way take to another one.
    fn staying(&self, level: usize) -> Vec<Arc<F>> {
        self.set.level(level).iter().filter(|file| !self.is_leaving(level, file)).cloned().collect()
    }

    /// The bytes of those that they take.
    fn leaving_bytes(&self, level: usize) -> u64 {
        if self.under_way.is_empty() {
            return 0;
        }
        let leaving = self.set.level(level).iter().filter(|file| self.is_leaving(level, file));
        leaving.map(|file| file.stored().bytes()).sum()
    }

    /// Of L0: the component with the most files that may be compacted.
    fn flushed(&self) -> Option<PickedCompaction<F>> {
        // A compaction of what overlaps a file that is left out here would meet the one that takes it.
        let flushed = self.staying(0);
        // What is newer than an unreadable file may stay above it, what is older must not be passed over.
        let unreadable = flushed.iter().rposition(|file| !self.is_readable(file)).map_or(0, |at| at + 1);
        let mut components = components(&flushed[unreadable..]);
        components.sort_by_key(|component| std::cmp::Reverse(component.len()));
        components.into_iter().find_map(|component| {
            // Oldest first, so that what is left out is newer than what is taken.
            let mut bytes = 0;
            let oldest_first = component.iter().rev().take(self.runs_max.max(1)).take_while(|file| {
                let is_first = bytes == 0;
                bytes += file.stored().bytes().max(1);
                is_first || bytes <= self.limits.flushed_bytes_max
            });
            let mut taken: Vec<_> = oldest_first.map(|file| Arc::clone(file)).collect();
            taken.reverse();
            self.compaction(0, self.base, taken)
        })
    }

    /// Of a level below L0: the file with the least overlap a byte that may be compacted.
    pub(super) fn deeper(&self, level: usize) -> Option<PickedCompaction<F>> {
        let (files, below) = (self.set.level(level), self.set.level(level + 1));
        let overlap = |file: &Arc<F>| -> u64 {
            let overlapped = KeyRange::of_file(file.stored()).overlapped(below);
            overlapped.iter().map(|other| other.stored().bytes()).sum()
        };
        let mut by_overlap: Vec<_> =
            files.iter().map(|file| (overlap(file), file.stored().bytes().max(1), file)).collect();
        by_overlap.sort_by(|(overlap, bytes, _), (other_overlap, other_bytes, _)| {
            let cross = |a: u64, b: u64| u128::from(a) * u128::from(b);
            cross(*overlap, *other_bytes).cmp(&cross(*other_overlap, *bytes))
        });
        by_overlap
            .into_iter()
            .find_map(|(_, _, file)| self.compaction(level, level + 1, vec![Arc::clone(file)]))
    }

    /// That of `inputs`, newest first, and what they overlap in the output level, if all of it is readable.
    fn compaction(
        &self,
        input_level: usize,
        output_level: usize,
        mut inputs: Vec<Arc<F>>,
    ) -> Option<PickedCompaction<F>> {
        let overlapped = KeyRange::hull(&inputs)?.overlapped(self.set.level(output_level));
        inputs.extend(overlapped.iter().cloned());
        if !inputs.iter().all(|file| self.is_readable(file)) {
            return None;
        }
        let hull = KeyRange::hull(&inputs)?;
        // Levels are at most five.
        let (first_level, last_level) = (input_level as u8, output_level as u8);
        let area = CompactionArea::of(first_level..=last_level, &inputs)?;
        if self.under_way.iter().any(|other| other.meets(&area)) {
            return None;
        }
        let has_older =
            (output_level + 1..=BOTTOMMOST).any(|level| !hull.overlapped(self.set.level(level)).is_empty());
        let below = if has_older { Below::OlderRecords } else { Below::Nothing };
        Some(PickedCompaction { inputs, input_level: first_level, output_level: last_level, below })
    }
}

/// The components of `files`, which are newest first, and stay so in each.
fn components<F: KeyedFile>(files: &[Arc<F>]) -> Vec<Vec<&Arc<F>>> {
    let mut by_key: Vec<usize> = (0..files.len()).collect();
    by_key.sort_by(|a, b| files[*a].stored().first_key.cmp(&files[*b].stored().first_key));
    let mut components: Vec<(KeyRange<'_>, Vec<usize>)> = Vec::new();
    for at in by_key {
        let range = KeyRange::of_file(files[at].stored());
        match components.last_mut().filter(|(hull, _)| hull.overlaps(range)) {
            Some((hull, places)) => {
                *hull = hull.with(range);
                places.push(at);
            }
            None => components.push((range, vec![at])),
        }
    }
    let in_order = components.into_iter().map(|(_, mut places)| {
        places.sort_unstable();
        places.into_iter().map(|at| &files[at]).collect()
    });
    in_order.collect()
}
