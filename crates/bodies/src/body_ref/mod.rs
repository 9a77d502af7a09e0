//! Bodies read where they lie: the payload of an extent as arrays, without a copy.
//!
//! - [`layout`]: how arrays follow each other in a payload
//! - [`edges`]: the lists of one type and side
//! - [`vertices`]: which vertices are alive
//!
//! Bodies' files of the memory engine have version 1 of the same forms, whose arrays are not aligned; columns follow
//! in the same bytes there. Here each column is an extent of its own, so that a merge writes only those that it touches.

pub mod edges;
pub mod layout;
pub mod vertices;
