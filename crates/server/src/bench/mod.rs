//! `evergraph bench`: the quick look that users take on their own machine.
//!
//! Every figure is the median of several runs, and the runs of what is compared take turns, so that a
//! machine that gets slower for a while slows both. Beside each table stands what would make it lie.

pub mod disk_sync;
