//! Server: Gremlin Server's protocol over WebSocket and HTTP, for databases: on this machine, or beyond it to users by TLS.
//!
//! ```text
//! network threads (tokio)                           workers (std)
//! websocket ──> connection ─┬── request_task ──> scheduler ──> results of evergraph::gremlin
//! http ───────> exchange ───┘                        │
//!   ^                                                │
//!   └──────────── outbox, bounded <── answer ────────┘
//! ```
//!
//! Queries run on workers, never on network threads. A query that waits, for its client to read or for the disk, owns
//! no thread; one that runs gives its thread back after a slice of time. So clients that do not read hold nothing but
//! memory, within bounds, and a heavy query delays others by slices.
//!
//! ```
//! use evergraph::Database;
//! use evergraph_server::options::ServerOptions;
//! use evergraph_server::server::Server;
//! use std::sync::Arc;
//!
//! let db = Arc::new(Database::in_memory()?);
//! let server = Server::start(db, "social", "127.0.0.1:0".parse().expect("it is one"), ServerOptions::default())?;
//! println!("ws://{}/gremlin", server.address());
//! server.stop();
//! # Ok::<(), evergraph::Error>(())
//! ```
//!
//! Source: TinkerPop 3.8, "Provider Documentation", Graph Driver Provider Requirements. Differs: no scripts, no lambdas.

pub mod algorithm;
pub mod answer;
mod answer_stream;
pub mod blocking;
pub mod client;
pub mod client_socket;
pub mod connection;
mod connection_login;
pub mod databases;
mod disk_error;
pub mod end_reason;
pub mod exchange;
pub mod failure;
pub mod http;
pub mod jobs;
mod listener;
pub mod log;
pub mod message_meter;
pub mod metric_samples;
pub mod metrics;
pub mod metrics_listener;
pub mod options;
pub mod outbox;
mod pending_request;
pub mod query_registry;
pub mod random_id;
mod request_content;
pub mod request_context;
pub mod request_log;
pub mod request_task;
mod result_chunk;
pub mod scheduler;
pub mod security;
pub mod server;
pub mod server_core;
pub mod server_phase;
pub mod session;
pub mod session_owners;
pub mod shared;
pub mod spool;
pub mod turns;
pub mod websocket;
