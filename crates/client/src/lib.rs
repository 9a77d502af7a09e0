//! Client of an Evergraph server: queries and transactions over WebSocket, on the threads that call it. The program and the
//! Python package use it; it has no threads of its own, and needs no asynchronous runtime.
//!
//! ```text
//! Client ──> Pool ──> Connection ──> WebSocket ──> Stream ──> server
//!   │                  log-in        limits of     TCP, TLS, waits that end
//!   │                                messages
//!   ├──> Results       frames as they come
//!   ├──> Transaction   a session; commit, rollback; retried after conflicts
//!   ├──> algorithms by HTTP, as Arrow tables
//!   └──> Admin ──> HTTP ──> Stream       databases, schema, indexes, statistics, plans, queries, users
//! ```
//!
//! A server may be hostile: sizes and depth of messages, and the time that it may take, are limited.
//!
//! ```no_run
//! use evergraph_client::client::Client;
//! use evergraph_client::options::ClientOptions;
//! use evergraph_client::query::Query;
//! use evergraph_graph::cancel::CancelFlag;
//! use evergraph_graph::transaction::TransactionOptions;
//!
//! let client = Client::connect(&"ws://localhost/social".parse()?, ClientOptions::default())?;
//! let mut results = client.query(&Query::text("g.V().has('name', name).out()").bind("name", "Ada"))?;
//! while let Some(result) = results.next_result()? {
//!     println!("{:?}, {} times", result.value, result.bulk);
//! }
//! client.transact(TransactionOptions::default(), &CancelFlag::default(), |tx| {
//!     tx.query(&Query::text("g.addV('Person').property('name', 'Mary')"))?.collect()
//! })?;
//! # Ok::<(), evergraph_graph::error::Error>(())
//! ```

pub mod admin;
pub mod algorithm;
pub mod algorithm_answer;
pub mod arrow_stream;
pub mod client;
pub(crate) mod connection;
pub(crate) mod credentials;
pub(crate) mod destination;
pub mod health;
pub(crate) mod http;
pub mod interrupt;
pub mod options;
pub mod password;
pub(crate) mod pool;
pub mod query;
pub mod results;
pub mod server_answer;
pub(crate) mod stream;
pub(crate) mod tls;
pub mod transaction;
pub mod url;
pub(crate) mod wait_limit;
pub(crate) mod web_socket;
