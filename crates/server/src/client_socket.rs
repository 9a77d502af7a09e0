//! Client socket: the TCP connection of a client, and a watch that tells when the client has left.
//!
//! ```text
//! TLS or HTTP ── reads, writes ──> ClientSocket ──> the system
//! WebSocket, while it reads nothing ── DepartureWatch ──┘     the end of the stream, or RST
//! ```
//!
//! Whoever reads a connection meets its end behind all that was sent. A connection that has as many requests as it may is not
//! read, so its end is asked of the system, which knows it whatever was not read.

use evergraph_storage::planted::{Bug, planted};
use socket2::SockRef;
use std::future::pending;
use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::sleep;

/// How often the end is looked for while there are bytes that nobody reads.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Bytes that are read at once: the buffer is filled with zeros before, which costs less than a read of so many.
const READ_BYTES_MAX: usize = 64 << 10;

/// The TCP connection of a client. It is closed when this is dropped.
pub struct ClientSocket(Arc<TcpStream>);

/// Tells when the client of a [`ClientSocket`] has left, without reading what it sent.
#[derive(Clone)]
pub struct DepartureWatch(Weak<TcpStream>);

impl ClientSocket {
    /// Carries `stream`.
    #[must_use]
    pub fn new(stream: TcpStream) -> Self {
        Self(Arc::new(stream))
    }

    /// What tells when the client has left.
    #[must_use]
    pub fn watch(&self) -> DepartureWatch {
        DepartureWatch(Arc::downgrade(&self.0))
    }
}

impl DepartureWatch {
    /// Waits until the client has ended its side of the connection, or the connection is lost or closed.
    ///
    /// Cost: a look each 250 ms while there are bytes that nobody reads; else the system wakes it.
    pub async fn left(&self) {
        if planted(Bug::FullPipelinesUnwatched) {
            return pending().await;
        }
        loop {
            let Some(stream) = self.0.upgrade() else { return };
            match stream.ready(Interest::READABLE).await {
                Ok(found) if !found.is_read_closed() => {}
                // The end, or a connection that the system does not know any more.
                Ok(_) | Err(_) => return,
            }
            drop(stream);
            sleep(LOOK_EVERY).await;
        }
    }
}

impl AsyncRead for ClientSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(context))?;
            let room = buffer.remaining().min(READ_BYTES_MAX);
            match self.0.try_read(buffer.initialize_unfilled_to(room)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => {
                    return Poll::Ready(read.map(|count| buffer.advance(count)));
                }
            }
        }
    }
}

impl ClientSocket {
    fn poll_write_by(
        &self,
        context: &mut Context<'_>,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(context))?;
            match write(&self.0) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }
}

impl AsyncWrite for ClientSocket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_by(context, |stream| stream.try_write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_by(context, |stream| stream.try_write_vectored(bytes))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Nothing is kept back here.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match SockRef::from(&*self.0).shutdown(Shutdown::Write) {
            // The client was faster.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Poll::Ready(Ok(())),
            done => Poll::Ready(done),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    /// Longer than a look takes.
    const LONG: Duration = Duration::from_secs(30);

    async fn connected() -> (TcpStream, ClientSocket) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        (client.unwrap(), ClientSocket::new(accepted.unwrap().0))
    }

    #[tokio::test]
    async fn a_client_that_leaves_is_noticed_though_its_bytes_are_not_read() {
        for is_reset in [false, true] {
            let (mut client, socket) = connected().await;
            let watch = socket.watch();
            client.write_all(&[7; 10_000]).await.unwrap();
            let silence = Duration::from_millis(400);
            assert!(timeout(silence, watch.left()).await.is_err(), "it is there");
            if is_reset {
                client.set_zero_linger().unwrap();
            }
            drop(client);
            assert!(timeout(LONG, watch.left()).await.is_ok(), "it is gone, reset: {is_reset}");
        }
    }

    #[tokio::test]
    async fn bytes_go_both_ways_and_each_side_has_an_end() {
        let (mut client, mut socket) = connected().await;
        let watch = socket.watch();
        client.write_all(b"question").await.unwrap();
        let mut question = [0; 8];
        socket.read_exact(&mut question).await.unwrap();
        assert_eq!(&question, b"question");
        let parts = [IoSlice::new(b"ans"), IoSlice::new(b"wer")];
        assert_eq!(socket.write_vectored(&parts).await.unwrap(), 6);
        socket.shutdown().await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "answer");
        client.shutdown().await.unwrap();
        assert_eq!(socket.read(&mut [0; 8]).await.unwrap(), 0);
        drop(socket);
        assert!(timeout(LONG, watch.left()).await.is_ok(), "it was closed here");
    }

    /// More than the buffers of the system take, both ways at once.
    #[tokio::test]
    async fn much_is_sent_while_much_is_read() {
        let (client, socket) = connected().await;
        let bytes = vec![7_u8; 32 << 20];
        let (mut client_reads, mut client_writes) = tokio::io::split(client);
        let (mut reads, mut writes) = tokio::io::split(socket);
        let mut sent = vec![0; bytes.len()];
        let mut received = vec![0; bytes.len()];
        let all = async {
            tokio::try_join!(
                client_writes.write_all(&bytes),
                writes.write_all(&bytes),
                async { reads.read_exact(&mut received).await.map(drop) },
                async { client_reads.read_exact(&mut sent).await.map(drop) },
            )
        };
        timeout(LONG, all).await.expect("it goes on").unwrap();
        assert!(sent == bytes && received == bytes);
    }
}
