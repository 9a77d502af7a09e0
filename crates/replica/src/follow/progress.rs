//! `Progress`: what the threads of a replica tell each other, and those who ask for its status.
//!
//! ```text
//! follower  commits, idle positions, the source's end, losses ──┬──> Progress ──> status, metrics, wait
//! watcher   rates, what the source keeps, changes of tables   ──┘
//! ```
//!
//! # Concurrency
//! Any thread calls any method. One lock guards all; it is held for moments, and nothing else is locked under it. Whoever
//! waits for a position is woken when it is reached, or the state changes: each commit changes the position.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::timestamp::Timestamp;

use crate::follow::confirmations::Confirmations;
use crate::follow::pause::Pause;
use crate::lsn::Lsn;
use crate::metrics::ReplicaMetrics;
use crate::position::Position;
use crate::postgres_time::PostgresTime;
use crate::status::{ReplicaState, ReplicaStatus, StatusLoss};
use crate::translate::loss::LossCounts;

/// What the threads of a replica tell each other.
#[derive(Default)]
pub struct Progress {
    inner: Mutex<Inner>,
    /// The position or the state changed, and somebody waits for that.
    changed: Condvar,
    /// Everybody is to stop.
    stopping: Condvar,
    /// What is measured, for monitoring.
    pub metrics: ReplicaMetrics,
    /// Set once everybody is to stop.
    pub cancel: CancelFlag,
}

#[derive(Default)]
struct Inner {
    state: ReplicaState,
    names: SourceNames,
    /// The note of the newest commit.
    noted: Option<Position>,
    /// Up to here nothing is missing: at or beyond the note, since the log behind it has nothing for us.
    reached: Lsn,
    source_end: Lsn,
    /// When nothing was missing.
    caught_up: Option<Instant>,
    confirmations: Confirmations,
    confirmed: Lsn,
    waiting_rows: u64,
    losses: LossCounts,
    rows_per_second: f64,
    rows: u64,
    transactions: u64,
    restarts: u64,
    /// The stream before ended by what failed here, such as a full disk, and nothing has been written since: that a stream begins
    /// is no sign that it is over.
    is_unproven: bool,
    /// Number of the stream: the source was compared before each, and before the first one nobody knows whether it is the
    /// source of the note.
    stream: u64,
    /// From where on the slot needed the log when it was looked at last during this stream.
    slot_seen: Option<Lsn>,
    /// From where on it needed it at the look before that, too.
    slot_settled: Option<Lsn>,
    retained_bytes: Option<u64>,
    retained_alarm: u64,
    last_error: Option<String>,
    request: Option<FollowRequest>,
    is_stopping: bool,
    /// The positions that somebody waits for.
    awaited: Vec<Lsn>,
}

/// What the follower is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FollowRequest {
    /// To stop.
    Stop,
    /// To pause.
    Pause(Pause),
    /// To compare the source with what is known, and to go on with what is known then.
    LookAgain,
}

/// Where something failed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FailurePlace {
    /// At the source, or on the way to it.
    Source,
    /// On this machine, or in the database here.
    Here,
}

/// What a replica follows, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceNames {
    /// The source, as the database calls it.
    pub source: String,
    /// The slot.
    pub slot: String,
    /// The publication.
    pub publication: String,
    /// What the rules make, by their places in the mapping: labels and types.
    pub rules: Vec<String>,
}

/// What a commit brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommittedRows {
    /// The commit.
    pub timestamp: Timestamp,
    /// What its note says.
    pub position: Position,
    /// Rows that changed at the source.
    pub rows: u64,
    /// Vertices and edges that changed.
    pub changes: u64,
}

