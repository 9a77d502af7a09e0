//! Segment: the writer's side of a segment in `live`: what its present version consists of, and how commits append to it.
//!
//! ```text
//! append    latch    push into the tail
//!                    tail too small:  a larger one with the same records, in a new version
//!                    tail full:       its records and the new ones as a run, in a new version; if there are six runs,
//!                                     together with the last
//!                    a hub's row:     the same in the segment of the hub
//! switch    latch    store the version; refer to it; end the era; what was replaced waits (retired.rs)
//! ```
//!
//! Which blocks an append takes is known before the latch, and they are allocated there (`reserved_records.rs`); what others
//! did meanwhile seldom makes it take others. Whoever finds six runs waits until fewer are there, so that the last is small when
//! it has to be sorted together with a tail.
//!
//! Concurrency: changed under the latch. Merges look at the state off it: its lock is held for a copy.

use crate::arena::{ArenaBlock, take_fitting};
use crate::files::segment_id::INDEXES;
use crate::group::SegmentSubject;
use crate::hub_table::{store_hub_table, version_word};
use crate::present_version::PresentVersion;
use crate::retired::RetiredContent;
use crate::run::run_words;
use crate::segment_history::SegmentHistory;
use crate::segment_state::{AppendStep, RunBlock, SegmentMemory, SegmentState, TailBlock, WaitingRecords};
use crate::shared_record::PlacedRecord;
use crate::slots::{Replacement, RetainedBytes, SnapshotNeed, SnapshotNeeds};
use crate::tail::{TAIL_CAPACITY, tail_words};
use crate::version::{BodyPlace, RUNS_MAX, SegmentVersion, skip_to};
use crate::version_reference::VersionReference;
use crate::words::{LINE_WORDS, LineNumber};
use evergraph_graph::id::GroupId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use evergraph_storage::sync::{ArcCell, Mutex, MutexGuard, thread};
use std::ops::Deref;
use std::sync::Arc;

/// A version with an older base, kept for snapshots.
#[derive(Debug)]
struct PastVersion {
    line: ArenaBlock,
    replaced: Replacement,
    /// Whether what replaced it, a load's, wasn't readable then. Until it is, snapshots begin that need this one, whatever
    /// the era: the era in which it was replaced is the one in which that is noticed.
    is_ahead: bool,
    content: RetiredContent,
}

/// A row that has a segment of its own.
pub type HubSegment = (u16, Arc<LiveSegment>);

/// One segment, of the process that writes.
#[derive(Debug)]
pub struct LiveSegment {
    group: GroupId,
    subject: SegmentSubject,
    /// The row that it has to itself, if it is a hub's.
    row: Option<u16>,
    /// The present version, for snapshots of this process. `None` for a hub's: the version of its group's segment names the table
    /// that leads to it.
    present: Option<ArcCell<PresentVersion>>,
    /// Where readers find the present version: in the group's block, or in the table of hubs of the segment that the row was taken
    /// out of.
    reference: Arc<VersionReference>,
    pub(crate) state: Mutex<SegmentState>,
    /// Versions with older bases, newest first.
    past: Mutex<Vec<PastVersion>>,
    /// Ascending by row; replaced as a whole, under the latch.
    hubs: Mutex<Arc<Vec<HubSegment>>>,
    /// Whether there are any. Release when they were added.
    has_hubs: AtomicBool,
    /// What merges took, for writers.
    history: SegmentHistory,
    /// One merge into the body at a time.
    pub(crate) merging: Mutex<()>,
    /// One merge of runs at a time: also while the body is merged, so that runs stay few.
    pub(crate) merging_runs: Mutex<()>,
    /// Whether it waits in the merge queue. Decides nothing but a second entry.
    queued: AtomicBool,
    /// Whether it is listed as having a past. Decides nothing but a second entry.
    listed: AtomicBool,
}

/// A body for a segment, with what goes on top of it.
#[derive(Debug)]
pub(crate) struct NextBody {
    pub(crate) base: Timestamp,
    pub(crate) body: BodyPlace,
    /// Edges in it, those of hubs apart, or vertices.
    pub(crate) items: usize,
    /// Records that are newer.
    pub(crate) rest: NewerRecords,
    /// Where the version goes.
    pub(crate) line: ArenaBlock,
    /// All hubs, ascending by row, and where their table goes.
    pub(crate) hubs: Option<(ArenaBlock, Vec<HubSegment>)>,
    /// What the version before has and this one hasn't.
    pub(crate) displaced: RetiredContent,
}

