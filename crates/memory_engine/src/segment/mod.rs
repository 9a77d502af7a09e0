//! Segments: a vertex group's data about one subject, as body, run and tail.
//!
//! ```text
//! tail               where records wait in commit order
//! version, hand_over the present and the past of a segment, and the steps between them
//! ```
//!
//! Runs, bodies and the history of merged records are in `evergraph_bodies`.

pub mod hand_over;
pub mod tail;
pub mod version;
