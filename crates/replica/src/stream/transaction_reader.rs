//! `TransactionReader`: messages of a stream, put together to whole transactions, in the order of their commits.
//!
//! ```text
//! Begin  row ...  Commit                                             a whole transaction
//! StreamStart  row ...  StreamStop  ...  StreamAbort  ...  StreamCommit    a streamed one, among others
//! ```
//!
//! Only messages that change rows are kept. Types are in the catalogue, whom a transaction came from does not matter, and logical
//! messages change nothing. A sequence that PostgreSQL does not send is an error: rows would be missing.
//!
//! A keepalive outside of blocks and of whole transactions is an idle position, also while transactions are streamed. The server
//! decodes its log in order, and sends each transaction when it comes to its commit: all that committed before the position was
//! sent, and a streamed transaction that is open commits behind it. Its first blocks are not lost either once the position is
//! confirmed: the slot keeps the log from the beginning of the oldest open transaction on (`restart_lsn`), and the next stream sends
//! every transaction whole that commits behind the confirmed position. A keepalive within a block, or between the beginning and the
//! commit of a whole transaction, says nothing: its commit may lie before the position. PostgreSQL's own apply worker confirms by
//! the same rule.
//!
//! Source: `SnapBuildXactNeedsSkip`, `LogicalIncreaseRestartDecodingForSlot` and `LogicalRepApplyLoop` of PostgreSQL.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use evergraph_graph::bytes::DecodeError;
use evergraph_storage::planted::{Bug, planted};

use crate::lsn::Lsn;
use crate::pgoutput::decoder::{Block, Decoder};
use crate::pgoutput::message::{Begin, Message, Xid};
use crate::pgoutput::relation::Relation;
use crate::source::batch::{Change, ChangeBatch};
use crate::source::error::{SourceError, SourceResult};
use crate::stream::event::{CommittedTransaction, StreamEvent, TransactionEnd};
use crate::stream::known_relations::KnownRelations;
use crate::stream::open_transaction::OpenTransaction;
use crate::stream::piece::PieceMessages;

/// Bytes of open transactions in memory, unless the options say something else.
pub const MEMORY_BYTES: usize = 256 << 20;

/// Whole pieces that a transaction in progress has before the first one is handed out early: less is done soon at its commit.
const EARLY_PIECES_MIN: usize = 4;

/// A piece of a transaction in progress.
#[derive(Debug)]
pub struct EarlyPiece {
    /// The transaction.
    pub xid: Xid,
    /// Tables that the transaction described before these rows.
    pub relations: Vec<Arc<Relation>>,
    /// The rows, without those that were rolled back so far.
    pub messages: PieceMessages,
}

/// How much memory open transactions may take, and what becomes of more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReaderOptions {
    /// Bytes of messages in memory, of all open transactions together; the largest one's go to a file beyond that.
    pub memory_bytes: usize,
    /// The folder of these files. They have no name: nothing is left, however the process ends.
    pub folder: PathBuf,
}

impl Default for ReaderOptions {
    /// 256 MiB, then the system's folder for temporary files.
    fn default() -> Self {
        Self { memory_bytes: MEMORY_BYTES, folder: std::env::temp_dir() }
    }
}

/// Puts transactions together. Each stream has a reader of its own: a new one sends open transactions again from their beginning.
#[derive(Debug)]
pub struct TransactionReader {
    options: ReaderOptions,
    decoder: Decoder,
    relations: KnownRelations,
    /// The transaction between Begin and Commit.
    whole: Option<(Begin, OpenTransaction)>,
    /// Transactions in progress, by the top transaction.
    streamed: BTreeMap<Xid, OpenTransaction>,
    /// The streamed transaction whose block is open.
    block_of: Option<Xid>,
    memory_bytes: usize,
    log_end: Lsn,
}

impl TransactionReader {
    /// Reads from the beginning of a stream.
    #[must_use]
    pub fn new(options: ReaderOptions) -> Self {
        Self {
            options,
            decoder: Decoder::new(),
            relations: KnownRelations::default(),
            whole: None,
            streamed: BTreeMap::new(),
            block_of: None,
            memory_bytes: 0,
            log_end: Lsn::ZERO,
        }
    }

