//! Digest: a hash of the log up to a message, by which nodes notice that they read different logs.
//!
//! ```text
//! digest(n) = SipHash-2-4-128, with the graph's salt, of digest(n - 1), position of n, bytes of n
//! ```
//!
//! Replay is deterministic, so what a node has applied follows from the log that it read: the digest stands for
//! its state as well. Messages, questions and copied partitions say (position, digest). A log that lost messages
//! which it acknowledged, or was restored from an older copy, is noticed by the first of them that differs.
//!
//! It is not a signature: nodes trust each other. The window keeps the newest digests: as far back as conflicts
//! are remembered, and at least [`OVERLAP`] messages, which are read again whenever reading begins.

use crate::key_hash::graph_salt::GraphSalt;
use crate::log_position::LogPosition;
use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::value::order_bytes::hash::SipHash128;
use std::collections::VecDeque;
use std::fmt;

/// Messages whose digests are kept in any case, so that they can be read again and compared.
pub const OVERLAP: usize = 16;

/// Bytes of a digest.
pub const DIGEST_BYTES: usize = 16;

/// The hash of a log up to a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct LogDigest(pub [u8; DIGEST_BYTES]);

impl LogDigest {
    /// Of a log without messages.
    pub const START: Self = Self([0; DIGEST_BYTES]);

    /// Of the log that goes on with `message` at `position`.
    #[must_use]
    pub fn after(self, salt: GraphSalt, position: LogPosition, message: &[u8]) -> Self {
        let mut hash = SipHash128::keyed(salt.halves());
        hash.update(&self.0);
        hash.update(&position.0.to_le_bytes());
        hash.update(message);
        Self(hash.finish())
    }
}

impl fmt::Debug for LogDigest {
    /// Hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A place in a log, and the digest of the log up to there: which log somebody means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeenLog {
    /// The newest message that was applied.
    pub position: LogPosition,
    /// The log up to it.
    pub digest: LogDigest,
}

impl SeenLog {
    /// A log of which nothing was applied yet.
    pub const START: Self = Self { position: LogPosition::START, digest: LogDigest::START };
}

/// Whether what somebody saw is the log that was applied here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogComparison {
    /// It is.
    Same,
    /// It isn't, or it is longer.
    Other,
    /// It ends before everything that is remembered.
    Forgotten,
}

/// The digests of the newest messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DigestWindow {
    /// Ascending; never empty.
    entries: VecDeque<SeenLog>,
}

impl DigestWindow {
    /// Of a log that goes on after `seen`.
    #[must_use]
    pub fn new(seen: SeenLog) -> Self {
        Self { entries: VecDeque::from([seen]) }
    }

    /// The newest message, and the log up to it.
    #[must_use]
    pub fn last(&self) -> SeenLog {
        *self.entries.back().expect("a window is never empty")
    }

    /// Goes on with a message.
    ///
    /// # Panics
    /// If its position is not above the last one.
    pub fn push(&mut self, salt: GraphSalt, position: LogPosition, message: &[u8]) {
        let digest = self.last().digest.after(salt, position, message);
        self.push_seen(SeenLog { position, digest });
    }

    /// Goes on with a message whose digest another window has.
    ///
    /// # Panics
    /// If its position is not above the last one.
    pub fn push_seen(&mut self, seen: SeenLog) {
        let (position, last) = (seen.position, self.last().position);
        assert!(position > last, "message {position} is applied after message {last}");
        self.entries.push_back(seen);
    }

    /// The digest of the log up to the message at `position`; `None` if it is forgotten, or there is none.
    #[must_use]
    pub fn at(&self, position: LogPosition) -> Option<LogDigest> {
        self.place(position).map(|place| self.entries[place].digest)
    }

    /// Compares what somebody saw with what was applied here.
    #[must_use]
    pub fn compare(&self, seen: &SeenLog) -> LogComparison {
        match self.at(seen.position) {
            Some(digest) if digest == seen.digest => LogComparison::Same,
            None if seen.position < self.entries[0].position => LogComparison::Forgotten,
            _ => LogComparison::Other,
        }
    }

    /// Whether the message at `position`, read again, is the one that was applied; `None` if nothing tells.
    #[must_use]
    pub fn is_unchanged(&self, salt: GraphSalt, position: LogPosition, message: &[u8]) -> Option<bool> {
        let place = self.place(position)?;
        let before = self.entries.get(place.checked_sub(1)?)?;
        Some(before.digest.after(salt, position, message) == self.entries[place].digest)
    }

