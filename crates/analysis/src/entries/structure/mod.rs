//! Components and order: what hangs together, cycles, and the order of what has none.

pub(crate) mod cycles;
pub(crate) mod flow_rings;
pub(crate) mod scc;
pub(crate) mod topological_order;
pub(crate) mod wcc;
