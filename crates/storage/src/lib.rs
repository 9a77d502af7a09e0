//! Keeps one graph: durable, versioned, compact.

pub mod io;
pub mod sync;