/// Records that are newer than a body.
#[derive(Debug, Default)]
pub(crate) struct NewerRecords {
    pub(crate) run: Option<Arc<RunBlock>>,
    /// Newer than the run's.
    pub(crate) tail: Option<TailBlock>,
}

impl LiveSegment {
    /// The segment about `subject`, whose first version, with a body that is exact at `base` and no records, lies in
    /// `line` from now on. Nothing refers to the line yet.
    #[must_use]
    pub fn new(
        memory: &SegmentMemory<'_>,
        group: GroupId,
        subject: SegmentSubject,
        line: ArenaBlock,
        (base, body): (Timestamp, BodyPlace),
    ) -> Self {
        Self::with_items(memory, (group, subject), line, (base, body), 0)
    }

    /// The same with a body of so many items.
    pub(crate) fn with_items(
        memory: &SegmentMemory<'_>,
        (group, subject): (GroupId, SegmentSubject),
        line: ArenaBlock,
        (base, body): (Timestamp, BodyPlace),
        items: usize,
    ) -> Self {
        Self::with(memory, (group, subject, None), line, (base, body, items), NewerRecords::default())
    }

    /// The segment of one row of this one, likewise, with records that are newer; its table is stored later.
    #[must_use]
    pub(crate) fn hub(
        &self,
        memory: &SegmentMemory<'_>,
        row: u16,
        line: ArenaBlock,
        body: (Timestamp, BodyPlace, usize),
        rest: NewerRecords,
    ) -> Self {
        let hub = Self::with(memory, (self.group, self.subject, Some(row)), line, body, rest);
        if !planted(Bug::HubHistoryLost) {
            hub.history.take_row_of(&self.history, row);
        }
        hub
    }

    fn with(
        memory: &SegmentMemory<'_>,
        (group, subject, row): (GroupId, SegmentSubject, Option<u16>),
        line: ArenaBlock,
        (base, body, items): (Timestamp, BodyPlace, usize),
        rest: NewerRecords,
    ) -> Self {
        let version = SegmentVersion { base, body, ..SegmentVersion::default() };
        let mut state = SegmentState::new(line, version, items);
        state.set_runs(rest.run.into_iter().collect());
        state.set_tail(rest.tail);
        store_version(memory, line, &state.version, LineNumber::NONE);
        Self {
            group,
            subject,
            row,
            present: row.is_none().then(|| ArcCell::new(Arc::new(PresentVersion::new(state.version)))),
            reference: Arc::new(VersionReference::new(line.line)),
            state: Mutex::new(state),
            past: Mutex::default(),
            hubs: Mutex::default(),
            has_hubs: AtomicBool::new(false),
            history: SegmentHistory::new(base),
            merging: Mutex::default(),
            merging_runs: Mutex::default(),
            queued: AtomicBool::new(false),
            listed: AtomicBool::new(false),
        }
    }

    /// Its group.
    #[must_use]
    pub fn group(&self) -> GroupId {
        self.group
    }

    /// What it is about.
    #[must_use]
    pub fn subject(&self) -> SegmentSubject {
        self.subject
    }

    /// The number of the index whose entries it has, if it has any's.
    #[must_use]
    pub fn index_number(&self) -> Option<u32> {
        (self.group == INDEXES).then_some(self.subject.0)
    }

    /// The row that it has to itself, if it is a hub's.
    #[must_use]
    pub fn row(&self) -> Option<u16> {
        self.row
    }

    /// Where readers find its present version.
    #[must_use]
    pub fn reference(&self) -> &Arc<VersionReference> {
        &self.reference
    }

    /// Records in runs and tail, which a merge would take.
    #[must_use]
    pub fn records(&self) -> usize {
        self.state.lock().records()
    }

    /// Records of each run, the oldest first.
    #[must_use]
    pub fn run_sizes(&self) -> Vec<usize> {
        self.state.lock().runs.iter().map(|run| run.records).collect()
    }

    /// What waits to be merged.
    #[must_use]
    pub fn waiting(&self) -> WaitingRecords {
        self.state.lock().waiting()
    }

    /// The present base.
    #[must_use]
    pub fn base(&self) -> Timestamp {
        self.state.lock().version.base
    }

    /// What its present version says.
    #[must_use]
    pub fn version(&self) -> SegmentVersion {
        self.state.lock().version
    }

    /// How many versions with older bases are kept, and the bytes of their bodies.
    #[must_use]
    pub fn past_versions(&self) -> (usize, u64) {
        let past = self.past.lock();
        let bodies = past.iter().filter_map(|past| past.content.body);
        (past.len(), bodies.map(|body| body.bytes).sum())
    }

