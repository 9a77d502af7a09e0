//! Batches: many messages or rows in one piece of memory, as they came.

use std::ops::Range;

use evergraph_graph::byte_strings::ByteStrings;

use crate::lsn::Lsn;
use crate::postgres_time::PostgresTime;

/// Bytes at which a batch is handed on.
pub const BATCH_BYTES: usize = 256 << 10;

/// Messages of logical decoding and keepalives, in the order in which they came.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChangeBatch {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Entry {
    Message { start: Lsn, log_end: Lsn, sent_at: PostgresTime, range: Range<usize> },
    Keepalive { log_end: Lsn, sent_at: PostgresTime },
}

/// One entry of a [`ChangeBatch`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change<'a> {
    /// A message of pgoutput, for [`crate::pgoutput::decoder::Decoder`].
    Message {
        /// The position of what the message is about.
        start: Lsn,
        /// The end of the source's log when it sent the message.
        log_end: Lsn,
        /// When it sent it.
        sent_at: PostgresTime,
        /// The message.
        bytes: &'a [u8],
    },
    /// Every commit before `log_end` that concerns this stream was sent. Outside of whole transactions and of blocks this may be
    /// confirmed: else a quiet table keeps the log of a busy neighbour.
    Keepalive {
        /// The position.
        log_end: Lsn,
        /// When the source sent it.
        sent_at: PostgresTime,
    },
}

impl ChangeBatch {
    /// Appends a message.
    pub fn push_message(&mut self, start: Lsn, log_end: Lsn, sent_at: PostgresTime, message: &[u8]) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(message);
        self.entries.push(Entry::Message { start, log_end, sent_at, range: begin..self.bytes.len() });
    }

    /// Appends a keepalive; the one before it is replaced.
    pub fn push_keepalive(&mut self, log_end: Lsn, sent_at: PostgresTime) {
        if let Some(Entry::Keepalive { .. }) = self.entries.last() {
            self.entries.pop();
        }
        self.entries.push(Entry::Keepalive { log_end, sent_at });
    }

    /// The entries in their order.
    pub fn changes(&self) -> impl Iterator<Item = Change<'_>> {
        self.entries.iter().map(|entry| match entry {
            Entry::Message { start, log_end, sent_at, range } => Change::Message {
                start: *start,
                log_end: *log_end,
                sent_at: *sent_at,
                bytes: &self.bytes[range.clone()],
            },
            Entry::Keepalive { log_end, sent_at } => {
                Change::Keepalive { log_end: *log_end, sent_at: *sent_at }
            }
        })
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of memory, about.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.bytes.len() + self.entries.len() * size_of::<Entry>()
    }
}

/// Rows of COPY in its text format, each with its line feed; [`crate::wire::copy_text::read_row`] reads one.
pub type RowBatch = ByteStrings;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_in_their_order_and_the_newest_keepalive_counts() {
        let (mut batch, time) = (ChangeBatch::default(), PostgresTime::new(0));
        batch.push_message(Lsn::new(1), Lsn::new(9), time, b"abc");
        batch.push_keepalive(Lsn::new(2), time);
        batch.push_keepalive(Lsn::new(3), time);
        batch.push_message(Lsn::new(4), Lsn::new(9), time, b"");
        let message = |start, bytes| Change::Message { start, log_end: Lsn::new(9), sent_at: time, bytes };
        let keepalive = Change::Keepalive { log_end: Lsn::new(3), sent_at: time };
        let expected = [message(Lsn::new(1), &b"abc"[..]), keepalive, message(Lsn::new(4), b"")];
        assert!(batch.changes().eq(expected));
    }
}
