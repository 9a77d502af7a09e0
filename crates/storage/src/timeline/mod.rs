//! Time in a store: the commit latch, the published and readable timestamps, and the open snapshots.

pub mod clock;
pub mod registry;
pub mod shared_readable;
