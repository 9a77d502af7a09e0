//! Merges: several runs into one, and records into a body; off the latch but for the last step.
//!
//! ```text
//! runs      off the latch   some of the newest runs -> one
//!           latch           are they there still? then a version with it in their place
//! body      off the latch   B = R; body' = body + records <= B
//!                           rest = records of the present runs newer than B, as a run; what nobody needs of the others
//!           latch           n = the present; if its base is another: give up; if its runs are others: back one step
//!                           records of n's tail newer than B, as a tail
//!                           a version of B, body', rest and tail; n is the past
//! ```
//!
//! Runs grow by fours: one that isn't four times as large as all that are newer goes together with them. So a record is
//! copied about three times while the records of its segment grow fourfold, and under the latch only small runs are. Runs are
//! merged also while the body is.
//!
//! Under the latch a merge costs a tail, however many records there are: what is in runs never changes, and is looked through
//! before. It reads the present there, never what it began with.
//!
//! What a merge reads off the latch may be replaced meanwhile: so it has a snapshot of its own.

use crate::arena::{ArenaBlock, NewBlocks, take_fitting};
use crate::hub_table::hub_table_words;
use crate::retired::{OwnSnapshots, RetiredContent};
use crate::run::{merge_sorted_runs, run_words};
use crate::segment::{HubSegment, LiveSegment, NewerRecords, NextBody};
use crate::segment_state::{RunBlock, SegmentMemory, SegmentState, TailBlock};
use crate::shared_record::{PlacedRecord, SharedRecord};
use crate::tail::{TAIL_CAPACITY, tail_capacities, tail_capacity, tail_words};
use crate::version::{ALL_KEYS, BodyPlace};
use crate::words::{LINE_WORDS, LineNumber};
use evergraph_bodies::history::{ContinuedHistory, History};
use evergraph_bodies::merge_turn::MergeTurn;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::timeline::clock::Timeline;
use evergraph_storage::transaction::latch::under_latch;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// What a merge did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LiveMergeOutcome {
    /// There was nothing to merge.
    Nothing,
    /// Another merge of the segment is under way.
    Busy,
    /// Something else came first: nothing refers to what was built, for the caller to free.
    Overtaken,
    /// Records went where they are now.
    Done {
        /// How many.
        records: usize,
        /// How many more items the body has, with the hubs that were taken out of it.
        growth: i64,
    },
}

impl LiveMergeOutcome {
    /// Whether records went somewhere.
    #[must_use]
    pub fn is_done(self) -> bool {
        matches!(self, Self::Done { .. })
    }
}

/// A body that a merge wrote, and how many items it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuiltBody {
    /// Where it lies.
    pub place: BodyPlace,
    /// Edges or vertices.
    pub items: usize,
}

/// What a merge made of a segment's body and records.
#[derive(Debug)]
pub struct MergedBody {
    /// The body.
    pub body: BuiltBody,
    /// Rows that were taken out of it, ascending, each with a body of its own.
    pub hubs: Vec<(u16, BuiltBody)>,
    /// What writers may ask about from now on.
    pub history: ContinuedHistory,
}

impl From<BuiltBody> for MergedBody {
    /// A body without hubs, where nobody asks what changed.
    fn from(body: BuiltBody) -> Self {
        let history = ContinuedHistory { history: History::default(), forgotten: None };
        Self { body, hubs: Vec::new(), history }
    }
}

/// How often a merge looks through runs that came meanwhile, before it does so under the latch.
const LOOKS_MAX: u32 = 4;

impl LiveSegment {
    /// Merges the newest runs if they are due.
    ///
    /// # Errors
    /// What opening a region of `live` says.
    pub fn merge_runs(
        &self,
        memory: &SegmentMemory<'_>,
        timeline: &Timeline,
        own: &OwnSnapshots,
    ) -> Result<LiveMergeOutcome> {
        let Some(_one) = self.merging_runs.try_lock() else { return Ok(LiveMergeOutcome::Busy) };
        let _snapshot = own.begin(memory.live);
        let start = self.state();
        let newest = &start.runs[start.runs.len() - start.waiting().due_runs..];
        if newest.is_empty() {
            return Ok(LiveMergeOutcome::Nothing);
        }
        let mut records = Vec::with_capacity(newest.iter().map(|run| run.records).sum());
        newest.iter().for_each(|run| records.extend(run.placed(memory.arena)));
        merge_sorted_runs(&mut records);
        let properties = newest.iter().flat_map(|run| run.properties.iter().copied()).collect();
        let mut new = NewBlocks::beyond_limit(memory.arena);
        let line = new.allocate(LINE_WORDS)?;
        let block = new.allocate(run_words(records.len()))?;
        let merged = RunBlock::stored(memory.arena, block, &records, properties);
        if under_latch(timeline, |_| self.replace_runs(memory, newest, merged, line)) {
            new.keep();
            return Ok(LiveMergeOutcome::Done { records: records.len(), growth: 0 });
        }
        Ok(LiveMergeOutcome::Overtaken)
    }

