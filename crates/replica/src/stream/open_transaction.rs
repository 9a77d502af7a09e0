//! `OpenTransaction`: messages of a transaction that has not ended yet, as they came.
//!
//! ```text
//! pieces   descriptions, then messages ...      a description ends a piece, and so do 256 KiB
//! runs     [ one (sub)transaction ]*            of a streamed transaction: messages in a row of one piece
//! ```
//!
//! Rolling a subtransaction back drops its runs. Those at the end are forgotten at once, and in PostgreSQL's streams all of them
//! are at the end: what comes behind a subtransaction's first row belongs to it or to its children until it ends, and each child
//! is rolled back by a message of its own. Others are left out at the commit.
//!
//! Whole pieces may be handed out before the commit ([`OpenTransaction::next_early`]); a rollback of what they have makes early
//! work void, and a piece that was handed out gets nothing more.
//!
//! Memory: messages go to a file when the reader says so; 72 bytes a run and the descriptions stay.

use std::collections::HashMap;
use std::iter::Peekable;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use evergraph_files::import::staging::temporary_file::TemporaryFile;
use evergraph_graph::byte_strings::ByteStrings;
use evergraph_graph::error::Result;

use crate::pgoutput::decoder::Block;
use crate::pgoutput::message::Xid;
use crate::pgoutput::relation::Relation;
use crate::planted::{Bug, planted};
use crate::stream::finished_piece::{Description, FinishedPiece};
use crate::stream::piece::{PIECE_BYTES, PieceMessages};
use crate::stream::stored_messages::{PURPOSE, StoredMessages};

/// Bytes that a run takes: its own, and those of its entry among the newest.
const RUN_BYTES: usize = size_of::<Run>() + 2 * size_of::<(Xid, usize)>();
/// Bytes that a description takes for one of its message: names are texts of their own.
const DESCRIPTION_FACTOR: usize = 4;

/// Messages of a small transaction, and their bytes.
const SMALL_MESSAGES: usize = 8;
/// See [`SMALL_MESSAGES`].
const SMALL_BYTES: usize = 1 << 10;

/// Messages of a transaction that has not ended yet.
#[derive(Debug)]
pub struct OpenTransaction {
    block: Block,
    pieces: Vec<OpenPiece>,
    runs: Vec<Run>,
    /// The newest run of each (sub)transaction that was not rolled back.
    newest_runs: HashMap<Xid, usize>,
    file: Option<Arc<TemporaryFile>>,
    /// Bytes of messages in memory.
    messages_bytes: usize,
    descriptions_bytes: usize,
    early: EarlyState,
}

/// What was done with the pieces of an open transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EarlyState {
    /// So many pieces were handed out, whole and with nothing that was rolled back since.
    HandedOut(usize),
    /// Early work is of no use any more.
    Void,
}

#[derive(Debug, Default)]
struct OpenPiece {
    descriptions: Vec<PlacedDescription>,
    messages: StoredMessages,
}

#[derive(Debug)]
struct PlacedDescription {
    description: Description,
    /// The run that it came in; 0 in a transaction without runs.
    run: usize,
    bytes: usize,
}

/// Messages in a row of one (sub)transaction, within one piece.
#[derive(Debug)]
struct Run {
    xid: Xid,
    is_dropped: bool,
    piece: usize,
    /// The number of its first message in the piece.
    first: usize,
    /// The run before it of the same (sub)transaction.
    previous: Option<usize>,
}

impl OpenTransaction {
    /// A transaction without messages, whose messages come within streamed blocks or outside of them.
    #[must_use]
    pub fn new(block: Block) -> Self {
        Self {
            block,
            pieces: Vec::new(),
            runs: Vec::new(),
            newest_runs: HashMap::new(),
            file: None,
            messages_bytes: 0,
            descriptions_bytes: 0,
            early: EarlyState::HandedOut(0),
        }
    }

