//! Origin: where in a mapping file a rule and its keys stand, for errors that are found later.

use std::collections::BTreeMap;

/// Where a rule stands, and the values of its keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    file: String,
    line: usize,
    keys: BTreeMap<&'static str, usize>,
}

impl Origin {
    /// A rule that begins at byte `at` of a file; `keys` are its keys, with the bytes where their values begin.
    pub(super) fn new(
        lines: &Lines<'_>,
        at: usize,
        keys: impl IntoIterator<Item = (&'static str, usize)>,
    ) -> Self {
        let keys = keys.into_iter().map(|(key, at)| (key, lines.line(at))).collect();
        Self { file: lines.name.to_owned(), line: lines.line(at), keys }
    }

    /// `file:line` of `key`; of the rule itself, if it doesn't have the key.
    #[must_use]
    pub fn place(&self, key: &str) -> String {
        format!("{}:{}", self.file, self.keys.get(key).unwrap_or(&self.line))
    }
}

/// The lines of a mapping file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines<'a> {
    name: &'a str,
    text: &'a str,
}

impl<'a> Lines<'a> {
    /// Those of `text`, from the file that errors call `name`.
    pub(super) fn new(name: &'a str, text: &'a str) -> Self {
        Self { name, text }
    }

    /// The line of byte `at`, counted from 1.
    fn line(&self, at: usize) -> usize {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        memchr::memchr_iter(b'\n', before).count() + 1
    }

    /// `file:line` of byte `at`.
    pub(super) fn place(&self, at: usize) -> String {
        format!("{}:{}", self.name, self.line(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_not_there_has_the_line_of_its_rule() {
        let lines = Lines::new("m.toml", "a\nb\n\nc");
        let origin = Origin::new(&lines, 2, [("label", 5)]);
        assert_eq!(
            (origin.place("label"), origin.place("id")),
            ("m.toml:4".to_owned(), "m.toml:2".to_owned())
        );
        assert_eq!(lines.place(99), "m.toml:4", "a place beyond the end is the last line");
    }
}
