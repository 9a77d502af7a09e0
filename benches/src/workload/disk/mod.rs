//! Graphs of several times the memory: the disk engine beside the memory engine, which has all the memory it wants, and
//! beside RocksDB, which has the same limit.
//!
//! ```text
//! writes   inserts behind a load, the load, flushes and compactions, opening after a kill
//! ```

pub mod writes;
