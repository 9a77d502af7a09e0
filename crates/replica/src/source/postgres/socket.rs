//! `Socket`: bytes to and from a server, over TCP or a socket in the file system, with TLS or without.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use evergraph_graph::cancel::CancelFlag;
use postgres_protocol::message::frontend;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use crate::source::error::{SourceError, SourceResult};
use crate::source::postgres::settings::{ChannelBindingMode, ConnectionSettings, Host, SslMode};
use crate::source::postgres::tls;
use crate::wire::startup::{Binding, ClearText};

/// How long one call of the system waits while somebody may cancel.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long a server may leave a small message of ours unread.
const WRITE_TIME_MAX: Duration = Duration::from_secs(30);
/// Bytes of TLS at once behind which there may be more: it gives 4 KiB at once, with what encrypts them.
const TLS_BYTES: usize = 2 << 10;

/// A connection's bytes.
#[derive(Debug)]
pub struct Socket {
    bytes: Bytes,
    /// What ties a log-in to TLS.
    binding: Binding,
    read_timeout: Option<Duration>,
}

#[derive(Debug)]
enum Bytes {
    Plain(Transport),
    Tls(Box<StreamOwned<ClientConnection, Transport>>),
}

#[derive(Debug)]
enum Transport {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Socket {
    /// Connects, and agrees on TLS as `settings` ask, until `deadline`.
    ///
    /// # Errors
    /// If nobody listens there, TLS is refused or its certificate is not trusted.
    pub fn connect(settings: &ConnectionSettings, deadline: Deadline<'_>) -> SourceResult<Self> {
        let doing = || format!("connect to {}", settings.place());
        let transport = match &settings.host {
            Host::Tcp(host) => Transport::Tcp(
                connect_tcp(host, settings.port, deadline).map_err(|error| deadline.error(doing(), error))?,
            ),
            #[cfg(unix)]
            Host::Unix(folder) => {
                let path = folder.join(format!(".s.PGSQL.{}", settings.port));
                Transport::Unix(UnixStream::connect(path).map_err(|error| deadline.error(doing(), error))?)
            }
            #[cfg(not(unix))]
            Host::Unix(_) => {
                return Err(SourceError::Invalid(format!("{}: this system has no such sockets", doing())));
            }
        };
        let set = || {
            transport.set_read_timeout(Some(POLL_INTERVAL))?;
            transport.set_write_timeout(Some(WRITE_TIME_MAX))
        };
        set().map_err(|error| SourceError::Io { doing: doing(), error })?;
        let mut socket = Self {
            bytes: Bytes::Plain(transport),
            binding: Binding::None,
            read_timeout: Some(POLL_INTERVAL),
        };
        // As libpq: a socket in the file system has no TLS.
        match &settings.host {
            Host::Tcp(host) if settings.tls.mode != SslMode::Disable => {
                socket.begin_tls(settings, host, deadline)?
            }
            _ => {}
        }
        if settings.channel_binding == ChannelBindingMode::Require && socket.binding == Binding::None {
            return Err(SourceError::Invalid(format!(
                "{}: channel_binding=require needs TLS and a certificate signed with SHA-2, and this connection has none",
                doing()
            )));
        }
        Ok(socket)
    }

    /// What ties a log-in to this connection.
    #[must_use]
    pub fn binding(&self) -> &Binding {
        &self.binding
    }

    /// Whether a password may be sent here as it is: with TLS, or where it does not leave the machine.
    #[must_use]
    pub fn clear_text(&self) -> ClearText {
        match &self.bytes {
            Bytes::Tls(_) => ClearText::Allowed,
            Bytes::Plain(Transport::Tcp(stream)) => {
                stream.peer_addr().map_or(ClearText::Refused, |address| clear_text_to(address.ip()))
            }
            #[cfg(unix)]
            Bytes::Plain(Transport::Unix(_)) => ClearText::Allowed,
        }
    }

    /// Receives bytes, waiting until `deadline`; none at the connection's end.
    ///
    /// # Errors
    /// If it broke, or the deadline passed.
    pub fn receive(
        &mut self,
        space: &mut [u8],
        deadline: Deadline<'_>,
        doing: &dyn Fn() -> String,
    ) -> SourceResult<usize> {
        loop {
            deadline.check(doing)?;
            let wait = deadline.left().unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL);
            match self.receive_within(space, wait) {
                Ok(Some(count)) => return Ok(count),
                Ok(None) => {}
                Err(error) => return Err(SourceError::Io { doing: doing(), error }),
            }
        }
    }

