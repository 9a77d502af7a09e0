//! Workloads: what is measured, a file a part; each checks the answers that it got.

pub mod durable;
pub mod linkbench;
pub mod live;
pub mod reads;
pub mod storage;
pub mod writes;

use crate::engine::{Commit, Kind, Store};
use crate::plan::{Part, Work};
use evergraph_graph::error::{Error, ErrorKind, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The heading of a part.
#[must_use]
pub const fn section(part: Part) -> &'static str {
    match part {
        Part::Writes => "Writes, not synced",
        Part::Durable => "Durable commits",
        Part::Reads => "Reads by engine",
        Part::Live => "Algorithms on live data",
        Part::Storage => "Memory, disk, restart",
        Part::Linkbench => "LinkBench",
    }
}

/// Measures `part`.
///
/// # Errors
/// `corrupt` if an answer is wrong; what the engines say.
pub fn measure(part: Part, work: &mut Work<'_>) -> Result<()> {
    match part {
        Part::Writes => writes::measure(work),
        Part::Durable => durable::measure(work),
        Part::Reads => reads::measure(work),
        Part::Live => live::measure(work),
        Part::Storage => storage::measure(work),
        Part::Linkbench => linkbench::measure(work),
    }
}

/// A new store of every engine, for edges between the plan's vertices.
fn open_all(work: &Work<'_>, name: &str, commit: Commit) -> Result<Vec<Box<dyn Store>>> {
    let open = |kind: &Kind| kind.open(&work.place(name).join(kind.name()), work.plan.vertices(), commit);
    Kind::ALL.iter().map(open).collect()
}

fn names() -> impl Iterator<Item = &'static str> {
    Kind::ALL.iter().map(|kind| kind.name())
}

fn pool(threads: usize) -> Result<ThreadPool> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| {
        Error::new(ErrorKind::Io, format!("start {threads} threads: {error}")).because(error)
    })
}
