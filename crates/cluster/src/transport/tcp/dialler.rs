//! Dialler: one task for each other node, which connects when something is to be sent, and sends.
//!
//! ```text
//! wait for a frame ──> look up, connect, handshake ──> send ... until it fails
//!      ^                       │ failed                         │
//!      └────── pause <── what waits is dropped <────────────────┘
//! ```

use crate::record_id::NodeId;
use crate::transport::tcp::backoff::Backoff;
use crate::transport::tcp::certificate::stream_error;
use crate::transport::tcp::handshake::greet;
use crate::transport::tcp::link_error::{LinkError, LinkStep};
use crate::transport::tcp::network::TcpNetwork;
use crate::transport::tcp::peer::{Batch, Peer};
use crate::transport::tcp::socket::prepare;
use crate::transport::tcp::statistics::LinkDirection;
use evergraph_graph::split_mix::mix;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufWriter};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_rustls::client::TlsStream;

/// Addresses of a name that are tried.
const ADDRESSES_MAX: usize = 8;
/// The longest time for connecting, so that a deadline can be told.
const CONNECT_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Bytes of small frames that are given to TLS together: what a record of TLS holds.
const WRITE_BYTES: usize = 16 << 10;

/// Sends what waits for `peer` to `address`, for as long as it is awaited.
pub(super) async fn dial(network: Arc<TcpNetwork>, peer: Arc<Peer>, number: u64, address: Box<str>) {
    let times = network.options.times;
    let seed = seed_of(network.options.seed, network.identity.node(), peer.node);
    let mut backoff = Backoff::new(times.pause_first, times.pause_max, seed);
    let mut look_up = LookUp::default();
    loop {
        peer.queue.wait().await;
        let error = match connect(&network, peer.node, &address, &mut look_up).await {
            Err(error) => error,
            Ok(stream) => {
                network.connected(&peer, LinkDirection::Outgoing, number, address.to_string());
                let began = Instant::now();
                let error = carry(&network, &peer, stream).await;
                // One that lets connections in and closes them again is not dialled the faster for it.
                if began.elapsed() >= times.pause_max {
                    backoff.reset();
                }
                error
            }
        };
        network.wake_for(peer.drop_waiting());
        network.failed(&peer, LinkDirection::Outgoing, number, address.to_string(), error);
        sleep(backoff.pause()).await;
    }
}

/// Each pair of nodes has pauses of its own.
fn seed_of(seed: u64, from: NodeId, to: NodeId) -> u64 {
    mix(seed ^ mix(u64::from(from.0) << 16 | u64::from(to.0)))
}

async fn connect(
    network: &TcpNetwork,
    wanted: NodeId,
    address: &str,
    look_up: &mut LookUp,
) -> Result<TlsStream<TcpStream>, LinkError> {
    let times = network.options.times;
    let deadline = Instant::now() + times.connect.min(CONNECT_MAX);
    let late = |step, limit| LinkError::TimedOut { step, limit };
    let found = timeout_at(deadline, look_up.addresses(address)).await;
    let found = found.unwrap_or_else(|_| Err(late(LinkStep::LookUp, times.connect)))?;
    let tcp = connect_to(&found, deadline)
        .await
        .map_err(|error| error.unwrap_or_else(|| late(LinkStep::Connect, times.connect)))?;
    prepare(&tcp, times.stalled);
    let greeted = timeout(times.handshake, greet(&network.identity, wanted, tcp)).await;
    greeted.unwrap_or_else(|_| Err(late(LinkStep::Handshake, times.handshake)))
}

/// Connects to the first address that answers. Each has as much of the time that is left as the ones after it.
///
/// # Errors
/// The last one's; `None` if that took too long.
async fn connect_to(addresses: &[SocketAddr], deadline: Instant) -> Result<TcpStream, Option<LinkError>> {
    let mut last = Some(LinkError::Unresolved { reason: "the name has no address".to_owned() });
    for (at, address) in addresses.iter().enumerate() {
        let left = (addresses.len() - at) as u32;
        let limit = deadline.saturating_duration_since(Instant::now()) / left;
        last = match timeout(limit, TcpStream::connect(*address)).await {
            Ok(Ok(tcp)) => return Ok(tcp),
            Ok(Err(error)) => Some(LinkError::Unreachable { reason: format!("{address}: {error}") }),
            Err(_) => None,
        };
    }
    Err(last)
}

/// Looks an address up. The system offers no look-up that can be given up: one that takes too long is waited for by
/// the next dial, so that each node has one at a time.
#[derive(Debug, Default)]
struct LookUp {
    running: Option<JoinHandle<io::Result<Vec<SocketAddr>>>>,
}

