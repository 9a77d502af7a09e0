//! Merger: which segments are merged when, and by whom.
//!
//! ```text
//! due       records > max(512, items / 8)          queued, first come first served; 512 is less where many records wait, and
//!           or runs that are not in order          for few vertices
//! overdue   records > 4 x that, or five runs that are not in order   the next writer merges before its latch; with six it waits
//! idle      unchanged from one quiet time to the next   merged, so that tails give their memory back
//! replaced  what snapshots may need still          looked through when one ends, and from time to time
//! dropped   entries of an index that is gone       queued by the drop, and whenever replaced versions are looked through
//! ```
//!
//! In mode sync a record can wait for its fsync: such a segment is looked at again after a pause. One thread merges; it sleeps
//! on the queue's condition variable when there is nothing to do, for a pause at first: segments that become due one by one, as
//! while others commit all the time, don't wake it for each. In a simulation there is no such thread, and each of its
//! rounds is a step.
//!
//! A merge that fails, on a full disk for example, leaves its records where they are. After a pause it is tried again, behind all
//! others that are due, and quiet times go on meanwhile: a segment that cannot be merged stops no other one. The error of a
//! commit that finds no room for its records says why the last one failed.

use crate::engine::graph::MappedGraph;
use crate::engine::merge_queue::{MergeRounds, MergeUrgency};
use crate::group::SegmentSubject;
use crate::merge::LiveMergeOutcome;
use crate::segment::LiveSegment;
use crate::segment_state::WaitingRecords;
use crate::version::RUNS_MAX;
use crate::view::source::VERTICES;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

/// How long a segment that could not be merged yet, or that just changed, is left alone.
const PAUSE: Duration = Duration::from_millis(10);
/// Records that may always wait, however small the bodies are.
const RECORDS_ALLOWED: u64 = 16 << 20;
/// How long no segment is merged after a merge failed.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(100);
/// How long nothing must happen before segments that stay below the threshold are looked for, and dead readers.
const IDLE: Duration = Duration::from_secs(2);
/// How long a writer sleeps before it looks for room again, if no merge wakes it.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Merges after which what they replaced is looked through.
const MERGES_A_PASS: u64 = 64;
/// Entries of an index for each record that waits, at most, when it is merged only because nothing else is to do.
const IDLE_ITEMS_A_RECORD: usize = 64;
/// Vertices that are worth a merge, however few there are.
const VERTICES_WORTH_A_MERGE_MIN: usize = 64;

impl MappedGraph {
    /// Records that may wait: a quarter of what is in bodies, or the least.
    pub(crate) fn records_allowed(&self) -> u64 {
        RECORDS_ALLOWED.max(self.counters().body_edges.load(Ordering::Relaxed) / 4)
    }

    /// How many records of a segment may wait before a merge is due.
    ///
    /// In very many segments, few records each would add up to more than may wait: the more wait already, the sooner a merge is
    /// due. Where few vertices are changed all the time, each has a chain of records, and a read looks at all of it.
    fn records_due(&self, subject: SegmentSubject, items: usize) -> usize {
        let (waiting, allowed) = (self.records_waiting(), self.records_allowed());
        let worth = self.options().records_worth_a_merge;
        let waiting_quarters = u32::try_from(waiting.saturating_mul(4) / allowed.max(1)).unwrap_or(u32::MAX);
        let quarters = waiting_quarters.max(self.arena().quarters_used());
        let worth = match quarters {
            0 => worth,
            1 => worth / 8,
            _ => 1,
        };
        // Where memory is nearly full, a body is written for fewer records.
        let items_a_record = self.options().items_a_record.max(1) << (4 * quarters.saturating_sub(1).min(3));
        let few = match subject == VERTICES {
            true => items.max(VERTICES_WORTH_A_MERGE_MIN),
            // All rows of a group are copied, however few edges there are.
            false => usize::MAX,
        };
        (items / items_a_record).max(worth.min(few))
    }

    /// Whether a merge of a segment's body is due.
    #[must_use]
    pub fn is_merge_due(&self, segment: &LiveSegment) -> bool {
        let waiting = segment.waiting();
        if self.is_building(segment) {
            return false;
        }
        if self.is_dropped(segment) {
            return self.can_be_emptied(segment);
        }
        waiting.records > self.records_due(segment.subject(), waiting.items)
    }

