//! Conversion: the graph of a snapshot becomes a new database of any engine, with the same ids.
//!
//! ```text
//! source   a view, its names and groups, handed out in the order of ids, a batch at a time
//! run      snapshot ──> source ──> the new engine's files ──> empty log, manifest
//! ```
//!
//! No commits and no bulk load: those would give new ids. An engine reads the source from front to back and writes
//! its files, as for a salvage; the new database goes on at the commit that was converted.

pub mod run;
pub mod source;
