//! Storage: keeps one graph durable, versioned and compact, whatever its engine.

pub mod backup;
pub mod bulk;
pub mod checkpoint;
pub mod conversion;
pub mod durable_engine;
pub mod engine;
mod engine_listener;
pub mod error;
pub mod found_database;
pub mod index;
pub mod indexing;
mod indexing_shared;
#[cfg(tsan)]
pub mod instrumented_locks;
pub mod io;
pub mod log;
pub mod memory_budget;
pub mod notes;
pub mod open;
mod open_owned;
pub mod operations;
pub mod ownership;
pub mod partition;
pub mod planted;
pub mod record;
pub mod recovered_graph;
mod refused_opening;
pub mod salvage;
pub mod snapshot;
pub mod store;
pub mod sync;
pub mod timeline;
pub mod transaction;
pub mod unfinished_directory;
pub mod upkeep;
pub mod vertex_ids;
pub mod view;
