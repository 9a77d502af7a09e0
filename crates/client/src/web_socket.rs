//! WebSocket: messages of one connection, both ways.
//!
//! What a server sends is limited: a message's size, the time until something comes, and what kinds of messages there are.
//! A server that sends nothing is asked for a sign of life by a ping.

use crate::options::ClientOptions;
use crate::stream::{Stream, failed};
use crate::url::ServerUrl;
use crate::wait_limit::{WaitEnd, WaitLimit};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_query::error::quoted;
use evergraph_storage::planted::{Bug, planted};
use std::io;
use std::net::IpAddr;
use std::time::Duration;
use tungstenite::error::CapacityError;
use tungstenite::handshake::HandshakeError;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Bytes, ClientRequestBuilder, Message};

/// A buffer for what is received: a frame of results may have megabytes.
const READ_BUFFER_BYTES: usize = 64 << 10;

/// A WebSocket.
#[derive(Debug)]
pub(crate) struct WebSocket {
    socket: tungstenite::WebSocket<Stream>,
    url: ServerUrl,
    silence_max: Duration,
}

/// Why nothing more can be sent or received.
#[derive(Debug)]
pub(crate) struct Lost {
    /// Why.
    pub(crate) error: Error,
}

impl WebSocket {
    /// Makes a WebSocket of `stream`, which was connected to `url`.
    ///
    /// # Errors
    /// `invalid` if the server refuses, or is none of Gremlin; `io`, `limit`, `cancelled`.
    pub(crate) fn upgrade(stream: Stream, url: &ServerUrl, options: &ClientOptions) -> Result<Self> {
        let limit = (!planted(Bug::MessagesUnlimited)).then_some(options.message_bytes_max);
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER_BYTES)
            .write_buffer_size(0)
            .max_message_size(limit)
            .max_frame_size(limit);
        let scheme = if url.has_tls { "wss" } else { "ws" };
        let uri = format!("{scheme}://{}/gremlin", url.authority());
        let uri =
            uri.parse().map_err(|error| Error::invalid(format!("the URL {url} cannot be used: {error}")))?;
        let request = ClientRequestBuilder::new(uri);
        match tungstenite::client::client_with_config(request, stream, Some(config)) {
            Ok((socket, _)) => Ok(Self { socket, url: url.clone(), silence_max: options.silence_max }),
            Err(HandshakeError::Failure(error)) => Err(refused(url, &error)),
            Err(HandshakeError::Interrupted(_)) => {
                Err(Error::new(ErrorKind::Limit, format!("{} did not answer in time", url.authority())))
            }
        }
    }

    /// The other end's address, if the system knows it.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        self.socket.get_ref().peer()
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, message: Vec<u8>, limit: &WaitLimit) -> std::result::Result<(), Lost> {
        self.socket.get_mut().wait_within(limit, self.silence_max / 2);
        self.socket.send(Message::Binary(message.into())).map_err(|error| self.lost(&error))
    }

    /// Waits for a message.
    pub(crate) fn receive(&mut self, limit: &WaitLimit) -> std::result::Result<Bytes, Lost> {
        self.socket.get_mut().wait_within(limit, self.silence_max / 2);
        let mut was_asked = false;
        loop {
            // Messages without content need no read of the stream, which looks at the limit.
            limit.check().map_err(|error| self.lost(&tungstenite::Error::Io(error)))?;
            match self.socket.read() {
                Ok(Message::Binary(bytes)) => return Ok(bytes),
                Ok(Message::Ping(_) | Message::Frame(_)) => {}
                Ok(Message::Pong(_)) => was_asked = false,
                Ok(Message::Text(_)) => return Err(self.broken("it sent text in place of bytes")),
                Ok(Message::Close(frame)) => {
                    let why = frame.map(|frame| frame.reason.to_string()).unwrap_or_default();
                    let why = if why.is_empty() { "it gave no reason".to_owned() } else { quoted(&why) };
                    return Err(self.ended(&format!("the server closed it: {why}")));
                }
                Err(tungstenite::Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    if std::mem::replace(&mut was_asked, true) {
                        let seconds = self.silence_max.as_secs_f64();
                        return Err(self.ended(&format!("the server sent nothing for {seconds} seconds")));
                    }
                    let ping = Message::Ping(Bytes::new());
                    self.socket.send(ping).map_err(|error| self.lost(&error))?;
                }
                Err(error) => return Err(self.lost(&error)),
            }
        }
    }

    /// Whether it can be used, as far as is known without waiting. Nobody waits for a message.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.socket.get_mut().wait_never();
        loop {
            match self.socket.read() {
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                Err(tungstenite::Error::Io(error)) => return error.kind() == io::ErrorKind::WouldBlock,
                // A message to nobody, and the end.
                Ok(_) | Err(_) => return false,
            }
        }
    }

    /// Says good-bye, without waiting for an answer.
    pub(crate) fn close(&mut self) {
        self.socket
            .get_mut()
            .wait_within(&WaitLimit::default().within(Duration::from_millis(100)), Duration::MAX);
        // Nobody is there who would want to know.
        let _ = self.socket.close(None);
        let _ = self.socket.flush();
    }

    /// The server does not keep to the protocol.
    pub(crate) fn broken(&self, why: &str) -> Lost {
        self.ended(&format!("the server does not keep to the protocol: {why}"))
    }

    fn ended(&self, why: &str) -> Lost {
        let text = format!("the connection to {} was lost: {why}", self.url.authority());
        Lost { error: Error::new(ErrorKind::Io, text) }
    }

    fn lost(&self, error: &tungstenite::Error) -> Lost {
        match error {
            tungstenite::Error::Io(error) if WaitEnd::of(error).is_some() => {
                Lost { error: failed(&self.url, "wait for", error) }
            }
            tungstenite::Error::Capacity(CapacityError::MessageTooLong { max_size, .. }) => {
                let text = format!(
                    "the connection to {} was closed: the server sent a message of more than {max_size} bytes",
                    self.url.authority()
                );
                Lost { error: Error::new(ErrorKind::Limit, text) }
            }
            error => self.ended(&error.to_string()),
        }
    }
}

/// Why a server does not become a WebSocket.
fn refused(url: &ServerUrl, error: &tungstenite::Error) -> Error {
    let place = url.authority();
    match error {
        tungstenite::Error::Io(error) => failed(url, "connect to", error),
        tungstenite::Error::Http(response) => {
            let body = response.body().as_deref().unwrap_or_default();
            let body = String::from_utf8_lossy(body);
            let line = body.lines().next().unwrap_or_default();
            let why = if line.is_empty() { String::new() } else { format!(": {}", shown(line)) };
            Error::invalid(format!(
                "{place} refuses WebSockets at /gremlin, with status {}{why}",
                response.status()
            ))
        }
        error => {
            let hint = if url.has_tls { "" } else { "; a server with TLS is at wss://" };
            Error::new(ErrorKind::Io, format!("{place} is no Gremlin server: {error}{hint}"))
        }
    }
}

/// A text of a server for a message: a line, without control characters.
fn shown(text: &str) -> String {
    const CHARACTERS_MAX: usize = 200;
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).take(CHARACTERS_MAX).collect()
}
