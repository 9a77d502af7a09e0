//! View: a disk engine's graph as of one commit, out of all sources.
//!
//! ```text
//! layer      what a pin holds: memory graphs and files, newest first
//! level_records
//!            what a level below L0 says: each item is asked of the one file that may have it
//! handle_records
//!            a source of any kind, as a layer
//! view_layers
//!            those of a pin, lent
//! layered    what all layers say together: the first that decides, or the sum
//! lists      the lists of all layers, merged
//! entry_walk the pairs of an index, merged
//! index_reads
//!            look-ups and ranges in indexes
//! disk_view  storage's `View`, made of these and of the group table
//! ```

pub mod disk_view;
pub mod entry_walk;
pub mod handle_records;
pub mod index_reads;
pub mod layer;
pub mod layered;
pub mod level_records;
mod lists;
pub mod view_layers;
