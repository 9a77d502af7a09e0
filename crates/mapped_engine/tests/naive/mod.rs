//! Naive: a small database in `live`, on the heap, beside the history of its commits.
//!
//! Segments hold values by key. Bodies lie in a map instead of array files; a body that was freed is gone from it, so that
//! whoever reads it all the same fails.

use evergraph_bodies::merge_turn::MergeTurn;
use evergraph_graph::error::Result;
use evergraph_graph::id::{GroupId, LabelId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_mapped_engine::claimed_slots::{ClaimedSlots, OpenSlot};
use evergraph_mapped_engine::group::SegmentSubject;
use evergraph_mapped_engine::live::Live;
use evergraph_mapped_engine::live_head::LiveHead;
use evergraph_mapped_engine::live_snapshot::LiveSnapshot;
use evergraph_mapped_engine::live_writer::{CommitPart, LiveWriter};
use evergraph_mapped_engine::merge::{BuiltBody, LiveMergeOutcome, MergedBody};
use evergraph_mapped_engine::segment::LiveSegment;
use evergraph_mapped_engine::shared_record::SharedRecord;
use evergraph_mapped_engine::version::{ALL_KEYS, BodyPlace, SegmentVersion};
use evergraph_mapped_engine::words::{RegionSizes, SharedWords};
use evergraph_storage::io::clock::ManualClock;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::record::{Operation, RecordKey, Stamp};
use evergraph_storage::sync::Mutex;
use evergraph_storage::timeline::clock::{Readable, Timeline};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Values by key.
pub type State = BTreeMap<u64, Vec<u8>>;

/// Where a segment is.
pub type Place = (GroupId, SegmentSubject);

/// What a commit does to one key: a value, or none.
pub type Change = (Place, u64, Option<Vec<u8>>);

/// Bodies by extent.
#[derive(Default)]
struct Bodies {
    by_extent: BTreeMap<u64, State>,
    /// The newest extent: none is used again.
    newest: u64,
}

/// The database.
pub struct NaiveDatabase {
    pub timeline: Timeline,
    pub writer: LiveWriter,
    pub slots: Arc<ClaimedSlots>,
    bodies: Mutex<Bodies>,
    segments: BTreeMap<Place, Arc<LiveSegment>>,
    /// One commit at a time, so that what is there is known; a database looks before and checks.
    committing: Mutex<()>,
    /// All commits.
    history: Mutex<Vec<(Timestamp, Vec<Change>)>>,
    places: Vec<Place>,
}

impl NaiveDatabase {
    /// A database with an empty segment at each place, in `1 << words` shared words at most a region, of which blocks
    /// take `bytes_max` bytes at most.
    pub fn new(places: &[Place], words: u32, bytes_max: u64) -> Self {
        let sizes = RegionSizes::new(11, words).expect("a size that is possible");
        let head = LiveHead { opening: 7, process: std::process::id(), sizes, slots: 16 };
        let live = Live::create(Arc::new(SharedWords::on_heap(sizes)), head, Timestamp::ZERO);
        let live = Arc::new(live.expect("the heap has room"));
        let clock = Arc::new(ManualClock::new(0));
        let writer = LiveWriter::new(Arc::clone(&live), bytes_max, clock.clone());
        let timeline = Timeline::new(Timestamp::ZERO, Readable::Published);
        let mut segments = BTreeMap::new();
        for (group, subject) in places {
            writer.open_group(*group, LabelId(1)).expect("there is room");
            let empty = (Timestamp::ZERO, BodyPlace::default(), 0);
            let segment = writer.add_segment(&timeline, *group, *subject, empty).expect("there is room");
            segments.insert((*group, *subject), segment);
        }
        // The blocks of groups that were replaced.
        writer.reclaim();
        live.open();
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
        let slots =
            ClaimedSlots::claim(live, &directory, std::process::id(), clock).expect("nobody else reads");
        let (bodies, committing, history) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (slots, places) = (Arc::new(slots), places.to_vec());
        Self { timeline, writer, slots, bodies, segments, committing, history, places }
    }

    /// Commits what gives `keys` of segments these values, or takes them away; nothing if that changes nothing.
    pub fn commit(&self, changes: &[Change]) {
        let _one = self.committing.lock();
        let timestamp = self.writer.live().published().next();
        let before = self.state(Timestamp(timestamp.0 - 1));
        let mut parts: BTreeMap<Place, BTreeMap<u64, SharedRecord>> = BTreeMap::new();
        let mut done = Vec::new();
        for (place, key, value) in changes {
            let is_there = before[place].contains_key(key);
            let operation = match (is_there, value) {
                (true, Some(_)) => Operation::Replace,
                (true, None) => Operation::Delete,
                (false, Some(_)) => Operation::Insert,
                (false, None) => continue,
            };
            let of_place = parts.entry(*place).or_default();
            if of_place.contains_key(key) {
                continue;
            }
            let stamp = Stamp::new(timestamp, operation);
            let properties = value.clone().unwrap_or_default();
            of_place.insert(*key, SharedRecord { key: RecordKey(*key), stamp, properties });
            done.push((*place, *key, value.clone()));
        }
        let part = |(place, records): (Place, BTreeMap<u64, SharedRecord>)| CommitPart {
            segment: self.segment(place),
            records: records.into_values().collect(),
        };
        let parts: Vec<CommitPart> = parts.into_iter().map(part).collect();
        let mut reserved = self.writer.reserve(&parts).expect("there is room");
        let _latch = self.timeline.latch();
        self.history.lock().push((timestamp, done));
        self.writer.commit(timestamp, &mut reserved, &mut |_, _| {});
    }

    /// Shows all commits to readers.
    pub fn make_readable(&self) {
        let live = self.writer.live();
        let _latch = self.timeline.latch();
        live.make_readable(live.published());
    }

    /// Each segment at a commit, by the history.
    pub fn state(&self, timestamp: Timestamp) -> BTreeMap<Place, State> {
        let mut state: BTreeMap<Place, State> =
            self.places.iter().map(|place| (*place, State::new())).collect();
        let history = self.history.lock();
        for (_, changes) in history.iter().take_while(|commit| commit.0.visible_at(timestamp)) {
            for (place, key, value) in changes {
                let of_place = state.get_mut(place).expect("a place that there is");
                match value {
                    Some(value) => of_place.insert(*key, value.clone()),
                    None => of_place.remove(key),
                };
            }
        }
        state
    }

    /// The segment at a place.
    pub fn segment(&self, place: Place) -> Arc<LiveSegment> {
        Arc::clone(&self.segments[&place])
    }

    /// Merges the runs of a segment, if they are due.
    pub fn merge_runs(&self, place: Place) -> LiveMergeOutcome {
        self.writer.merge_runs(&self.segment(place), &self.timeline).expect("there is room")
    }

    /// Merges what is readable of a segment into its body.
    pub fn merge_body(&self, place: Place) -> LiveMergeOutcome {
        self.merge_body_while(place, || {})
    }

    /// The same, where `meanwhile` happens while the body is built.
    pub fn merge_body_while(&self, place: Place, meanwhile: impl FnOnce()) -> LiveMergeOutcome {
        let mut built = None;
        let build = |before: BodyPlace, _, records: Vec<SharedRecord>| {
            meanwhile();
            let mut state = self.body(before);
            apply(&mut state, &records);
            let mut bodies = self.bodies.lock();
            bodies.newest += 1;
            let extent = bodies.newest;
            bodies.by_extent.insert(extent, state);
            built = Some(extent);
            Ok(MergedBody::from(BuiltBody { place: BodyPlace { extent, bytes: 1 }, items: 0 }))
        };
        let merged =
            self.writer.merge_body(&self.segment(place), &self.timeline, MergeTurn::OnlyIfFree, build);
        let merged = merged.expect("there is room");
        if let (LiveMergeOutcome::Overtaken, Some(built)) = (merged, built) {
            self.bodies.lock().by_extent.remove(&built);
        }
        merged
    }

    /// Frees what nobody reads.
    pub fn reclaim(&self) {
        for body in self.writer.reclaim() {
            let gone = self.bodies.lock().by_extent.remove(&body.extent);
            assert!(gone.is_some(), "a body is freed twice");
        }
    }

    /// How many bodies there are.
    #[cfg(not(shuttle))]
    pub fn bodies(&self) -> usize {
        self.bodies.lock().by_extent.len()
    }

    fn body(&self, place: BodyPlace) -> State {
        if place.bytes == 0 {
            return State::new();
        }
        self.bodies.lock().by_extent.get(&place.extent).cloned().expect("a body that is read was freed")
    }

    /// The versions of all segments that a snapshot reads.
    pub fn versions(&self, timestamp: Timestamp) -> Vec<(Place, SegmentVersion)> {
        let snapshot = LiveSnapshot::new(self.writer.live(), timestamp);
        let version = |place: &Place| {
            let found = snapshot.version(place.0, place.1).expect("nothing is damaged");
            (*place, found.expect("a snapshot finds a version that it sees"))
        };
        self.places.iter().map(version).collect()
    }

    /// The same of a snapshot of the process that writes, which looks into its heap first.
    #[cfg(shuttle)]
    pub fn own_versions(&self, timestamp: Timestamp) -> Vec<(Place, SegmentVersion)> {
        let snapshot = LiveSnapshot::new(self.writer.live(), timestamp);
        let version = |place: &Place| {
            let present = self.segments[place].present(timestamp).map(|present| *present.version());
            let found = present.or_else(|| snapshot.version(place.0, place.1).expect("nothing is damaged"));
            (*place, found.expect("a snapshot finds a version that it sees"))
        };
        self.places.iter().map(version).collect()
    }

    /// What a snapshot reads, of versions that it found before.
    pub fn read(
        &self,
        timestamp: Timestamp,
        versions: &[(Place, SegmentVersion)],
    ) -> Result<BTreeMap<Place, State>> {
        let snapshot = LiveSnapshot::new(self.writer.live(), timestamp);
        let mut all = BTreeMap::new();
        for (place, version) in versions {
            let mut state = self.body(version.body);
            apply(&mut state, &snapshot.records(version, &ALL_KEYS)?);
            all.insert(*place, state);
        }
        Ok(all)
    }

    /// Begins a snapshot as the process that writes does.
    #[cfg(shuttle)]
    pub fn begin_own(&self) -> evergraph_mapped_engine::retired::KeptSnapshot {
        // No body is replaced meanwhile.
        let _registry = self.timeline.registry();
        let live = self.writer.live();
        self.writer.own_snapshots().begin_at(live, live.readable())
    }

    /// Begins a snapshot as another process does.
    pub fn begin(&self) -> OpenSlot {
        self.slots.begin().expect("a slot is free")
    }
}

fn apply(state: &mut State, records: &[SharedRecord]) {
    for record in records {
        let key = record.key.0;
        let is_exact = match record.stamp.operation() {
            Operation::Insert => state.insert(key, record.properties.clone()).is_none(),
            Operation::Replace => state.insert(key, record.properties.clone()).is_some(),
            Operation::Delete => state.remove(&key).is_some(),
            Operation::Set => false,
        };
        assert!(is_exact, "records are exact: {record:?}");
    }
}
