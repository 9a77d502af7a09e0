//! Weak orders: what processes see of each other through shared words, in every order of memory that the language
//! allows, by loom.
//!
//! The words of two processes are those of two threads here: a mapping has the same words in both. The writer has the
//! first thread, as in the memory engine's tests of the same name. Replaced versions are overwritten, as by whoever gets
//! their lines next: a reader that sees that has read freed memory.
//!
//! `EVERGRAPH_PLANTED=slot-fence-left-out` and others make them fail: docs/testing.md has the list.
//!
//! Run with `RUSTFLAGS="--cfg loom"`; `make test` does.

#![cfg(loom)]

use evergraph_graph::id::{GroupId, LabelId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_mapped_engine::arena::Arena;
use evergraph_mapped_engine::group::{SegmentSubject, SharedGroup};
use evergraph_mapped_engine::group_blocks::GroupBlocks;
use evergraph_mapped_engine::live::Live;
use evergraph_mapped_engine::live_head::LiveHead;
use evergraph_mapped_engine::shared_record::PlacedRecord;
use evergraph_mapped_engine::slots::{ReaderSlot, Replacement, SLOT_WORDS, SlotHolder, SnapshotNeeds};
use evergraph_mapped_engine::tail::{TailRecords, clear_tail, push, tail_words};
use evergraph_mapped_engine::version::{BodyPlace, SegmentVersion, skip_to};
use evergraph_mapped_engine::version_reference::VersionReference;
use evergraph_mapped_engine::words::{LineNumber, RegionSizes, SharedWords};
use evergraph_storage::record::{Operation, RecordKey, Stamp};
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

const HOLDER: SlotHolder = SlotHolder { process: 1, begun: 0 };

/// What lies where something was freed.
const OVERWRITTEN: u64 = 1 << 60;

/// Runs `body` in all orders in which a thread is interrupted five times at most: `snapshot-before-era` takes four.
fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(5);
    builder.check(body);
}

/// One segment without records: version i is exact from commit i on.
struct VersionedSegment {
    /// The number of the present version.
    present: AtomicU64,
    readable: AtomicU64,
    era: AtomicU64,
    slot: Vec<AtomicU64>,
    /// What each version says: its number.
    versions: Vec<AtomicU64>,
}

impl VersionedSegment {
    fn new(commits: u64) -> Arc<Self> {
        let versions = (0..=commits).map(|number| AtomicU64::new(if number == 0 { 0 } else { OVERWRITTEN }));
        Arc::new(Self {
            present: AtomicU64::new(0),
            readable: AtomicU64::new(0),
            era: AtomicU64::new(1),
            slot: (0..SLOT_WORDS).map(|_| AtomicU64::new(0)).collect(),
            versions: versions.collect(),
        })
    }

    /// Makes commit `number` readable and merges it; what it replaced.
    fn merge(&self, number: u64) -> (u64, Replacement) {
        self.readable.store(number, Ordering::Release);
        self.versions[number as usize].store(number, Ordering::Relaxed);
        self.present.store(number, Ordering::Release);
        let era = self.era.fetch_add(1, Ordering::AcqRel);
        (number - 1, Replacement { era, base: Timestamp(number - 1), until: Timestamp(number) })
    }

    /// Overwrites what nobody needs of what was replaced.
    fn reclaim(&self, replaced: &mut Vec<(u64, Replacement)>) {
        let readable = Timestamp(self.readable.load(Ordering::Acquire));
        let needs = SnapshotNeeds::scan(&self.slot, &[], readable);
        replaced.retain(|(number, replaced)| {
            if !needs.content(*replaced) {
                self.versions[*number as usize].store(OVERWRITTEN, Ordering::Relaxed);
            }
            needs.content(*replaced)
        });
    }

    /// Reads a snapshot, twice by the version that it found first.
    fn read(&self) {
        let slot = ReaderSlot::numbered(&self.slot, 0);
        let timestamp = slot.begin(HOLDER, &self.era, &self.readable);
        // The versions behind the present one.
        let number = self.present.load(Ordering::Acquire).min(timestamp.0);
        for _ in 0..2 {
            let found = self.versions[number as usize].load(Ordering::Relaxed);
            assert_eq!(found, number, "a version that a snapshot reads was freed");
        }
        slot.end();
    }
}

#[test]
fn nobody_frees_the_version_that_a_beginning_snapshot_finds() {
    model(|| {
        let segment = VersionedSegment::new(1);
        let reader = {
            let segment = Arc::clone(&segment);
            loom::thread::spawn(move || segment.read())
        };
        let mut replaced = vec![segment.merge(1)];
        segment.reclaim(&mut replaced);
        reader.join().expect("the reader doesn't panic");
        segment.reclaim(&mut replaced);
        assert!(replaced.is_empty(), "nobody reads, and something is kept");
    });
}

