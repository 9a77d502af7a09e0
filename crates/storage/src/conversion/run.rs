//! Run: writes what a snapshot of a store shows as a new database.

use std::sync::Arc;

use evergraph_graph::error::{Error, Result};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::view::GraphView;

use crate::checkpoint::manifest::StoredGroup;
use crate::checkpoint::report::CheckProgress;
use crate::conversion::source::GraphSource;
use crate::durable_engine::DurableEngine;
use crate::io::directory::Directory;
use crate::salvage::new_database::SalvageTarget;
use crate::store::Store;

/// What a conversion wrote.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ConversionSummary {
    /// Every commit through this one is in the new database, and none after it.
    pub through: Timestamp,
    /// Vertices in it.
    pub vertices_count: u64,
    /// Edges in it.
    pub edges_count: u64,
    /// Bytes of its files.
    pub bytes_written: u64,
}

/// Writes the graph of a new snapshot of `store` to `target`, an empty directory or one in which this was left
/// unfinished, as a database of `engine`, one that `T` [opens](DurableEngine::opens). `salt` is any number; `progress` may
/// ask to stop.
///
/// Vertices, edges, names, indexes and notes are the same, ids that were given out stay so, and commits go on counting.
/// Indexes are built when the new database is opened to write. Others read and write meanwhile.
///
/// # Errors
/// `invalid` if the target is taken, or the store has one partition of a graph; `corrupt` if what is read isn't what was written; `limit` on a full disk, `io`,
/// `busy`, `cancelled`. What was written is removed then.
pub fn convert<E: DurableEngine, T: DurableEngine>(
    store: &Store<E>,
    engine: &str,
    target: &Arc<dyn Directory>,
    salt: u64,
    progress: &mut CheckProgress<'_>,
) -> Result<ConversionSummary> {
    if let Some(own) = store.own_groups() {
        return Err(Error::invalid(format!(
            "{own} of a graph is not converted: its edges have half of their sides"
        )));
    }
    let target = SalvageTarget { directory: target, salt, is_engine_file: T::is_file };
    let database = target.begin()?;
    let snapshot = store.snapshot();
    let (catalogue, counts) = (snapshot.catalogue(), snapshot.statistics()?);
    let view = snapshot.view();
    // A group of names that are newer than the snapshot has nothing that it shows; one whose ids were taken for a load
    // that failed has no vertices.
    let states = store.vertex_id_state().into_iter();
    let groups: Vec<StoredGroup> = states
        .filter(|state| catalogue.has_label(state.label) && store.engine().has_group(state.group))
        .map(|state| StoredGroup { id: state.group, label: state.label, rows: state.rows })
        .collect();
    let mut source = GraphSource::new(&view, &catalogue, &groups, &counts, progress);
    let (mut manifest, bytes) = T::write_graph(engine, &mut source, database.directory())?;
    manifest.notes = Some(snapshot.notes()).filter(|notes| !notes.is_empty());
    let through = source.timestamp();
    let (vertices_count, edges_count) = source.finish()?;
    let bytes_written = bytes + database.finish(&manifest)?;
    Ok(ConversionSummary { through, vertices_count, edges_count, bytes_written })
}
