//! Question: what one node asks another about a partition, as of a moment of the log, and what comes back.
//!
//! ```text
//! question   id, partition:u16, position:u64 digest:16, patience_ms:u32, asked bytes
//! answer     id, answered bytes
//! refusal    id, kind:u8 (0 not kept, 1 other log, 2 too old, 3 busy, 4 too late, 5 failed), of the last length:varint UTF-8
//!
//! behind another in a batch, if all that is left out is the same:
//! question   more:varint, partition:u16, asked content                its asker, its snapshot and its patience
//! answer     more:varint, answered content                            its asker
//!
//! id       node:u16 incarnation:u32 number:varint
//! more     by how much its number is greater, from 1
//! content  0 if it is that of the one before; otherwise its length + 1:varint, then the bytes
//! bytes    length:varint, then as many
//! ```
//!
//! A question says at which snapshot it reads, as the message that the snapshot ends with, and which log its asker has read up
//! to there. So nobody gets an answer from another history, nor from another moment. What is asked and answered are
//! bytes here: views and stages of queries have forms of their own.
//!
//! Clocks of nodes are not compared. A question says how long its asker is still patient; whoever takes it measures that.

use crate::digest::{SeenLog, put_seen, take_seen};
use crate::planted::{Bug, planted};
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

impl QuestionId {
    /// Whether it is a later number of the same asker.
    fn is_behind(self, before: Self) -> bool {
        self.asker == before.asker && self.number > before.number
    }
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
        out.extend_from_slice(&self.patience_ms().to_le_bytes());
        put_bytes(out, &self.asked);
    }

    /// The patience as it is sent.
    fn patience_ms(&self) -> u32 {
        u32::try_from(self.patience.as_millis()).unwrap_or(u32::MAX)
    }

    /// Whether it has what [`Question::encode_like`] leaves out in common with the question before it in a batch.
    #[must_use]
    pub fn is_like(&self, before: &Self) -> bool {
        let is_same = before.at == self.at || planted(Bug::SnapshotTakenFromBefore);
        is_same && before.patience_ms() == self.patience_ms() && self.id.is_behind(before.id)
    }

    /// Appends the form behind a question that it is like.
    pub fn encode_like(&self, before: &Self, out: &mut Vec<u8>) {
        put_varint(out, self.id.number - before.id.number);
        out.extend_from_slice(&self.partition.0.to_le_bytes());
        put_content_like(out, &before.asked, &self.asked);
    }

    /// Reads what [`Question::encode_like`] wrote behind `before`.
    ///
    /// # Errors
    /// If there is something else.
    pub fn decode_like(before: &Self, reader: &mut Reader<'_>) -> Decoded<Self> {
        Ok(Self {
            id: take_id_behind(before.id, reader)?,
            partition: take_partition(reader)?,
            at: before.at,
            patience: before.patience,
            asked: take_content_like(&before.asked, reader)?,
        })
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

    /// Whether it has what [`Answer::encode_like`] leaves out in common with the answer before it in a batch.
    #[must_use]
    pub fn is_like(&self, before: &Self) -> bool {
        self.id.is_behind(before.id)
    }

    /// Appends the form behind an answer that it is like.
    pub fn encode_like(&self, before: &Self, out: &mut Vec<u8>) {
        put_varint(out, self.id.number - before.id.number);
        put_content_like(out, &before.answered, &self.answered);
    }

    /// Reads what [`Answer::encode_like`] wrote behind `before`.
    ///
    /// # Errors
    /// If there is something else.
    pub fn decode_like(before: &Self, reader: &mut Reader<'_>) -> Decoded<Self> {
        Ok(Self {
            id: take_id_behind(before.id, reader)?,
            answered: take_content_like(&before.answered, reader)?,
        })
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

fn take_id_behind(before: QuestionId, reader: &mut Reader<'_>) -> Decoded<QuestionId> {
    let start = reader.clone();
    let more = reader.varint()?;
    match before.number.checked_add(more).filter(|_| more > 0) {
        Some(number) => Ok(QuestionId { number, ..before }),
        None => Err(start.error(format!("a number behind {} expected, found {more} more", before.number))),
    }
}

fn put_content_like(out: &mut Vec<u8>, before: &[u8], content: &[u8]) {
    if before == content {
        out.push(0);
        return;
    }
    put_varint(out, content.len() as u64 + 1);
    out.extend_from_slice(content);
}

fn take_content_like(before: &[u8], reader: &mut Reader<'_>) -> Decoded<Vec<u8>> {
    let start = reader.clone();
    let Some(length) = reader.varint()?.checked_sub(1) else { return Ok(before.to_vec()) };
    let possible = reader.remaining();
    let Some(length) = usize::try_from(length).ok().filter(|length| *length <= possible) else {
        return Err(start.error(format!("at most {possible} bytes expected, found {length}")));
    };
    let content = reader.take(length)?;
    if content == before {
        return Err(start.error("0 expected, for what the one before has"));
    }
    Ok(content.to_vec())
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
