//! Stores: one of every engine, as most workloads want them.

use crate::engine::kind::Kind;
use crate::engine::store::{Commit, Store};
use crate::plan::Work;
use evergraph_graph::error::Result;

/// A new store of every engine, for edges between the plan's vertices.
///
/// # Errors
/// What the engines say.
pub fn open_all(work: &Work<'_>, name: &str, commit: Commit) -> Result<Vec<Box<dyn Store>>> {
    let open = |kind: &Kind| kind.open(&work.place(name).join(kind.name()), work.plan.vertices(), commit);
    Kind::ALL.iter().map(open).collect()
}

/// The names of all engines, ours first.
pub fn names() -> impl Iterator<Item = &'static str> {
    Kind::ALL.iter().map(|kind| kind.name())
}