    /// Notes that a segment got records, and what waits there now; queues it if a merge is due. Under the latch: a push to
    /// the queue is all it may cost.
    pub(crate) fn appended(&self, segment: &Arc<LiveSegment>, waiting: WaitingRecords) {
        let due = self.records_due(segment.subject(), waiting.items);
        let urgency = match waiting.records > 2 * due || waiting.runs >= RUNS_MAX - 2 {
            true => MergeUrgency::Urgent,
            false => MergeUrgency::CanWait,
        };
        if waiting.records > due || waiting.due_runs > 0 {
            self.merger().push(segment, urgency);
        }
    }

    /// Does what is overdue of a segment before its writer goes on. What fails is tried again: until there is no room for
    /// records.
    pub(crate) fn help(&self, segment: &Arc<LiveSegment>) {
        let waiting = segment.waiting();
        let are_runs_due = waiting.runs >= RUNS_MAX - 1 && waiting.due_runs > 0;
        let is_overdue = waiting.records > 4 * self.records_due(segment.subject(), waiting.items);
        if !are_runs_due && !is_overdue {
            return;
        }
        let clock = self.timeline().clock();
        let began = clock.now();
        if are_runs_due {
            let merged = self.writer().merge_runs(segment, self.timeline());
            if waiting.runs == RUNS_MAX && matches!(merged, Ok(LiveMergeOutcome::Busy)) {
                // Or the next full tail would be sorted together with the last of six, under the latch.
                segment.wait_for_runs();
            }
        }
        if is_overdue && !self.is_paused() {
            let _ = self.merge_noting(segment);
        }
        self.counters().stalled(clock.now().saturating_sub(began));
    }

    /// Makes room in `live`: frees what nobody needs, and merges the segment with the most records. Whether there is more room
    /// now.
    ///
    /// # Errors
    /// As [`MappedGraph::merge`].
    pub(crate) fn make_room(&self) -> Result<bool> {
        let before = self.arena().used_bytes();
        self.reclaim();
        if self.arena().used_bytes() < before {
            return Ok(true);
        }
        let mut largest: Option<(usize, Arc<LiveSegment>)> = None;
        self.groups().for_each_segment(|segment| {
            // Nobody merges an index before its scan is in it, or between its drop and when that is readable.
            let waits = self.is_building(segment) || self.is_dropped(segment) && !self.is_gone(segment);
            let records = if waits { 0 } else { segment.records() };
            if records > largest.as_ref().map_or(0, |largest| largest.0) {
                largest = Some((records, Arc::clone(segment)));
            }
            true
        });
        let Some((_, segment)) = largest else { return Ok(false) };
        self.merge_noting(&segment)?;
        self.reclaim();
        Ok(self.arena().used_bytes() < before)
    }

    /// Waits while records outgrow bodies, for about `patience`.
    ///
    /// # Errors
    /// `limit` if merges cannot catch up in that time.
    pub(crate) fn wait_for_room(&self, patience: Duration) -> Result<()> {
        if self.records_waiting() <= self.records_allowed() {
            return Ok(());
        }
        let clock = self.timeline().clock();
        let began = clock.now();
        let waited = || clock.now().saturating_sub(began);
        let mut answer = Ok(());
        while self.records_waiting() > self.records_allowed() {
            let left = patience.saturating_sub(waited());
            if left.is_zero() {
                answer = Err(self.no_room(patience));
                break;
            }
            let queue = self.merger().queue.lock();
            drop(self.merger().progress.wait_timeout(queue, left.min(LOOK_AGAIN)));
        }
        self.counters().stalled(waited());
        answer
    }

    #[cold]
    fn no_room(&self, patience: Duration) -> Error {
        let (waiting, allowed) = (self.records_waiting(), self.records_allowed());
        let failed = self.merger().failed.lock().clone();
        let why = failed.unwrap_or_else(|| {
            "merges cannot keep up with writes, or the log's sync takes too long; try again later".to_owned()
        });
        let text = format!(
            "{waiting} records wait to be merged, more than the {allowed} that fit, and a wait of {patience:.1?} did \
             not help: {why}"
        );
        Error::new(ErrorKind::Limit, text)
    }

