//! Transport: the network over TCP as its node uses it.

use crate::record_id::NodeId;
use crate::remote::question::CONTENT_BYTES_MAX;
use crate::transport::frame::Frame;
use crate::transport::interface::{ReceivedFrame, SendError, Transport};
use crate::transport::tcp::dialler::dial;
use crate::transport::tcp::identity::NodeIdentity;
use crate::transport::tcp::listener::accept;
use crate::transport::tcp::monitor::NetworkMonitor;
use crate::transport::tcp::network::TcpNetwork;
use crate::transport::tcp::options::TcpOptions;
use crate::transport::tcp::peer::Peer;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle, Runtime};

/// How long the end of a network waits for its threads. Only a look-up of a name takes as long.
const END_TIME_MAX: Duration = Duration::from_secs(2);

/// A network over TCP, with threads of its own.
///
/// When it is dropped, its threads and its connections end, and nobody listens any more. Frames that waited are
/// dropped.
#[derive(Debug)]
pub struct TcpTransport {
    network: Arc<TcpNetwork>,
    address: SocketAddr,
    /// Tasks that have dialled other nodes.
    diallers: u64,
    /// There until it ends.
    runtime: Option<Runtime>,
}

impl TcpTransport {
    /// Listens at `listen`, whose port may be 0, and knows no other node yet.
    ///
    /// `waker` is woken when a frame came, and when a queue that was full may have room again. That happens on
    /// threads of the network: it must not wait. A thread is woken by [`std::thread::Thread::unpark`], say.
    ///
    /// # Errors
    /// `busy` if somebody else listens there; `io`.
    pub fn start(
        listen: SocketAddr,
        identity: NodeIdentity,
        options: TcpOptions,
        waker: Waker,
    ) -> Result<Self> {
        let failed = |error: io::Error| {
            let (kind, action) = match error.kind() {
                io::ErrorKind::AddrInUse => {
                    (ErrorKind::Busy, ": another process listens there, such as another node")
                }
                io::ErrorKind::AddrNotAvailable => (
                    ErrorKind::Io,
                    ": this machine has no such address. The folder may be that of another node; where others reach this machine at an \
                     address that it does not have itself, set `listen` in node.toml, such as \"0.0.0.0:7400\"",
                ),
                _ => (ErrorKind::Io, ""),
            };
            Error::new(kind, format!("listen at {listen} for other nodes: {error}{action}")).because(error)
        };
        let listener = std::net::TcpListener::bind(listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(options.worker_threads.max(1))
            .max_blocking_threads(options.lookup_threads.max(1))
            .thread_name(format!("network-{}", identity.node().0))
            .enable_all()
            .build()
            .map_err(|error| {
                Error::new(ErrorKind::Io, format!("start threads of the network: {error}")).because(error)
            })?;
        let network = Arc::new(TcpNetwork::new(identity, options, waker));
        let listener = {
            let _within = runtime.enter();
            TcpListener::from_std(listener).map_err(failed)?
        };
        runtime.spawn(accept(Arc::clone(&network), listener));
        Ok(Self { network, address, diallers: 0, runtime: Some(runtime) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `node` is a member, which answers at `address`, `host:port`; or it is none any more.
    ///
    /// The address is looked up again at each dial. Another address than before ends the connection to the node: what
    /// is being sent is lost, what waits is sent there. A node that is no member any more is neither dialled nor let
    /// in, and what waits for it or came from it is dropped. For this node itself nothing happens.
    pub fn set_peer(&mut self, node: NodeId, address: Option<&str>) {
        if node == self.network.identity.node() {
            return;
        }
        match address {
            None => {
                let left = self.network.peers.lock().remove(&node);
                if let Some(peer) = left {
                    peer.leave();
                    self.network.received.close(node);
                }
            }
            Some(address) => self.dial_at(node, address),
        }
    }

    fn dial_at(&mut self, node: NodeId, address: &str) {
        let Some(runtime) = &self.runtime else { return };
        let peer = match self.network.peer(node) {
            Some(peer) if peer.is_at(address) => return,
            Some(peer) => peer,
            None => {
                let peer = Arc::new(Peer::new(node, address, self.network.options.outgoing));
                self.network.received.open(node);
                self.network.peers.lock().insert(node, Arc::clone(&peer));
                peer
            }
        };
        self.diallers += 1;
        let (network, number) = (Arc::clone(&self.network), self.diallers);
        let dialler = dial(network, Arc::clone(&peer), number, address.into());
        peer.dial_by(number, address, || runtime.spawn(dialler).abort_handle());
    }

    /// Looks at it, from any thread.
    #[must_use]
    pub fn monitor(&self) -> NetworkMonitor {
        NetworkMonitor { network: Arc::clone(&self.network) }
    }
}

impl Transport for TcpTransport {
    fn set_peer(&mut self, node: NodeId, address: Option<&str>) {
        Self::set_peer(self, node, address);
    }

    fn send(&mut self, to: NodeId, frame: &Frame) -> std::result::Result<(), SendError> {
        if frame.content_bytes() > CONTENT_BYTES_MAX {
            return Err(SendError::TooLarge);
        }
        let has_room = if to == self.network.identity.node() {
            let has_room = self.network.received.put_now(to, frame.clone());
            if has_room {
                self.network.wake();
            }
            has_room
        } else {
            let peer = self.network.peer(to).ok_or(SendError::UnknownNode)?;
            peer.queue.push(frame.content_bytes(), || frame.encode())
        };
        if has_room { Ok(()) } else { Err(SendError::Full) }
    }

    fn receive(&mut self) -> Option<ReceivedFrame> {
        let (received, news) = self.network.received.take()?;
        // A connection that waits for room is woken by the queue; this node itself is not.
        if received.from == self.network.identity.node() {
            self.network.wake_for(news);
        }
        Some(received)
    }
}

impl Drop for TcpTransport {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        match Handle::try_current() {
            // A thread that carries tasks itself must not wait.
            Ok(_) => runtime.shutdown_background(),
            Err(_) => runtime.shutdown_timeout(END_TIME_MAX),
        }
    }
}
