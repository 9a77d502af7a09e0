//! Checks: values, queries, transactions, errors, clients that leave and a restart of the server, by each driver.

use crate::program;
use crate::support::installed_driver::Driver;
use evergraph::Database;
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
    program::run(driver, folder.path(), &[&format!("ws://{address}/gremlin")], |line| {
        match line {
            "restart" => {
                server.take().unwrap().stop();
                server = Some(start(address));
            }
            "idle" => wait_until_idle(server.as_ref().unwrap(), &database),
            _ => return None,
        }
        Some("done".to_owned())
    });
    server.unwrap().stop();
    database.close().unwrap();
}

/// Waits until no request is running and no transaction is open.
fn wait_until_idle(server: &Server, database: &Database) {
    let began = Instant::now();
    while server.requests_count() > 0 || database.store().statistics().writers > 0 {
        assert!(began.elapsed() < Duration::from_secs(30), "a request or a transaction outlives its client");
        thread::sleep(Duration::from_millis(10));
    }
}
