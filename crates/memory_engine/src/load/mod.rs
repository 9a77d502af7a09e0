//! Bulk loads into the memory engine: blocks become bodies of vertex groups.
//!
//! ```text
//! bodies  new groups of sorted edges and vertices (`evergraph_bodies::load`)
//! extend  edges at vertices that are there: new bodies over those of their segments
//! build   all of it, read by index checks, then installed
//! ```

pub mod bodies;
pub mod build;
pub mod extend;
