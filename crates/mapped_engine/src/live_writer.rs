//! Live writer: all that one process does in `live` while it writes the database, and nobody else may.
//!
//! ```text
//! commit    reserve blocks | latch: append to every segment, W | ... synced: R
//! merge     runs, bodies (merge.rs)
//! reclaim   the era that goes on; own snapshots; R; scan all slots; free what nobody needs; store the retained bytes
//! ```
//!
//! Lock order, outermost first: merging of a segment or of its runs, adding to a group, the commit latch, the registry of
//! snapshots, state of a segment, its past, its hubs, state of a hub, groups' blocks, their pages; then one of: own snapshots,
//! history, references to versions, retired list, arena. A pass of the retired list has one of its own, ahead of the list's and
//! the arena's.

use crate::arena::{Arena, ArenaBlock, NewBlocks};
use crate::dead_readers::{DeadReaders, oldest_reader};
use crate::group::SegmentSubject;
use crate::group_blocks::{GroupBlocks, SegmentReference};
use crate::live::Live;
use crate::live_head::SLOTS_PER_PROCESS;
use crate::merge::{BuiltBody, LiveMergeOutcome, MergedBody};
use crate::reserved_records::ReservedRecords;
use crate::retired::{OwnSnapshots, RetiredList};
use crate::segment::LiveSegment;
use crate::segment_state::{SegmentMemory, WaitingRecords};
use crate::shared_record::SharedRecord;
use crate::slots::{ActiveSlot, Replacement, RetainedBytes, SlotHolder, SnapshotNeeds};
use crate::version::BodyPlace;
use crate::words::LINE_WORDS;
use evergraph_bodies::merge_turn::MergeTurn;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{GroupId, LabelId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use evergraph_storage::timeline::clock::Timeline;
use evergraph_storage::transaction::latch::under_latch;
use std::sync::Arc;

/// The records of one commit about one segment, sorted by key.
#[derive(Clone, Debug)]
pub struct CommitPart {
    /// The segment.
    pub segment: Arc<LiveSegment>,
    /// At least one, none of a hub's row.
    pub records: Vec<SharedRecord>,
}

/// The process that writes.
///
/// Concurrency: commits are serialised by the latch, of which each takes evidence; merges and passes that free run beside
/// them.
#[derive(Debug)]
pub struct LiveWriter {
    live: Arc<Live>,
    arena: Arc<Arena>,
    retired: RetiredList,
    own: Arc<OwnSnapshots>,
    groups: GroupBlocks,
    /// Segments that may have a past.
    with_past: Mutex<Vec<Arc<LiveSegment>>>,
    /// Whether a load replaced versions, and was not readable when it was looked at. Release when it is installed.
    awaits_readable: AtomicBool,
    /// Passes that free, begun and ended: one that met no other saw all that is kept. AcqRel.
    passes_begun: AtomicU64,
    passes_ended: AtomicU64,
    dead: Mutex<DeadReaders>,
    clock: Arc<dyn Clock>,
}

impl LiveWriter {
    /// Writes into `live`, whose blocks may take `bytes_max` bytes.
    #[must_use]
    pub fn new(live: Arc<Live>, bytes_max: u64, clock: Arc<dyn Clock>) -> Self {
        let arena = Arena::new(Arc::clone(live.words()), live.head().first_block(), bytes_max);
        Self {
            live,
            arena: Arc::new(arena),
            retired: RetiredList::default(),
            own: Arc::default(),
            groups: GroupBlocks::default(),
            with_past: Mutex::default(),
            awaits_readable: AtomicBool::new(false),
            passes_begun: AtomicU64::new(0),
            passes_ended: AtomicU64::new(0),
            dead: Mutex::default(),
            clock,
        }
    }

    /// What it writes into.
    #[must_use]
    pub fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// The blocks.
    #[must_use]
    pub fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    /// The snapshots of this process.
    #[must_use]
    pub fn own_snapshots(&self) -> &Arc<OwnSnapshots> {
        &self.own
    }

    /// How many replaced things wait to be freed, those of segments' pasts apart.
    #[must_use]
    pub fn retired_count(&self) -> usize {
        self.retired.count()
    }

    /// What segments share.
    #[must_use]
    pub fn memory(&self) -> SegmentMemory<'_> {
        SegmentMemory { live: &self.live, arena: &self.arena, retired: &self.retired }
    }

    /// Makes a group without segments, unless it is there.
    ///
    /// # Errors
    /// `limit` if there is no room.
    pub fn open_group(&self, number: GroupId, label: LabelId) -> Result<()> {
        let opened = self.groups.open(&self.live, &self.arena, number, label);
        opened.map_err(|error| self.naming_the_oldest(error))
    }

    /// Gives an open group a segment whose body is exact at `base`, has so many items, and which has no records. Takes the latch.
    ///
    /// # Errors
    /// `limit` if there is no room.
    ///
    /// # Panics
    /// If the group has it already, or isn't open.
    pub fn add_segment(
        &self,
        timeline: &Timeline,
        group: GroupId,
        subject: SegmentSubject,
        (base, body, items): (Timestamp, BodyPlace, usize),
    ) -> Result<Arc<LiveSegment>> {
        let _adding = self.groups.adding();
        let mut new = NewBlocks::new(&self.arena);
        let block = new.allocate(self.groups.words_with_another(group));
        let block = block.map_err(|error| self.naming_the_oldest(error))?;
        let line = new.allocate(LINE_WORDS).map_err(|error| self.naming_the_oldest(error))?;
        new.keep();
        let memory = self.memory();
        let segment = LiveSegment::with_items(&memory, (group, subject), line, (base, body), items);
        under_latch(timeline, |_| {
            let reference = (subject, Arc::clone(segment.reference()));
            let replaced = self.groups.add(&self.arena, group, reference, block);
            let era = self.live.end_era();
            let since = Replacement { era, base: Timestamp::ZERO, until: Timestamp::ZERO };
            self.retired.add_line(since, replaced);
        });
        Ok(Arc::new(segment))
    }

    /// Makes a group, which is nowhere yet and whose page was made, with these segments in `block`. Under the latch.
    pub(crate) fn add_group(
        &self,
        group: GroupId,
        label: LabelId,
        block: ArenaBlock,
        segments: Vec<SegmentReference>,
    ) {
        let is_new = self.groups.insert(&self.live, &self.arena, group, label, block, segments);
        debug_assert!(is_new, "its number was given to nobody else");
    }

    /// Makes the page of a group: see [`LiveWriter::add_group`].
    ///
    /// # Errors
    /// `limit` if there is no room.
    pub(crate) fn open_page(&self, group: GroupId) -> Result<()> {
        let opened = self.groups.open_page(&self.live, &self.arena, group);
        opened.map_err(|error| self.naming_the_oldest(error))
    }

    /// Reserves what committing `parts` takes now, before the latch.
    ///
    /// # Errors
    /// `limit` if there is no room, naming the oldest snapshot of another process.
    pub fn reserve(&self, parts: &[CommitPart]) -> Result<Vec<ReservedRecords>> {
        let reserve = |part: &CommitPart| ReservedRecords::new(&self.arena, &part.segment, &part.records);
        let reserved = parts.iter().map(reserve).collect::<Result<_>>();
        reserved.map_err(|error| self.naming_the_oldest(error))
    }

    /// Installs a commit and stores W; [`Live::make_readable`] shows it to other processes. Calls `appended` with each segment that
    /// got records, and what waits there now. Under the latch; cannot fail.
    pub fn commit(
        &self,
        timestamp: Timestamp,
        reserved: &mut [ReservedRecords],
        appended: &mut dyn FnMut(&Arc<LiveSegment>, WaitingRecords),
    ) {
        if planted(Bug::ReadableBeforeRecords) {
            self.live.publish(timestamp);
            self.live.make_readable(timestamp);
        }
        let memory = self.memory();
        for part in reserved {
            part.append(&memory, appended);
        }
        self.live.publish(timestamp);
    }

    /// Merges the newest runs of `segment` if they are due.
    ///
    /// # Errors
    /// As [`LiveSegment::merge_runs`].
    pub fn merge_runs(&self, segment: &LiveSegment, timeline: &Timeline) -> Result<LiveMergeOutcome> {
        let merged = segment.merge_runs(&self.memory(), timeline, &self.own);
        merged.map_err(|error| self.naming_the_oldest(error))
    }

    /// Takes the readable records of `segment` into a body that `build` makes.
    ///
    /// # Errors
    /// As [`LiveSegment::merge_body`].
    pub fn merge_body(
        &self,
        segment: &Arc<LiveSegment>,
        timeline: &Timeline,
        turn: MergeTurn,
        build: impl FnOnce(BodyPlace, Timestamp, Vec<SharedRecord>) -> Result<MergedBody>,
    ) -> Result<LiveMergeOutcome> {
        let merged = segment.merge_body(&self.memory(), timeline, &self.own, turn, build);
        let merged = merged.map_err(|error| self.naming_the_oldest(error))?;
        if merged.is_done() {
            self.keep_past(segment);
        }
        Ok(merged)
    }

    /// Puts a body under `segment` that says all up to a base.
    ///
    /// # Errors
    /// As [`LiveSegment::fill_body`].
    pub fn fill_body(
        &self,
        segment: &Arc<LiveSegment>,
        timeline: &Timeline,
        body: (Timestamp, BuiltBody),
    ) -> Result<LiveMergeOutcome> {
        let filled = segment.fill_body(&self.memory(), timeline, &self.own, body);
        let filled = filled.map_err(|error| self.naming_the_oldest(error))?;
        if filled.is_done() {
            self.keep_past(segment);
            if segment.is_ahead() {
                self.note_load();
            }
        }
        Ok(filled)
    }

    /// Notes that a body of the segment was replaced.
    pub fn keep_past(&self, segment: &Arc<LiveSegment>) {
        if segment.list() {
            self.with_past.lock().push(Arc::clone(segment));
        }
    }

    /// Whether anything that was replaced waits to be freed.
    #[must_use]
    pub fn has_retired(&self) -> bool {
        self.retired.count() > 0 || !self.with_past.lock().is_empty()
    }

    /// Frees what no open snapshot needs, of any process; the bodies among it, whose extents are the caller's to free.
    /// Call it at least once in some thousand merges of a segment: until then its old versions make a walk longer.
    pub fn reclaim(&self) -> Vec<BodyPlace> {
        let pass = self.passes_begun.fetch_add(1, Ordering::AcqRel);
        let is_alone = self.passes_ended.load(Ordering::Acquire) == pass;
        // Before all else: what is replaced from now on isn't looked at.
        let ended = self.live.era();
        let (readable, own) = (self.live.readable(), self.own.open());
        let needs = SnapshotNeeds::scan(self.live.slot_words(), &own, readable);
        let mut bodies = self.retired.free(&needs, ended, &self.arena);
        // Nobody asks for what this process' own snapshots retain.
        let mut retained = (is_alone && !needs.active_slots().is_empty()).then(RetainedBytes::default);
        if let Some(retained) = &mut retained {
            self.retired.add_retained(&needs, retained);
        }
        let segments = std::mem::take(&mut *self.with_past.lock());
        let (memory, mut freed) = (self.memory(), Vec::new());
        for segment in segments {
            // Before its past is looked at: who replaces a body meanwhile lists it again.
            segment.unlist();
            let is_left = segment.free_past(&memory, &needs, ended, &mut freed, retained.as_mut());
            // Many properties can be among it: nobody waits for a lock of the segment meanwhile.
            bodies.extend(freed.drain(..).filter_map(|content| content.free(&self.arena)));
            if is_left {
                self.keep_past(&segment);
                // Another pass may have met an empty list meanwhile.
                if segment.is_ahead() {
                    self.note_load();
                }
            }
        }
        // Of two passes each took some of the segments.
        if is_alone && self.passes_begun.load(Ordering::Acquire) == pass + 1 {
            self.store_retained_bytes(&needs, &retained.unwrap_or_default());
        }
        self.passes_ended.fetch_add(1, Ordering::AcqRel);
        bodies
    }

    /// Stores in `live` how many bytes wait for the snapshots of each process that reads. Processes whose snapshots have one era and
    /// S need the same: each gets all of it.
    fn store_retained_bytes(&self, needs: &SnapshotNeeds, retained: &RetainedBytes) {
        let mut slots = needs.active_slots();
        for claim in 0..self.live.head().slots / SLOTS_PER_PROCESS {
            let end = ((claim + 1) * SLOTS_PER_PROCESS) as usize;
            let (own, others) = slots.split_at(slots.partition_point(|slot| slot.number < end));
            slots = others;
            let snapshot = |slot: &ActiveSlot| (slot.era, slot.snapshot);
            let mut snapshots: Vec<_> = own.iter().map(snapshot).collect();
            snapshots.sort_unstable();
            // What one snapshot needs, the process that has it in two slots doesn't need twice.
            snapshots.dedup();
            let bytes = snapshots.iter().map(|(era, snapshot)| retained.of(*era, *snapshot)).sum();
            self.live.retained_word(claim).store(bytes, Ordering::Relaxed);
        }
    }

    /// A load replaced versions that snapshots need until it is readable.
    pub(crate) fn note_load(&self) {
        self.awaits_readable.store(true, Ordering::Release);
    }

    /// Whether [`LiveWriter::end_load_eras`] has anything to do.
    #[must_use]
    pub(crate) fn awaits_readable(&self) -> bool {
        self.awaits_readable.load(Ordering::Acquire)
    }

    /// Ends the eras of what loads replaced, as far as R has reached them. With the registry locked, ahead of
    /// [`LiveWriter::reclaim`].
    pub(crate) fn end_load_eras(&self) {
        let memory = self.memory();
        let segments = self.with_past.lock().clone();
        let waiting = segments.iter().filter(|segment| segment.end_load_eras(&memory)).count();
        self.awaits_readable.store(waiting > 0, Ordering::Release);
    }

    /// Clears the slots of processes that are gone, if they hold something back for a second by now; which these were.
    ///
    /// # Errors
    /// `io` if a lock can be neither taken nor found held.
    pub fn clear_dead_readers(&self, directory: &dyn Directory) -> Result<Vec<SlotHolder>> {
        let of_pasts = self.with_past.lock().iter().filter_map(|segment| segment.newest_era()).max();
        let newest = self.retired.newest_era().max(of_pasts);
        let Some(newest) = newest else { return Ok(Vec::new()) };
        self.dead.lock().clear(&self.live, directory, newest, self.clock.now())
    }

    /// Says in an error that there is no room whose snapshot is the oldest.
    pub fn naming_the_oldest(&self, error: Error) -> Error {
        let oldest = oldest_reader(&self.live).filter(|_| error.kind() == ErrorKind::Limit);
        let Some(oldest) = oldest else { return error };
        let SlotHolder { process, begun } = oldest.holder;
        let age = (self.clock.wall() / 1_000_000_000).saturating_sub(i64::from(begun)).max(0);
        let snapshot = format!("snapshot {} of process {process}, {age} s old", oldest.snapshot);
        Error::new(
            error.kind(),
            format!("{error}; {snapshot}, is the oldest, and what it needs is kept: end it"),
        )
    }
}
