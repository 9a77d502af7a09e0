//! Reading in a process that does not write: the graph in `live` and in array files of another process, or of nobody.
//!
//! ```text
//! a process writes    its `live` is joined; when another one opens the database, the next snapshot joins that one's
//! nobody does         manifest and log become a `live` of this process alone, in memory; nothing is written but `reader-<n>`.
//!                     Each snapshot looks whether the files still are those
//! it is killed        snapshots begin at the last readable commit, until another process opens the database
//! it closes           as where nobody writes
//! ```
//!
//! - [`known_bodies`]: which bodies were found to be sound
//! - [`joined_live`]: a `live` and the slots that this process has in it; snapshots of it
//! - [`recovery`]: a graph that nobody writes, recovered into memory
//! - [`live_reader`]: which `live` is read, over the course of time
//! - [`reader_engine`]: all of it behind `Engine`
//! - [`processes`]: which processes read a database
//!
//! Source: mapped-engine, section 5. Differs: where the writer is gone, begins go on instead of being refused as busy. The files that a
//! snapshot reads stay as long as it is open; a process without one holds nothing back.

pub mod joined_live;
pub mod known_bodies;
pub mod live_reader;
pub mod processes;
pub mod reader_engine;
pub mod recovery;