    /// Reads a batch and appends what it completes to `events`. Cost: under a microsecond a row, and a copy of its bytes.
    ///
    /// # Errors
    /// [`SourceError::Damaged`] names the position of what cannot be read, or cannot come here; [`SourceError::Local`] if a
    /// temporary file cannot be written. `events` then has everything before, and the reader is of no use any more.
    pub fn push(&mut self, batch: &ChangeBatch, events: &mut Vec<StreamEvent>) -> SourceResult<()> {
        for change in batch.changes() {
            match change {
                Change::Message { start, log_end, bytes, .. } => {
                    self.log_end = self.log_end.max(log_end);
                    self.message(start, bytes, events)?;
                }
                Change::Keepalive { log_end, .. } => {
                    self.log_end = self.log_end.max(log_end);
                    if self.is_outside() {
                        events.push(StreamEvent::Idle { position: log_end });
                    }
                }
            }
        }
        Ok(())
    }

    /// Bytes of memory that open transactions take, about. Beyond the limit there are only what cannot go to a file: the tables
    /// that they describe, and 72 bytes for each change of subtransaction.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Whether no transaction is under way, neither a whole one nor a streamed one.
    #[must_use]
    pub fn is_between_transactions(&self) -> bool {
        self.whole.is_none() && self.streamed.is_empty()
    }

    /// Whether the next message belongs to no transaction that began: all that committed before has been sent whole.
    fn is_outside(&self) -> bool {
        self.whole.is_none() && self.block_of.is_none()
    }

    /// Hands out the next whole piece of a streamed transaction in progress, of the one that has most of them. Its rows stay for
    /// the commit, and nothing is handed out twice.
    ///
    /// # Errors
    /// [`SourceError::Local`] if a temporary file cannot be read.
    pub fn next_early(&mut self) -> SourceResult<Option<EarlyPiece>> {
        let most = self.streamed.iter_mut().max_by_key(|(_, open)| open.whole_pieces());
        let Some((xid, open)) = most else { return Ok(None) };
        if open.early_pieces() == 0 && open.whole_pieces() < EARLY_PIECES_MIN {
            return Ok(None);
        }
        let piece = open.next_early().map_err(SourceError::Local)?;
        Ok(piece.map(|(relations, messages)| EarlyPiece { xid: *xid, relations, messages }))
    }

    /// Says that what was made of the transaction's pieces is of no use: all of it is done at the commit.
    pub fn void_early(&mut self, xid: Xid) {
        if let Some(open) = self.streamed.get_mut(&xid) {
            open.void_early();
        }
    }

    /// Whether what was made of the transaction's pieces may be of use: it is in progress, and nothing of them was rolled back.
    #[must_use]
    pub fn is_early_good(&self, xid: Xid) -> bool {
        self.streamed.get(&xid).is_some_and(|open| !open.is_early_void())
    }

    /// How many streamed transactions are in progress.
    #[must_use]
    pub fn streamed_count(&self) -> usize {
        self.streamed.len()
    }

    /// The end of the source's log, as far as it has told.
    #[must_use]
    pub fn log_end(&self) -> Lsn {
        self.log_end
    }

