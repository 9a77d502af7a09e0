//! Frozen lists: the adjacency lists of one snapshot, for algorithms, of every engine that keeps segments.
//!
//! ```text
//! stored_lists    what freezing asks of an engine's bodies;  freeze_source: and of its segments
//! label_lists     what bodies have within some labels, kept for the next snapshot;   label_scope: which labels a projection has
//! edge_weights    what edges weigh, where a property says it and where one number does for all
//! fresh_lists     the lists of rows that records change on top of a body
//! frozen_list     both of one segment, with weights;         resolved_list: the same as borrowed arrays
//! dense_list      the loops that algorithms spend their time in;   sparse_list: the same where few rows have edges
//! freezer         makes frozen lists of segments and records;   weighed_lists: where a property says what edges weigh
//! transposed      the in side where properties are read
//! frozen_graph    all of them: the topology that algorithms read
//! coalesced       all lists of a vertex in one place, for algorithms of many rounds
//! shared_list     lists handed out as they lie in memory
//! ```

pub(crate) mod coalesced;
pub(crate) mod dense_list;
pub(crate) mod edge_weights;
pub mod freeze_source;
pub mod freezer;
pub mod fresh_lists;
pub mod frozen_graph;
pub mod frozen_list;
pub mod label_lists;
pub(crate) mod label_scope;
pub mod resolved_list;
pub mod shared_list;
pub(crate) mod sparse_list;
pub mod stored_lists;
pub(crate) mod transposed;
pub(crate) mod weighed_lists;

#[cfg(all(test, not(any(shuttle, loom))))]
mod test_source;
