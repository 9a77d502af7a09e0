//! Lexer: a GML file as keys, values and brackets, each with its position.
//!
//! ```text
//! node [ id 7 label "a &amp; b" weight -3.7e+2 d -Inf ]     # a comment, up to the end of its line
//! ```
//!
//! A number is a `long`, one past 64 bits a `bigint`, one with a point or an exponent a `double`. A word
//! that is no number is a string (Gephi takes `id A`). In strings `&quot;`, `&amp;`, `&apos;`, `&lt;`,
//! `&gt;` and numbers of characters (`&#228;`, `&#xe4;`) are resolved; other entities stay as they are.
//!
//! Memory: one string, of limited length.

use std::io::BufRead;

use evergraph_graph::value::{Value, ValueType};

use crate::byte_stream::{ByteStream, found, utf8};
use crate::element::Position;
use crate::error::ReadError;

/// What a key or a value is called in errors.
const UNIT: &str = "a key or a value";

/// A part of the file.
#[derive(Clone, PartialEq, Debug)]
pub enum Token {
    /// A word where a key is expected.
    Key(String),
    /// `]`.
    Close,
    /// The end of the file.
    Eof,
}

/// What stands behind a key.
#[derive(Clone, PartialEq, Debug)]
pub enum GmlValue {
    /// A number or a string.
    Scalar(Value),
    /// `[`: keys and values follow, up to `]`.
    Open,
}

/// Reads a GML file token by token.
#[derive(Debug)]
pub struct Lexer<R> {
    bytes: ByteStream<R>,
    text_bytes_max: usize,
    text: Vec<u8>,
    /// Where the token that was read last begins.
    position: Position,
}

impl<R: BufRead> Lexer<R> {
    /// Reads what `bytes` gives; a key or a value may have `text_bytes_max` bytes.
    pub fn new(bytes: R, text_bytes_max: usize) -> Self {
        Self { bytes: ByteStream::new(bytes), text_bytes_max, text: Vec::new(), position: Position::START }
    }

    /// Where the token that was read last begins.
    pub fn position(&self) -> Position {
        self.position
    }

    /// How many bytes the token that was read last has.
    pub(crate) fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// The next key or bracket.
    ///
    /// # Errors
    /// If something else comes next.
    pub fn next_key(&mut self) -> Result<Token, ReadError> {
        match self.pass_blanks_and_comments()? {
            None => Ok(Token::Eof),
            Some(b']') => {
                self.bytes.take()?;
                Ok(Token::Close)
            }
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80 => {
                self.take_word()?;
                utf8(&self.text, self.position).map(|key| Token::Key(key.to_owned()))
            }
            Some(b'<') => Err(self.bytes.malformed(
                "expected a key such as `graph`, found `<`: this is XML, of GraphML or of the Geography Markup \
                 Language, and not GML",
            )),
            other => {
                Err(self.bytes.malformed(format!("expected a key such as `graph`, or ], found {}", found(other))))
            }
        }
    }

    /// The value behind a key.
    ///
    /// # Errors
    /// If none comes next, or a string has no end or is not UTF-8.
    pub fn next_value(&mut self) -> Result<GmlValue, ReadError> {
        match self.pass_blanks_and_comments()? {
            Some(b'[') => {
                self.bytes.take()?;
                self.text.clear();
                Ok(GmlValue::Open)
            }
            Some(b'"') => self.read_string().map(|text| GmlValue::Scalar(Value::from(text))),
            None | Some(b']') => {
                let byte = self.bytes.peek()?;
                Err(self.bytes.malformed(format!("expected a value, found {}", found(byte))))
            }
            Some(_) => {
                self.take_word()?;
                utf8(&self.text, self.position).map(|word| GmlValue::Scalar(scalar(word)))
            }
        }
    }

    /// Passes to the next token, which begins at `position`.
    fn pass_blanks_and_comments(&mut self) -> Result<Option<u8>, ReadError> {
        loop {
            let byte = self.bytes.pass_blanks()?;
            self.position = self.bytes.position();
            if byte != Some(b'#') {
                return Ok(byte);
            }
            while !matches!(self.bytes.take()?, None | Some(b'\n')) {}
        }
    }

    fn take_word(&mut self) -> Result<(), ReadError> {
        self.text.clear();
        while let Some(byte) = self.bytes.peek()? {
            if byte.is_ascii_whitespace() || matches!(byte, b'[' | b']' | b'"') {
                break;
            }
            self.push(byte)?;
        }
        Ok(())
    }

