//! Replicas: PostgreSQL databases as graphs.
//!
//! - [`following`]: a database that follows, waiting for positions, its status and snapshots by number
//! - [`mapping`]: mappings that are proposed, checked, and written by the calls of GART's paper

pub mod following;
pub mod mapping;
