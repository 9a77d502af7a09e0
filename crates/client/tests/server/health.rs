//! Health: of a server, of one that is not ready, and of what is no server.

use crate::certificates::{Root, Validity};
use crate::script::serve_script;
use crate::{PATIENCE, serve};
use evergraph::Database;
use evergraph_client::client::Client;
use evergraph_client::health::Health;
use evergraph_client::options::ClientOptions;
use evergraph_client::url::ServerUrl;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_server::options::ServerOptions;
use evergraph_server::security::options::SecurityOptions;
use evergraph_server::security::tls::TlsFiles;
use evergraph_server::server::Server;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn health(url: &ServerUrl) -> Result<Health> {
    let client = Client::new(url, ClientOptions::default()).unwrap();
    client.health(PATIENCE, &CancelFlag::default())
}

/// A server that answers each path as `answer` says.
fn answering(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> ServerUrl {
    serve_script(move |mut stream| {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        let path = head.split(' ').nth(1).unwrap_or_default();
        let _ = stream.write_all(answer(path).as_bytes());
    })
}

fn page(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

#[test]
fn a_server_that_serves_is_healthy() {
    let (_, server) = serve(ServerOptions::default());
    let found = health(&format!("http://{}", server.address()).parse().unwrap()).unwrap();
    assert!(matches!(found, Health::Ready | Health::Alive), "{found:?}");
}

#[test]
fn a_server_with_tls_is_healthy() {
    let root = Root::new("root");
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = root.sign(&["127.0.0.1"], Validity::Now).write(folder.path());
    let mut security = SecurityOptions::default();
    security.tls = Some(TlsFiles { certificate, key, client_certificates: None });
    let database = Arc::new(Database::in_memory().unwrap());
    let address = "127.0.0.1:0".parse().unwrap();
    let server =
        Server::start_secured(database, "social", address, ServerOptions::default(), &security).unwrap();
    let mut options = ClientOptions::default();
    options.tls.root = Some(folder.path().join("root.pem"));
    std::fs::write(folder.path().join("root.pem"), root.pem()).unwrap();
    let url = format!("https://{}", server.address()).parse().unwrap();
    let client = Client::new(&url, options).unwrap();
    assert!(client.health(PATIENCE, &CancelFlag::default()).is_ok());
}

#[test]
fn what_a_server_says_of_itself_is_told() {
    let ready = answering(|_| page("200 OK", "ok\n"));
    assert_eq!(health(&ready).unwrap(), Health::Ready);
    let full = answering(|path| match path {
        "/healthz" => page("200 OK", "ok\n"),
        _ => page("200 OK", "ready\ndegraded: a disk is\x1bfull\n"),
    });
    assert_eq!(health(&full).unwrap(), Health::Degraded("a disk is full".to_owned()));
    let starting = answering(|path| match path {
        "/healthz" => page("200 OK", "ok\n"),
        _ => page("503 Service Unavailable", "start\x1bing\nmore"),
    });
    assert_eq!(health(&starting).unwrap(), Health::NotReady("start ing".to_owned()));
    let older = answering(|path| match path {
        "/healthz" => page("200 OK", "ok\n"),
        _ => page("404 Not Found", ""),
    });
    assert_eq!(health(&older).unwrap(), Health::Alive);
}

#[test]
fn what_is_no_server_is_an_error_in_time() {
    let stranger = answering(|_| page("404 Not Found", "nginx"));
    assert!(health(&stranger).unwrap_err().to_string().contains("nginx"));
    let endless =
        answering(|_| "HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n".to_owned() + &"a".repeat(1 << 20));
    assert_eq!(health(&endless).unwrap_err().kind(), ErrorKind::Limit);
    let began = Instant::now();
    let silent = serve_script(|mut stream| while let Ok(1..) = stream.read(&mut [0; 100]) {});
    let silent = Client::new(&silent, ClientOptions::default()).unwrap();
    let silent = silent.health(Duration::from_secs(3), &CancelFlag::default()).unwrap_err();
    assert_eq!(silent.kind(), ErrorKind::Limit);
    assert!(began.elapsed() < PATIENCE);
    let garbage = serve_script(|mut stream| drop(stream.write_all(b"\x00\x01garbage\r\n\r\n")));
    assert!(health(&garbage).is_err());
    let nobody = health(&"http://127.0.0.1:9".parse().unwrap()).unwrap_err();
    assert_eq!(nobody.kind(), ErrorKind::Io);
}
