//! Durable: the disk engine as a database in a directory.
//!
//! ```text
//! section      its part of the manifest: the files of every level
//! files        their numbers, and who may replace the manifest
//! open         a file set out of what a manifest names
//! checkpoint   frozen graphs to files, then a manifest that names them
//! memory_limit what everything in memory may take together
//! background   flushes in between, so that writers seldom wait
//! copy         files held open, for a backup
//! load         bulk loads become files
//! graph_writer files of a whole graph, for a conversion
//! check        verifies all files
//! salvage      saves what verifies of damaged ones
//! engine       all of it behind `DurableEngine`
//! ```

pub mod background;
pub mod check;
pub mod checkpoint;
pub mod copy;
mod engine;
pub mod files;
mod graph_writer;
pub mod load;
pub mod memory_limit;
pub mod open;
pub mod salvage;
pub mod section;
