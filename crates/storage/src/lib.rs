//! Keeps one graph: durable, versioned, compact.

pub mod sync;
pub mod engine;
pub mod segment;
pub mod timeline;
