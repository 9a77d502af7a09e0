//! Record id: who wrote a record, and which one of theirs it is. Never given twice.

use crate::key_hash::graph_salt::GraphSalt;
use crate::planted::{Bug, planted};
use evergraph_graph::split_mix::mix;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::unknown_commit::UnknownCommit;
use evergraph_graph::value::order_bytes::hash::SipHash128;
use std::fmt;
use std::hash::{Hash, Hasher};

/// What the hash begins with that proves the name of a transaction: no other hash with the salt does.
const PROOF_OF_COMMIT: &[u8; 16] = b"unknown commit..";

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
    /// The transaction with this record, which reads at `since`, as long as nobody knows its outcome, in the graph with `salt`.
    #[must_use]
    pub fn unknown_commit(self, since: Timestamp, salt: GraphSalt) -> UnknownCommit {
        let Author { node, incarnation } = self.author;
        let mut hash = SipHash128::keyed(salt.halves());
        hash.update(PROOF_OF_COMMIT);
        hash.update(&node.0.to_le_bytes());
        hash.update(&incarnation.to_le_bytes());
        hash.update(&self.number.to_le_bytes());
        hash.update(&since.0.to_le_bytes());
        let proof = u128::from_le_bytes(hash.finish()) as u64;
        UnknownCommit { node: node.0, incarnation, number: self.number, since, proof }
    }

    /// The record of such a transaction; `None` if no node of the graph with `salt` has named it so.
    #[must_use]
    pub fn of_unknown(commit: UnknownCommit, salt: GraphSalt) -> Option<Self> {
        let author = Author { node: NodeId(commit.node), incarnation: commit.incarnation };
        let id = Self { author, number: commit.number };
        let is_proved = id.unknown_commit(commit.since, salt) == commit || planted(Bug::SettledUnproved);
        is_proved.then_some(id)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;

    const SALT: GraphSalt = GraphSalt(*b"salt of a graph.");

    #[test]
    fn only_who_was_told_of_a_transaction_names_it() {
        let author = Author { node: NodeId(2), incarnation: 7 };
        let id = RecordId { author, number: 143 };
        let known = id.unknown_commit(Timestamp(57), SALT);
        assert_eq!(RecordId::of_unknown(known, SALT), Some(id));
        let guesses = [
            UnknownCommit { number: 144, ..known },
            UnknownCommit { node: 3, ..known },
            UnknownCommit { incarnation: 8, ..known },
            UnknownCommit { since: Timestamp(58), ..known },
            UnknownCommit { proof: known.proof ^ 1, ..known },
        ];
        for guess in guesses {
            assert_eq!(RecordId::of_unknown(guess, SALT), None, "{guess} is guessed");
        }
        assert_eq!(RecordId::of_unknown(known, GraphSalt(*b"of another graph")), None);
    }

    #[test]
    fn planted_bugs_are_found() {
        let test = only_who_was_told_of_a_transaction_names_it;
        assert_found(Bug::SettledUnproved, test, "is guessed");
    }
}
