//! Connections: kept alive, pipelined, idle, slow, and refused.

use crate::support::http_client::{ANSWER_TIME, Client, Ended, raw, raw_until, read_all};
use crate::support::served::{ENDLESS, add_points, eventually, serve};
use evergraph_server::options::ServerOptions;
use serde_json::json;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

const SECOND: Duration = Duration::from_secs(1);

fn post(body: &str) -> String {
    format!("POST /gremlin HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn a_connection_is_kept_alive_beyond_the_time_for_a_head() {
    let mut options = ServerOptions::default();
    options.handshake_time_max = 2 * SECOND;
    let (_database, server) = serve(options);
    let mut client = Client::connect(server.address()).await;
    assert_eq!(client.query("g.inject(7)").await.number(), 7);
    tokio::time::sleep(3 * SECOND).await;
    for _ in 0..100 {
        assert_eq!(client.query("g.inject(7)").await.number(), 7);
    }
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let (_database, server) = serve(ServerOptions::default());
    let bytes: String =
        (0..200).map(|at| post(&format!("{{\"gremlin\": \"g.inject('<{at}>')\"}}"))).collect();
    let are_all = |answers: &str| answers.matches('>').count() == 200;
    let (answers, ended) = raw_until(server.address(), bytes.as_bytes(), are_all).await;
    let found: Vec<&str> = answers.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()).collect();
    let expected: Vec<String> = (0..200).map(|at| at.to_string()).collect();
    assert_eq!((found, ended), (expected.iter().map(String::as_str).collect(), Ended::NotYet));
}

#[tokio::test]
async fn an_idle_connection_is_ended_and_one_whose_query_runs_is_not() {
    let mut options = ServerOptions::default();
    options.http_idle_max = Duration::from_secs(1);
    let (database, server) = serve(options);
    add_points(&database, 1);
    let mut busy = Client::connect(server.address()).await;
    let running =
        tokio::spawn(async move { busy.post(&json!({"gremlin": ENDLESS, "evaluationTimeout": 3000})).await });
    let (answer, ended) =
        raw(server.address(), post("{\"gremlin\": \"g.V()\"}").as_bytes(), ANSWER_TIME).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(ended, Ended::ByServer, "an idle connection is ended");
    assert_eq!(running.await.unwrap().code(), 598);
}

#[tokio::test]
async fn slow_heads_and_slow_bodies_end_in_time() {
    let mut options = ServerOptions::default();
    options.handshake_time_max = Duration::from_millis(700);
    options.body_time_max = Duration::from_millis(700);
    let (_database, server) = serve(options);
    let first = b"GET /gremlin HTTP/1.1\r\nHost: localhost\r\nX: ";
    let later = [post("{\"gremlin\": \"g.V()\"}").as_bytes(), first].concat();
    for head in [&first[..], &later] {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        stream.write_all(head).await.unwrap();
        let ended = tokio::time::timeout(ANSWER_TIME, async {
            // One byte at a time does not help.
            while stream.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        assert!(ended.await.is_ok(), "a slow head is ended");
    }
    let slow = b"POST /gremlin HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"gremlin\"";
    let (answer, ended) = raw(server.address(), slow, ANSWER_TIME).await;
    assert!(answer.starts_with("HTTP/1.1 408") && ended == Ended::ByServer, "{answer}");
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answer_is_disconnected() {
    let mut options = ServerOptions::default();
    options.query_timeout = 3 * SECOND;
    options.http_idle_max = 3 * SECOND;
    let (database, server) = serve(options);
    add_points(&database, 2000);
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let query = post("{\"gremlin\": \"g.V().as('a').V().as('b').select('a')\"}");
    stream.write_all(query.as_bytes()).await.unwrap();
    eventually("the query begins", async || server.requests_count() == 1).await;
    eventually("its place is free again", async || server.open_connections_count() == 0).await;
    let (_, ended) = read_all(&mut stream, ANSWER_TIME).await;
    assert_eq!(ended, Ended::ByServer);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_thousand_idle_connections_are_kept_and_delay_nobody() {
    let (_database, server) = serve(ServerOptions::default());
    let mut idle = Vec::new();
    for _ in 0..1000 {
        let mut client = Client::connect(server.address()).await;
        assert_eq!(client.ask("GET", "/healthz", "").await.status, 200);
        idle.push(client);
    }
    assert_eq!(server.open_connections_count(), 1000);
    let mut client = Client::connect(server.address()).await;
    let mut fastest = Duration::MAX;
    for _ in 0..10 {
        let began = std::time::Instant::now();
        assert_eq!(client.query("g.inject(1)").await.number(), 1);
        fastest = fastest.min(began.elapsed());
    }
    assert!(fastest < SECOND, "{fastest:?}");
    // Of some of them this is shown by a query.
    for (at, client) in idle.iter_mut().enumerate() {
        match at % 10 {
            0 => assert_eq!(client.query("g.inject(2)").await.number(), 2),
            _ => assert_eq!(client.ask("GET", "/healthz", "").await.status, 200),
        }
    }
    drop(idle);
    eventually("their places are free", async || server.open_connections_count() == 1).await;
}

#[tokio::test]
async fn connections_by_http_count_like_others() {
    let mut options = ServerOptions::default();
    options.connections_max = 3;
    let (_database, server) = serve(options);
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = Client::connect(server.address()).await;
        assert_eq!(client.query("g.inject(1)").await.number(), 1);
        clients.push(client);
    }
    let (answer, ended) =
        raw(server.address(), b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", ANSWER_TIME).await;
    assert_eq!((&*answer, ended), ("", Ended::ByServer));
    clients.pop();
    eventually("a place is free again", async || server.open_connections_count() == 2).await;
    let mut client = Client::connect(server.address()).await;
    assert_eq!(client.ask("GET", "/healthz", "").await.text(), "ok\n");
}
