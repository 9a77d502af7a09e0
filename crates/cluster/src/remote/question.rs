//! Question: what one node asks another about a partition, as of a moment of the log, and what comes back.
//!
//! ```text
//! question   id, partition:u16, position:u64 digest:16, patience_ms:u32, asked bytes
//! answer     id, answered bytes
//! refusal    id, kind:u8 (0 not kept, 1 other log, 2 too old, 3 busy, 4 too late, 5 failed), of the last length:varint UTF-8
//!
//! id     node:u16 incarnation:u32 number:varint
//! bytes  length:varint, then as many
//! ```
//!
//! A question says at which snapshot it reads, as the message that the snapshot ends with, and which log its asker has read up
//! to there. So nobody gets an answer from another history, nor from another moment. What is asked and answered are
//! bytes here: views and stages of queries have forms of their own.
//!
//! Clocks of nodes are not compared. A question says how long its asker is still patient; whoever takes it measures that.

use crate::digest::{SeenLog, put_seen, take_seen};
use crate::record::body::{put_author, take_author, take_partition};
use crate::record_id::Author;
use evergraph_graph::bytes::{Decoded, Reader, put_bytes, put_varint};
use evergraph_graph::id::PartitionId;
use std::fmt;
use std::time::Duration;

/// The most bytes of what is asked or answered: a value of the largest size has room, with what goes along with it.
pub const CONTENT_BYTES_MAX: usize = 31 << 20;

/// The most bytes of a reason.
const REASON_BYTES_MAX: usize = 1000;

/// A question, as its asker numbers it: never twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct QuestionId {
    /// Who asks.
    pub asker: Author,
    /// The asker's number for it, from 1.
    pub number: u64,
}

/// A question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// Which one.
    pub id: QuestionId,
    /// The partition that it is about.
    pub partition: PartitionId,
    /// The snapshot that it reads: everything through this message, of the log with this digest.
    pub at: SeenLog,
    /// How long its asker waits for the answer, in whole milliseconds, from when it was sent.
    pub patience: Duration,
    /// What is asked: at most [`CONTENT_BYTES_MAX`] bytes.
    pub asked: Vec<u8>,
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// To which question.
    pub id: QuestionId,
    /// What is answered: at most [`CONTENT_BYTES_MAX`] bytes.
    pub answered: Vec<u8>,
}

/// A question that is not answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuestionRefusal {
    /// Which question.
    pub id: QuestionId,
    /// Why.
    pub reason: RefusalReason,
}

/// Why a question is not answered.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RefusalReason {
    /// The node does not keep the partition, or has not proved its copy: another one is asked.
    NotKept,
    /// The asker has read another log than this node, or this one is so old that nobody can tell.
    OtherLog,
    /// What the snapshot sees was merged away: the transaction began too long ago, and runs again.
    TooOld,
    /// Too many questions wait here: it is asked again later, or elsewhere.
    Busy,
    /// The node had not applied what the snapshot sees when the asker's patience ended.
    TooLate,
    /// The node failed.
    Failed {
        /// How.
        reason: String,
    },
}

impl Question {
    /// Appends the form in a frame.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_id(out, self.id);
        out.extend_from_slice(&self.partition.0.to_le_bytes());
        put_seen(out, &self.at);
        let patience = u32::try_from(self.patience.as_millis()).unwrap_or(u32::MAX);
        out.extend_from_slice(&patience.to_le_bytes());
        put_bytes(out, &self.asked);
    }

    /// Reads what [`Question::encode`] wrote.
    ///
    /// # Errors
    /// If there is something else.
    pub fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        Ok(Self {
            id: take_id(reader)?,
            partition: take_partition(reader)?,
            at: take_seen(reader)?,
            patience: Duration::from_millis(u64::from(reader.u32()?)),
            asked: take_content(reader)?,
        })
    }
}

impl Answer {
    /// Appends the form in a frame.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_id(out, self.id);
        put_bytes(out, &self.answered);
    }

    /// Reads what [`Answer::encode`] wrote.
    ///
    /// # Errors
    /// If there is something else.
    pub fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        Ok(Self { id: take_id(reader)?, answered: take_content(reader)? })
    }
}

