//! Byte stream: a text file byte by byte, with the position of the next byte.
//!
//! A byte order mark of UTF-8 is passed over. Memory: none beside the buffer of whoever gives the bytes.

use std::io::{self, BufRead};

use crate::element::Position;
use crate::error::ReadError;

/// The bytes of a file, one after the other.
#[derive(Debug)]
pub(crate) struct ByteStream<R> {
    bytes: R,
    position: Position,
    has_begun: bool,
}

impl<R: BufRead> ByteStream<R> {
    /// The bytes that `bytes` gives.
    pub(crate) fn new(bytes: R) -> Self {
        Self { bytes, position: Position::START, has_begun: false }
    }

    /// Where the next byte stands.
    pub(crate) fn position(&self) -> Position {
        self.position
    }

    /// The next byte, which isn't taken; `None` at the end of the file.
    pub(crate) fn peek(&mut self) -> Result<Option<u8>, ReadError> {
        if !self.has_begun {
            self.pass_mark()?;
        }
        Ok(self.fill()?.first().copied())
    }

    /// Takes the next byte.
    pub(crate) fn take(&mut self) -> Result<Option<u8>, ReadError> {
        let byte = self.peek()?;
        match byte {
            None => return Ok(None),
            Some(b'\n') => self.position = Position { line: self.position.line + 1, column: 1 },
            Some(_) => self.position.column += 1,
        }
        self.bytes.consume(1);
        Ok(byte)
    }

    /// Takes blanks and line ends, and gives the byte behind them, which isn't taken.
    pub(crate) fn pass_blanks(&mut self) -> Result<Option<u8>, ReadError> {
        loop {
            match self.peek()? {
                Some(byte) if byte.is_ascii_whitespace() => drop(self.take()?),
                found => return Ok(found),
            }
        }
    }

    /// The error that the file breaks the rules at the next byte.
    pub(crate) fn malformed(&self, reason: impl Into<String>) -> ReadError {
        ReadError::Malformed { position: self.position, reason: reason.into() }
    }

    fn pass_mark(&mut self) -> Result<(), ReadError> {
        self.has_begun = true;
        if self.fill()?.first() != Some(&0xef) {
            return Ok(());
        }
        for expected in *b"\xef\xbb\xbf" {
            if self.fill()?.first() != Some(&expected) {
                return Err(self.malformed("the file's first bytes are neither text nor a byte order mark"));
            }
            self.bytes.consume(1);
        }
        Ok(())
    }

    fn fill(&mut self) -> Result<&[u8], ReadError> {
        loop {
            match self.bytes.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(ReadError::Io { position: self.position, source }),
                // Asked again, since the compiler can't see that the borrow ends in the arms above.
                Ok(_) => break,
            }
        }
        let position = self.position;
        self.bytes.fill_buf().map_err(|source| ReadError::Io { position, source })
    }
}

/// What a byte is called in errors.
pub(crate) fn found(byte: Option<u8>) -> String {
    match byte {
        None => "the end of the file".to_owned(),
        Some(byte @ 0x20..=0x7e) => format!("`{}`", char::from(byte)),
        Some(byte) => format!("byte {byte:#04x}"),
    }
}

/// `bytes` as text, which began at `position`.
pub(crate) fn utf8(bytes: &[u8], position: Position) -> Result<&str, ReadError> {
    std::str::from_utf8(bytes).map_err(|error| ReadError::Malformed {
        position: position.after(&bytes[..error.valid_up_to()]),
        reason: "a text is not UTF-8; convert the file, for example with `iconv -f ISO-8859-1 -t UTF-8`"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_with_their_places_and_without_a_mark() {
        let mut stream = ByteStream::new("\u{feff} \na".as_bytes());
        assert_eq!(stream.position(), Position::START);
        assert_eq!(stream.pass_blanks().unwrap(), Some(b'a'));
        assert_eq!(stream.position(), Position { line: 2, column: 1 });
        assert_eq!((stream.take().unwrap(), stream.take().unwrap()), (Some(b'a'), None));
        assert!(ByteStream::new(b"\xef\xbba".as_slice()).peek().is_err());
        assert_eq!(ByteStream::new(b"".as_slice()).peek().unwrap(), None);
    }

    #[test]
    fn text_that_is_no_utf_8_is_named_by_its_place() {
        let error = utf8(b"ab\xe9", Position { line: 2, column: 3 }).unwrap_err();
        assert!(error.to_string().starts_with("line 2, column 5: a text is not UTF-8"), "{error}");
    }
}
