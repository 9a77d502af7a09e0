//! Log-ins: connections that log in, ask once and end, as drivers do for every transaction.
//!
//! The first log-in of a user is verified by argon2id, all further ones by what the server remembers of it.

use crate::plan::{Work, wrong};
use crate::results::Heading;
use crate::workload::server::Bench;
use crate::workload::server::contender::encoded;
use crate::workload::server::exchange::{Carrier, Exchange};
use crate::workload::server::question::{Asked, Question};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::clients;
use evergraph_measure::figure::Unit;
use evergraph_protocol::request::operation::{Operation, Request};
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use tungstenite::Bytes;
use uuid::Uuid;

const USER: &str = "bench";
const PASSWORD: &str = "correct horse battery staple";
/// Clients that log in again and again.
const CLIENTS: usize = 8;
/// The code of the answer that asks for a log-in.
const AUTHENTICATE: i32 = 407;

/// Makes a file of one user, who may read the database `people`.
///
/// # Errors
/// What `evergraph user` says.
fn make_users(program: &Path, users: &Path, database: &str) -> Result<()> {
    let run = |arguments: &[&str]| {
        let failed = |error: &dyn std::fmt::Display| {
            Error::new(ErrorKind::Io, format!("evergraph user {}: {error}", arguments.join(" ")))
        };
        let mut command = Command::new(program);
        command.args(["--quiet", "user", arguments[0]]).arg(users).args(&arguments[1..]);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| failed(&error))?;
        if let Some(mut input) = child.stdin.take() {
            // Who does not read it needs no password.
            let _ = writeln!(input, "{PASSWORD}");
        }
        let output = child.wait_with_output().map_err(|error| failed(&error))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(failed(&String::from_utf8_lossy(&output.stderr))),
        }
    };
    run(&["add", USER])?;
    run(&["grant", USER, database, "reader"])
}

/// Measures log-ins a second.
///
/// # Errors
/// `corrupt` if one is refused.
pub fn measure(work: &mut Work<'_>, bench: &Bench<'_>) -> Result<()> {
    let users = bench.folder.join("users.json");
    make_users(bench.program, &users, "logins")?;
    let server = bench.serve("logins", &["--users", &users.to_string_lossy()])?;
    let question = Asked { question: Question::ByIndex, of: 0, to: 0 };
    let id = Uuid::from_u128(1);
    let bytecode = question.question.bytecode(&[("n", i64::from(bench.people.asked[0]).into())])?;
    let query =
        encoded(&Request { id, operation: Operation::Bytecode { bytecode, options: Default::default() } })?;
    let sasl = format!("\0{USER}\0{PASSWORD}").into_bytes();
    let operation = Operation::Authentication { sasl, mechanism: None };
    let login = encoded(&Request { id, operation })?;
    let began = Instant::now();
    log_in(server.address, &query, &login)?;
    let first = began.elapsed().as_secs_f64();
    let mut rates = Vec::new();
    for _ in 0..bench.plan.rounds {
        let mut all = [(); CLIENTS];
        let step = |(): &mut ()| log_in(server.address, &query, &login).map(|()| 1);
        rates.push(clients::run(&mut all, bench.plan.run_time, step)?.rate());
    }
    let title = format!("log-ins, {CLIENTS} clients, each a connection, a look-up and its end");
    work.add(&Heading::new("server.logins", title, Unit::PerSecond), &rates);
    work.add(
        &Heading::new("server.first_login", "the first log-in of a user, by argon2id", Unit::Seconds),
        &[first],
    );
    Ok(())
}

fn log_in(address: SocketAddr, query: &Bytes, login: &Bytes) -> Result<()> {
    let mut exchange = Exchange::connect(address, Carrier::WebSocket)?;
    for (request, expected) in [(query, AUTHENTICATE), (login, 200)] {
        let (code, _) = exchange.ask(request)?;
        if code != expected {
            return Err(wrong("evergraph", "the code of a log-in", code, expected));
        }
    }
    Ok(())
}
