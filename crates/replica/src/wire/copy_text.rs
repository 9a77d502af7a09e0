//! Rows of COPY in its text format, as PostgreSQL sends them: one in each piece of copy data.
//!
//! ```text
//! 1 TAB a\tb TAB \N LF        columns end with tabs, the row with a line feed; \N is null; \b \f \n \r \t \v \\ stand for themselves
//! ```

use std::borrow::Cow;
use std::ops::Range;

use evergraph_graph::bytes::{DecodeError, Decoded};

/// The columns of a row; `None` is null. A column without escapes is borrowed.
///
/// Cost: one pass over the row.
///
/// # Errors
/// If the row does not end with a line feed, has another one, or has an escape that COPY does not write.
pub fn read_row<'a>(row: &'a [u8], cells: &mut Vec<Option<Cow<'a, [u8]>>>) -> Decoded<()> {
    cells.clear();
    let Some((b'\n', columns)) = row.split_last() else {
        return Err(wrong(row.len(), "a line feed expected at the end of a row"));
    };
    let (mut begin, mut is_plain) = (0, true);
    for (at, byte) in columns.iter().enumerate() {
        match byte {
            b'\t' => {
                cells.push(read_column(columns, begin..at, is_plain)?);
                (begin, is_plain) = (at + 1, true);
            }
            b'\\' => is_plain = false,
            b'\n' => return Err(wrong(at, "one row expected, found a second one")),
            _ => {}
        }
    }
    cells.push(read_column(columns, begin..columns.len(), is_plain)?);
    Ok(())
}

/// The column in `range` of a row; a plain one has no backslash.
#[inline]
fn read_column(row: &[u8], range: Range<usize>, is_plain: bool) -> Decoded<Option<Cow<'_, [u8]>>> {
    let begin = range.start;
    let column = &row[range];
    match column {
        _ if is_plain => Ok(Some(Cow::Borrowed(column))),
        b"\\N" => Ok(None),
        _ => match unescaped(column) {
            Some(text) => Ok(Some(Cow::Owned(text))),
            None => Err(wrong(begin, "an escape of COPY expected in this column")),
        },
    }
}

#[cold]
fn wrong(offset: usize, expected: &str) -> DecodeError {
    DecodeError { offset, expected: expected.to_owned() }
}

fn unescaped(column: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(column.len());
    let mut bytes = column.iter();
    while let Some(byte) = bytes.next() {
        text.push(match byte {
            b'\\' => match bytes.next()? {
                b'b' => 8,
                b'f' => 12,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'v' => 11,
                b'\\' => b'\\',
                _ => return None,
            },
            _ => *byte,
        });
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(row: &[u8]) -> Decoded<Vec<Option<Vec<u8>>>> {
        let mut cells = Vec::new();
        read_row(row, &mut cells)?;
        Ok(cells.into_iter().map(|cell| cell.map(Cow::into_owned)).collect())
    }

    #[test]
    fn columns_are_null_plain_or_escaped() {
        let row = read(b"1\t\\N\t\ta\\tb\\\\N\\n\n").unwrap();
        assert_eq!(row, [Some(b"1".to_vec()), None, Some(Vec::new()), Some(b"a\tb\\N\n".to_vec())]);
        assert_eq!(read(b"\\\\N\n"), Ok(vec![Some(b"\\N".to_vec())]));
        for (row, offset) in [(&b""[..], 0), (b"1", 1), (b"1\n2\n", 1), (b"1\t\\x\n", 2), (b"1\\\n", 0)] {
            assert_eq!(read(row).unwrap_err().offset, offset, "{row:?}");
        }
    }

    proptest! {
        /// What COPY writes (`CopyAttributeOutText`), written anew.
        #[test]
        fn a_row_is_read_back(cells in prop::collection::vec(prop::option::of(prop::collection::vec(
            prop_oneof![Just(b'\\'), Just(b'N'), 8..14_u8, any::<u8>()], 0..6)), 1..5))
        {
            let mut row = Vec::new();
            for (at, cell) in cells.iter().enumerate() {
                if at > 0 {
                    row.push(b'\t');
                }
                let Some(cell) = cell else {
                    row.extend(b"\\N");
                    continue;
                };
                for byte in cell {
                    match byte {
                        8 => row.extend(b"\\b"),
                        9 => row.extend(b"\\t"),
                        10 => row.extend(b"\\n"),
                        11 => row.extend(b"\\v"),
                        12 => row.extend(b"\\f"),
                        13 => row.extend(b"\\r"),
                        b'\\' => row.extend(b"\\\\"),
                        _ => row.push(*byte),
                    }
                }
            }
            row.push(b'\n');
            prop_assert_eq!(read(&row), Ok(cells));
        }
    }
}
