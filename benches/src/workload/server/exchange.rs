//! Exchange: one connection of the load generator, which sends a request and reads its answer without waiting.
//!
//! ```text
//! WebSocket   binary messages of GraphBinary, as drivers send them; the answer ends with a frame of another code than 206
//! HTTP/1.1    requests that were written before; the answer ends with its body, by its length or its last chunk
//! ```

use evergraph_graph::error::{Error, ErrorKind, Result};
use std::io::{ErrorKind as IoErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Bytes, Message, WebSocket};

/// How long an answer may take.
pub const ANSWER_TIME: Duration = Duration::from_secs(120);
/// Bytes that a connection reads at once: many are open.
const READ_BYTES: usize = 16 << 10;
/// Where the code of a response in GraphBinary is: behind version, flag and id.
const CODE_OFFSET: usize = 18;
/// The code of a frame that others follow.
const PARTIAL: i32 = 206;

/// How requests are carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carrier {
    /// As messages of a WebSocket.
    WebSocket,
    /// As requests of HTTP.
    Http,
}

/// One connection.
pub struct Exchange {
    stream: Stream,
    kept: Option<Vec<Bytes>>,
}

enum Stream {
    WebSocket(Box<WebSocket<TcpStream>>),
    Http { stream: TcpStream, received: Vec<u8> },
}

/// What came of a request so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// Its answer is not complete.
    Waits,
    /// It is: its code, or the status of HTTP.
    Answered(i32),
}

impl Exchange {
    /// Connects, and waits until it may send.
    ///
    /// # Errors
    /// `io`.
    pub fn connect(address: SocketAddr, carrier: Carrier) -> Result<Self> {
        let stream = TcpStream::connect(address).map_err(|error| failed("connect", &error))?;
        stream.set_nodelay(true).map_err(|error| failed("connect", &error))?;
        stream.set_read_timeout(Some(ANSWER_TIME)).map_err(|error| failed("connect", &error))?;
        let stream = match carrier {
            Carrier::WebSocket => Stream::WebSocket(Box::new(upgrade(stream, address)?)),
            Carrier::Http => Stream::Http { stream, received: Vec::new() },
        };
        Ok(Self { stream, kept: None })
    }

    /// Reads without waiting from now on, or waits again.
    ///
    /// # Errors
    /// `io`.
    pub fn waits(&self, waits: bool) -> Result<()> {
        self.tcp().set_nonblocking(!waits).map_err(|error| failed("set up a connection", &error))
    }

    /// Keeps the frames or bodies of answers from now on, for [`Exchange::take_kept`], or keeps none.
    pub fn keeps(&mut self, keeps: bool) {
        self.kept = keeps.then(Vec::new);
    }

