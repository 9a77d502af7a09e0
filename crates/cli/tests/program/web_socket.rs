//! WebSocket: a client of `evergraph serve` that asks in GraphSON, on the standard library alone.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How long an answer may take.
const ANSWER_TIME: Duration = Duration::from_secs(60);

/// A connection.
pub struct WebSocket {
    stream: BufReader<TcpStream>,
    next_id: u32,
}

/// What came.
#[derive(Debug)]
pub enum Received {
    /// A response.
    Response(Value),
    /// The end of the connection, with its code.
    Closed(u16),
    /// The end of the connection without a word.
    Gone,
}

impl WebSocket {
    /// Connects to `address`, a host and its port.
    pub fn connect(address: &str) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(ANSWER_TIME)).unwrap();
        write!(
            stream,
            "GET /gremlin HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        .unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 101"), "{line}");
        while line.trim() != "" {
            line.clear();
            stream.read_line(&mut line).unwrap();
        }
        Self { stream, next_id: 1 }
    }

    /// Sends a query, in a session if it is named.
    pub fn send(&mut self, gremlin: &str, session: Option<&str>) {
        let id = format!("00000000-0000-0000-0000-{:012}", self.next_id);
        self.next_id += 1;
        let mut arguments = json!({ "gremlin": gremlin });
        if let Some(session) = session {
            arguments["session"] = session.into();
        }
        let processor = session.map_or("", |_| "session");
        let request = json!({ "requestId": id, "op": "eval", "processor": processor, "args": arguments });
        let payload = request.to_string();
        let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
        // One frame with a text, whose mask changes nothing.
        let head = [&[0x81, 0x80 | 126][..], &length, &[0; 4]].concat();
        self.stream.get_mut().write_all(&[&head, payload.as_bytes()].concat()).unwrap();
    }

    /// The next message.
    pub fn receive(&mut self) -> Received {
        let mut head = [0; 2];
        if self.stream.read_exact(&mut head).is_err() {
            return Received::Gone;
        }
        let mut read = |bytes_count: usize| {
            let mut bytes = vec![0; bytes_count];
            self.stream.read_exact(&mut bytes).unwrap();
            bytes
        };
        let length = match head[1] {
            126 => usize::from(u16::from_be_bytes(read(2).try_into().unwrap())),
            127 => usize::try_from(u64::from_be_bytes(read(8).try_into().unwrap())).unwrap(),
            length => length.into(),
        };
        let payload = read(length);
        match head[0] & 0x0f {
            1 => Received::Response(serde_json::from_slice(&payload).unwrap()),
            8 => Received::Closed(u16::from_be_bytes([payload[0], payload[1]])),
            other => panic!("a frame of kind {other}"),
        }
    }

    /// Asks, and returns the status of the answer.
    pub fn ask(&mut self, gremlin: &str, session: Option<&str>) -> u64 {
        self.send(gremlin, session);
        loop {
            match self.receive() {
                Received::Response(response) => match response["status"]["code"].as_u64().unwrap() {
                    206 => {}
                    code => return code,
                },
                other => panic!("{other:?}"),
            }
        }
    }
}