impl LookUp {
    async fn addresses(&mut self, address: &str) -> Result<Vec<SocketAddr>, LinkError> {
        if let Ok(address) = address.parse() {
            return Ok(vec![address]);
        }
        let running = self.running.get_or_insert_with(|| {
            let name = address.to_owned();
            spawn_blocking(move || Ok(name.to_socket_addrs()?.take(ADDRESSES_MAX).collect()))
        });
        let found = running.await;
        self.running = None;
        let unresolved = |reason| LinkError::Unresolved { reason };
        found
            .map_err(|error| unresolved(error.to_string()))?
            .map_err(|error| unresolved(format!("{address}: {error}")))
    }
}

/// Sends what waits, until the connection fails.
async fn carry(network: &TcpNetwork, peer: &Arc<Peer>, stream: TlsStream<TcpStream>) -> LinkError {
    let (mut reader, writer) = tokio::io::split(stream);
    let writer = BufWriter::with_capacity(WRITE_BYTES, writer);
    tokio::select! {
        error = send(network, peer, writer) => error,
        error = closed(&mut reader) => error,
    }
}

async fn send(
    network: &TcpNetwork,
    peer: &Arc<Peer>,
    mut writer: BufWriter<impl AsyncWrite + Unpin>,
) -> LinkError {
    let limit = network.options.times.stalled;
    loop {
        peer.queue.wait().await;
        let (batch, news) = Batch::take(peer);
        network.wake_for(news);
        for frame in batch.frames() {
            if let Err(error) = write(&mut writer, frame, limit).await {
                return error;
            }
        }
        if let Err(error) = in_time(limit, writer.flush()).await {
            return error;
        }
        batch.sent();
    }
}

async fn write(
    writer: &mut BufWriter<impl AsyncWrite + Unpin>,
    mut bytes: &[u8],
    limit: Duration,
) -> Result<(), LinkError> {
    while !bytes.is_empty() {
        // Not `write_all`: a large frame may take long, as long as something of it is taken.
        match in_time(limit, writer.write(bytes)).await? {
            0 => return Err(LinkError::Closed),
            written => bytes = &bytes[written..],
        }
    }
    Ok(())
}

async fn in_time<T>(limit: Duration, step: impl Future<Output = io::Result<T>>) -> Result<T, LinkError> {
    match timeout(limit, step).await {
        Ok(done) => done.map_err(|error| stream_error(&error, None)),
        Err(_) => Err(LinkError::Stalled { limit }),
    }
}

/// Waits until the other side closes the connection: it sends nothing on it.
async fn closed(reader: &mut (impl AsyncRead + Unpin)) -> LinkError {
    match reader.read(&mut [0]).await {
        Ok(0) => LinkError::Closed,
        Ok(_) => LinkError::Unasked,
        Err(error) => stream_error(&error, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[tokio::test]
    async fn an_address_is_a_number_or_a_name_with_a_port() {
        let mut look_up = LookUp::default();
        let found = look_up.addresses("[::1]:7000").await;
        assert_eq!(found, Ok(vec![SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 7000))]));
        let found = look_up.addresses("localhost:7000").await.unwrap();
        assert!(
            found.iter().all(|address| address.port() == 7000 && address.ip().is_loopback()),
            "{found:?}"
        );
        for bad in ["localhost", "localhost:", "localhost:70000", ""] {
            let found = look_up.addresses(bad).await;
            assert!(matches!(found, Err(LinkError::Unresolved { .. })), "{bad}: {found:?}");
        }
        assert!(look_up.running.is_none());
    }

    #[tokio::test]
    async fn the_first_address_that_answers_is_taken() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let open = listener.local_addr().unwrap();
        let unused = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        let tcp = connect_to(&[unused, open], deadline).await.unwrap();
        assert_eq!(tcp.peer_addr().unwrap(), open);
        let refused = connect_to(&[unused], deadline).await.unwrap_err();
        assert!(matches!(refused, Some(LinkError::Unreachable { .. })), "{refused:?}");
        assert!(matches!(connect_to(&[], deadline).await, Err(Some(LinkError::Unresolved { .. }))));
    }

    #[tokio::test]
    async fn whoever_takes_nothing_is_not_waited_for() {
        let limit = Duration::from_millis(20);
        // Nobody reads from the other end, which has room for 64 bytes.
        let (near, _far) = tokio::io::duplex(64);
        let mut writer = BufWriter::with_capacity(16, near);
        assert_eq!(write(&mut writer, &[7; 64], limit).await, Ok(()));
        assert_eq!(write(&mut writer, &[7; 64], limit).await, Err(LinkError::Stalled { limit }));
    }

    #[tokio::test]
    async fn the_other_side_says_nothing_but_that_it_closes() {
        let (mut near, far) = tokio::io::duplex(64);
        drop(far);
        assert_eq!(closed(&mut near).await, LinkError::Closed);
        let (mut near, mut far) = tokio::io::duplex(64);
        far.write_all(b"x").await.unwrap();
        assert_eq!(closed(&mut near).await, LinkError::Unasked);
    }
}