impl Progress {
    /// A replica that begins.
    #[must_use]
    pub fn new(names: SourceNames, retained_alarm: u64) -> Self {
        let progress = Self::default();
        {
            let mut inner = progress.lock();
            (inner.names, inner.retained_alarm) = (names, retained_alarm);
        }
        progress
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Wakes who waits for a position that is reached, behind the lock.
    fn tell(&self, inner: MutexGuard<'_, Inner>) {
        let is_awaited = inner.awaited.iter().any(|position| *position <= inner.reached);
        drop(inner);
        if is_awaited {
            self.changed.notify_all();
        }
    }

    /// What it does from here on.
    pub fn set_state(&self, state: ReplicaState) {
        self.lock().state = state;
        self.changed.notify_all();
    }

    /// What it does.
    #[must_use]
    pub fn state(&self) -> ReplicaState {
        self.lock().state.clone()
    }

    /// The database's note says `position`, and it is durable. Nobody has compared the source with it yet.
    pub fn found_note(&self, position: Position) {
        let mut inner = self.lock();
        inner.begin_at(position);
        inner.look_whether_caught_up();
    }

    /// The source was compared, and a stream begins at `position`, which the database's note says, and which is durable. From here
    /// on it follows; after a failure here, from when something is written again, or there is nothing to write.
    pub fn begin_stream(&self, position: Position, source_end: Lsn) {
        let mut inner = self.lock();
        inner.begin_at(position);
        inner.source_end = inner.source_end.max(source_end);
        inner.request = None;
        (inner.stream, inner.slot_seen, inner.slot_settled) = (inner.stream + 1, None, None);
        if !inner.is_unproven || position.end >= inner.source_end {
            (inner.is_unproven, inner.state) = (false, ReplicaState::Following);
        }
        inner.look_whether_caught_up();
        self.tell(inner);
    }

    /// The source said how far its log is, when its clock showed `sent_at`.
    pub fn source_end(&self, end: Lsn, sent_at: PostgresTime) {
        if sent_at != PostgresTime::default() {
            let difference = (PostgresTime::now().microseconds() - sent_at.microseconds()) as f64 / 1e6;
            self.metrics.set_clock_difference(difference);
        }
        let mut inner = self.lock();
        inner.source_end = inner.source_end.max(end);
        inner.look_whether_caught_up();
    }

    /// Nothing before `position` is missing.
    pub fn reach(&self, position: Lsn) {
        let mut inner = self.lock();
        inner.reached = inner.reached.max(position);
        inner.look_whether_caught_up();
        self.tell(inner);
    }

    /// A transaction brought the graph to `committed`; `None` if it changed nothing here: then `end` is reached without a
    /// commit.
    pub fn applied_transaction(&self, end: Lsn, committed: Option<CommittedRows>) {
        let mut inner = self.lock();
        inner.transactions += 1;
        if let Some(committed) = committed {
            inner.rows += committed.rows;
            self.metrics.changed(committed.changes);
            inner.note(committed.timestamp, committed.position);
            inner.prove();
            let age = PostgresTime::now()
                .microseconds()
                .saturating_sub(committed.position.committed_at.microseconds());
            self.metrics.visible(Duration::from_micros(u64::try_from(age).unwrap_or(0)));
        }
        inner.reached = inner.reached.max(end);
        inner.look_whether_caught_up();
        self.tell(inner);
    }

    /// A commit brought the note to `position`, and nothing else.
    pub fn noted_position(&self, timestamp: Timestamp, position: Position) {
        let mut inner = self.lock();
        inner.note(timestamp, position);
        inner.prove();
    }

    /// What the source may be told, now that all commits through `durable` would survive a power cut; `None` if that is
    /// nothing new.
    pub fn confirm(&self, durable: Timestamp) -> Option<Lsn> {
        let mut inner = self.lock();
        let confirmed = inner.confirmations.take(durable)?;
        inner.confirmed = inner.confirmed.max(confirmed);
        Some(confirmed)
    }

    /// Whether a commit waits for being durable.
    #[must_use]
    pub fn has_unconfirmed(&self) -> bool {
        !self.lock().confirmations.is_empty()
    }

    /// Rows and foreign keys that wait for ends, and what was lost since the copy.
    pub fn count(&self, waiting_rows: u64, losses: &LossCounts) {
        let mut inner = self.lock();
        inner.waiting_rows = waiting_rows;
        inner.losses.clone_from(losses);
    }

    /// A stream broke off, or could not begin; by what failed at a `place`.
    pub fn broke_off(&self, error: &str, place: FailurePlace) {
        self.metrics.erred();
        let mut inner = self.lock();
        inner.state = ReplicaState::Reconnecting;
        inner.restarts += 1;
        inner.is_unproven |= place == FailurePlace::Here;
        inner.last_error = Some(error.to_owned());
        drop(inner);
        self.changed.notify_all();
    }

    /// Whether a failure here may go on, since nothing was written behind it.
    #[must_use]
    pub fn is_unproven(&self) -> bool {
        self.lock().is_unproven
    }

    /// Something went wrong that breaks nothing off.
    pub fn note_error(&self, error: &str) {
        self.metrics.erred();
        self.lock().last_error = Some(error.to_owned());
    }

    /// Asks the follower for something; a pause is not taken back.
    pub fn ask(&self, request: FollowRequest) {
        let mut inner = self.lock();
        if !matches!(inner.request, Some(FollowRequest::Pause(_))) {
            inner.request = Some(request);
        }
    }

    /// What the follower is asked for.
    #[must_use]
    pub fn request(&self) -> Option<FollowRequest> {
        let inner = self.lock();
        if inner.is_stopping { Some(FollowRequest::Stop) } else { inner.request.clone() }
    }

    /// Everybody stops as soon as he may.
    pub fn stop(&self) {
        self.lock().is_stopping = true;
        self.cancel.cancel();
        self.stopping.notify_all();
    }

    /// Whether everybody is to stop.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.lock().is_stopping
    }

