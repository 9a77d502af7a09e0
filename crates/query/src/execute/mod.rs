//! Execution: runs the steps of a plan within limits.

pub mod child;
pub mod computed;
pub mod context;
pub mod limits;
pub mod measured;
pub mod pipeline;
pub mod profile;
pub mod side_effects;
pub mod waiting;
pub mod writing;
