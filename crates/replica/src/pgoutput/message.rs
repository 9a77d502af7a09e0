//! `Message`: one message of logical decoding.

use crate::lsn::Lsn;
use crate::pgoutput::relation::{Oid, Relation};
use crate::pgoutput::tuple::Tuple;
use crate::postgres_time::PostgresTime;

/// A transaction's number; a subtransaction has one of its own.
pub type Xid = u32;

/// A message, borrowed from its bytes.
///
/// `xid` is the (sub)transaction of a message within a block of a streamed transaction, and `None` elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// A transaction begins, which has committed.
    Begin(Begin),
    /// The transaction that began last ends.
    Commit(Commit),
    /// The transaction came to this server by replication from another one.
    Origin(Origin<'a>),
    /// Describes a table.
    Relation {
        /// The (sub)transaction; the description holds for the others, too.
        xid: Option<Xid>,
        /// The table.
        relation: Relation,
    },
    /// Describes a type that is not built in.
    Type {
        /// The (sub)transaction.
        xid: Option<Xid>,
        /// The type's number.
        id: Oid,
        /// The schema's name; empty for `pg_catalog`.
        schema: &'a str,
        /// The type's name.
        name: &'a str,
    },
    /// A row is inserted.
    Insert {
        /// The (sub)transaction.
        xid: Option<Xid>,
        /// The table.
        relation: Oid,
        /// The row.
        new: Tuple<'a>,
    },
    /// A row is updated.
    Update {
        /// The (sub)transaction.
        xid: Option<Xid>,
        /// The table.
        relation: Oid,
        /// The row as it was.
        old: OldRow<'a>,
        /// The row as it is.
        new: Tuple<'a>,
    },
    /// A row is deleted.
    Delete {
        /// The (sub)transaction.
        xid: Option<Xid>,
        /// The table.
        relation: Oid,
        /// The row as it was; never [`OldRow::SameKey`].
        old: OldRow<'a>,
    },
    /// Tables are emptied.
    Truncate {
        /// The (sub)transaction.
        xid: Option<Xid>,
        /// The tables.
        relations: Vec<Oid>,
        /// Whether the statement said `CASCADE`; the tables that this reached are in `relations`.
        is_cascade: bool,
        /// Whether the statement said `RESTART IDENTITY`.
        restarts_identity: bool,
    },
    /// A message of `pg_logical_emit_message`.
    Logical(LogicalMessage<'a>),
    /// A block of a transaction in progress begins.
    StreamStart {
        /// The top transaction.
        xid: Xid,
        /// Whether this is the transaction's first block.
        is_first: bool,
    },
    /// The block ends.
    StreamStop,
    /// A streamed transaction commits.
    StreamCommit {
        /// The top transaction.
        xid: Xid,
        /// Its commit.
        commit: Commit,
    },
    /// A streamed transaction, or one of its subtransactions alone, is rolled back.
    StreamAbort {
        /// The top transaction.
        xid: Xid,
        /// What is rolled back: a subtransaction, or the transaction itself if this is `xid`.
        subtransaction: Xid,
    },
}

/// The beginning of a transaction that has committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Begin {
    /// The position of its commit record.
    pub commit_lsn: Lsn,
    /// When it committed, by the source's clock.
    pub commit_time: PostgresTime,
    /// The transaction.
    pub xid: Xid,
}

/// The end of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Commit {
    /// The position of the commit record.
    pub commit_lsn: Lsn,
    /// The end of the commit record: what is confirmed when the transaction is safe here.
    pub end_lsn: Lsn,
    /// When it committed, by the source's clock.
    pub commit_time: PostgresTime,
}

/// Where a transaction came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin<'a> {
    /// The commit's position at the origin.
    pub commit_lsn: Lsn,
    /// The origin's name.
    pub name: &'a str,
}

/// A message of `pg_logical_emit_message`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogicalMessage<'a> {
    /// The (sub)transaction.
    pub xid: Option<Xid>,
    /// Whether the message belongs to its transaction; another is sent at once.
    pub is_transactional: bool,
    /// The message's position.
    pub lsn: Lsn,
    /// The sender's prefix.
    pub prefix: &'a str,
    /// The content.
    pub content: &'a [u8],
}

/// The row as it was, in an update or a delete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OldRow<'a> {
    /// Not sent: the update changed no column of the identity.
    SameKey,
    /// The columns of the identity; the others are null, whatever they held.
    Key(Tuple<'a>),
    /// All columns: the identity is FULL.
    Whole(Tuple<'a>),
}

/// Where a message stands in its transaction, for those who do not decode it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionEdge {
    /// A transaction, or a block of one in progress, begins: its rest is on its way.
    Beginning,
    /// A block ends, or a transaction is rolled back.
    Pause,
    /// A transaction commits, at the time that its message ends with.
    End(PostgresTime),
}

impl TransactionEdge {
    /// What the message's letter says; `None` of one too short for what it says, too: who decodes it tells that.
    #[must_use]
    #[inline]
    pub fn of(message: &[u8]) -> Option<Self> {
        let (letter, rest) = message.split_first()?;
        match letter {
            b'B' | b'S' => Some(Self::Beginning),
            b'E' | b'A' => Some(Self::Pause),
            b'C' | b'c' => {
                let time = rest.last_chunk().map(|time| i64::from_be_bytes(*time))?;
                Some(Self::End(PostgresTime::new(time)))
            }
            _ => None,
        }
    }
}

impl Message<'_> {
    /// The (sub)transaction that a message within a streamed block names.
    #[must_use]
    pub fn streamed_xid(&self) -> Option<Xid> {
        match self {
            Message::Relation { xid, .. }
            | Message::Type { xid, .. }
            | Message::Insert { xid, .. }
            | Message::Update { xid, .. }
            | Message::Delete { xid, .. }
            | Message::Truncate { xid, .. } => *xid,
            Message::Logical(message) => message.xid,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_says_where_a_message_stands_in_its_transaction() {
        let edges = |letters: &[u8]| -> Vec<_> {
            letters.iter().map(|letter| TransactionEdge::of(&[*letter, 9, 0, 0, 0, 0, 0, 0, 1, 2])).collect()
        };
        use TransactionEdge::{Beginning, End, Pause};
        let end = End(PostgresTime::new(0x102));
        assert_eq!(edges(b"BIC"), [Some(Beginning), None, Some(end)]);
        assert_eq!(
            edges(b"SRUDTEAc"),
            [Some(Beginning), None, None, None, None, Some(Pause), Some(Pause), Some(end)]
        );
        assert_eq!((TransactionEdge::of(b""), TransactionEdge::of(b"C\0\0\0\0\0\0\0")), (None, None));
    }
}
