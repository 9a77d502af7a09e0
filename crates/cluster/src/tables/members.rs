//! Members: the nodes of the cluster, where they answer, and how often each of them started.
//!
//! ```text
//! node 1.4 joins ──> records of 1.4 count ──> node 1.5 joins ──> records of 1.5 count, of 1.4 none any more
//!                    another 1.4 joins: refused                  1.4 joins: refused
//! ```
//!
//! A node that starts appends a record that says where it answers. It writes nothing else before the log has accepted that, and
//! the log accepts an incarnation only once. So of two processes that take themselves for the same node, as when a directory
//! was restored from a copy, the one whose record comes second learns it. The id of that record is random
//! ([`crate::node::incarnation`]): were it the same for both, the second would be taken for a double of the first, and both
//! would go on, with the same ids for different records.

use crate::planted::{Bug, planted};
use crate::record::body::{ADDRESS_BYTES_MAX, take_address};
use crate::record_id::{Author, NodeId};
use evergraph_graph::bytes::{Decoded, Reader, put_bytes, put_varint};
use std::collections::BTreeMap;
use std::fmt;

/// The fewest bytes of a node in a checkpoint.
const MEMBER_BYTES_MIN: usize = 5;

/// In a checkpoint: an incarnation follows.
const HAS_INCARNATION: u8 = 1;
/// In a checkpoint: an address follows.
const HAS_ADDRESS: u8 = 2;

/// Why a node does not join or leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MemberRefusal {
    /// The node joined with this incarnation or a later one already: another process is this node, or was.
    KnownIncarnation {
        /// The highest one that joined.
        known: u32,
    },
    /// It is no member.
    NoMember,
    /// It keeps partitions: they are placed elsewhere first.
    KeepsPartitions,
}

/// A node that is or was a member.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Member {
    /// The highest that joined; `None` if it has not started since the cluster was created.
    incarnation: Option<u32>,
    /// `None` if it left.
    address: Option<Box<str>>,
}

/// The nodes of a cluster.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Members {
    nodes: BTreeMap<NodeId, Member>,
}

impl Members {
    /// Those that a cluster is created with, and where they answer.
    ///
    /// # Panics
    /// If a node is there twice, or an address has not 1 to [`ADDRESS_BYTES_MAX`] bytes: nobody could read a checkpoint of it.
    #[must_use]
    pub fn new(nodes: impl IntoIterator<Item = (NodeId, Box<str>)>) -> Self {
        let mut members = Self::default();
        for (node, address) in nodes {
            let length = address.len();
            assert!(
                (1..=ADDRESS_BYTES_MAX).contains(&length),
                "the address of node {} has {length} bytes",
                node.0
            );
            let member = Member { incarnation: None, address: Some(address) };
            let before = members.nodes.insert(node, member);
            assert!(before.is_none(), "node {} is created twice", node.0);
        }
        members
    }

    /// Whether a node is a member.
    #[must_use]
    pub fn has(&self, node: NodeId) -> bool {
        self.address(node).is_some()
    }

    /// Where a member answers.
    #[must_use]
    pub fn address(&self, node: NodeId) -> Option<&str> {
        self.nodes.get(&node)?.address.as_deref()
    }

    /// The highest incarnation of a node that joined, also if it left.
    #[must_use]
    pub fn incarnation(&self, node: NodeId) -> Option<u32> {
        self.nodes.get(&node)?.incarnation
    }

    /// Whether `author` is a member, in the incarnation that joined last: who else writes is fenced.
    #[must_use]
    pub fn is_current(&self, author: Author) -> bool {
        let known = self.nodes.get(&author.node);
        known.is_some_and(|known| known.address.is_some() && known.incarnation == Some(author.incarnation))
    }

    /// The members, ascending.
    pub fn all(&self) -> impl Iterator<Item = NodeId> {
        self.nodes.iter().filter(|(_, member)| member.address.is_some()).map(|(node, _)| *node)
    }

