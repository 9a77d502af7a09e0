//! Pick: which files are compacted next, and into which level.
//!
//! ```text
//! L0    [      c      ] [ d ]        c, b, a: one component, its hull is a .. z
//!         [   b   ]
//!       [ a ]
//! L1-3  empty: the base level is the first one that the data needs
//! L4      [ e ]  [  f  ]   [ g ]     of L0: c b a with e f, into L4
//! L5    [  h  ][ i ][ j ][ k ]       of L4, over its size: g with k, the least overlap a byte
//! ```
//!
//! *Sizes* are set from the bottom up: the largest level keeps its size, each level above it a tenth of the
//! one below. Levels that would be smaller than a compaction of L0 are left out, so that small graphs have
//! one level and each byte is written once or twice; L0 goes to the first one that is left, the *base level*.
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
//! once. RocksDB's `level_compaction_dynamic_level_bytes` and its choice by least overlap (Dong et al., CIDR
//! 2017, section 3).

use crate::compaction_areas::CompactionArea;
use crate::file_set::{DEEPER_LEVELS, FileSet, sorted_runs};
use crate::format::file_head::FileStamps;
use crate::key_range::KeyRange;
use crate::merge::delete_rule::Below;
use crate::stored_file::KeyedFile;
use evergraph_graph::timestamp::Timestamp;
use std::cmp::Ordering;
use std::sync::Arc;

/// Runs of L0 that one compaction takes at most: each takes a megabyte.
pub const FLUSHED_RUNS_MAX: usize = 16;

/// The level below which there is none.
const BOTTOMMOST: usize = DEEPER_LEVELS;

/// When levels are compacted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PickLimits {
    /// Sorted runs in L0 from which on they are compacted: fewer are read faster, more are written less often.
    pub flushed_files: usize,
    /// Bytes of L0 that one compaction takes, unless its first file has more.
    pub flushed_bytes_max: u64,
    /// How much larger a level is than the one above it: T.
    pub size_ratio: u64,
    /// The size of the base level at most, and of any level at least: about what one compaction of L0 brings.
    pub base_bytes: u64,
}

/// The least size of a base level.
const BASE_BYTES_MIN: u64 = 8 << 20;

impl PickLimits {
    /// The limits of an engine whose memory graphs are full at `graph_bytes`. Four of their files take about a half of that:
    /// so long is the base level, and what comes is merged with about as much as it is itself.
    #[must_use]
    pub fn of_graphs(graph_bytes: u64) -> Self {
        let default = Self::default();
        let base_bytes = (graph_bytes / 2).clamp(BASE_BYTES_MIN, default.base_bytes);
        Self { base_bytes, ..default }
    }
}

impl Default for PickLimits {
    /// Four files of L0, at most 1 GiB of them, T = 10, a base level of 256 MiB: four flushes of 64 MiB.
    fn default() -> Self {
        Self { flushed_files: 4, flushed_bytes_max: 1 << 30, size_ratio: 10, base_bytes: 256 << 20 }
    }
}

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
    if flushed >= limits.flushed_files.max(1) {
        due.push(LevelScore { level: 0, has: flushed as u64, wants: limits.flushed_files.max(1) as u64 });
    }
    for level in sizes.base..BOTTOMMOST {
        let (has, wants) = (sizes.bytes[level] - picker.leaving_bytes(level), sizes.targets[level]);
        if has > wants {
            due.push(LevelScore { level, has, wants });
        }
    }
    // The most overfull first; of equal ones L0, which every read looks at file by file. Twice as many files
    // as it takes slow writers: then L0 comes first, whatever the others have.
    due.sort_by(|left, right| {
        right
            .is_urgent()
            .cmp(&left.is_urgent())
            .then_with(|| right.overfull(left))
            .then(left.level.cmp(&right.level))
    });
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