    /// Merges, and remembers why that failed if it did.
    fn merge_noting(&self, segment: &Arc<LiveSegment>) -> Result<LiveMergeOutcome> {
        let merged = self.merge(segment);
        let merger = self.merger();
        match &merged {
            Err(error) => {
                *merger.failed.lock() = Some(error.to_string());
                let until = self.timeline().clock().now() + PAUSE_AFTER_FAILURE;
                let nanoseconds = u64::try_from(until.as_nanos()).unwrap_or(u64::MAX);
                merger.paused_until.store(nanoseconds, Ordering::Relaxed);
            }
            Ok(outcome) if outcome.is_done() => {
                *merger.failed.lock() = None;
                merger.progress.notify_all();
                if merger.merges.fetch_add(1, Ordering::Relaxed) % MERGES_A_PASS == MERGES_A_PASS - 1 {
                    merger.reclaim_soon();
                }
            }
            // It had nothing to do, which says nothing of what failed.
            Ok(_) => {}
        }
        merged
    }

    /// Whether a merge failed shortly before: each try reads and builds a body, which a full disk then refuses.
    fn is_paused(&self) -> bool {
        let until = Duration::from_nanos(self.merger().paused_until.load(Ordering::Relaxed));
        !until.is_zero() && self.timeline().clock().now() < until
    }

    /// Merges a segment until nothing is on top of its body. Every commit must be readable and none may come meanwhile.
    ///
    /// # Errors
    /// As [`MappedGraph::merge`] and [`MappedGraph::advance_readable`].
    pub fn settle_segment(&self, segment: &Arc<LiveSegment>) -> Result<()> {
        while segment.records() > 0 {
            // Without room for names no merge goes as far.
            self.advance_readable()?;
            // Another thread may be about it.
            if !self.merge_noting(segment)?.is_done() {
                let queue = self.merger().queue.lock();
                drop(self.merger().progress.wait_timeout(queue, PAUSE));
            }
        }
        Ok(())
    }

    /// A snapshot ended and the oldest moved: what was kept for it may go. Short snapshots move it all the time: a pass waits
    /// for the next one, or for a quiet time, if one was just before.
    pub fn snapshot_ended(&self) {
        let passed = Duration::from_nanos(self.merger().passed.load(Ordering::Relaxed));
        if self.timeline().clock().now().saturating_sub(passed) >= PAUSE && self.writer().has_retired() {
            self.merger().reclaim_soon();
        }
    }

    /// Merges until `Merger::close`: the life of the merge thread.
    pub fn run_merges(&self) {
        let mut rounds = self.merger().rounds.lock();
        while let Some(quiet) = self.wait_for_work(&mut rounds) {
            self.round(&mut rounds, quiet);
        }
    }

    /// One round without waiting, for a store without a merge thread. `quiet` says that nothing happened for a while: idle
    /// segments are looked for if nothing is queued.
    pub fn step_merges(&self, quiet: bool) {
        let mut rounds = self.merger().rounds.lock();
        let is_idle = {
            let mut queue = self.merger().queue.lock();
            let is_idle = rounds.delayed.is_empty() && queue.jobs.is_empty();
            queue.jobs.extend(rounds.delayed.drain(..));
            is_idle
        };
        self.round(&mut rounds, quiet && is_idle);
    }

    /// Waits for work; whether there was none for a while. `None` when it is time to end.
    fn wait_for_work(&self, rounds: &mut MergeRounds) -> Option<bool> {
        let merger = self.merger();
        let mut queue = merger.queue.lock();
        let mut quiet = false;
        let has_other_work = merger.reclaim.load(Ordering::Acquire) || self.arena().is_short();
        if !queue.closing && queue.jobs.is_empty() && !has_other_work {
            let pause = match (rounds.delayed.is_empty() && !rounds.took_job, rounds.is_resting()) {
                (false, _) => PAUSE,
                (true, true) => PAUSE_AFTER_FAILURE,
                (true, false) => IDLE,
            };
            // Where schedules are explored nothing times out.
            queue.dozing = pause == PAUSE && !cfg!(shuttle);
            let (woken, timed_out) = merger.work.wait_timeout(queue, pause);
            queue = woken;
            queue.dozing = false;
            let is_undisturbed = timed_out && rounds.delayed.is_empty() && queue.jobs.is_empty();
            rounds.undisturbed = if is_undisturbed { rounds.undisturbed + pause } else { Duration::ZERO };
            quiet = rounds.undisturbed >= IDLE;
            if quiet {
                rounds.undisturbed = Duration::ZERO;
            }
            queue.jobs.extend(rounds.delayed.drain(..));
        }
        (!queue.closing).then_some(quiet)
    }

