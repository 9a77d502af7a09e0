//! Checkpoints: whatever fails and whenever the power goes, a database recovers to one of its own
//! states, and to no older one than it promised. Opening and loads, too, in one program: what is generic over an engine is
//! compiled for each.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod accidents;
mod backup;
mod check;
mod closing;
mod crash;
mod damage;
mod files;
mod golden;
mod histories;
mod hubs;
mod loads_and_hubs;
mod one_version;
mod opening;
mod salvage;
mod support;
mod tested;