    /// Waits for `time`, or until everybody is to stop; whether that is so.
    pub fn sleep(&self, time: Duration) -> bool {
        let began = Instant::now();
        let mut inner = self.lock();
        while !inner.is_stopping {
            let Some(left) = time.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) else { break };
            inner =
                self.stopping.wait_timeout(inner, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        inner.is_stopping
    }

    /// Waits until everybody is to stop.
    pub fn wait_for_stop(&self) {
        while !self.sleep(Duration::from_secs(3600)) {}
    }

    /// Waits until `position` is reached, for `time_max` at most; whether it is. `Err` if it is not, and following does not go
    /// on by itself. Nothing is reached before the source was compared: it may lack what the note says.
    ///
    /// # Errors
    /// The state that it is in.
    pub fn wait(&self, position: Lsn, time_max: Duration) -> Result<bool, ReplicaState> {
        let began = Instant::now();
        let mut inner = self.lock();
        loop {
            if inner.is_compared() && inner.reached >= position {
                return Ok(true);
            }
            if let ReplicaState::Paused { .. } | ReplicaState::Stopped = inner.state {
                return Err(inner.state.clone());
            }
            let Some(left) = time_max.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) else {
                return Ok(false);
            };
            inner.awaited.push(position);
            inner = self.changed.wait_timeout(inner, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
            let place = inner.awaited.iter().position(|awaited| *awaited == position);
            inner.awaited.swap_remove(place.expect("whoever waits takes out what he put in"));
        }
    }

    /// The end in the note of the newest commit, once the source was compared.
    #[must_use]
    pub fn compared_end(&self) -> Option<Lsn> {
        let inner = self.lock();
        inner.noted.filter(|_| inner.is_compared()).map(|position| position.end)
    }

    /// The number of the stream that runs.
    #[must_use]
    pub fn stream(&self) -> u64 {
        self.lock().stream
    }

    /// During the stream `stream` somebody saw that the slot needs the log from `restart` on.
    pub fn saw_slot(&self, stream: u64, restart: Lsn) {
        let mut inner = self.lock();
        if inner.stream == stream {
            inner.slot_settled = inner.slot_seen.replace(restart).map(|before| before.min(restart));
        }
    }

    /// From where on the slot needs the log, as two looks during this stream agree.
    #[must_use]
    pub fn slot_settled(&self) -> Option<Lsn> {
        self.lock().slot_settled
    }

    /// The source keeps so many bytes of log for us; whether that is more than the alarm allows, and was less before.
    pub fn retained(&self, bytes: Option<u64>) -> bool {
        let mut inner = self.lock();
        let was_alarm = inner.is_retained_alarm();
        inner.retained_bytes = bytes;
        inner.is_retained_alarm() && !was_alarm
    }

    /// The rows applied so far; `per_second` since somebody asked last.
    pub fn rate(&self, per_second: impl FnOnce(u64) -> f64) {
        let mut inner = self.lock();
        inner.rows_per_second = per_second(inner.rows);
    }

    /// What it does at this moment.
    #[must_use]
    pub fn status(&self) -> ReplicaStatus {
        let inner = self.lock();
        let lag_bytes = inner.source_end.bytes_since(inner.reached);
        let lag = inner.lag();
        let losses = inner.losses.iter().map(|(rule, cause, count)| StatusLoss {
            rule: inner.names.rule(rule),
            cause: cause.name().to_owned(),
            count,
        });
        ReplicaStatus {
            state: inner.state.clone(),
            source: inner.names.source.clone(),
            slot: inner.names.slot.clone(),
            publication: inner.names.publication.clone(),
            position: inner.reached,
            committed_at: inner
                .noted
                .filter(|position| position.xid != 0)
                .map(|position| position.committed_at.to_datetime().to_string()),
            source_position: inner.source_end,
            confirmed: inner.confirmed,
            lag_bytes,
            lag_ms: u64::try_from(lag.as_millis()).unwrap_or(u64::MAX),
            rows_per_second: inner.rows_per_second,
            rows: inner.rows,
            transactions: inner.transactions,
            waiting_rows: inner.waiting_rows,
            losses: losses.collect(),
            restarts: inner.restarts,
            retained_bytes: inner.retained_bytes,
            is_retained_alarm: inner.is_retained_alarm(),
            last_error: inner.last_error.clone(),
        }
    }
}

impl Inner {
    fn begin_at(&mut self, position: Position) {
        self.noted = Some(position);
        self.reached = self.reached.max(position.end);
        self.confirmed = self.confirmed.max(position.end);
    }