    /// A log that is this one up to `before`, and goes on with `message` at `position`; `None` if that is forgotten.
    #[must_use]
    pub fn branch(
        &self,
        salt: GraphSalt,
        before: LogPosition,
        position: LogPosition,
        message: &[u8],
    ) -> Option<SeenLog> {
        let count = self.entries.partition_point(|entry| entry.position <= before);
        let last = self.entries.get(count.checked_sub(1)?)?;
        Some(SeenLog { position, digest: last.digest.after(salt, position, message) })
    }

    /// Where a log is read from so that the newest `count` messages come again, or as many of them as can be compared.
    #[must_use]
    pub fn first_again(&self, count: usize) -> LogPosition {
        // A message is compared by the digest before it, which the first entry does not have.
        let place = self.entries.len().saturating_sub(count).max(1);
        self.entries.get(place).map_or_else(|| self.last().position.next(), |entry| entry.position)
    }

    /// The first remembered message behind `position`.
    #[must_use]
    pub fn next_after(&self, position: LogPosition) -> Option<LogPosition> {
        let place = self.entries.partition_point(|entry| entry.position <= position);
        self.entries.get(place).map(|entry| entry.position)
    }

    /// Whether `position` lies in what is remembered: if the window has no message there, none was applied there.
    #[must_use]
    pub fn covers(&self, position: LogPosition) -> bool {
        self.entries[0].position < position && position <= self.last().position
    }

    /// Forgets messages before `position`, apart from the last one of them and the newest [`OVERLAP`].
    pub fn forget_before(&mut self, position: LogPosition) {
        // One more than overlap: a message is compared by the digest before it.
        while self.entries.len() > OVERLAP + 1 && self.entries[1].position < position {
            self.entries.pop_front();
        }
    }

    fn place(&self, position: LogPosition) -> Option<usize> {
        self.entries.binary_search_by_key(&position, |entry| entry.position).ok()
    }

    /// Appends the form in a checkpoint.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.entries.len() as u64);
        for entry in &self.entries {
            put_seen(out, entry);
        }
    }

    /// Reads what [`DigestWindow::encode`] wrote.
    ///
    /// # Errors
    /// If there is something else.
    pub fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        let start = reader.clone();
        let count = reader.count(8 + DIGEST_BYTES)?;
        let mut entries = VecDeque::with_capacity(count);
        for _ in 0..count {
            let place = reader.clone();
            let entry = take_seen(reader)?;
            if entries.back().is_some_and(|last: &SeenLog| last.position >= entry.position) {
                return Err(place.error("positions in ascending order expected"));
            }
            entries.push_back(entry);
        }
        if entries.is_empty() {
            return Err(start.error("one digest or more expected"));
        }
        Ok(Self { entries })
    }
}

/// Appends a position and its digest: 24 bytes.
pub fn put_seen(out: &mut Vec<u8>, seen: &SeenLog) {
    out.extend_from_slice(&seen.position.0.to_le_bytes());
    out.extend_from_slice(&seen.digest.0);
}

