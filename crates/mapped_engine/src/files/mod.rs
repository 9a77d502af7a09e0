//! Files: what of the graph is on disk, and what a manifest says of it.
//!
//! - [`segment_id`]: which segment something belongs to
//! - [`run_form`], [`batch`]: records, and the extents that hold them
//! - [`section`]: the engine's part of a manifest; `section_check`: whether it can be true

pub mod batch;
pub mod run_form;
pub mod section;
mod section_check;
pub mod segment_id;
