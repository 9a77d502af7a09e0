//! Drivers: those of Apache TinkerPop for four languages, unmodified, against the server.
//!
//! ```text
//! a check program ──"restart"──> the test ──stop, start──> the server
//!                 <──a line─────
//! ```
//!
//! Each language has one check program, which queries the server as its users do and prints how many checks passed.

#![allow(clippy::unwrap_used)]

mod installed;

use evergraph::Database;
use evergraph_server::options::ServerOptions;
use evergraph_server::server::Server;
use installed::Driver;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long the checks of a driver may take; they take seconds.
const CHECKS_TIME: Duration = Duration::from_secs(300);

#[test]
fn gremlinpython_queries_writes_and_meets_errors_as_with_any_server() {
    run_checks(Driver::Python, "python_checks.py");
}

#[test]
fn gremlin_javascript_queries_writes_and_meets_errors_as_with_any_server() {
    run_checks(Driver::JavaScript, "javascript/checks.js");
}

#[test]
fn gremlin_driver_of_java_queries_writes_and_meets_errors_as_with_any_server() {
    run_checks(Driver::Java, "java/DriverChecks.java");
}

#[test]
fn gremlin_go_queries_writes_and_meets_errors_as_with_any_server() {
    run_checks(Driver::Go, "go/checks.go");
}

/// Runs a check program beside a server, which it may restart; skipped if the driver is not installed.
fn run_checks(driver: Driver, program: &str) {
    let Some(mut command) =
        driver.command(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers").join(program))
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let database = Arc::new(Database::open(folder.path().join("social.eg")).unwrap());
    let start =
        |address| Server::start(Arc::clone(&database), "social", address, ServerOptions::default()).unwrap();
    let mut server = start("127.0.0.1:0".parse().unwrap());
    command.arg(format!("ws://{}/gremlin", server.address()));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("run {command:?}: {error}"));
    let mut input = child.stdin.take().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut errors = child.stderr.take().unwrap();
    let errors = thread::spawn(move || {
        let mut bytes = Vec::new();
        errors.read_to_end(&mut bytes).map(|_| String::from_utf8_lossy(&bytes).into_owned()).unwrap()
    });
    let (sender, receiver) = channel();
    let reader = thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
    let end = Instant::now() + CHECKS_TIME;
    let mut out = Vec::new();
    loop {
        match receiver.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) if line == "restart" => {
                let address = server.address();
                server.stop();
                server = start(address);
                writeln!(input, "restarted").unwrap();
            }
            Ok(line) => out.push(line),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                child.kill().unwrap();
                out.push(format!("not done after {CHECKS_TIME:?}"));
                break;
            }
        }
    }
    let status = child.wait().unwrap();
    let (out, errors) = (out.join("\n"), errors.join().unwrap());
    assert!(status.success() && out.ends_with(" passed"), "{status}\n{out}\n{errors}");
    println!("{out}");
    let _ = reader.join();
    server.stop();
    database.close().unwrap();
}
