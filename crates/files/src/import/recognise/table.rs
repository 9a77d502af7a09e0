//! Table: how to split a text file whose name does not say it: the separator of fields, and what
//! its first lines say.
//!
//! ```text
//! # Directed graph: friends.txt      a comment
//! # FromNodeId   ToNodeId            the last one before the rows may name the columns
//! Ada   Mary                         every line has as many fields: blanks stand between them
//! ```

use crate::import::bytes::source::Source;
use crate::import::csv::blanks::count_fields;
use crate::import::csv::delimiter::count_outside_quotes;
use crate::import::csv::records::BLANK;
use crate::import::field::guess::is_value;
use crate::import::recognise::end_names::{self, Scope};
use crate::import::recognise::sample::ColumnSample;
use evergraph_graph::error::Result;
use std::io;

/// Bytes that are looked at.
const START_BYTES: usize = 64 * 1024;

/// Lines that are looked at, after comments.
const LINES: usize = 100;

/// What is looked for, the likelier ones first.
const DELIMITERS: [u8; 5] = [b'\t', b',', b'|', b';', BLANK];

/// How a text is split.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableLook {
    /// What stands between fields; [`BLANK`] for any number of blanks and tabs.
    pub delimiter: u8,
    /// Fields of a line.
    pub width: usize,
    /// What begins comments, if there are some.
    pub comment: Option<u8>,
    /// What the last comment before the rows calls the columns.
    pub names: Option<Vec<String>>,
    /// The first line that is no comment.
    pub first_line: String,
}

/// How `source` is split, which is read again afterwards: by `delimiter`, or by what its lines show. `None` if
/// they have different numbers of fields, or one.
///
/// # Errors
/// As reading.
pub fn look_at_table(
    source: &mut Source,
    delimiter: Option<u8>,
    quote: Option<u8>,
) -> Result<Option<TableLook>> {
    let start = source.peek(START_BYTES)?;
    // What is cut off is no line.
    let is_cut = start.len() >= START_BYTES;
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    if start.contains(&0) {
        return Ok(None);
    }
    let mut lines: Vec<&[u8]> = start.split(|byte| matches!(byte, b'\n' | b'\r')).collect();
    if is_cut {
        lines.pop();
    }
    let lines: Vec<&[u8]> = lines.into_iter().filter(|line| !line.trim_ascii().is_empty()).collect();
    let first = lines.first().map_or(&b""[..], |line| line.trim_ascii_start());
    // A column may be called `#`.
    let begins_comment = matches!(first, [b'#' | b'%', next, ..] if !DELIMITERS[..4].contains(next));
    let comment = first.first().copied().filter(|_| begins_comment);
    let is_comment = |line: &&&[u8]| comment.is_some() && line.trim_ascii_start().first().copied() == comment;
    let before: Vec<&[u8]> = lines.iter().take_while(is_comment).copied().collect();
    let rows: Vec<&[u8]> = lines.iter().filter(|line| !is_comment(line)).take(LINES).copied().collect();
    let Some(first_line) = rows.first() else { return Ok(None) };
    let fields = |line: &[u8], delimiter: u8| match delimiter {
        BLANK => count_fields(line, quote),
        _ => 1 + count_outside_quotes(line, delimiter),
    };
    let candidates = match delimiter {
        // An option's blank and tab mean the same in lists.
        Some(b'\t') => vec![b'\t', BLANK],
        Some(delimiter) => vec![delimiter],
        None => DELIMITERS.to_vec(),
    };
    let is_even = |delimiter: &u8| {
        let width = fields(first_line, *delimiter);
        width >= 2 && rows.iter().all(|line| fields(line, *delimiter) == width)
    };
    let Some(delimiter) = candidates.into_iter().find(is_even) else { return Ok(None) };
    let width = fields(first_line, delimiter);
    let names =
        before.last().filter(|_| comment == Some(b'#')).and_then(|line| names_in(line, delimiter, width));
    let first_line = String::from_utf8_lossy(first_line).into_owned();
    Ok(Some(TableLook { delimiter, width, comment, names, first_line }))
}