/// Reads what [`put_seen`] wrote.
///
/// # Errors
/// If the bytes end, or the position is higher than any.
pub fn take_seen(reader: &mut Reader<'_>) -> Decoded<SeenLog> {
    let start = reader.clone();
    let position = LogPosition(reader.u64()?);
    if position > LogPosition::MAX {
        return Err(start.error(format!("a position of at most {} expected", LogPosition::MAX)));
    }
    Ok(SeenLog { position, digest: LogDigest(reader.array()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: GraphSalt = GraphSalt([7; 16]);

    fn window(messages: &[&[u8]]) -> DigestWindow {
        let mut window = DigestWindow::new(SeenLog::START);
        for (place, message) in messages.iter().enumerate() {
            window.push(SALT, LogPosition(10 * (place as u64 + 1)), message);
        }
        window
    }

    #[test]
    fn logs_differ_from_the_first_message_that_differs() {
        let (one, other) = (window(&[b"a", b"b", b"c"]), window(&[b"a", b"x", b"c"]));
        assert_eq!(one.at(LogPosition(10)), other.at(LogPosition(10)));
        assert_ne!(one.at(LogPosition(20)), other.at(LogPosition(20)));
        assert_eq!(
            one.compare(&other.last()),
            LogComparison::Other,
            "the same messages at the end don't help"
        );
        assert_eq!(one.compare(&one.last()), LogComparison::Same);
        assert_eq!(window(&[b"a"]).compare(&one.last()), LogComparison::Other, "a longer log is another one");
        let of_other_graph = LogDigest::START.after(GraphSalt([8; 16]), LogPosition(10), b"a");
        assert_ne!(one.at(LogPosition(10)), Some(of_other_graph));
    }

    #[test]
    fn digests_are_those_of_format_version_1() {
        // Computed by an independent program.
        let expected = 0x5559_aaad_e4e5_27f2_c7c7_b7b1_b102_2c77_u128.to_be_bytes();
        assert_eq!(LogDigest::START.after(SALT, LogPosition(10), b"a"), LogDigest(expected));
    }

    #[test]
    fn a_message_that_is_read_again_is_compared() {
        let window = window(&[b"a", b"b"]);
        assert_eq!(window.is_unchanged(SALT, LogPosition(20), b"b"), Some(true));
        assert_eq!(window.is_unchanged(SALT, LogPosition(20), b"c"), Some(false));
        assert_eq!(window.is_unchanged(SALT, LogPosition(15), b"b"), None, "no message was there");
        assert_eq!(window.is_unchanged(SALT, LogPosition::START, b""), None);
    }

    #[test]
    fn a_branch_is_the_window_of_a_log_that_goes_on_otherwise() {
        let (one, other) = (window(&[b"a", b"b", b"c"]), window(&[b"a", b"x"]));
        assert_eq!(one.branch(SALT, LogPosition(19), LogPosition(20), b"x"), Some(other.last()));
        let same = one.branch(SALT, LogPosition(10), LogPosition(20), b"b");
        assert_eq!(same.map(|seen| seen.digest), one.at(LogPosition(20)));
        let mut window = window(&[&b"m"[..]; 40]);
        window.forget_before(LogPosition::MAX);
        assert_eq!(window.branch(SALT, LogPosition(230), LogPosition(240), b"m"), None, "240 is the oldest");
        assert!(window.branch(SALT, LogPosition(240), LogPosition(250), b"m").is_some());
    }

    #[test]
    fn reading_begins_where_the_newest_messages_can_be_compared() {
        let window = window(&[&b"m"[..]; 20]);
        assert_eq!(window.first_again(OVERLAP), LogPosition(50), "positions 50 to 200 are 16 messages");
        assert_eq!(window.first_again(1), LogPosition(200));
        assert_eq!(window.first_again(0), LogPosition(201));
        assert_eq!(window.first_again(usize::MAX), LogPosition(10), "the first entry is no message");
        assert_eq!(DigestWindow::new(SeenLog::START).first_again(OVERLAP), LogPosition(1));
    }

    #[test]
    fn a_window_says_where_messages_were_and_where_none_was() {
        let mut window = window(&[&b"m"[..]; 40]);
        window.forget_before(LogPosition(150));
        assert_eq!(window.next_after(LogPosition(150)), Some(LogPosition(160)));
        assert_eq!(window.next_after(LogPosition(155)), Some(LogPosition(160)));
        assert_eq!(window.next_after(LogPosition(400)), None);
        let covered = [139, 140, 155, 400, 401].map(|position| window.covers(LogPosition(position)));
        assert_eq!(covered, [false, false, true, true, false]);
    }

    #[test]
    fn what_is_forgotten_leaves_the_overlap_and_the_message_before() {
        let mut window = window(&[&b"m"[..]; 40]);
        window.forget_before(LogPosition(150));
        assert_eq!(window.at(LogPosition(130)), None);
        assert!(window.at(LogPosition(140)).is_some(), "the one before stays");
        let forgotten = SeenLog { position: LogPosition(130), digest: LogDigest::START };
        assert_eq!(window.compare(&forgotten), LogComparison::Forgotten);
        window.forget_before(LogPosition::MAX);
        assert_eq!(window.is_unchanged(SALT, LogPosition(250), b"m"), Some(true), "16 are compared");
        assert_eq!(window.is_unchanged(SALT, LogPosition(240), b"m"), None);
    }

    #[test]
    fn a_window_reads_back_and_no_cut_of_it_does() {
        let window = window(&[b"a", b"b", b"c"]);
        let mut bytes = Vec::new();
        window.encode(&mut bytes);
        assert_eq!(DigestWindow::decode(&mut Reader::new(&bytes)), Ok(window));
        for cut in 0..bytes.len() {
            assert!(DigestWindow::decode(&mut Reader::new(&bytes[..cut])).is_err());
        }
        assert!(DigestWindow::decode(&mut Reader::new(&[0])).is_err(), "never empty");
    }
}
