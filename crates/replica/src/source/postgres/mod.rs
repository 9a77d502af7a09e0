//! A PostgreSQL server as a source: 14 or newer, `wal_level = logical`.
//!
//! ```text
//! settings ──> connection ──> catalogue_reader, publication, slot, following, page_counts, row_stream      one conversation at a time
//!    passfile      socket ──> tls       open_transactions: what a slot waits for
//!    service_file
//! source ──> change_stream     a thread that owns its socket: ──batches──> batch_queue ──> the replica
//!                feedback      when the server hears of our progress
//! ```

pub mod batch_queue;
pub mod catalogue_reader;
pub mod change_stream;
pub mod connection;
pub mod feedback;
mod following;
mod open_transactions;
mod page_counts;
pub mod passfile;
pub mod publication;
pub mod row_stream;
pub mod server;
mod service_file;
pub mod settings;
pub mod shared_snapshot;
pub mod slot;
pub mod socket;
pub mod tls;
