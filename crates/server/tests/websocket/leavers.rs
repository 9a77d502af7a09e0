//! Leavers: a thousand clients that leave in six ways, in the middle of what they do, leave nothing behind.
//!
//! ```text
//! handshake     half of the head of a request
//! frame         half of a message
//! transaction   open, with a write
//! results       a query without an end, of which some results were read
//! batch         twenty requests at once, no answer read
//! reset         a query that runs, and RST in place of a word
//! ```

use crate::support::http_client::Client as HttpClient;
use crate::support::served::{ENDLESS, add_points, eventually, serve};
use crate::support::web_socket_client::{Client, eval, within};
use evergraph::Database;
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::{QueryOptions, Request};
use evergraph_server::options::ServerOptions;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use uuid::Uuid;

const CLIENTS: usize = 1000;
const AT_ONCE: usize = 100;

/// A connection that has become a WebSocket, by hand.
pub async fn upgraded(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "GET /gremlin HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.unwrap());
    }
    assert!(answer.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
    stream
}

/// A binary frame with the request to run `text`, whose mask changes nothing.
fn frame(text: &str) -> Vec<u8> {
    let request = Request { id: Uuid::from_u128(7), operation: eval(text, QueryOptions::default()) };
    let payload = request.to_message(Format::GraphBinary).unwrap();
    let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
    [&[0x82, 0x80 | 126][..], &length, &[0; 4], &payload].concat()
}

/// What is there when they are gone: this client and the observer.
const LEFT: [(&str, &str); 10] = [
    ("connections", "2.0"),
    ("websockets", "1.0"),
    ("sessions", "0.0"),
    ("requests_running{transport=\"websocket\"}", "0.0"),
    ("requests_running{transport=\"http\"}", "0.0"),
    ("scheduler_tasks_ready", "0.0"),
    ("scheduler_tasks_running", "0.0"),
    ("message_bytes", "0.0"),
    ("snapshots{database=\"social\"}", "0.0"),
    ("transactions{database=\"social\"}", "0.0"),
];

/// Comes, and leaves in the way number `at`.
async fn come_and_leave(address: SocketAddr, at: usize) {
    match at % 6 {
        0 => {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(b"GET /gremlin HTTP/1.1\r\nHost: local").await.unwrap();
        }
        1 => {
            let mut stream = upgraded(address).await;
            let length = (1_u64 << 20).to_be_bytes();
            let half = [&[0x82, 0x80 | 127][..], &length, &[0; 4], &[7; 100_000]].concat();
            stream.write_all(&half).await.unwrap();
        }
        2 => {
            let mut client = Client::connect(address).await;
            let session = format!("session {at}");
            assert_eq!(client.ask(eval("g.addV('Left')", within(&session))).await.code, 200);
        }
        3 => {
            let mut client = Client::connect(address).await;
            client.send(Format::GraphBinary, eval("g.V().V().V()", QueryOptions::default())).await;
            assert_eq!(client.response(Format::GraphBinary).await.code, 206);
        }
        4 => {
            let mut stream = upgraded(address).await;
            stream.write_all(&frame("g.V().V()").repeat(20)).await.unwrap();
        }
        _ => {
            let mut stream = upgraded(address).await;
            stream.write_all(&frame(ENDLESS)).await.unwrap();
            stream.set_zero_linger().unwrap();
        }
    }
}

/// Memory that is reserved of the database, by purpose.
fn reserved(database: &Database) -> Vec<(String, u64)> {
    let reserved = database.store().statistics().reservations;
    reserved.iter().map(|(purpose, bytes)| (purpose.to_string(), *bytes)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_clients_that_leave_in_six_ways_leave_nothing_behind() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 200);
    let address = server.address();
    let mut client = Client::connect(address).await;
    assert_eq!(client.eval("g.V().count()").await.number(), 200);
    let before = reserved(&database);
    for first in (0..CLIENTS).step_by(AT_ONCE) {
        let mut leaving = JoinSet::new();
        (first..first + AT_ONCE).for_each(|at| drop(leaving.spawn(come_and_leave(address, at))));
        while let Some(left) = leaving.join_next().await {
            left.unwrap();
        }
    }
    let mut observer = HttpClient::connect(address).await;
    eventually("clients that are gone leave nothing", async || {
        let metrics = observer.ask("GET", "/metrics", "").await;
        let is_left = |(series, expected): &(&str, &str)| {
            let value =
                metrics.text().lines().find_map(|line| line.strip_prefix(&format!("evergraph_{series} ")));
            value.unwrap_or_else(|| panic!("{series}: {}", metrics.text())) == *expected
        };
        LEFT.iter().all(is_left) && reserved(&database) == before
    })
    .await;
    assert_eq!(client.eval("g.V().count()").await.number(), 200, "what was not committed is not there");
    let mut again = Client::connect(address).await;
    assert_eq!(again.eval("g.V().hasLabel('Left').count()").await.number(), 0);
}

/// While a client has as many requests as it may, nothing more of it is read, its end neither.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_with_as_many_requests_as_it_may_have_is_noticed() {
    let (database, server) = serve(ServerOptions::default());
    add_points(&database, 2);
    let address = server.address();
    let mut observer = HttpClient::connect(address).await;
    let mut running = async || {
        let metrics = observer.ask("GET", "/metrics", "").await;
        let series = "evergraph_requests_running{transport=\"websocket\"} ";
        let value = metrics.text().lines().find_map(|line| line.strip_prefix(series));
        value.unwrap_or_else(|| panic!("{}", metrics.text())).to_owned()
    };
    // As many as it may have, and more that are not read.
    for (requests_count, is_reset) in [(256, false), (300, false), (300, true)] {
        let mut stream = upgraded(address).await;
        stream.write_all(&frame(ENDLESS).repeat(requests_count)).await.unwrap();
        eventually("all places are taken", async || running().await == "256.0").await;
        if is_reset {
            stream.set_zero_linger().unwrap();
        }
        drop(stream);
        let what = "a client that leaves is noticed, however many requests it has";
        eventually(what, async || running().await == "0.0").await;
    }
}