impl QuestionRefusal {
    /// Appends the form in a frame. A long reason is cut.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_id(out, self.id);
        out.push(match &self.reason {
            RefusalReason::NotKept => 0,
            RefusalReason::OtherLog => 1,
            RefusalReason::TooOld => 2,
            RefusalReason::Busy => 3,
            RefusalReason::TooLate => 4,
            RefusalReason::Failed { .. } => 5,
        });
        if let RefusalReason::Failed { reason } = &self.reason {
            put_bytes(out, beginning(reason).as_bytes());
        }
    }

    /// Reads what [`QuestionRefusal::encode`] wrote.
    ///
    /// # Errors
    /// If there is something else.
    pub fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        let id = take_id(reader)?;
        let start = reader.clone();
        let reason = match reader.u8()? {
            0 => RefusalReason::NotKept,
            1 => RefusalReason::OtherLog,
            2 => RefusalReason::TooOld,
            3 => RefusalReason::Busy,
            4 => RefusalReason::TooLate,
            5 => {
                let start = reader.clone();
                let reason = reader.text()?;
                if reason.len() > REASON_BYTES_MAX {
                    return Err(start.error(format!("a reason of at most {REASON_BYTES_MAX} bytes expected")));
                }
                RefusalReason::Failed { reason: reason.to_owned() }
            }
            found => return Err(start.error(format!("a reason of a refusal expected, found {found}"))),
        };
        Ok(Self { id, reason })
    }
}

/// As much of a reason as is sent: whole letters.
fn beginning(reason: &str) -> &str {
    let end = (0..=REASON_BYTES_MAX.min(reason.len())).rev().find(|end| reason.is_char_boundary(*end));
    &reason[..end.unwrap_or(0)]
}

/// Appends the id of a question.
pub fn put_id(out: &mut Vec<u8>, id: QuestionId) {
    put_author(out, id.asker);
    put_varint(out, id.number);
}

/// Reads what [`put_id`] wrote.
///
/// # Errors
/// If the bytes end.
pub fn take_id(reader: &mut Reader<'_>) -> Decoded<QuestionId> {
    Ok(QuestionId { asker: take_author(reader)?, number: reader.varint()? })
}

fn take_content(reader: &mut Reader<'_>) -> Decoded<Vec<u8>> {
    let start = reader.clone();
    let bytes = reader.bytes()?;
    if bytes.len() > CONTENT_BYTES_MAX {
        let found = bytes.len();
        return Err(start.error(format!("at most {CONTENT_BYTES_MAX} bytes expected, found {found}")));
    }
    Ok(bytes.to_vec())
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotKept => f.write_str("the node does not serve the partition"),
            Self::OtherLog => f.write_str("the node has applied another log than the one that was read"),
            Self::TooOld => f.write_str("the transaction began too long ago: run it again"),
            Self::Busy => f.write_str("too many questions wait at the node"),
            Self::TooLate => f.write_str("the node has not applied the log as far in time"),
            Self::Failed { reason } => write!(f, "the node failed: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record_id::NodeId;

    #[test]
    fn a_long_reason_is_cut_between_letters_and_reads_back() {
        let id = QuestionId { asker: Author { node: NodeId(1), incarnation: 2 }, number: 3 };
        let long = "å".repeat(600);
        let odd = format!("a{long}");
        for reason in [String::new(), "disk".to_owned(), "a".repeat(1000), long, odd] {
            let refusal = QuestionRefusal { id, reason: RefusalReason::Failed { reason: reason.clone() } };
            let mut bytes = Vec::new();
            refusal.encode(&mut bytes);
            let read = QuestionRefusal::decode(&mut Reader::new(&bytes)).unwrap();
            let RefusalReason::Failed { reason: found } = read.reason else { panic!("another reason") };
            assert!(reason.starts_with(&found) && found.len() + 1 >= reason.len().min(1000), "{found}");
        }
    }
}
