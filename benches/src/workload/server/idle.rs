//! Idle: memory of connections that asked once and send nothing more, and the time from the start to readiness.

use crate::plan::{Work, wrong};
use crate::results::Heading;
use crate::workload::server::Bench;
use crate::workload::server::contender::encoded;
use crate::workload::server::exchange::{Carrier, Exchange, upgrade};
use crate::workload::server::process::{Serve, ServerProcess};
use crate::workload::server::question::Question;
use evergraph::Database;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_measure::figure::Unit;
use evergraph_protocol::request::operation::{Operation, Request};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tungstenite::{Bytes, Message, WebSocket};
use uuid::Uuid;

/// After this a server has freed what it needed for requests.
const SETTLE_TIME: Duration = Duration::from_millis(500);

/// Measures memory of idle connections, plain and with TLS.
///
/// # Errors
/// `corrupt` if one is not answered.
pub fn measure(work: &mut Work<'_>, bench: &Bench<'_>) -> Result<()> {
    let bytecode = Question::ByIndex.bytecode(&[("n", i64::from(bench.people.asked[0]).into())])?;
    let operation = Operation::Bytecode { bytecode, options: Default::default() };
    let query = encoded(&Request { id: Uuid::from_u128(1), operation })?;
    let count = bench.plan.idle_connections;

    let server = bench.serve("idle-plain", &[])?;
    let address = server.address;
    let plain = memory_a_connection(&server, count, || {
        let mut exchange = Exchange::connect(address, Carrier::WebSocket)?;
        let (code, _) = exchange.ask(&query)?;
        if code == 200 { Ok(exchange) } else { Err(wrong("evergraph", "a code", code, 200)) }
    })?;
    drop(server);

    let (files, roots) = certificate(bench)?;
    let options = ["--tls-certificate", &files[0], "--tls-key", &files[1]];
    let server = bench.serve("idle-tls", &options)?;
    let address = server.address;
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder =
        builder.with_safe_default_protocol_versions().map_err(|error| failed("set up TLS", &error))?;
    let config = Arc::new(builder.with_root_certificates(roots).with_no_client_auth());
    let tls = memory_a_connection(&server, count, || {
        let stream = TcpStream::connect(address).map_err(|error| failed("connect", &error))?;
        let name = ServerName::try_from("localhost").map_err(|error| failed("name the server", &error))?;
        let connection =
            ClientConnection::new(Arc::clone(&config), name).map_err(|error| failed("begin TLS", &error))?;
        let mut socket = upgrade(StreamOwned::new(connection, stream), address)?;
        ask(&mut socket, &query)?;
        Ok(socket)
    })?;
    for (name, title, bytes) in [("plain", "without TLS", plain), ("tls", "with TLS", tls)] {
        let title = format!("memory of an idle connection {title}, of {count}");
        work.add(&Heading::new(format!("server.idle.{name}"), title, Unit::Bytes), &[bytes]);
    }
    work.note("an idle connection is a WebSocket that asked once: the server's resident memory with all of them, less that without, by their number");
    Ok(())
}

fn ask<S: Read + Write>(socket: &mut WebSocket<S>, query: &Bytes) -> Result<()> {
    socket.send(Message::Binary(query.clone())).map_err(|error| failed("ask", &error))?;
    match socket.read() {
        Ok(Message::Binary(_)) => Ok(()),
        other => Err(wrong("evergraph", "a message", other, "an answer")),
    }
}

/// Bytes that a server needs more for each of `count` connections that `open` opens.
fn memory_a_connection<C>(server: &ServerProcess, count: usize, open: impl Fn() -> Result<C>) -> Result<f64> {
    // What every server needs once is there before.
    drop(open()?);
    thread::sleep(SETTLE_TIME);
    let before = server.memory_bytes();
    let all = (0..count).map(|_| open()).collect::<Result<Vec<C>>>()?;
    thread::sleep(SETTLE_TIME);
    let after = server.memory_bytes();
    drop(all);
    Ok(after.saturating_sub(before) as f64 / count as f64)
}

/// A certificate for this machine with its key, in files; and as a root.
fn certificate(bench: &Bench<'_>) -> Result<([String; 2], RootCertStore)> {
    let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(names).map_err(|error| failed("make a certificate", &error))?;
    let files = ["cert.pem", "key.pem"].map(|name| bench.folder.join(name));
    for (path, text) in files.iter().zip([cert.pem(), signing_key.serialize_pem()]) {
        fs::write(path, text).map_err(|error| failed("write a certificate", &error))?;
        let only_owner = fs::Permissions::from_mode(0o600);
        fs::set_permissions(path, only_owner).map_err(|error| failed("write a certificate", &error))?;
    }
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).map_err(|error| failed("trust a certificate", &error))?;
    Ok((files.map(|path| path.to_string_lossy().into_owned()), roots))
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Io, format!("{what}: {error}"))
}

/// Measures the time from the start of the program until it is ready, less that of opening the database.
///
/// # Errors
/// `io` if it does not start.
pub fn measure_start(work: &mut Work<'_>, bench: &Bench<'_>) -> Result<()> {
    let database = bench.copy("start")?;
    let (mut beyond, mut opening) = (Vec::new(), Vec::new());
    for _ in 0..bench.plan.rounds {
        let began = Instant::now();
        let opened = Database::open(&database)?;
        let seconds = began.elapsed().as_secs_f64();
        opened.close()?;
        let serve = Serve { program: bench.program, database: &database, options: &[] };
        let (_server, ready) = serve.start()?;
        opening.push(seconds);
        beyond.push(ready.as_secs_f64() - seconds);
    }
    let title = "from the start of the program to readiness, less opening";
    work.add(&Heading::new("server.start", title, Unit::Seconds), &beyond);
    work.add(&Heading::new("server.opening", "opening the same database, embedded", Unit::Seconds), &opening);
    Ok(())
}
