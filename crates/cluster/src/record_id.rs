//! Record id: who wrote a record, and which one of theirs it is. Never given twice.

use evergraph_graph::split_mix::mix;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::unknown_commit::UnknownCommit;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A node of the cluster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u16);

/// A node between two of its starts: a number that its memory forgets is not given again by the next one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Author {
    /// Which node.
    pub node: NodeId,
    /// How often it started before.
    pub incarnation: u32,
}

/// The identity of a record: the same in every copy of it that reaches the log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RecordId {
    /// Who wrote it.
    pub author: Author,
    /// The author's number for it: from 1 for a member, from 2^63 for one that has not joined.
    pub number: u64,
}

impl RecordId {
    /// The transaction with this record, which reads at `since`, as long as nobody knows its outcome.
    #[must_use]
    pub const fn unknown_commit(self, since: Timestamp) -> UnknownCommit {
        let Author { node, incarnation } = self.author;
        UnknownCommit { node: node.0, incarnation, number: self.number, since }
    }

    /// The record of such a transaction.
    #[must_use]
    pub const fn of_unknown(commit: UnknownCommit) -> Self {
        let author = Author { node: NodeId(commit.node), incarnation: commit.incarnation };
        Self { author, number: commit.number }
    }
}

// One word, so that tables of ids need no hash of their own.
impl Hash for RecordId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let author = u64::from(self.author.node.0) << 32 | u64::from(self.author.incarnation);
        state.write_u64(mix(mix(author) ^ self.number));
    }
}

impl fmt::Display for Author {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}.{}", self.node.0, self.incarnation)
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {} of {}", self.number, self.author)
    }
}
