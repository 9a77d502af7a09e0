//! Keeps one graph: durable, versioned, compact.

pub mod io;
pub mod log;
pub mod sync;
pub mod engine;
pub mod memory;
pub mod segment;
pub mod timeline;
