//! Mapped: stores of raw edges in mapped files and beside them, one column a store, on the same edges.
//!
//! ```text
//! store      what a column can do; which columns there are
//! packed     the packed graph: DGAP's structure, corrected
//! blocked    a blocked adjacency list in ordinary memory
//! raw_lists  what kernels read of a store
//! inserts    edges a second behind a warm-up, by one writer and by two; bytes written back and fences an edge
//! kernels    algorithms on lists in place, beside a static array
//! logs       the packed graph with logs of several sizes
//! ablations  the packed graph without section logs, undo slots, vertex array in memory
//! openings   until the graph can be read, after a shutdown and after the end of the process
//!
//! segments     the mapped engine's segments, without transactions and without a log
//! merges       edges into those, by the part of the body at which they are merged; PageRank on what that leaves, and at worst
//! commits      bytes and fences of the mapped engine's transactions, counted
//! checkpoints  bytes of its checkpoints, counted
//! engine       all else of the mapped engine, which is a part of its own
//! ```
//!
//! Another store of raw edges is another column: an entry of [`store::COLUMNS`].
//!
//! Source: DGAP (SC 2023), section 4: tables 3 to 5, figures 6 to 9, recovery.

mod ablations;
mod blocked;
mod checkpoints;
mod commits;
pub mod engine;
mod inserts;
mod kernels;
mod logs;
mod merges;
mod openings;
mod packed;
mod raw_lists;
mod segments;
mod store;

use crate::edges::distinct;
use crate::engine::store::Edge;
use crate::plan::{Plan, Work};
use crate::shuffle::shuffle;
use evergraph::generate::random::Random;
use evergraph_graph::error::{Error, Result};
use evergraph_storage::io::dax::{DaxDirectory, Emulation};
use std::path::Path;
use std::sync::Arc;

/// What the order of edges is drawn for.
const SHUFFLED: u64 = 401;
/// The part of the edges that is there before inserts are measured.
const WARM_UP: f64 = 0.1;

/// Measures everything: columns, then what is of the packed graph or of the mapped engine alone.
///
/// # Errors
/// `io`, naming `--emulate-dax`, if the folder is not on persistent memory; `corrupt` if an answer is wrong.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    inserts::measure(work)?;
    kernels::measure(work)?;
    openings::measure(work)?;
    logs::measure(work)?;
    ablations::measure(work)?;
    merges::measure(work)?;
    commits::measure(work)?;
    checkpoints::measure(work)?;
    if work.plan.mapped.is_emulated {
        work.note(
            "memory: DRAM, by --emulate-dax; lines are written back and fenced as on persistent memory",
        );
    }
    work.note("edges: R-MAT, each once, shuffled; 10 % are there before inserts are measured");
    Ok(())
}

/// A folder whose files are written by stores, which counts what they write back; `is_emulated` takes any file system.
fn dax_directory(folder: &Path, is_emulated: bool) -> Result<Arc<DaxDirectory>> {
    let emulation = if is_emulated { Emulation::Demanded } else { Emulation::Refused };
    let opened = DaxDirectory::open(folder, emulation).map_err(Error::from);
    opened
        .map(Arc::new)
        .map_err(|error| error.context("--emulate-dax takes any file system, and measures DRAM"))
}

/// The edges of the plan's graph with so many a vertex, in an order of their own.
fn shuffled(plan: &Plan, degree: u32) -> Result<Vec<Edge>> {
    let mut edges = distinct(plan, degree)?;
    shuffle(&mut edges, &mut Random::new(plan.seed, SHUFFLED, u64::from(degree)));
    Ok(edges)
}

/// Edges of the warm-up, and those that are measured.
fn split(edges: &[Edge]) -> (&[Edge], &[Edge]) {
    edges.split_at((edges.len() as f64 * WARM_UP) as usize)
}
