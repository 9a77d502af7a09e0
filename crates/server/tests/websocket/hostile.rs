//! Hostile: messages that are no requests, pages of other sites, and the end of the server.

use crate::leavers::upgraded;
use crate::support::http_client::Client as HttpClient;
use crate::support::served::{add_points, eventually, patient, serve};
use crate::support::web_socket_client::{Client, eval};
use evergraph_graph::value::Value;
use evergraph_graph::value::collection::List;
use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::{Alias, Operation, QueryOptions};
use evergraph_protocol::response::read::Response;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_server::options::ServerOptions;
use evergraph_server::server::Server;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

#[tokio::test]
async fn messages_that_are_no_requests_are_answered_and_the_connection_goes_on() {
    let (_database, server) = serve(ServerOptions::default());
    let mut client = Client::connect(server.address()).await;
    let binary = Format::GraphBinary.message_head();
    let lying = [&*binary, &[0x81], &[7; 16], &[0x7f, 0xff, 0xff, 0xff]].concat();
    for message in [vec![], vec![0], vec![255; 3], b"\x05abcdef".to_vec(), binary.clone(), lying] {
        client.send_message(Message::Binary(message.clone().into())).await;
        assert_eq!(client.response(Format::GraphBinary).await.code, 498, "{message:?}");
    }
    for text in ["", "{", "null", "[[[[", r#"{"requestId": 1}"#] {
        client.send_message(Message::Text(text.into())).await;
        assert_eq!(client.response(Format::GraphSon).await.code, 498, "{text}");
    }
    let body = r#"{"requestId": "41d2e28a-20a4-4ab0-b379-d810dede3786", "op": "nothing", "processor": ""}"#;
    client.send_message(Message::Text(body.into())).await;
    assert_eq!(client.response(Format::GraphSon).await.code, 499);
    assert_eq!(client.eval("g.V().count()").await.number(), 0);
}

#[tokio::test]
async fn a_message_that_is_too_long_ends_the_connection() {
    let (_database, server) = serve(ServerOptions::default());
    let mut client = Client::connect(server.address()).await;
    client.try_send_message(Message::Binary(vec![0; 11 << 20].into())).await;
    let ended = client.message().await;
    assert!(matches!(ended, None | Some(Message::Close(_))), "{ended:?}");
    let mut other = Client::connect(server.address()).await;
    assert_eq!(other.eval("g.inject(1)").await.number(), 1);
}

#[tokio::test]
async fn an_error_repeats_no_more_of_a_request_than_a_few_lines() {
    let (_, server) = serve(ServerOptions::default());
    let mut client = Client::connect(server.address()).await;
    let failed = client.eval(&format!("g.inject(1).fail('{}')", "x".repeat(100_000))).await;
    assert_eq!(failed.code, 595);
    assert!(failed.message.len() < 16 << 10, "an error has a length: {}", failed.message.len());
    let aliases = vec![Alias { alias: "g".into(), name: "\u{1}".repeat(1 << 20).into() }];
    let options = QueryOptions { aliases, ..QueryOptions::default() };
    let refused = client.ask(eval("g.V().count()", options)).await;
    assert_eq!(refused.code, 499);
    assert!(refused.message.len() < 1 << 10, "a name is cut: {}", refused.message.len());
}