    fn is_compared(&self) -> bool {
        self.stream > 0
    }

    fn note(&mut self, timestamp: Timestamp, position: Position) {
        self.noted = Some(position);
        self.reached = self.reached.max(position.end);
        self.confirmations.committed(timestamp, position.end);
    }

    /// Something was written.
    fn prove(&mut self) {
        if std::mem::take(&mut self.is_unproven) && self.state == ReplicaState::Reconnecting {
            self.state = ReplicaState::Following;
        }
    }

    fn look_whether_caught_up(&mut self) {
        if self.reached >= self.source_end {
            self.caught_up = Some(Instant::now());
        }
    }

    /// Since when something is missing. While nobody hears of the source, something may be.
    fn lag(&self) -> Duration {
        let is_behind = self.reached < self.source_end || self.state != ReplicaState::Following;
        self.caught_up.filter(|_| is_behind).map_or(Duration::ZERO, |caught_up| caught_up.elapsed())
    }

    fn is_retained_alarm(&self) -> bool {
        self.retained_bytes.is_some_and(|bytes| bytes > self.retained_alarm)
    }
}

impl SourceNames {
    fn rule(&self, rule: usize) -> String {
        self.rules.get(rule).cloned().unwrap_or_else(|| format!("rule {}", rule + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(end: u64) -> Position {
        Position { timeline: 1, end: Lsn::new(end), xid: 7, committed_at: PostgresTime::now() }
    }

    fn rows(timestamp: u64, end: u64) -> CommittedRows {
        CommittedRows { timestamp: Timestamp(timestamp), position: position(end), rows: 2, changes: 3 }
    }

    #[test]
    fn an_idle_position_is_reached_and_not_confirmed_before_a_note_says_so() {
        let progress = Progress::new(SourceNames::default(), 100);
        progress.begin_stream(position(10), Lsn::new(50));
        assert_eq!(progress.status().position, Lsn::new(10));
        progress.applied_transaction(Lsn::new(20), Some(rows(1, 20)));
        progress.applied_transaction(Lsn::new(25), None);
        progress.reach(Lsn::new(40));
        assert_eq!(progress.wait(Lsn::new(40), Duration::ZERO), Ok(true));
        assert_eq!(progress.wait(Lsn::new(41), Duration::ZERO), Ok(false));
        assert_eq!(progress.confirm(Timestamp(1)), Some(Lsn::new(20)), "an idle position is no commit");
        progress.noted_position(Timestamp(2), position(40));
        assert_eq!(progress.confirm(Timestamp(2)), Some(Lsn::new(40)));
        let status = progress.status();
        assert_eq!((status.lag_bytes, status.transactions, status.rows), (10, 2, 2));
    }

    #[test]
    fn nothing_is_reached_before_the_source_was_compared() {
        let progress = Progress::new(SourceNames::default(), 100);
        progress.found_note(position(10));
        let status = progress.status();
        assert_eq!((status.position, status.confirmed, status.lag_bytes), (Lsn::new(10), Lsn::new(10), 0));
        assert_eq!(progress.wait(Lsn::new(10), Duration::ZERO), Ok(false));
        assert_eq!(progress.compared_end(), None);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| progress.wait(Lsn::new(10), Duration::from_secs(60)));
            while progress.lock().awaited.is_empty() {
                std::thread::yield_now();
            }
            progress.begin_stream(position(10), Lsn::new(50));
            assert_eq!(waiting.join().unwrap(), Ok(true));
        });
        assert_eq!(progress.compared_end(), Some(Lsn::new(10)));
    }

