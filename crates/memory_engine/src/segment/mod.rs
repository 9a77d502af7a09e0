//! Segments: a vertex group's data about one subject, as body, run and tail.
//!
//! ```text
//! tail               where records wait in commit order
//! runs_aside         where they wait sorted, while merges may not take them
//! version, hand_over the present and the past of a segment, and the steps between them
//! ```
//!
//! Runs, bodies and the history of merged records are in `evergraph_bodies`.

pub mod hand_over;
pub mod runs_aside;
pub mod tail;
pub mod version;
