//! Statistics: what a network has carried, what was lost on the way to it, and why there is no connection.

use crate::record_id::NodeId;
use crate::transport::frame_counts::FrameTotal;
use crate::transport::tcp::link_error::LinkError;

/// One direction between two nodes: all connections since the node became known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinkStatistics {
    /// Whether there is a connection.
    pub is_connected: bool,
    /// Connections that there were.
    pub connects: u64,
    /// Dials that failed, and connections that ended.
    pub failures: u64,
    /// Why the last of these failed or ended; also when there is another connection since.
    pub last_failure: Option<LinkError>,
    /// What was carried: given to the system, or read from it.
    pub carried: FrameTotal,
    /// What waits: to be sent, or to be received by this node.
    pub waiting: FrameTotal,
}

/// This node and another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerStatistics {
    /// The other node.
    pub node: NodeId,
    /// Where it is dialled.
    pub address: String,
    /// From here to there.
    pub outgoing: LinkStatistics,
    /// From there to here.
    pub incoming: LinkStatistics,
    /// What waited or was being sent when its connection failed: it was dropped. Of what was being sent some may have
    /// come.
    pub dropped: FrameTotal,
}

/// Connections of others that did not get as far as to prove whose they are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListenerStatistics {
    /// Connections that were accepted, of nodes and others.
    pub accepted: u64,
    /// Those that were closed before it was known whose they are.
    pub failures: u64,
    /// Why the last of these was.
    pub last_failure: Option<LinkError>,
    /// Connections at present that have not proved whose they are.
    pub beginning: usize,
}

/// Which of two nodes sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkDirection {
    /// This one.
    Outgoing,
    /// The other one.
    Incoming,
}
