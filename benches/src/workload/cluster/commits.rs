//! Commits: transactions of one edge on a single store, at both levels of isolation: what a cluster's figures are compared with, and what
//! must stay as it is while storage learns to be a part of one.

use crate::edges::Contents;
use crate::engine::evergraph::EvergraphStore;
use crate::engine::store::{Commit, Edge, Store as _};
use crate::goals::baseline;
use crate::plan::Work;
use crate::race::{Race, Sample};
use crate::results::Heading;
use crate::stopwatch::{Spent, Stopwatch};
use crate::workload::cluster::Edges;
use evergraph::Isolation;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::transaction::Transaction as _;
use evergraph_measure::figure::Unit;
use std::path::Path;

const LEVELS: [Isolation; 2] = [Isolation::Snapshot, Isolation::Serializable];

/// Measures both levels.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>, edges: &Edges) -> Result<()> {
    let mut race = Race::new(["evergraph", baseline::SERIALIZABLE]);
    for round in 0..work.plan.rounds {
        race.round(round, |place| {
            let folder = work.folder_for("commits")?;
            let store = load(work, folder.path(), edges)?;
            let spent = commit(&store, &edges.measured, LEVELS[place])?;
            Contents::of(edges.all()).check("evergraph", &store)?;
            Box::new(store).close()?;
            Ok(Sample::timed(edges.measured.len() as f64 / spent.wall, spent))
        })?;
    }
    let title = "transactions of one edge on a single store, not synced, one thread";
    let heading = Heading::new("cluster.store.commit", title, Unit::PerSecond).of_commits(Commit::Unsynced);
    work.add_race(&heading, &race);
    Ok(())
}

/// A store with all edges but those that are measured.
///
/// # Errors
/// What opening and loading say.
pub fn load(work: &Work<'_>, folder: &Path, edges: &Edges) -> Result<EvergraphStore> {
    let store = EvergraphStore::open(folder, work.plan.vertices(), Commit::Unsynced)?;
    let mut loaded = edges.loaded.clone();
    loaded.sort_unstable();
    store.load(&loaded)?;
    Ok(store)
}

/// Commits each edge by a transaction.
///
/// # Errors
/// What committing says.
pub fn commit(store: &EvergraphStore, edges: &[Edge], isolation: Isolation) -> Result<Spent> {
    let database = store.database();
    let missing = || Error::new(ErrorKind::Corrupt, "the edges were not loaded");
    let edge_type = database.store().catalogue().edge_type("EDGE").ok_or_else(missing)?;
    let watch = Stopwatch::start();
    for (source, target) in edges {
        database.transact_with(isolation, |tx| {
            tx.by_id().put_edge(VertexId(*source), edge_type, VertexId(*target), &[]).map(drop)
        })?;
    }
    Ok(watch.stop())
}