    /// Waits until a merge of runs that is under way has ended.
    pub fn wait_for_runs(&self) {
        drop(self.merging_runs.lock());
    }

    /// Takes what is readable into a new body, which `build` makes of the one before, the base that it gets, and the records
    /// up to that, by (key, stamp). If another such merge is under way, `turn` says whether to wait for it.
    ///
    /// # Errors
    /// Those of `build`; `corrupt` if another process stored into records; as [`LiveSegment::merge_runs`]. What was built is the
    /// caller's to free then.
    pub fn merge_body(
        &self,
        memory: &SegmentMemory<'_>,
        timeline: &Timeline,
        own: &OwnSnapshots,
        turn: MergeTurn,
        build: impl FnOnce(BodyPlace, Timestamp, Vec<SharedRecord>) -> Result<MergedBody>,
    ) -> Result<LiveMergeOutcome> {
        let Some(_one) = turn.take(&self.merging) else { return Ok(LiveMergeOutcome::Busy) };
        let snapshot = own.begin(memory.live);
        let base = if planted(Bug::MergeAtW) { memory.live.published() } else { snapshot.timestamp() };
        let start = self.state();
        // The snapshot keeps what has a base that it sees.
        if base <= start.version.base {
            return Ok(LiveMergeOutcome::Nothing);
        }
        let records = start.version.records(memory.live.words(), &ALL_KEYS, base)?;
        if records.is_empty() {
            return Ok(LiveMergeOutcome::Nothing);
        }
        let count = records.len();
        let built = build(start.version.body, base, records)?;
        self.install_body(memory, timeline, (&start, base), built, count)
    }

    /// Puts a body under the segment that nobody made of its records: it says all up to `base`, which is readable, and what the
    /// segment has of that goes.
    ///
    /// # Errors
    /// As [`LiveSegment::merge_body`].
    pub fn fill_body(
        &self,
        memory: &SegmentMemory<'_>,
        timeline: &Timeline,
        own: &OwnSnapshots,
        (base, body): (Timestamp, BuiltBody),
    ) -> Result<LiveMergeOutcome> {
        let Some(_one) = self.merging.try_lock() else { return Ok(LiveMergeOutcome::Busy) };
        let _snapshot = own.begin(memory.live);
        let start = self.state();
        if base <= start.version.base {
            return Ok(LiveMergeOutcome::Nothing);
        }
        let count = start.version.records(memory.live.words(), &ALL_KEYS, base)?.len();
        self.install_body(memory, timeline, (&start, base), body.into(), count)
    }

