//! Drivers: those of Apache TinkerPop for four languages, unmodified, against the server.
//!
//! ```text
//! a program of checks ──"restart"──> the test ──stop, start────> the server
//!                     ──"sample"───>          ──a vertex───────> its database
//!                     ──"idle"─────>          ──until it rests─>
//!                     <──a line─────
//! ```
//!
//! Programs query the server as its users do, and print how many checks passed.

#![allow(clippy::unwrap_used)]

mod checks;
mod logins;
mod program;
#[path = "../support/mod.rs"]
mod support;
