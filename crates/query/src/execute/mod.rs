//! Execution: runs the steps of a plan within limits.

pub mod child;
pub mod computed_properties;
pub mod context;
pub mod limits;
pub mod metered_writer;
pub mod pending_batches;
pub mod pipeline;
pub mod profile;
pub mod side_effects;
pub mod step_measures;
