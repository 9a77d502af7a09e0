//! `evergraph stats`: what is in a database, how its edges are spread, and what it takes.

pub mod execute;
pub mod mapped;
pub mod report;
pub mod tree;
