//! Sent transactions: what a scripted stream has sent, since the next one begins with what was not confirmed for good.

use std::collections::BTreeMap;

use crate::lsn::Lsn;
use crate::pgoutput::decoder::Decoder;
use crate::pgoutput::message::{Message, Xid};
use crate::pgoutput::relation::Oid;

/// Transactions that were sent, for as long as they may come again.
#[derive(Debug, Default)]
pub(super) struct SentTransactions {
    decoder: Decoder,
    transactions: Vec<SentTransaction>,
    /// The newest descriptions of tables, as they are outside of blocks.
    relations: BTreeMap<Oid, Vec<u8>>,
    /// The transaction that messages belong to.
    current: Option<Xid>,
}

#[derive(Debug)]
struct SentTransaction {
    xid: Xid,
    messages: Vec<Vec<u8>>,
    end: Option<Lsn>,
}

impl SentTransactions {
    /// A message was sent.
    pub(super) fn add(&mut self, message: Vec<u8>) {
        // A lying script may send what is no message: it comes once.
        let Ok(decoded) = self.decoder.decode(&message) else { return };
        let (xid, end, goes_on) = match &decoded {
            Message::Begin(begin) => (Some(begin.xid), None, true),
            Message::StreamStart { xid, .. } => (Some(*xid), None, true),
            Message::StreamStop => (self.current, None, false),
            Message::Commit(commit) => (self.current, Some(commit.end_lsn), false),
            Message::StreamCommit { xid, commit } => (Some(*xid), Some(commit.end_lsn), false),
            Message::StreamAbort { xid, subtransaction } => {
                if xid == subtransaction {
                    self.transactions.retain(|sent| sent.xid != *xid);
                    return;
                }
                (Some(*xid), None, false)
            }
            _ => (self.current, None, true),
        };
        if let Message::Relation { xid, relation } = &decoded {
            let fields = if xid.is_some() { &message[5..] } else { &message[1..] };
            self.relations.insert(relation.id, [b"R", fields].concat());
        }
        self.current = xid.filter(|_| goes_on);
        let Some(xid) = xid else { return };
        let at = self.transactions.iter().position(|sent| sent.xid == xid && sent.end.is_none());
        // The newest is the last, and a commit keeps its place behind the commits before it.
        let mut sent = match at {
            Some(at) => self.transactions.remove(at),
            None => SentTransaction { xid, messages: Vec::new(), end: None },
        };
        sent.messages.push(message);
        sent.end = end;
        self.transactions.push(sent);
    }

    /// What a stream from `start` on begins with: whole transactions by their commits, then those in progress.
    pub(super) fn again(&self, start: Lsn) -> Vec<Vec<u8>> {
        let (committed, open): (Vec<_>, Vec<_>) =
            self.transactions.iter().partition(|sent| sent.end.is_some());
        let committed = committed.into_iter().filter(|sent| sent.end > Some(start));
        let transactions = committed.chain(open).flat_map(|sent| sent.messages.iter().cloned());
        self.relations.values().cloned().chain(transactions).collect()
    }

    /// The end of the newest commit.
    pub(super) fn end(&self) -> Lsn {
        self.transactions.iter().filter_map(|sent| sent.end).max().unwrap_or_default()
    }

    /// A checkpoint remembers that what was committed up to `saved` need not come again.
    pub(super) fn forget(&mut self, saved: Lsn) {
        self.transactions.retain(|sent| sent.end.is_none_or(|end| end > saved));
    }
}
