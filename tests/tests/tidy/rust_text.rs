//! Rust text: a source file split into its code and its comments, line by line.
//!
//! Enough of a lexer that a rule about code never trips over a comment or a string, and the other
//! way round: both halves keep every line break, and what belongs to the other half is blank.
//!
//! ```text
//! source     let a = "// no"; // why
//! code       let a = "     ";
//! comments                    // why
//! ```

/// A source file in two halves of equal line numbers.
pub struct RustText {
    /// Code alone; the contents of strings and characters are blank.
    pub code: String,
    /// Comments alone, documentation included.
    pub comments: String,
}

impl RustText {
    /// Splits `source`. Cost: one pass.
    pub fn of(source: &str) -> Self {
        let bytes = source.as_bytes();
        let mut halves = Halves { code: Vec::new(), comments: Vec::new() };
        let mut at = 0;
        while at < bytes.len() {
            let rest = &source[at..];
            let after_word = at > 0 && is_word(bytes[at - 1]);
            let length = if rest.starts_with("//") {
                halves.comment(rest, rest.find('\n').unwrap_or(rest.len()))
            } else if rest.starts_with("/*") {
                halves.comment(rest, block_comment(rest))
            } else if rest.starts_with('"') {
                halves.literal(rest, quoted(rest, '"'))
            } else if let Some(length) = (!after_word).then(|| raw_string(rest)).flatten() {
                halves.literal(rest, length)
            } else if let Some(length) = character(rest) {
                halves.literal(rest, length)
            } else {
                let length = rest.chars().next().map_or(1, char::len_utf8);
                halves.code(&rest[..length]);
                length
            };
            at += length;
        }
        let text = |half| String::from_utf8(half).expect("whole characters were copied");
        Self { code: text(halves.code), comments: text(halves.comments) }
    }

    /// The code above the unit tests: everything before an inline `#[cfg(test)] mod`.
    pub fn code_above_tests(&self) -> &str {
        let mut end = 0;
        for line in self.code.split_inclusive('\n') {
            if is_test_attribute(line) && opens_a_module(&self.code[end + line.len()..]) {
                break;
            }
            end += line.len();
        }
        &self.code[..end]
    }
}

/// The line, from 1, of the byte `at`.
pub fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Where `word` stands in `text` as a whole word.
pub fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let bytes = text.as_bytes();
        let before = at > 0 && is_word(bytes[at - 1]);
        let after = bytes.get(at + word.len()).is_some_and(|&byte| is_word(byte));
        !before && !after
    })
}

/// Whether `byte` may stand within an identifier.
pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

struct Halves {
    code: Vec<u8>,
    comments: Vec<u8>,
}

impl Halves {
    fn code(&mut self, text: &str) {
        self.code.extend_from_slice(text.as_bytes());
        blank(text, &mut self.comments);
    }

    fn comment(&mut self, rest: &str, length: usize) -> usize {
        self.comments.extend_from_slice(&rest.as_bytes()[..length]);
        blank(&rest[..length], &mut self.code);
        length
    }

    /// Keeps the quotes, so that code still reads as code.
    fn literal(&mut self, rest: &str, length: usize) -> usize {
        let start = self.code.len();
        blank(&rest[..length], &mut self.code);
        self.code[start] = b'"';
        if let Some(last) = self.code.last_mut().filter(|last| **last != b'\n') {
            *last = b'"';
        }
        blank(&rest[..length], &mut self.comments);
        length
    }
}

fn blank(text: &str, out: &mut Vec<u8>) {
    out.extend(text.bytes().map(|byte| if byte == b'\n' { b'\n' } else { b' ' }));
}

