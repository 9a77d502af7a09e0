//! The write-ahead log from outside: power cuts, flipped bits, broken disks, many clients.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod corruption;
mod crash;
mod faults;
mod files;
mod golden;
mod group_commit;
mod support;