#[test]
fn a_slot_that_is_used_again_keeps_what_its_present_snapshot_reads() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(4);
    builder.check(|| {
        let segment = VersionedSegment::new(1);
        let reader = {
            let segment = Arc::clone(&segment);
            loom::thread::spawn(move || (0..2).for_each(|_| segment.read()))
        };
        let mut replaced = vec![segment.merge(1)];
        segment.reclaim(&mut replaced);
        reader.join().expect("the reader doesn't panic");
    });
}

#[test]
fn a_slot_that_is_raised_keeps_what_its_snapshots_read() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let segment = VersionedSegment::new(2);
        let slot = ReaderSlot::numbered(&segment.slot, 0);
        let first = slot.begin(HOLDER, &segment.era, &segment.readable);
        assert_eq!(first, Timestamp::ZERO);
        let reader = {
            let segment = Arc::clone(&segment);
            loom::thread::spawn(move || {
                let slot = ReaderSlot::numbered(&segment.slot, 0);
                let second = slot.raise(&segment.readable);
                let newest = segment.present.load(Ordering::Acquire).min(second.0);
                for number in [0, newest] {
                    let found = segment.versions[number as usize].load(Ordering::Relaxed);
                    assert_eq!(found, number, "a version that a snapshot reads was freed");
                }
                slot.end();
            })
        };
        let mut replaced = vec![segment.merge(1), segment.merge(2)];
        segment.reclaim(&mut replaced);
        reader.join().expect("the reader doesn't panic");
        segment.reclaim(&mut replaced);
        assert!(replaced.is_empty(), "nobody reads, and something is kept");
    });
}

#[test]
fn what_a_snapshot_read_before_it_ended_is_not_what_is_written_there_afterwards() {
    model(|| {
        // A version that no snapshot to come finds, and one that reads it and ends.
        let segment = VersionedSegment::new(1);
        let slot = ReaderSlot::numbered(&segment.slot, 0);
        let timestamp = slot.begin(HOLDER, &segment.era, &segment.readable);
        assert_eq!(timestamp, Timestamp::ZERO);
        let mut replaced = vec![segment.merge(1)];
        let reader = {
            let segment = Arc::clone(&segment);
            loom::thread::spawn(move || {
                let found = segment.versions[0].load(Ordering::Relaxed);
                assert_eq!(found, 0, "a version that a snapshot reads was freed");
                ReaderSlot::numbered(&segment.slot, 0).end();
            })
        };
        segment.reclaim(&mut replaced);
        reader.join().expect("the reader doesn't panic");
    });
}

#[test]
fn who_walks_past_a_version_that_goes_finds_its_own() {
    model(|| {
        let words = SharedWords::on_heap(RegionSizes::new(5, 5).expect("small regions are possible"));
        let words = Arc::new(words);
        let line = |number| words.line(LineNumber(number)).expect("the region has it");
        for (number, older) in [(1, 0), (2, 1), (3, 2)] {
            let (base, body) = (Timestamp(number), BodyPlace { extent: number * 10, bytes: 1 });
            let version = SegmentVersion { base, body, ..SegmentVersion::default() };
            version.store(line(number as u32), LineNumber(older));
        }
        // A snapshot of the first, and then two merges.
        let segment = VersionedSegment::new(0);
        segment.readable.store(1, Ordering::Relaxed);
        let slot = ReaderSlot::numbered(&segment.slot, 0);
        let timestamp = slot.begin(HOLDER, &segment.era, &segment.readable);
        segment.readable.store(3, Ordering::Relaxed);
        segment.era.store(3, Ordering::Relaxed);
        let reader = {
            let (words, segment) = (Arc::clone(&words), Arc::clone(&segment));
            loom::thread::spawn(move || {
                let found = SegmentVersion::visible(&words, LineNumber(3), timestamp);
                let found = found.expect("no line is overwritten that somebody walks past");
                assert_eq!(found.map(|version| version.body.extent), Some(10), "another version is found");
                ReaderSlot::numbered(&segment.slot, 0).end();
            })
        };
        // Nobody reads the second: walks skip it from now on, and its line goes when nobody can be there.
        let second = Replacement { era: 2, base: Timestamp(2), until: Timestamp(3) };
        skip_to(line(3), LineNumber(1));
        let needs = SnapshotNeeds::scan(&segment.slot, &[], Timestamp(3));
        assert!(!needs.content(second), "nobody reads it");
        if !needs.line(second) {
            line(2).iter().for_each(|word| word.store(OVERWRITTEN, Ordering::Relaxed));
        }
        reader.join().expect("the reader doesn't panic");
    });
}