/// The size of each level that the shape of the tree asks for. By level; nothing of L0.
#[derive(Debug)]
struct LevelSizes {
    bytes: [u64; BOTTOMMOST + 1],
    /// Of the bottommost level and of levels above the base: no bound.
    targets: [u64; BOTTOMMOST + 1],
    /// Where L0 is compacted to; no level above it has files.
    base: usize,
}

impl LevelSizes {
    /// As RocksDB's `CalculateBaseBytes`.
    fn of<F: KeyedFile>(set: &FileSet<F>, limits: &PickLimits) -> Self {
        let ratio = limits.size_ratio.max(2);
        let mut bytes = [0_u64; BOTTOMMOST + 1];
        for (level, size) in bytes.iter_mut().enumerate().skip(1) {
            *size = set.level(level).iter().map(|file| file.stored().bytes()).sum();
        }
        let mut targets = [u64::MAX; BOTTOMMOST + 1];
        let Some(first) = (1..=BOTTOMMOST).find(|level| !set.level(*level).is_empty()) else {
            return Self { bytes, targets, base: BOTTOMMOST };
        };
        // The bottommost level may be smaller than another level for a while.
        let largest = bytes.iter().copied().max().unwrap_or(0);
        let mut size = (first..BOTTOMMOST).fold(largest, |size, _| size / ratio);
        let mut base = first;
        while base > 1 && size > limits.base_bytes {
            base -= 1;
            size /= ratio;
        }
        let mut size = size.min(limits.base_bytes);
        for target in &mut targets[base..BOTTOMMOST] {
            *target = size.max(limits.base_bytes);
            size = size.max(limits.base_bytes / ratio).saturating_mul(ratio);
        }
        Self { bytes, targets, base }
    }
}

/// How much a level has, beside how much it should have: a compaction score.
#[derive(Clone, Copy, Debug)]
struct LevelScore {
    level: usize,
    /// Files of L0, bytes of another level.
    has: u64,
    wants: u64,
}

impl LevelScore {
    fn is_urgent(&self) -> bool {
        self.level == 0 && self.has >= self.wants.saturating_mul(2)
    }

    /// Compares has / wants.
    fn overfull(&self, other: &Self) -> Ordering {
        let cross = |a: u64, b: u64| u128::from(a) * u128::from(b);
        cross(self.has, other.wants).cmp(&cross(other.has, self.wants))
    }
}

