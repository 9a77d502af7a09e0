//! Parts: the heading and the workload of each part of the benchmark.

use crate::plan::{Part, Work};
use crate::workload::{durable, linkbench, live, reads, storage, writes};
use evergraph_graph::error::Result;

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
