//! View: a disk engine's graph as of one commit, out of all sources.
//!
//! ```text
//! read_source
//!            what a pin holds: memory graphs and files, newest first
//! level_records
//!            what a level below L0 says: each item is asked of the one file that may have it
//! handle_records
//!            the records of a source of any kind
//! view_sources
//!            those of a pin, lent
//! merged_records
//!            what all sources say together: the first that decides, or the sum
//! lists      the lists of all sources, merged
//! entry_walk the pairs of an index, merged
//! index_reads
//!            look-ups and ranges in indexes
//! disk_view  storage's `View`, made of these and of the group table
//! ```

pub mod disk_view;
pub mod entry_walk;
pub mod handle_records;
pub mod index_reads;
pub mod level_records;
mod lists;
pub mod merged_records;
pub mod read_source;
pub mod view_sources;
