//! Mapped: stores of raw edges in mapped files, one column a store, on the same edges.
//!
//! ```text
//! store      what a column can do; which columns there are
//! packed     the packed graph: DGAP's structure, corrected
//! inserts    edges a second behind a warm-up, by one writer and by two; bytes written back and fences an edge
//! kernels    algorithms on lists in place, beside a static array
//! logs       the packed graph with logs of several sizes
//! openings   until the graph can be read, after a shutdown and after the end of the process
//! engine     the mapped engine, which is a part of its own
//! ```
//!
//! Another store of raw edges is another column: an entry of [`store::COLUMNS`].
//!
//! Source: DGAP (SC 2023), section 4: table 3, figures 6 to 9, recovery.

pub mod engine;
mod inserts;
mod kernels;
mod logs;
mod openings;
mod packed;
mod store;

use crate::edges::distinct;
use crate::engine::store::Edge;
use crate::plan::{Plan, Work};
use evergraph::generate::random::Random;
use evergraph_graph::error::Result;

/// What the order of edges is drawn for.
const SHUFFLED: u64 = 401;
/// The part of the edges that is there before inserts are measured.
const WARM_UP: f64 = 0.1;

/// Measures everything, but for logs on every column.
///
/// # Errors
/// `io`, naming `--emulate-dax`, if the folder is not on persistent memory; `corrupt` if an answer is wrong.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    inserts::measure(work)?;
    kernels::measure(work)?;
    openings::measure(work)?;
    logs::measure(work)?;
    if work.plan.mapped.is_emulated {
        work.note(
            "memory: DRAM, by --emulate-dax; lines are written back and fenced as on persistent memory",
        );
    }
    work.note("edges: R-MAT, each once, shuffled; 10 % are there before inserts are measured");
    Ok(())
}

/// The edges of the plan's graph with so many a vertex, in an order of their own.
fn shuffled(plan: &Plan, degree: u32) -> Result<Vec<Edge>> {
    let mut edges = distinct(plan, degree)?;
    let mut random = Random::new(plan.seed, SHUFFLED, u64::from(degree));
    for at in (1..edges.len()).rev() {
        edges.swap(at, random.below(at as u64 + 1) as usize);
    }
    Ok(edges)
}

/// Edges of the warm-up, and those that are measured.
fn split(edges: &[Edge]) -> (&[Edge], &[Edge]) {
    edges.split_at((edges.len() as f64 * WARM_UP) as usize)
}
