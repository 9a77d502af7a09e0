//! Packed graphs beside plain lists: random changes, the paper's figures, algorithms, refusals, sizes.

#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod adjacency;
mod at_once;
mod damage;
#[path = "../../../../tests/src/data_folder.rs"]
mod data_folder;
mod dgap;
mod kernels;
mod model;
mod refusals;
mod reopening;
#[path = "../../../../tests/src/skips.rs"]
mod skips;
