//! Queries.

pub mod batch;
pub mod execute;
pub mod plan;
pub mod session;
pub mod step;
pub mod value;
pub mod write;
