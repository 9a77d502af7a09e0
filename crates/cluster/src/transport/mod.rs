//! Transport: questions and answers between nodes.
//!
//! ```text
//! question, answer, heartbeat ──frame──> bytes, with length, version and checksum ──transport──> the same at another node
//! ```
//!
//! - [`frame`]: what travels, as bytes
//! - [`frame_counts`]: how many travelled, by kind
//! - [`interface`]: what a node asks of a network
//! - [`memory`]: a network in memory, with faults from a seed
//! - `tcp`: a network over TCP, with certificates of both sides; behind the feature `network`

pub mod frame;
pub mod frame_counts;
pub mod interface;
pub mod memory;
#[cfg(feature = "network")]
pub mod tcp;
