//! Tests of files: answers against a naive model, scans in the order of merges, and damage.

pub(crate) mod answers;
mod damage;
pub(crate) mod model;
mod scans;
