//! Frozen lists: the adjacency lists of one snapshot, for algorithms, of every engine that keeps segments.
//!
//! ```text
//! stored_lists    what freezing asks of an engine's bodies
//! label_lists     what bodies have within some labels, kept for the next snapshot
//! fresh_lists     the lists of rows that records change on top of a body
//! frozen_list     both of one segment, with weights;         resolved_list: the same as borrowed arrays
//! dense_list      the loops that algorithms spend their time in
//! freezer         makes frozen lists of segments and records
//! frozen_graph    all of them: the topology that algorithms read
//! coalesced       all lists of a vertex in one place, for algorithms of many rounds
//! shared_list     lists handed out as they lie in memory
//! ```

pub(crate) mod coalesced;
pub(crate) mod dense_list;
pub mod freezer;
pub mod fresh_lists;
pub mod frozen_graph;
pub mod frozen_list;
pub mod label_lists;
pub mod resolved_list;
pub mod shared_list;
pub mod stored_lists;
