//! Reading at one timestamp: the engine's view, combined with the reader's own writes.
//!
//! - [`session`]: a place in the registry of open snapshots, given back when dropped
//! - [`reader`]: a view and own writes as one `GraphView`; [`adjacency`] is its part about edges,
//!   [`look_up`] and [`holders`] that about indexes, [`newest`] that about edges by value
//! - [`index_entries`]: what one index of a store finds at this moment, for whoever answers another machine
//! - [`duplicates`]: values that several items have, where no store has all of them
//! - [`tracked_view`]: a view that notes what is read through it, for serialisable transactions
//! - [`handle`]: `Snapshot`, a read-only session with a view for everybody
//! - [`forwarding`]: how snapshots and transactions become `GraphView`s by their reader

pub mod adjacency;
pub mod duplicates;
pub mod forwarding;
pub mod handle;
pub mod holders;
pub mod index_entries;
pub mod look_up;
pub mod newest;
pub mod reader;
pub mod session;
pub mod tracked_view;