    /// Receives bytes, waiting `time_max` at most; `None` if nothing came, 0 at the connection's end.
    ///
    /// # Errors
    /// If it broke.
    pub fn receive_within(&mut self, space: &mut [u8], time_max: Duration) -> io::Result<Option<usize>> {
        let timeout = time_max.max(Duration::from_millis(1));
        if self.read_timeout != Some(timeout) {
            self.transport().set_read_timeout(Some(timeout))?;
            self.read_timeout = Some(timeout);
        }
        let read = match &mut self.bytes {
            Bytes::Plain(transport) => transport.read(space),
            Bytes::Tls(stream) => stream.read(space),
        };
        match read {
            Ok(count) => Ok(Some(count)),
            Err(error) if is_pause(&error) => Ok(None),
            // Servers close without TLS's good-bye; the protocol has its own ends.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Some(0)),
            Err(error) => Err(error),
        }
    }

    /// Whether nothing more was there when `count` bytes were received into a space of `space_bytes`. With TLS more may be said
    /// to be there than is.
    #[must_use]
    pub fn is_emptied_by(&self, count: usize, space_bytes: usize) -> bool {
        match &self.bytes {
            Bytes::Plain(_) => count < space_bytes,
            Bytes::Tls(_) => count < TLS_BYTES,
        }
    }

    /// Sends all of `bytes`.
    ///
    /// # Errors
    /// If the connection broke, or the server leaves them unread for half a minute.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.bytes {
            Bytes::Plain(transport) => transport.write_all(bytes),
            Bytes::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }

    /// Ends the connection at once.
    pub fn close(&self) {
        // It may be gone already.
        let _gone = match &self.bytes {
            Bytes::Plain(transport) => transport.shutdown(),
            Bytes::Tls(stream) => stream.sock.shutdown(),
        };
    }

    fn transport(&self) -> &Transport {
        match &self.bytes {
            Bytes::Plain(transport) => transport,
            Bytes::Tls(stream) => &stream.sock,
        }
    }

    fn begin_tls(
        &mut self,
        settings: &ConnectionSettings,
        host: &str,
        deadline: Deadline<'_>,
    ) -> SourceResult<()> {
        let doing = || format!("begin TLS with {}", settings.place());
        let mut request = BytesMut::new();
        frontend::ssl_request(&mut request);
        self.send(&request).map_err(|error| SourceError::Io { doing: doing(), error })?;
        // One byte and no more: what follows belongs to TLS.
        let mut answer = [0];
        match (self.receive(&mut answer, deadline, &doing)?, answer) {
            (1, [b'S']) => {}
            (1, [b'N']) if settings.tls.mode == SslMode::Prefer => return Ok(()),
            (1, [b'N']) => {
                return Err(SourceError::Invalid(format!(
                    "{}: the server has no TLS; set ssl = on there, or use sslmode=disable if nobody can read along",
                    doing()
                )));
            }
            _ => {
                return Err(SourceError::Invalid(format!(
                    "{}: what answers is no PostgreSQL server",
                    doing()
                )));
            }
        }
        let name = ServerName::try_from(host.to_owned()).map_err(|error| {
            SourceError::Invalid(format!("{}: {host:?} is no name of a server: {error}", doing()))
        })?;
        let mut connection = ClientConnection::new(tls::config(&settings.tls)?, name)
            .map_err(|error| SourceError::Invalid(format!("{}: {error}", doing())))?;
        let Bytes::Plain(transport) = &mut self.bytes else { return Ok(()) };
        while connection.is_handshaking() {
            deadline.check(&doing)?;
            match connection.complete_io(transport) {
                Err(error) if is_pause(&error) => {}
                Err(error) => {
                    let reason = error.get_ref().and_then(|cause| cause.downcast_ref()).map(tls::reason);
                    return Err(match reason {
                        Some(reason) => SourceError::Untrusted(format!("{}: {reason}", doing())),
                        None => SourceError::Io { doing: doing(), error },
                    });
                }
                Ok(_) => {}
            }
        }
        if settings.channel_binding != ChannelBindingMode::Disable {
            let certificate = connection.peer_certificates().and_then(|chain| chain.first());
            self.binding =
                certificate.and_then(tls::end_point_hash).map_or(Binding::None, Binding::ServerEndPoint);
        }
        let transport = transport.try_clone().map_err(|error| SourceError::Io { doing: doing(), error })?;
        self.bytes = Bytes::Tls(Box::new(StreamOwned::new(connection, transport)));
        Ok(())
    }
}

/// When a wait ends.
#[derive(Clone, Copy, Debug)]
pub struct Deadline<'a> {
    began: Instant,
    limit: Duration,
    cancel: &'a CancelFlag,
}