/// The first line of `source`, which is read again afterwards, if it is a number and the others are a table: some
/// programs count the rows first.
///
/// # Errors
/// As reading.
pub fn leading_count(
    source: &mut Source,
    delimiter: Option<u8>,
    quote: Option<u8>,
) -> Result<Option<String>> {
    let start = source.peek(START_BYTES)?;
    let Some(end) = start.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
    let first = start[..end].trim_ascii();
    if first.is_empty() || !first.iter().all(u8::is_ascii_digit) {
        return Ok(None);
    }
    let count = String::from_utf8_lossy(first).into_owned();
    let rest = io::Cursor::new(start[end + 1..].to_vec());
    let mut rest = Source::from_unpacked(source.name().to_owned(), rest);
    Ok(look_at_table(&mut rest, delimiter, quote)?.map(|_| count))
}

/// The names of `width` columns in a comment, if it has some.
fn names_in(line: &[u8], delimiter: u8, width: usize) -> Option<Vec<String>> {
    let line = String::from_utf8_lossy(line);
    let text = line.trim().trim_start_matches('#');
    let names: Vec<String> = match delimiter {
        BLANK => text.split_whitespace().map(ToOwned::to_owned).collect(),
        _ => text.split(char::from(delimiter)).map(|name| name.trim().trim_matches('"').to_owned()).collect(),
    };
    if names.len() != width || names.iter().any(|name| is_value(name)) {
        return None;
    }
    // Two words of a sentence are no names.
    let words: Vec<&str> = names.iter().map(String::as_str).collect();
    let are_ends = || end_names::find(&words, &vec![ColumnSample::default(); width], Scope::First).is_some();
    (delimiter != BLANK || are_ends()).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn look(text: &str) -> Option<(char, usize, String)> {
        let mut source = Source::from_reader("a.txt", Cursor::new(text.to_owned())).unwrap();
        let look = look_at_table(&mut source, None, Some(b'"')).unwrap()?;
        Some((char::from(look.delimiter), look.width, look.names.unwrap_or_default().join(" ")))
    }

    #[test]
    fn a_count_before_a_table_is_seen() {
        let count = |text: &str| {
            let mut source = Source::from_reader("a.txt", Cursor::new(text.to_owned())).unwrap();
            leading_count(&mut source, None, None).unwrap()
        };
        assert_eq!(count("3\n1 2 0\n2 3 1\n").as_deref(), Some("3"));
        assert_eq!((count("a\n1 2\n"), count("3\n4\n"), count("")), (None, None, None));
    }

    #[test]
    fn a_text_is_split_by_what_gives_every_line_as_many_fields() {
        let found = |delimiter, width| Some((delimiter, width, String::new()));
        for (text, expected) in [
            ("Ada Mary\nMary  Eve\n", found(' ', 2)),
            ("Ada\tloves tea\tMary\nEve\tsees\tMary\n", found('\t', 3)),
            ("2B,410,AER\n2B,411,\"a,b\"\n", found(',', 3)),
            ("Ada Eve {'weight': 3}\nEve Bob {}\n", found(' ', 3)),
            ("# FromNodeId\tToNodeId\na\tb\n", Some(('\t', 2, "FromNodeId ToNodeId".to_owned()))),
            ("# a graph\n# source target\na b\n", Some((' ', 2, "source target".to_owned()))),
            ("# my friends\na b\n", found(' ', 2)),
            ("% sym unweighted\na b\n", found(' ', 2)),
            ("Once upon a time\nthere was a graph of trees\n", None),
            ("one\ntwo\n", None),
            ("#,name\n1,a\n", found(',', 2)),
            ("# nothing\n", None),
            ("", None),
        ] {
            assert_eq!(look(text), expected, "{text}");
        }
    }
}
