//! Traced transport: a node's connection to the network, which notes each frame that comes.

use crate::simulation::trace::Trace;
use evergraph_cluster::record_id::NodeId;
use evergraph_cluster::transport::frame::Frame;
use evergraph_cluster::transport::interface::{ReceivedFrame, SendError, Transport};
use evergraph_cluster::transport::memory::{MemoryNetwork, MemoryTransport};
use evergraph_storage::sync::Mutex;
use std::sync::Arc;

/// Of all nodes of a world.
pub type SharedTrace = Arc<Mutex<Trace>>;

#[derive(Debug)]
pub struct TracedTransport {
    node: NodeId,
    transport: MemoryTransport,
    trace: SharedTrace,
}

impl TracedTransport {
    pub fn new(node: NodeId, network: &MemoryNetwork, trace: SharedTrace) -> Self {
        Self { node, transport: network.connect(node), trace }
    }
}

impl Transport for TracedTransport {
    fn send(&mut self, to: NodeId, frame: &Frame) -> Result<(), SendError> {
        self.transport.send(to, frame)
    }

    fn receive(&mut self) -> Option<ReceivedFrame> {
        let received = self.transport.receive()?;
        self.trace.lock().add(&(self.node.0, received.from.0, received.frame.encode()));
        Some(received)
    }

    fn set_peer(&mut self, node: NodeId, address: Option<&str>) {
        self.transport.set_peer(node, address);
    }
}
