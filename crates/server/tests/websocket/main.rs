//! The server, by a WebSocket client: queries, sessions, readers that do not read, hostile messages.

#![allow(clippy::unwrap_used)]

mod databases;
mod hostile;
mod leavers;
mod queries;
mod sessions;
mod stopping;
#[path = "../support/mod.rs"]
mod support;
