//! Served: a server of a database in memory without users, what it holds, and waiting for it.

use evergraph::Database;
use evergraph_server::options::ServerOptions;
use evergraph_server::server::Server;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A query without an end, if there is a vertex.
pub const ENDLESS: &str = "g.V().repeat(__.identity()).until(__.hasLabel('Nowhere'))";

/// Options of a server whose queries and clients may take as long as a busy machine takes for them.
pub fn patient() -> ServerOptions {
    let mut options = ServerOptions::default();
    let time = Duration::from_secs(600);
    // Whoever connects before others are asked sends nothing for a while.
    (options.query_timeout, options.http_idle_max, options.handshake_time_max) = (time, time, time);
    options
}

/// A server of a database in memory, which is called `social`.
pub fn serve(options: ServerOptions) -> (Arc<Database>, Server) {
    let database = Arc::new(Database::in_memory().unwrap());
    let server =
        Server::start(Arc::clone(&database), "social", "127.0.0.1:0".parse().unwrap(), options).unwrap();
    (database, server)
}

/// Adds `count` vertices, numbered from 0.
pub fn add_points(database: &Database, count: i64) {
    database
        .transact(|tx| (0..count).try_for_each(|at| tx.add_vertex("Point", &[("at", at.into())]).map(drop)))
        .unwrap();
}

/// Waits until `is_so`.
pub async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