struct Picker<'a, F> {
    under_way: &'a [Arc<CompactionArea>],
    set: &'a FileSet<F>,
    readable: Timestamp,
    limits: &'a PickLimits,
    runs_max: usize,
    base: usize,
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
    fn deeper(&self, level: usize) -> Option<PickedCompaction<F>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::file_name::FileNumber;
    use crate::stored_file::{StoredFile, StoredPart};
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// A file with the keys from `first` through `last`.
    #[derive(Clone, Copy, Debug)]
    struct Sketch {
        first: u8,
        length: u8,
        bytes: u64,
        ts: u64,
        is_stamped: bool,
    }

    fn any_sketch(length_max: u8) -> impl Strategy<Value = Sketch> {
        (any::<u8>(), 0..length_max, 1..100_u64, 0..8_u64, any::<bool>()).prop_map(
            |(first, length, bytes, ts, is_stamped)| Sketch { first, length, bytes, ts, is_stamped },
        )
    }

    fn file(number: u64, level: usize, sketch: Sketch) -> Arc<StoredFile> {
        let stamps = match sketch.is_stamped && level == 0 {
            true => FileStamps::Stamped,
            false => FileStamps::Unstamped,
        };
        Arc::new(StoredFile {
            number: FileNumber(number),
            level: level as u8,
            stamps,
            first_ts: Timestamp(sketch.ts),
            last_ts: Timestamp(sketch.ts),
            first_key: vec![sketch.first],
            last_key: vec![sketch.first.saturating_add(sketch.length)],
            topology: StoredPart { bytes: sketch.bytes, footer_crc: 0 },
            columns: None,
        })
    }

    /// A set of `flushed`, newest first, and of those files of each level that overlap none before them.
    fn set_of(flushed: &[Sketch], deeper: &[Vec<Sketch>]) -> FileSet<StoredFile> {
        let mut number = 0;
        let mut next = || {
            number += 1;
            number
        };
        let flushed = flushed.iter().map(|sketch| file(next(), 0, *sketch)).collect();
        let mut levels: [Vec<Arc<StoredFile>>; DEEPER_LEVELS] = Default::default();
        for (at, sketches) in deeper.iter().enumerate() {
            for sketch in sketches {
                let new = file(next(), at + 1, *sketch);
                let range = KeyRange::of_file(&new);
                if !levels[at].iter().any(|other| range.overlaps(KeyRange::of_file(other))) {
                    levels[at].push(new);
                }
            }
        }
        FileSet::of(flushed, levels).unwrap()
    }

    const LIMITS: PickLimits =
        PickLimits { flushed_files: 3, flushed_bytes_max: 250, size_ratio: 4, base_bytes: 60 };

    fn keys(file: &StoredFile) -> std::ops::RangeInclusive<u8> {
        file.first_key[0]..=file.last_key[0]
    }

    /// Which file has the newest record of each key, and those behind it, newest first: every file has every
    /// key of its range.
    fn sources(set: &FileSet<StoredFile>) -> BTreeMap<u8, Vec<u64>> {
        let mut sources = BTreeMap::<u8, Vec<u64>>::new();
        for file in set.iter() {
            keys(file).for_each(|key| sources.entry(key).or_default().push(file.number.0));
        }
        sources
    }

    /// The worst outputs that inputs may become: one file over all of their keys, gaps too.
    fn widest_output(picked: &PickedCompaction<StoredFile>) -> Arc<StoredFile> {
        let first = picked.inputs.iter().map(|file| file.first_key[0]).min().unwrap();
        let last = picked.inputs.iter().map(|file| file.last_key[0]).max().unwrap();
        let sketch = Sketch { first, length: last - first, bytes: 1, ts: 0, is_stamped: false };
        file(u64::MAX, usize::from(picked.output_level), sketch)
    }

    fn check(set: &FileSet<StoredFile>, readable: Timestamp) -> Result<(), TestCaseError> {
        let Some(picked) = pick(set, readable, &LIMITS) else { return Ok(()) };
        let (input, output) = (usize::from(picked.input_level), usize::from(picked.output_level));
        let input_numbers: BTreeSet<u64> = picked.inputs.iter().map(|file| file.number.0).collect();
        let is_input = |number: u64| input_numbers.contains(&number);
        prop_assert!(input < output && output <= BOTTOMMOST);
        prop_assert!(picked.inputs.iter().all(|file| file.last_ts <= readable));
        prop_assert!(picked.inputs.iter().all(|file| [input, output].contains(&usize::from(file.level))));
        let order: Vec<u64> =
            set.iter().map(|file| file.number.0).filter(|number| is_input(*number)).collect();
        prop_assert_eq!(&order, &picked.inputs.iter().map(|file| file.number.0).collect::<Vec<_>>());
        let taken: Vec<_> = picked.inputs.iter().filter(|file| usize::from(file.level) == input).collect();
        if input == 0 {
            let bytes: u64 = taken.iter().map(|file| file.bytes()).sum();
            prop_assert!(taken.len() == 1 || bytes <= LIMITS.flushed_bytes_max);
            prop_assert!((1..output).all(|level| set.level(level).is_empty()), "no older records between");
        } else {
            prop_assert_eq!(taken.len(), 1);
        }
        // The outputs fit, whatever they are, and the order of records stays: of each key, what is newer than
        // an input is newer than the outputs, and what is older is older.
        let widest = widest_output(&picked);
        let compacted = set.with_compacted(&picked.inputs, picked.output_level, &[Arc::clone(&widest)]);
        prop_assert!(compacted.is_some(), "an output would overlap a file that stays");
        let mut before = sources(set);
        for (key, after) in sources(&compacted.unwrap()) {
            let mut expected = before.remove(&key).unwrap_or_default();
            match expected.iter().position(|number| is_input(*number)) {
                Some(at) => {
                    let inputs = expected.iter().filter(|number| is_input(**number)).count();
                    prop_assert!(
                        expected[at..at + inputs].iter().all(|number| is_input(*number)),
                        "key {}",
                        key
                    );
                    expected.splice(at..at + inputs, [u64::MAX]);
                    prop_assert_eq!(&after, &expected, "key {}", key);
                    let is_lowest = at + 1 == expected.len();
                    prop_assert!(
                        is_lowest || picked.below == Below::OlderRecords,
                        "a Delete of {} is lost",
                        key
                    );
                }
                None => {
                    let stay: Vec<u64> = after.iter().copied().filter(|number| *number != u64::MAX).collect();
                    prop_assert_eq!(stay, expected);
                }
            }
        }
        let is_overlapped =
            |file: &Arc<StoredFile>| KeyRange::of_file(file).overlaps(KeyRange::of_file(&widest));
        let is_below = (output + 1..=BOTTOMMOST).any(|level| set.level(level).iter().any(is_overlapped));
        prop_assert_eq!(picked.below, if is_below { Below::OlderRecords } else { Below::Nothing });
        if picked.may_move() {
            prop_assert!(set.with_compacted(&picked.inputs, picked.output_level, &picked.inputs).is_some());
        }
        Ok(())
    }

    fn any_set() -> impl Strategy<Value = FileSet<StoredFile>> {
        let flushed = prop_oneof![
            proptest::collection::vec(any_sketch(40), 0..12),
            proptest::collection::vec(any_sketch(255), 0..12),
        ];
        let level = proptest::collection::vec(any_sketch(30), 0..10);
        // Upper levels may be empty.
        (flushed, proptest::collection::vec(level, DEEPER_LEVELS), 0..=DEEPER_LEVELS).prop_map(
            |(flushed, mut deeper, empty)| {
                deeper[..empty].iter_mut().for_each(Vec::clear);
                set_of(&flushed, &deeper)
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn a_compaction_keeps_the_order_of_records_and_levels_disjoint(set in any_set(), readable in 0..9_u64) {
            check(&set, Timestamp(readable))?;
        }

        #[test]
        fn compactions_come_to_an_end_with_every_level_within_its_size(set in any_set()) {
            let mut set = set;
            for round in 0.. {
                prop_assert!(round < 200, "compactions go on for ever");
                check(&set, Timestamp::MAX)?;
                let Some(picked) = pick(&set, Timestamp::MAX, &LIMITS) else { break };
                // What is merged keeps its bytes and becomes one file over all keys.
                let mut output = StoredFile::clone(&widest_output(&picked));
                output.number = FileNumber(1000 + round);
                output.topology.bytes = picked.inputs.iter().map(|file| file.bytes()).sum();
                set = set.with_compacted(&picked.inputs, picked.output_level, &[Arc::new(output)]).unwrap();
            }
            prop_assert!(set.flushed_runs() < LIMITS.flushed_files);
            let sizes = LevelSizes::of(&set, &LIMITS);
            for level in sizes.base..BOTTOMMOST {
                prop_assert!(sizes.bytes[level] <= sizes.targets[level], "level {}", level);
            }
        }
    }

    fn sketch(first: u8, last: u8, bytes: u64) -> Sketch {
        Sketch { first, length: last - first, bytes, ts: 1, is_stamped: true }
    }

    fn inputs(picked: &PickedCompaction<StoredFile>) -> Vec<u64> {
        picked.inputs.iter().map(|file| file.number.0).collect()
    }

    #[test]
    fn the_first_files_go_to_the_bottom_and_nothing_lies_below() {
        let flushed = [sketch(10, 20, 5), sketch(15, 30, 5)];
        assert!(pick(&set_of(&flushed, &[]), Timestamp(9), &LIMITS).is_none(), "two files are not enough");
        let flushed = [sketch(10, 20, 5), sketch(15, 30, 5), sketch(50, 60, 5)];
        let picked = pick(&set_of(&flushed, &[]), Timestamp(9), &LIMITS).unwrap();
        assert_eq!((inputs(&picked), picked.output_level), (vec![1, 2], 5), "the others don't overlap");
        assert_eq!((picked.below, picked.may_move()), (Below::Nothing, false));
    }

    #[test]
    fn sizes_grow_tenfold_from_the_base_level_to_the_bottom() {
        let limits = PickLimits { size_ratio: 10, ..LIMITS };
        let sizes = |bottom| {
            let set = set_of(&[], &[vec![], vec![], vec![], vec![], vec![sketch(0, 9, bottom)]]);
            let LevelSizes { base, targets, .. } = LevelSizes::of(&set, &limits);
            (base, targets[base..BOTTOMMOST].to_vec())
        };
        assert_eq!(sizes(60), (5, vec![]));
        assert_eq!(sizes(61), (4, vec![60]), "never below the base");
        assert_eq!(sizes(6000), (3, vec![60, 600]));
        assert_eq!(sizes(6500), (2, vec![60, 60, 600]));
        assert_eq!(sizes(6_000_000), (1, vec![60, 600, 6000, 60_000]));
    }

    #[test]
    fn of_a_level_the_file_with_the_least_overlap_a_byte_goes_down() {
        let upper = vec![sketch(0, 9, 50), sketch(20, 29, 40), sketch(40, 49, 40)];
        let lower = vec![sketch(5, 8, 90), sketch(25, 45, 80), sketch(46, 60, 90)];
        let set = set_of(&[], &[vec![], vec![], vec![], upper, lower]);
        let picked = pick(&set, Timestamp(9), &LIMITS).unwrap();
        assert_eq!((inputs(&picked), picked.input_level, picked.output_level), (vec![1, 4], 4, 5));
    }

    #[test]
    fn files_of_a_load_that_is_not_readable_wait() {
        let mut flushed = vec![sketch(0, 90, 5); 4];
        flushed[0].ts = 8;
        let set = set_of(&flushed, &[]);
        assert_eq!(inputs(&pick(&set, Timestamp(7), &LIMITS).unwrap()), [2, 3, 4]);
        assert_eq!(inputs(&pick(&set, Timestamp(8), &LIMITS).unwrap()), [1, 2, 3, 4]);
        let mut bottom = sketch(30, 40, 5);
        bottom.ts = 8;
        let set = set_of(&flushed, &[vec![], vec![], vec![], vec![], vec![bottom]]);
        assert!(pick(&set, Timestamp(7), &LIMITS).is_none(), "it would be merged with what is readable");
    }

    #[test]
    fn the_oldest_files_of_a_large_component_go_first() {
        let set = set_of(&[sketch(0, 90, 100), sketch(0, 90, 100), sketch(0, 90, 100)], &[]);
        assert_eq!(inputs(&pick(&set, Timestamp(9), &LIMITS).unwrap()), [2, 3]);
    }

    #[test]
    fn of_many_files_the_oldest_sixteen_go_first_or_fewer() {
        let set = set_of(&vec![sketch(0, 90, 1); 60], &[]);
        assert_eq!(inputs(&pick(&set, Timestamp(9), &LIMITS).unwrap()), (45..=60).collect::<Vec<_>>());
        let fewer = |runs_max| inputs(&pick_beside(&[], &set, Timestamp(9), &LIMITS, runs_max).unwrap());
        assert_eq!((fewer(2), fewer(0)), (vec![59, 60], vec![60]));
    }

    #[test]
    fn a_file_without_stamps_that_overlaps_nothing_may_move() {
        let mut flushed = [sketch(0, 9, 5), sketch(20, 29, 5), sketch(40, 49, 5)];
        flushed.iter_mut().zip(1..).for_each(|(sketch, ts)| (sketch.is_stamped, sketch.ts) = (false, ts));
        let picked = pick(&set_of(&flushed, &[]), Timestamp(9), &LIMITS).unwrap();
        assert!(picked.may_move() && picked.inputs.len() == 1);
    }

    /// The compaction that is picked beside those of `under_way`.
    fn beside(
        set: &FileSet<StoredFile>,
        under_way: &[&PickedCompaction<StoredFile>],
    ) -> Option<PickedCompaction<StoredFile>> {
        let areas: Vec<_> = under_way.iter().map(|picked| Arc::new(picked.area().unwrap())).collect();
        pick_beside(&areas, set, Timestamp(9), &LIMITS, FLUSHED_RUNS_MAX)
    }

    #[test]
    fn what_others_compact_is_neither_picked_nor_counted() {
        let level = vec![sketch(0, 9, 100), sketch(20, 29, 100), sketch(40, 49, 100), sketch(60, 69, 100)];
        let bottom = vec![sketch(0, 15, 300), sketch(16, 35, 310), sketch(36, 69, 320)];
        let set = set_of(&[], &[vec![], vec![], vec![], level, bottom]);
        let first = pick(&set, Timestamp(9), &LIMITS).unwrap();
        assert_eq!((inputs(&first), first.input_level), (vec![1, 5], 4));
        let second = beside(&set, &[&first]).unwrap();
        assert_eq!(inputs(&second), [2, 6]);
        assert!(beside(&set, &[&first, &second]).is_none(), "200 bytes are left, of 232 that may be");
    }

    #[test]
    fn files_of_level_0_that_do_not_overlap_are_compacted_at_once() {
        let low = sketch(0, 90, 10);
        let high = sketch(100, 190, 10);
        let set = set_of(&[low, low, low, high, high, high], &[]);
        let first = pick(&set, Timestamp(9), &LIMITS).unwrap();
        let second = beside(&set, &[&first]).unwrap();
        let mut both = [inputs(&first), inputs(&second)];
        both.sort();
        assert_eq!(both, [vec![1, 2, 3], vec![4, 5, 6]]);
        assert!(beside(&set, &[&first, &second]).is_none());
    }

    #[test]
    fn while_level_0_waits_no_more_is_picked_out_of_the_base_level() {
        let base = vec![sketch(0, 9, 70), sketch(20, 29, 70), sketch(40, 49, 70)];
        let bottom = vec![sketch(0, 15, 80), sketch(16, 35, 80), sketch(36, 69, 80)];
        let files = |flushed: usize| {
            set_of(&vec![sketch(0, 90, 1); flushed], &[vec![], vec![], vec![], base.clone(), bottom.clone()])
        };
        let few = files(2);
        assert_eq!(LevelSizes::of(&few, &LIMITS).base, 4);
        let first = pick(&few, Timestamp(9), &LIMITS).unwrap();
        assert_eq!((first.input_level, first.output_level), (4, 5));
        assert_eq!(beside(&few, &[&first]).map(|picked| picked.input_level), Some(4));
        let many = files(6);
        assert_eq!(pick(&many, Timestamp(9), &LIMITS).unwrap().input_level, 0);
        // With the first one under way it must wait, and would for ever if another one began.
        let first = Picker {
            under_way: &[],
            set: &many,
            readable: Timestamp(9),
            limits: &LIMITS,
            runs_max: 1,
            base: 4,
        };
        let first = first.deeper(4).unwrap();
        assert!(beside(&many, &[&first]).is_none());
    }
}
