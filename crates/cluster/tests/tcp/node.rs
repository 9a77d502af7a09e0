//! A node of the tests: a network, what it sends and what comes.

use crate::certificates::Site;
use evergraph_cluster::record_id::{Author, NodeId};
use evergraph_cluster::remote::question::QuestionId;
use evergraph_cluster::transport::frame::Frame;
use evergraph_cluster::transport::interface::{SendError, Transport as _};
use evergraph_cluster::transport::tcp::link_error::LinkError;
use evergraph_cluster::transport::tcp::options::{LinkTimes, TcpOptions};
use evergraph_cluster::transport::tcp::statistics::PeerStatistics;
use evergraph_cluster::transport::tcp::transport::TcpTransport;
use evergraph_graph::error::Result;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Wake;
use std::thread::{Thread, current, park_timeout};
use std::time::{Duration, Instant};

/// The longest that a test waits for anything.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `is_so`.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        park_timeout(Duration::from_millis(5));
    }
}

/// Where the test binds: any port of loopback.
pub fn any_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// Limits of time that a busy machine keeps, and short pauses.
pub fn options() -> TcpOptions {
    let long = Duration::from_secs(20);
    let times = LinkTimes {
        connect: long,
        handshake: long,
        stalled: long,
        pause_first: Duration::from_millis(10),
        pause_max: Duration::from_millis(200),
    };
    TcpOptions { times, seed: 7, ..TcpOptions::default() }
}

/// A frame that is known by its number.
pub fn frame(number: u64) -> Frame {
    Frame::Forget(question_id(number))
}

pub fn question_id(number: u64) -> QuestionId {
    QuestionId { asker: Author { node: NodeId(0), incarnation: 0 }, number }
}

/// Wakes the thread of a node, and counts.
struct Wakes {
    thread: Thread,
    count: AtomicUsize,
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.thread.unpark();
    }
}

pub struct Node {
    pub id: NodeId,
    pub transport: TcpTransport,
    wakes: Arc<Wakes>,
}

impl Node {
    pub fn start(site: &Site, node: u16, options: TcpOptions) -> Self {
        Self::start_at(any_port(), site, node, options).unwrap()
    }

    pub fn start_at(listen: SocketAddr, site: &Site, node: u16, options: TcpOptions) -> Result<Self> {
        let wakes = Arc::new(Wakes { thread: current(), count: AtomicUsize::new(0) });
        let waker = Arc::clone(&wakes).into();
        let transport = TcpTransport::start(listen, site.identity(node), options, waker)?;
        Ok(Self { id: NodeId(node), transport, wakes })
    }

    /// How often it was woken.
    pub fn wakes(&self) -> usize {
        self.wakes.count.load(Ordering::Relaxed)
    }

    /// The other one is a member, there where it is.
    pub fn knows(&mut self, other: &Self) {
        self.knows_at(other.id.0, &other.transport.address().to_string());
    }

    pub fn knows_at(&mut self, node: u16, address: &str) {
        self.transport.set_peer(NodeId(node), Some(address));
    }

    pub fn send(&mut self, to: u16, number: u64) -> std::result::Result<(), SendError> {
        self.transport.send(NodeId(to), &frame(number))
    }

    /// The senders and numbers of what has come.
    pub fn received(&mut self) -> Vec<(u16, u64)> {
        std::iter::from_fn(|| self.transport.receive())
            .map(|received| match received.frame {
                Frame::Forget(id) => (received.from.0, id.number),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    /// What it says of another node that it knows.
    pub fn of(&self, node: u16) -> PeerStatistics {
        let peers = self.transport.monitor().peers();
        peers.into_iter().find(|peer| peer.node == NodeId(node)).unwrap()
    }

    /// Waits until its dials of another node fail so.
    pub fn fails_to(&mut self, node: u16, error: &LinkError) {
        eventually(&format!("the connection to node {node} fails: {error}"), || {
            // A node dials when it has something to send.
            let _ = self.send(node, 1);
            self.of(node).outgoing.last_failure.as_ref() == Some(error)
        });
    }

    /// Waits until a stranger is refused so.
    pub fn refuses(&self, what: &str, is_so: impl Fn(&LinkError) -> bool) {
        eventually(what, || self.transport.monitor().listener().last_failure.as_ref().is_some_and(&is_so));
    }
}

/// Each of the nodes knows the others.
pub fn meet(nodes: &mut [&mut Node]) {
    let all: Vec<_> = nodes.iter().map(|node| (node.id.0, node.transport.address().to_string())).collect();
    for node in nodes {
        all.iter().for_each(|(id, address)| node.knows_at(*id, address));
    }
}

/// Waits until what one node sends comes to another.
pub fn reaches(from: &mut Node, to: &mut Node) {
    // What was sent before this call does not count, whichever process of the node sent it.
    static CALLS: AtomicU64 = AtomicU64::new(1);
    let first = CALLS.fetch_add(1, Ordering::Relaxed) * 1_000_000;
    let (what, mut number) = (format!("{:?} reaches {:?}", from.id, to.id), first);
    eventually(&what, || {
        number += 1;
        let _ = from.send(to.id.0, number);
        to.received().iter().any(|(sender, number)| *sender == from.id.0 && *number > first)
    });
}
