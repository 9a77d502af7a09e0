//! Keeps one graph: durable, versioned, compact.

pub mod sync;
