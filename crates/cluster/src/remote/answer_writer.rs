//! Answer writer: a message of answers to a view's questions, written until there is no room.
//!
//! ```text
//! version, count | answer: count, item, item, item | answer: count, item, it
//!                                                                         ^ no room: the item is taken back, and the
//!                                                                           message ends behind the one before
//! ```
//!
//! Whoever asks says how many bytes an answer may have. The first item of a message goes beyond that if it must, up to what any
//! message may have: so every question gets on.

use crate::remote::question::CONTENT_BYTES_MAX;
use crate::remote::view_answer::ANSWERS_VERSION;
use evergraph_graph::bytes::put_varint;
use evergraph_graph::error::{Error, ErrorKind, Result};

/// Version and count.
const HEAD_BYTES: usize = 5;
/// Items end here, so that what ends an answer has room.
const BYTES_MAX: usize = CONTENT_BYTES_MAX - 16;
/// Bytes that the head of a list or a map takes, at most.
const PAGE_HEAD_BYTES_MAX: usize = 10;
/// The fewest bytes that are left for a list or a map, so that no answer is cut into shreds.
const PAGE_BYTES_MIN: usize = 64;

/// Entries of one list or one map, before it is known how many have room.
#[derive(Debug, Default)]
pub struct PageBytes {
    bytes: Vec<u8>,
    count: u64,
}

impl PageBytes {
    /// Empties it.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }

    /// Adds an entry if it has room in `room` bytes with those before; whether it has.
    pub fn put(&mut self, room: usize, put: impl FnOnce(&mut Vec<u8>)) -> bool {
        let before = self.bytes.len();
        put(&mut self.bytes);
        let has_room = self.bytes.len() <= room;
        match has_room {
            true => self.count += 1,
            false => self.bytes.truncate(before),
        }
        has_room
    }

    /// How many entries it has.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Appends the form in an answer.
    pub fn encode(&self, out: &mut Vec<u8>, is_last: bool) {
        put_varint(out, self.count << 1 | u64::from(is_last));
        out.extend_from_slice(&self.bytes);
    }
}

/// An answer that items are still added to.
#[derive(Debug)]
pub struct OpenAnswer {
    start: usize,
    count: u32,
}

impl OpenAnswer {
    /// How many items it has.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count as usize
    }
}

/// A message of answers that is written until there is no room. The first item has room in any case, unless no message has.
#[derive(Debug)]
pub struct AnswersWriter {
    out: Vec<u8>,
    end: usize,
    answers: u32,
    has_items: bool,
}

impl AnswersWriter {
    /// An empty message of about `bytes_max` bytes, and never more than [`CONTENT_BYTES_MAX`].
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        let mut out = vec![ANSWERS_VERSION];
        out.resize(HEAD_BYTES, 0);
        Self { out, end: bytes_max.min(BYTES_MAX), answers: 0, has_items: false }
    }

    /// Begins the answer to the next question.
    pub fn begin(&mut self) -> OpenAnswer {
        let start = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        OpenAnswer { start, count: 0 }
    }

    /// Bytes that a list or a map may take that comes next; `None` if it had better be asked for again.
    #[must_use]
    pub fn page_room(&self) -> Option<usize> {
        let room = self.end.saturating_sub(self.out.len() + PAGE_HEAD_BYTES_MAX);
        match self.has_items {
            true => (room >= PAGE_BYTES_MIN).then_some(room),
            false => Some(room.max(PAGE_BYTES_MIN)),
        }
    }

    /// Bytes that the first entry of a list or a map may take, however many were asked for.
    #[must_use]
    pub fn first_entry_room(&self) -> usize {
        match self.has_items {
            true => 0,
            false => BYTES_MAX.saturating_sub(self.out.len() + PAGE_HEAD_BYTES_MAX),
        }
    }

    /// Whether it has no item yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.has_items
    }

    /// Whether it has an answer, and as many bytes as it may have: other questions are asked again. An answer has bytes
    /// without any item, too.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.answers > 0 && self.out.len() >= self.end
    }

    /// Appends a flag, which is no item.
    pub fn put_flag(&mut self, flag: bool) {
        self.out.push(u8::from(flag));
    }

    /// Adds an item to an answer; `false` if there is no room for it.
    ///
    /// # Errors
    /// `limit` if it has no room in any message.
    pub fn put(&mut self, answer: &mut OpenAnswer, put: impl FnOnce(&mut Vec<u8>)) -> Result<bool> {
        let before = self.out.len();
        put(&mut self.out);
        if self.out.len() > self.end {
            let is_too_large = self.out.len() > BYTES_MAX;
            if is_too_large && !self.has_items {
                return Err(too_large(self.out.len() - before));
            }
            if is_too_large || self.has_items {
                self.out.truncate(before);
                return Ok(false);
            }
        }
        self.has_items = true;
        answer.count += 1;
        Ok(true)
    }

    /// Adds an item to an answer, whatever room it takes.
    ///
    /// # Errors
    /// `limit` if it has no room in any message.
    pub fn put_anyway(&mut self, answer: &mut OpenAnswer, put: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let before = self.out.len();
        put(&mut self.out);
        if self.out.len() > BYTES_MAX {
            return Err(too_large(self.out.len() - before));
        }
        self.has_items = true;
        answer.count += 1;
        Ok(())
    }

    /// Ends an answer.
    pub fn end(&mut self, answer: OpenAnswer) {
        self.out[answer.start..answer.start + 4].copy_from_slice(&answer.count.to_le_bytes());
        self.answers += 1;
    }

    /// Takes back an answer that nothing was added to.
    pub fn take_back(&mut self, answer: OpenAnswer) {
        self.out.truncate(answer.start);
    }

    /// The bytes.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.out[1..HEAD_BYTES].copy_from_slice(&self.answers.to_le_bytes());
        self.out
    }
}

