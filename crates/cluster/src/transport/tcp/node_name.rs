//! Node name: the DNS name that the certificate of a node has, and which says what node of what cluster it is.
//!
//! ```text
//! node-7.0f1e2d3c4b5a69788796a5b4c3d2e1f0.evergraph
//!      │ └ the cluster: 32 hexadecimal digits
//!      └ the node: decimal
//! ```
//!
//! It is a subject alternative name of the certificate, as for any server, so that every tool that signs certificates
//! can make one; nobody looks it up. Where a node answers is told by the members of the cluster: a node that moves
//! keeps its certificate.

use crate::record_id::NodeId;
use rustls::pki_types::ServerName;
use std::fmt;

/// Names of nodes that an error lists.
const LISTED_MAX: usize = 8;

/// Which cluster it is: 128 random bits, chosen when the cluster is created. No secret, unlike the salt of its graph:
/// certificates name it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(pub [u8; 16]);

impl ClusterId {
    /// The name of a node, for which its certificate has to be.
    #[must_use]
    pub fn node_name(self, node: NodeId) -> String {
        format!("node-{}.{}", node.0, self.domain())
    }

    fn domain(self) -> String {
        format!("{self}.evergraph")
    }
}

/// What TLS compares a certificate with.
pub(super) fn server_name(cluster: ClusterId, node: NodeId) -> ServerName<'static> {
    as_server_name(cluster.node_name(node))
}

/// A name that no node has: a certificate is for it if it is for every node.
pub(super) fn name_of_none(cluster: ClusterId) -> ServerName<'static> {
    as_server_name(format!("any-node.{}", cluster.domain()))
}

fn as_server_name(name: String) -> ServerName<'static> {
    ServerName::try_from(name).expect("letters, digits, hyphens and dots, no label above 63 bytes")
}

/// Nodes of the cluster among the names of a certificate, as a failed comparison lists them. For errors alone.
pub(super) fn named_nodes(presented: &[String], cluster: ClusterId) -> Vec<NodeId> {
    let end = format!(".{}", cluster.domain());
    let node = |name: &String| {
        let name = name.to_ascii_lowercase();
        let (before, _) = name.split_once(&end)?;
        let (_, number) = before.rsplit_once("node-")?;
        number.parse().ok().map(NodeId)
    };
    presented.iter().filter_map(node).take(LISTED_MAX).collect()
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClusterId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLUSTER: ClusterId =
        ClusterId([0x0f, 0x1e, 0x2d, 0x3c, 0x4b, 0x5a, 0x69, 0x78, 0, 0, 0, 0, 0, 0, 0, 1]);

    #[test]
    fn a_node_has_a_name_that_tls_takes() {
        assert_eq!(CLUSTER.node_name(NodeId(7)), "node-7.0f1e2d3c4b5a69780000000000000001.evergraph");
        for node in [0, 7, u16::MAX] {
            for cluster in [CLUSTER, ClusterId([0; 16]), ClusterId([0x99; 16]), ClusterId([0xff; 16])] {
                assert!(matches!(server_name(cluster, NodeId(node)), ServerName::DnsName(_)));
                assert!(matches!(name_of_none(cluster), ServerName::DnsName(_)));
            }
        }
    }

    #[test]
    fn nodes_are_found_among_the_names_of_a_certificate() {
        let named = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            named_nodes(&names, CLUSTER)
        };
        let two = format!("DnsName(\"{}\")", CLUSTER.node_name(NodeId(2)));
        let five = format!("DnsName(\"{}\")", CLUSTER.node_name(NodeId(5)).to_ascii_uppercase());
        assert_eq!(named(&[&two, "DnsName(\"db.example\")", &five]), [NodeId(2), NodeId(5)]);
        let other = format!("DnsName(\"{}\")", ClusterId([3; 16]).node_name(NodeId(2)));
        let large = two.replace("node-2", "node-99999");
        assert!(named(&[&other, &large, "IpAddress(127.0.0.1)", "DnsName(\"node-2\")", ""]).is_empty());
        assert!(named(&[]).is_empty());
    }
}
