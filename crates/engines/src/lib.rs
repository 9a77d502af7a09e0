//! All storage engines behind one type, so that the crates above are compiled once.
//!
//! ```text
//! kind       EngineKind: which engine a new database gets
//! engine     AnyEngine: a store of it opens every database, whatever engine its manifest names
//! durable    its files, checkpoints, loads
//! view       AnyView: reading at one timestamp
//! topology   AnyTopology: the lists that algorithms read
//! reader     a database that another process writes, or nobody
//! cluster    a graph on the nodes of a cluster, with the feature `cluster`
//! persistent_memory   whether a database lies in persistent memory, and the directory that does
//! ```
//!
//! Each is an enum with a variant an engine. A call matches once and goes on in the engine's own method, whose
//! loops are compiled for that engine alone: a match a call, never one a row.
//!
//! A new engine is a variant in each enum and an arm in each file's macro; the compiler names what is missing.
//! Methods that have a default are forwarded too: tidy names one that isn't.

#[cfg(feature = "cluster")]
pub mod cluster;
mod durable;
pub mod engine;
pub mod kind;
pub mod persistent_memory;
pub mod reader;
pub mod topology;
pub mod view;
