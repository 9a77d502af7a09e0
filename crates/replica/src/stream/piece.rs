//! `Piece`: rows of one transaction between which no table changes, with the tables that are described before them.

use std::ops::Range;
use std::sync::Arc;

use evergraph_graph::byte_strings::ByteStrings;

use crate::pgoutput::decoder::{Block, Decoder};
use crate::pgoutput::message::Message;
use crate::pgoutput::relation::Relation;
use crate::source::error::{SourceError, SourceResult};
use crate::stream::stored_messages::StoredMessages;

/// Bytes of messages in a piece. A message that is larger is a piece of its own.
pub const PIECE_BYTES: usize = 256 << 10;

/// Part of a committed transaction, in memory or in a file.
#[derive(Debug)]
pub struct Piece {
    pub(super) relations: Vec<Arc<Relation>>,
    pub(super) block: Block,
    pub(super) messages: StoredMessages,
    /// Those that were rolled back, by their numbers: in order, and apart from each other.
    pub(super) dropped: Vec<Range<usize>>,
}

impl Piece {
    /// Tables that are described from here on: for the rows of this piece and of all later ones, also of later transactions.
    #[must_use]
    pub fn relations(&self) -> &[Arc<Relation>] {
        &self.relations
    }

    /// Bytes of its messages, about.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.messages.size_bytes()
    }

    /// Whether its messages are in a file.
    #[must_use]
    pub fn is_spilled(&self) -> bool {
        matches!(self.messages, StoredMessages::File { .. })
    }

    /// Its messages. Cost: reads them, if they are in a file.
    ///
    /// # Errors
    /// [`SourceError::Local`] if the file cannot be read, or holds something else by now.
    pub fn read(self) -> SourceResult<PieceMessages> {
        let messages = self.messages.load().map_err(SourceError::Local)?;
        Ok(PieceMessages { messages, block: self.block, dropped: self.dropped })
    }

    /// A copy of its messages.
    ///
    /// # Errors
    /// As [`Piece::read`].
    pub fn copy_messages(&self) -> SourceResult<PieceMessages> {
        let messages = self.messages.copy().map_err(SourceError::Local)?;
        Ok(PieceMessages { messages, block: self.block, dropped: self.dropped.clone() })
    }
}

/// Messages of a piece: Insert, Update, Delete and Truncate alone.
#[derive(Debug)]
pub struct PieceMessages {
    messages: ByteStrings,
    block: Block,
    dropped: Vec<Range<usize>>,
}

impl PieceMessages {
    /// `messages` without those that were `dropped`, of a transaction whose messages come within `block`.
    pub(super) fn new(messages: ByteStrings, block: Block, dropped: Vec<Range<usize>>) -> Self {
        Self { messages, block, dropped }
    }

    /// The messages in their order, as they came.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut dropped = self.dropped.iter().peekable();
        let is_kept = move |number: &usize| {
            while dropped.next_if(|range| range.end <= *number).is_some() {}
            dropped.peek().is_none_or(|range| *number < range.start)
        };
        (0..self.messages.len()).filter(is_kept).map(|number| self.messages.get(number))
    }

    /// How many there are, with those that were dropped.
    #[must_use]
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The messages in their order. Cost: some nanoseconds a row; cells are read by who wants them.
    pub fn decode(&self) -> impl Iterator<Item = Message<'_>> {
        self.decode_from(0)
    }

    /// The messages in their order, but for the first `skipped`.
    pub fn decode_from(&self, skipped: usize) -> impl Iterator<Item = Message<'_>> {
        let mut decoder = Decoder::again(self.block);
        self.iter().skip(skipped).map(move |message| {
            decoder.decode(message).expect("the reader decoded the message before it kept it")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter;

    #[test]
    fn messages_that_were_rolled_back_are_left_out() {
        let names = [b"0", b"1", b"2", b"3", b"4", b"5"];
        let messages = |dropped: Vec<Range<usize>>| {
            let messages = names.iter().map(|name| &name[..]).collect();
            let piece = PieceMessages { messages, block: Block::Outside, dropped };
            piece.iter().map(|message| char::from(message[0])).collect::<String>()
        };
        assert_eq!(messages(vec![]), "012345");
        assert_eq!(messages(vec![0..1, 1..2, 3..5]), "25");
        assert_eq!(messages(iter::once(2..6).collect()), "01");
        assert_eq!(messages(iter::once(0..6).collect()), "");
    }
}
