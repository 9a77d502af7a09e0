//! Checkpoints: what of the graph is in files, and how it gets there and back.
//!
//! - [`contract`]: what a checkpoint asks of the engine's segments
//! - [`ledger`]: what a manifest names, held
//! - [`mod@write`]: making a checkpoint
//! - [`open`]: finding what one named
//! - [`copy`]: writing it to another directory
//! - [`check`]: comparing all of it with its checksums

pub mod check;
pub mod contract;
pub mod copy;
pub mod ledger;
pub mod open;
pub mod write;