    /// `author` joins, or says that it started again.
    ///
    /// # Errors
    /// [`MemberRefusal::KnownIncarnation`].
    pub fn join(&mut self, author: Author, address: Box<str>) -> Result<(), MemberRefusal> {
        if let Some(known) = self.incarnation(author.node)
            && author.incarnation <= known
            && !planted(Bug::IncarnationTwice)
        {
            return Err(MemberRefusal::KnownIncarnation { known });
        }
        let member = Member { incarnation: Some(author.incarnation), address: Some(address) };
        self.nodes.insert(author.node, member);
        Ok(())
    }

    /// `node` is no member any more. Its incarnations stay known.
    ///
    /// # Errors
    /// [`MemberRefusal::NoMember`], [`MemberRefusal::KeepsPartitions`].
    pub fn leave(&mut self, node: NodeId, keeps_partitions: bool) -> Result<(), MemberRefusal> {
        if !self.has(node) {
            return Err(MemberRefusal::NoMember);
        }
        if keeps_partitions {
            return Err(MemberRefusal::KeepsPartitions);
        }
        if self.incarnation(node).is_none() {
            self.nodes.remove(&node);
        } else if let Some(member) = self.nodes.get_mut(&node) {
            member.address = None;
        }
        Ok(())
    }

    /// Appends the form in a checkpoint.
    ///
    /// ```text
    /// count:varint, then each, ascending:
    ///   node:u16 has:u8 (1 incarnation, 2 address, or both), then incarnation:u32, length:varint address
    /// ```
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.nodes.len() as u64);
        for (node, Member { incarnation, address }) in &self.nodes {
            out.extend_from_slice(&node.0.to_le_bytes());
            let has_incarnation = if incarnation.is_some() { HAS_INCARNATION } else { 0 };
            let has_address = if address.is_some() { HAS_ADDRESS } else { 0 };
            out.push(has_incarnation | has_address);
            if let Some(incarnation) = incarnation {
                out.extend_from_slice(&incarnation.to_le_bytes());
            }
            if let Some(address) = address {
                put_bytes(out, address.as_bytes());
            }
        }
    }

    /// Reads what [`Members::encode`] wrote.
    ///
    /// # Errors
    /// If there is something else.
    pub fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        let mut members = Self::default();
        let mut last = None;
        for _ in 0..reader.count(MEMBER_BYTES_MIN)? {
            let start = reader.clone();
            let node = NodeId(reader.u16()?);
            if last.is_some_and(|last| last >= node) {
                return Err(start.error("nodes in ascending order expected"));
            }
            last = Some(node);
            let place = reader.clone();
            let has = reader.u8()?;
            if !(1..=HAS_INCARNATION | HAS_ADDRESS).contains(&has) {
                return Err(place.error(format!("1, 2 or 3 expected, found {has}")));
            }
            let incarnation = if has & HAS_INCARNATION > 0 { Some(reader.u32()?) } else { None };
            let address = if has & HAS_ADDRESS > 0 { Some(take_address(reader)?) } else { None };
            members.nodes.insert(node, Member { incarnation, address });
        }
        Ok(members)
    }
}

