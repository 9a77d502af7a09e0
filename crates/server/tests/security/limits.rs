//! Limits: connections, also those that never become one, requests of a user, idle clients.

use crate::support::secured_site::{PASSWORD, SecuredSite};
use crate::support::served::eventually;
use crate::support::web_socket_client::{Client, eval};
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::QueryOptions;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

fn count() -> evergraph_protocol::request::operation::Operation {
    eval("g.V().count()", QueryOptions::default())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn slow_senders_end_in_time_and_are_counted_as_connections() {
    let mut site = SecuredSite::new();
    site.security.users = None;
    site.options.connections_max = 8;
    site.options.handshake_time_max = Duration::from_secs(3);
    let server = site.serve();
    let mut slow = Vec::new();
    for _ in 0..8 {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        stream.write_all(b"GET /gremlin HTTP/1.1\r\nHost: localhost\r\n").await.unwrap();
        slow.push(stream);
    }
    eventually("all places are taken", async || Client::try_connect(server.address()).await.is_err()).await;
    for stream in &mut slow {
        let mut rest = Vec::new();
        let ended = tokio::time::timeout(Duration::from_secs(60), async {
            // One byte at a time does not help.
            while stream.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            let _ = stream.read_to_end(&mut rest).await;
        });
        assert!(ended.await.is_ok(), "a slow sender is ended");
    }
    let mut client = Client::connect(server.address()).await;
    assert_eq!(client.eval("g.V().count()").await.number(), 0);
}

#[tokio::test]
async fn of_one_address_only_some_may_connect_without_logging_in() {
    let mut site = SecuredSite::new();
    site.options.connections_max = 16;
    let server = site.serve();
    let mut strangers = Vec::new();
    for _ in 0..4 {
        strangers.push(Client::connect(server.address()).await);
    }
    assert!(Client::try_connect(server.address()).await.is_err());
    for stranger in &mut strangers {
        assert_eq!(stranger.ask_as("reader", PASSWORD, count()).await.code, 200);
    }
    let mut next = Client::connect(server.address()).await;
    assert_eq!(
        next.ask_as("reader", PASSWORD, count()).await.code,
        200,
        "those who logged in count no longer"
    );
}

#[tokio::test]
async fn a_user_has_so_many_connections_and_requests_at_once() {
    let mut site = SecuredSite::new();
    site.options.user_connections_max = 2;
    site.options.user_requests_max = 3;
    let server = site.serve();
    let mut first = Client::connect(server.address()).await;
    let mut second = Client::connect(server.address()).await;
    for client in [&mut first, &mut second] {
        assert_eq!(client.ask_as("reader", PASSWORD, count()).await.code, 200);
    }
    let mut third = Client::connect(server.address()).await;
    let refused = third.ask_as("reader", PASSWORD, count()).await;
    assert_eq!(refused.code, 401, "a user has so many connections at once");
    assert!(refused.message.contains("2 connections"), "{}", refused.message);
    assert_eq!(third.ask_as("writer", PASSWORD, count()).await.code, 200, "another user");
    let endless = "g.V().repeat(__.identity()).until(__.hasLabel('Nowhere'))";
    site.database.gremlin("g.addV('Point')").run().unwrap();
    // Those that arrive while another one is being answered are refused as well, so more are sent until three run.
    eventually("the fourth request is refused", async || {
        first.send(Format::GraphBinary, eval(endless, QueryOptions::default())).await;
        second.ask(count()).await.code == 596
    })
    .await;
    drop(first);
    eventually("they are given back", async || second.ask(count()).await.code == 200).await;
    let mut again = Client::connect(server.address()).await;
    eventually("a place is free", async || again.ask_as("reader", PASSWORD, count()).await.code == 200).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_read_an_answer_may_ask_again_at_once() {
    let mut site = SecuredSite::new();
    site.options.user_requests_max = 1;
    let server = site.serve();
    let mut client = Client::connect(server.address()).await;
    assert_eq!(client.ask_as("reader", PASSWORD, count()).await.code, 200);
    for asked in 0..800 {
        let answer = client.ask(count()).await;
        assert_eq!(answer.code, 200, "request {asked}: {}", answer.message);
    }
}

#[tokio::test]
async fn idle_clients_are_disconnected_and_those_whose_query_runs_are_not() {
    let mut site = SecuredSite::new();
    site.options.login_idle_max = Duration::from_secs(2);
    site.options.idle_max = Duration::from_millis(2500);
    let server = site.serve();
    site.database.gremlin("g.addV('Point')").run().unwrap();
    let mut busy = Client::connect(server.address()).await;
    let timeout = QueryOptions { evaluation_timeout_ms: Some(6000), ..QueryOptions::default() };
    let endless = eval("g.V().repeat(__.identity()).until(__.hasLabel('Nowhere'))", timeout);
    assert_eq!(busy.ask_as("reader", PASSWORD, count()).await.code, 200);
    let id = busy.send(Format::GraphBinary, endless).await;
    let mut idle = Client::connect(server.address()).await;
    assert_eq!(idle.ask_as("reader", PASSWORD, count()).await.code, 200);
    let mut stranger = Client::connect(server.address()).await;
    let mut asked = Client::connect(server.address()).await;
    asked.send(Format::GraphBinary, count()).await;
    assert_eq!(asked.response(Format::GraphBinary).await.code, 407);
    // Pings are no log-in, nor are further requests.
    let talking = async {
        loop {
            asked.try_send_message(Message::Ping(b"here"[..].into())).await;
            match tokio::time::timeout(Duration::from_millis(100), asked.message()).await {
                Ok(None | Some(Message::Close(_))) => return,
                _ => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(60), talking).await;
    assert!(ended.is_ok(), "who is asked to log in has so much time, whatever is sent meanwhile");
    for client in [&mut stranger, &mut idle] {
        let ended = tokio::time::timeout(Duration::from_secs(60), client.message()).await;
        assert!(matches!(ended, Ok(Some(Message::Close(_)))), "an idle client is disconnected");
    }
    assert_eq!(busy.answer(Format::GraphBinary, id).await.code, 598);
}