    /// Streams began and broke off again and again while the disk was full, and the status said that the replica followed.
    #[test]
    fn after_a_failure_here_it_follows_once_something_is_written_or_nothing_is_missing() {
        let progress = Progress::new(SourceNames::default(), 100);
        progress.broke_off("no answer", FailurePlace::Source);
        assert_eq!(progress.state(), ReplicaState::Reconnecting);
        progress.begin_stream(position(10), Lsn::new(50));
        assert_eq!(progress.state(), ReplicaState::Following);
        progress.broke_off("no space", FailurePlace::Here);
        progress.begin_stream(position(10), Lsn::new(50));
        assert!(progress.state() == ReplicaState::Reconnecting && progress.is_unproven());
        progress.reach(Lsn::new(20));
        progress.applied_transaction(Lsn::new(30), None);
        progress.broke_off("no answer", FailurePlace::Source);
        progress.begin_stream(position(10), Lsn::new(50));
        assert_eq!(progress.state(), ReplicaState::Reconnecting, "nothing was written");
        progress.applied_transaction(Lsn::new(40), Some(rows(1, 40)));
        assert!(progress.state() == ReplicaState::Following && !progress.is_unproven());
        progress.broke_off("no space", FailurePlace::Here);
        progress.begin_stream(position(50), Lsn::new(50));
        assert_eq!(progress.state(), ReplicaState::Following, "nothing is missing");
    }

    #[test]
    fn a_slots_position_counts_once_it_was_seen_twice_in_one_stream() {
        let progress = Progress::new(SourceNames::default(), 100);
        progress.begin_stream(position(10), Lsn::new(50));
        let first = progress.stream();
        progress.saw_slot(first, Lsn::new(5));
        assert_eq!(progress.slot_settled(), None);
        progress.saw_slot(first, Lsn::new(8));
        assert_eq!(progress.slot_settled(), Some(Lsn::new(5)));
        progress.saw_slot(first, Lsn::new(8));
        assert_eq!(progress.slot_settled(), Some(Lsn::new(8)));
        progress.begin_stream(position(10), Lsn::new(50));
        progress.saw_slot(first, Lsn::new(9));
        progress.saw_slot(progress.stream(), Lsn::new(3));
        assert_eq!(progress.slot_settled(), None, "of what was seen before, nothing is true any more");
    }

    #[test]
    fn a_wait_ends_with_a_pause_and_an_alarm_is_told_once() {
        let progress = Progress::new(SourceNames::default(), 100);
        progress.set_state(Pause::new("gone", "resync").into());
        let paused = progress.wait(Lsn::new(1), Duration::from_secs(60)).unwrap_err();
        assert_eq!(paused.pause(), Some(Pause::new("gone", "resync")));
        assert!(!progress.retained(Some(100)) && progress.retained(Some(101)));
        assert!(!progress.retained(Some(200)) && progress.status().is_retained_alarm);
        assert!(!progress.retained(None) && progress.retained(Some(101)));
        progress.stop();
        assert!(progress.sleep(Duration::from_secs(60)));
    }

    #[test]
    fn who_waits_for_a_position_is_woken_by_its_commit_and_who_sleeps_by_the_end() {
        let progress = Progress::new(SourceNames::default(), 100);
        progress.begin_stream(position(10), Lsn::new(50));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| progress.wait(Lsn::new(40), Duration::from_secs(60)));
            let sleeping = scope.spawn(|| progress.sleep(Duration::from_secs(60)));
            while progress.lock().awaited.is_empty() {
                std::thread::yield_now();
            }
            let began = Instant::now();
            progress.applied_transaction(Lsn::new(40), Some(rows(1, 40)));
            assert_eq!(waiting.join().unwrap(), Ok(true));
            assert!(!sleeping.is_finished() && progress.lock().awaited.is_empty());
            progress.stop();
            assert!(sleeping.join().unwrap() && began.elapsed() < Duration::from_secs(30));
        });
    }
}
