//! Import beside a database: what it has already, and where it lies.

#![allow(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod folders;
mod known;
mod known_types;
