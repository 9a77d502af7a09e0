//! The merge queue: segments whose records wait to become part of a body, and who merges them.
//!
//! ```text
//! due       records > max(512, items / 64)         queued, first come first served; 512 is less where
//!                                                  many records wait, and for few vertices
//! overdue   records > 4 x that                     the next writer merges it before its latch
//! idle      unchanged from one quiet time to the next   merged, so that tails give their memory back
//! retained  has layers that an open snapshot needs trimmed when the oldest snapshot moves
//! ```
//!
//! In mode sync a record can wait for its fsync, and in a store with a horizon for that: such a segment is looked at again after
//! a pause, and merged when that takes as many records as it should.
//! One thread merges; it sleeps on the queue's condition variable when there is nothing to do. In a simulation
//! there is no such thread, and each of its rounds is a step.

use crate::group::{Group, GroupTable};
use crate::segment::hand_over::{AppendOutcome, MergeOutcome};
use crate::segment::version::Segment;
use evergraph_bodies::body::Body;
use evergraph_bodies::counters::Counters;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::merge_turn::MergeTurn;
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::sync::atomic::{AtomicBool, Ordering};
use evergraph_storage::sync::{Condvar, Mutex};
use evergraph_storage::timeline::clock::Timeline;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// How long a segment that could not be merged yet, or that just changed, is left alone.
const PAUSE: Duration = Duration::from_millis(10);
/// Records that may always wait, however small the bodies are.
const RECORDS_ALLOWED: u64 = 16 << 20;
/// Records that make no merge due, however small the body: a merge costs a body's rows at least, and with 64
/// of them a graph that had just begun to grow was merged all the time (a quarter more commits/s).
const RECORDS_WORTH_A_MERGE: usize = 512;
/// How long nothing must happen before segments that stay below the threshold are looked for.
const IDLE: Duration = Duration::from_secs(2);

/// A segment that has something to merge or to trim.
#[derive(Clone, Debug)]
pub enum Job {
    /// Vertices of a group.
    Vertices(Arc<Segment<VertexBody>>),
    /// Edges of a group or a hub.
    Edges(Arc<Segment<EdgeBody>>),
}

impl From<&Arc<Segment<VertexBody>>> for Job {
    fn from(segment: &Arc<Segment<VertexBody>>) -> Self {
        Self::Vertices(Arc::clone(segment))
    }
}

impl From<&Arc<Segment<EdgeBody>>> for Job {
    fn from(segment: &Arc<Segment<EdgeBody>>) -> Self {
        Self::Edges(Arc::clone(segment))
    }
}

/// The queue and what its thread needs.
#[derive(Debug, Default)]
pub struct Merger {
    queue: Mutex<Queue>,
    work: Condvar,
    /// Told after each merge: a writer that waits for room looks again.
    progress: Condvar,
    /// Held by writers that merge.
    helping: WriterMergeSlots,
    /// Counts for statistics and limits.
    pub counters: Counters,
    /// Whether the oldest snapshot moved since layers were last trimmed.
    trim: AtomicBool,
    /// Whether any segment is listed as keeping layers; changed with the queue locked.
    has_retained: AtomicBool,
}

/// Places for writers that merge, as many as there are processors: with 64 writers on two of them, all merging at
/// once, each commit waited for all the others' merges (a third as many commits/s).
///
/// Concurrency: the locks are outermost; who has one merges as the merge thread does.
#[derive(Debug)]
struct WriterMergeSlots(Box<[Mutex<()>]>);

impl Default for WriterMergeSlots {
    fn default() -> Self {
        let places = std::thread::available_parallelism().map_or(1, |count| count.get());
        Self((0..places).map(|_| Mutex::default()).collect())
    }
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<Job>,
    retained: Vec<Job>,
    closing: bool,
}

/// What whoever merges remembers from one round to the next.
#[derive(Debug)]
pub struct MergeMemory {
    /// Segments whose records weren't readable yet.
    delayed: Vec<Job>,
    /// What was readable when nothing happened the last time: what hasn't changed since is idle.
    idle_since: Timestamp,
}

impl MergeMemory {
    /// Before the first round.
    #[must_use]
    pub fn new(timeline: &Timeline) -> Self {
        Self { delayed: Vec::new(), idle_since: timeline.readable() }
    }
}

impl Merger {
    /// Records that may wait: a quarter of what is in bodies, or the least.
    pub fn records_allowed(&self) -> u64 {
        RECORDS_ALLOWED.max(self.counters.body_edges.load(Ordering::Relaxed) / 4)
    }

