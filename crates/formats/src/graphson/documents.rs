//! Documents: splits a GraphSON file into the texts of its vertices, with their positions.
//!
//! ```text
//! lines      {"id":1,...}          wrapped    {"vertices":[{"id":1,...},
//!            {"id":2,...}                                  {"id":2,...}]}
//! ```
//!
//! Which of the two a file is shows in its first bytes. Lines are cut at line feeds, so that a broken
//! line spoils no other; blank lines are passed over. The wrapped form (TinkerPop's
//! `wrapAdjacencyList`) is cut by counting brackets outside of strings, whatever blanks it has; what
//! is inside the brackets is for [`crate::graphson::line_read`] to judge. A byte order mark of UTF-8
//! is passed over.
//!
//! Memory: one vertex's text, of limited length.

use std::io::{self, BufRead};

use crate::element::Position;
use crate::error::ReadError;
use crate::json::brackets::Brackets;

/// What a vertex's text is called in errors.
const VERTEX: &str = "the text of a vertex";
/// How a wrapped file begins, without its blanks.
const WRAPPING: &[u8] = b"{\"vertices\":[";
/// The string in it, within which blanks count.
const WRAPPING_STRING: std::ops::Range<usize> = 2..11;
/// Bytes at the beginning of a file among which the wrapping is looked for.
const START_BYTES_MAX: usize = 4096;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file, cut into the texts of its vertices.
#[derive(Debug)]
pub struct Documents<R> {
    bytes: R,
    bytes_max: usize,
    /// Bytes that were taken from `bytes` to tell the forms apart; those from `start_read` on count
    /// as not read yet.
    start: Vec<u8>,
    start_read: usize,
    /// Where the next byte stands in the file.
    position: Position,
    state: State,
    text: Vec<u8>,
}

/// What comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The beginning of the file.
    Start,
    /// A line.
    Line,
    /// A vertex of the wrapped form: the first, or another behind a comma.
    Wrapped { first: bool },
    /// Nothing.
    End,
}

impl<R: BufRead> Documents<R> {
    /// Cuts what `bytes` gives; a vertex's text may have `bytes_max` bytes.
    pub fn new(bytes: R, bytes_max: usize) -> Self {
        Self {
            bytes,
            bytes_max,
            start: Vec::new(),
            start_read: 0,
            position: Position::START,
            state: State::Start,
            text: Vec::new(),
        }
    }

    /// The next vertex's text and where it begins; `None` at the end of the file.
    ///
    /// # Errors
    /// If bytes can't be had, a text is too long, or the wrapping is broken. There is nothing more
    /// after an error.
    pub fn next_document(&mut self) -> Result<Option<(Position, &[u8])>, ReadError> {
        if self.state == State::Start {
            self.state = self.read_start()?;
        }
        let found = match self.state {
            State::Start | State::End => Ok(None),
            State::Line => self.read_line(),
            State::Wrapped { first } => self.read_wrapped(first),
        };
        if !matches!(found, Ok(Some(_))) {
            self.state = State::End;
        }
        Ok(found?.map(|position| (position, self.text.as_slice())))
    }

    /// Where the next byte of the file stands.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Tells the forms apart, and steps over the wrapping.
    fn read_start(&mut self) -> Result<State, ReadError> {
        let mut matched = 0;
        let mut is_wrapped = None;
        while is_wrapped.is_none() && self.start.len() < START_BYTES_MAX {
            let Some(byte) = fill(&mut self.bytes, self.position)?.first().copied() else { break };
            self.bytes.consume(1);
            self.start.push(byte);
            if self.start == BYTE_ORDER_MARK {
                self.start.clear();
            } else if byte == WRAPPING[matched] {
                matched += 1;
                is_wrapped = (matched == WRAPPING.len()).then_some(true);
            } else if BYTE_ORDER_MARK.starts_with(&self.start) {
                // The rest of the mark comes.
            } else if !byte.is_ascii_whitespace() || WRAPPING_STRING.contains(&matched) {
                is_wrapped = Some(false);
            }
        }
        if is_wrapped == Some(true) {
            self.position = self.position.after(&self.start);
            self.start_read = self.start.len();
            return Ok(State::Wrapped { first: true });
        }
        Ok(State::Line)
    }

