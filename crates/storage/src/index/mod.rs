//! Indexes: from a property's value to the vertices that have it.
//!
//! - [`unique`]: at most one vertex a value; entries are a superset that readers re-check
//! - [`change_list`]: which values were taken lately, so that two new holders find each other
//! - [`build`](mod@build): an index of what is there already
//! - [`directory`]: the indexes of a store, by label and key

pub mod build;
pub mod change_list;
pub mod directory;
pub mod unique;
