//! Messages: requests and responses in both formats, there and back, hostile ones, and those of real drivers.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

mod any_item;
mod detached;
mod drivers;
mod elements;
mod frames;
mod hostile;
mod requests;
mod round_trip;
