//! Following: with a scripted source, whose connections break, which crashes and lies, on a disk that loses power; and with a real
//! PostgreSQL, where there is one.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod crashes;
mod cut_source;
mod failures;
mod graph;
mod messages;
mod postgres;
mod scenario;
#[path = "../postgres/server.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod server;
mod shop;
