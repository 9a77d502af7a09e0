//! Time in a store: the commit latch, what is published and readable, and who reads at which moment.

pub mod clock;
pub mod registry;