    /// Bytes of runs and tail.
    #[must_use]
    pub fn record_bytes(&self) -> u64 {
        let blocks = self.state.lock().content().blocks;
        blocks.iter().map(|block| block.words() as u64 * 8).sum::<u64>() + self.history.heap_bytes()
    }

    /// What changed.
    #[must_use]
    pub fn history(&self) -> &SegmentHistory {
        &self.history
    }

    /// Items in its body.
    #[must_use]
    pub fn items(&self) -> usize {
        self.state.lock().items
    }

    /// Whether rows have segments of their own.
    #[must_use]
    pub fn has_hubs(&self) -> bool {
        self.has_hubs.load(Ordering::Acquire)
    }

    /// The rows that have segments of their own, ascending.
    #[must_use]
    pub fn hubs(&self) -> Arc<Vec<HubSegment>> {
        if self.has_hubs() { Arc::clone(&self.hubs.lock()) } else { Arc::default() }
    }

    /// The segment of `row`, if it has one of its own.
    #[must_use]
    pub fn hub_of(&self, row: u16) -> Option<Arc<LiveSegment>> {
        if !self.has_hubs() {
            return None;
        }
        let hubs = self.hubs.lock();
        let at = hubs.binary_search_by_key(&row, |hub| hub.0).ok()?;
        Some(Arc::clone(&hubs[at].1))
    }

    /// The present version, if a snapshot of this process sees it; nothing for a hub's.
    #[must_use]
    pub fn present(&self, timestamp: Timestamp) -> Option<impl Deref<Target = Arc<PresentVersion>>> {
        let present = self.present.as_ref()?.load();
        present.version().base.visible_at(timestamp).then_some(present)
    }

    /// Notes that it waits in the merge queue; whether it didn't before.
    pub fn enqueue(&self) -> bool {
        !self.queued.swap(true, Ordering::AcqRel)
    }

    /// Notes that it left the merge queue.
    pub fn dequeue(&self) {
        self.queued.store(false, Ordering::Release);
    }

    /// Notes that it is listed as having a past; whether it wasn't before.
    pub(crate) fn list(&self) -> bool {
        !self.listed.swap(true, Ordering::AcqRel)
    }

    /// Notes that it isn't listed any more.
    pub(crate) fn unlist(&self) {
        self.listed.store(false, Ordering::Release);
    }

    /// A copy of what the present version consists of.
    pub(crate) fn state(&self) -> SegmentState {
        self.state.lock().clone()
    }

    /// The words of each block that appending `count` records takes now.
    #[must_use]
    pub fn append_words(&self, count: usize) -> Vec<usize> {
        self.state.lock().append_words(count)
    }

    /// Appends records of one commit, sorted by key, none of a hub's row, with the blocks of their properties; `spare` are
    /// blocks that were reserved. What waits now. Under the latch.
    pub fn append(
        &self,
        memory: &SegmentMemory<'_>,
        records: &[PlacedRecord],
        mut properties: Vec<ArenaBlock>,
        spare: &mut Vec<ArenaBlock>,
    ) -> WaitingRecords {
        let Some(newest) = records.iter().map(|record| record.stamp.timestamp()).max() else {
            return self.waiting();
        };
        let arena = memory.arena;
        let mut take =
            |words: usize| take_fitting(spare, words).unwrap_or_else(|| arena.allocate_for_commit(words));
        let mut state = self.state.lock();
        match state.step(records.len()) {
            AppendStep::Push => {
                let tail = state.tail.as_mut().expect("there is room in a tail");
                tail.append(arena, records.iter().copied(), properties);
            }
            AppendStep::Grow(capacity) => {
                let mut larger = TailBlock::empty(arena, take(tail_words(capacity)), capacity);
                let mut replaced = RetiredContent::default();
                if let Some(before) = state.tail.take() {
                    // Its properties are read from the larger one, too.
                    larger.append(arena, before.placed(arena), before.properties);
                    replaced.blocks.push(before.block);
                }
                larger.append(arena, records.iter().copied(), properties);
                state.set_tail(Some(larger));
                self.switch(memory, &mut state, take(LINE_WORDS), replaced);
            }
            AppendStep::Sort => {
                let mut sorted = records.to_vec();
                let mut replaced = RetiredContent::default();
                let mut next_tail = None;
                if let Some(before) = state.tail.take() {
                    sorted.extend(before.placed(arena));
                    properties.extend(before.properties);
                    replaced.blocks.push(before.block);
                    if before.capacity == TAIL_CAPACITY {
                        let block = take(tail_words(TAIL_CAPACITY));
                        next_tail = Some(TailBlock::empty(arena, block, TAIL_CAPACITY));
                    }
                }
                let mut runs = std::mem::take(&mut state.runs);
                let last = if runs.len() == RUNS_MAX { runs.pop() } else { None };
                if let Some(last) = last {
                    sorted.extend(last.placed(arena));
                    properties.extend_from_slice(&last.properties);
                    replaced.blocks.push(last.block);
                }
                sorted.sort_unstable();
                runs.push(RunBlock::stored(arena, take(run_words(sorted.len())), &sorted, properties));
                state.set_runs(runs);
                state.set_tail(next_tail);
                self.switch(memory, &mut state, take(LINE_WORDS), replaced);
            }
        }
        self.history.changed_at(newest);
        state.waiting()
    }

