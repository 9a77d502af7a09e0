//! Blanks: turns text with fields between blanks and tabs into tab-separated text.
//!
//! ```text
//!   Adam   Eve  {'weight': 3}\n      Adam⇥Eve⇥{'weight': 3}\n
//! "Ada B."⇥⇥Eve\n                    "Ada B."⇥Eve\n
//! # a comment: with 'quotes\n        # a comment: with 'quotes\n
//! ```
//!
//! So one reader of records serves both kinds of text. Lines keep their numbers. Blanks inside quotes
//! count, and so do those inside braces, as Python writes a dictionary.

use std::io::{self, Read};

/// Bytes that are read at once.
const INPUT_BYTES: usize = 64 * 1024;

/// The text of `reader`, with a tab for all blanks between two fields.
pub struct Blanks<R> {
    reader: R,
    quote: Option<u8>,
    comment: Option<u8>,
    state: State,
    input: Box<[u8]>,
    output: Vec<u8>,
    /// How much of `output` was handed out.
    taken: usize,
}

/// Where in a line the next byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    LineStart,
    Comment,
    Field,
    Quoted,
    /// Behind a quote that may be the first of two.
    AfterQuote,
    /// Inside so many braces.
    Braces(u32),
    /// Behind a field.
    Gap,
}

impl<R: Read> Blanks<R> {
    /// Reads `reader`, in which `quote` encloses fields and lines that begin with `comment` are left as they
    /// are.
    pub fn new(reader: R, quote: Option<u8>, comment: Option<u8>) -> Self {
        let input = vec![0; INPUT_BYTES].into_boxed_slice();
        Self { reader, quote, comment, state: State::LineStart, input, output: Vec::new(), taken: 0 }
    }

    fn step(&mut self, byte: u8) {
        let is_blank = byte == b' ' || byte == b'\t';
        let is_line_end = byte == b'\n' || byte == b'\r';
        let begun = match byte {
            _ if Some(byte) == self.quote => State::Quoted,
            b'{' => State::Braces(1),
            _ => State::Field,
        };
        let next = match self.state {
            State::Quoted if Some(byte) == self.quote => State::AfterQuote,
            State::Quoted => State::Quoted,
            _ if is_line_end => State::LineStart,
            State::Comment => State::Comment,
            State::LineStart | State::Gap if is_blank => return,
            State::LineStart if Some(byte) == self.comment => State::Comment,
            State::LineStart => begun,
            State::Gap => {
                self.output.push(b'\t');
                begun
            }
            State::AfterQuote if Some(byte) == self.quote => State::Quoted,
            State::Field | State::AfterQuote if is_blank => {
                self.state = State::Gap;
                return;
            }
            State::Field | State::AfterQuote => State::Field,
            State::Braces(depth) => match byte {
                b'{' => State::Braces(depth + 1),
                b'}' if depth == 1 => State::Field,
                b'}' => State::Braces(depth - 1),
                _ => State::Braces(depth),
            },
        };
        let is_tab_in_braces = byte == b'\t' && matches!(self.state, State::Braces(_));
        self.output.push(if is_tab_in_braces { b' ' } else { byte });
        self.state = next;
    }
}

impl<R: Read> Read for Blanks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.output.len() {
            (self.taken, self.output) = (0, std::mem::take(&mut self.output));
            self.output.clear();
            let count = self.reader.read(&mut self.input)?;
            if count == 0 {
                return Ok(0);
            }
            for at in 0..count {
                self.step(self.input[at]);
            }
        }
        let count = (&self.output[self.taken..]).read(buffer)?;
        self.taken += count;
        Ok(count)
    }
}

/// The fields of one `line` between blanks, as [`Blanks`] finds them: how many.
#[must_use]
pub fn count_fields(line: &[u8], quote: Option<u8>) -> usize {
    let mut blanks = Blanks::new(line, quote, None);
    let mut text = Vec::new();
    blanks.read_to_end(&mut text).expect("bytes in memory can be read");
    if text.trim_ascii().is_empty() {
        return 0;
    }
    let mut in_quotes = false;
    1 + text
        .iter()
        .filter(|byte| {
            in_quotes ^= Some(**byte) == quote;
            !in_quotes && **byte == b'\t'
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str, bytes_at_once: usize) -> String {
        let mut blanks = Blanks::new(text.as_bytes(), Some(b'"'), Some(b'#'));
        let (mut all, mut buffer) = (Vec::new(), vec![0; bytes_at_once]);
        loop {
            let count = blanks.read(&mut buffer).unwrap();
            if count == 0 {
                return String::from_utf8(all).unwrap();
            }
            all.extend_from_slice(&buffer[..count]);
        }
    }

    #[test]
    fn fields_stand_between_one_tab_each_and_lines_stay_where_they_are() {
        for (given, expected) in [
            ("a b\n\n  c \t d  \r\n", "a\tb\n\nc\td\r\n"),
            ("# it's \"x\n1 2\n", "# it's \"x\n1\t2\n"),
            ("\"a  \"\"b\"\" c\" d\n", "\"a  \"\"b\"\" c\"\td\n"),
            ("a b {'x': {1: 2}, 'y':\t3} \n", "a\tb\t{'x': {1: 2}, 'y': 3}\n"),
            ("a b {'x\nc d\n", "a\tb\t{'x\nc\td\n"),
            ("a#b c", "a#b\tc"),
        ] {
            for bytes in [1, 3, 1000] {
                assert_eq!(text(given, bytes), expected);
            }
        }
        assert_eq!(count_fields(b" a \"b c\"\t{'d': 1} ", Some(b'"')), 3);
        assert_eq!(count_fields(b"  ", Some(b'"')), 0);
    }
}
