//! Pick: which files are compacted next, and into which level.
//!
//! ```text
//! limits         when levels are compacted, and how much at once
//! level_sizes    how large each level should be: which are due, and where L0 goes
//! picker         of the level that is due, the files that are merged with some of the next one
//! ```
//!
//! Nothing here reads a file: a pick looks at what the manifest says of each, and takes no lock.

mod level_sizes;
pub mod limits;
pub mod picker;
#[cfg(test)]
mod tests;
