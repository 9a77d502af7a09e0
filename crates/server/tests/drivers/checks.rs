//! Checks: values, queries, transactions, errors, clients that leave and a restart of the server, by each driver.

use crate::program;
use crate::support::installed_driver::Driver;
use evergraph::Database;
use evergraph_graph::value::{Value, ValueType};
use evergraph_server::options::ServerOptions;
use evergraph_server::server::Server;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn gremlinpython_queries_writes_and_meets_errors_as_with_any_server() {
    run_checks(Driver::Python);
}

#[test]
fn gremlin_javascript_queries_writes_and_meets_errors_as_with_any_server() {
    run_checks(Driver::JavaScript);
}

#[test]
fn gremlin_driver_of_java_queries_writes_and_meets_errors_as_with_any_server() {
    run_checks(Driver::Java);
}

#[test]
fn gremlin_go_queries_writes_and_meets_errors_as_with_any_server() {
    run_checks(Driver::Go);
}

/// Runs the checks of a driver beside a server, which they may restart, and wait for.
fn run_checks(driver: Driver) {
    let folder = tempfile::tempdir().unwrap();
    let database = Arc::new(Database::open(folder.path().join("social.eg")).unwrap());
    let start =
        |address| Server::start(Arc::clone(&database), "social", address, ServerOptions::default()).unwrap();
    let mut server = Some(start("127.0.0.1:0".parse().unwrap()));
    let address = server.as_ref().unwrap().address();
    program::run(driver, &[&format!("ws://{address}/gremlin")], |line| {
        match line {
            "restart" => {
                server.take().unwrap().stop();
                server = Some(start(address));
            }
            "sample" => add_sample(&database),
            "idle" => wait_until_idle(server.as_ref().unwrap(), &database),
            _ => return None,
        }
        Some("done".to_owned())
    });
    server.unwrap().stop();
    database.close().unwrap();
}

/// Adds a vertex with values that Gremlin has no literals for.
fn add_sample(database: &Database) {
    let parse = |text, of| Value::parse(text, of).unwrap();
    let values =
        [("date", parse("2024-02-03", ValueType::Date)), ("period", parse("P1M3D", ValueType::Duration))];
    database.transact(|tx| tx.add_vertex("Sample", &values).map(drop)).unwrap();
}

/// Waits until no request is running and no transaction is open.
fn wait_until_idle(server: &Server, database: &Database) {
    let began = Instant::now();
    while server.requests_count() > 0 || database.store().statistics().writers > 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "a request or a transaction outlives its client");
        thread::sleep(Duration::from_millis(10));
    }
}
