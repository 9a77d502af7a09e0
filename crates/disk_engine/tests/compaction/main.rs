//! Compactions: whatever is merged into whatever level, readers find the same, and a failure leaves nothing behind.
#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "tests")]

mod faults;
mod histories;
mod history;
mod long_lists;
mod picked;
mod tree;
