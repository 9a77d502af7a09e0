//! Part: the ablations that were chosen, one after the other, on one graph.

use crate::ablation_plan::Ablation;
use crate::plan::Work;
use crate::workload::disk::ablations::{bare_engine, held_graphs, memory_graph, tunings};
use crate::workload::disk::graph::DiskGraph;
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::error::Result;

/// Edges of a hundred that are inserted after the load.
const LATER_PERCENT: u64 = 20;

/// Measures what was chosen.
///
/// # Errors
/// `corrupt` if a store has other edges in the end; what engines say.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    let plan = work.plan.disk.clone();
    let graph = DiskGraph::draw(&plan, work.plan.seed, LATER_PERCENT)?;
    work.note(format!(
        "{} edges loaded, {} for inserts in random order; R-MAT, 2^{} vertices; memory limit {}",
        graph.loaded.len(),
        graph.later.len(),
        plan.scale,
        ByteSize(plan.limit_bytes)
    ));
    tunings::measure(work, &plan, &graph)?;
    if plan.ablations.has(Ablation::Stamps) {
        held_graphs::measure(work, &plan, &graph)?;
    }
    if plan.ablations.has(Ablation::Transactions) {
        bare_engine::measure(work, &plan, &graph)?;
    }
    if plan.ablations.has(Ablation::MemoryGraph) {
        memory_graph::measure(work, &plan, &graph)?;
    }
    Ok(())
}
