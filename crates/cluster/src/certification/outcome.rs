//! Outcome: what is decided of a record, and what is remembered of it under its id.

use crate::key_hash::graph_salt::KeyHash;
use crate::key_hash::sort_key::RangeCheck;
use crate::record::body::RecordBody;
use crate::record::payload::{Destination, Payload};
use crate::record_id::RecordId;
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;
use std::fmt;

/// A record, decided. `C` is what a transaction commits, as [`GraphRules`] read it.
///
/// [`GraphRules`]: crate::certification::graph_rules::GraphRules
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecidedRecord<C = Vec<Payload>> {
    /// Which record.
    pub id: RecordId,
    /// Its place in the log; of a commit its timestamp.
    pub timestamp: Timestamp,
    /// What happens.
    pub decision: Decision<C>,
}

/// What happens because of a record: the same on every node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision<C = Vec<Payload>> {
    /// The transaction commits this, whole.
    Commit(C),
    /// The transaction does not commit, or what another record asks for does not happen.
    Refuse(Refusal),
    /// The cancel is answered.
    Answer(CancelAnswer),
    /// The part waits for its transaction.
    KeepPart,
    /// The part is not kept: its transaction is decided, or too many parts wait.
    DropPart,
    /// What it asks for is decided by the tables: rows, a name, an index, a member, a place. A barrier asks for nothing.
    Accept(RecordBody),
    /// The record came before, with this outcome.
    Double(Outcome),
}

/// Why a transaction does not commit; of the first three, why another record is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// It began before everything that is remembered.
    TooOld {
        /// The first timestamp that is remembered.
        floor: Timestamp,
    },
    /// Its author saw another log than this one.
    OtherLog,
    /// Its author has not joined, has left, or its node has joined with a later incarnation since.
    Fenced,
    /// Something that it checks was changed after it began.
    Conflict {
        /// What was changed.
        check: FailedCheck,
        /// By the commit with this timestamp.
        changed: Timestamp,
    },
    /// A part did not come before it, or was not kept.
    Incomplete {
        /// The first one that is missing.
        place: u16,
    },
    /// Nobody could install it: its coordinator has a defect, or did not check what it rests on.
    Malformed(Malformation),
}

/// What is wrong with the payloads of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformation {
    /// The payload.
    pub destination: Destination,
    /// What is wrong with it.
    pub problem: PayloadProblem,
}

/// What is wrong with a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PayloadProblem {
    /// There is no mutation where one should begin.
    Unreadable {
        /// The byte of the whole payload.
        offset: usize,
    },
    /// The graph has fewer partitions.
    UnknownPartition,
    /// It has a mutation of another destination, or one that a cluster does not keep.
    Misplaced,
    /// A vertex is inserted into a group of another label, or into one whose rows nobody was given.
    OtherLabel {
        /// The vertex.
        vertex: VertexId,
    },
    /// It is about a vertex whose row nobody was given: there is none.
    NeverGiven {
        /// The vertex.
        vertex: VertexId,
    },
    /// It has two mutations of one vertex or edge.
    ChangedTwice,
    /// It gives a name without letters, or a number beyond the limit of names.
    ImpossibleName,
    /// It changes the catalogue, which has a name, a number or a property with another meaning by now.
    OtherCatalogue,
}

/// A check that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailedCheck {
    /// The hash of a subject.
    Subject(KeyHash),
    /// A range of an ordered index.
    Range(RangeCheck),
}

/// What becomes of a transaction that somebody cancels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CancelAnswer {
    /// It was decided before.
    Decided(Outcome),
    /// It will never commit.
    Cancelled,
    /// It may have been decided and forgotten. If it comes again, it is too old.
    Unknown,
}

/// What is remembered of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It committed with this timestamp.
    Committed(Timestamp),
    /// Something that it checked had changed.
    Conflict,
    /// Its author saw another log.
    OtherLog,
    /// Its author was no member, or not any more.
    Fenced,
    /// Parts of it were missing.
    Incomplete,
    /// What it would have installed was none, or none of this graph.
    Malformed,
    /// It was cancelled before it came.
    Cancelled,
    /// It was no transaction, and happened.
    Done,
}

impl Refusal {
    /// What is remembered of it: of what is too old nothing, since it may be the double of a commit that was forgotten.
    #[must_use]
    pub const fn outcome(&self) -> Option<Outcome> {
        match self {
            Self::TooOld { .. } => None,
            Self::OtherLog => Some(Outcome::OtherLog),
            Self::Fenced => Some(Outcome::Fenced),
            Self::Conflict { .. } => Some(Outcome::Conflict),
            Self::Incomplete { .. } => Some(Outcome::Incomplete),
            Self::Malformed(_) => Some(Outcome::Malformed),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooOld { floor } => {
                write!(f, "what was seen is too old: changes before {floor} are forgotten")
            }
            Self::OtherLog => write!(f, "the record's author had read another log than this node"),
            Self::Fenced => f.write_str(
                "the record's author is no member, or its node has started again since: start it again",
            ),
            Self::Conflict { changed, .. } => {
                write!(f, "commit {changed} changed something that the transaction read or writes")
            }
            Self::Incomplete { place } => write!(f, "part {place} of the transaction is missing"),
            Self::Malformed(malformation) => write!(f, "the transaction cannot be installed: {malformation}"),
        }
    }
}

impl fmt::Display for Malformation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.destination {
            Destination::Partition(partition) => write!(f, "its payload of partition {} ", partition.0)?,
            Destination::EveryNode => f.write_str("its payload of the catalogue ")?,
        }
        match self.problem {
            PayloadProblem::Unreadable { offset } => write!(f, "has no mutation at byte {offset}"),
            PayloadProblem::UnknownPartition => f.write_str("goes to none of the graph's partitions"),
            PayloadProblem::Misplaced => f.write_str("has a mutation that does not belong there"),
            PayloadProblem::OtherLabel { vertex } => {
                write!(f, "inserts {vertex} into a group of another label, or of none")
            }
            PayloadProblem::NeverGiven { vertex } => {
                write!(f, "is about {vertex}, an id that nobody was given")
            }
            PayloadProblem::ChangedTwice => f.write_str("changes a vertex or an edge twice"),
            PayloadProblem::ImpossibleName => f.write_str("gives a name or a number that no catalogue has"),
            PayloadProblem::OtherCatalogue => {
                f.write_str("gives a name, a number or a property another meaning than it has by now")
            }
        }
    }
}