#[test]
fn who_finds_a_version_by_its_group_sees_what_it_says() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    // Each store of the group's page is one.
    builder.max_branches = 100_000;
    builder.check(|| {
        let sizes = RegionSizes::new(11, 11).expect("a size that is possible");
        let head = LiveHead { opening: 1, process: 1, sizes, slots: 16 };
        let live = Live::create(Arc::new(SharedWords::on_heap(sizes)), head, Timestamp::ZERO);
        let live = Arc::new(live.expect("the heap has room"));
        let arena = Arena::new(Arc::clone(live.words()), live.head().first_block(), 1 << 20);
        let (groups, group, subject) = (GroupBlocks::default(), GroupId(0), SegmentSubject(1));
        let store = |number: u64| {
            let block = arena.allocate(8).expect("there is room");
            let line = live.words().line(block.line).expect("its line is there");
            let body = BodyPlace { extent: number * 10, bytes: 1 };
            let version = SegmentVersion { base: Timestamp(number), body, ..SegmentVersion::default() };
            version.store(line, LineNumber::NONE);
            block.line
        };
        let add = |subject, version| {
            let block = arena.allocate(groups.words_with_another(group)).expect("there is room");
            let reference = Arc::new(VersionReference::new(version));
            let _replaced = groups.add(&arena, group, (subject, Arc::clone(&reference)), block);
            reference
        };
        groups.open(&live, &arena, group, LabelId(0)).expect("there is room");
        let reference = add(subject, store(1));
        let reader = {
            let live = Arc::clone(&live);
            loom::thread::spawn(move || {
                let group =
                    SharedGroup::find(&live, group).expect("nothing is damaged").expect("it is there");
                for (subject, numbers) in [(subject, 1..=2), (SegmentSubject(0), 3..=3)] {
                    let Some(line) = group.version(subject).expect("nothing is damaged") else { continue };
                    let found = SegmentVersion::visible(live.words(), line, Timestamp(9));
                    let found = found.expect("nothing is damaged").expect("its base is seen");
                    assert!(numbers.contains(&found.base.0), "half a version is seen: {found:?}");
                    assert_eq!(found.body.extent, found.base.0 * 10, "half a version is seen");
                }
            })
        };
        reference.refer_to(live.words(), store(2));
        add(SegmentSubject(0), store(3));
        reader.join().expect("the reader doesn't panic");
    });
}

#[test]
fn a_slot_that_is_taken_again_is_seen_as_what_it_is_now() {
    model(|| {
        // A snapshot of the first version has ended; the second is there.
        let segment = VersionedSegment::new(2);
        let slot = ReaderSlot::numbered(&segment.slot, 0);
        let _ = slot.begin(HOLDER, &segment.era, &segment.readable);
        slot.end();
        let _first = segment.merge(1);
        let reader = {
            let segment = Arc::clone(&segment);
            loom::thread::spawn(move || segment.read())
        };
        let mut replaced = vec![segment.merge(2)];
        segment.reclaim(&mut replaced);
        reader.join().expect("the reader doesn't panic");
    });
}

const TAIL: LineNumber = LineNumber(1);

fn stamp(timestamp: u64) -> Stamp {
    Stamp::new(Timestamp(timestamp), Operation::Insert)
}

fn tail() -> Arc<SharedWords> {
    let words = SharedWords::on_heap(RegionSizes::new(5, 5).expect("small regions are possible"));
    clear_tail(words.slice(TAIL, tail_words(2)).expect("the region has them"));
    Arc::new(words)
}

fn append(words: &SharedWords, timestamp: u64) {
    let tail = words.slice(TAIL, tail_words(2)).expect("the region has them");
    let record = PlacedRecord {
        key: RecordKey(timestamp * 10),
        stamp: stamp(timestamp),
        properties: LineNumber::NONE,
    };
    push(tail, timestamp as usize - 1, record);
}

/// How many records are seen, each whole.
fn whole_records(words: &SharedWords) -> u64 {
    let records = TailRecords::at(words, TAIL).expect("a sound tail");
    for (found, timestamp) in records.stamps().zip(1..) {
        assert_eq!(found, (RecordKey(timestamp * 10), stamp(timestamp)), "half a record is seen");
    }
    records.count() as u64
}

#[test]
fn who_sees_a_shared_tails_length_sees_its_records() {
    model(|| {
        let words = tail();
        let reader = {
            let words = Arc::clone(&words);
            loom::thread::spawn(move || {
                whole_records(&words);
            })
        };
        (1..=2).for_each(|timestamp| append(&words, timestamp));
        reader.join().expect("the reader doesn't panic");
    });
}

#[test]
fn a_slot_that_begins_at_a_commit_sees_its_records() {
    model(|| {
        let (words, segment) = (tail(), VersionedSegment::new(0));
        let reader = {
            let (words, segment) = (Arc::clone(&words), Arc::clone(&segment));
            loom::thread::spawn(move || {
                let slot = ReaderSlot::numbered(&segment.slot, 0);
                let timestamp = slot.begin(HOLDER, &segment.era, &segment.readable);
                assert!(whole_records(&words) >= timestamp.0, "a snapshot misses a commit");
                slot.end();
            })
        };
        for timestamp in 1..=2 {
            append(&words, timestamp);
            segment.readable.store(timestamp, Ordering::Release);
        }
        reader.join().expect("the reader doesn't panic");
    });
}