    /// Puts the next line that isn't blank into `text`.
    fn read_line(&mut self) -> Result<Option<Position>, ReadError> {
        loop {
            self.text.clear();
            let start = self.position;
            loop {
                let block = self.block()?;
                let (taken, ended) = match memchr::memchr(b'\n', block) {
                    Some(place) => (place + 1, true),
                    None => (block.len(), block.is_empty()),
                };
                self.take(taken, start)?;
                if ended {
                    break;
                }
            }
            if self.text.iter().any(|byte| !byte.is_ascii_whitespace()) {
                return Ok(Some(start));
            }
            if self.text.last() != Some(&b'\n') {
                return Ok(None);
            }
        }
    }

    /// Puts the next object of the wrapped array into `text`, or steps over the end of the wrapping.
    fn read_wrapped(&mut self, first: bool) -> Result<Option<Position>, ReadError> {
        let mut next = self.next_byte()?;
        if next == Some(b']') {
            self.skip(1)?;
            self.require(b'}', "expected } behind the vertices")?;
            if self.next_byte()?.is_some() {
                return Err(self.malformed("expected the end of the file behind the vertices"));
            }
            return Ok(None);
        }
        if !first {
            self.require(b',', "expected , or ] behind a vertex")?;
            next = self.next_byte()?;
        }
        if next != Some(b'{') {
            return Err(self.malformed("expected a vertex, which is an object"));
        }
        let start = self.position;
        self.text.clear();
        self.state = State::Wrapped { first: false };
        let mut object = Brackets::default();
        loop {
            let block = self.block()?;
            if block.is_empty() {
                return Err(self.malformed("expected the end of a vertex, found the end of the file"));
            }
            let end = object.end_in(block);
            let taken = end.unwrap_or(block.len());
            self.take(taken, start)?;
            if end.is_some() {
                return Ok(Some(start));
            }
        }
    }

    /// The next byte that isn't a blank; it is not taken. `None` at the end of the file.
    fn next_byte(&mut self) -> Result<Option<u8>, ReadError> {
        loop {
            let block = self.block()?;
            let blanks = block.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            match (block.get(blanks).copied(), block.is_empty()) {
                (None, true) => return Ok(None),
                (found, _) => {
                    self.skip(blanks)?;
                    if found.is_some() {
                        return Ok(found);
                    }
                }
            }
        }
    }

    fn require(&mut self, expected: u8, reason: &str) -> Result<(), ReadError> {
        if self.next_byte()? != Some(expected) {
            return Err(self.malformed(reason));
        }
        self.skip(1)
    }

    fn malformed(&self, reason: &str) -> ReadError {
        ReadError::Malformed { position: self.position, reason: reason.to_owned() }
    }

    /// Bytes that come next, none only at the end of the file.
    fn block(&mut self) -> Result<&[u8], ReadError> {
        if self.start_read < self.start.len() {
            return Ok(&self.start[self.start_read..]);
        }
        fill(&mut self.bytes, self.position)
    }

    /// Steps over `count` bytes of the block.
    fn skip(&mut self, count: usize) -> Result<(), ReadError> {
        let position = self.position.after(&self.block()?[..count]);
        self.consume(count);
        self.position = position;
        Ok(())
    }

    /// Moves `count` bytes of the block to the text, which began at `start`.
    fn take(&mut self, count: usize, start: Position) -> Result<(), ReadError> {
        if count > self.bytes_max - self.text.len() {
            return Err(ReadError::TooLong { position: start, what: VERTEX, limit: self.bytes_max });
        }
        let mut text = std::mem::take(&mut self.text);
        text.extend_from_slice(&self.block()?[..count]);
        self.text = text;
        self.skip(count)
    }

    fn consume(&mut self, count: usize) {
        if self.start_read < self.start.len() {
            self.start_read += count;
        } else {
            self.bytes.consume(count);
        }
    }
}

