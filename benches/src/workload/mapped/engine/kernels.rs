//! Kernels: algorithms on a snapshot of each engine, freezing included, beside the same kernel on a static array. A part of the
//! edges came by transactions: what merges leave of them is not in bodies yet.

use crate::edges::Contents;
use crate::plan::{Work, expect};
use crate::workload::live::busiest;
use crate::workload::mapped::engine::loaded::{create, fresh_share, insert, load};
use crate::workload::mapped::engine::{ENGINES, names};
use crate::workload::mapped::kernels::{KernelSeries, race};
use crate::workload::mapped::raw_lists::contents;
use crate::workload::mapped::shuffled;
use evergraph::{Database, Durability};
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use evergraph_measure::kernel::{Kernel, static_copy};

/// The part of the edges that is inserted, not loaded.
const INSERTED: f64 = 0.06;
/// Edges of a transaction.
const BATCH: usize = 1_000;

/// Measures all kernels on each number of threads.
///
/// # Errors
/// As of the part.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let edges = shuffled(work.plan, work.plan.mapped.degree)?;
    let vertices = work.plan.vertices();
    let (now, later) = edges.split_at(edges.len() - (edges.len() as f64 * INSERTED) as usize);
    let (mut folders, mut databases) = (Vec::new(), Vec::new());
    for (engine, name) in ENGINES {
        let folder = work.folder_for("kernels")?;
        let database = create(engine, folder.path(), Durability::None)?;
        load(&database, 0, vertices, now)?;
        insert(&database, later, BATCH)?;
        note_fresh(work, name, &database, "begin to run");
        databases.push(database);
        folders.push(folder);
    }
    // Of the very vertices that the engines have, whose groups are not full.
    let fixed = static_copy(&Kernel::PageRank.freeze(&databases[0].snapshot(), None)?)?;
    expect(ENGINES[0].1, "all its edges", contents(&fixed)?, Contents::of(&edges))?;
    let source = VertexId(busiest(&edges, vertices));
    race(
        work,
        &KernelSeries::all("mapped_engine"),
        &names().collect::<Vec<_>>(),
        |kernel, place| match place.and_then(|place| databases.get(place)) {
            Some(database) => kernel.run(&kernel.freeze(&database.snapshot(), None)?, source),
            None => kernel.run(&fixed, source),
        },
    )?;
    // What nobody writes to is merged when nothing else is to do.
    for ((_, name), database) in ENGINES.into_iter().zip(&databases) {
        note_fresh(work, name, database, "ended");
    }
    databases.iter().try_for_each(Database::close)
}

/// Notes which part of the edges is in no body yet.
fn note_fresh(work: &mut Work<'_>, name: &str, database: &Database, when: &str) {
    let share = 100.0 * fresh_share(database);
    work.note(format!("{name}: {share:.1} % of the edges are in no body yet when kernels {when}"));
}
