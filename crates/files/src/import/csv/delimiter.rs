//! Delimiter: the character between the fields of a CSV file, found in its first line.
//!
//! ```text
//! id,name;born        `,` and `;` are as frequent: the comma
//! "a,b";c             inside quotes nothing counts: `;`
//! ```
//!
//! Whoever says another delimiter than the first line shows is told: the whole line would be one column,
//! and a graph of such a file is of no use to anybody.

use crate::import::bytes::source::Source;
use crate::import::csv::records::CsvFormat;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::shortened::Shortened;

/// Bytes among which the first line is looked for.
const FIRST_LINE_BYTES: usize = 64 * 1024;

/// What is looked for, the likelier ones first.
const DELIMITERS: [u8; 4] = [b',', b'|', b'\t', b';'];

/// The character between fields that `first_line` shows: of comma, `|`, tab and `;` the most frequent,
/// outside quotes. A comma if there is none.
#[must_use]
pub fn detect_delimiter(first_line: &[u8]) -> u8 {
    let count = |delimiter: &u8| count_outside_quotes(first_line, *delimiter);
    // Of equals the last counts for max_by_key.
    DELIMITERS.into_iter().rev().max_by_key(count).expect("there are four")
}

/// The delimiter that the first line of `source` shows, which is read again afterwards.
///
/// # Errors
/// As reading.
pub fn detect_in(source: &mut Source) -> Result<u8> {
    Ok(detect_delimiter(first_line(source)?))
}

/// Complains if the first line of `source`, which is read again afterwards, is one column with `delimiter`,
/// and more with another one.
///
/// # Errors
/// `invalid`, with both; as reading.
pub fn check_delimiter(source: &mut Source, delimiter: u8) -> Result<()> {
    let name = source.name().to_owned();
    let line = first_line(source)?;
    let other = detect_delimiter(line);
    if count_outside_quotes(line, delimiter) > 0 || count_outside_quotes(line, other) == 0 {
        return Ok(());
    }
    let line = String::from_utf8_lossy(line);
    let format = CsvFormat { delimiter: other, quote: Some(b'"'), escape: None, comment: None };
    let columns = format.split(line.trim()).map_or(2, |columns| columns.len());
    let (told, other) = (shown(delimiter), shown(other));
    let line = Shortened::new(line.trim());
    Err(Error::invalid(format!(
        "{name}: with delimiter {told} there is one column, {line}; with {other} there are {columns}: say \
         --delimiter {other}, or `delimiter` in a mapping"
    )))
}

/// The first line of `source` that isn't blank.
fn first_line(source: &mut Source) -> Result<&[u8]> {
    let start = source.peek(FIRST_LINE_BYTES)?;
    let mut lines = start.split(|byte| *byte == b'\n');
    Ok(lines.find(|line| !line.trim_ascii().is_empty()).unwrap_or_default())
}

/// How often `delimiter` stands in `line`, outside double quotes.
#[must_use]
pub fn count_outside_quotes(line: &[u8], delimiter: u8) -> usize {
    let mut in_quotes = false;
    line.iter()
        .filter(|byte| {
            in_quotes ^= **byte == b'"';
            !in_quotes && **byte == delimiter
        })
        .count()
}

/// `delimiter` as one says it on a command line.
fn shown(delimiter: u8) -> String {
    if delimiter == b'\t' { "tab".to_owned() } else { format!("'{}'", char::from(delimiter)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn the_delimiter_is_the_most_frequent_outside_quotes() {
        for (line, delimiter) in [
            ("id:ID(City)", b','),
            (":START_ID(City)|:END_ID(Country)", b'|'),
            ("a,b;c", b','),
            ("\"a,b,c\";d", b';'),
            ("a\tb,c\td", b'\t'),
        ] {
            assert_eq!(detect_delimiter(line.as_bytes()), delimiter, "{line}");
        }
    }

    #[test]
    fn a_delimiter_that_makes_one_column_of_many_is_refused() {
        let check = |text: &str, delimiter| {
            let source = Source::from_reader("a.csv", Cursor::new(text.to_owned())).unwrap();
            check_delimiter(&mut { source }, delimiter).map_err(|error| error.to_string())
        };
        assert_eq!(
            check("\nid,name,born\r\n1,Ada;Eve,1815\n", b';').unwrap_err(),
            "a.csv: with delimiter ';' there is one column, \"id,name,born\"; with ',' there are 3: say \
             --delimiter ',', or `delimiter` in a mapping"
        );
        assert!(check("id\tname\n", b',').unwrap_err().contains("with tab there are 2: say --delimiter tab"));
        for (text, delimiter) in [
            ("id;name,full\n", b';'),
            ("id\n1\n", b';'),
            ("\"last, first\"\n", b';'),
            ("a:b\n", b':'),
            ("", b';'),
        ] {
            assert_eq!(check(text, delimiter), Ok(()), "{text}");
        }
    }
}