/// Bytes that come next from `bytes`, none only at the end.
fn fill<R: BufRead>(bytes: &mut R, position: Position) -> Result<&[u8], ReadError> {
    loop {
        match bytes.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(ReadError::Io { position, source }),
            // Asked again, since the compiler can't see that the borrow ends in the arms above.
            Ok(_) => break,
        }
    }
    bytes.fill_buf().map_err(|source| ReadError::Io { position, source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Read};

    /// Cuts `bytes`, which come in blocks of `block` bytes.
    fn cut_in(bytes: &[u8], block: usize) -> Result<Vec<(u64, u64, String)>, ReadError> {
        let mut documents = Documents::new(BufReader::with_capacity(block, bytes), 64);
        let mut found = Vec::new();
        while let Some((position, text)) = documents.next_document()? {
            found.push((position.line, position.column, String::from_utf8_lossy(text).trim_end().to_owned()));
        }
        assert!(matches!(documents.next_document(), Ok(None)), "the end stays the end");
        Ok(found)
    }

    fn cut(text: &str) -> Vec<(u64, u64, String)> {
        let whole = cut_in(text.as_bytes(), 1024).expect(text);
        assert_eq!(cut_in(text.as_bytes(), 1).expect(text), whole, "{text}");
        whole
    }

    fn found(documents: &[(u64, u64, &str)]) -> Vec<(u64, u64, String)> {
        documents.iter().map(|(line, column, text)| (*line, *column, (*text).to_owned())).collect()
    }

    #[test]
    fn a_line_is_a_document_and_blank_lines_are_none() {
        let expected = found(&[(1, 1, "{\"id\":1}"), (3, 1, "{\"id\":2}")]);
        assert_eq!(cut("{\"id\":1}\n\n{\"id\":2}\n"), expected);
        assert_eq!(cut("{\"id\":1}\r\n \t\r\n{\"id\":2}"), expected);
        assert_eq!(cut("\u{feff}{\"id\":1}\n\n{\"id\":2}\n \n"), expected);
        assert_eq!(cut(""), []);
        assert_eq!(cut("\n \n"), []);
        assert_eq!(cut("\u{feff}"), []);
    }

    #[test]
    fn a_wrapped_array_is_cut_by_brackets_outside_of_strings() {
        assert_eq!(
            cut(r#"{"vertices":[{"a":"}"},{"b":["\"]",{}]}]}"#),
            found(&[(1, 14, r#"{"a":"}"}"#), (1, 24, r#"{"b":["\"]",{}]}"#)])
        );
        assert_eq!(
            cut("\u{feff} {\n  \"vertices\" : [\n  {\"a\":\n1},\n  {}\n]\n}\n"),
            found(&[(3, 3, "{\"a\":\n1}"), (5, 3, "{}")])
        );
        assert_eq!(cut("{\"vertices\":[]}"), []);
    }

    #[test]
    fn what_only_begins_like_a_wrapping_is_a_line() {
        for text in [
            "{",
            "{\"vert\":1}",
            "{\"vertices\"",
            "{\"ver tices\":[",
            "[1]",
            "\u{feff}x",
            "{\"vertices\":{}}",
        ] {
            assert_eq!(cut(text), found(&[(1, 1, text.trim_start_matches('\u{feff}'))]));
        }
        assert_eq!(cut("\n\n{\n\"x"), found(&[(3, 1, "{"), (4, 1, "\"x")]));
    }

    #[test]
    fn a_broken_wrapping_is_an_error_with_its_place() {
        for (text, column) in [
            (r#"{"vertices":[{}"#, 16),
            (r#"{"vertices":[{"#, 15),
            (r#"{"vertices":[{} {}]}"#, 17),
            (r#"{"vertices":[{},]}"#, 17),
            (r#"{"vertices":[,{}]}"#, 14),
            (r#"{"vertices":[1]}"#, 14),
            (r#"{"vertices":[{}]"#, 17),
            (r#"{"vertices":[{}],"edges":[]}"#, 17),
            (r#"{"vertices":[{}]} x"#, 19),
        ] {
            let error = cut_in(text.as_bytes(), 7).expect_err(text);
            assert_eq!(error.position(), Position { line: 1, column }, "{text} {error}");
        }
    }

    #[test]
    fn a_text_without_an_end_does_not_fill_the_memory() {
        for start in ["", "{\"vertices\":[{\""] {
            let endless = start.as_bytes().chain(io::repeat(b'x'));
            let mut documents = Documents::new(BufReader::new(endless), 1000);
            let error = documents.next_document().expect_err("too long");
            assert!(matches!(error, ReadError::TooLong { limit: 1000, .. }), "{error}");
            assert!(documents.text.capacity() < 20_000);
        }
        let mut blanks = Documents::new(BufReader::new(io::repeat(b' ')), 10_000);
        assert!(matches!(blanks.next_document(), Err(ReadError::TooLong { .. })));
    }
}
