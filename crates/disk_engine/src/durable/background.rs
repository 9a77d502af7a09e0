//! Background: flushes frozen graphs as they come, and compacts what is due, so that writers seldom wait.
//!
//! ```text
//! a graph is frozen ──> all of it readable ──> written, in the set ──> writers go on
//!                          └ not yet: in a moment    └ fails: the cause is told to who waits; again after a second
//! files are due ──> compacted, in the set ──> looks again
//!                     └ fails: the cause is told to who waits; again after 10 seconds, then 20, ... up to 5 minutes;
//!                       without memory for it, after the next flush
//! ```
//!
//! Each has a thread: writers wait for flushes while a compaction takes minutes.
//!
//! No manifest names what is flushed here before the next checkpoint does, and the log keeps it until then
//! (`checkpoint.rs`).

use crate::engine::DiskEngine;
use evergraph_storage::checkpoint::error::CheckpointError;
use std::time::Duration;

/// How long to wait for a graph that nobody announces, and look for graphs that may be freed.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long to wait for the log to make a frozen graph readable.
const READABLE_AFTER: Duration = Duration::from_millis(2);
/// How long to wait after a failure.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// How long a compaction waits after its first failure.
const COMPACT_AGAIN_AFTER: Duration = Duration::from_secs(10);
/// How long it waits at most.
const COMPACT_AGAIN_AFTER_MAX: Duration = Duration::from_secs(300);

/// What came of a look for work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Look {
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
pub fn run(engine: &DiskEngine) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("evergraph-compact".to_owned());
        let compactions = thread.spawn_scoped(scope, || run_compactions(engine));
        if let Err(error) = &compactions {
            let failure = format!("the thread of compactions could not be started: {error}");
            engine.pacing().note_compaction_failure(failure);
        }
        // It ends before the engine is closed if it panicked. Then this scope ends, and panics too: nobody waits for
        // compactions that never come.
        let has_ended = || compactions.as_ref().is_ok_and(|thread| thread.is_finished());
        run_flushes(engine, &has_ended);
    });
}

fn run_compactions(engine: &DiskEngine) {
    let mut again_after = COMPACT_AGAIN_AFTER;
    while !engine.pacing().is_closed() {
        match engine.compact_once() {
            Ok(true) => again_after = COMPACT_AGAIN_AFTER,
            Ok(false) => engine.pacing().wait_for_progress(LOOK_EVERY),
            Err(CheckpointError::Cancelled) => {}
            // Memory comes back sooner than a disk that fails: with the next flush.
            Err(error @ CheckpointError::Refused(_)) => {
                engine.pacing().note_compaction_failure(error.to_string());
                engine.pacing().wait_for_progress(LOOK_EVERY);
            }
            Err(error) => {
                engine.pacing().note_compaction_failure(error.to_string());
                wait_until_closed(engine, again_after);
                again_after = (again_after * 2).min(COMPACT_AGAIN_AFTER_MAX);
            }
        }
    }
}

/// Waits so long, unless the engine closes.
fn wait_until_closed(engine: &DiskEngine, time: Duration) {
    let clock = engine.timeline().clock();
    let began = clock.now();
    while !engine.pacing().is_closed() && clock.now().saturating_sub(began) < time {
        engine.pacing().wait_for_progress(LOOK_EVERY);
    }
}

fn run_flushes(engine: &DiskEngine, has_ended: &dyn Fn() -> bool) {
    while !engine.pacing().is_closed() && !has_ended() {
        let pause = match flush_one(engine) {
            Look::Flushed => continue,
            Look::Nothing => LOOK_EVERY,
            Look::NotReadable => READABLE_AFTER,
            Look::Failed => AGAIN_AFTER,
        };
        engine.free_graphs();
        engine.pacing().wait_for_work(pause);
    }
}

/// Does what is due now: as `DurableEngine::step`. A checkpoint may be what steps, so a compaction, which would wait for
/// its end, is left for the next step then.
pub fn step(engine: &DiskEngine) {
    while flush_one(engine) == Look::Flushed {}
    if !engine.files().is_held()
        && let Err(error) = engine.compact_once()
    {
        engine.pacing().note_compaction_failure(error.to_string());
    }
    engine.free_graphs();
}

fn flush_one(engine: &DiskEngine) -> Look {
    let has_frozen = || engine.tree().with_current(|current| !current.frozen().is_empty());
    if !has_frozen() {
        return Look::Nothing;
    }
    match engine.flush_oldest() {
        Ok(true) => Look::Flushed,
        Ok(false) if has_frozen() => Look::NotReadable,
        Ok(false) => Look::Nothing,
        Err(error) => {
            engine.pacing().note_failure(error.to_string());
            Look::Failed
        }
    }
}