    fn message(&mut self, start: Lsn, bytes: &[u8], events: &mut Vec<StreamEvent>) -> SourceResult<()> {
        let message = self.decoder.decode(bytes).map_err(|error| damaged(start, error))?;
        if let Some((begin, _)) = &self.whole
            && ends_or_begins_another(&message)
        {
            let expected = format!("the commit of transaction {} expected, found {message:?}", begin.xid);
            return Err(unexpected(start, expected));
        }
        match message {
            Message::Insert { xid, .. }
            | Message::Update { xid, .. }
            | Message::Delete { xid, .. }
            | Message::Truncate { xid, .. } => self.keep(start, xid, bytes),
            Message::Relation { xid, relation } => {
                let description = self.relations.arrived(relation);
                match self.open() {
                    Some(open) => {
                        let before = open.memory_bytes();
                        open.describe(xid, description, bytes.len());
                        let after = open.memory_bytes();
                        self.grown(after - before)
                    }
                    None => {
                        self.relations.hold(description);
                        Ok(())
                    }
                }
            }
            Message::Begin(begin) => {
                self.whole = Some((begin, OpenTransaction::new(Block::Outside)));
                Ok(())
            }
            Message::Commit(commit) => {
                let Some((begin, transaction)) = self.whole.take() else {
                    return Err(unexpected(
                        start,
                        "the beginning of a transaction expected before its commit",
                    ));
                };
                if begin.commit_lsn != commit.commit_lsn {
                    let (announced, found) = (begin.commit_lsn, commit.commit_lsn);
                    let expected = format!(
                        "transaction {} said that it commits at {announced}, found a commit at {found}",
                        begin.xid
                    );
                    return Err(unexpected(start, expected));
                }
                self.commit(TransactionEnd { xid: begin.xid, commit }, transaction, events);
                Ok(())
            }
            Message::StreamStart { xid, is_first } => {
                if is_first == self.streamed.contains_key(&xid) {
                    let (wanted, found) =
                        if is_first { ("another", "a first") } else { ("the first", "a later") };
                    let expected = format!("{wanted} block of transaction {xid} expected, found {found} one");
                    return Err(unexpected(start, expected));
                }
                self.streamed.entry(xid).or_insert_with(|| OpenTransaction::new(Block::Streamed));
                self.block_of = Some(xid);
                Ok(())
            }
            Message::StreamStop => {
                self.block_of = None;
                Ok(())
            }
            Message::StreamCommit { xid, commit } => {
                let Some(transaction) = self.streamed.remove(&xid) else {
                    return Err(unknown(start, xid));
                };
                self.commit(TransactionEnd { xid, commit }, transaction, events);
                Ok(())
            }
            Message::StreamAbort { xid, subtransaction } => self.roll_back(start, xid, subtransaction),
            Message::Origin(_) | Message::Type { .. } | Message::Logical(_) => Ok(()),
        }
    }

    /// Keeps a message that changes rows.
    #[inline]
    fn keep(&mut self, start: Lsn, xid: Option<Xid>, bytes: &[u8]) -> SourceResult<()> {
        let Some(open) = self.open() else {
            return Err(unexpected(start, "the beginning of a transaction expected before its rows"));
        };
        let before = open.memory_bytes();
        open.append(xid, bytes);
        let after = open.memory_bytes();
        self.grown(after - before)
    }

    /// Rolls a subtransaction back, or all of a transaction.
    fn roll_back(&mut self, start: Lsn, xid: Xid, subtransaction: Xid) -> SourceResult<()> {
        let Some(open) = self.streamed.get_mut(&xid) else { return Err(unknown(start, xid)) };
        let before = open.memory_bytes();
        if xid == subtransaction || planted(Bug::StreamAbortOfEverything) {
            self.streamed.remove(&xid);
            self.memory_bytes -= before;
            return Ok(());
        }
        open.roll_back(subtransaction);
        self.memory_bytes -= before - open.memory_bytes();
        Ok(())
    }

    /// Gives a transaction out.
    fn commit(&mut self, end: TransactionEnd, transaction: OpenTransaction, events: &mut Vec<StreamEvent>) {
        self.memory_bytes -= transaction.memory_bytes();
        let (block, early_pieces) = (transaction.block(), transaction.early_pieces());
        let finished = transaction.finish();
        let early_pieces = finished[..early_pieces].iter().filter(|piece| piece.has_messages()).count();
        let pieces = self.relations.commit(finished, block);
        // Workers translate the others sooner than they are added one by one.
        let early_pieces = if 2 * early_pieces >= pieces.len() { early_pieces } else { 0 };
        events.push(StreamEvent::Transaction(CommittedTransaction { end, pieces, early_pieces }));
    }

