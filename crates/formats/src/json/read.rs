//! JSON reader: pulls values out of bytes one by one, without building a tree.
//!
//! ```text
//! {"a": [1, "x"]}     begin_object · next_key "a" · begin_array · next_element · read_number "1"
//!                     · next_element · read_string "x" · next_element: no · next_key: none
//! ```
//!
//! Why not serde_json: GraphSON writes integers of any length and exact decimals as JSON numbers, and
//! without features that would change it for the whole workspace serde_json reads those by way of a
//! float. Here a number is its text, and whoever knows its type parses it once. GraphSON also needs to
//! come back to a `@value` that stands before its `@type`: a reader is a place in a slice, so a copy
//! of it is a bookmark.
//!
//! Strict: RFC 8259 and nothing else (no comments, no trailing commas, no NaN, no raw control
//! characters in strings, no lone surrogates, UTF-8 only). What is nested deeper than [`DEPTH_MAX`]
//! is refused. Nothing recurses here, and memory is taken only for strings with escapes, no more than
//! they have bytes.

use std::borrow::Cow;

use thiserror::Error;

/// Arrays and objects that may be open at once: enough for GraphSON's wrappings of a value that is
/// 128 deep.
pub const DEPTH_MAX: usize = 300;

/// What is wrong in a JSON text, or with what it means.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("byte {offset}: {reason}")]
pub struct JsonError {
    /// Bytes before the place.
    pub offset: usize,
    /// What was expected, or what stands there.
    pub reason: String,
}

/// What kind of value comes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// A place in a JSON text. A copy is a bookmark: reading on from it changes nothing elsewhere.
#[derive(Clone, Debug)]
pub struct JsonReader<'a> {
    bytes: &'a [u8],
    offset: usize,
    /// Arrays and objects that are open.
    depth: usize,
    /// Nothing of the innermost array or object was read yet, so no comma stands before the next.
    just_opened: bool,
}

