//! Script: a text as statements, one by one: queries, and commands, which begin with a colon.
//!
//! | a statement ends | |
//! |---|---|
//! | at `;` | wherever that isn't within quotes |
//! | at the end of a line | if no bracket or quote is open, the line doesn't end in `.` or `,`, and the next one doesn't begin with `.` |
//!
//! ```text
//! g.V().hasLabel('Person')
//!   .out('KNOWS')            // the same query
//! :rows 5
//! g.V().count(); g.E().count()
//! ```
//!
//! So nobody knows that a query without `;` is through before the next line is there. Whoever writes to the shell and
//! waits for answers ends queries by `;`. A command ends with its line, but for those that are about a query or a value.

use crate::command::shell::command::is_one_line;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::io::BufRead;

/// A query or a command, and where it stands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Statement {
    /// Its text, without the `;` behind it.
    pub text: String,
    /// The line that it begins in, from 1.
    pub line: usize,
    /// What stands before it in that line.
    pub before: String,
}

/// Statements of a text that is read as far as they are asked for.
pub struct Script<R> {
    reader: R,
    lines_count: usize,
    /// A line that was read and is no part of the statement before, or what is left of one.
    ahead: Option<Line>,
}

struct Line {
    number: usize,
    before: String,
    text: String,
}

impl<R: BufRead> Script<R> {
    /// The statements of what `reader` gives.
    pub fn new(reader: R) -> Self {
        Self { reader, lines_count: 0, ahead: None }
    }

    /// The next statement that has anything in it.
    ///
    /// # Errors
    /// `io`; `invalid` for what is no UTF-8, with its line.
    pub fn next(&mut self) -> Result<Option<Statement>> {
        while let Some(line) = self.line()? {
            let statement = self.statement(line)?;
            if let Some(statement) = statement {
                return Ok(Some(statement));
            }
        }
        Ok(None)
    }

    /// The statement that begins in `line`, if one does.
    fn statement(&mut self, line: Line) -> Result<Option<Statement>> {
        let Line { number, before, mut text } = line;
        let mut statement = Statement { line: number, before, text: String::new() };
        if is_one_line(&text) {
            statement.text = text;
            return Ok(Some(statement));
        }
        let mut progress = Progress::default();
        loop {
            if let Some(end) = progress.read(&text) {
                statement.text += &text[..end - 1];
                let number = self.lines_count;
                let before = match statement.line == number {
                    true => format!("{}{}", statement.before, &text[..end]),
                    false => text[..end].to_owned(),
                };
                self.ahead = Some(Line { number, before, text: text[end..].to_owned() });
                break;
            }
            statement.text += &text;
            if progress.is_blank() {
                break;
            }
            let Some(next) = self.line()? else { break };
            if !progress.is_open() && !goes_on(&next.text) {
                self.ahead = Some(next);
                break;
            }
            text = next.text;
        }
        Ok((!progress.is_blank()).then_some(statement))
    }

    fn line(&mut self) -> Result<Option<Line>> {
        if let Some(line) = self.ahead.take() {
            return Ok(Some(line));
        }
        let mut bytes = Vec::new();
        let read = self.reader.read_until(b'\n', &mut bytes);
        let count = read.map_err(|error| Error::new(ErrorKind::Io, error.to_string()).because(error))?;
        if count == 0 {
            return Ok(None);
        }
        self.lines_count += 1;
        let number = self.lines_count;
        let text = String::from_utf8(bytes).map_err(|error| {
            let column = error.utf8_error().valid_up_to();
            Error::invalid(format!("line {number} is not UTF-8 text: byte {column} is invalid"))
                .because(error)
        })?;
        Ok(Some(Line { number, before: String::new(), text }))
    }
}

/// Whether more of the last statement of `text` has to come before it can be run.
#[must_use]
pub fn is_unfinished(text: &str) -> bool {
    let mut rest = text;
    loop {
        if is_one_line(rest) {
            let Some((_, next)) = rest.split_once('\n') else { return false };
            rest = next;
            continue;
        }
        let mut progress = Progress::default();
        match progress.read(rest) {
            Some(end) => rest = &rest[end..],
            None => return progress.is_open(),
        }
    }
}

/// Whether `line` belongs to the query before it, which could end there.
fn goes_on(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with('.') || line.starts_with("//")
}

/// How far a query has been read.
#[derive(Default)]
struct Progress {
    /// Brackets that are open.
    depth: usize,
    /// The quote of the string that is open.
    quote: Option<char>,
    /// The last character that is no blank or comment.
    last: Option<char>,
}

