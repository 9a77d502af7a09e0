//! Stream: reads a JSON file incrementally: objects and arrays are entered, or returned as text.
//!
//! ```text
//! {"nodes": [{"id": 1}, ...], ...}    begin_object · next_key "nodes" · begin_array · next_element
//!                                     · text `{"id": 1}` · next_element ... · next_key ...
//! ```
//!
//! What is stepped into is checked here; a text is for [`JsonReader`](crate::json::read::JsonReader) to
//! judge, and what is skipped is followed by its brackets only. Memory: one text, of limited length.

use std::io::BufRead;

use crate::byte_stream::{ByteStream, found};
use crate::element::Position;
use crate::error::ReadError;
use crate::json::brackets::Brackets;
use crate::json::read::{JsonError, JsonReader};

/// How long a key may be.
const KEY_BYTES_MAX: usize = 1 << 20;
/// What a text is called in errors.
const TEXT: &str = "the text of an element";

/// A place in a JSON file.
#[derive(Debug)]
pub(crate) struct JsonStream<R> {
    bytes: ByteStream<R>,
    text: Vec<u8>,
    text_bytes_max: usize,
    /// Where `text` begins.
    text_position: Position,
    /// Nothing of the innermost object or array was read yet, so no comma stands before the next.
    just_opened: bool,
}

impl<R: BufRead> JsonStream<R> {
    /// Reads what `bytes` gives; a text may have `text_bytes_max` bytes.
    pub(crate) fn new(bytes: R, text_bytes_max: usize) -> Self {
        Self {
            bytes: ByteStream::new(bytes),
            text: Vec::new(),
            text_bytes_max,
            text_position: Position::START,
            just_opened: false,
        }
    }

    /// The first byte of the value that comes next, which isn't read.
    pub(crate) fn peek(&mut self) -> Result<Option<u8>, ReadError> {
        self.bytes.pass_blanks()
    }

    /// Where the next byte stands.
    pub(crate) fn position(&self) -> Position {
        self.bytes.position()
    }

    /// Steps into the object or array that `open` begins.
    pub(crate) fn begin(&mut self, open: u8) -> Result<(), ReadError> {
        self.require(open)?;
        self.just_opened = true;
        Ok(())
    }

    /// The next key of the object, whose value comes then. `None` at its end, where it is left.
    pub(crate) fn next_key(&mut self) -> Result<Option<String>, ReadError> {
        if !self.goes_on(b'}')? {
            return Ok(None);
        }
        if self.bytes.pass_blanks()? != Some(b'"') {
            let byte = self.bytes.peek()?;
            return Err(self.malformed(format!("expected a key in quotes, found {}", found(byte))));
        }
        self.take_text(KEY_BYTES_MAX)?;
        let key = self.parsed(|reader| reader.read_string().map(|key| key.into_owned()))?;
        self.require(b':')?;
        Ok(Some(key))
    }

    /// Whether the array goes on with a value, which comes then. If not, it is left.
    pub(crate) fn next_element(&mut self) -> Result<bool, ReadError> {
        self.goes_on(b']')
    }