    /// Puts `merged` in the place of runs that a merge read, `replaced`, if these are there still; whether they are.
    /// Under the latch.
    pub(crate) fn replace_runs(
        &self,
        memory: &SegmentMemory<'_>,
        replaced: &[Arc<RunBlock>],
        merged: Arc<RunBlock>,
        line: ArenaBlock,
    ) -> bool {
        debug_assert!(!replaced.is_empty());
        let mut state = self.state.lock();
        let are_these = |runs: &[Arc<RunBlock>]| runs.iter().zip(replaced).all(|(a, b)| Arc::ptr_eq(a, b));
        let at = state.runs.windows(replaced.len()).position(are_these);
        let Some(at) = at else { return false };
        let mut runs = state.runs.clone();
        runs.splice(at..at + replaced.len(), [merged]);
        state.set_runs(runs);
        let blocks = replaced.iter().map(|run| run.block).collect();
        self.switch(memory, &mut state, line, RetiredContent { blocks, body: None });
        true
    }

    /// Puts the body that lies at `to` in the place of the one at `from`, which is the same, if that is there still; whether it
    /// is. Under the latch.
    pub(crate) fn move_body(
        &self,
        memory: &SegmentMemory<'_>,
        from: BodyPlace,
        to: BodyPlace,
        line: ArenaBlock,
    ) -> bool {
        let mut state = self.state.lock();
        if state.version.body != from {
            return false;
        }
        state.version.body = to;
        self.switch(memory, &mut state, line, RetiredContent { blocks: Vec::new(), body: Some(from) });
        true
    }

    /// Makes a version with a newer base the present one. The one before is kept as the past; what the writer knew of it is the
    /// caller's to drop after the latch. Under the latch.
    pub(crate) fn replace_body(&self, memory: &SegmentMemory<'_>, next: NextBody) -> SegmentState {
        let NextBody { base, body, items, rest, line, hubs, displaced } = next;
        let mut state = self.state.lock();
        let mut past = self.past.lock();
        let hub_table = hubs.as_ref().map(|(table, _)| *table);
        let table_line = hub_table.map_or(LineNumber::NONE, |table| table.line);
        let version = SegmentVersion { base, body, hubs: table_line, ..SegmentVersion::default() };
        let mut next = SegmentState::new(line, version, items);
        (next.hub_table, next.older) = (hub_table, state.line.line);
        let before = std::mem::replace(&mut *state, next);
        state.set_runs(rest.run.into_iter().collect());
        state.set_tail(rest.tail);
        if let Some((table, hubs)) = hubs {
            self.store_hubs(memory, table, hubs);
        }
        store_version(memory, line, &state.version, state.older);
        let era = self.refer_to(memory, line, &state.version);
        let replaced = Replacement { era, base: before.version.base, until: base };
        let forgets = planted(Bug::MergeAtW) || planted(Bug::LoadForgetsR);
        let is_ahead = !base.visible_at(memory.live.readable()) && !forgets;
        past.insert(0, PastVersion { line: before.line, replaced, is_ahead, content: displaced });
        before
    }

    /// Stores the table of all hubs, which nothing refers to yet, and lets their next versions be found by it.
    fn store_hubs(&self, memory: &SegmentMemory<'_>, table: ArenaBlock, hubs: Vec<HubSegment>) {
        let mut lines = Vec::with_capacity(hubs.len());
        for (number, (row, hub)) in hubs.iter().enumerate() {
            hub.reference.moved_to(table.line, version_word(number));
            lines.push((*row, hub.reference.version()));
        }
        store_hub_table(memory.arena.words_of(table), &lines);
        *self.hubs.lock() = Arc::new(hubs);
        self.has_hubs.store(true, Ordering::Release);
    }