    /// Records of a segment, and how many it may hold before a merge is due.
    fn threshold<B: Body>(&self, segment: &Segment<B>) -> (usize, usize) {
        let version = segment.load();
        (version.layer.record_count(), self.due::<B>(version.layer.body.items()))
    }

    /// How many records may lie on top of a body of so many items before a merge is due.
    ///
    /// In very many segments, few records each would add up to more than may wait: the more wait already, the
    /// sooner a merge is due. Where few items are changed all the time, each has a chain of records, and a read looks at all of
    /// it: so there may be as many records as items, where that is worth a merge.
    fn due<B: Body>(&self, items: usize) -> usize {
        let (waiting, allowed) = (self.counters.records.load(Ordering::Relaxed), self.records_allowed());
        let worth = match waiting {
            waiting if waiting < allowed / 4 => RECORDS_WORTH_A_MERGE,
            waiting if waiting < allowed / 2 => RECORDS_WORTH_A_MERGE / 8,
            _ => 1,
        };
        (items / 64).max(worth.min(items.max(B::RECORDS_WORTH_A_MERGE_MIN)))
    }

    /// Notes that `segment` got records, as `appended` says; queues it if a merge is due. Called under the latch: a
    /// push to the queue is all it may cost.
    pub fn appended<B: Body>(&self, segment: &Arc<Segment<B>>, records: usize, appended: &AppendOutcome<B>)
    where
        Job: for<'a> From<&'a Arc<Segment<B>>>,
    {
        self.counters.records.fetch_add(records as u64, Ordering::Relaxed);
        if appended.waiting > self.due::<B>(appended.items) && segment.enqueue() {
            self.queue.lock().jobs.push_back(Job::from(segment));
            self.work.notify_one();
        }
    }

    /// Whether records wait far longer than they should: a writer merges before its latch.
    pub fn is_overdue<B: Body>(&self, segment: &Segment<B>) -> bool {
        let (waiting, due) = self.threshold(segment);
        waiting > 4 * due
    }

    /// Whether a writer should merge `segment`: it is overdue, and a merge takes as many records as it should.
    pub fn needs_help<B: Body>(&self, timeline: &Timeline, segment: &Segment<B>) -> bool {
        self.is_overdue(segment) && segment.is_worth_merging(timeline.merge_limit())
    }

    /// Merges `segment` for a writer if it needs that still when the writer's turn comes; whether it did.
    pub fn help<B: Body>(&self, timeline: &Timeline, segment: &Arc<Segment<B>>) -> bool
    where
        Job: for<'a> From<&'a Arc<Segment<B>>>,
    {
        let WriterMergeSlots(places) = &self.helping;
        // Writers of one segment wait for one place: one merges, the others find it done.
        let _place = places[Arc::as_ptr(segment).addr() / size_of::<Segment<B>>() % places.len()].lock();
        self.needs_help(timeline, segment) && self.merge(timeline, &Job::from(segment))
    }

    /// Merges one segment now, if what it holds is readable; whether it did.
    pub fn merge(&self, timeline: &Timeline, job: &Job) -> bool {
        self.merge_in(MergeTurn::OnlyIfFree, timeline, job)
    }

    /// The same up to what is readable now, after a merge of the segment that is under way: that may have begun earlier.
    pub fn merge_in_turn(&self, timeline: &Timeline, job: &Job) -> bool {
        self.merge_in(MergeTurn::Awaited, timeline, job)
    }

    fn merge_in(&self, turn: MergeTurn, timeline: &Timeline, job: &Job) -> bool {
        match job {
            Job::Vertices(segment) => self.merge_segment(turn, timeline, (segment, job), |_| 0),
            Job::Edges(segment) => self.merge_segment(turn, timeline, (segment, job), Body::items),
        }
    }

    fn merge_segment<B: Body>(
        &self,
        turn: MergeTurn,
        timeline: &Timeline,
        (segment, job): (&Segment<B>, &Job),
        edges: impl Fn(&B) -> usize,
    ) -> bool {
        let began = timeline.clock().now();
        let MergeOutcome::Done { displaced, retained, merged } = segment.merge(turn, timeline) else {
            return false;
        };
        let now = segment.load_full();
        let hubs = now.layer.hubs.iter().filter(|hub| displaced.layer.hub(hub.row).is_none());
        let items =
            edges(&now.layer.body) + hubs.map(|hub| edges(&hub.segment.load().layer.body)).sum::<usize>();
        let before = edges(&displaced.layer.body);
        if items >= before {
            self.counters.body_edges.fetch_add((items - before) as u64, Ordering::Relaxed);
        } else {
            self.counters.body_edges.fetch_sub((before - items) as u64, Ordering::Relaxed);
        }
        self.counters.records.fetch_sub(merged as u64, Ordering::Relaxed);
        if retained {
            self.keep(job.clone());
        }
        let versions = (1 + displaced.older.len()).saturating_sub(now.older.len());
        drop(displaced);
        self.counters.merged(timeline.clock().now().saturating_sub(began), versions);
        self.progress.notify_all();
        true
    }