impl Progress {
    /// Reads on; the place behind the `;` that ends the query, if there is one. What is read ends at the end of a line,
    /// or of all.
    fn read(&mut self, text: &str) -> Option<usize> {
        let mut chars = text.char_indices().peekable();
        while let Some((at, char)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            if let Some(quote) = self.quote {
                if char == '\\' {
                    chars.next();
                } else if char == quote {
                    self.quote = None;
                }
                continue;
            }
            match char {
                '/' if next == Some('/') => {
                    while chars.next_if(|(_, next)| !matches!(next, '\n' | '\r')).is_some() {}
                    continue;
                }
                ';' => return Some(at + 1),
                '\'' | '"' => self.quote = Some(char),
                '(' | '[' | '{' => self.depth += 1,
                ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if !char.is_whitespace() {
                self.last = Some(char);
            }
        }
        None
    }

    fn is_blank(&self) -> bool {
        self.last.is_none()
    }

    fn is_open(&self) -> bool {
        self.quote.is_some() || self.depth > 0 || matches!(self.last, Some('.' | ','))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(text: &str) -> Vec<(usize, usize, String)> {
        let mut script = Script::new(text.as_bytes());
        let mut found = Vec::new();
        while let Some(Statement { text, line, before }) = script.next().unwrap() {
            found.push((line, before.len(), text.trim().to_owned()));
        }
        found
    }

    fn texts(text: &str) -> Vec<String> {
        statements(text).into_iter().map(|statement| statement.2).collect()
    }

    #[test]
    fn a_line_is_a_statement_unless_something_is_open_or_goes_on() {
        assert_eq!(texts("g.V()\ng.E()"), ["g.V()", "g.E()"]);
        assert_eq!(texts("g.V()\n\n  .out()\n"), ["g.V()", ".out()"], "a blank line ends");
        assert_eq!(texts("g.V()\n  .out()\n // all\n .in()\ng.E()\n").len(), 2);
        assert_eq!(texts("g.V().\n\nout(\n'a;\n')\n;g.E()"), ["g.V().\n\nout(\n'a;\n')", "g.E()"]);
        assert_eq!(texts("g.inject([1,\n2],\n// so on ;'\n3)"), ["g.inject([1,\n2],\n// so on ;'\n3)"]);
        assert_eq!(texts("g.V('\\';//').out() // it's ;\ng.E()").len(), 2);
        assert_eq!(texts(" ;; \n\n// nothing\n ;"), Vec::<String>::new());
    }

    #[test]
    fn a_bracket_that_is_never_closed_takes_no_more_than_its_statement() {
        assert_eq!(texts("g.V(; g.E()"), ["g.V(", "g.E()"]);
        assert_eq!(texts("g.V())); g.E()"), ["g.V()))", "g.E()"]);
        assert_eq!(texts("g.V('a; g.E()"), ["g.V('a; g.E()"]);
    }

    #[test]
    fn a_command_ends_with_its_line_but_for_those_about_a_query_or_value() {
        assert_eq!(texts(":rows 5\n.out()"), [":rows 5", ".out()"]);
        assert_eq!(texts(":help it's\ng.V()"), [":help it's", "g.V()"]);
        assert_eq!(texts(":explain g.V(\n)\n.out(); g.E()"), [":explain g.V(\n)\n.out()", "g.E()"]);
        assert_eq!(texts(":bind a 'x;\ny'\n:begin"), [":bind a 'x;\ny'", ":begin"]);
    }

    #[test]
    fn a_statement_knows_its_place() {
        let found = statements("\n g.V(); g.E(\n); g.V()\n");
        let wanted = [(2, 0, "g.V()"), (2, 7, "g.E(\n)"), (3, 2, "g.V()")];
        assert_eq!(found, wanted.map(|(line, before, text)| (line, before, text.to_owned())));
    }

    #[test]
    fn what_is_typed_is_unfinished_while_something_is_open() {
        for text in
            ["g.V(", "g.V().", "g.V('a", "g.inject(1,", "g.V(); g.E(", ":explain g.V(", ":rows 5\ng.V("]
        {
            assert!(is_unfinished(text), "{text}");
        }
        for text in [
            "g.V()",
            "",
            "g.V(\n)",
            "g.V(;",
            ":help (",
            ":rows 5",
            "g.V() // (",
            "g.V('(')",
            ":help (\ng.V()",
        ] {
            assert!(!is_unfinished(text), "{text}");
        }
    }

    #[test]
    fn what_is_no_text_is_told_by_its_line() {
        let mut script = Script::new(&b"g.V()\ng.E('\xff')\n"[..]);
        let error = script.next().unwrap_err().to_string();
        assert_eq!(error, "line 2 is not UTF-8 text: byte 5 is invalid");
    }
}