impl<'a> Deadline<'a> {
    /// `limit` from now on, or when `cancel` is set.
    #[must_use]
    pub fn within(limit: Duration, cancel: &'a CancelFlag) -> Self {
        Self { began: Instant::now(), limit, cancel }
    }

    fn left(self) -> Option<Duration> {
        self.limit.checked_sub(self.began.elapsed())
    }

    fn check(self, doing: &dyn Fn() -> String) -> SourceResult<()> {
        if self.cancel.is_cancelled() {
            return Err(SourceError::Cancelled { doing: doing() });
        }
        match self.left() {
            Some(left) if !left.is_zero() => Ok(()),
            _ => Err(SourceError::Late { doing: doing(), limit: self.limit }),
        }
    }

    fn error(self, doing: String, error: io::Error) -> SourceError {
        if self.cancel.is_cancelled() {
            SourceError::Cancelled { doing }
        } else if is_pause(&error) {
            SourceError::Late { doing, limit: self.limit }
        } else {
            SourceError::Io { doing, error }
        }
    }
}

fn connect_tcp(host: &str, port: u16, deadline: Deadline<'_>) -> io::Result<TcpStream> {
    /// How long one call of the system tries to connect: it cannot be stopped.
    const CONNECT_INTERVAL: Duration = Duration::from_secs(2);
    let addresses: Vec<_> = (host, port).to_socket_addrs()?.collect();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "it has no address");
    let mut left = addresses.len() as u32;
    for address in addresses {
        // An address that does not answer leaves time for the others.
        let share = deadline.left().unwrap_or_default() / left;
        left -= 1;
        let began = Instant::now();
        while let Some(time) = share.checked_sub(began.elapsed()).filter(|time| !time.is_zero()) {
            if deadline.cancel.is_cancelled() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match TcpStream::connect_timeout(
                &address,
                time.min(CONNECT_INTERVAL).max(Duration::from_millis(1)),
            ) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
            if last.kind() != io::ErrorKind::TimedOut {
                break;
            }
        }
    }
    Err(last)
}

/// Whether a password may be sent to `address` without TLS.
fn clear_text_to(address: IpAddr) -> ClearText {
    if address.to_canonical().is_loopback() { ClearText::Allowed } else { ClearText::Refused }
}

/// Whether a wait of the system is over, and nothing else.
fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

macro_rules! of_transport {
    ($transport:expr, $stream:ident => $call:expr) => {
        match $transport {
            Transport::Tcp($stream) => $call,
            #[cfg(unix)]
            Transport::Unix($stream) => $call,
        }
    };
}

impl Transport {
    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        of_transport!(self, stream => stream.set_read_timeout(timeout))
    }

    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        of_transport!(self, stream => stream.set_write_timeout(timeout))
    }

    fn shutdown(&self) -> io::Result<()> {
        of_transport!(self, stream => stream.shutdown(Shutdown::Both))
    }

    fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            #[cfg(unix)]
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }
}

impl Read for Transport {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        of_transport!(self, stream => stream.read(bytes))
    }
}

impl Write for Transport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        of_transport!(self, stream => stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        of_transport!(self, stream => stream.flush())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_socket_is_emptied_by_less_than_there_was_space_for_and_tls_by_less_than_it_gives_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let transport = || Transport::Tcp(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let socket = |bytes| Socket { bytes, binding: Binding::None, read_timeout: None };
        let plain = socket(Bytes::Plain(transport()));
        assert!(plain.is_emptied_by(65_535, 65_536) && !plain.is_emptied_by(65_536, 65_536));
        let settings =
            ConnectionSettings::from_url_and("postgres://a@h/d?sslmode=require", &|_| None).unwrap();
        let name = ServerName::try_from("h").unwrap();
        let connection = ClientConnection::new(tls::config(&settings.tls).unwrap(), name).unwrap();
        let encrypted = socket(Bytes::Tls(Box::new(StreamOwned::new(connection, transport()))));
        // 4 KiB of the socket, less what encrypts them.
        assert!(!encrypted.is_emptied_by(3000, 65_536) && encrypted.is_emptied_by(1000, 65_536));
    }

    #[test]
    fn a_password_leaves_the_machine_only_by_tls() {
        for (address, expected) in [
            ("127.0.0.1", ClearText::Allowed),
            ("::1", ClearText::Allowed),
            ("::ffff:127.0.0.1", ClearText::Allowed),
            ("10.0.0.1", ClearText::Refused),
            ("fe80::1", ClearText::Refused),
            ("0.0.0.0", ClearText::Refused),
        ] {
            assert_eq!(clear_text_to(address.parse().unwrap()), expected, "{address}");
        }
    }
}