    /// Whether its messages come within streamed blocks.
    #[must_use]
    pub fn block(&self) -> Block {
        self.block
    }

    /// Bytes of memory, about.
    #[must_use]
    #[inline]
    pub fn memory_bytes(&self) -> usize {
        self.messages_bytes + self.descriptions_bytes + self.runs.len() * RUN_BYTES
    }

    /// Bytes of memory that [`OpenTransaction::spill`] gives back.
    #[must_use]
    pub fn messages_bytes(&self) -> usize {
        self.messages_bytes
    }

    /// Keeps a message; `xid` is the (sub)transaction that it names. Cost: a copy of its bytes.
    pub fn append(&mut self, xid: Option<Xid>, message: &[u8]) {
        let has_room = self.is_last_open()
            && self.pieces.last().is_some_and(|piece| match &piece.messages {
                StoredMessages::Memory(messages) => {
                    messages.is_empty() || messages.size_bytes() + message.len() <= PIECE_BYTES
                }
                StoredMessages::File { .. } => false,
            });
        if !has_room {
            // The first one has room for a small transaction.
            let messages = match self.pieces.is_empty() {
                true => ByteStrings::with_capacity(SMALL_MESSAGES, SMALL_BYTES),
                false => ByteStrings::default(),
            };
            let messages = StoredMessages::Memory(messages);
            self.pieces.push(OpenPiece { messages, ..OpenPiece::default() });
        }
        self.enter_run(xid);
        let piece = self.pieces.last_mut().expect("one was added if there was none");
        let before = piece.messages.memory_bytes();
        if let StoredMessages::Memory(messages) = &mut piece.messages {
            messages.push(message);
        }
        self.messages_bytes += piece.messages.memory_bytes() - before;
    }

    /// Keeps a description, which holds for the rows behind it; `message_bytes` is the length of its message.
    pub fn describe(&mut self, xid: Option<Xid>, description: Description, message_bytes: usize) {
        let is_at_start = self.is_last_open()
            && self.pieces.last().is_some_and(
                |piece| matches!(&piece.messages, StoredMessages::Memory(messages) if messages.is_empty()),
            );
        if !is_at_start {
            self.pieces.push(OpenPiece::default());
        }
        self.enter_run(xid);
        let piece = self.pieces.last_mut().expect("one was added if there was none");
        let (run, bytes) = (self.runs.len().saturating_sub(1), message_bytes * DESCRIPTION_FACTOR);
        piece.descriptions.push(PlacedDescription { description, run, bytes });
        self.descriptions_bytes += bytes;
    }

    /// Drops what came of `subtransaction`, and nothing else. Cost: a moment a run of it.
    pub fn roll_back(&mut self, subtransaction: Xid) {
        let early_pieces = self.early_pieces();
        let mut next = self.newest_runs.remove(&subtransaction);
        while let Some(run) = next.and_then(|number| self.runs.get_mut(number)) {
            run.is_dropped = true;
            if run.piece < early_pieces && !planted(Bug::EarlyRollbackIgnored) {
                self.early = EarlyState::Void;
            }
            next = run.previous;
        }
        while self.runs.last().is_some_and(|run| run.is_dropped) {
            let Some(run) = self.runs.pop() else { break };
            self.cut(run.piece, run.first);
        }
    }

    /// Moves all messages in memory to a file in `folder`.
    ///
    /// # Errors
    /// `limit` on a full disk, `io`; both name the folder. The transaction is of no use any more.
    pub fn spill(&mut self, folder: &Path) -> Result<()> {
        let new_file = || Arc::new(TemporaryFile::new(folder.to_owned(), PURPOSE));
        let file = self.file.get_or_insert_with(new_file);
        // Messages are added at the end, so those in memory are behind those in the file.
        let last_in_file = self.pieces.iter().rposition(OpenPiece::is_in_file);
        for piece in &mut self.pieces[last_in_file.map_or(0, |last| last + 1)..] {
            if !piece.messages.is_empty() {
                piece.messages.spill(file)?;
            }
        }
        self.messages_bytes = 0;
        Ok(())
    }

