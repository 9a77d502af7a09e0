//! Keeps one graph: durable, versioned, compact.

pub mod bulk;
pub mod checkpoint;
pub mod engine;
pub mod io;
pub mod log;
pub mod memory;
pub mod segment;
pub mod sync;
pub mod timeline;
