//! The mapped engine as an `Engine`: what the process that writes has in its heap, beside what all processes share.
//!
//! ```text
//! options      how much is merged at once, how much may wait
//! groups       vertex groups, and the writer's segments of each
//! merge_queue  segments that wait to be merged
//! own_source   where views of this process find them
//! graph        all of it: finds and makes segments, frees
//! body_merge   one segment's records into its body
//! index_records, index_fill   entries that commits move, and those that a scan finds
//! merger       which segments are merged when, and by whom
//! prepared     a commit before its latch
//! mapped_engine   the engine
//! attach       segments that were found in files
//! install      segments that a bulk load wrote
//! ```

pub mod attach;
pub mod body_merge;
pub mod graph;
pub mod groups;
pub mod index_fill;
pub mod index_records;
pub mod install;
pub mod mapped_engine;
pub mod merge_queue;
pub mod merger;
pub mod options;
pub mod own_source;
pub mod prepared;