    /// Takes the value that comes next as a text, and gives what `read` makes of all of it.
    pub(crate) fn value<T>(
        &mut self,
        read: impl FnOnce(&mut JsonReader<'_>) -> Result<T, JsonError>,
    ) -> Result<T, ReadError> {
        self.take_text(self.text_bytes_max)?;
        self.parsed(read)
    }

    /// Where the text began that was taken last.
    pub(crate) fn text_position(&self) -> Position {
        self.text_position
    }

    /// Passes over the value that comes next. Gives whether it says something: neither `null`, `true` or
    /// `false` nor brackets with nothing in them.
    pub(crate) fn skip(&mut self) -> Result<bool, ReadError> {
        let first = self.peek()?;
        if !matches!(first, Some(b'{' | b'[' | b'"')) {
            self.take_text(self.text_bytes_max)?;
            return Ok(first.is_some_and(|byte| byte.is_ascii_digit() || byte == b'-'));
        }
        let (mut brackets, mut bytes) = (Brackets::default(), 0_u64);
        loop {
            let byte = self.require_byte()?;
            bytes += u64::from(!byte.is_ascii_whitespace());
            if brackets.ends_at(byte) {
                self.just_opened = false;
                return Ok(bytes > 2);
            }
        }
    }

    /// Fails unless nothing but blanks is left.
    pub(crate) fn finish(&mut self) -> Result<(), ReadError> {
        match self.bytes.pass_blanks()? {
            None => Ok(()),
            byte => Err(self.malformed(format!("expected the end of the file, found {}", found(byte)))),
        }
    }

    /// The error that the file breaks the rules at the next byte.
    pub(crate) fn malformed(&self, reason: impl Into<String>) -> ReadError {
        self.bytes.malformed(reason)
    }

    /// Passes over the comma before another value. At `end` there is none, and the end is passed over.
    fn goes_on(&mut self, end: u8) -> Result<bool, ReadError> {
        let just_opened = std::mem::take(&mut self.just_opened);
        match self.bytes.pass_blanks()? {
            Some(byte) if byte == end => {
                self.bytes.take()?;
                Ok(false)
            }
            Some(b',') if !just_opened => {
                self.bytes.take()?;
                Ok(true)
            }
            Some(byte) if just_opened && byte != b',' => Ok(true),
            byte => {
                let (next, end) = (if just_opened { "a value" } else { "," }, char::from(end));
                Err(self.malformed(format!("expected {next} or {end}, found {}", found(byte))))
            }
        }
    }

    fn require(&mut self, expected: u8) -> Result<(), ReadError> {
        match self.bytes.pass_blanks()? {
            Some(byte) if byte == expected => self.bytes.take().map(drop),
            byte => {
                let expected = char::from(expected);
                Err(self.malformed(format!("expected {expected}, found {}", found(byte))))
            }
        }
    }

    fn require_byte(&mut self) -> Result<u8, ReadError> {
        let byte = self.bytes.take()?;
        byte.ok_or_else(|| self.malformed("expected the end of a value, found the end of the file"))
    }

    /// Puts the value that comes next into `text`.
    fn take_text(&mut self, limit: usize) -> Result<(), ReadError> {
        self.text.clear();
        let first = self.bytes.pass_blanks()?;
        self.text_position = self.bytes.position();
        let mut brackets = Brackets::default();
        let is_scalar = match first {
            None | Some(b',' | b':' | b'}' | b']') => {
                return Err(self.malformed(format!("expected a value, found {}", found(first))));
            }
            Some(byte) => !matches!(byte, b'{' | b'[' | b'"'),
        };
        loop {
            if is_scalar
                && self.bytes.peek()?.is_none_or(|byte| {
                    byte.is_ascii_whitespace()
                        || matches!(byte, b',' | b'}' | b']' | b':' | b'"' | b'{' | b'[')
                })
            {
                break;
            }
            if self.text.len() == limit {
                return Err(ReadError::TooLong { position: self.text_position, what: TEXT, limit });
            }
            let byte = self.require_byte()?;
            self.text.push(byte);
            if !is_scalar && brackets.ends_at(byte) {
                break;
            }
        }
        self.just_opened = false;
        Ok(())
    }

    /// What `read` makes of the whole text; errors get its place in the file.
    fn parsed<T>(
        &self,
        read: impl FnOnce(&mut JsonReader<'_>) -> Result<T, JsonError>,
    ) -> Result<T, ReadError> {
        let mut reader = JsonReader::new(&self.text);
        let value = read(&mut reader).and_then(|value| reader.finish().map(|()| value));
        value.map_err(|error| ReadError::Malformed {
            position: self.text_position.after(&self.text[..error.offset.min(self.text.len())]),
            reason: error.reason,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(text: &str) -> JsonStream<&[u8]> {
        JsonStream::new(text.as_bytes(), 40)
    }

    fn number(stream: &mut JsonStream<&[u8]>) -> Result<String, ReadError> {
        stream.value(|reader| reader.read_number().map(ToOwned::to_owned))
    }

    #[test]
    fn objects_and_arrays_are_stepped_into_and_values_taken() {
        let mut stream =
            stream("\u{feff}{ \"a\\u0062\" : [ 1,\n2 ], \"x\": {\"y\": [\"}\"]}, \"e\": {}, \"z\": [ ]}\n");
        assert_eq!(stream.peek().unwrap(), Some(b'{'));
        stream.begin(b'{').unwrap();
        assert_eq!(stream.next_key().unwrap().as_deref(), Some("ab"));
        stream.begin(b'[').unwrap();
        assert!(stream.next_element().unwrap());
        assert_eq!(number(&mut stream).unwrap(), "1");
        assert!(stream.next_element().unwrap());
        assert_eq!(number(&mut stream).unwrap(), "2");
        assert_eq!(stream.text_position(), Position { line: 2, column: 1 });
        assert!(!stream.next_element().unwrap());
        assert_eq!(stream.next_key().unwrap().as_deref(), Some("x"));
        assert!(stream.skip().unwrap());
        assert_eq!(stream.next_key().unwrap().as_deref(), Some("e"));
        assert!(!stream.skip().unwrap());
        assert_eq!(stream.next_key().unwrap().as_deref(), Some("z"));
        stream.begin(b'[').unwrap();
        assert!(!stream.next_element().unwrap());
        assert_eq!(stream.next_key().unwrap(), None);
        stream.finish().unwrap();
    }

    #[test]
    fn what_is_broken_is_named_with_its_place() {
        let in_object = |text: &str| -> Result<(), ReadError> {
            let mut stream = stream(text);
            stream.begin(b'{')?;
            while stream.next_key()?.is_some() {
                number(&mut stream)?;
            }
            stream.finish()
        };
        assert!(in_object("{\"a\":1,\"b\":-2.5}").is_ok());
        for (text, expected) in [
            ("[", "line 1, column 1: expected {, found `[`"),
            ("{", "line 1, column 2: expected a value or }, found the end of the file"),
            ("{,", "line 1, column 2: expected a value or }, found `,`"),
            ("{a", "line 1, column 2: expected a key in quotes, found `a`"),
            ("{\"a\" 1", "line 1, column 6: expected :, found `1`"),
            ("{\"a\":1 \"b\"", "line 1, column 8: expected , or }, found `\"`"),
            ("{\"a\":\n1x}", "line 2, column 2: expected the end of the number"),
            ("{\"a\":,", "line 1, column 6: expected a value, found `,`"),
            ("{\"a\":1} x", "line 1, column 9: expected the end of the file, found `x`"),
            ("{\"a", "line 1, column 4: expected the end of a value, found the end of the file"),
        ] {
            let error = in_object(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let long = format!("{{\"a\": [{}", "1,".repeat(100));
        let error = in_object(&long).unwrap_err();
        assert!(matches!(error, ReadError::TooLong { limit: 40, .. }), "{error}");
    }
}