    /// Notes the segments of a group that keep layers for open snapshots.
    pub fn retain(&self, group: &Group) {
        if !group.vertices.load().older.is_empty() {
            self.keep(Job::from(&group.vertices));
        }
        let edges = group.edges();
        let kept = edges.iter().filter(|edge| !edge.segment.load().older.is_empty());
        kept.for_each(|edge| self.keep(Job::from(&edge.segment)));
    }

    /// A snapshot ended and the oldest moved: retained layers may go, if there are any.
    pub fn snapshot_ended(&self) {
        if self.has_retained.load(Ordering::Acquire) && !self.trim.swap(true, Ordering::AcqRel) {
            self.work.notify_one();
        }
    }

    /// Waits until a merge made progress, at most `timeout`.
    pub fn wait_for_progress(&self, timeout: Duration) {
        let queue = self.queue.lock();
        drop(self.progress.wait_timeout(queue, timeout));
    }

    /// Drops layers that no snapshot needs any more.
    pub fn trim(&self, timeline: &Timeline) {
        self.trim.store(false, Ordering::Release);
        let retained = std::mem::take(&mut self.queue.lock().retained);
        let (began, mut versions) = (timeline.clock().now(), 0);
        for job in retained {
            let (dropped, remain) = match &job {
                Job::Vertices(segment) => trim_segment(segment, timeline),
                Job::Edges(segment) => trim_segment(segment, timeline),
            };
            versions += dropped;
            if remain {
                self.keep(job);
            }
        }
        self.counters.collected(timeline.clock().now().saturating_sub(began), versions);
        let queue = self.queue.lock();
        self.has_retained.store(!queue.retained.is_empty(), Ordering::Release);
    }

    /// Lists a segment that keeps layers for open snapshots, once.
    pub fn keep(&self, job: Job) {
        let new = match &job {
            Job::Vertices(segment) => segment.list(),
            Job::Edges(segment) => segment.list(),
        };
        if new {
            let mut queue = self.queue.lock();
            queue.retained.push(job);
            self.has_retained.store(true, Ordering::Release);
        }
    }

    /// Merges until [`Merger::close`]: the body of the merge thread.
    pub fn run(&self, timeline: &Timeline, groups: &GroupTable) {
        let mut rounds = MergeMemory::new(timeline);
        while let Some(quiet) = self.wait(&mut rounds) {
            self.round(timeline, groups, &mut rounds, quiet);
        }
    }

    /// One round without waiting, for a store without a merge thread. `quiet` says that nothing happened
    /// for a while: idle segments are looked for if nothing is queued.
    pub fn step(&self, timeline: &Timeline, groups: &GroupTable, rounds: &mut MergeMemory, quiet: bool) {
        let is_idle = {
            let mut queue = self.queue.lock();
            let is_idle = rounds.delayed.is_empty() && queue.jobs.is_empty();
            queue.jobs.extend(rounds.delayed.drain(..));
            is_idle
        };
        self.round(timeline, groups, rounds, quiet && is_idle);
    }

    /// Waits for work; whether there was none for a while. `None` when it is time to end.
    fn wait(&self, rounds: &mut MergeMemory) -> Option<bool> {
        let mut queue = self.queue.lock();
        let mut quiet = false;
        if !queue.closing && queue.jobs.is_empty() && !self.trim.load(Ordering::Acquire) {
            let pause = if rounds.delayed.is_empty() { IDLE } else { PAUSE };
            (queue, quiet) = self.work.wait_timeout(queue, pause);
            quiet &= rounds.delayed.is_empty() && queue.jobs.is_empty();
            queue.jobs.extend(rounds.delayed.drain(..));
        }
        (!queue.closing).then_some(quiet)
    }

    /// Trims if it is time, merges the first segment of the queue, and idle ones if it is `quiet`.
    fn round(&self, timeline: &Timeline, groups: &GroupTable, rounds: &mut MergeMemory, quiet: bool) {
        let job = self.queue.lock().jobs.pop_front();
        if self.trim.load(Ordering::Acquire) {
            self.trim(timeline);
        }
        if let Some(job) = job {
            rounds.delayed.extend(self.work_off(timeline, job));
        }
        if quiet {
            let now = timeline.readable();
            self.merge_idle(timeline, groups, std::mem::replace(&mut rounds.idle_since, now));
        }
    }

