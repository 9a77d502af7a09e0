//! Client: an HTTP client of the tests: hyper for requests, and plain bytes for what no client sends.

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value as Json;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long an answer may take.
pub const ANSWER_TIME: Duration = Duration::from_secs(120);

/// A connection that is kept alive.
pub struct Client {
    sender: SendRequest<Full<Bytes>>,
    headers: Vec<(&'static str, String)>,
}

/// A whole response.
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> Json {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The code in a document of Gremlin Server.
    pub fn code(&self) -> i64 {
        self.json()["status"]["code"].as_i64().unwrap_or_else(|| panic!("{}", self.text()))
    }

    /// The results in a document.
    pub fn results(&self) -> Vec<Json> {
        self.json()["result"]["data"]["@value"]
            .as_array()
            .unwrap_or_else(|| panic!("{}", self.text()))
            .clone()
    }

    /// The only result, a number with a type.
    pub fn number(&self) -> i64 {
        assert_eq!((self.status, self.results().len()), (200, 1), "{}", self.text());
        self.results()[0]["@value"].as_i64().unwrap()
    }
}

impl Client {
    pub async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let (sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self { sender, headers: vec![("host", address.to_string())] }
    }

    /// The same as this user.
    pub async fn log_in(address: SocketAddr, user: &str, password: &str) -> Self {
        Self::connect(address).await.with("authorization", &basic(user, password))
    }

    /// Sends this header with each request.
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Sends a request; the body of its response was not read.
    pub async fn send(&mut self, method: &str, path: &str, body: impl Into<Bytes>) -> Response<Incoming> {
        self.try_send(method, path, body).await.unwrap()
    }

    pub async fn try_send(
        &mut self,
        method: &str,
        path: &str,
        body: impl Into<Bytes>,
    ) -> hyper::Result<Response<Incoming>> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let request = request.body(Full::new(body.into())).unwrap();
        tokio::time::timeout(ANSWER_TIME, async {
            self.sender.ready().await?;
            self.sender.send_request(request).await
        })
        .await
        .expect("an answer in time")
    }

    /// Sends a request, and reads its response.
    pub async fn ask(&mut self, method: &str, path: &str, body: impl Into<Bytes>) -> Answer {
        let response = self.send(method, path, body).await;
        let (head, body) = response.into_parts();
        let body = tokio::time::timeout(ANSWER_TIME, body.collect()).await.expect("a body in time").unwrap();
        Answer { status: head.status.as_u16(), headers: head.headers, body: body.to_bytes() }
    }

    pub async fn post(&mut self, body: &Json) -> Answer {
        self.ask("POST", "/gremlin", body.to_string()).await
    }

    /// Runs a query.
    pub async fn query(&mut self, text: &str) -> Answer {
        self.post(&serde_json::json!({"gremlin": text})).await
    }
}

/// The header Authorization.
pub fn basic(user: &str, password: &str) -> String {
    use base64::Engine as _;
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}")))
}

/// What the server sends to whoever sends `bytes`, until it ends the connection or says nothing for `silence`.
pub async fn raw(address: SocketAddr, bytes: &[u8], silence: Duration) -> (String, Ended) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may refuse before it has all of it.
    let _ = stream.write_all(bytes).await;
    read_all(&mut stream, silence).await
}

/// What the server sends to whoever sends `bytes`, until that `is_enough` or the connection ends.
///
/// # Panics
/// If neither comes in time.
pub async fn raw_until(
    address: SocketAddr,
    bytes: &[u8],
    is_enough: impl Fn(&str) -> bool,
) -> (String, Ended) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may refuse before it has all of it.
    let _ = stream.write_all(bytes).await;
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let answer = String::from_utf8_lossy(&all).into_owned();
        if is_enough(&answer) {
            return (answer, Ended::NotYet);
        }
        let reading = tokio::time::timeout(ANSWER_TIME, stream.read(&mut buffer)).await;
        match reading.unwrap_or_else(|_| panic!("no more comes behind {answer}")) {
            Ok(0) | Err(_) => return (answer, Ended::ByServer),
            Ok(count) => all.extend_from_slice(&buffer[..count]),
        }
    }
}

/// Whether the server ended a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    ByServer,
    NotYet,
}

/// What comes until the connection ends, or nothing for `silence`.
pub async fn read_all(stream: &mut TcpStream, silence: Duration) -> (String, Ended) {
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    let ended = loop {
        match tokio::time::timeout(silence, stream.read(&mut buffer)).await {
            Ok(Ok(0) | Err(_)) => break Ended::ByServer,
            Ok(Ok(count)) => all.extend_from_slice(&buffer[..count]),
            Err(_) => break Ended::NotYet,
        }
    };
    (String::from_utf8_lossy(&all).into_owned(), ended)
}