    /// Replaces the body of `start`, what a merge began with, and `count` of its records by a body that is exact at `base`.
    fn install_body(
        &self,
        memory: &SegmentMemory<'_>,
        timeline: &Timeline,
        (start, base): (&SegmentState, Timestamp),
        built: MergedBody,
        count: usize,
    ) -> Result<LiveMergeOutcome> {
        let mut built = Some(built);
        let mut looks = RunLooks { base, by_run: Vec::new() };
        let hub_rows: Vec<u16> = built.iter().flat_map(|built| &built.hubs).map(|hub| hub.0).collect();
        let mut looks_count = 0;
        loop {
            looks_count += 1;
            // None if runs come faster than they are looked through.
            let rest = if looks_count <= LOOKS_MAX {
                let hubs = self.hubs().len();
                Some(RunRest::new(memory, &mut looks, &self.state(), (&hub_rows, hubs))?)
            } else {
                None
            };
            let switched = under_latch(timeline, |_| -> Result<Switched<'_>> {
                let now = if planted(Bug::StaleResidual) { start.clone() } else { self.state() };
                if now.version.base != start.version.base {
                    return Ok(Switched::Overtaken);
                }
                let mut rest = match rest {
                    Some(rest) if rest.is_of(&now) => rest,
                    Some(rest) => return Ok(Switched::TooLate(rest)),
                    None => RunRest::new(memory, &mut looks, &now, (&hub_rows, self.hubs().len()))?,
                };
                // Nothing can fail from here on.
                let built = built.take().expect("the version is replaced once");
                let items = built.body.items + built.hubs.iter().map(|hub| hub.1.items).sum::<usize>();
                rest.take_tail(memory, &now, (base, &hub_rows));
                let _registry = timeline.registry();
                let before = self.switch_body(memory, base, built, &mut rest);
                Ok(Switched::Done { rest, before, growth: items as i64 - now.items as i64 })
            });
            match switched? {
                Switched::Overtaken => return Ok(LiveMergeOutcome::Overtaken),
                Switched::TooLate(rest) => drop(rest),
                Switched::Done { rest, before, growth } => {
                    rest.keep(memory);
                    drop(before);
                    return Ok(LiveMergeOutcome::Done { records: count, growth });
                }
            }
        }
    }

    /// Makes a version of `base` the present one. Under latch and registry.
    fn switch_body(
        &self,
        memory: &SegmentMemory<'_>,
        base: Timestamp,
        built: MergedBody,
        rest: &mut RunRest<'_>,
    ) -> (SegmentState, History) {
        let history = self.history().install(built.history);
        let mut hubs: Vec<HubSegment> = self.hubs().to_vec();
        let (mut parts, table) = (std::mem::take(&mut rest.parts).into_iter(), rest.table);
        let own = parts.next().expect("the segment's own part is the first");
        for ((row, hub), part) in built.hubs.into_iter().zip(parts) {
            let body = (base, hub.place, hub.items);
            hubs.push((row, Arc::new(self.hub(memory, row, part.line, body, part.records))));
        }
        hubs.sort_unstable_by_key(|hub| hub.0);
        let next = NextBody {
            base,
            body: built.body.place,
            items: built.body.items,
            rest: own.records,
            line: own.line,
            hubs: table.map(|table| (table, hubs)),
            displaced: std::mem::take(&mut rest.displaced),
        };
        (self.replace_body(memory, next), history)
    }
}

/// What came of a try to replace a body.
enum Switched<'a> {
    Overtaken,
    /// There are other runs than those that were looked through.
    TooLate(RunRest<'a>),
    Done {
        rest: RunRest<'a>,
        /// What the writer knew of the version before.
        before: (SegmentState, History),
        growth: i64,
    },
}

/// Runs that were looked through, and the records of each that are newer than the next base.
struct RunLooks {
    base: Timestamp,
    by_run: Vec<(Arc<RunBlock>, Vec<PlacedRecord>)>,
}

impl RunLooks {
    fn newer(&mut self, memory: &SegmentMemory<'_>, run: &Arc<RunBlock>) -> &[PlacedRecord] {
        let base = self.base;
        let known = self.by_run.iter().position(|(known, _)| Arc::ptr_eq(known, run));
        let at = known.unwrap_or_else(|| {
            let newer = if planted(Bug::ResidualDropped) {
                Vec::new()
            } else {
                run.placed(memory.arena).filter(|record| is_newer(record, base)).collect()
            };
            self.by_run.push((Arc::clone(run), newer));
            self.by_run.len() - 1
        });
        &self.by_run[at].1
    }
}

fn is_newer(record: &PlacedRecord, base: Timestamp) -> bool {
    !record.stamp.timestamp().visible_at(base)
}

/// What stays of a segment's records on top of its next body, and what goes; so far as runs say it, before the latch.
struct RunRest<'a> {
    /// All blocks of it.
    new: NewBlocks<'a>,
    /// Those of which nobody knows yet whether they are needed, for tails.
    spare: Vec<ArenaBlock>,
    of: Vec<Arc<RunBlock>>,
    table: Option<ArenaBlock>,
    /// The segment's own part, then one for each of the rows that are taken out of it.
    parts: Vec<RestPart>,
    displaced: RetiredContent,
}

/// What a segment gets, its own or a new hub's.
struct RestPart {
    line: ArenaBlock,
    records: NewerRecords,
}

