//! Following: with a scripted source, whose connections break, which crashes and lies, on a disk that loses power; and with a real
//! PostgreSQL, where there is one.

#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod beside_sql;
mod columns;
mod copied_folder;
mod crashes;
mod cut_source;
#[path = "../../../../tests/src/data_folder.rs"]
mod data_folder;
#[path = "../postgres/data_sets.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod data_sets;
mod early;
mod failures;
mod follower;
#[cfg(target_os = "linux")]
mod full_disk;
mod graph;
mod messages;
mod neighbours;
mod postgres;
mod prefix;
mod publications;
mod random;
mod scenario;
#[path = "../postgres/server.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod server;
mod shop;
#[path = "../../../../tests/src/skips.rs"]
mod skips;
mod snb_stream;
#[path = "../../../../tests/tests/real_data/snb_updates.rs"]
mod snb_updates;
mod source_changes;
#[path = "../postgres/sql_graph.rs"]
mod sql_graph;
mod unreadable;
