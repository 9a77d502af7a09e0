//! Stream: a TCP connection, with TLS or without, whose reads and writes end when the caller's time does.
//!
//! Reads of the system wait 50 ms at most, and look at the limit in between. So a server that sends nothing, or never ends,
//! cannot hold a thread longer than its caller wants, whatever lies above the stream.

use crate::url::ServerUrl;
use crate::wait_limit::{WaitEnd, WaitLimit};
use evergraph_graph::error::{Error, ErrorKind, Result};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a wait looks at its limit.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long one call of the system tries to connect.
const CONNECT_INTERVAL: Duration = Duration::from_secs(2);

/// A TCP connection, with TLS or without.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(Socket),
    Tls(Box<StreamOwned<ClientConnection, Socket>>),
}

/// A TCP connection that waits within limits.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: TcpStream,
    limit: WaitLimit,
    waiting: Waiting,
    /// How long a write may wait for the other end to read.
    unread_max: Duration,
    /// When it received something, or somebody began to wait.
    heard_at: Instant,
}

/// How long a read waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waiting {
    /// Until something comes, or nothing came for this long: then it would block.
    Until(Duration),
    /// Not at all.
    Never,
}

impl Stream {
    /// Connects to the host of `url`, with TLS if there is a `tls`.
    ///
    /// # Errors
    /// `io` if nobody listens there, or the TLS handshake fails; `cancelled`; `limit` after the time of `limit`.
    pub(crate) fn connect(
        url: &ServerUrl,
        tls: Option<&Arc<ClientConfig>>,
        limit: &WaitLimit,
    ) -> Result<Self> {
        let stream = connect_to_any(url, limit)?;
        let settle = || -> io::Result<()> {
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(POLL_INTERVAL))?;
            stream.set_write_timeout(Some(POLL_INTERVAL))
        };
        settle().map_err(|error| failed(url, "connect to", &error))?;
        let waiting = Waiting::Until(Duration::MAX);
        let mut socket = Socket {
            stream,
            limit: limit.clone(),
            waiting,
            unread_max: Duration::MAX,
            heard_at: Instant::now(),
        };
        let Some(tls) = tls else { return Ok(Self::Plain(socket)) };
        let name = ServerName::try_from(url.host.clone())
            .map_err(|error| Error::invalid(format!("{:?} is no name of a server: {error}", url.host)))?;
        let mut connection = ClientConnection::new(Arc::clone(tls), name)
            .map_err(|error| Error::invalid(format!("begin TLS with {}: {error}", url.authority())))?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket).map_err(|error| tls_failed(url, &error))?;
        }
        Ok(Self::Tls(Box::new(StreamOwned::new(connection, socket))))
    }

    /// The other end's address, if the system knows it.
    pub(crate) fn peer(&self) -> Option<IpAddr> {
        let socket = match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => &stream.sock,
        };
        socket.stream.peer_addr().ok().map(|address: SocketAddr| address.ip().to_canonical())
    }

    /// Waits within `limit` from now on; a read during which nothing comes for `silence` would block.
    pub(crate) fn wait_within(&mut self, limit: &WaitLimit, silence: Duration) {
        let socket = self.socket();
        socket.limit = limit.clone();
        socket.waiting = Waiting::Until(silence);
        socket.heard_at = Instant::now();
    }

    /// Reads do not wait from now on.
    pub(crate) fn wait_never(&mut self) {
        self.socket().waiting = Waiting::Never;
    }

    /// A write for which the other end reads nothing for `unread_max` would block, from now on.
    pub(crate) fn limit_writes(&mut self, unread_max: Duration) {
        self.socket().unread_max = unread_max;
    }

    fn socket(&mut self) -> &mut Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => &mut stream.sock,
        }
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(bytes),
            Self::Tls(stream) => stream.read(bytes),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let Waiting::Until(silence) = self.waiting else {
            self.stream.set_nonblocking(true)?;
            let read = self.stream.read(bytes);
            self.stream.set_nonblocking(false)?;
            return read;
        };
        loop {
            self.limit.check()?;
            match self.stream.read(bytes) {
                Err(error) if is_pause(&error) => {
                    if self.heard_at.elapsed() >= silence {
                        self.heard_at = Instant::now();
                        return Err(io::ErrorKind::WouldBlock.into());
                    }
                }
                read => {
                    self.heard_at = Instant::now();
                    return read;
                }
            }
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let began = Instant::now();
        loop {
            self.limit.check()?;
            match self.stream.write(bytes) {
                Err(error) if is_pause(&error) => {
                    if began.elapsed() >= self.unread_max {
                        return Err(io::ErrorKind::WouldBlock.into());
                    }
                }
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Whether a wait of the system is over, and nothing else.
fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
        && WaitEnd::of(error).is_none()
}

fn connect_to_any(url: &ServerUrl, limit: &WaitLimit) -> Result<TcpStream> {
    let addresses =
        (&*url.host, url.port).to_socket_addrs().map_err(|error| failed(url, "look up", &error))?;
    let addresses: Vec<SocketAddr> = addresses.collect();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "it has no address");
    for (at, address) in addresses.iter().enumerate() {
        // An address that does not answer leaves time for the others.
        let share = limit.time_left().map(|left| left / (addresses.len() - at) as u32);
        let limit = limit.clone().until(share.and_then(|share| Instant::now().checked_add(share)));
        match connect(address, &limit) {
            Ok(stream) => return Ok(stream),
            Err(error) if WaitEnd::of(&error) == Some(WaitEnd::Cancelled) => {
                return Err(failed(url, "connect to", &error));
            }
            Err(error) => last = error,
        }
    }
    Err(failed(url, "connect to", &last))
}

fn connect(address: &SocketAddr, limit: &WaitLimit) -> io::Result<TcpStream> {
    loop {
        limit.check()?;
        // The system's call cannot be stopped, so it is short, and made again.
        let time = limit.time_left().unwrap_or(Duration::MAX).min(CONNECT_INTERVAL);
        match TcpStream::connect_timeout(address, time.max(Duration::from_millis(1))) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {}
            ended => return ended,
        }
    }
}

/// `error` while something was done with the server.
pub(crate) fn failed(url: &ServerUrl, what: &str, error: &io::Error) -> Error {
    let text = format!("{what} {}: {error}", url.authority());
    match WaitEnd::of(error) {
        Some(WaitEnd::Cancelled) => Error::new(ErrorKind::Cancelled, text),
        Some(WaitEnd::Late) => Error::new(ErrorKind::Limit, text),
        None if error.kind() == io::ErrorKind::ConnectionRefused => {
            Error::new(ErrorKind::Io, format!("{text}; is `evergraph serve` running there?"))
        }
        None => Error::new(ErrorKind::Io, text),
    }
}

fn tls_failed(url: &ServerUrl, error: &io::Error) -> Error {
    let failed = failed(url, "begin TLS with", error);
    let Some(cause) = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>()) else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                Error::new(failed.kind(), format!("{failed}; it may be served without TLS, at ws://"))
            }
            _ => failed,
        };
    };
    let hint = match cause {
        rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer) => {
            "; name the root that signed the server's certificate, if you trust it"
        }
        rustls::Error::InvalidMessage(_) => "; it may be served without TLS, at ws://",
        rustls::Error::AlertReceived(_) => "; it may demand a client's certificate",
        _ => "",
    };
    Error::new(failed.kind(), format!("{failed}{hint}"))
}
