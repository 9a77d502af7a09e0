//! Keeps one graph: durable, versioned, compact.

pub mod io;
pub mod sync;
pub mod engine;
pub mod timeline;
