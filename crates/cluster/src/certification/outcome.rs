//! Outcome: what is decided of a record, and what is remembered of it under its id.

use crate::key_hash::graph_salt::KeyHash;
use crate::key_hash::sort_key::RangeCheck;
use crate::record::body::RecordBody;
use crate::record::payload::Payload;
use crate::record_id::RecordId;
use evergraph_graph::timestamp::Timestamp;
use std::fmt;

/// A record, decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecidedRecord {
    /// Which record.
    pub id: RecordId,
    /// Its place in the log; of a commit its timestamp.
    pub timestamp: Timestamp,
    /// What happens.
    pub decision: Decision,
}

/// What happens because of a record: the same on every node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// The transaction commits: these are its mutations, whole.
    Commit(Vec<Payload>),
    /// The transaction does not commit, or what a record of a table asks for does not happen.
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

/// Why a transaction does not commit; of the first two, why another record is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// It began before everything that is remembered.
    TooOld {
        /// The first timestamp that is remembered.
        floor: Timestamp,
    },
    /// Its author saw another log than this one.
    OtherLog,
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
    /// Parts of it were missing.
    Incomplete,
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
            Self::Conflict { .. } => Some(Outcome::Conflict),
            Self::Incomplete { .. } => Some(Outcome::Incomplete),
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
            Self::Conflict { changed, .. } => {
                write!(f, "commit {changed} changed something that the transaction read or writes")
            }
            Self::Incomplete { place } => write!(f, "part {place} of the transaction is missing"),
        }
    }
}
