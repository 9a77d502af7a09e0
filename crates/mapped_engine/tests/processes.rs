//! Processes: one that commits, merges, frees and writes freed bytes again, and others that read it meanwhile and are
//! killed at random; each snapshot is exactly its commits.
//!
//! ```text
//! this program   live (mapped words)   slots of readers        array files (bodies)
//!    writes      all but the slots     looks at them           writes extents, gives them back, writes them again
//! children       all of it             their own               read extents in place
//! ```
//!
//! A history that anybody can compute: commit t puts key t * 7919 % KEYS in, or takes it out if it is there.
//!
//! All rest most of the time, and work in the same moments (`turns`). Readers are killed at work, and rest within a snapshot.
//!
//! `EVERGRAPH_LIVE_SECONDS` is how long; `make readers-long` takes an hour.

#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]
#![allow(clippy::disallowed_methods, reason = "processes that are killed at random rest in between")]

#[path = "../../../tests/src/turns.rs"]
mod turns;

use crate::turns::rest;
use evergraph_bodies::merge_turn::MergeTurn;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{GroupId, LabelId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_mapped_engine::claimed_slots::ClaimedSlots;
use evergraph_mapped_engine::extents::header::{ExtentHeader, ExtentKind, ExtentPlace};
use evergraph_mapped_engine::extents::reader::ExtentReader;
use evergraph_mapped_engine::extents::stored_extent::StoredExtent;
use evergraph_mapped_engine::extents::table::{ExtentOptions, Extents, Reuse};
use evergraph_mapped_engine::group::SegmentSubject;
use evergraph_mapped_engine::live::{Live, WriterPresence};
use evergraph_mapped_engine::live_file::LiveFile;
use evergraph_mapped_engine::live_head::LiveHead;
use evergraph_mapped_engine::live_snapshot::LiveSnapshot;
use evergraph_mapped_engine::live_writer::{CommitPart, LiveWriter};
use evergraph_mapped_engine::merge::{BuiltBody, LiveMergeOutcome};
use evergraph_mapped_engine::segment::LiveSegment;
use evergraph_mapped_engine::shared_record::SharedRecord;
use evergraph_mapped_engine::version::{ALL_KEYS, BodyPlace, SegmentVersion};
use evergraph_mapped_engine::words::{RegionSizes, SharedWords};
use evergraph_storage::io::clock::{Clock, SystemClock};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::record::{Operation, RecordKey, Stamp};
use evergraph_storage::timeline::clock::{Readable, Timeline};
use std::collections::{BTreeSet, HashMap};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const OPENING: u128 = 7;
const GROUP: GroupId = GroupId(0);
const SUBJECT: SegmentSubject = SegmentSubject(1);
const KEYS: u64 = 700;
/// Names the directory that a child reads.
const CHILD: &str = "EVERGRAPH_TEST_LIVE";
/// Small files, so that what is freed is soon written again.
const SMALL: ExtentOptions = ExtentOptions { first_file_bytes: 64 << 10, file_bytes_max: 64 << 10 };

type State = BTreeSet<u64>;

fn key_of(timestamp: u64) -> u64 {
    timestamp * 7919 % KEYS
}

/// Does commits until `to` to the state at `from`. Each key has its turn once in so many commits as there are keys: after twice as
/// many the state is the same again, so a process that begins late computes fewer than that.
fn go_on(state: &mut State, from: u64, to: u64) {
    let from = to - (to - from) % (2 * KEYS);
    for timestamp in from + 1..=to {
        let key = key_of(timestamp);
        if !state.remove(&key) {
            state.insert(key);
        }
    }
}

fn apply(state: &mut State, records: &[SharedRecord]) {
    for record in records {
        let key = record.key.0;
        let is_exact = match record.stamp.operation() {
            Operation::Insert => state.insert(key),
            Operation::Delete => state.remove(&key),
            _ => false,
        };
        assert!(is_exact, "records are exact: {record:?}");
    }
}

fn header(bytes: u64) -> ExtentHeader {
    ExtentHeader { kind: ExtentKind::Body, segment: bytes, base: Timestamp::ZERO }
}

fn place_of(body: BodyPlace) -> ExtentPlace {
    ExtentPlace::unpacked(body.extent, body.bytes)
}

fn keys_in(payload: &[u8]) -> State {
    payload.as_chunks().0.iter().map(|key| u64::from_le_bytes(*key)).collect()
}

struct Writer {
    writer: LiveWriter,
    timeline: Timeline,
    segment: Arc<LiveSegment>,
    extents: Extents,
    bodies: HashMap<u64, StoredExtent>,
    state: State,
    merges: u64,
}

impl Writer {
    fn new(directory: &Arc<dyn Directory>, clock: &Arc<dyn Clock>) -> Self {
        let sizes = RegionSizes::new(13, 16).unwrap();
        let head = LiveHead { opening: OPENING, process: std::process::id(), sizes, slots: 64 };
        let file = LiveFile::create(Arc::clone(directory)).unwrap();
        let words = Arc::new(SharedWords::new(Arc::new(file), sizes));
        let live = Arc::new(Live::create(words, head, Timestamp::ZERO).unwrap());
        let writer = LiveWriter::new(Arc::clone(&live), 16 << 20, Arc::clone(clock));
        let timeline = Timeline::new(Timestamp::ZERO, Readable::Published);
        writer.open_group(GROUP, LabelId(1)).unwrap();
        let empty = (Timestamp::ZERO, BodyPlace::default(), 0);
        let segment = writer.add_segment(&timeline, GROUP, SUBJECT, empty).unwrap();
        live.open();
        let opened = Extents::open(Arc::clone(directory), SMALL, [], Reuse::Allowed).unwrap();
        let (bodies, state) = (HashMap::new(), State::new());
        Self { writer, timeline, segment, extents: opened.0, bodies, state, merges: 0 }
    }

    fn commit(&mut self, timestamp: u64) {
        let key = key_of(timestamp);
        let operation = if self.state.contains(&key) { Operation::Delete } else { Operation::Insert };
        let stamp = Stamp::new(Timestamp(timestamp), operation);
        let records = vec![SharedRecord { key: RecordKey(key), stamp, properties: Vec::new() }];
        let parts = [CommitPart { segment: Arc::clone(&self.segment), records }];
        let mut reserved = self.writer.reserve(&parts).unwrap();
        let latch = self.timeline.latch();
        self.writer.commit(Timestamp(timestamp), &mut reserved, &mut |_, _| {});
        drop(latch);
        self.writer.live().make_readable(Timestamp(timestamp));
        go_on(&mut self.state, timestamp - 1, timestamp);
    }

    fn merge(&mut self) {
        let segment = Arc::clone(&self.segment);
        self.writer.merge_runs(&segment, &self.timeline).unwrap();
        let mut built = None;
        let merged =
            self.writer.merge_body(&segment, &self.timeline, MergeTurn::OnlyIfFree, |before, _, records| {
                let mut state = match self.bodies.get(&before.extent) {
                    Some(extent) if before.bytes > 0 => keys_in(extent.payload()?),
                    _ => State::new(),
                };
                apply(&mut state, &records);
                if state.is_empty() {
                    return Ok(BuiltBody { place: BodyPlace::default(), items: 0 }.into());
                }
                let payload: Vec<u8> = state.iter().flat_map(|key| key.to_le_bytes()).collect();
                let extent = self.extents.write(header(payload.len() as u64), &payload)?;
                let place = extent.place();
                let place = BodyPlace { extent: place.packed().unwrap(), bytes: place.payload_bytes };
                built = Some((place.extent, extent));
                Ok(BuiltBody { place, items: state.len() }.into())
            });
        match merged.unwrap() {
            LiveMergeOutcome::Done { .. } => self.bodies.extend(built),
            // What was built goes.
            LiveMergeOutcome::Nothing | LiveMergeOutcome::Busy | LiveMergeOutcome::Overtaken => {}
        }
        self.merges += 1;
    }

    fn reclaim(&mut self) {
        for body in self.writer.reclaim() {
            if body.bytes > 0 {
                assert!(self.bodies.remove(&body.extent).is_some(), "a body is freed twice");
            }
        }
    }
}

/// Reads every snapshot that it can begin, until the writer closes the database; how many.
fn read_until_closed(place: &Path) -> u64 {
    let directory: Arc<dyn Directory> = Arc::new(DiskDirectory::open(place).unwrap());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let (file, head) = LiveFile::open(Arc::clone(&directory)).unwrap();
    let words = Arc::new(SharedWords::new(Arc::new(file), head.sizes));
    let live = Arc::new(Live::join(words, OPENING, WriterPresence::Present(None)).unwrap());
    let claimed = ClaimedSlots::claim(Arc::clone(&live), &directory, std::process::id(), clock).unwrap();
    let (slots, extents) = (Arc::new(claimed), ExtentReader::new(directory));
    println!("reading");
    let (mut expected, mut through, mut snapshots) = (State::new(), 0, 0);
    loop {
        let slot = match slots.begin() {
            Ok(slot) => slot,
            Err(error) if error.kind() == ErrorKind::Busy => return snapshots,
            Err(error) => panic!("{error}"),
        };
        let timestamp = slot.timestamp();
        assert!(timestamp.0 >= through, "R only grows");
        go_on(&mut expected, through, timestamp.0);
        through = timestamp.0;
        let snapshot = LiveSnapshot::new(&live, timestamp);
        let version =
            snapshot.version(GROUP, SUBJECT).unwrap().expect("the segment was there from the beginning");
        // By the version that was found first: what it refers to stays.
        for look in ["first", "again", "at last"] {
            rest();
            let found = read(&snapshot, &version, &extents).unwrap();
            assert!(found == expected, "snapshot {timestamp} {look} is not its commits");
        }
        snapshots += 1;
    }
}

fn read(snapshot: &LiveSnapshot<'_>, version: &SegmentVersion, extents: &ExtentReader) -> Result<State> {
    let mut state = State::new();
    if version.body.bytes > 0 {
        let extent = extents.read(place_of(version.body), header(version.body.bytes))?;
        state = keys_in(extent.payload());
    }
    apply(&mut state, &snapshot.records(version, &ALL_KEYS)?);
    Ok(state)
}

/// No test but in a child.
#[test]
fn child_that_reads() {
    let Ok(place) = std::env::var(CHILD) else { return };
    println!("{} snapshots", read_until_closed(Path::new(&place)));
}

fn child(place: &Path) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_reads", "--nocapture"])
        .env(CHILD, place)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("reading") {
        line.clear();
        assert!(output.read_line(&mut line).unwrap() > 0, "the child reads");
    }
    (child, output)
}

