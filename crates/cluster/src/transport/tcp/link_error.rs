//! Link error: why there is no connection to a node, or no longer, in words that a person can act on.

use crate::record_id::NodeId;
use crate::transport::tcp::hello::{HelloAnswer, PROTOCOL_VERSION};
use crate::transport::tcp::node_name::ClusterId;
use evergraph_graph::bytes::DecodeError;
use std::fmt;
use std::time::Duration;

/// Why there is no connection, or no longer.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LinkError {
    /// The address cannot be looked up.
    Unresolved {
        /// What the system says.
        reason: String,
    },
    /// Nobody accepts connections there.
    Unreachable {
        /// What the system says.
        reason: String,
    },
    /// It took too long.
    TimedOut {
        /// What did.
        step: LinkStep,
        /// How long it may take.
        limit: Duration,
    },
    /// The other side speaks something else than TLS.
    NotTls,
    /// The other side shows no certificate.
    NoCertificate,
    /// The certificate of the other side is signed by somebody else than the cluster's CA.
    OtherAuthority,
    /// The certificate of the other side is for other nodes of the cluster.
    OtherNode {
        /// The node that it is wanted for.
        wanted: NodeId,
        /// Those that it is for.
        found: Vec<NodeId>,
    },
    /// The certificate of the other side is for no node of the cluster.
    NoNodeOfCluster,
    /// The certificate of the other side has a wildcard, so that it is for every node.
    EveryNode,
    /// The certificate of the other side cannot be used: it is expired, say.
    BadCertificate {
        /// Why.
        reason: String,
    },
    /// The other side refused the handshake, and said so in the words of TLS.
    Alert {
        /// What it said.
        alert: String,
    },
    /// TLS failed otherwise.
    Tls {
        /// How.
        reason: String,
    },
    /// The other side did not begin with a hello.
    NoHello {
        /// What is wrong with what it sent.
        error: DecodeError,
    },
    /// The other side speaks another version of the protocol.
    OtherVersion {
        /// Which one.
        found: u8,
    },
    /// The other side is of another cluster.
    OtherCluster {
        /// Which one.
        found: ClusterId,
    },
    /// The other side looks for another node than this one.
    OtherReceiver {
        /// Which one.
        wanted: NodeId,
    },
    /// The other side is no node that this one knows.
    UnknownNode {
        /// Which one it is.
        node: NodeId,
    },
    /// The other side refused this node.
    Refused {
        /// What it said.
        answer: HelloAnswer,
    },
    /// What came is no frame.
    BadFrame {
        /// What is wrong with it.
        error: DecodeError,
    },
    /// Bytes came on a connection that this side alone sends on.
    Unasked,
    /// The other side took nothing for too long.
    Stalled {
        /// How long it may take nothing.
        limit: Duration,
    },
    /// The other side closed the connection.
    Closed,
    /// The node connected again: the newest connection counts.
    Replaced,
    /// Too many connections were beginning, and this was the oldest.
    Displaced,
    /// The system accepts no connection: out of files, say.
    NotAccepted {
        /// What the system says.
        reason: String,
    },
    /// Reading or writing failed otherwise.
    Io {
        /// What the system says.
        reason: String,
    },
}

/// A step on the way to a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkStep {
    /// Looking up the address.
    LookUp,
    /// Connecting.
    Connect,
    /// TLS and hellos.
    Handshake,
}

impl fmt::Display for LinkStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LookUp => "looking up the address",
            Self::Connect => "connecting",
            Self::Handshake => "the handshake",
        })
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unresolved { reason } => write!(f, "the address cannot be looked up: {reason}"),
            Self::Unreachable { reason } => write!(f, "nobody can be reached: {reason}"),
            Self::TimedOut { step, limit } => write!(f, "{step} took longer than {limit:?}"),
            Self::NotTls => {
                f.write_str("the other side does not speak TLS: it is no node, or something is in between")
            }
            Self::NoCertificate => f.write_str("the other side shows no certificate"),
            Self::OtherAuthority => f.write_str("the certificate is not signed by the cluster's CA"),
            Self::OtherNode { wanted, found } => {
                f.write_str("the certificate is for ")?;
                for (at, node) in found.iter().enumerate() {
                    write!(f, "{}node {}", if at > 0 { ", " } else { "" }, node.0)?;
                }
                write!(f, ", not for node {}", wanted.0)
            }
            Self::NoNodeOfCluster => f.write_str("the certificate is for no node of this cluster"),
            Self::EveryNode => f.write_str("the certificate is for every node: each needs one of its own"),
            Self::BadCertificate { reason } => write!(f, "the certificate cannot be used: {reason}"),
            Self::Alert { alert } => {
                write!(f, "the other side refused the handshake ({alert}): its own log says why")
            }
            Self::Tls { reason } => write!(f, "TLS failed: {reason}"),
            Self::NoHello { error } => write!(f, "the other side does not begin as a node does: {error}"),
            Self::OtherVersion { found } => {
                write!(f, "the other side speaks version {found} of the protocol, not {PROTOCOL_VERSION}")
            }
            Self::OtherCluster { found } => write!(f, "the other side is of the cluster {found}"),
            Self::OtherReceiver { wanted } => write!(f, "the other side looks for node {}", wanted.0),
            Self::UnknownNode { node } => write!(f, "node {} is no member that this node knows", node.0),
            Self::Refused { answer } => write!(f, "the other side refuses: {answer}"),
            Self::BadFrame { error } => write!(f, "what came is no frame: {error}"),
            Self::Unasked => f.write_str("the other side sent something where it should only read"),
            Self::Stalled { limit } => write!(f, "the other side took nothing for {limit:?}"),
            Self::Closed => f.write_str("the other side closed the connection"),
            Self::Replaced => f.write_str("the node connected again"),
            Self::Displaced => f.write_str("too many connections were beginning at once"),
            Self::NotAccepted { reason } => write!(f, "no connection can be accepted: {reason}"),
            Self::Io { reason } => f.write_str(reason),
        }
    }
}

impl std::error::Error for LinkError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_is_wrong_with_whom() {
        let other = |found: &[u16]| {
            let found = found.iter().copied().map(NodeId).collect();
            LinkError::OtherNode { wanted: NodeId(3), found }.to_string()
        };
        assert_eq!(other(&[2]), "the certificate is for node 2, not for node 3");
        assert_eq!(other(&[2, 5]), "the certificate is for node 2, node 5, not for node 3");
        let late = LinkError::TimedOut { step: LinkStep::Handshake, limit: Duration::from_secs(5) };
        assert_eq!(late.to_string(), "the handshake took longer than 5s");
        let refused = LinkError::Refused { answer: HelloAnswer::OtherCluster };
        assert_eq!(refused.to_string(), "the other side refuses: it is of another cluster");
    }
}
