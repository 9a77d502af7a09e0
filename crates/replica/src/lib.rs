//! Follows a PostgreSQL database: its tables by COPY, its changes by logical replication.
//!
//! ```text
//! PostgreSQL <──socket──> source::postgres ──> wire     bytes <─> messages of the protocol
//!                              │
//!                              ├── catalogue            tables, keys, types
//!                              ├── rows of COPY         text
//!                              └── stream of changes    pgoutput ──> value     messages, values
//!
//! mapping file ──> rules ──mapping::resolve, with the catalogue──> plan: what a row becomes as vertices and edges
//! ```
//!
//! Nothing here writes a graph. `pgoutput`, `value`, `wire` and `mapping` do no I/O.
//!
//! Source: GART (USENIX ATC 2023), section 4.1: the database's own log is the stream of changes.

pub mod lsn;
pub mod mapping;
pub mod network_reader;
pub mod pgoutput;
pub mod position;
pub mod postgres_time;
pub mod source;
pub mod value;
pub mod wire;
