//! Follows a PostgreSQL database: its tables by COPY, its changes by logical replication.
//!
//! ```text
//! PostgreSQL <──socket──> source::postgres ──> wire     bytes <─> messages of the protocol
//!                              │
//!                              ├── catalogue            tables, keys, types
//!                              ├── rows of COPY         text
//!                              └── stream of changes    pgoutput ──> value     messages, values
//!                                       │
//!                                       └── stream      whole transactions, translated in parallel
//!
//! mapping file ──> rules ──mapping::resolve, with the catalogue──> plan: what a row becomes as vertices and edges
//! ```
//!
//! ```text
//! messages ──translate, with the plan──> changes of rows ──fold──> a transaction's effect ──apply──> one commit, and its position
//! ```
//!
//! `pgoutput`, `value`, `wire`, `mapping` and `translate` do no I/O.
//!
//! Source: GART (USENIX ATC 2023), sections 2 and 3: the database's own log is the stream of changes.

pub mod apply;
pub mod copy;
pub mod count_note;
pub mod epochs;
pub mod follow;
pub mod lsn;
pub mod mapping;
pub mod metrics;
pub mod network_reader;
mod note_format;
pub mod pgoutput;
pub mod planted;
pub mod position;
pub mod postgres_time;
pub mod private_server;
pub mod resync;
pub mod row_note;
pub mod source;
pub mod status;
pub mod status_file;
pub mod stream;
pub mod translate;
pub mod value;
pub mod verify;
pub mod wire;