    /// The transaction that messages belong to.
    #[inline]
    fn open(&mut self) -> Option<&mut OpenTransaction> {
        match self.block_of {
            Some(xid) => self.streamed.get_mut(&xid),
            None => self.whole.as_mut().map(|(_, transaction)| transaction),
        }
    }

    /// Counts `bytes` more of memory, and moves the largest transactions to files while that is too much.
    #[inline]
    fn grown(&mut self, bytes: usize) -> SourceResult<()> {
        self.memory_bytes += bytes;
        if self.memory_bytes <= self.options.memory_bytes { Ok(()) } else { self.spill() }
    }

    #[cold]
    fn spill(&mut self) -> SourceResult<()> {
        while self.memory_bytes > self.options.memory_bytes {
            let whole = self.whole.iter_mut().map(|(_, transaction)| transaction);
            let all = self.streamed.values_mut().chain(whole);
            let Some(largest) = all.max_by_key(|transaction| transaction.messages_bytes()) else { break };
            let bytes = largest.messages_bytes();
            if bytes == 0 {
                break;
            }
            largest.spill(&self.options.folder).map_err(SourceError::Local)?;
            self.memory_bytes -= bytes;
        }
        Ok(())
    }
}

/// Whether a message begins or ends a transaction, and is not the commit of a whole one.
fn ends_or_begins_another(message: &Message<'_>) -> bool {
    matches!(
        message,
        Message::Begin(_)
            | Message::StreamStart { .. }
            | Message::StreamCommit { .. }
            | Message::StreamAbort { .. }
    )
}

fn damaged(start: Lsn, error: DecodeError) -> SourceError {
    SourceError::Damaged { doing: format!("read the change at {start}"), error }
}

fn unexpected(start: Lsn, expected: impl Into<String>) -> SourceError {
    damaged(start, DecodeError { offset: 0, expected: expected.into() })
}

