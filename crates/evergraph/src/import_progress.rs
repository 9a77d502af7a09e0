//! Progress of an import, or of a load: told to a caller, who may cancel.

use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::Result;
use evergraph_graph::load::ReadProgress;
use evergraph_storage::bulk::load::LoadProgress;
use evergraph_storage::checkpoint::contract::{CheckpointProgress, OnCheckpointProgress};
use std::ops::ControlFlow;

/// Progress of an import.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ImportProgress<'a> {
    /// Files are being read.
    Reading(ReadProgress<'a>),
    /// Edges are sorted into lists.
    Building(LoadProgress),
    /// Bodies are written.
    Writing(CheckpointProgress),
}

/// Calls `load` with what tells `progress` how far it is, and stops it when it is cancelled.
pub(crate) fn reporting<T>(
    progress: &dyn Fn(&ImportProgress<'_>),
    cancel: &CancelFlag,
    load: impl FnOnce(&mut dyn FnMut(LoadProgress) -> Result<()>, &mut OnCheckpointProgress<'_>) -> T,
) -> T {
    let mut building = |now| {
        progress(&ImportProgress::Building(now));
        cancel.check()
    };
    let mut writing = |now| {
        progress(&ImportProgress::Writing(now));
        if cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    load(&mut building, &mut writing)
}