    /// Merges idle segments if it is `quiet`, frees if it is time, and merges the first segment of the queue.
    fn round(&self, rounds: &mut MergeRounds, quiet: bool) {
        let job = self.merger().queue.lock().jobs.pop_front();
        rounds.took_job = job.is_some();
        if self.arena().is_short() {
            // On a full disk, whoever needs the region tries again.
            let _ = self.arena().open_ahead();
        }
        if quiet {
            let now = self.timeline().readable();
            self.merge_idle(std::mem::replace(&mut rounds.idle_since, now));
        }
        if self.merger().reclaim.swap(false, Ordering::AcqRel) || quiet {
            // Their slots hold what is to be freed, and a busy writer is never quiet. A lock that can be neither taken nor
            // found held is tried again the next time.
            let _ = self.writer().clear_dead_readers(&**self.directory());
            self.reclaim();
            self.queue_dropped_indexes();
            let now = u64::try_from(self.timeline().clock().now().as_nanos()).unwrap_or(u64::MAX);
            self.merger().passed.store(now, Ordering::Relaxed);
        }
        if let Some(job) = job {
            self.work_off(rounds, job);
        }
        // After idle segments: they are merged while the queue is empty.
        if rounds.is_resting() && !self.is_paused() {
            let mut queue = self.merger().queue.lock();
            queue.jobs.extend(rounds.paused.drain(..));
            queue.jobs.extend(rounds.failed.drain(..));
        }
    }

    /// Merges a queued segment; keeps it for later if that failed, or if it is still due because its records aren't readable
    /// yet.
    fn work_off(&self, rounds: &mut MergeRounds, segment: Arc<LiveSegment>) {
        segment.dequeue();
        if self.is_paused() {
            if segment.enqueue() {
                rounds.paused.push(segment);
            }
            return;
        }
        let merged = match self.is_merge_due(&segment) {
            true => self.merge_noting(&segment),
            false => self.writer().merge_runs(&segment, self.timeline()),
        };
        // What failed is tried again: nothing else frees what its records take.
        let is_done = merged.as_ref().is_ok_and(|merged| merged.is_done());
        if !is_done && self.is_merge_due(&segment) && segment.enqueue() {
            let later = if merged.is_err() { &mut rounds.failed } else { &mut rounds.delayed };
            later.push(segment);
        }
    }

    /// Merges what is left in segments that nobody has written to since `since`, so that their tails and runs give their
    /// memory back.
    fn merge_idle(&self, since: Timestamp) {
        if self.records_waiting() <= self.records_left_on_indexes() {
            return;
        }
        self.groups().for_each_segment(|segment| {
            if is_worth_an_idle_merge(segment) && segment.history().changed().visible_at(since) {
                // What it failed with is remembered.
                let _ = self.merge_noting(segment);
            }
            let queue = self.merger().queue.lock();
            !queue.closing && queue.jobs.is_empty()
        });
    }

    /// Records on top of indexes that no idle merge takes. They stay, and are no reason to look at every segment.
    fn records_left_on_indexes(&self) -> u64 {
        let segments = self.index_segments();
        let left = segments.iter().map(|(_, segment)| segment);
        let left = left.filter(|segment| !is_worth_an_idle_merge(segment) && !self.is_building(segment));
        left.map(|segment| segment.records() as u64).sum()
    }
}

/// Whether a segment is merged only because nothing else is to do. A merge copies all of an index: a tail on top of it is less.
fn is_worth_an_idle_merge(segment: &LiveSegment) -> bool {
    let share = if segment.index_number().is_some() { IDLE_ITEMS_A_RECORD } else { usize::MAX };
    segment.records().saturating_mul(share) > segment.items()
}