impl<'a> JsonReader<'a> {
    /// Starts at the beginning of `bytes`.
    #[must_use]
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0, depth: 0, just_opened: false }
    }

    /// Bytes before the place that is read next, blanks skipped.
    #[must_use]
    pub fn offset(&mut self) -> usize {
        self.skip_blanks();
        self.offset
    }

    /// The kind of the value that comes next; it is not read yet.
    ///
    /// # Errors
    /// If no value begins here.
    pub fn peek(&mut self) -> Result<Kind, JsonError> {
        self.skip_blanks();
        match self.bytes.get(self.offset) {
            Some(b'n') => Ok(Kind::Null),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b'"') => Ok(Kind::String),
            Some(b'[') => Ok(Kind::Array),
            Some(b'{') => Ok(Kind::Object),
            _ => Err(self.expected("a value")),
        }
    }

    /// Reads `null`.
    ///
    /// # Errors
    /// If something else comes next.
    pub fn read_null(&mut self) -> Result<(), JsonError> {
        self.skip_blanks();
        self.read_word("null")
    }

    /// Reads `true` or `false`.
    ///
    /// # Errors
    /// If something else comes next.
    pub fn read_bool(&mut self) -> Result<bool, JsonError> {
        self.skip_blanks();
        let truth = self.bytes.get(self.offset) == Some(&b't');
        self.read_word(if truth { "true" } else { "false" })?;
        Ok(truth)
    }

    /// Reads a number and gives its text: an optional minus, digits without leading zeros, optionally
    /// a point and digits, optionally an exponent.
    ///
    /// # Errors
    /// If something else comes next.
    pub fn read_number(&mut self) -> Result<&'a str, JsonError> {
        self.skip_blanks();
        let start = self.offset;
        self.take(b'-');
        if !self.take(b'0') {
            self.read_digits("a number")?;
        }
        if self.take(b'.') {
            self.read_digits("a digit after the point")?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.read_digits("a digit of the exponent")?;
        }
        if matches!(
            self.bytes.get(self.offset),
            Some(b'0'..=b'9' | b'.' | b'+' | b'-' | b'a'..=b'z' | b'A'..=b'Z')
        ) {
            return Err(self.expected("the end of the number (no leading zeros, no letters)"));
        }
        self.just_opened = false;
        Ok(std::str::from_utf8(&self.bytes[start..self.offset]).expect("only ASCII was stepped over"))
    }

    /// Reads a string, its escapes resolved.
    ///
    /// # Errors
    /// If something else comes next, if it has no end, or is not sound: bytes that are not UTF-8, raw
    /// control characters, unknown escapes, half of a surrogate pair.
    pub fn read_string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        self.skip_blanks();
        if !self.take(b'"') {
            return Err(self.expected("a string"));
        }
        let first = self.read_plain()?;
        let mut text = Cow::Borrowed(first);
        while !self.take(b'"') {
            // `read_plain` stops at nothing else.
            self.offset += 1;
            let escaped = self.read_escape()?;
            let rest = self.read_plain()?;
            let text = text.to_mut();
            text.push(escaped);
            text.push_str(rest);
        }
        self.just_opened = false;
        Ok(text)
    }

    /// Steps into an array; [`Self::next_element`] then says whether there is an element.
    ///
    /// # Errors
    /// If something else comes next, or it is nested deeper than [`DEPTH_MAX`].
    pub fn begin_array(&mut self) -> Result<(), JsonError> {
        self.open(b'[', "an array")
    }

    /// Whether the array goes on with a value, which is to be read next. If not, the array is left.
    ///
    /// # Errors
    /// If neither a value nor the end comes next.
    pub fn next_element(&mut self) -> Result<bool, JsonError> {
        self.next(b']', ", or ] after an element")
    }

    /// Steps into an object; [`Self::next_key`] then gives its keys.
    ///
    /// # Errors
    /// If something else comes next, or it is nested deeper than [`DEPTH_MAX`].
    pub fn begin_object(&mut self) -> Result<(), JsonError> {
        self.open(b'{', "an object")
    }

    /// The next key, whose value is to be read next. `None` at the end, where the object is left.
    ///
    /// # Errors
    /// If neither a key nor the end comes next. That a key comes twice is not noticed here.
    pub fn next_key(&mut self) -> Result<Option<Cow<'a, str>>, JsonError> {
        if !self.next(b'}', ", or } after a value")? {
            return Ok(None);
        }
        if self.bytes.get(self.offset) != Some(&b'"') {
            return Err(self.expected("a key in quotes"));
        }
        let key = self.read_string()?;
        self.skip_blanks();
        if !self.take(b':') {
            return Err(self.expected(": after the key"));
        }
        Ok(Some(key))
    }

    /// Reads a value of any kind and forgets it.
    ///
    /// # Errors
    /// If it is not sound, anywhere inside.
    pub fn skip_value(&mut self) -> Result<(), JsonError> {
        let mut open = Vec::new();
        loop {
            let kind = self.peek()?;
            match kind {
                Kind::Null => self.read_null()?,
                Kind::Bool => drop(self.read_bool()?),
                Kind::Number => drop(self.read_number()?),
                Kind::String => drop(self.read_string()?),
                Kind::Array => self.begin_array()?,
                Kind::Object => self.begin_object()?,
            }
            if matches!(kind, Kind::Array | Kind::Object) {
                open.push(kind);
            }
            loop {
                let more = match open.last() {
                    None => return Ok(()),
                    Some(Kind::Array) => self.next_element()?,
                    Some(_) => self.next_key()?.is_some(),
                };
                if more {
                    break;
                }
                open.pop();
            }
        }
    }

    /// Fails unless nothing but blanks is left.
    ///
    /// # Errors
    /// If something is.
    #[inline]
    pub fn finish(&mut self) -> Result<(), JsonError> {
        self.skip_blanks();
        if self.offset == self.bytes.len() { Ok(()) } else { Err(self.expected("the end of the text")) }
    }

    /// The error that `reason` is wrong at the place that is read next.
    #[must_use]
    pub fn error(&mut self, reason: impl Into<String>) -> JsonError {
        JsonError { offset: self.offset(), reason: reason.into() }
    }

    /// The error that something else than `expected` comes next.
    fn expected(&self, expected: &str) -> JsonError {
        let found = match self.bytes.get(self.offset) {
            None => "the end".to_owned(),
            Some(byte @ 0x20..=0x7e) => format!("`{}`", char::from(*byte)),
            Some(byte) => format!("byte {byte:#04x}"),
        };
        JsonError { offset: self.offset, reason: format!("expected {expected}, found {found}") }
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.offset) {
            self.offset += 1;
        }
    }

    /// Steps over the next byte if it is `byte`.
    fn take(&mut self, byte: u8) -> bool {
        let found = self.bytes.get(self.offset) == Some(&byte);
        self.offset += usize::from(found);
        found
    }

    fn read_word(&mut self, word: &str) -> Result<(), JsonError> {
        if !self.bytes[self.offset..].starts_with(word.as_bytes()) {
            return Err(self.expected(word));
        }
        self.offset += word.len();
        self.just_opened = false;
        Ok(())
    }

    fn read_digits(&mut self, expected: &str) -> Result<(), JsonError> {
        let count = self.bytes[self.offset..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(self.expected(expected));
        }
        self.offset += count;
        Ok(())
    }

    /// Reads the part of a string before its end or its next escape, at which it stops.
    fn read_plain(&mut self) -> Result<&'a str, JsonError> {
        let start = self.offset;
        let rest = &self.bytes[start..];
        let Some(length) = memchr::memchr2(b'"', b'\\', rest) else {
            return Err(JsonError {
                offset: self.bytes.len(),
                reason: "expected the end of a string, found the end".to_owned(),
            });
        };
        let plain = &rest[..length];
        if let Some(place) = plain.iter().position(|byte| *byte < 0x20) {
            self.offset += place;
            return Err(self.expected("control characters of a string as escapes"));
        }
        self.offset += length;
        std::str::from_utf8(plain).map_err(|error| JsonError {
            offset: start + error.valid_up_to(),
            reason: "a string is not UTF-8".to_owned(),
        })
    }

    /// Reads what follows a backslash.
    fn read_escape(&mut self) -> Result<char, JsonError> {
        let Some(byte) = self.bytes.get(self.offset) else {
            return Err(self.expected("an escape"));
        };
        let character = match byte {
            b'"' | b'\\' | b'/' => char::from(*byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.offset += 1;
                return self.read_code_point();
            }
            _ => return Err(self.expected("one of \"\\/bfnrtu after a backslash")),
        };
        self.offset += 1;
        Ok(character)
    }

    /// Reads the digits behind `\u`, and the second half of a surrogate pair.
    fn read_code_point(&mut self) -> Result<char, JsonError> {
        let start = self.offset;
        let first = self.read_unit()?;
        let code = match first {
            0xd800..=0xdbff if self.bytes[self.offset..].starts_with(b"\\u") => {
                self.offset += 2;
                let second = self.read_unit()?;
                // Not a second half: the sum is no scalar value, or is caught by the subtraction.
                second
                    .checked_sub(0xdc00)
                    .filter(|low| *low < 0x400)
                    .map(|low| 0x10000 + ((first - 0xd800) << 10) + low)
            }
            _ => Some(first),
        };
        code.and_then(char::from_u32).ok_or_else(|| JsonError {
            offset: start,
            reason: "an escape is half of a surrogate pair".to_owned(),
        })
    }

    /// Reads four hexadecimal digits.
    fn read_unit(&mut self) -> Result<u32, JsonError> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.bytes.get(self.offset).and_then(|byte| char::from(*byte).to_digit(16));
            let Some(digit) = digit else { return Err(self.expected("four hexadecimal digits after \\u")) };
            unit = unit << 4 | digit;
            self.offset += 1;
        }
        Ok(unit)
    }

    fn open(&mut self, bracket: u8, expected: &str) -> Result<(), JsonError> {
        self.skip_blanks();
        if self.bytes.get(self.offset) != Some(&bracket) {
            return Err(self.expected(expected));
        }
        if self.depth == DEPTH_MAX {
            return Err(self.error(format!("arrays and objects are nested more than {DEPTH_MAX} deep")));
        }
        self.offset += 1;
        self.depth += 1;
        self.just_opened = true;
        Ok(())
    }

    /// Steps over the comma before the next item, or over the bracket at the end.
    fn next(&mut self, close: u8, expected: &str) -> Result<bool, JsonError> {
        self.skip_blanks();
        if self.take(close) {
            self.depth -= 1;
            self.just_opened = false;
            return Ok(false);
        }
        if !self.just_opened && !self.take(b',') {
            return Err(self.expected(expected));
        }
        self.just_opened = false;
        self.skip_blanks();
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &[u8]) -> Result<(), JsonError> {
        let mut reader = JsonReader::new(text);
        reader.skip_value()?;
        reader.finish()
    }

    fn string(text: &str) -> Result<String, JsonError> {
        JsonReader::new(text.as_bytes()).read_string().map(Cow::into_owned)
    }

    #[test]
    fn values_are_pulled_in_order() -> Result<(), JsonError> {
        let mut reader = JsonReader::new(b" {\"a\": [1, \"x\", null], \"b\": {}, \"c\": true} ");
        reader.begin_object()?;
        assert_eq!(reader.next_key()?.as_deref(), Some("a"));
        reader.begin_array()?;
        assert!(reader.next_element()?);
        assert_eq!(reader.read_number()?, "1");
        assert!(reader.next_element()?);
        assert_eq!(reader.read_string()?, "x");
        assert!(reader.next_element()?);
        reader.read_null()?;
        assert!(!reader.next_element()?);
        assert_eq!(reader.next_key()?.as_deref(), Some("b"));
        reader.begin_object()?;
        assert_eq!(reader.next_key()?, None);
        assert_eq!(reader.next_key()?.as_deref(), Some("c"));
        assert!(reader.read_bool()?);
        assert_eq!(reader.next_key()?, None);
        reader.finish()
    }

    #[test]
    fn numbers_keep_their_text() {
        for text in ["0", "-0", "10", "-1.50", "1e5", "1E+05", "2e-3", "123456789012345678901234567890"] {
            assert_eq!(JsonReader::new(text.as_bytes()).read_number(), Ok(text));
        }
        for text in ["", "-", "01", "+1", ".5", "1.", "1e", "1e+", "0x1", "1.2.3", "--1", "NaN", "1a"] {
            assert!(JsonReader::new(text.as_bytes()).read_number().is_err(), "{text}");
        }
    }

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(string(r#""a\"\\\/\b\f\n\r\tz""#).unwrap(), "a\"\\/\u{8}\u{c}\n\r\tz");
        assert_eq!(string(r#""\u00e9\uD83D\uDE00\u0000""#).unwrap(), "é😀\0");
    }

    #[test]
    fn unsound_strings_are_refused_with_the_place() {
        for (text, offset) in [
            (r#""\ud800""#, 3),
            (r#""\ud800x""#, 3),
            (r#""\ud800\ud800""#, 3),
            (r#""\ud800\u0041""#, 3),
            (r#""\udc00""#, 3),
            (r#""\u12g4""#, 5),
            (r#""\x""#, 2),
            ("\"a\nb\"", 2),
            ("\"a\0\"", 2),
            ("\"abc", 4),
            ("\"abc\\", 5),
        ] {
            assert_eq!(string(text).unwrap_err().offset, offset, "{text}");
        }
        assert_eq!(check(b"[\"ab\xff\"]").unwrap_err().offset, 4);
    }

    #[test]
    fn an_error_says_what_was_expected_and_found() {
        assert_eq!(
            check(b"[1 2]").unwrap_err().to_string(),
            "byte 3: expected , or ] after an element, found `2`"
        );
        assert_eq!(
            check(b"{\"a\" 1}").unwrap_err().to_string(),
            "byte 5: expected : after the key, found `1`"
        );
        assert_eq!(check(b"[1,]").unwrap_err().to_string(), "byte 3: expected a value, found `]`");
        assert_eq!(
            check(b"{\"a\":1,}").unwrap_err().to_string(),
            "byte 7: expected a key in quotes, found `}`"
        );
        assert_eq!(check(b"[\0]").unwrap_err().to_string(), "byte 1: expected a value, found byte 0x00");
        assert_eq!(
            check(b"[1").unwrap_err().to_string(),
            "byte 2: expected , or ] after an element, found the end"
        );
        assert_eq!(check(b"[1}").unwrap_err().offset, 2);
    }

    #[test]
    fn nesting_has_a_limit() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(check(nested(DEPTH_MAX).as_bytes()), Ok(()));
        let error = check(nested(DEPTH_MAX + 1).as_bytes()).unwrap_err();
        assert_eq!(
            (error.offset, error.reason.as_str()),
            (DEPTH_MAX, "arrays and objects are nested more than 300 deep")
        );
        assert!(check("[".repeat(1_000_000).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn what_is_sound_is_what_another_reader_takes(
            text in r#"[\[\]{}:, \t"\\a1e0.\-]{0,12}|\[("a\\n"|-?[0-9]{1,3}(\.[0-9])?|true|null|,){0,4}\]|\{"a":("\\u00e9"|1e5|\[\])(,"b":false)?\}"#,
        ) {
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            // Theirs refuses numbers that a double can't hold; none is so long here.
            prop_assert_eq!(check(text.as_bytes()).is_ok(), theirs.is_ok(), "{}", text);
        }

        #[test]
        fn any_bytes_give_a_value_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let ours = check(&bytes).is_ok();
            prop_assert_eq!(ours, serde_json::from_slice::<serde_json::Value>(&bytes).is_ok());
        }
    }
}
