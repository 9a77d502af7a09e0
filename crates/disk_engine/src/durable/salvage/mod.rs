//! Salvage of the disk engine's files: what verifies of pages and log in a new database, with the same ids, and a list
//! of what is damaged or missing.
//!
//! ```text
//! damaged_file   files of which some bytes may be wrong      ┐
//! columns        properties by vertex or rank                │ gather: records by item, and gaps between pages
//! log            commits after what the files cover          ┘
//!        └──> sorter: all that is said of an item stands together, newest first, both sides of an edge
//!              └──> verdict: is it there, with which properties ──> run: new files, all of the deepest level
//!                                                                   losses: what the report says
//! ```
//!
//! - A page that does not verify leaves a *gap*: the keys between its neighbours. The side of an edge that has none
//!   decides whether the edge is there. Properties lie on the out side alone.
//! - What is older than a gap, and that nothing else decides, stays as it was: *stale*. The report then has a last
//!   commit that everything is known through (`Salvaged::through`), and one that nothing is newer than
//!   (`mixed_through`). Unique indexes with a value that occurs twice for it are left out.
//! - Ranks in heads of pages, and the index if it verifies, say of which records a damaged column page had values;
//!   without an index, values of its whole file are in doubt.
//! - Without a manifest there are no names of labels, types and properties, and no groups: the log has them if it goes
//!   back to the first commit, and then it has everything but bulk loads. Files alone would give a graph without
//!   names, of which nobody knows which files are obsolete: that is refused.
//! - Entries of indexes are not read: whoever opens the new database builds indexes anew.
//!
//! Source: disk-engine, section 8 (Salvage).

mod columns;
mod damaged_file;
mod gaps;
mod gather;
mod losses;
mod record;
pub mod run;
mod verdict;
