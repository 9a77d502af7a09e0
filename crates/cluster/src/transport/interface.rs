//! `Transport`: what a node asks of the network between nodes.
//!
//! ```text
//! send(node, frame) ──> queue of that node ──network──> queue of frames that came ──> receive
//!        └── full: the sender waits
//! ```

use crate::record_id::NodeId;
use crate::transport::frame::Frame;
use std::fmt;

/// A frame that came.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceivedFrame {
    /// Who sent it: the network has proved that.
    pub from: NodeId,
    /// The frame.
    pub frame: Frame,
}

/// Why a frame is not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SendError {
    /// As many frames as may be are on their way to the node. There is room once it takes some.
    Full,
    /// It has more bytes than a frame may have.
    TooLarge,
    /// Nobody knows where the node is.
    UnknownNode,
}

/// A network, as one node uses it.
///
/// # What a network keeps to
///
/// - A frame that comes is one that its sender sent, whole.
/// - It may be lost, come twice, come late, and overtake others. Whoever asks has a deadline, and takes the first answer only
///   ([`crate::remote::open_questions`]).
/// - What comes to a node that has started again may be for the process before it.
/// - Frames on their way to one node are limited, and those to different nodes do not wait for each other: a node that takes
///   nothing makes its senders wait, and nobody else.
///
/// # Concurrency
///
/// No method waits. A network over sockets works in threads of its own, which neither read nor apply anything: they take
/// frames from queues and put them into others, and wake the thread of the node.
pub trait Transport {
    /// Sends a frame to a node, perhaps to this one.
    ///
    /// # Errors
    /// [`SendError`]. The frame is not on its way.
    fn send(&mut self, to: NodeId, frame: &Frame) -> Result<(), SendError>;

    /// The next frame that came; `None` if there is none yet.
    fn receive(&mut self) -> Option<ReceivedFrame>;

    /// Another node is a member and answers at `address`, `host:port`; or it is none any more. The owner of a node says so as the
    /// node applies it. A network that knows by itself where everybody is does nothing.
    fn set_peer(&mut self, _node: NodeId, _address: Option<&str>) {}
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "too many messages are on their way to the node",
            Self::TooLarge => "the message is too large",
            Self::UnknownNode => "nobody knows where the node is",
        })
    }
}

impl std::error::Error for SendError {}