    /// How many pieces were handed out early, if what was made of them still holds.
    #[must_use]
    pub fn early_pieces(&self) -> usize {
        match self.early {
            EarlyState::HandedOut(pieces) => pieces,
            EarlyState::Void => 0,
        }
    }

    /// Whether what was made of its pieces early is of no use, and nothing more is handed out.
    #[must_use]
    pub fn is_early_void(&self) -> bool {
        self.early == EarlyState::Void
    }

    /// Says that early work is of no use: all of it is done at the commit.
    pub fn void_early(&mut self) {
        self.early = EarlyState::Void;
    }

    /// How many pieces are whole and were not handed out.
    #[must_use]
    pub fn whole_pieces(&self) -> usize {
        match self.early {
            EarlyState::HandedOut(pieces) => self.pieces.len().saturating_sub(pieces + 1),
            EarlyState::Void => 0,
        }
    }

    /// Hands the next whole piece out: the tables that it describes, and its messages. They stay for the commit.
    ///
    /// # Errors
    /// As [`StoredMessages::load`].
    pub fn next_early(&mut self) -> Result<Option<(Vec<Arc<Relation>>, PieceMessages)>> {
        let number = self.early_pieces();
        if self.whole_pieces() == 0 {
            return Ok(None);
        }
        let piece = &self.pieces[number];
        let messages = piece.messages.copy()?;
        let first_run = self.runs.partition_point(|run| run.piece < number);
        let mut runs = self.runs[first_run..].iter().peekable();
        let dropped = dropped_of(number, messages.len(), &mut runs);
        let is_kept = |placed: &&PlacedDescription| is_kept(&self.runs, placed);
        let relations = piece.descriptions.iter().filter(is_kept);
        let relations = relations.map(|placed| Arc::clone(&placed.description.relation)).collect();
        self.early = EarlyState::HandedOut(number + 1);
        Ok(Some((relations, PieceMessages::new(messages, self.block, dropped))))
    }

    /// What is left when it commits, in order.
    #[must_use]
    pub fn finish(self) -> Vec<FinishedPiece> {
        let runs = &self.runs;
        let mut next_runs = runs.iter().peekable();
        let finish = |(number, piece): (usize, OpenPiece)| {
            let dropped = dropped_of(number, piece.messages.len(), &mut next_runs);
            let is_kept = |placed: &PlacedDescription| is_kept(runs, placed);
            let descriptions = piece.descriptions.into_iter().filter(is_kept);
            let descriptions = descriptions.map(|placed| placed.description).collect();
            FinishedPiece { descriptions, messages: piece.messages, dropped }
        };
        self.pieces.into_iter().enumerate().map(finish).collect()
    }

    /// Whether the last piece was not handed out: it may get more.
    fn is_last_open(&self) -> bool {
        self.early_pieces() < self.pieces.len()
    }

    /// Begins a run of `xid` at the end of the last piece, unless one is there.
    fn enter_run(&mut self, xid: Option<Xid>) {
        let (Some(xid), Some(piece)) = (xid, self.pieces.len().checked_sub(1)) else { return };
        if self.runs.last().is_some_and(|run| run.xid == xid && run.piece == piece && !run.is_dropped) {
            return;
        }
        let first = self.pieces[piece].messages.len();
        let previous = self.newest_runs.insert(xid, self.runs.len());
        self.runs.push(Run { xid, is_dropped: false, piece, first, previous });
    }

    /// Forgets what came behind the first `len` messages of a piece; the last run that is left lies before.
    fn cut(&mut self, piece: usize, len: usize) {
        let runs_left = self.runs.len();
        let Some(open) = self.pieces.get_mut(piece) else { return };
        let before = open.messages.memory_bytes();
        open.messages.truncate(len);
        self.messages_bytes -= before - open.messages.memory_bytes();
        for placed in open.descriptions.extract_if(.., |placed| placed.run >= runs_left) {
            self.descriptions_bytes -= placed.bytes;
        }
        if open.messages.is_empty() && open.descriptions.is_empty() {
            if let StoredMessages::File { file, span, .. } = &open.messages {
                file.cut(span.offset);
            }
            self.pieces.truncate(piece);
        }
    }
}

