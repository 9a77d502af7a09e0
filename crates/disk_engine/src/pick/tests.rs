//! Random sets: what is picked keeps records in order, levels disjoint, and ends within the sizes; then case by case.

use crate::file_set::{DEEPER_LEVELS, FileSet};
use crate::format::file_head::FileStamps;
use crate::format::file_name::FileNumber;
use crate::key_range::KeyRange;
use crate::merge::delete_rule::Below;
use crate::pick::level_sizes::{BOTTOMMOST, LevelSizes};
use crate::pick::limits::{FLUSHED_RUNS_MAX, PickLimits};
use crate::pick::picker::{PickedCompaction, Picker, pick, pick_beside};
use crate::stored_file::{StoredFile, StoredPart};
use evergraph_graph::timestamp::Timestamp;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

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
    (any::<u8>(), 0..length_max, 1..100_u64, 0..8_u64, any::<bool>())
        .prop_map(|(first, length, bytes, ts, is_stamped)| Sketch { first, length, bytes, ts, is_stamped })
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
    PickLimits { flushed_runs: 3, flushed_bytes_max: 250, size_ratio: 4, base_bytes: 60 };

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
    let order: Vec<u64> = set.iter().map(|file| file.number.0).filter(|number| is_input(*number)).collect();
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
                prop_assert!(expected[at..at + inputs].iter().all(|number| is_input(*number)), "key {}", key);
                expected.splice(at..at + inputs, [u64::MAX]);
                prop_assert_eq!(&after, &expected, "key {}", key);
                let is_lowest = at + 1 == expected.len();
                prop_assert!(is_lowest || picked.below == Below::OlderRecords, "a Delete of {} is lost", key);
            }
            None => {
                let stay: Vec<u64> = after.iter().copied().filter(|number| *number != u64::MAX).collect();
                prop_assert_eq!(stay, expected);
            }
        }
    }
    let is_overlapped = |file: &Arc<StoredFile>| KeyRange::of_file(file).overlaps(KeyRange::of_file(&widest));
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
        prop_assert!(set.flushed_runs() < LIMITS.flushed_runs);
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
    let first =
        Picker { under_way: &[], set: &many, readable: Timestamp(9), limits: &LIMITS, runs_max: 1, base: 4 };
    let first = first.deeper(4).unwrap();
    assert!(beside(&many, &[&first]).is_none());
}