#[test]
fn every_snapshot_of_every_process_is_its_commits_while_readers_are_killed() {
    let seconds = std::env::var("EVERGRAPH_LIVE_SECONDS").ok().map_or(30, |text| text.parse().unwrap());
    let place = tempfile::tempdir().unwrap();
    let directory: Arc<dyn Directory> = Arc::new(DiskDirectory::open(place.path()).unwrap());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let mut writer = Writer::new(&directory, &clock);
    let fresh = writer.writer.arena().used_bytes();
    let mut random = SplitMix64::new(1);
    let mut children: Vec<_> = (0..2).map(|_| child(place.path())).collect();
    let (mut timestamp, mut killed) = (0, 0);
    let mut next_kill = clock.now() + Duration::from_millis(200);
    let end = clock.now() + Duration::from_secs(seconds);
    // On a slow machine, until readers were killed and some was merged.
    while clock.now() < end || killed == 0 || writer.merges <= 10 {
        rest();
        for _ in 0..1 + random.next_u64() % 40 {
            timestamp += 1;
            writer.commit(timestamp);
        }
        writer.merge();
        writer.reclaim();
        if clock.now() > next_kill && random.next_u64().is_multiple_of(16) {
            // Whatever it is doing, at any moment of the work.
            let (mut reader, _) = children.swap_remove(random.next_u64() as usize % children.len());
            reader.kill().unwrap();
            reader.wait().unwrap();
            killed += 1;
            children.push(child(place.path()));
            writer.writer.clear_dead_readers(&*directory).unwrap();
            next_kill = clock.now() + Duration::from_millis(100 + random.next_u64() % 200);
        }
    }
    writer.writer.live().close();
    let mut snapshots = 0;
    for (mut reader, output) in children {
        let lines: Vec<String> = output.lines().map(std::result::Result::unwrap).collect();
        assert!(reader.wait().unwrap().success(), "a reader found something else: {lines:#?}");
        let count = lines.iter().find_map(|line| line.strip_suffix(" snapshots")?.parse::<u64>().ok());
        snapshots += count.expect("it says how many it read");
    }
    let statistics = writer.extents.statistics();
    println!(
        "{timestamp} commits, {} merges, {killed} readers killed, {snapshots} snapshots of those that were not, {statistics:?}",
        writer.merges
    );
    assert!(killed > 0 && snapshots > 0 && writer.merges > 10);

    // What readers held that were killed comes back within a second, and some.
    let give_up = clock.now() + Duration::from_secs(60);
    writer.merge();
    while writer.bodies.len() > 1 || writer.writer.retired_count() > 0 {
        let held = (writer.bodies.len(), writer.writer.retired_count());
        assert!(clock.now() < give_up, "{held:?} bodies and blocks are held back by readers that are gone");
        writer.writer.clear_dead_readers(&*directory).unwrap();
        writer.reclaim();
        std::thread::sleep(Duration::from_millis(5));
    }
    let used = writer.writer.arena().used_bytes();
    assert!(used < fresh + (16 << 10), "{used} bytes of live are in use, {fresh} were at the beginning");
}
