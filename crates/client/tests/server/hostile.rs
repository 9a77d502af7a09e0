//! Hostile servers: garbage, lying lengths, messages without end, silence. Each is an error within the caller's time.

use crate::all;
use crate::script::{IntoMessage as _, answer, next_id, serve_answers, serve_script};
use evergraph_client::client::Client;
use evergraph_client::options::ClientOptions;
use evergraph_client::query::Query;
use evergraph_client::url::ServerUrl;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::value::collection::List;
use evergraph_protocol::format::Format;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::response::frame::encode_response;
use evergraph_protocol::response::status::Status;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};
use tungstenite::{Message, WebSocket};
use uuid::Uuid;

/// How long a query of a tenth of a second may take on a busy machine: less than what the planted bug adds.
const PATIENCE: Duration = Duration::from_secs(35);

fn options() -> ClientOptions {
    let mut options = ClientOptions::default();
    options.connect_time_max = Duration::from_secs(3);
    options
}

/// Why nobody connects to `url`, within the test's patience.
fn refused(url: &ServerUrl) -> Error {
    let began = Instant::now();
    let error = Client::connect(url, options()).unwrap_err();
    assert!(began.elapsed() < PATIENCE, "{error}");
    error
}

/// The error of a query whose answer is what `script` sends.
fn answered_by(script: impl Fn(&mut WebSocket<TcpStream>, Uuid) + Send + Sync + 'static) -> Error {
    let client = Client::connect(&serve_answers(script), options()).unwrap();
    let began = Instant::now();
    let error = client
        .query(&Query::text("g.V()").timeout(Duration::from_millis(100)))
        .and_then(|results| results.collect())
        .unwrap_err();
    assert!(began.elapsed() < PATIENCE, "the query ends with its time: {error}");
    error
}

/// Reads what a client sends, until it is gone.
fn swallow(mut stream: &TcpStream) {
    let mut bytes = [0; 4096];
    while let Ok(1..) = stream.read(&mut bytes) {}
}

