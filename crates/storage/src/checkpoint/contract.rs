//! Contract: what the front gives to an engine that makes a checkpoint, and what the engine reports.

use std::ops::ControlFlow;
use std::sync::Arc;

use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::note::Notes;
use evergraph_graph::timestamp::Timestamp;

use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::manifest::StoredGroup;
use crate::log::writer::Log;

/// What a checkpoint consists of beside the engine's own records and bodies.
pub struct CheckpointSources<'a> {
    /// The log that is synced and pruned.
    pub log: &'a Log,
    /// The catalogue after the newest commit. Called under the commit latch: a clone of an `Arc`.
    pub catalogue: &'a dyn Fn() -> Arc<Catalogue>,
    /// The notes after the newest commit, for the manifest of a checkpoint of C; `None` if it needs none. Called under the
    /// commit latch, together with `catalogue`.
    pub notes: &'a dyn Fn(Timestamp) -> Option<Notes>,
    /// Every group that the engine has, ascending, and how many of its rows were given out.
    pub groups: &'a dyn Fn() -> Vec<StoredGroup>,
}

/// How far a checkpoint is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointProgress {
    /// Groups whose segments are dealt with.
    pub groups_done: u64,
    /// Groups there were at its beginning.
    pub groups_count: u64,
    /// Bytes of bodies written.
    pub bytes_written: u64,
}

/// Is told how far a checkpoint is, and may stop it.
pub type OnCheckpointProgress<'a> = dyn FnMut(CheckpointProgress) -> ControlFlow<()> + 'a;

/// What a checkpoint did.
#[derive(Debug)]
#[non_exhaustive]
pub struct CheckpointOutcome {
    /// C: the log is needed for later commits only.
    pub covered_through: Timestamp,
    /// The commit that the log must reach.
    pub need: Timestamp,
    /// Segments in the manifest.
    pub segments_count: u64,
    /// Bodies that were written; the others were on disk already.
    pub bodies_written: u64,
    /// Bytes of them.
    pub bytes_written: u64,
    /// Bytes of log files that became free.
    pub log_bytes_freed: u64,
    /// Why unneeded files could not be removed; the next checkpoint tries again.
    pub left_over: Option<CheckpointError>,
}

impl CheckpointOutcome {
    /// A checkpoint for which nothing had to be written.
    #[must_use]
    pub fn new(covered_through: Timestamp, need: Timestamp) -> Self {
        Self {
            covered_through,
            need,
            segments_count: 0,
            bodies_written: 0,
            bytes_written: 0,
            log_bytes_freed: 0,
            left_over: None,
        }
    }
}
