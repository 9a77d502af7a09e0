//! The client's side of PostgreSQL's protocol, version 3, without I/O: bytes in, events and bytes out.
//!
//! ```text
//!            bytes                      events: Columns Row Complete Ready CopyData Failed ...
//! server ────────────> Session ──────────────────────────────────────────────────────────────> caller
//!        <────────────         <────────────────────────────────────────────────────────────── query, copy data
//!            bytes
//! ```
//!
//! It speaks what the replica needs: start and log-in (SCRAM-SHA-256, MD5, clear text, none), simple queries, COPY to the
//! client, and streams of replication. Whoever calls owns the socket and TLS. SCRAM, MD5 and the client's messages are those of
//! the crate postgres-protocol; the server's are decoded here, borrowed from the bytes received.
//!
//! Source: the PostgreSQL manual, "Frontend/Backend Protocol".

pub mod copy_text;
pub mod error;
pub mod login;
pub mod receive_buffer;
pub mod replication_frame;
pub mod server_error;
pub mod server_message;
pub mod session;
pub mod startup;
