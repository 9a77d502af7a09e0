//! Lexer: splits text into lexemes, one at a time, without a copy.
//!
//! ```text
//! g.V(-1l).has('a', 1.5)   // the rest of a line
//! word . word ( integer ) . word ( string , float )
//! ```
//!
//! A sign belongs to the number behind it: gremlin-lang has no arithmetic. A word is any identifier;
//! which words mean something is for the parser to know.

use crate::error::{Span, TextError, quoted};

/// A piece of text that stands for itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lexeme<'a> {
    /// An identifier.
    Word(&'a str),
    /// An integer with sign and suffix, in decimal, hexadecimal or octal digits.
    Integer(&'a str),
    /// A number with a point, an exponent or the suffix of a float.
    Float(&'a str),
    /// `+Infinity` or `-Infinity`; without a sign it is a word.
    SignedInfinity {
        /// Whether the sign is a minus.
        negative: bool,
    },
    /// What stands between the quotes of a string, escapes included.
    String(&'a str),
    /// One of `( ) [ ] { } , . : ;`.
    Mark(char),
    /// The end of the text.
    End,
}

/// A place in a text. A copy is a bookmark: reading on from it changes nothing elsewhere.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Lexer<'a> {
    /// Starts at the beginning of `text`, which has less than 2^32 bytes.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self { text, offset: 0 }
    }

    /// Reads the next lexeme; at the end of the text [`Lexeme::End`], as often as one asks.
    ///
    /// # Errors
    /// If no lexeme begins here, a string has no end, or a number runs into a word.
    pub fn next_lexeme(&mut self) -> Result<(Lexeme<'a>, Span), TextError> {
        self.skip_blanks();
        let start = self.offset;
        let lexeme = match self.peek() {
            None => Lexeme::End,
            Some(mark @ (b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' | b'.' | b':' | b';')) => {
                self.offset += 1;
                Lexeme::Mark(char::from(mark))
            }
            Some(quote @ (b'"' | b'\'')) => self.read_string(quote)?,
            Some(b'0'..=b'9') => self.read_number(start)?,
            Some(sign @ (b'+' | b'-')) => {
                self.offset += 1;
                match self.peek() {
                    Some(b'0'..=b'9') => self.read_number(start)?,
                    Some(b'I') if self.take_infinity() => Lexeme::SignedInfinity { negative: sign == b'-' },
                    _ => {
                        let message = format!("expected a number right after `{}`", char::from(sign));
                        return Err(TextError::invalid(self.span(start), message));
                    }
                }
            }
            Some(_) => self.read_word()?,
        };
        Ok((lexeme, self.span(start)))
    }

    /// Whether the next byte that is no blank is `byte`.
    #[must_use]
    pub fn is_next(&self, byte: u8) -> bool {
        let mut ahead = self.clone();
        ahead.skip_blanks();
        ahead.peek() == Some(byte)
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    fn peek_after(&self, bytes: usize) -> Option<u8> {
        self.text.as_bytes().get(self.offset + bytes).copied()
    }

    fn span(&self, start: usize) -> Span {
        let short = |offset: usize| u32::try_from(offset).expect("the parser bounds the text's length");
        Span { start: short(start), end: short(self.offset) }
    }

    /// Skips blanks and comments, which go from `//` to the end of the line.
    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r' | b'\n' | b'\x0c') => self.offset += 1,
                Some(b'/') if self.peek_after(1) == Some(b'/') => {
                    let rest = &self.text[self.offset..];
                    self.offset += rest.find(['\r', '\n']).unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// Reads to the quote that ends the string, over escaped ones.
    fn read_string(&mut self, quote: u8) -> Result<Lexeme<'a>, TextError> {
        let start = self.offset;
        self.offset += 1;
        while let Some(byte) = self.peek() {
            if byte == quote {
                let text = &self.text[start + 1..self.offset];
                self.offset += 1;
                return Ok(Lexeme::String(text));
            }
            // What is escaped may be a quote. Its first byte is enough: no later one looks like ASCII.
            self.offset += if byte == b'\\' { 2 } else { 1 };
        }
        self.offset = start + 1;
        let message = format!("the string that begins here has no closing {}", char::from(quote));
        Err(TextError::invalid(self.span(start), message))
    }

    fn read_number(&mut self, start: usize) -> Result<Lexeme<'a>, TextError> {
        let mut is_float = false;
        if self.peek() == Some(b'0') && matches!(self.peek_after(1), Some(b'x' | b'X')) {
            self.offset += 2;
            self.skip_while(|byte| byte.is_ascii_hexdigit() || byte == b'_');
            self.take_if(|byte| b"sSnNiIlL".contains(&byte));
        } else {
            self.skip_digits();
            if self.peek() == Some(b'.') && self.peek_after(1).is_some_and(|byte| byte.is_ascii_digit()) {
                is_float = true;
                self.offset += 1;
                self.skip_digits();
            }
            if self.is_exponent() {
                is_float = true;
                self.offset += 2;
                self.skip_digits();
            }
            if self.take_if(|byte| b"fFdDmM".contains(&byte)) {
                is_float = true;
            } else if !is_float {
                self.take_if(|byte| b"bBsSnNiIlL".contains(&byte));
            }
        }
        let number = &self.text[start..self.offset];
        if let Some(next) = self.text[self.offset..].chars().next().filter(|next| is_word_part(*next)) {
            let message = format!("expected the number {} to end before `{next}`", quoted(number));
            self.offset += next.len_utf8();
            return Err(TextError::invalid(self.span(start), message));
        }
        Ok(if is_float { Lexeme::Float(number) } else { Lexeme::Integer(number) })
    }

    /// Whether an exponent begins here: `e`, an optional sign, a digit.
    fn is_exponent(&self) -> bool {
        let digit_at = if matches!(self.peek_after(1), Some(b'+' | b'-')) { 2 } else { 1 };
        matches!(self.peek(), Some(b'e' | b'E'))
            && self.peek_after(digit_at).is_some_and(|byte| byte.is_ascii_digit())
    }

    fn read_word(&mut self) -> Result<Lexeme<'a>, TextError> {
        let start = self.offset;
        let rest = &self.text[start..];
        // Most words are ASCII: their end is found byte by byte.
        let plain = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let length = match rest.as_bytes().get(plain) {
            Some(b'$' | 0x80..) => rest.find(|next| !is_word_part(next)).unwrap_or(rest.len()),
            _ => plain,
        };
        let first = rest.chars().next().expect("the caller saw a byte");
        if length == 0 || !is_word_start(first) {
            self.offset += first.len_utf8();
            let message = format!("expected a word, a value or a mark, found {first:?}");
            return Err(TextError::invalid(self.span(start), message));
        }
        self.offset += length;
        Ok(Lexeme::Word(&rest[..length]))
    }

    fn take_infinity(&mut self) -> bool {
        const INFINITY: &str = "Infinity";
        let rest = &self.text[self.offset..];
        let found = rest.starts_with(INFINITY) && !rest[INFINITY.len()..].starts_with(is_word_part);
        self.offset += if found { INFINITY.len() } else { 0 };
        found
    }

    fn take_if(&mut self, is_wanted: impl Fn(u8) -> bool) -> bool {
        let found = self.peek().is_some_and(is_wanted);
        self.offset += usize::from(found);
        found
    }

    fn skip_while(&mut self, is_wanted: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&is_wanted) {
            self.offset += 1;
        }
    }

    /// Steps over digits, with underscores only between them.
    fn skip_digits(&mut self) {
        self.skip_while(|byte| byte.is_ascii_digit() || byte == b'_');
        while self.text.as_bytes()[..self.offset].last() == Some(&b'_') {
            self.offset -= 1;
        }
    }
}