impl fmt::Display for MemberRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KnownIncarnation { known } => {
                write!(
                    f,
                    "the node joined with incarnation {known} already: another process is this node, or was"
                )
            }
            Self::NoMember => f.write_str("the node is no member of the cluster"),
            Self::KeepsPartitions => f.write_str("the node keeps partitions: place them elsewhere first"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;

    fn author(node: u16, incarnation: u32) -> Author {
        Author { node: NodeId(node), incarnation }
    }

    fn members() -> Members {
        Members::new([(NodeId(1), "a:1".into()), (NodeId(2), "b:2".into())])
    }

    #[test]
    fn an_incarnation_joins_once_and_later_ones_after_it() {
        let mut members = members();
        assert_eq!((members.incarnation(NodeId(1)), members.address(NodeId(1))), (None, Some("a:1")));
        assert_eq!(members.join(author(1, 0), "a:7".into()), Ok(()));
        assert_eq!(members.address(NodeId(1)), Some("a:7"));
        let known = Err(MemberRefusal::KnownIncarnation { known: 0 });
        assert_eq!(members.join(author(1, 0), "x:1".into()), known, "it joined before");
        assert_eq!(members.join(author(1, 3), "a:8".into()), Ok(()));
        let known = Err(MemberRefusal::KnownIncarnation { known: 3 });
        assert_eq!(members.join(author(1, 2), "x:1".into()), known);
        assert_eq!(members.address(NodeId(1)), Some("a:8"), "who is refused changes nothing");
        assert_eq!(members.join(author(9, 0), "c:1".into()), Ok(()), "a new node");
        assert_eq!(members.all().collect::<Vec<_>>(), [1, 2, 9].map(NodeId));
    }

    #[test]
    fn records_of_the_incarnation_that_joined_last_count_until_it_leaves() {
        let mut members = members();
        let current = |members: &Members| {
            (0..3).filter(|incarnation| members.is_current(author(1, *incarnation))).collect::<Vec<_>>()
        };
        assert_eq!(current(&members), [0; 0], "it has not joined");
        members.join(author(1, 0), "a:7".into()).unwrap();
        assert_eq!(current(&members), [0]);
        members.join(author(1, 2), "a:8".into()).unwrap();
        assert_eq!(current(&members), [2]);
        assert!(!members.is_current(author(2, 0)) && !members.is_current(author(9, 0)));
        members.leave(NodeId(1), false).unwrap();
        assert_eq!(current(&members), [0; 0], "it has left");
    }

    #[test]
    fn planted_bugs_are_found() {
        let test = an_incarnation_joins_once_and_later_ones_after_it;
        assert_found(Bug::IncarnationTwice, test, "it joined before");
    }

    #[test]
    fn a_node_leaves_when_it_keeps_nothing_and_its_incarnations_stay_known() {
        let mut members = members();
        members.join(author(1, 4), "a:1".into()).unwrap();
        assert_eq!(members.leave(NodeId(1), true), Err(MemberRefusal::KeepsPartitions));
        assert_eq!(members.leave(NodeId(1), false), Ok(()));
        assert_eq!(members.leave(NodeId(1), false), Err(MemberRefusal::NoMember));
        assert_eq!(members.leave(NodeId(7), false), Err(MemberRefusal::NoMember));
        let known = Err(MemberRefusal::KnownIncarnation { known: 4 });
        assert_eq!(members.join(author(1, 4), "a:1".into()), known);
        assert_eq!(members.join(author(1, 5), "a:1".into()), Ok(()));
        assert_eq!(members.leave(NodeId(2), false), Ok(()), "one that never started");
        assert_eq!(members.all().collect::<Vec<_>>(), [NodeId(1)]);
    }

    #[test]
    fn no_cluster_is_created_with_an_address_that_could_not_be_read_back() {
        let created = |length: usize| {
            let create = move || Members::new([(NodeId(3), "a".repeat(length).into())]);
            std::panic::catch_unwind(create).is_ok()
        };
        let lengths = [0, 1, ADDRESS_BYTES_MAX, ADDRESS_BYTES_MAX + 1];
        assert_eq!(lengths.map(created), [false, true, true, false]);
    }

    #[test]
    fn members_read_back_and_no_cut_of_them_does() {
        let mut members = members();
        members.join(author(1, 4), "a".repeat(ADDRESS_BYTES_MAX).into()).unwrap();
        members.join(author(5, 0), "e:5".into()).unwrap();
        members.leave(NodeId(5), false).unwrap();
        let mut bytes = Vec::new();
        members.encode(&mut bytes);
        assert_eq!(Members::decode(&mut Reader::new(&bytes)), Ok(members));
        for cut in 0..bytes.len() {
            assert!(Members::decode(&mut Reader::new(&bytes[..cut])).is_err());
        }
        // A node that has neither, and nodes out of order.
        for bad in [&[1, 1, 0, 0, 0, 0, 0][..], &[2, 2, 0, 2, 1, 97, 1, 0, 2, 1, 97]] {
            assert!(Members::decode(&mut Reader::new(bad)).is_err());
        }
    }
}