fn unknown(start: Lsn, xid: Xid) -> SourceError {
    unexpected(start, format!("a block of transaction {xid} expected before its end"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres_time::PostgresTime;

    fn begin(commit: u8, xid: u8) -> Vec<u8> {
        [&b"B\0\0\0\0\0\0\0"[..], &[commit], &[0; 11], &[xid]].concat()
    }

    fn commit(commit: u8) -> Vec<u8> {
        [&b"C\0\0\0\0\0\0\0\0"[..], &[commit, 0, 0, 0, 0, 0, 0, 0, commit + 1], &[0; 8]].concat()
    }

    fn stream_commit(xid: u8) -> Vec<u8> {
        [&[b'c', 0, 0, 0, xid][..], &commit(9)[1..]].concat()
    }

    const INSERT: &[u8] = b"I\0\0\0\x05N\0\x01n";
    const STREAMED_INSERT: &[u8] = b"I\0\0\0\x08\0\0\0\x05N\0\x01n";
    const FIRST_BLOCK: &[u8] = b"S\0\0\0\x08\x01";
    const LATER_BLOCK: &[u8] = b"S\0\0\0\x08\0";
    const STOP: &[u8] = b"E";

    fn reader() -> TransactionReader {
        TransactionReader::new(ReaderOptions::default())
    }

    fn push(reader: &mut TransactionReader, messages: &[&[u8]]) -> SourceResult<Vec<StreamEvent>> {
        let (mut batch, mut events, time) = (ChangeBatch::default(), Vec::new(), PostgresTime::new(0));
        for message in messages {
            match message {
                // A keepalive.
                [position] if *position != b'E' => {
                    batch.push_keepalive(Lsn::new(u64::from(*position)), time);
                }
                message => batch.push_message(Lsn::new(0x1234), Lsn::new(99), time, message),
            }
        }
        reader.push(&batch, &mut events).map(|()| events)
    }

    #[test]
    fn sequences_that_cannot_be_are_errors_that_name_the_position() {
        let (begin, commit, stream_commit) = (begin(9, 1), commit(9), stream_commit(8));
        let other_commit = [&b"C\0\0\0\0\0\0\0\0"[..], &[8, 0, 0, 0, 0, 0, 0, 0, 9], &[0; 8]].concat();
        let abort = b"A\0\0\0\x08\0\0\0\x08";
        let sequences: [(&[&[u8]], &str); 14] = [
            (&[&commit], "the beginning of a transaction"),
            (&[INSERT], "the beginning of a transaction"),
            (&[&begin, INSERT, &begin], "the commit of transaction 1"),
            (&[&begin, FIRST_BLOCK], "the commit of transaction 1"),
            (&[&begin, &stream_commit], "the commit of transaction 1"),
            (&[&begin, abort], "the commit of transaction 1"),
            (&[&begin, &other_commit], "commits at 0/9, found a commit at 0/8"),
            (&[STOP], "no end of a streamed block"),
            (&[FIRST_BLOCK, FIRST_BLOCK], "`S`"),
            (&[FIRST_BLOCK, STOP, FIRST_BLOCK], "another block of transaction 8"),
            (&[LATER_BLOCK], "the first block of transaction 8"),
            (&[&stream_commit], "a block of transaction 8"),
            (&[abort], "a block of transaction 8"),
            (&[FIRST_BLOCK, STOP, abort, LATER_BLOCK], "the first block of transaction 8"),
        ];
        for (messages, wanted) in sequences {
            let error = push(&mut reader(), messages).unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, SourceError::Damaged { .. }), "{text}");
            assert!(text.contains("0/1234") && text.contains(wanted), "{messages:?}: {text}");
        }
    }

    #[test]
    fn a_keepalive_counts_outside_of_blocks_and_of_whole_transactions() {
        let (begin, commit, stream_commit) = (begin(9, 1), commit(9), stream_commit(8));
        let messages: [&[u8]; 13] = [
            &[1],
            &begin,
            &[2],
            &commit,
            &[3],
            FIRST_BLOCK,
            &[4],
            STREAMED_INSERT,
            STOP,
            &[5],
            &stream_commit,
            &[6],
            b"M\0\0\0\0\0\0\0\0\0p\0\0\0\0\0",
        ];
        let mut reader = reader();
        let events = push(&mut reader, &messages).unwrap();
        let described: Vec<_> = events
            .iter()
            .map(|event| match event {
                StreamEvent::Idle { position } => format!("idle {position}"),
                StreamEvent::Transaction(transaction) => {
                    format!("{} with {}", transaction.end.xid, transaction.pieces.len())
                }
            })
            .collect();
        assert_eq!(described, ["idle 0/1", "1 with 0", "idle 0/3", "idle 0/5", "8 with 1", "idle 0/6"]);
        assert!(reader.is_between_transactions() && reader.memory_bytes() == 0);
        assert_eq!(reader.log_end(), Lsn::new(99));
    }

    #[test]
    fn the_largest_transaction_goes_to_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let insert = |xid: u8, bytes: u8| {
            let text = [b't', 0, 0, 0, bytes];
            [&[b'I', 0, 0, 0, xid, 0, 0, 0, 5, b'N', 0, 1][..], &text, &vec![b'x'; usize::from(bytes)][..]]
                .concat()
        };
        let (small, large) = (insert(8, 10), insert(9, 200));
        let options = ReaderOptions { memory_bytes: 400, folder: folder.path().to_owned() };
        let mut reader = TransactionReader::new(options);
        let other_block = b"S\0\0\0\x09\x01";
        let (end_small, end_large) = (stream_commit(8), stream_commit(9));
        let all: [&[u8]; 8] = [FIRST_BLOCK, &small, STOP, other_block, &large, &large, STOP, &end_small];
        let mut events = push(&mut reader, &all).unwrap();
        events.extend(push(&mut reader, &[&end_large]).unwrap());
        let spilled: Vec<_> = events
            .iter()
            .map(|event| match event {
                StreamEvent::Transaction(transaction) => transaction.pieces[0].is_spilled(),
                StreamEvent::Idle { .. } => panic!("no keepalive came"),
            })
            .collect();
        assert_eq!((spilled, reader.memory_bytes()), (vec![false, true], 0));
    }
}