#[test]
fn a_server_that_is_none_of_gremlin_is_refused() {
    let of = |content: &'static [u8]| {
        refused(&serve_script(move |mut stream| {
            let _ = stream.write_all(content);
            swallow(&stream);
        }))
        .to_string()
    };
    let _ = of(b"SSH-2.0-OpenSSH_9.9\r\n\r\n");
    let _ = of(b"\x15\x03\x01\x00\x02\x02\x46");
    let told = of(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    assert!(told.contains("404"), "{told}");
    let told = of(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 12\r\n\r\nno\x1b[2J\n more");
    assert!(told.contains("403") && !told.contains('\u{1b}'), "{told}");
    let told = of(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
    assert!(told.contains("302"), "a redirection is not followed: {told}");
    let told = of(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: AAAA\r\n\r\n");
    assert!(told.contains("no Gremlin server"), "{told}");
}

#[test]
fn a_server_that_closes_or_never_ends_its_greeting_is_an_error() {
    refused(&serve_script(|stream| stream.shutdown(Shutdown::Both).unwrap()));
    let silent = refused(&serve_script(|stream| swallow(&stream)));
    assert_eq!(silent.kind(), ErrorKind::Limit, "{silent}");
    refused(&serve_script(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\n");
        while stream.write_all(b"X-Endless: yes\r\n").is_ok() {}
    }));
    refused(&serve_script(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\n");
        while stream.write_all(b"X").is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    }));
}

#[test]
fn a_length_that_lies_is_an_error_before_memory_is_taken() {
    // A frame of 2^62 bytes.
    let error = answered_by(|socket, _| {
        let _ = socket.get_mut().write_all(&[0x82, 127, 0x40, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]);
        swallow(socket.get_ref());
    });
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    // A list of 2^31 results, in an answer of a few bytes.
    let error = answered_by(|socket, id| {
        let mut bytes = vec![0x81, 0];
        bytes.extend(id.as_bytes());
        bytes.extend([0, 0, 0, 200, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0x09, 0, 0x7f, 0xff, 0xff, 0xff]);
        let _ = socket.send(bytes.into_message());
        swallow(socket.get_ref());
    });
    assert!(error.to_string().contains("a length of at most"), "{error}");
}

#[test]
fn a_message_above_the_limit_is_an_error() {
    let error = answered_by(|socket, _| {
        let _ = socket.send(vec![0x81; 17 << 20].into_message());
        swallow(socket.get_ref());
    });
    assert_eq!(error.kind(), ErrorKind::Limit, "a message above the limit is refused: {error}");
    assert!(error.to_string().contains("16777216"), "{error}");
    // The same in pieces, none of which is too long.
    let error = answered_by(|socket, _| {
        let stream = socket.get_mut();
        let _ = stream.write_all(&[0x02, 127, 0, 0, 0, 0, 0, 0x10, 0, 0]);
        let _ = stream.write_all(&vec![0; 1 << 20]);
        for _ in 0..20 {
            let _ = stream.write_all(&[0x00, 127, 0, 0, 0, 0, 0, 0x10, 0, 0]);
            let _ = stream.write_all(&vec![0; 1 << 20]);
        }
        swallow(stream);
    });
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
}

#[test]
fn frames_without_end_last_no_longer_than_the_query_may() {
    // Pieces of nothing, of one message.
    let error = answered_by(|socket, _| {
        let stream = socket.get_mut();
        let _ = stream.write_all(&[0x02, 0]);
        while stream.write_all(&[0; 64]).is_ok() {}
    });
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    let error = answered_by(|socket, id| while socket.send(answer(id, Status::PartialContent)).is_ok() {});
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    let error = answered_by(|socket, _| while socket.send(Message::Ping(Vec::new().into())).is_ok() {});
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
}

/// An answer with one result, a number, that is said to occur `bulk` times.
fn bulk_answer(id: Uuid, bulk: i64) -> Message {
    let mut bytes = vec![0x81, 0];
    bytes.extend(id.as_bytes());
    bytes.extend([0, 0, 0, 200, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0x09, 0, 0, 0, 0, 1]);
    bytes.extend([0x21, 0]);
    bytes.extend(bulk.to_be_bytes());
    bytes.extend([0x01, 0, 0, 0, 0, 7]);
    bytes.into_message()
}

#[test]
fn a_result_that_is_said_to_occur_often_takes_bounded_memory_and_time() {
    let url = serve_answers(|socket, id| {
        let _ = socket.send(bulk_answer(id, 1_000_000));
        swallow(socket.get_ref());
    });
    let collected = |options: ClientOptions, query: &Query| {
        Client::connect(&url, options).unwrap().query(query).and_then(|results| results.collect())
    };
    let (query, mut small) = (Query::text("g.V()"), options());
    small.results_bytes_max = 1 << 20;
    let refused = collected(small, &query).map(|all| all.len());
    let refused = refused.expect_err("results that are gathered have a limit");
    assert_eq!(refused.kind(), ErrorKind::Limit, "{refused}");
    assert!(refused.to_string().contains("1048576 bytes"), "{refused}");
    // As many as it says, where they fit.
    assert_eq!(collected(options(), &query).unwrap().len(), 1_000_000);
    // Some of them, and what is left.
    let mut results = Client::connect(&url, options()).unwrap().query(&query).unwrap();
    assert_eq!(results.next_values(10).unwrap().len(), 10);
    assert_eq!(results.next_result().unwrap().unwrap().bulk, 999_990);
    assert!(results.next_values(10).unwrap().is_empty());
    // More than any machine has room for.
    let error = answered_by(|socket, id| {
        let _ = socket.send(bulk_answer(id, 1 << 62));
        swallow(socket.get_ref());
    });
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    // None at all.
    let url = serve_answers(|socket, id| {
        let _ = socket.send(bulk_answer(id, 0));
        swallow(socket.get_ref());
    });
    assert_eq!(all(&Client::connect(&url, options()).unwrap(), "g.V()").unwrap(), []);
    // Whoever has it stop while results are repeated is heard.
    let url = serve_answers(|socket, id| {
        let _ = socket.send(bulk_answer(id, 10_000));
        swallow(socket.get_ref());
    });
    let (client, cancel) = (Client::connect(&url, options()).unwrap(), CancelFlag::default());
    let results = client.query(&Query::text("g.V()").cancel(&cancel)).unwrap();
    cancel.cancel();
    assert_eq!(results.collect().unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn warnings_without_end_take_bounded_memory() {
    const FRAMES: usize = 5000;
    let url = serve_answers(|socket, id| {
        let warning = List::new(vec!["w".repeat(1000).into()]).unwrap();
        let attributes = Attributes::new().with(Attributes::WARNINGS, warning);
        for _ in 0..FRAMES {
            let (format, status) = (Format::GraphBinary, Status::PartialContent);
            let frame = encode_response(format, Some(id), status, None, &attributes);
            if socket.send(frame.into_message()).is_err() {
                return;
            }
        }
        let _ = socket.send(answer(id, Status::NoContent));
        swallow(socket.get_ref());
    });
    let client = Client::connect(&url, options()).unwrap();
    let mut results = client.query(&Query::text("g.V()")).unwrap();
    assert!(results.next_frame().unwrap().is_none());
    let warnings = results.take_warnings();
    assert!((1..=1000).contains(&warnings.len()), "warnings have a limit: {}", warnings.len());
}

#[test]
fn nesting_without_end_is_an_error() {
    let error = answered_by(|socket, id| {
        let mut bytes = vec![0x81, 0];
        bytes.extend(id.as_bytes());
        bytes.extend([0, 0, 0, 200, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0x09, 0, 0, 0, 0, 1]);
        (0..1_000_000).for_each(|_| bytes.extend([0x09, 0, 0, 0, 0, 1]));
        let _ = socket.send(bytes.into_message());
        swallow(socket.get_ref());
    });
    assert!(error.to_string().contains("nested more than"), "{error}");
}

#[test]
fn what_is_no_answer_is_an_error() {
    let garbage = answered_by(|socket, _| {
        let _ = socket.send(b"garbage".to_vec().into_message());
        swallow(socket.get_ref());
    });
    assert!(garbage.to_string().contains("does not keep to the protocol"), "{garbage}");
    let text = answered_by(|socket, _| {
        let _ = socket.send(Message::Text("{}".into()));
        swallow(socket.get_ref());
    });
    assert!(text.to_string().contains("does not keep to the protocol"), "{text}");
    let stranger = answered_by(|socket, _| {
        let _ = socket.send(answer(Uuid::nil(), Status::Success));
        swallow(socket.get_ref());
    });
    assert!(stranger.to_string().contains("nobody asked"), "{stranger}");
    let closed = answered_by(|socket, _| {
        let _ = socket.close(None);
        let _ = socket.flush();
    });
    assert!(closed.to_string().contains("closed"), "{closed}");
    let in_the_middle = answered_by(|socket, _| {
        let _ = socket.get_mut().write_all(&[0x82, 100, 1, 2, 3]);
    });
    assert_eq!(in_the_middle.kind(), ErrorKind::Io, "{in_the_middle}");
}

#[test]
fn a_password_is_sent_once_and_only_to_who_asks_for_a_log_in() {
    let url = serve_script(|stream| {
        let Ok(mut socket) = tungstenite::accept(stream) else { return };
        while let Some(id) = next_id(&mut socket) {
            let _ = socket.send(answer(id, Status::Authenticate));
        }
    });
    let told = refused(&url).to_string();
    assert!(told.contains("has users: name one in the URL"), "{told}");
    let url: ServerUrl = url.to_string().replace("ws://", "ws://ann@").parse().unwrap();
    let told = refused(&url).to_string();
    assert!(told.contains("EVERGRAPH_PASSWORD"), "{told}");
    let mut options = options();
    options.password = Some(evergraph_client::password::Password::new("secret"));
    let told = Client::connect(&url, options).unwrap_err().to_string();
    assert!(told.contains("second log-in") && !told.contains("secret"), "the password is sent once: {told}");
}

#[test]
fn a_server_that_is_silent_is_given_up() {
    let url = serve_answers(|socket, _| swallow(socket.get_ref()));
    let mut options = options();
    options.silence_max = Duration::from_secs(2);
    let client = Client::connect(&url, options.clone()).unwrap();
    let error = all(&client, "g.V()").unwrap_err();
    assert!(error.to_string().contains("sent nothing for 2 seconds"), "{error}");
    // One that answers pings is only slow.
    let url = serve_answers(|socket, id| {
        let began = Instant::now();
        socket.get_ref().set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        while began.elapsed() < Duration::from_secs(5) {
            let _ = socket.read();
        }
        let _ = socket.send(answer(id, Status::NoContent));
        swallow(socket.get_ref());
    });
    let client = Client::connect(&url, options).unwrap();
    assert_eq!(all(&client, "g.V()").unwrap(), []);
}

#[test]
fn a_silent_server_is_left_when_the_caller_says_so() {
    let url = serve_answers(|socket, _| swallow(socket.get_ref()));
    let client = Client::connect(&url, options()).unwrap();
    let cancel = CancelFlag::default();
    let error = thread::scope(|scope| {
        let waiting = scope.spawn(|| client.query(&Query::text("g.V()").cancel(&cancel)).unwrap_err());
        thread::sleep(Duration::from_millis(100));
        cancel.cancel();
        waiting.join().unwrap()
    });
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}
