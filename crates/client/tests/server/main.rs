//! The client, with the server in one process, with proxies that lose connections, and with hostile servers.

#![allow(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod admin;
mod algorithms;
#[allow(dead_code, reason = "the tests of the server use the rest")]
#[path = "../../../server/tests/support/certificates.rs"]
mod certificates;
mod health;
mod hostile;
mod jobs;
mod lost_connections;
mod over_tls;
mod queries;
mod script;
mod secured;
mod site;
mod transactions;

use evergraph::Database;
use evergraph_client::client::Client;
use evergraph_client::options::ClientOptions;
use evergraph_client::query::Query;
use evergraph_client::url::ServerUrl;
use evergraph_graph::error::Result;
use evergraph_protocol::result::result_value::ResultValue;
use evergraph_server::options::ServerOptions;
use evergraph_server::server::Server;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How long something may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of a database in memory, which is called `social`.
fn serve(options: ServerOptions) -> (Arc<Database>, Server) {
    let database = Arc::new(Database::in_memory().unwrap());
    let server =
        Server::start(Arc::clone(&database), "social", "127.0.0.1:0".parse().unwrap(), options).unwrap();
    (database, server)
}

fn url(address: SocketAddr, database: &str) -> ServerUrl {
    format!("ws://{address}/{database}").parse().unwrap()
}

fn connect(server: &Server) -> Client {
    Client::connect(&url(server.address(), "social"), ClientOptions::default()).unwrap()
}

/// Adds `count` vertices, numbered from 0.
fn add_points(database: &Database, count: i64) {
    database
        .transact(|tx| (0..count).try_for_each(|at| tx.add_vertex("Point", &[("at", at.into())]).map(drop)))
        .unwrap();
}

fn all(client: &Client, text: &str) -> Result<Vec<ResultValue>> {
    client.query(&Query::text(text))?.collect()
}

fn number(client: &Client, text: &str) -> i64 {
    number_of(&all(client, text).unwrap())
}

fn number_of(results: &[ResultValue]) -> i64 {
    match results {
        [ResultValue::Value(value)] => value.as_i64().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Waits until `is_so`.
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}
