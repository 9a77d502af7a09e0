//! Checkpoints: what a checkpoint of the mapped engine writes to array files, beside the log that it covers, on graphs of several
//! sizes.
//!
//! ```text
//! edges all over the graph, by transactions       log bytes: of their frames, neither headers of batches nor padding
//! a checkpoint                                    bytes: lines written back of array files meanwhile, without the manifest
//!                                                 all_bytes: the same of all files, the manifest and a new log file included
//! ```
//!
//! A merge in the background that goes on meanwhile is counted with the checkpoint. What merges wrote since the one before is a
//! figure of its own.

use crate::engine::store::Edge;
use crate::plan::Work;
use crate::results::Heading;
use crate::workload::mapped::commits::{ARRAYS, bytes_since, since};
use crate::workload::mapped::engine::loaded::{file_bytes, insert, load};
use crate::workload::mapped::{dax_directory, shuffled};
use evergraph::{Database, Durability, EngineKind, Options};
use evergraph_graph::error::Result;
use evergraph_measure::figure::Unit;
use evergraph_storage::io::dax::DaxDirectory;
use evergraph_storage::io::directory::Directory;
use std::sync::Arc;

/// Edges of a transaction.
const BATCH: usize = 1_000;

/// Measures each size of graph.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let edges = shuffled(work.plan, work.plan.mapped.degree)?;
    for loads in work.plan.mapped.checkpoint_loads.clone() {
        checkpoints(work, &edges, loads)?;
    }
    Ok(())
}

fn checkpoints(work: &mut Work<'_>, edges: &[Edge], loads: u32) -> Result<()> {
    let vertices = work.plan.vertices();
    let folder = work.folder_for("checkpoints")?;
    let dax = dax_directory(folder.path(), work.plan.mapped.is_emulated)?;
    let directory: Arc<dyn Directory> = Arc::<DaxDirectory>::clone(&dax);
    // None but those that are asked for.
    let options = Options {
        durability: Durability::None,
        engine: Some(EngineKind::Mapped),
        checkpoint_after_bytes: u64::MAX,
        ..Options::default()
    };
    let database = Database::open_in(directory, &options)?;
    let mut firsts = Vec::new();
    for number in 0..loads {
        let first = u64::from(number) * u64::from(vertices);
        firsts.push(load(&database, first, vertices, edges)?.0);
    }
    database.checkpoint()?;
    let (mut of_checkpoints, mut of_all_files, mut of_merges) = (Vec::new(), Vec::new(), Vec::new());
    // Further edges between vertices that have one, all over the graph.
    let count = (work.plan.batches * BATCH).min(edges.len() / work.plan.rounds).max(1);
    for changes in edges.chunks(count).take(work.plan.rounds) {
        let spread = changes.iter().zip(firsts.iter().cycle());
        let changes: Vec<Edge> =
            spread.map(|((source, target), first)| (first + source, first + target)).collect();
        let (log, started) = (database.store().log().frame_bytes(), dax.write_backs());
        insert(&database, &changes, BATCH)?;
        let log = (database.store().log().frame_bytes() - log) as f64;
        let merged = dax.write_backs();
        database.checkpoint()?;
        let ended = dax.write_backs();
        of_merges.push(since(&started, &merged, ARRAYS).bytes() as f64 / log);
        of_checkpoints.push(since(&merged, &ended, ARRAYS).bytes() as f64 / log);
        of_all_files.push(bytes_since(&merged, &ended) as f64 / log);
    }
    let size = Unit::Bytes.show(file_bytes(&database));
    database.close()?;
    for (name, what, samples) in [
        ("bytes", "a checkpoint", &of_checkpoints),
        ("all_bytes", "a checkpoint (all files)", &of_all_files),
        ("merges", "merges ahead of it", &of_merges),
    ] {
        let title = format!("bytes of {what} by those of the log that it covers, a graph of {size}");
        let heading = Heading::new(format!("mapped.checkpoints.{name}.loads_{loads}"), title, Unit::Times)
            .with("edges", edges.len() * loads as usize)
            .with("changes", count);
        work.add(&heading, samples);
    }
    Ok(())
}