/// The error of an item that has no room in a message.
#[cold]
pub fn too_large(bytes: usize) -> Error {
    let text = format!("a property of {bytes} bytes has no room in a message between nodes");
    Error::new(ErrorKind::Limit, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The message of one answer with items of these sizes, and how many of them had room.
    fn written(bytes_max: usize, sizes: &[usize]) -> (Vec<u8>, usize) {
        let mut writer = AnswersWriter::new(bytes_max);
        let mut answer = writer.begin();
        for size in sizes {
            if !writer.put(&mut answer, |out| out.resize(out.len() + size, 7)).unwrap() {
                break;
            }
        }
        let count = answer.count();
        writer.end(answer);
        (writer.finish(), count)
    }

    #[test]
    fn a_message_ends_behind_the_last_item_that_has_room() {
        let (bytes, count) = written(40, &[10, 10, 20, 1]);
        assert_eq!((bytes.len(), count), (HEAD_BYTES + 4 + 20, 2));
        assert_eq!(bytes[..9], [ANSWERS_VERSION, 1, 0, 0, 0, 2, 0, 0, 0]);
    }

    #[test]
    fn the_first_item_has_room_whatever_was_asked_for() {
        for bytes_max in [0, 100] {
            assert_eq!(written(bytes_max, &[1000, 1]).1, 1);
        }
        let mut writer = AnswersWriter::new(usize::MAX);
        let mut answer = writer.begin();
        let put = |size: usize| move |out: &mut Vec<u8>| out.resize(out.len() + size, 7);
        let error = writer.put(&mut answer, put(CONTENT_BYTES_MAX)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        let mut writer = AnswersWriter::new(usize::MAX);
        let mut answer = writer.begin();
        assert!(writer.put(&mut answer, put(BYTES_MAX - 9)).unwrap());
        assert!(!writer.put(&mut answer, put(1)).unwrap());
        writer.end(answer);
        assert!(writer.finish().len() <= CONTENT_BYTES_MAX);
    }

    #[test]
    fn a_page_has_the_entries_that_have_room() {
        let mut page = PageBytes::default();
        let put = |out: &mut Vec<u8>| out.extend_from_slice(&[1, 2]);
        assert_eq!([page.put(5, put), page.put(5, put), page.put(5, put)], [true, true, false]);
        let mut out = Vec::new();
        page.encode(&mut out, true);
        assert_eq!(out, [5, 1, 2, 1, 2]);
        page.clear();
        assert_eq!(page.count(), 0);
    }

    #[test]
    fn answers_without_items_fill_a_message_too() {
        let mut writer = AnswersWriter::new(0);
        assert!(!writer.is_full(), "there is an answer in any case");
        let mut writer_of_three = AnswersWriter::new(HEAD_BYTES + 15);
        for writer in [&mut writer, &mut writer_of_three] {
            while !writer.is_full() {
                let answer = writer.begin();
                writer.put_flag(true);
                writer.end(answer);
            }
        }
        assert_eq!([writer.finish()[1], writer_of_three.finish()[1]], [1, 3]);
    }

    #[test]
    fn an_answer_that_nothing_was_added_to_can_be_taken_back() {
        let mut writer = AnswersWriter::new(30);
        let mut first = writer.begin();
        assert!(writer.is_empty() && writer.put(&mut first, |out| out.push(1)).unwrap());
        writer.end(first);
        let second = writer.begin();
        assert!(!writer.is_empty() && second.count() == 0);
        assert_eq!((writer.page_room(), writer.first_entry_room()), (None, 0));
        writer.take_back(second);
        assert_eq!(writer.finish(), [ANSWERS_VERSION, 1, 0, 0, 0, 1, 0, 0, 0, 1]);
    }
}