/// Bytes of the block comment that `rest` starts with; such comments nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// Bytes of the literal that `rest` starts with, its two quotes included.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Bytes of a raw string, if `rest` starts with one: `r"…"`, `br#"…"#`, `cr"…"`.
fn raw_string(rest: &str) -> Option<usize> {
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| {
        rest.strip_prefix(prefix).is_some_and(|rest| rest.trim_start_matches('#').starts_with('"'))
    })?;
    let opening = rest.find('"')?;
    let hashes = opening - prefix.len();
    let closing = format!("\"{}", "#".repeat(hashes));
    let length = rest[opening + 1..].find(&closing).map(|at| opening + 1 + at + closing.len());
    Some(length.unwrap_or(rest.len()))
}

/// Bytes of a character literal, if `rest` starts with one; a lifetime is none.
fn character(rest: &str) -> Option<usize> {
    let mut characters = rest.strip_prefix('\'')?.chars();
    let first = characters.next()?;
    if first == '\\' {
        return Some(quoted(rest, '\''));
    }
    (characters.next() == Some('\'')).then_some(first.len_utf8() + 2)
}

/// `#[cfg(test)]` and its combinations, at the start of a line.
fn is_test_attribute(line: &str) -> bool {
    line.starts_with("#[cfg(") && words(line, "test").next().is_some() && !line.contains("not(test)")
}

/// Whether the next item, further attributes apart, is a module with a body.
fn opens_a_module(rest: &str) -> bool {
    let item = rest.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("#["));
    item.is_some_and(|line| words(line, "mod").next().is_some() && line.ends_with('{'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_not_code() {
        let text = RustText::of("a(\"x // \\\" y\"); // why \"b\"\n/* c /* d */ e */ f('\"', 'g');");
        assert_eq!(
            text.code.split_whitespace().collect::<Vec<_>>(),
            ["a(\"", "\");", "f(\"", "\",", "\"", "\");"]
        );
        assert_eq!(
            text.comments.split_whitespace().collect::<Vec<_>>(),
            ["//", "why", "\"b\"", "/*", "c", "/*", "d", "*/", "e", "*/"]
        );
    }

    #[test]
    fn raw_strings_end_at_their_hashes() {
        let text = RustText::of("a(r#\"x \" // y\"#, br\"\\\"); b");
        assert!(!text.code.contains('x') && !text.code.contains('y') && text.code.ends_with("; b"));
        assert_eq!(text.comments.trim(), "");
    }

    #[test]
    fn lifetimes_and_raw_identifiers_are_code() {
        let source = "fn f<'a>(r#type: &'a str, c: &'static str) {}";
        assert_eq!(RustText::of(source).code, source);
    }

    #[test]
    fn both_halves_keep_every_line() {
        let source = "/* a\nb */ c \"d\ne\" // ä\n'\\u{e4}' 'ä'\n";
        let text = RustText::of(source);
        assert_eq!(text.code.lines().count(), source.lines().count());
        assert_eq!(text.comments.lines().count(), source.lines().count());
        assert!(text.comments.contains('ä') && !text.code.contains('ä'));
    }

    #[test]
    fn unit_tests_begin_at_an_inline_test_module() {
        let above = |source: &str| RustText::of(source).code_above_tests().lines().count();
        assert_eq!(above("a\n#[cfg(test)]\nmod tests {\n}\n"), 1);
        assert_eq!(above("a\n#[cfg(all(test, not(shuttle)))]\n#[allow(x)]\nmod tests {\n}\n"), 1);
        assert_eq!(above("#[cfg(test)]\nuse a;\nb\n"), 3);
        assert_eq!(above("#[cfg(not(test))]\nmod a {\n}\n"), 3);
        assert_eq!(above("#[cfg(test)]\nmod a;\nb\n"), 3);
        assert_eq!(above("a\n// #[cfg(test)]\nmod b {\n}\n"), 4);
    }

    #[test]
    fn a_word_is_found_whole() {
        assert_eq!(words("unsafe_code unsafe(unsafe)", "unsafe").collect::<Vec<_>>(), [12, 19]);
        assert_eq!(line_of("a\nb\nc", 4), 3);
    }
}
