//! Tests of files: answers against a naive model, scans in the order of merges, and damage.

mod answers;
mod damage;
mod model;
mod scans;