/// Whether a word may begin with `character`.
#[must_use]
pub fn is_word_start(character: char) -> bool {
    character.is_alphabetic() || matches!(character, '_' | '$')
}

/// Whether a word may go on with `character`.
#[must_use]
pub fn is_word_part(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexemes(text: &str) -> Vec<Lexeme<'_>> {
        let mut lexer = Lexer::new(text);
        let mut found = Vec::new();
        loop {
            match lexer.next_lexeme().expect(text).0 {
                Lexeme::End => return found,
                lexeme => found.push(lexeme),
            }
        }
    }

    fn error(text: &str) -> String {
        let mut lexer = Lexer::new(text);
        loop {
            match lexer.next_lexeme() {
                Ok((Lexeme::End, _)) => panic!("{text} has no error"),
                Ok(_) => {}
                Err(error) => return error.within(text).to_string(),
            }
        }
    }

    #[test]
    fn every_lexeme_is_told_apart() {
        use Lexeme::*;
        assert_eq!(
            lexemes("g .V(-1l,'a\\'b',\"\")// rest\n\t[1.5e-3m:{}];"),
            [
                Word("g"),
                Mark('.'),
                Word("V"),
                Mark('('),
                Integer("-1l"),
                Mark(','),
                String("a\\'b"),
                Mark(','),
                String(""),
                Mark(')'),
                Mark('['),
                Float("1.5e-3m"),
                Mark(':'),
                Mark('{'),
                Mark('}'),
                Mark(']'),
                Mark(';'),
            ]
        );
        assert_eq!(
            lexemes("-Infinity +Infinity Infinity"),
            [SignedInfinity { negative: true }, SignedInfinity { negative: false }, Word("Infinity"),]
        );
        assert_eq!(lexemes("straße $x _y1 x$1"), [Word("straße"), Word("$x"), Word("_y1"), Word("x$1")]);
        assert_eq!(lexemes("// only a comment"), []);
    }

    #[test]
    fn numbers_end_where_the_grammar_ends_them() {
        use Lexeme::*;
        assert_eq!(lexemes("1..5"), [Integer("1"), Mark('.'), Mark('.'), Integer("5")]);
        assert_eq!(
            lexemes("0x1b 0XFFl 017 1_000s"),
            [Integer("0x1b"), Integer("0XFFl"), Integer("017"), Integer("1_000s"),]
        );
        assert_eq!(
            lexemes("1d 2.5f 1e5 1E+5d 10_0.2_5"),
            [Float("1d"), Float("2.5f"), Float("1e5"), Float("1E+5d"), Float("10_0.2_5"),]
        );
    }

    #[test]
    fn what_is_no_lexeme_is_named_with_its_column() {
        assert_eq!(error("g.V(1x)"), "line 1, column 5: expected the number `1` to end before `x`");
        assert_eq!(error("g.V(1_)"), "line 1, column 5: expected the number `1` to end before `_`");
        assert_eq!(error("g.V(- 1)"), "line 1, column 5: expected a number right after `-`");
        assert_eq!(error("\n g.V('a)"), "line 2, column 6: the string that begins here has no closing '");
        assert_eq!(error("\"\\"), "line 1, column 1: the string that begins here has no closing \"");
        assert_eq!(error("g.V()#"), "line 1, column 6: expected a word, a value or a mark, found '#'");
        assert_eq!(error("g.V(✦)"), "line 1, column 5: expected a word, a value or a mark, found '✦'");
        assert_eq!(error("-Infinityx"), "line 1, column 1: expected a number right after `-`");
    }
}