    /// What was kept of answers since the last time.
    pub fn take_kept(&mut self) -> Vec<Bytes> {
        self.kept.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// What the system calls it.
    #[must_use]
    pub fn descriptor(&self) -> RawFd {
        self.tcp().as_raw_fd()
    }

    /// The connection, for whoever ends it from another thread.
    ///
    /// # Errors
    /// `io`.
    pub fn stream(&self) -> Result<TcpStream> {
        self.tcp().try_clone().map_err(|error| failed("copy a connection", &error))
    }

    fn tcp(&self) -> &TcpStream {
        match &self.stream {
            Stream::WebSocket(socket) => socket.get_ref(),
            Stream::Http { stream, .. } => stream,
        }
    }

    /// Sends a request.
    ///
    /// # Errors
    /// `io`; also if the system takes less than all of it: requests are short.
    pub fn send(&mut self, request: &Bytes) -> Result<()> {
        match &mut self.stream {
            Stream::WebSocket(socket) => {
                socket.send(Message::Binary(request.clone())).map_err(|error| closed(&error))
            }
            Stream::Http { stream, .. } => stream.write_all(request).map_err(|error| failed("send", &error)),
        }
    }

    /// Reads what is there of the answer.
    ///
    /// # Errors
    /// `io`; `corrupt` for what is no answer.
    pub fn receive(&mut self) -> Result<Progress> {
        match &mut self.stream {
            Stream::WebSocket(socket) => loop {
                let bytes = match socket.read() {
                    Ok(Message::Binary(bytes)) => bytes,
                    Ok(Message::Ping(_) | Message::Pong(_)) => continue,
                    Ok(other) => return Err(corrupt(&format!("a message {other:?}"))),
                    Err(tungstenite::Error::Io(error)) if error.kind() == IoErrorKind::WouldBlock => {
                        return Ok(Progress::Waits);
                    }
                    Err(error) => return Err(closed(&error)),
                };
                let code = bytes.get(CODE_OFFSET..CODE_OFFSET + 4).and_then(|code| code.try_into().ok());
                let code = i32::from_be_bytes(code.ok_or_else(|| corrupt("a frame without a code"))?);
                self.kept.iter_mut().for_each(|kept| kept.push(bytes.clone()));
                if code != PARTIAL {
                    return Ok(Progress::Answered(code));
                }
            },
            Stream::Http { stream, received } => loop {
                if let Some((status, body, length)) = http_answer(received)? {
                    self.kept.iter_mut().for_each(|kept| kept.push(Bytes::from(body.clone())));
                    // Servers of the day say so in the body as well.
                    let has_errors =
                        find(&body, b"\"errors\":").is_some() && find(&body, b"\"errors\":[]").is_none();
                    received.drain(..length);
                    return Ok(Progress::Answered(if has_errors { 500 } else { status }));
                }
                let mut bytes = [0; READ_BYTES];
                match stream.read(&mut bytes) {
                    Ok(0) => return Err(corrupt("the end of the connection")),
                    Ok(read) => received.extend_from_slice(&bytes[..read]),
                    Err(error) if error.kind() == IoErrorKind::WouldBlock => return Ok(Progress::Waits),
                    Err(error) => return Err(failed("read", &error)),
                }
            },
        }
    }

    /// Asks and waits: the code, and the frames of the answer or its body.
    ///
    /// # Errors
    /// As [`Exchange::receive`].
    pub fn ask(&mut self, request: &Bytes) -> Result<(i32, Vec<Bytes>)> {
        self.kept = Some(Vec::new());
        self.send(request)?;
        match self.receive()? {
            Progress::Answered(code) => Ok((code, self.kept.take().unwrap_or_default())),
            Progress::Waits => Err(corrupt(&format!("nothing for {} seconds", ANSWER_TIME.as_secs()))),
        }
    }
}

/// Makes a WebSocket of a connection.
///
/// # Errors
/// `io`.
pub fn upgrade<S: Read + Write>(stream: S, address: SocketAddr) -> Result<WebSocket<S>> {
    let config = WebSocketConfig::default().read_buffer_size(READ_BYTES).write_buffer_size(0);
    let request = format!("ws://{address}/gremlin");
    match tungstenite::client::client_with_config(request, stream, Some(config)) {
        Ok((socket, _)) => Ok(socket),
        Err(error) => Err(Error::new(ErrorKind::Io, format!("no WebSocket at {address}: {error}"))),
    }
}

/// Status and body of the answer at the beginning of `received`, and how many bytes it takes; `None` if more is to come.
fn http_answer(received: &[u8]) -> Result<Option<(i32, Vec<u8>, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut head = httparse::Response::new(&mut headers);
    let parsed = head.parse(received).map_err(|error| corrupt(&format!("no answer of HTTP: {error}")))?;
    let httparse::Status::Complete(head_length) = parsed else { return Ok(None) };
    let status = i32::from(head.code.unwrap_or_default());
    let header = |name: &str| head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
    let rest = &received[head_length..];
    if header("transfer-encoding").is_some() {
        let (mut body, mut at) = (Vec::new(), 0);
        loop {
            let size =
                httparse::parse_chunk_size(&rest[at..]).map_err(|_| corrupt("a chunk without a size"))?;
            let httparse::Status::Complete((start, size)) = size else { return Ok(None) };
            let (start, end) = (at + start, at + start + size as usize);
            // Two bytes end every chunk.
            if rest.len() < end + 2 {
                return Ok(None);
            }
            body.extend_from_slice(&rest[start..end]);
            at = end + 2;
            if size == 0 {
                return Ok(Some((status, body, head_length + at)));
            }
        }
    }
    let length =
        header("content-length").and_then(|header| std::str::from_utf8(header.value).ok()?.parse().ok());
    let length: usize = length.ok_or_else(|| corrupt("an answer of unknown length"))?;
    Ok(rest.get(..length).map(|body| (status, body.to_vec(), head_length + length)))
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn failed(what: &str, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{what}: {error}"))
}

fn closed(error: &tungstenite::Error) -> Error {
    Error::new(ErrorKind::Io, format!("the connection was lost: {error}"))
}

fn corrupt(what: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("the server sent {what} in place of an answer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_http_end_by_their_length_or_their_last_chunk() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
        assert_eq!(http_answer(whole).unwrap(), Some((200, b"abc".to_vec(), whole.len())));
        assert_eq!(http_answer(&whole[..whole.len() - 1]).unwrap(), None);
        let chunks =
            b"HTTP/1.1 201 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\nHTTP";
        assert_eq!(http_answer(chunks).unwrap(), Some((201, b"abc".to_vec(), chunks.len() - 4)));
        for end in 0..chunks.len() - 4 {
            assert_eq!(http_answer(&chunks[..end]).unwrap(), None, "{end}");
        }
        assert!(http_answer(b"nothing\r\n\r\n").is_err());
    }
}
