//! Listener: accepts connections of other nodes, and reads frames from them.
//!
//! ```text
//! accept ──> stranger ──handshake──> the connection of a node, in place of the one before ──> frames ──> receive queue
//!              └── the oldest, when there are too many: closed
//! ```
//!
//! A stranger counts before its first byte is read. The newest finds room at the cost of the oldest, because a node
//! is through with its handshake soon: whoever wants to keep nodes out has to open connections faster than that, and
//! not merely to keep some open.

use crate::transport::frame::FrameReader;
use crate::transport::frame_counts::FrameTotal;
use crate::transport::tcp::certificate::stream_error;
use crate::transport::tcp::handshake::{Refusal, answer, linger};
use crate::transport::tcp::link_error::{LinkError, LinkStep};
use crate::transport::tcp::network::TcpNetwork;
use crate::transport::tcp::peer::{Acceptance, Peer};
use crate::transport::tcp::socket::prepare;
use crate::transport::tcp::statistics::LinkDirection;
use evergraph_storage::sync::Mutex;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

/// How long nothing is accepted after the system refused.
const PAUSE: Duration = Duration::from_millis(50);
/// Bytes that are read at once: what a record of TLS holds.
const READ_BYTES: usize = 16 << 10;

/// Accepts connections, for as long as it is awaited.
pub(super) async fn accept(network: Arc<TcpNetwork>, listener: TcpListener) {
    let strangers = Arc::new(Strangers::default());
    let mut links = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((tcp, address)) => strangers.admit(&network, &mut links, tcp, address),
                Err(error) => {
                    let reason = error.to_string();
                    network.stranger_failed("everybody".to_owned(), LinkError::NotAccepted { reason });
                    sleep(PAUSE).await;
                }
            },
            // Whatever ended has said why.
            Some(_) = links.join_next() => {}
        }
    }
}

/// Connections that have not proved whose they are.
#[derive(Debug, Default)]
struct Strangers {
    state: Mutex<StrangersState>,
}

#[derive(Debug, Default)]
struct StrangersState {
    /// Connections that were accepted.
    accepted: u64,
    /// By their numbers, so that the first is the oldest.
    tasks: BTreeMap<u64, (SocketAddr, AbortHandle)>,
}

impl Strangers {
    /// Takes a connection in, at the cost of the oldest if there are too many.
    fn admit(
        self: &Arc<Self>,
        network: &Arc<TcpNetwork>,
        links: &mut JoinSet<()>,
        tcp: TcpStream,
        address: SocketAddr,
    ) {
        // Held until the task is listed: it may be through before, and then looks for itself.
        let mut state = self.state.lock();
        state.accepted += 1;
        let number = state.accepted;
        let task = links.spawn(carry(Arc::clone(network), Arc::clone(self), number, tcp, address));
        state.tasks.insert(number, (address, task));
        let is_full = state.tasks.len() > network.options.handshakes_max.max(1);
        let displaced = if is_full { state.tasks.pop_first() } else { None };
        let beginning = state.tasks.len();
        drop(state);
        let mut listener = network.listener.lock();
        listener.accepted += 1;
        listener.beginning = beginning;
        drop(listener);
        if let Some((_, (address, task))) = displaced {
            task.abort();
            network.stranger_failed(address.to_string(), LinkError::Displaced);
        }
    }

    /// A connection is none of a stranger any more. Its task; `None` if it had to make room.
    fn leave(&self, network: &TcpNetwork, number: u64) -> Option<AbortHandle> {
        let mut state = self.state.lock();
        let left = state.tasks.remove(&number);
        let beginning = state.tasks.len();
        drop(state);
        network.listener.lock().beginning = beginning;
        left.map(|(_, task)| task)
    }
}

/// Carries a connection from its first byte to its last.
async fn carry(
    network: Arc<TcpNetwork>,
    strangers: Arc<Strangers>,
    number: u64,
    tcp: TcpStream,
    address: SocketAddr,
) {
    let times = network.options.times;
    prepare(&tcp, times.stalled);
    let is_known = |node| network.peer(node).is_some();
    let answered = timeout(times.handshake, answer(&network.identity, tcp, is_known)).await;
    let late = |_| -> Result<_, Refusal> {
        Err((LinkError::TimedOut { step: LinkStep::Handshake, limit: times.handshake }, None))
    };
    match answered.unwrap_or_else(late) {
        Err((error, rest)) => {
            network.stranger_failed(address.to_string(), error);
            if let Some(tcp) = rest {
                linger(tcp).await;
            }
            strangers.leave(&network, number);
        }
        Ok((mut stream, node)) => {
            let Some(task) = strangers.leave(&network, number) else { return };
            let Some(peer) = network.peer(node) else { return };
            let address = address.to_string();
            match peer.accept(number, task) {
                Acceptance::Only => {}
                Acceptance::InPlaceOfAnother => network.replaced(&peer, address.clone()),
                Acceptance::HasLeft => return,
            }
            network.connected(&peer, LinkDirection::Incoming, number, address.clone());
            let error = read(&network, &peer, &mut stream).await;
            network.failed(&peer, LinkDirection::Incoming, number, address, error);
        }
    }
}

/// Reads frames until the stream ends or has something else.
async fn read(network: &TcpNetwork, peer: &Peer, stream: &mut (impl AsyncRead + Unpin)) -> LinkError {
    let mut reader = FrameReader::default();
    let mut piece = vec![0; READ_BYTES];
    loop {
        let read = match stream.read(&mut piece).await {
            Ok(0) => return LinkError::Closed,
            Ok(read) => read,
            Err(error) => return stream_error(&error, None),
        };
        reader.push(&piece[..read]);
        let mut total = FrameTotal { frames: 0, bytes: read as u64 };
        loop {
            match reader.next_frame() {
                Ok(None) => break,
                Ok(Some(frame)) => {
                    network.received.put(peer.node, frame).await;
                    network.wake();
                    total.frames += 1;
                }
                Err(error) => return LinkError::BadFrame { error },
            }
        }
        peer.count_received(total);
    }
}