impl<'a> RunRest<'a> {
    /// Of the runs of `state`, the present one or one shortly before; `hubs` are the rows that are taken out, and how many hubs
    /// there are.
    fn new(
        memory: &SegmentMemory<'a>,
        looks: &mut RunLooks,
        state: &SegmentState,
        (rows, hubs): (&[u16], usize),
    ) -> Result<Self> {
        let mut new = NewBlocks::beyond_limit(memory.arena);
        let mut newer = Vec::new();
        for run in &state.runs {
            newer.extend_from_slice(looks.newer(memory, run));
        }
        newer.sort_unstable();
        let of_runs = || state.runs.iter().flat_map(|run| run.properties.iter().copied());
        // Mostly all records are part of the body.
        let blocks: HashMap<LineNumber, ArenaBlock> = if newer.is_empty() {
            HashMap::new()
        } else {
            of_runs().map(|block| (block.line, block)).collect()
        };
        let (mut parts, mut spare) = (Vec::with_capacity(1 + rows.len()), Vec::new());
        for row in [None].into_iter().chain(rows.iter().copied().map(Some)) {
            let line = new.allocate(LINE_WORDS)?;
            let records: Vec<PlacedRecord> =
                newer.iter().copied().filter(|record| part_of(rows, record) == row).collect();
            let mut run = None;
            if !records.is_empty() {
                let block = new.allocate(run_words(records.len()))?;
                let properties = records.iter().filter_map(|record| blocks.get(&record.properties));
                let properties = properties.copied().collect();
                run = Some(RunBlock::stored(memory.arena, block, &records, properties));
            }
            parts.push(RestPart { line, records: NewerRecords { run, tail: None } });
            for capacity in tail_capacities() {
                spare.push(new.allocate(tail_words(capacity))?);
            }
        }
        let table = match hubs + rows.len() {
            0 => None,
            count => Some(new.allocate(hub_table_words(count))?),
        };
        let kept: HashSet<LineNumber> = newer.iter().map(|record| record.properties).collect();
        let mut displaced: Vec<ArenaBlock> = of_runs().filter(|block| !kept.contains(&block.line)).collect();
        displaced.extend(state.runs.iter().map(|run| run.block));
        // For the tail, under the latch.
        displaced.reserve(TAIL_CAPACITY + 2);
        let displaced = RetiredContent { blocks: displaced, body: None };
        Ok(Self { new, spare, of: state.runs.clone(), table, parts, displaced })
    }

    /// Whether these are the runs of `state`.
    fn is_of(&self, state: &SegmentState) -> bool {
        self.of.len() == state.runs.len() && self.of.iter().zip(&state.runs).all(|(a, b)| Arc::ptr_eq(a, b))
    }

    /// Adds the records of the tail that are newer than `base`, and what else goes with the version of `state`.
    fn take_tail(
        &mut self,
        memory: &SegmentMemory<'_>,
        state: &SegmentState,
        (base, rows): (Timestamp, &[u16]),
    ) {
        self.displaced.body = Some(state.version.body);
        self.displaced.blocks.extend(state.hub_table);
        let Some(tail) = &state.tail else { return };
        self.displaced.blocks.push(tail.block);
        let mut blocks = tail.properties.clone();
        let newer: Vec<PlacedRecord> = match planted(Bug::ResidualDropped) {
            true => Vec::new(),
            false => tail.placed(memory.arena).filter(|record| is_newer(record, base)).collect(),
        };
        let all = [None].into_iter().chain(rows.iter().copied().map(Some));
        for (part, row) in self.parts.iter_mut().zip(all) {
            let records: Vec<PlacedRecord> =
                newer.iter().copied().filter(|record| part_of(rows, record) == row).collect();
            if records.is_empty() {
                continue;
            }
            let capacity = tail_capacity(records.len()).expect("as many were in a tail");
            let words = tail_words(capacity);
            let block = take_fitting(&mut self.spare, words).expect("each part has one of each size");
            let mut properties = Vec::new();
            for record in &records {
                let at = blocks.iter().position(|block| block.line == record.properties);
                properties.extend(at.map(|at| blocks.swap_remove(at)));
            }
            let mut tail = TailBlock::empty(memory.arena, block, capacity);
            tail.append(memory.arena, records, properties);
            part.records.tail = Some(tail);
        }
        self.displaced.blocks.append(&mut blocks);
    }

    /// A version refers to what was needed.
    fn keep(self, memory: &SegmentMemory<'_>) {
        self.new.keep();
        memory.arena.free_all(self.spare);
    }
}

/// The one of `rows`, ascending, that a record is about; none, if it is another one.
fn part_of(rows: &[u16], record: &PlacedRecord) -> Option<u16> {
    let row = record.key.row();
    rows.binary_search(&row).is_ok().then_some(row)
}
