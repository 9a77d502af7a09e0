//! Keeps one graph: durable, versioned, compact.

pub mod io;
pub mod log;
pub mod sync;
