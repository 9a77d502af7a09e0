//! Client: a WebSocket client of the tests, over the protocol crate.

use evergraph_protocol::format::Format;
use evergraph_protocol::request::operation::{Operation, QueryOptions, Request, Session};
use evergraph_protocol::response::read::Response;
use evergraph_protocol::result::result_value::ResultValue;
use evergraph_query::gremlin::bindings::Bindings;
use evergraph_query::gremlin::bytecode::Bytecode;
use evergraph_query::gremlin::call::Call;
use evergraph_query::gremlin::parser::ParseLimits;
use evergraph_query::gremlin::read::read;
use futures_util::{SinkExt, StreamExt};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async};
use uuid::Uuid;

/// How long an answer may take.
const ANSWER_TIME: Duration = Duration::from_secs(120);

/// What carries a connection, with TLS or without.
pub trait Transport: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Transport for S {}

/// A connection.
pub struct Client {
    socket: WebSocketStream<Box<dyn Transport>>,
    next_id: u128,
}

/// The answer to a request: the last response, and the results of all.
pub struct Answer {
    pub code: i32,
    pub message: String,
    pub last: Response,
    pub results: Vec<(ResultValue, u64)>,
    pub frames: usize,
}

impl Answer {
    /// The kind of an error.
    pub fn kind(&self) -> Option<&str> {
        self.last.attributes.get("kind").and_then(|kind| kind.as_str())
    }

    /// The only result, a number.
    pub fn number(&self) -> i64 {
        assert_eq!((self.code, self.results.len()), (200, 1), "{}", self.message);
        match &self.results[0].0 {
            ResultValue::Value(value) => value.as_i64().expect("a number"),
            other => panic!("{other:?}"),
        }
    }
}

/// A request to run `text` as a text.
pub fn eval(text: &str, options: QueryOptions) -> Operation {
    Operation::Eval { gremlin: text.into(), language: None, bindings: Bindings::new(), options }
}

/// A request to run `text` as bytecode.
pub fn bytecode(text: &str, options: QueryOptions) -> Operation {
    let query = read(text, &ParseLimits::default(), &Bindings::new()).expect("a query");
    Operation::Bytecode { bytecode: Bytecode::new(Vec::new(), query.calls), options }
}

/// A request that commits or rolls back.
pub fn transaction(operation: &str, session: &str) -> Operation {
    let calls = vec![Call::new("tx", []), Call::new(operation, [])];
    Operation::Bytecode { bytecode: Bytecode::new(calls, Vec::new()), options: within(session) }
}

/// Options of a query in a session.
pub fn within(session: &str) -> QueryOptions {
    let session = Session { id: session.into(), manages_transactions: false };
    QueryOptions { session: Some(session), ..QueryOptions::default() }
}

impl Client {
    /// Connects as drivers do.
    pub async fn connect(address: SocketAddr) -> Self {
        Self::try_connect(address).await.expect("it connects")
    }

    /// The same; the status if it is refused, 0 if the connection ends before there is one.
    pub async fn try_connect(address: SocketAddr) -> Result<Self, u16> {
        let stream = TcpStream::connect(address).await.map_err(|_| 0_u16)?;
        Self::upgrade(Box::new(stream), &format!("ws://{address}/gremlin"), &[]).await
    }

    /// Connects with another header; the status if it is refused.
    pub async fn connect_with(address: SocketAddr, header: &'static str, value: &str) -> Result<Self, u16> {
        let stream = TcpStream::connect(address).await.expect("it connects");
        Self::upgrade(Box::new(stream), &format!("ws://{address}/gremlin"), &[(header, value)]).await
    }

    /// Makes a WebSocket of `stream`.
    pub async fn upgrade(
        stream: Box<dyn Transport>,
        url: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, u16> {
        let mut request = url.into_client_request().expect("a request");
        for (header, value) in headers {
            request.headers_mut().insert(*header, value.parse().expect("a header"));
        }
        match client_async(request, stream).await {
            Ok((socket, _)) => Ok(Self { socket, next_id: 1 }),
            Err(tungstenite::Error::Http(response)) => Err(response.status().as_u16()),
            Err(_) => Err(0),
        }
    }

    /// Sends a request, and returns its id.
    pub async fn send(&mut self, format: Format, operation: Operation) -> Uuid {
        let id = Uuid::from_u128(self.next_id);
        self.next_id += 1;
        let message = Request { id, operation }.to_message(format).expect("a request");
        self.send_message(Message::Binary(message.into())).await;
        id
    }

    pub async fn send_message(&mut self, message: Message) {
        self.socket.send(message).await.expect("it is sent");
    }

    /// Sends a message that the server may refuse before it has all of it.
    pub async fn try_send_message(&mut self, message: Message) {
        let _ = self.socket.send(message).await;
    }

    /// The next message; `None` at the end of the connection.
    pub async fn message(&mut self) -> Option<Message> {
        tokio::time::timeout(ANSWER_TIME, self.socket.next()).await.expect("an answer in time")?.ok()
    }

    /// The next response, in `format`.
    pub async fn response(&mut self, format: Format) -> Response {
        match self.message().await.expect("a response") {
            Message::Binary(bytes) => Response::read(format, &bytes).expect("a response"),
            Message::Text(text) => Response::read(Format::GraphSon, text.as_bytes()).expect("a response"),
            other => panic!("{other:?}"),
        }
    }

    /// The responses to a request, when no other is on its way.
    pub async fn answer(&mut self, format: Format, id: Uuid) -> Answer {
        let (mut results, mut frames) = (Vec::new(), 0);
        loop {
            let mut last = self.response(format).await;
            assert_eq!(last.id, Some(id), "{}", last.message);
            frames += 1;
            results.extend(
                std::mem::take(&mut last.results).into_iter().map(|result| (result.value, result.bulk)),
            );
            if last.code != 206 {
                return Answer { code: last.code, message: last.message.to_string(), last, results, frames };
            }
        }
    }

    /// Asks and waits for the answer.
    pub async fn ask(&mut self, operation: Operation) -> Answer {
        let id = self.send(Format::GraphBinary, operation).await;
        self.answer(Format::GraphBinary, id).await
    }

    pub async fn eval(&mut self, text: &str) -> Answer {
        self.ask(eval(text, QueryOptions::default())).await
    }

    pub async fn eval_in(&mut self, session: &str, text: &str) -> Answer {
        self.ask(eval(text, within(session))).await
    }

    /// Logs in as an answer to the request `id`.
    pub async fn send_login(&mut self, format: Format, id: Uuid, user: &str, password: &str) {
        let sasl = [b"\0", user.as_bytes(), b"\0", password.as_bytes()].concat();
        let operation = Operation::Authentication { sasl, mechanism: Some("PLAIN".into()) };
        let message = Request { id, operation }.to_message(format).expect("a request");
        self.send_message(Message::Binary(message.into())).await;
    }

    /// Asks, logs in if the server asks for that, and waits for the answer.
    pub async fn ask_as(&mut self, user: &str, password: &str, operation: Operation) -> Answer {
        let id = self.send(Format::GraphBinary, operation).await;
        let first = self.response(Format::GraphBinary).await;
        assert_eq!((first.code, first.id), (407, Some(id)), "{}", first.message);
        self.send_login(Format::GraphBinary, id, user, password).await;
        self.answer(Format::GraphBinary, id).await
    }
}