#[tokio::test]
async fn pages_of_other_sites_are_refused() {
    let (_database, server) = serve(ServerOptions::default());
    let address = server.address();
    for (header, value) in
        [("Origin", "https://evil.example"), ("Origin", "null"), ("Host", "evil.example:8182")]
    {
        assert_eq!(Client::connect_with(address, header, value).await.err(), Some(403), "{header}: {value}");
    }
    for (header, value) in [("Origin", "http://localhost:8182"), ("Host", "localhost")] {
        assert!(Client::connect_with(address, header, value).await.is_ok(), "{header}: {value}");
    }
    let database = std::sync::Arc::new(evergraph::Database::in_memory().unwrap());
    let open = Server::start(database, "social", "0.0.0.0:0".parse().unwrap(), ServerOptions::default());
    assert!(open.err().unwrap().to_string().contains("reached from other machines"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_end_of_the_server_finishes_what_runs_rolls_back_what_is_open_and_says_so() {
    let mut options = patient();
    options.stop_grace = Duration::from_secs(600);
    let (database, server) = serve(options);
    add_points(&database, 150);
    let mut observer = HttpClient::connect(server.address()).await;
    let mut idle = Client::connect(server.address()).await;
    assert_eq!(idle.eval_in("a", "g.addV('Point')").await.code, 200);
    let mut running = Client::connect(server.address()).await;
    let id = running.send(Format::GraphBinary, eval("g.V().V().V().count()", Default::default())).await;
    eventually("it runs", async || {
        !observer.ask("GET", "/queries", "").await.json()["queries"].as_array().unwrap().is_empty()
    })
    .await;
    drop(observer);
    let stopping = tokio::task::spawn_blocking(move || server.stop());
    assert_eq!(running.answer(Format::GraphBinary, id).await.number(), 3_375_000);
    for client in [&mut idle, &mut running] {
        match client.message().await {
            Some(Message::Close(Some(frame))) => assert_eq!(frame.code, CloseCode::Away),
            other => panic!("{other:?}"),
        }
    }
    drop((idle, running));
    stopping.await.unwrap();
    assert_eq!(database.gremlin("g.V().count()").one::<i64>().unwrap(), 150);
}

#[tokio::test]
async fn a_message_that_does_not_end_ends_the_connection() {
    let mut options = ServerOptions::default();
    options.body_time_max = Duration::from_millis(500);
    let (_database, server) = serve(options);
    let mut idle = Client::connect(server.address()).await;
    let mut endless = upgraded(server.address()).await;
    // Continuations of a few bytes or none, and pings between them.
    let begin = [&[0x02, 0x80 | 4][..], &[0; 4], b"abcd"].concat();
    let go_on = [&[0x00, 0x80][..], &[0; 4], &[0x89, 0x80 | 2], &[0; 4], b"hi", &[0x00, 0x81], &[0; 4], b"x"]
        .concat();
    endless.write_all(&begin).await.unwrap();
    eventually("a message without an end ends the connection", async || {
        endless.write_all(&go_on).await.is_err()
    })
    .await;
    // Pings are no messages, nor is silence.
    for _ in 0..20 {
        idle.send_message(Message::Ping(b"here"[..].into())).await;
        assert!(matches!(idle.message().await, Some(Message::Pong(_))));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(idle.eval("g.V().count()").await.number(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn messages_that_are_being_received_have_a_limit_together() {
    let (_database, server) = serve(ServerOptions::default());
    let mut client = Client::connect(server.address()).await;
    let part = vec![0; 9 << 20];
    let head = [&[0x82, 0x80 | 127][..], &(10_u64 << 20).to_be_bytes(), &[0; 4]].concat();
    let (mut senders, mut is_refused) = (Vec::new(), false);
    for _ in 0..32 {
        let mut sender = upgraded(server.address()).await;
        let sent = async {
            sender.write_all(&head).await?;
            sender.write_all(&part).await
        };
        is_refused |= sent.await.is_err();
        senders.push(sender);
    }
    // Of the last ones the server may not have read everything yet.
    let last = senders.last_mut().unwrap();
    let mut answer = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(60), last.read_to_end(&mut answer)).await;
    assert!(is_refused || ended.is_ok(), "messages have a limit together");
    assert!(answer.is_empty() || answer[2..].starts_with(&1013_u16.to_be_bytes()), "{answer:?}");
    // Small ones find room all the same, and large ones when there is some again.
    assert_eq!(client.eval("g.V().count()").await.number(), 0);
    drop(senders);
    let large = format!("g.inject('{}').count()", "x".repeat(900_000));
    // The server learns of their ends one after the other, and closes the connection of who comes too early.
    let is_answered = async || {
        let mut client = Client::connect(server.address()).await;
        client.send(Format::GraphBinary, eval(&large, QueryOptions::default())).await;
        match client.message().await.expect("a response or a close") {
            Message::Binary(response) => {
                Response::read(Format::GraphBinary, &response).expect("a response").code == 200
            }
            Message::Close(Some(frame)) if frame.code == CloseCode::Again => false,
            other => panic!("{other:?}"),
        }
    };
    eventually("there is room again", is_answered).await;
}

#[tokio::test]
async fn requests_are_read_no_further_while_their_client_reads_no_answers() {
    let (_database, server) = serve(ServerOptions::default());
    let mut client = upgraded(server.address()).await;
    // Each is answered by an error that is as long.
    let language = "x".repeat(1000);
    let payload = format!(
        r#"{{"requestId":"41d2e28a-20a4-4ab0-b379-d810dede3786","op":"eval","args":{{"gremlin":"g","language":"{language}"}}}}"#
    );
    let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
    let request = [&[0x81, 0x80 | 126][..], &length, &[0; 4], payload.as_bytes()].concat();
    client.write_all(&request).await.unwrap();
    let (head, length) = (client.read_u16().await.unwrap(), client.read_u16().await.unwrap());
    assert_eq!(head, 0x817e, "a text of less than 64 KiB");
    let mut first = vec![0; length.into()];
    client.read_exact(&mut first).await.unwrap();
    assert!(String::from_utf8_lossy(&first).contains("499"));
    let answer_bytes = 4 + first.len();
    // Buffers of the system take some MiB of both.
    let mut sent_bytes = 0;
    let is_stopped = loop {
        let rest = &request[sent_bytes % request.len()..];
        match tokio::time::timeout(Duration::from_secs(2), client.write(rest)).await {
            Ok(written) => sent_bytes += written.unwrap(),
            Err(_) => break true,
        }
        if sent_bytes > 64 << 20 {
            break false;
        }
    };
    assert!(is_stopped, "who reads no answers is read no further");
    let mut other = Client::connect(server.address()).await;
    assert_eq!(other.eval("g.inject(1)").await.number(), 1);
    // Nothing is lost: once the client reads, all of its requests are answered.
    let (mut left_bytes, mut buffer) = (sent_bytes / request.len() * answer_bytes, vec![0; 1 << 20]);
    while left_bytes > 0 {
        let reading = tokio::time::timeout(Duration::from_secs(60), client.read(&mut buffer)).await;
        let read = reading.expect("the rest is answered").unwrap();
        left_bytes = left_bytes.checked_sub(read).expect("each request has one answer");
    }
}

#[tokio::test]
async fn requests_that_are_not_answered_are_counted_as_they_are_decoded() {
    let (database, server) = serve(patient());
    add_points(&database, 1000);
    // Of 3 bytes each in the message, and 60 when they are decoded.
    let values = List::new(vec![Value::Bool(true); 1_000_000]).unwrap();
    let mut bindings = Bindings::new();
    bindings.bind("x", Value::List(values));
    // Who does not read the answer leaves it unanswered.
    let gremlin = "g.V().V().V()".into();
    let many = Operation::Eval { gremlin, language: None, bindings, options: QueryOptions::default() };
    let (mut clients, mut refused) = (Vec::new(), None);
    while refused.is_none() && clients.len() < 12 {
        let mut client = Client::connect(server.address()).await;
        client.send(Format::GraphBinary, many.clone()).await;
        let first = client.response(Format::GraphBinary).await;
        match first.code {
            206 => clients.push(client),
            _ => refused = Some(first),
        }
    }
    let refused = refused.expect("decoded requests have a limit together");
    assert_eq!(refused.code, 596, "{}", refused.message);
    assert!((2..=6).contains(&clients.len()), "{}", clients.len());
    assert!(refused.message.contains("run it again"), "{}", refused.message);
    // Small ones find room all the same, by HTTP as well, and large ones when others are answered.
    let mut client = Client::connect(server.address()).await;
    assert_eq!(client.eval("g.V().count()").await.number(), 1000);
    let mut http = HttpClient::connect(server.address()).await;
    let body =
        |values| format!(r#"{{"gremlin":"g.V().count()","bindings":{{"x":[1{}]}}}}"#, ",1".repeat(values));
    assert_eq!(http.ask("POST", "/gremlin", body(100)).await.status, 200);
    assert_eq!(http.ask("POST", "/gremlin", body(900_000)).await.status, 503);
    drop(clients);
    eventually("there is room again", async || {
        http.ask("POST", "/gremlin", body(900_000)).await.status == 200
    })
    .await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_system_asks_after_a_minute_whether_a_silent_client_is_still_there() {
    let (_database, server) = serve(ServerOptions::default());
    let silent = upgraded(server.address()).await;
    // The table of the kernel: addresses end with the port, `02` is the timer of these probes, in hundredths of a second.
    let ports =
        [server.address(), silent.local_addr().unwrap()].map(|address| format!(":{:04X}", address.port()));
    eventually("a silent client is asked whether it is still there", async || {
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        table.lines().any(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let time = fields[5].strip_prefix("02:").and_then(|time| u64::from_str_radix(time, 16).ok());
            fields[1].ends_with(&ports[0])
                && fields[2].ends_with(&ports[1])
                && time.is_some_and(|time| time <= 6100)
        })
    })
    .await;
}
