//! Segments: a vertex group's data about one subject, as body, run and tail.
//!
//! ```text
//! record, net       what changed, and what a sequence of changes comes to
//! tail, run         where records wait: in commit order, then sorted
//! body              exact and sorted, without stamps: vertex_body, edge_body; edge_union of two,
//!                   edge_search for many
//! newest            where the edges of a body's long lists lie by value
//! history           what merges took, for writers that began before it
//! version, hand_over the present and the past of a segment, and the steps between them
//! ```

pub mod body;
pub mod edge_body;
pub mod edge_search;
pub mod edge_union;
pub mod hand_over;
pub mod history;
pub mod net;
pub mod newest;
pub mod record;
pub mod run;
pub mod tail;
pub mod version;
pub mod vertex_body;
