//! Background: flushes frozen graphs as they come, so that writers seldom wait.
//!
//! ```text
//! a graph is frozen ──> all of it readable ──> written, in the set ──> writers go on
//!                          └ not yet: in a moment    └ fails: the cause is told to who waits; again after a second
//! ```
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

/// Flushes until the engine is closed: as `DurableEngine::run_background`.
pub fn run(engine: &DiskEngine) {
    while !engine.pacing().is_closed() {
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

/// Does what is due now: as `DurableEngine::step`.
pub fn step(engine: &DiskEngine) {
    while flush_one(engine) == Look::Flushed {}
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
            note_failure(engine, &error);
            Look::Failed
        }
    }
}

fn note_failure(engine: &DiskEngine, error: &CheckpointError) {
    engine.pacing().note_failure(error.to_string());
}
