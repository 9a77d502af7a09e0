//! Background: flushes frozen graphs as they come, and compacts what is due, so that writers seldom wait.
//!
//! ```text
//! a graph is frozen ──> all of it readable ──> written, in the set ──> writers go on
//!                          └ not yet: in a moment    └ fails: waiting writers learn the cause; again after a second
//! files are due ──> compacted, in the set ──> looks again
//!   (side by side)    └ fails: waiting writers learn the cause; again after 10 seconds, then 20, ... up to 5 minutes;
//!                       without memory for it, after the next flush, or when others have ended
//! ```
//!
//! Flushes have a thread and compactions one or more: writers wait for flushes while a compaction takes minutes. A failure
//! pauses all compactions: each of the threads would pick the same one again. When one of the threads panics, all end.
//!
//! No manifest names what is flushed here before the next checkpoint does, and the log keeps it until then
//! (`checkpoint.rs`).

use crate::engine::DiskEngine;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::sync::Mutex;
use std::time::Duration;

/// How long to wait for a graph that nobody announces, and look for graphs that may be freed.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long to wait for the log to make a frozen graph readable.
const READABLE_AFTER: Duration = Duration::from_millis(2);
/// How long to wait after a failure.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// How long compactions wait after the first failure.
const COMPACT_AGAIN_AFTER: Duration = Duration::from_secs(10);
/// How long they wait at most.
const COMPACT_AGAIN_AFTER_MAX: Duration = Duration::from_secs(300);

/// What became of one attempt to flush.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FlushOutcome {
    /// A graph was flushed.
    Flushed,
    /// There is none.
    Nothing,
    /// One waits for the log.
    NotReadable,
    /// It failed.
    Failed,
}

/// Flushes and compacts until the engine is closed: as `DurableEngine::run_background`. A compaction that is under way
/// then is given up.
///
/// # Panics
/// If one of the threads did.
pub fn run(engine: &DiskEngine) {
    let pause = CompactionPause::new();
    std::thread::scope(|scope| {
        let _stop = StopOnPanic(engine);
        let start = |_| {
            let thread = std::thread::Builder::new().name("evergraph-compact".to_owned());
            thread.spawn_scoped(scope, || run_compactions(engine, &pause))
        };
        let compactions: Vec<_> = (0..engine.compaction_threads()).map(start).collect();
        for error in compactions.iter().filter_map(|started| started.as_ref().err()) {
            let failure = format!("a thread of compactions could not be started: {error}");
            engine.pacing().note_compaction_failure(failure);
        }
        // One ends before the engine is closed if it panicked. Then this scope ends, and panics too: nobody waits for
        // compactions that never come.
        let has_ended = || compactions.iter().flatten().any(|thread| thread.is_finished());
        run_flushes(engine, &has_ended);
    });
}

/// Ends the other threads when the one that has it panics.
struct StopOnPanic<'e>(&'e DiskEngine);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.compaction_areas().stop();
        }
    }
}

/// How long no compaction begins after one failed.
struct CompactionPause(Mutex<PauseTimes>);

#[derive(Clone, Copy)]
struct PauseTimes {
    /// Until when, on the engine's clock.
    until: Duration,
    /// How long the next pause is.
    next: Duration,
}

impl CompactionPause {
    fn new() -> Self {
        Self(Mutex::new(PauseTimes { until: Duration::ZERO, next: COMPACT_AGAIN_AFTER }))
    }

    fn is_on(&self, now: Duration) -> bool {
        now < self.0.lock().until
    }

    /// A compaction failed. Others that fail meanwhile make the pause no longer.
    fn begin(&self, now: Duration) {
        let mut times = self.0.lock();
        if times.until <= now {
            times.until = now.saturating_add(times.next);
            times.next = (times.next * 2).min(COMPACT_AGAIN_AFTER_MAX);
        }
    }

    /// A compaction succeeded.
    fn shorten(&self) {
        self.0.lock().next = COMPACT_AGAIN_AFTER;
    }
}

fn run_compactions(engine: &DiskEngine, pause: &CompactionPause) {
    let _stop = StopOnPanic(engine);
    let clock = engine.timeline().clock();
    while !engine.pacing().is_closed() && !engine.compaction_areas().is_stopped() {
        if pause.is_on(clock.now()) {
            engine.pacing().wait_for_progress(LOOK_EVERY);
            continue;
        }
        match engine.compact_once() {
            Ok(true) => pause.shorten(),
            Ok(false) => engine.pacing().wait_for_progress(LOOK_EVERY),
            Err(CheckpointError::Cancelled) => {}
            // Memory comes back sooner than a disk that fails: with the next flush.
            Err(error @ CheckpointError::Refused(_)) => {
                engine.pacing().note_compaction_failure(error.to_string());
                engine.pacing().wait_for_progress(LOOK_EVERY);
            }
            Err(error) => {
                engine.pacing().note_compaction_failure(error.to_string());
                pause.begin(clock.now());
            }
        }
    }
}

fn run_flushes(engine: &DiskEngine, has_ended: &dyn Fn() -> bool) {
    while !engine.pacing().is_closed() && !has_ended() {
        let pause = match flush_one(engine) {
            FlushOutcome::Flushed => continue,
            FlushOutcome::Nothing => LOOK_EVERY,
            FlushOutcome::NotReadable => READABLE_AFTER,
            FlushOutcome::Failed => AGAIN_AFTER,
        };
        engine.free_graphs();
        engine.pacing().wait_for_work(pause);
    }
}

/// Does what is due now: as `DurableEngine::step`. A checkpoint may be what steps, so a compaction, which would wait for
/// its end, is left for the next step then.
pub fn step(engine: &DiskEngine) {
    while flush_one(engine) == FlushOutcome::Flushed {}
    if !engine.files().is_checkpoint_locked()
        && let Err(error) = engine.compact_once()
    {
        engine.pacing().note_compaction_failure(error.to_string());
    }
    engine.free_graphs();
}

fn flush_one(engine: &DiskEngine) -> FlushOutcome {
    let has_frozen = || engine.tree().with_current(|current| !current.frozen().is_empty());
    if !has_frozen() {
        return FlushOutcome::Nothing;
    }
    match engine.flush_oldest() {
        Ok(true) => FlushOutcome::Flushed,
        Ok(false) if has_frozen() => FlushOutcome::NotReadable,
        Ok(false) => FlushOutcome::Nothing,
        Err(error) => {
            engine.pacing().note_failure(error.to_string());
            FlushOutcome::Failed
        }
    }
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;

    #[test]
    fn a_pause_doubles_with_each_failure_up_to_five_minutes_and_is_short_again_after_a_success() {
        let pause = CompactionPause::new();
        let mut now = Duration::from_secs(7);
        assert!(!pause.is_on(now));
        for seconds in [10, 20, 40, 80, 160, 300, 300] {
            pause.begin(now);
            // Another thread fails at the same time, and one a little later.
            pause.begin(now);
            pause.begin(now + Duration::from_secs(1));
            now += Duration::from_secs(seconds);
            assert!(pause.is_on(now - Duration::from_nanos(1)) && !pause.is_on(now), "{seconds} s");
        }
        pause.shorten();
        pause.begin(now);
        let after = |seconds| now + Duration::from_secs(seconds);
        assert!(pause.is_on(after(9)) && !pause.is_on(after(10)));
    }
}
