//! Components and order: what hangs together, cycles, and the order of what has none.

pub mod cycles;
pub mod flow_rings;
pub mod scc;
pub mod topological_order;
pub mod wcc;
