//! Node error: why a node stops, or does not take a record.

use crate::log::packer::PushError;
use crate::log::reader::ReadError;
use crate::record_id::Author;
use std::fmt;

/// Why a node stops.
#[derive(Debug)]
#[non_exhaustive]
pub enum NodeError {
    /// The log cannot be read on.
    Read(ReadError),
    /// The node cannot join: this incarnation or a later one has. It has written nothing but that it wants to. Once no other
    /// process is this node, it starts again, behind `known` ([`crate::node::incarnation::skip_to`]).
    NotJoined {
        /// Who asked.
        author: Author,
        /// The incarnation that joined last.
        known: u32,
    },
    /// Another process joined as this node while this one was starting: that one goes on. This one has written nothing but,
    /// perhaps, that it wants to join.
    Overtaken {
        /// Who has not joined.
        author: Author,
        /// The incarnation that joined last.
        known: u32,
    },
    /// The node has joined with a later incarnation, elsewhere or from another copy of its directory.
    Replaced {
        /// This process.
        author: Author,
        /// The incarnation that joined last.
        known: u32,
    },
    /// The node is no member any more.
    Left,
    /// It has stopped before, by another error.
    Stopped,
}

/// Why a record was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NodePushError {
    /// The node has not joined yet: an event of its loop tells when it has.
    Joining,
    /// The node has stopped.
    Stopped,
    /// The packer did not take it.
    Packer(PushError),
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "{error}"),
            Self::NotJoined { author, known } => write!(
                f,
                "{author} cannot join, since incarnation {known} has: another process is this node, or its directory was \
                 restored from a copy. See that no other process is this node, then start it again"
            ),
            Self::Overtaken { author, known } => write!(
                f,
                "{author} does not join, since another process joined as this node with incarnation {known} while this one was \
                 starting: that one goes on, and this one ends. A node runs once: start this one again only if the other has ended"
            ),
            Self::Replaced { author, known } => write!(
                f,
                "{author} has stopped, since the node joined with incarnation {known}: another process is this node now"
            ),
            Self::Left => f.write_str("the node is no member of the cluster any more"),
            Self::Stopped => f.write_str("the node has stopped: start it again"),
        }
    }
}

impl std::error::Error for NodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) => error.source(),
            Self::NotJoined { .. }
            | Self::Overtaken { .. }
            | Self::Replaced { .. }
            | Self::Left
            | Self::Stopped => None,
        }
    }
}

impl fmt::Display for NodePushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joining => f.write_str("the node has not joined yet"),
            Self::Stopped => f.write_str("the node has stopped: start it again"),
            Self::Packer(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for NodePushError {}
