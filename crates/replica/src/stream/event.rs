//! `StreamEvent`: what a reader of transactions finds in a stream: whole committed transactions, and rest.

use crate::lsn::Lsn;
use crate::pgoutput::message::{Commit, Xid};
use crate::stream::piece::Piece;

/// What happened at the source, in the order of its commits.
#[derive(Debug)]
pub enum StreamEvent {
    /// A transaction committed. The source may send it again on another connection: whoever applies it compares its end with
    /// the position that was reached.
    Transaction(CommittedTransaction),
    /// The source has no commit before `position` that this stream did not send: the position may be confirmed when all
    /// transactions before this event are durable. Transactions that are streamed may be open, and commit behind it.
    Idle {
        /// The position.
        position: Lsn,
    },
}

/// A transaction that committed.
#[derive(Debug)]
pub struct CommittedTransaction {
    /// Its commit.
    pub end: TransactionEnd,
    /// Its rows in their order; none, if it changed no published table.
    pub pieces: Vec<Piece>,
    /// How many of these, the first ones, were handed out early, and none of their rows was rolled back since.
    pub early_pieces: usize,
}

/// Which transaction committed, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionEnd {
    /// The transaction; its subtransactions count as part of it.
    pub xid: Xid,
    /// Positions and time.
    pub commit: Commit,
}

impl CommittedTransaction {
    /// Bytes of its messages, about, in memory and in files.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.pieces.iter().map(Piece::size_bytes).sum()
    }
}