    /// Gives a segment that nobody reads yet its hubs, ascending by row, with their table.
    pub(crate) fn attach_hubs(&self, memory: &SegmentMemory<'_>, table: ArenaBlock, hubs: Vec<HubSegment>) {
        let mut state = self.state.lock();
        self.store_hubs(memory, table, hubs);
        state.hub_table = Some(table);
        state.version.hubs = table.line;
        store_version(memory, state.line, &state.version, state.older);
        self.refer_to(memory, state.line, &state.version);
    }

    /// Lets snapshots that begin find `version`, which is stored in `line`, of other processes and of this one. Ends the era and
    /// returns it.
    fn refer_to(&self, memory: &SegmentMemory<'_>, line: ArenaBlock, version: &SegmentVersion) -> u64 {
        self.reference.refer_to(memory.live.words(), line.line);
        let early = planted(Bug::PresentAfterEra).then(|| {
            let era = memory.live.end_era();
            // So that schedules meet what may happen in between.
            thread::yield_now();
            era
        });
        if let Some(present) = &self.present {
            let next = present.load().followed_by(*version);
            drop(present.swap(Arc::new(next)));
        }
        early.unwrap_or_else(|| memory.live.end_era())
    }

    /// Makes `state`, of the same base as before, what readers find at `line`. Under the latch.
    fn switch(
        &self,
        memory: &SegmentMemory<'_>,
        state: &mut MutexGuard<'_, SegmentState>,
        line: ArenaBlock,
        content: RetiredContent,
    ) {
        store_version(memory, line, &state.version, state.older);
        let era = self.refer_to(memory, line, &state.version);
        let replaced = Replacement { era, base: state.version.base, until: state.version.base };
        let before = std::mem::replace(&mut state.line, line);
        memory.retired.add_content(replaced, content);
        memory.retired.add_line(replaced, before);
    }

    /// Takes out what nobody needs of versions with older bases that were replaced before the era `ended`; whether some
    /// remain. What they had goes into `freed`, for the caller to free; what remains counts in `retained`.
    pub(crate) fn free_past(
        &self,
        memory: &SegmentMemory<'_>,
        needs: &SnapshotNeeds,
        ended: u64,
        freed: &mut Vec<RetiredContent>,
        mut retained: Option<&mut RetainedBytes>,
    ) -> bool {
        let mut state = self.state.lock();
        let mut past = self.past.lock();
        let mut at = 0;
        while let Some(version) = past.get(at) {
            let need = needs.need(version.replaced);
            if version.is_ahead || version.replaced.era >= ended || need != SnapshotNeed::Nobody {
                if let Some(retained) = retained.as_deref_mut() {
                    retained.add(need, version.content.bytes() + version.line.bytes());
                }
                at += 1;
                continue;
            }
            let gone = past.remove(at);
            // Nobody reads it: who walks skips it from now on.
            let older = past.get(at).map_or(LineNumber::NONE, |older| older.line.line);
            match at.checked_sub(1) {
                Some(newer) => skip_to(line_words(memory, past[newer].line), older),
                None => {
                    skip_to(line_words(memory, state.line), older);
                    state.older = older;
                }
            }
            freed.push(gone.content);
            memory.retired.add_line(gone.replaced, gone.line);
        }
        !past.is_empty()
    }

    /// Ends the era of versions that a load replaced, if R has reached it; whether some still wait for that. With the registry
    /// locked: who registers later loads such an R.
    pub(crate) fn end_load_eras(&self, memory: &SegmentMemory<'_>) -> bool {
        let readable = memory.live.readable();
        let mut waits = false;
        for past in self.past.lock().iter_mut().filter(|past| past.is_ahead) {
            if past.replaced.until.visible_at(readable) {
                past.replaced.era = memory.live.end_era();
                past.is_ahead = false;
            } else {
                waits = true;
            }
        }
        waits
    }

    /// Whether [`LiveSegment::end_load_eras`] has something to do.
    pub(crate) fn is_ahead(&self) -> bool {
        self.past.lock().iter().any(|past| past.is_ahead)
    }

    /// The era in which the newest version that is kept was replaced.
    #[must_use]
    pub fn newest_era(&self) -> Option<u64> {
        self.past.lock().first().map(|past| past.replaced.era)
    }
}

fn line_words<'a>(memory: &SegmentMemory<'a>, line: ArenaBlock) -> &'a [AtomicU64; LINE_WORDS] {
    memory.live.words().line(line.line).expect("the writer's own block")
}

fn store_version(memory: &SegmentMemory<'_>, line: ArenaBlock, version: &SegmentVersion, older: LineNumber) {
    version.store(line_words(memory, line), older);
}