    /// Merges a queued segment; gives it back if it is still due because its records aren't
    /// readable yet.
    fn work_off(&self, timeline: &Timeline, job: Job) -> Option<Job> {
        let dequeue = || match &job {
            Job::Vertices(segment) => segment.dequeue(),
            Job::Edges(segment) => segment.dequeue(),
        };
        dequeue();
        let limit = timeline.merge_limit();
        let is_worth_it = match &job {
            Job::Vertices(segment) => segment.is_worth_merging(limit),
            Job::Edges(segment) => segment.is_worth_merging(limit),
        };
        let merged = is_worth_it && self.merge(timeline, &job);
        let (waiting, due) = match &job {
            Job::Vertices(segment) => self.threshold(segment),
            Job::Edges(segment) => self.threshold(segment),
        };
        let enqueue = || match &job {
            Job::Vertices(segment) => segment.enqueue(),
            Job::Edges(segment) => segment.enqueue(),
        };
        (!merged && waiting > due && enqueue()).then_some(job)
    }

    /// Merges what is left in segments that nobody has written to since `since`, so that their tails
    /// and runs give their memory back.
    fn merge_idle(&self, timeline: &Timeline, groups: &GroupTable, since: Timestamp) {
        if self.counters.records.load(Ordering::Relaxed) == 0 {
            return;
        }
        for_each_segment(groups, |job| {
            let (waiting, changed) = match &job {
                Job::Vertices(segment) => (self.threshold(segment).0, segment.changed()),
                Job::Edges(segment) => (self.threshold(segment).0, segment.changed()),
            };
            if waiting > 0 && changed.visible_at(since) {
                self.merge(timeline, &job);
            }
            let queue = self.queue.lock();
            !queue.closing && queue.jobs.is_empty()
        });
    }

    /// Asks [`Merger::run`] to return.
    pub fn close(&self) {
        self.queue.lock().closing = true;
        self.work.notify_all();
    }
}

/// Drops the layers of one segment that no snapshot needs; how many went, and whether any are left.
fn trim_segment<B: Body>(segment: &Segment<B>, timeline: &Timeline) -> (usize, bool) {
    // Unmarked first: a merge that keeps another layer meanwhile lists the segment again.
    segment.unlist();
    let (displaced, remain) = segment.trim(timeline);
    let left = segment.load().older.len();
    (displaced.map_or(0, |displaced| displaced.older.len().saturating_sub(left)), remain)
}

/// Calls `visit` with every segment, hubs included, until it says no.
pub fn for_each_segment(groups: &GroupTable, mut visit: impl FnMut(Job) -> bool) {
    for group in groups.iter() {
        if !visit(Job::from(&group.vertices)) {
            return;
        }
        let edges = Arc::clone(&group.edges());
        for edge in edges.iter() {
            if !visit(Job::from(&edge.segment)) {
                return;
            }
            let hubs = Arc::clone(&edge.segment.load().layer.hubs);
            if !hubs.iter().all(|hub| visit(Job::from(&hub.segment))) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::properties::Properties;
    use evergraph_storage::record::{Operation, Record, RecordKey, Stamp};
    use evergraph_storage::timeline::clock::Readable;

    #[test]
    fn a_merge_is_due_the_sooner_the_more_records_wait() {
        for (waiting, due) in [(0, 512), (RECORDS_ALLOWED / 4, 64), (RECORDS_ALLOWED / 2, 1)] {
            let (merger, timeline) = (Merger::default(), Timeline::new(Timestamp::ZERO, Readable::Published));
            merger.counters.records.store(waiting, Ordering::Relaxed);
            let segment = Arc::new(Segment::new(Timestamp::ZERO, EdgeBody::empty()));
            for neighbor in 0..=due {
                assert!(merger.queue.lock().jobs.is_empty(), "{neighbor} records, {waiting} wait");
                let timestamp = Timestamp(u64::from(neighbor) + 1);
                let stamp = Stamp::new(timestamp, Operation::Insert);
                let key = RecordKey::edge(0, neighbor, 0);
                let appended =
                    segment.append(timestamp, &[Record { key, stamp, payload: Properties::EMPTY }]);
                timeline.publish(timestamp, &mut timeline.latch());
                merger.appended(&segment, 1, &appended);
            }
            assert_eq!(merger.queue.lock().jobs.len(), 1);
            assert!(merger.merge(&timeline, &Job::from(&segment)));
            assert_eq!(merger.counters.records.load(Ordering::Relaxed), waiting);
        }
    }
}
