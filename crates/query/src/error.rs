//! Text errors: where a query is wrong, and what was expected there; and why a query stopped that was right.
//!
//! ```text
//! line 1, column 7: no step is called `otu`; did you mean `out`?
//! ```
//!
//! Calls know the bytes that they were read from, not lines and columns: those are counted once
//! there is an error to show. An error of bytecode, which has none, names the instruction in its message.

use std::error::Error as StdError;
use std::fmt;

use evergraph_graph::error::{Error, ErrorKind};

/// A stretch of a text, in bytes from its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte behind the last.
    pub end: u32,
}

impl Span {
    /// From the start of this one to the end of `last`.
    #[must_use]
    pub const fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end }
    }
}

/// Line and column of a text, both from 1. Columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineColumn {
    /// The line.
    pub line: u32,
    /// The character of the line.
    pub column: u32,
}

impl LineColumn {
    /// Where byte `offset` of `text` stands. Cost: one pass over the text before it.
    #[must_use]
    pub fn of(text: &str, offset: usize) -> LineColumn {
        let before = &text[..boundary(text, offset)];
        let (mut line, mut line_start) = (1, 0);
        for (at, _) in before.match_indices('\n') {
            line += 1;
            line_start = at + 1;
        }
        let column = u32::try_from(before[line_start..].chars().count()).unwrap_or(u32::MAX);
        LineColumn { line, column: column.saturating_add(1) }
    }
}

/// Why a text is no query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextError {
    /// What can be done about it: `invalid`, or `limit` if the text is too long or too deep.
    pub kind: ErrorKind,
    /// What is wrong, and what was expected.
    pub message: String,
    /// The bytes of the text that it is about.
    pub span: Span,
    /// Line and column of the span's start, once somebody looked at the text.
    pub place: Option<LineColumn>,
}

impl TextError {
    /// The text is wrong at `span`: `message` says how.
    #[must_use]
    pub fn invalid(span: Span, message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Invalid, message: message.into(), span, place: None }
    }

    /// The text passes a limit at `span`, which `message` names.
    #[must_use]
    pub fn limit(span: Span, message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Limit, message: message.into(), span, place: None }
    }

    /// Counts line and column in `text`, which the calls were read from.
    #[must_use]
    pub fn within(mut self, text: &str) -> Self {
        self.place = Some(LineColumn::of(text, self.span.start as usize));
        self
    }

    /// The error with the line of `text` that it is about, and carets below the place:
    ///
    /// ```text
    /// line 1, column 7: no step is called `otu`; did you mean `out`?
    ///   g.V().otu('knows')
    ///         ^^^
    /// ```
    ///
    /// Of a long line, what is around the place.
    #[must_use]
    pub fn shown_in(&self, text: &str) -> String {
        const BEFORE_MAX: usize = 60;
        const SHOWN_MAX: usize = 100;
        let start = boundary(text, self.span.start as usize);
        let end = boundary(text, self.span.end as usize).max(start);
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let before = text[line_start..start].chars().count();
        let hidden = before.saturating_sub(BEFORE_MAX);
        // A tab or the like would move the carets.
        let line = text[line_start..].lines().next().unwrap_or_default();
        let plain = |found: char| if found.is_control() { ' ' } else { found };
        let shown: String = line.chars().skip(hidden).take(SHOWN_MAX).map(plain).collect();
        let marked = text[start..end].lines().next().unwrap_or_default().chars().count();
        let at = before - hidden;
        let marked = marked.clamp(1, SHOWN_MAX - at);
        format!("{self}\n  {}\n  {}{}", shown.trim_end(), " ".repeat(at), "^".repeat(marked))
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(LineColumn { line, column }) = self.place {
            write!(formatter, "line {line}, column {column}: ")?;
        }
        formatter.write_str(&self.message)
    }
}

impl StdError for TextError {}

impl From<TextError> for Error {
    fn from(error: TextError) -> Self {
        Error::new(error.kind, error.to_string())
    }
}

