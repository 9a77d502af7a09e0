//! The server, by a WebSocket client: queries, sessions, readers that do not read, hostile messages.

#![allow(clippy::unwrap_used)]

mod client;
mod databases;
mod hostile;
mod queries;
mod sessions;

use evergraph::Database;
use evergraph_server::options::ServerOptions;
use evergraph_server::server::Server;
use std::sync::Arc;

/// A server of a database in memory.
fn serve(options: ServerOptions) -> (Arc<Database>, Server) {
    let database = Arc::new(Database::in_memory().unwrap());
    let server =
        Server::start(Arc::clone(&database), "social", "127.0.0.1:0".parse().unwrap(), options).unwrap();
    (database, server)
}

/// Adds `count` vertices, numbered from 0.
fn add_points(database: &Database, count: i64) {
    database
        .transact(|tx| (0..count).try_for_each(|at| tx.add_vertex("Point", &[("at", at.into())]).map(drop)))
        .unwrap();
}
