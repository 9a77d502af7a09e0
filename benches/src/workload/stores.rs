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
    open_each(work, Kind::ALL, name, commit)
}

/// As [`open_all`], of some engines.
///
/// # Errors
/// What the engines say.
pub fn open_each(work: &Work<'_>, kinds: &[Kind], name: &str, commit: Commit) -> Result<Vec<Box<dyn Store>>> {
    let open = |kind: &Kind| kind.open(&work.place(name).join(kind.name()), work.plan.vertices(), commit);
    kinds.iter().map(open).collect()
}

/// The names of all engines, ours first.
pub fn names() -> impl Iterator<Item = &'static str> {
    names_of(Kind::ALL)
}

/// The names of some engines.
pub fn names_of(kinds: &[Kind]) -> impl Iterator<Item = &'static str> {
    kinds.iter().map(|kind| kind.name())
}
