//! Words: the words of a line between blanks, with their columns.

use std::str::FromStr;

use crate::error::LineError;

/// The words of one line, from left to right.
#[derive(Clone, Debug)]
pub(crate) struct Words<'a> {
    line: &'a [u8],
    offset: usize,
}

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Word<'a> {
    /// Its bytes; none of them is a blank, and there is at least one.
    pub(crate) bytes: &'a [u8],
    /// Where it begins, from 1.
    pub(crate) column: u64,
}

impl<'a> Words<'a> {
    /// The words of `line`, with or without its end.
    pub(crate) fn of(line: &'a [u8]) -> Self {
        Self { line, offset: 0 }
    }

    /// The next word, which must be there.
    pub(crate) fn require(&mut self, expected: &str) -> Result<Word<'a>, LineError> {
        let end = self.line.trim_ascii_end().len() as u64 + 1;
        self.next()
            .ok_or_else(|| LineError { column: end, reason: format!("expected {expected}, found the end") })
    }

    /// The next word as a number.
    pub(crate) fn number<T: FromStr>(&mut self, expected: &str) -> Result<T, LineError> {
        let word = self.require(expected)?;
        word.text().and_then(|text| text.parse().ok()).ok_or_else(|| word.error(expected))
    }

    /// The next word as a number from 1 to `greatest`.
    pub(crate) fn index(&mut self, expected: &str, greatest: u64) -> Result<u64, LineError> {
        let mut ahead = self.clone();
        let number = self.number(expected)?;
        if number == 0 || number > greatest {
            return Err(ahead.require(expected)?.error(&format!("{expected} from 1 to {greatest}")));
        }
        Ok(number)
    }

    /// Fails if another word is there.
    pub(crate) fn finish(mut self) -> Result<(), LineError> {
        self.next().map_or(Ok(()), |word| Err(word.error("the end of the line")))
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        let rest = &self.line[self.offset..];
        let start = rest.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let length = rest[start..].iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
        let column = (self.offset + start) as u64 + 1;
        self.offset += start + length;
        Some(Word { bytes: &rest[start..start + length], column })
    }
}

impl<'a> Word<'a> {
    /// The word, if it is UTF-8.
    pub(crate) fn text(self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes).ok()
    }

    /// The error that it isn't what was `expected`.
    pub(crate) fn error(self, expected: &str) -> LineError {
        let start = String::from_utf8_lossy(&self.bytes[..self.bytes.len().min(40)]);
        LineError { column: self.column, reason: format!("expected {expected}, found {start:?}") }
    }
}