/// Why a query stopped, where the kind of its error does not tell: the source of that error.
///
/// ```
/// use evergraph_graph::error::Error;
/// use evergraph_query::error::StopReason;
///
/// let error = Error::invalid("fail() was reached: no stock").because(StopReason::Fail("no stock".into()));
/// assert_eq!(StopReason::of(&error.context("line 3")), Some(&StopReason::Fail("no stock".into())));
/// assert_eq!(StopReason::of(&Error::invalid("no step is called `otu`")), None);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StopReason {
    /// A traverser reached `fail()`, which has this message. The kind is `invalid`: as a wrong query, it fails again.
    Fail(Box<str>),
    /// Its time was over; the kind is `limit`.
    Timeout,
    /// It has more results than it may; the kind is `limit`.
    ResultRows,
    /// Its results are larger than they may be; the kind is `limit`.
    ResultBytes,
}

impl StopReason {
    /// Why the query that ended with `error` stopped, if this is known.
    #[must_use]
    pub fn of(error: &Error) -> Option<&Self> {
        error.cause()
    }
}

/// In words that the error's own text has, too: they need not be said twice.
impl fmt::Display for StopReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fail(message) => formatter.write_str(message),
            Self::Timeout => formatter.write_str("the query took longer than its timeout"),
            Self::ResultRows => formatter.write_str("the query has more results than its limit"),
            Self::ResultBytes => formatter.write_str("the results of the query are larger than its limit"),
        }
    }
}

impl StdError for StopReason {}

/// A name or number of the text for a message, in backquotes, cut if it is long; control characters are escaped, since
/// messages stand on terminals and in logs.
#[must_use]
pub fn quoted(text: &str) -> String {
    const BYTES_MAX: usize = 40;
    let end = boundary(text, BYTES_MAX);
    let mut quoted = String::from("`");
    for letter in text[..end].chars() {
        if letter.is_control() { quoted.extend(letter.escape_default()) } else { quoted.push(letter) }
    }
    quoted + if end < text.len() { "…`" } else { "`" }
}

/// The last place up to `offset` that is between two characters.
fn boundary(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_name_is_cut_and_without_control_characters() {
        assert_eq!(quoted("knöws"), "`knöws`");
        assert_eq!(quoted("a\u{1b}[31m\n"), "`a\\u{1b}[31m\\n`");
        assert_eq!(quoted(&"ä".repeat(30)), format!("`{}…`", "ä".repeat(20)));
    }

    #[test]
    fn columns_count_characters_and_lines_begin_anew() {
        let text = "äö.b\nç.d";
        assert_eq!(LineColumn::of(text, 0), LineColumn { line: 1, column: 1 });
        assert_eq!(LineColumn::of(text, "äö.".len()), LineColumn { line: 1, column: 4 });
        assert_eq!(LineColumn::of(text, "äö.b\nç".len()), LineColumn { line: 2, column: 2 });
        assert_eq!(LineColumn::of(text, 1), LineColumn { line: 1, column: 1 }, "within a character");
        assert_eq!(LineColumn::of(text, 1000), LineColumn { line: 2, column: 4 }, "behind the end");
    }

    #[test]
    fn carets_stand_below_what_is_wrong() {
        let shown = |text: &str, wrong: &str| {
            let start = text.find(wrong).unwrap() as u32;
            let span = Span { start, end: start + wrong.len() as u32 };
            TextError::invalid(span, "no").shown_in(text)
        };
        assert_eq!(shown("g.V()\n\t.ötu('a')\n.id()", "ötu"), "no\n   .ötu('a')\n    ^^^");
        assert_eq!(shown("g.V().is('a\nb')", "'a\nb'"), "no\n  g.V().is('a\n           ^^");
        let far = "x".repeat(200) + "(!" + &"y".repeat(200);
        let line = format!("{}(!{}", "x".repeat(59), "y".repeat(39));
        assert_eq!(shown(&far, "!"), format!("no\n  {line}\n  {}^", " ".repeat(60)));
        let all = "z".repeat(500);
        assert_eq!(shown(&all, &all).lines().last().unwrap().len(), 102);
        let behind = TextError::invalid(Span { start: 9, end: 9 }, "the text ends").shown_in("g.V(");
        assert_eq!(behind, "the text ends\n  g.V(\n      ^");
    }

    #[test]
    fn an_error_keeps_its_kind_as_the_projects_error() {
        let span = Span { start: 2, end: 3 };
        let error = Error::from(TextError::limit(span, "too deep").within("a\nbc"));
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert_eq!(error.to_string(), "line 2, column 1: too deep");
        assert_eq!(TextError::invalid(span, "no").to_string(), "no");
    }
}
