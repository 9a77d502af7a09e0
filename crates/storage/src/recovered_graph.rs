//! Recovered graph: what a manifest and the log after it come to, in an engine that has the manifest's files.
//!
//! ```text
//! manifest ──names, ids, notes──┐
//! log after C ──────────────────┴──> Replay ──> engine, timeline, and what the front keeps
//! ```
//!
//! Neither changes the directory: whoever goes on to write opens the log behind what was read.

use crate::checkpoint::manifest::Manifest;
use crate::engine::Engine;
use crate::io::directory::Directory;
use crate::log::recovery::{self, Recovered};
use crate::timeline::clock::Timeline;
use crate::transaction::replay::{BATCH_MUTATIONS, Replay, Replayed};
use crate::vertex_ids::{GroupState, VertexIds};
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use std::sync::Arc;

/// Installs the commits after the manifest's C, so many mutations at once. The timeline stands at C.
///
/// # Errors
/// As [`recovery::recover`]; `corrupt` if a commit doesn't fit what is stored.
pub(crate) fn replay_log<E: Engine>(
    directory: &dyn Directory,
    manifest: &Manifest,
    (engine, timeline): (&E, &Timeline),
    batch_mutations: usize,
) -> Result<(Recovered, Replayed)> {
    let groups = manifest.groups.iter().map(|g| GroupState { group: g.id, label: g.label, rows: g.rows });
    let ids = VertexIds::import(&groups.collect::<Vec<_>>());
    let mut replay = Replay::new(engine, timeline, manifest.catalogue.clone(), ids)
        .with_notes(manifest.notes.clone().unwrap_or_default())
        .in_batches_of(batch_mutations);
    let wanted = manifest.wanted_log();
    let recovered =
        recovery::recover(directory, wanted, |at, payload| replay.payload(Timestamp(at), payload))?;
    Ok((recovered, replay.finish()?))
}

/// Recovers a graph that this process only reads: the engine has every commit then, and the names of all.
///
/// # Errors
/// Those of the log, and `corrupt` if a commit doesn't fit what is stored.
pub fn recover_to_read<E: Engine>(
    directory: &dyn Directory,
    manifest: &Manifest,
    (engine, timeline): (&E, &Timeline),
) -> Result<()> {
    let (_, replayed) = replay_log(directory, manifest, (engine, timeline), BATCH_MUTATIONS)?;
    engine.catalogue_changed(timeline.published(), &Arc::new(replayed.catalogue));
    engine.readable_grew();
    Ok(())
}
