//! Shortened: the beginning of a user's text, for error messages.

use std::fmt;

const CHARACTERS_MAX: usize = 40;

/// The first 40 characters of a text; shown in quotes, with an ellipsis if there was more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shortened {
    start: Box<str>,
    whole: bool,
}

impl Shortened {
    /// Keeps the beginning of `text`. Cost: constant.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let end = text.char_indices().nth(CHARACTERS_MAX).map_or(text.len(), |(offset, _)| offset);
        Self { start: text[..end].into(), whole: end == text.len() }
    }
}

impl fmt::Display for Shortened {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}{}", self.start, if self.whole { "" } else { "…" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(Shortened::new("ä\n").to_string(), "\"ä\\n\"");
        assert_eq!(Shortened::new(&"ä".repeat(40)).to_string(), format!("\"{}\"", "ä".repeat(40)));
        assert_eq!(Shortened::new(&"ä".repeat(41)).to_string(), format!("\"{}\"…", "ä".repeat(40)));
    }
}
