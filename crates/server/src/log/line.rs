//! Line: what lines of all logs have in common: their time, and escapes.

use evergraph_graph::value::datetime::DateTime;
use evergraph_storage::planted::{Bug, planted};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// A moment as lines have it, in UTC to the millisecond.
#[must_use]
pub fn timestamp(now: SystemTime) -> String {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or_default();
    let milliseconds = since.subsec_millis() * 1_000_000;
    DateTime::new(seconds, milliseconds, 0).map_or_else(|_| "?".to_owned(), |time| time.to_string())
}

/// `text`, which can neither begin a line, nor hide one, nor do anything to a terminal. In a string of JSON it means the
/// same.
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(needs_escape) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if needs_escape(letter) {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                write!(line, "\\u{unit:04x}").expect("a string takes all that is written to it");
            }
        } else {
            line.push(letter);
        }
    }
    Cow::Owned(line)
}

/// Whether a terminal or an editor might do something else than show the letter.
fn needs_escape(letter: char) -> bool {
    if planted(Bug::ControlCharactersLogged) {
        return false;
    }
    let changes_direction =
        matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    letter.is_control() || changes_direction || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// The beginning of `text`, at most so many characters of it.
#[must_use]
pub fn cut(text: &str, characters_max: usize) -> &str {
    text.char_indices().nth(characters_max).map_or(text, |(end, _)| &text[..end])
}
