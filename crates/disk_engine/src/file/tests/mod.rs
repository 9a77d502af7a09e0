//! Tests of files: answers against a naive model, scans in the order of merges, and damage.

// Schedules are explored by other tests; outside of them locks of shuttle and loom do not work.
#![cfg(not(any(shuttle, loom)))]

pub(crate) mod answers;
mod damage;
mod damaged_entries;
pub(crate) mod model;
mod scans;