    fn read_string(&mut self) -> Result<String, ReadError> {
        self.bytes.take()?;
        self.text.clear();
        let start = self.bytes.position();
        loop {
            match self.bytes.peek()? {
                None => {
                    let reason = "a string has no end".to_owned();
                    return Err(ReadError::Malformed { position: self.position, reason });
                }
                Some(b'"') => break,
                Some(byte) => self.push(byte)?,
            }
        }
        self.bytes.take()?;
        utf8(&self.text, start).map(resolved)
    }

    fn push(&mut self, byte: u8) -> Result<(), ReadError> {
        if self.text.len() == self.text_bytes_max {
            return Err(ReadError::TooLong {
                position: self.position,
                what: UNIT,
                limit: self.text_bytes_max,
            });
        }
        self.text.push(byte);
        self.bytes.take().map(drop)
    }
}

/// The number that `word` is, or else a string.
fn scalar(word: &str) -> Value {
    if let Ok(number) = word.parse::<i64>() {
        return Value::I64(number);
    }
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let number = Value::parse(word.strip_prefix('+').unwrap_or(word), ValueType::BigInteger);
        return number.unwrap_or_else(|_| word.into());
    }
    match word.parse::<f64>() {
        Ok(number) => Value::F64(number),
        Err(_) => word.into(),
    }
}

/// `text` with its entities resolved.
fn resolved(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        // The longest name of a character has some ten letters.
        let entity = rest.bytes().take(12).position(|byte| byte == b';').map(|end| &rest[1..end]);
        match entity.and_then(character) {
            Some(character) => {
                plain.push(character);
                rest = &rest[entity.map_or(0, str::len) + 2..];
            }
            None => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}

fn character(entity: &str) -> Option<char> {
    match entity {
        "quot" => Some('"'),
        "amp" => Some('&'),
        "apos" => Some('\''),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "nbsp" => Some('\u{a0}'),
        _ => {
            let number = entity.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Result<Vec<String>, ReadError> {
        let mut lexer = Lexer::new(text.as_bytes(), 100);
        let mut found = Vec::new();
        loop {
            match lexer.next_key()? {
                Token::Eof => return Ok(found),
                Token::Close => found.push("]".to_owned()),
                Token::Key(key) => {
                    let value = match lexer.next_value()? {
                        GmlValue::Open => "[".to_owned(),
                        GmlValue::Scalar(value) => format!("{value:?}"),
                    };
                    found.push(format!("{key} {value}"));
                }
            }
        }
    }

    #[test]
    fn keys_values_and_brackets_are_told_apart() {
        let text = "# c\nCreator\t\"x\ny\"\ngraph[a 7 b -3.7e+2 c +2 d -Inf e 18446744073709551616 f A]# c";
        assert_eq!(
            tokens(text).unwrap(),
            [
                "Creator String(\"x\\ny\")",
                "graph [",
                "a I64(7)",
                "b F64(-370.0)",
                "c I64(2)",
                "d F64(-inf)",
                &format!("e {:?}", Value::parse("18446744073709551616", ValueType::BigInteger).unwrap()),
                "f String(\"A\")",
                "]",
            ]
        );
        assert_eq!(tokens("").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn entities_are_resolved_where_they_are_known() {
        for (text, plain) in [
            ("Tom &amp; J&apos;s &quot;x&quot;", "Tom & J's \"x\""),
            ("&#228;&#xE4;&lt;&gt;", "ää<>"),
            ("a & b &; &unknown; &#xD800; &#; &", "a & b &; &unknown; &#xD800; &#; &"),
        ] {
            assert_eq!(resolved(text), plain);
        }
    }

    #[test]
    fn what_is_broken_is_named_with_its_place() {
        for (text, expected) in [
            ("graph [\n7", "line 2, column 1: expected a key such as `graph`, or ], found `7`"),
            ("graph\n]", "line 2, column 1: expected a value, found `]`"),
            ("graph", "line 1, column 6: expected a value, found the end of the file"),
            ("a \"x", "line 1, column 3: a string has no end"),
            ("\n<gml/>", "line 2, column 1: expected a key such as `graph`, found `<`: this is XML"),
        ] {
            let error = tokens(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        let mut latin = Lexer::new(b"a \"\xe9\"".as_slice(), 100);
        latin.next_key().unwrap();
        assert!(
            latin.next_value().unwrap_err().to_string().starts_with("line 1, column 4: a text is not UTF-8")
        );
        assert!(
            tokens(&format!("a {}", "x".repeat(200)))
                .unwrap_err()
                .to_string()
                .contains("more than 100 bytes")
        );
    }
}
