//! Jobs: long work on a database that a client starts and does not wait for.
//!
//! ```text
//! request ──> work ──> registry: queued ──> running, on a thread of its own ──> done, failed or cancelled
//!               └ operations of evergraph        │                                 │
//!                                                └── progress, cancel              └── forgotten after an hour
//! ```
//!
//! Nothing here knows a network.

pub mod job;
pub mod job_kind;
pub mod operations;
pub mod registry;
pub mod request;
pub mod resources;