/// The messages of the piece `number` that were rolled back, where it has `len`; `runs` go on with its first one.
fn dropped_of<'r>(
    number: usize,
    len: usize,
    runs: &mut Peekable<impl Iterator<Item = &'r Run>>,
) -> Vec<Range<usize>> {
    let mut dropped = Vec::new();
    while let Some(run) = runs.next_if(|run| run.piece == number) {
        let next = runs.peek().filter(|next| next.piece == number);
        let end = next.map_or(len, |next| next.first);
        if run.is_dropped && run.first < end {
            dropped.push(run.first..end);
        }
    }
    dropped
}

/// Whether a description was not rolled back.
fn is_kept(runs: &[Run], placed: &PlacedDescription) -> bool {
    runs.get(placed.run).is_none_or(|run| !run.is_dropped)
}

impl OpenPiece {
    fn is_in_file(&self) -> bool {
        matches!(self.messages, StoredMessages::File { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgoutput::relation::RelationIdentity;

    fn description(id: u32) -> Description {
        let identity = RelationIdentity::PrimaryKey;
        let relation = Relation { id, schema: "".into(), name: "t".into(), identity, columns: [].into() };
        Description { relation: Arc::new(relation), arrival: u64::from(id) }
    }

    /// What is left: numbers of tables and texts of messages.
    fn left(transaction: OpenTransaction) -> String {
        let mut text = String::new();
        for piece in transaction.finish() {
            for description in &piece.descriptions {
                text += &format!("({})", description.relation.id);
            }
            let messages = piece.messages.load().unwrap();
            for (number, message) in messages.iter().enumerate() {
                if !piece.dropped.iter().any(|range| range.contains(&number)) {
                    text += std::str::from_utf8(message).unwrap();
                }
            }
            text.push('|');
        }
        text
    }

    fn streamed() -> OpenTransaction {
        let mut transaction = OpenTransaction::new(Block::Streamed);
        transaction.describe(Some(7), description(1), 10);
        transaction.append(Some(7), b"a");
        transaction.append(Some(8), b"b");
        transaction.append(Some(9), b"c");
        transaction.describe(Some(8), description(2), 10);
        transaction.append(Some(8), b"d");
        transaction
    }

    #[test]
    fn a_subtransaction_that_is_rolled_back_drops_its_messages_and_no_others() {
        assert_eq!(left(streamed()), "(1)abc|(2)d|");
        let rolled_back = |all: &[Xid]| {
            let mut transaction = streamed();
            all.iter().for_each(|xid| transaction.roll_back(*xid));
            left(transaction)
        };
        assert_eq!(rolled_back(&[8]), "(1)ac|");
        assert_eq!(rolled_back(&[9]), "(1)ab|(2)d|");
        assert_eq!(rolled_back(&[9, 8]), "(1)a|");
        assert_eq!(rolled_back(&[7]), "bc|(2)d|");
        assert_eq!(rolled_back(&[7, 8, 9]), "");
        assert_eq!(rolled_back(&[1]), "(1)abc|(2)d|");
    }

    #[test]
    fn what_is_rolled_back_at_the_end_gives_its_memory_and_its_place_in_the_file_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut transaction = streamed();
        let whole = transaction.memory_bytes();
        transaction.append(Some(10), &[b'x'; 1000]);
        transaction.roll_back(10);
        assert_eq!(transaction.memory_bytes(), whole);
        transaction.spill(folder.path()).unwrap();
        assert_eq!(transaction.messages_bytes(), 0);
        let file = Arc::clone(transaction.file.as_ref().unwrap());
        let spilled = file.size_bytes();
        transaction.append(Some(10), &[b'x'; 1000]);
        transaction.append(Some(11), b"y");
        transaction.spill(folder.path()).unwrap();
        transaction.roll_back(11);
        assert_eq!(file.size_bytes(), spilled + 1004);
        transaction.roll_back(10);
        assert_eq!(file.size_bytes(), spilled);
        transaction.roll_back(9);
        transaction.append(Some(7), b"z");
        transaction.spill(folder.path()).unwrap();
        assert_eq!(left(transaction), "(1)ab|(2)d|z|");
    }

    /// The tables and messages of the next whole piece.
    fn early(transaction: &mut OpenTransaction) -> Option<String> {
        let (relations, messages) = transaction.next_early().unwrap()?;
        let mut text: String = relations.iter().map(|relation| format!("({})", relation.id)).collect();
        messages.iter().for_each(|message| text += std::str::from_utf8(message).unwrap());
        Some(text)
    }

    #[test]
    fn whole_pieces_are_handed_out_once_wherever_they_lie_and_stay_for_the_commit() {
        let folder = tempfile::tempdir().unwrap();
        for is_spilled in [false, true] {
            let mut transaction = streamed();
            transaction.roll_back(9);
            transaction.describe(Some(7), description(3), 10);
            if is_spilled {
                transaction.spill(folder.path()).unwrap();
            }
            assert_eq!(transaction.whole_pieces(), 2);
            assert_eq!(early(&mut transaction).unwrap(), "(1)ab");
            assert_eq!(early(&mut transaction).unwrap(), "(2)d");
            assert_eq!(early(&mut transaction), None, "the last one is not whole");
            assert_eq!((transaction.early_pieces(), transaction.is_early_void()), (2, false));
            assert_eq!(left(transaction), "(1)ab|(2)d|(3)|");
        }
    }

    #[test]
    fn a_rollback_of_what_was_handed_out_makes_early_work_void_and_no_other_does() {
        let mut transaction = streamed();
        assert_eq!(early(&mut transaction).unwrap(), "(1)abc");
        transaction.append(Some(10), b"e");
        transaction.roll_back(10);
        assert_eq!(transaction.early_pieces(), 1);
        transaction.roll_back(9);
        assert!(transaction.is_early_void());
        assert_eq!(
            (transaction.early_pieces(), transaction.whole_pieces(), early(&mut transaction)),
            (0, 0, None)
        );
        assert_eq!(left(transaction), "(1)ab|(2)d|");
    }

    #[test]
    fn a_piece_that_was_handed_out_gets_nothing_more() {
        let mut transaction = streamed();
        assert_eq!(early(&mut transaction).unwrap(), "(1)abc");
        // The piece behind it goes, so that it is the last one again.
        transaction.roll_back(8);
        assert!(transaction.is_early_void(), "the subtransaction has rows in the first piece, too");
        let mut transaction = OpenTransaction::new(Block::Streamed);
        transaction.append(Some(7), b"a");
        transaction.describe(Some(8), description(1), 10);
        assert_eq!(early(&mut transaction).unwrap(), "a");
        transaction.roll_back(8);
        transaction.append(Some(7), b"b");
        transaction.describe(Some(7), description(2), 10);
        assert_eq!(early(&mut transaction).unwrap(), "b");
        assert_eq!(left(transaction), "a|b|(2)|");
    }

    #[test]
    fn messages_are_cut_into_pieces() {
        let mut transaction = OpenTransaction::new(Block::Outside);
        for _ in 0..3 {
            transaction.append(None, &[b'x'; PIECE_BYTES / 2]);
        }
        transaction.append(None, &[b'x'; 2 * PIECE_BYTES]);
        transaction.append(None, b"x");
        let counts: Vec<_> = transaction.finish().iter().map(|piece| piece.messages.len()).collect();
        assert_eq!(counts, [2, 1, 1, 1]);
    }
}
