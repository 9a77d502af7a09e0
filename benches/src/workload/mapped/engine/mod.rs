//! Engine: the mapped engine with all that a database promises, beside the memory engine and a static array.
//!
//! ```text
//! loaded         a graph on one engine, in a folder of its own
//! transactions   edges a second by transactions of one and of a thousand edges
//! kernels        algorithms on a snapshot while some edges wait for their merge
//! openings       from the end of a process that was killed to the first answer
//! readers        other processes that read while one writes
//! ```

mod kernels;
pub mod loaded;
mod openings;
pub mod readers;
mod transactions;

use crate::mapped_plan::EnginePart;
use crate::plan::Work;
use evergraph::EngineKind;
use evergraph_graph::error::Result;

/// Engines that are measured, with their names in results, ours that the goals are about first.
const ENGINES: [(EngineKind, &str); 2] =
    [(EngineKind::Mapped, "mapped engine"), (EngineKind::Memory, "memory engine")];

/// Their names.
fn names() -> impl Iterator<Item = &'static str> {
    ENGINES.into_iter().map(|(_, name)| name)
}

/// Measures what is chosen of it.
///
/// # Errors
/// `corrupt` if an answer is wrong; what the engines say.
pub fn measure(work: &mut Work<'_>) -> Result<()> {
    for part in work.plan.mapped.engine_parts.clone() {
        match part {
            EnginePart::Transactions => transactions::measure(work)?,
            EnginePart::Kernels => kernels::measure(work)?,
            EnginePart::Openings => openings::measure(work)?,
            EnginePart::Readers => readers::measure(work)?,
        }
    }
    work.note("edges: R-MAT, each once, shuffled; a simple edge type, both directions kept, ends checked");
    Ok(())
}
