//! Matrix Market: a graph as the list of its adjacency matrix's entries (`.mtx`).
//!
//! ```text
//! %%MatrixMarket matrix coordinate real symmetric     the banner: what entries hold, and the symmetry
//! % a comment
//! 5 5 8                                               rows, columns, entries: once, before entries
//! 2 1 0.5                                             an edge from vertex 2 to vertex 1 of weight 0.5
//! ```
//!
//! Rows and columns are numbered from 1. Entries are `real`, `integer`, or a mere `pattern`. In a
//! `symmetric` or `skew-symmetric` matrix only entries on and below the diagonal stand in the file, and
//! each one below stands for its mirror image as well ([`Banner::mirror`]).
//!
//! Refused by name: `array` (dense matrices, which list every pair), `complex` entries, `hermitian`
//! symmetry, and vectors. [`parse_banner`], [`parse_size`] and [`parse_entry`] are pure functions, so
//! entries can be read on many threads; how many there are is checked by the caller, with
//! [`Size::check_entries`].
//!
//! Source: Boisvert, Pozo, Remington: "The Matrix Market Exchange Formats" (NISTIR 5935, 1996).

use std::io::{self, Write};

use evergraph_graph::value::{Value, ValueType};

use crate::error::{LineError, WriteError};
use crate::words::Words;

/// What every entry of a matrix holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// A floating-point number.
    Real,
    /// A whole number.
    Integer,
    /// Nothing but its place.
    Pattern,
}

/// What the entries above the diagonal are, given those below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Symmetry {
    /// Nothing follows from those below.
    General,
    /// The same.
    Symmetric,
    /// The same but for the sign; the diagonal is zero.
    SkewSymmetric,
}

/// The first line of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Banner {
    /// What entries hold.
    pub field: Field,
    /// Which entries are not in the file.
    pub symmetry: Symmetry,
}

/// The size of a matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Rows: the vertices where edges begin.
    pub rows: u64,
    /// Columns: the vertices where edges end. As many as rows, unless the graph has two kinds of
    /// vertices.
    pub columns: u64,
    /// Lines with entries.
    pub entries: u64,
}

/// An entry: an edge, perhaps with a weight.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// From 1.
    pub row: u64,
    /// From 1.
    pub column: u64,
    /// A double, a long, or nothing, as the banner says.
    pub value: Option<Value>,
}

const FIELDS: [(&str, Field); 3] =
    [("real", Field::Real), ("integer", Field::Integer), ("pattern", Field::Pattern)];
const SYMMETRIES: [(&str, Symmetry); 3] = [
    ("general", Symmetry::General),
    ("symmetric", Symmetry::Symmetric),
    ("skew-symmetric", Symmetry::SkewSymmetric),
];

/// Reads the first line of a file, in any case.
///
/// # Errors
/// If it is no banner, or one of a matrix that is not read, which is named.
pub fn parse_banner(line: &[u8]) -> Result<Banner, LineError> {
    let mut words = Words::of(line);
    for (word, expected) in [
        ("%%MatrixMarket", "%%MatrixMarket"),
        ("matrix", "matrix (vectors are not read)"),
        ("coordinate", "coordinate (dense matrices, in array form, are not read)"),
    ] {
        let found = words.require(expected)?;
        if !found.bytes.eq_ignore_ascii_case(word.as_bytes()) {
            return Err(found.error(expected));
        }
    }
    let field = one_of(&mut words, &FIELDS, "real, integer or pattern (complex matrices are not read)")?;
    let expected = "general, symmetric or skew-symmetric (hermitian matrices are not read)";
    let symmetry = one_of(&mut words, &SYMMETRIES, expected)?;
    if (field, symmetry) == (Field::Pattern, Symmetry::SkewSymmetric) {
        let reason = "a pattern has no signs and cannot be skew-symmetric".to_owned();
        return Err(LineError { column: 1, reason });
    }
    words.finish()?;
    Ok(Banner { field, symmetry })
}

fn one_of<T: Copy>(words: &mut Words<'_>, known: &[(&str, T)], expected: &str) -> Result<T, LineError> {
    let word = words.require(expected)?;
    let found = known.iter().find(|(name, _)| word.bytes.eq_ignore_ascii_case(name.as_bytes()));
    found.map(|(_, meaning)| *meaning).ok_or_else(|| word.error(expected))
}

/// Whether a line behind the banner says nothing: a comment, or blank.
#[must_use]
pub fn is_comment(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start(), [] | [b'%', ..])
}

/// Reads the first line behind the banner that is no comment.
///
/// # Errors
/// If it isn't three numbers, or a symmetric matrix isn't square.
pub fn parse_size(line: &[u8], banner: Banner) -> Result<Size, LineError> {
    let mut words = Words::of(line);
    let rows = words.number("the number of rows")?;
    let columns = words.number("the number of columns")?;
    let entries = words.number("the number of entries")?;
    words.finish()?;
    if banner.symmetry != Symmetry::General && rows != columns {
        let reason = format!("a symmetric matrix has as many rows as columns, not {rows} and {columns}");
        return Err(LineError { column: 1, reason });
    }
    Ok(Size { rows, columns, entries })
}

/// Reads a line behind the size that is no comment.
///
/// # Errors
/// If it isn't an entry of such a matrix: out of its size, on the wrong side of the diagonal, or with
/// another value than the banner says.
pub fn parse_entry(line: &[u8], banner: Banner, size: Size) -> Result<Entry, LineError> {
    let mut words = Words::of(line);
    let row = words.index("a row", size.rows)?;
    let column = words.index("a column", size.columns)?;
    let value = match banner.field {
        Field::Real => Some(read_value(&mut words, ValueType::F64, "a real number")?),
        Field::Integer => Some(read_value(&mut words, ValueType::I64, "a whole number")?),
        Field::Pattern => None,
    };
    words.finish()?;
    let entry = Entry { row, column, value };
    banner.check_side(&entry).map_err(|reason| LineError { column: 1, reason })?;
    Ok(entry)
}

fn read_value(words: &mut Words<'_>, value_type: ValueType, expected: &str) -> Result<Value, LineError> {
    let word = words.require(expected)?;
    let value = word.text().and_then(|text| Value::parse(text, value_type).ok());
    value.ok_or_else(|| word.error(expected))
}

impl Banner {
    /// The entry that `entry` stands for besides itself: `None` on the diagonal and in general matrices.
    ///
    /// # Errors
    /// A text for people, if the value's opposite is no `long`.
    pub fn mirror(self, entry: &Entry) -> Result<Option<Entry>, String> {
        if self.symmetry == Symmetry::General || entry.row == entry.column {
            return Ok(None);
        }
        let value = match (&entry.value, self.symmetry) {
            (Some(Value::F64(number)), Symmetry::SkewSymmetric) => Some(Value::F64(-number)),
            (Some(Value::I64(number)), Symmetry::SkewSymmetric) => Some(Value::I64(
                number.checked_neg().ok_or_else(|| format!("-({number}) is not a valid long"))?,
            )),
            (value, _) => value.clone(),
        };
        Ok(Some(Entry { row: entry.column, column: entry.row, value }))
    }

    /// Says why `entry` can't stand in the file, if its side of the diagonal is left out.
    fn check_side(self, entry: &Entry) -> Result<(), String> {
        let Entry { row, column, .. } = entry;
        match self.symmetry {
            Symmetry::Symmetric if row < column => {
                Err(format!("row {row}, column {column} is above the diagonal of a symmetric matrix"))
            }
            Symmetry::SkewSymmetric if row <= column => Err(format!(
                "row {row}, column {column} is not below the diagonal of a skew-symmetric matrix"
            )),
            _ => Ok(()),
        }
    }
}

impl Size {
    /// Fails unless the file had the entries that it announced.
    ///
    /// # Errors
    /// A text for people, if `found` is another number.
    pub fn check_entries(self, found: u64) -> Result<(), String> {
        if found == self.entries {
            return Ok(());
        }
        Err(format!("the file announces {} entries, but has {found}", self.entries))
    }
}

/// Writes a matrix to `W`, which should be buffered.
#[derive(Debug)]
pub struct MatrixMarketWriter<W> {
    bytes: W,
    banner: Banner,
    size: Size,
    entries_count: u64,
}

impl<W: Write> MatrixMarketWriter<W> {
    /// Writes the banner and the size to `bytes`.
    ///
    /// # Errors
    /// If bytes can't be written.
    pub fn new(mut bytes: W, banner: Banner, size: Size) -> io::Result<Self> {
        let field = FIELDS.iter().find(|(_, field)| *field == banner.field);
        let symmetry = SYMMETRIES.iter().find(|(_, symmetry)| *symmetry == banner.symmetry);
        let (field, symmetry) = field.zip(symmetry).expect("the tables have every field and symmetry");
        writeln!(bytes, "%%MatrixMarket matrix coordinate {} {}", field.0, symmetry.0)?;
        writeln!(bytes, "{} {} {}", size.rows, size.columns, size.entries)?;
        Ok(Self { bytes, banner, size, entries_count: 0 })
    }

    /// Writes an entry. Of a symmetric matrix only those on and below the diagonal are given.
    ///
    /// # Errors
    /// [`WriteError::Io`]; [`WriteError::Unwritable`] if the entry is out of the matrix, on the wrong
    /// side of the diagonal, or has another value than the banner says, or one that is not finite.
    pub fn write_entry(&mut self, entry: &Entry) -> Result<(), WriteError> {
        let refuse = |reason| {
            let element = format!("entry in row {}, column {}", entry.row, entry.column);
            Err(WriteError::Unwritable { element, reason })
        };
        let Size { rows, columns, .. } = self.size;
        if !(1..=rows).contains(&entry.row) || !(1..=columns).contains(&entry.column) {
            return refuse(format!("the matrix has {rows} rows and {columns} columns, numbered from 1"));
        }
        if let Err(reason) = self.banner.check_side(entry) {
            return refuse(reason);
        }
        match (self.banner.field, &entry.value) {
            (Field::Pattern, None) => writeln!(self.bytes, "{} {}", entry.row, entry.column)?,
            (Field::Integer, Some(Value::I64(number))) => {
                writeln!(self.bytes, "{} {} {number}", entry.row, entry.column)?;
            }
            (Field::Real, Some(Value::F64(number))) if number.is_finite() => {
                writeln!(self.bytes, "{} {} {number:?}", entry.row, entry.column)?;
            }
            (field, value) => {
                return refuse(format!("its value is {value:?}, in a matrix of kind {field:?}"));
            }
        }
        self.entries_count += 1;
        Ok(())
    }

    /// Flushes the file and gives `W` back.
    ///
    /// # Errors
    /// [`WriteError::Io`]; [`WriteError::Unwritable`] if there were more or fewer entries than announced.
    pub fn finish(mut self) -> Result<W, WriteError> {
        let checked = self.size.check_entries(self.entries_count);
        checked.map_err(|reason| WriteError::Unwritable { element: "matrix".to_owned(), reason })?;
        self.bytes.flush()?;
        Ok(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn banner(field: Field, symmetry: Symmetry) -> Banner {
        Banner { field, symmetry }
    }

    const SIZE: Size = Size { rows: 3, columns: 3, entries: 2 };

    #[test]
    fn banners_are_read_in_any_case() {
        assert_eq!(
            parse_banner(b"%%MatrixMarket matrix coordinate real general\r\n"),
            Ok(banner(Field::Real, Symmetry::General))
        );
        assert_eq!(
            parse_banner(b"%%matrixmarket MATRIX Coordinate Pattern Symmetric"),
            Ok(banner(Field::Pattern, Symmetry::Symmetric))
        );
    }

    #[test]
    fn matrices_that_are_no_graphs_are_refused_by_name() {
        for (line, column, name) in [
            ("%%MatrixMarket matrix array real general", 23, "in array form, are not read"),
            ("%%MatrixMarket vector coordinate real general", 16, "vectors are not read"),
            ("%%MatrixMarket matrix coordinate complex general", 34, "complex matrices are not read"),
            ("%%MatrixMarket matrix coordinate real hermitian", 39, "hermitian matrices are not read"),
            ("%%MatrixMarket matrix coordinate pattern skew-symmetric", 1, "a pattern has no signs"),
            ("%%MatrixMarket matrix coordinate real", 38, "expected general"),
            ("%%MatrixMarket matrix coordinate real general x", 47, "the end of the line"),
            ("% 1 2 3", 1, "expected %%MatrixMarket"),
            ("", 1, "expected %%MatrixMarket"),
        ] {
            let error = parse_banner(line.as_bytes()).unwrap_err();
            assert!(error.column == column && error.reason.contains(name), "{line}: {error}");
        }
    }

    #[test]
    fn entries_are_read_by_their_banner() {
        let general = |field| banner(field, Symmetry::General);
        let entry = |value| Ok(Entry { row: 2, column: 3, value });
        assert_eq!(parse_entry(b" 2\t3 0.5\r\n", general(Field::Real), SIZE), entry(Some(Value::F64(0.5))));
        assert_eq!(parse_entry(b"2 3 7", general(Field::Real), SIZE), entry(Some(Value::F64(7.0))));
        assert_eq!(parse_entry(b"2 3 -7", general(Field::Integer), SIZE), entry(Some(Value::I64(-7))));
        assert_eq!(parse_entry(b"2 3", general(Field::Pattern), SIZE), entry(None));
        assert!(is_comment(b"% x") && is_comment(b" \n") && !is_comment(b"1 2"));
    }

    #[test]
    fn other_entries_are_refused_with_their_column() {
        for (line, field, symmetry, column) in [
            ("0 1 1", Field::Real, Symmetry::General, 1),
            ("1 4 1", Field::Real, Symmetry::General, 3),
            ("1 2", Field::Real, Symmetry::General, 4),
            ("1 2 x", Field::Real, Symmetry::General, 5),
            ("1 2 1e999", Field::Real, Symmetry::General, 5),
            ("1 2 0.5", Field::Integer, Symmetry::General, 5),
            ("1 2 1", Field::Pattern, Symmetry::General, 5),
            ("1 2 1 0", Field::Real, Symmetry::General, 7),
            ("1 2 1", Field::Real, Symmetry::Symmetric, 1),
            ("2 2 1", Field::Real, Symmetry::SkewSymmetric, 1),
            ("-1 2 1", Field::Real, Symmetry::General, 1),
            ("1.0 2 1", Field::Real, Symmetry::General, 1),
        ] {
            let error = parse_entry(line.as_bytes(), banner(field, symmetry), SIZE).expect_err(line);
            assert_eq!(error.column, column, "{line}: {error}");
        }
        let symmetric = banner(Field::Real, Symmetry::Symmetric);
        assert!(parse_size(b"3 4 1", symmetric).is_err() && parse_size(b"3 3", symmetric).is_err());
        assert_eq!(parse_size(b"3 3 2", symmetric), Ok(SIZE));
    }

    #[test]
    fn an_entry_below_the_diagonal_stands_for_its_mirror_image() {
        let entry = |row, column, value| Entry { row, column, value: Some(Value::I64(value)) };
        let mirror = |symmetry, entry: &Entry| banner(Field::Integer, symmetry).mirror(entry);
        assert_eq!(mirror(Symmetry::General, &entry(2, 1, 5)), Ok(None));
        assert_eq!(mirror(Symmetry::Symmetric, &entry(2, 1, 5)), Ok(Some(entry(1, 2, 5))));
        assert_eq!(mirror(Symmetry::Symmetric, &entry(2, 2, 5)), Ok(None));
        assert_eq!(mirror(Symmetry::SkewSymmetric, &entry(2, 1, 5)), Ok(Some(entry(1, 2, -5))));
        assert!(mirror(Symmetry::SkewSymmetric, &entry(2, 1, i64::MIN)).is_err());
    }

    #[test]
    fn a_writer_keeps_what_its_head_says() {
        let mut writer =
            MatrixMarketWriter::new(Vec::new(), banner(Field::Real, Symmetry::Symmetric), SIZE).unwrap();
        let entry = |row, column, value| Entry { row, column, value };
        for wrong in [
            entry(0, 1, Some(Value::F64(1.0))),
            entry(4, 1, Some(Value::F64(1.0))),
            entry(1, 2, Some(Value::F64(1.0))),
            entry(2, 1, Some(Value::I64(1))),
            entry(2, 1, None),
            entry(2, 1, Some(Value::F64(f64::NAN))),
        ] {
            assert!(writer.write_entry(&wrong).is_err(), "{wrong:?}");
        }
        writer.write_entry(&entry(2, 1, Some(Value::F64(1.0)))).unwrap();
        assert_eq!(
            writer.finish().unwrap_err().to_string(),
            "matrix: the file announces 2 entries, but has 1"
        );
    }

    proptest! {
        #[test]
        fn a_matrix_is_read_back_as_it_was(
            places in proptest::collection::vec((1..=9_u64, 1..=9_u64, any::<i64>(), proptest::num::f64::NORMAL), 0..9),
            field in proptest::sample::select(vec![Field::Real, Field::Integer, Field::Pattern]),
        ) {
            let entries: Vec<_> = places
                .into_iter()
                .map(|(row, column, integer, real)| Entry {
                    row,
                    column,
                    value: match field {
                        Field::Real => Some(Value::F64(real)),
                        Field::Integer => Some(Value::I64(integer)),
                        Field::Pattern => None,
                    },
                })
                .collect();
            let head = banner(field, Symmetry::General);
            let size = Size { rows: 9, columns: 9, entries: entries.len() as u64 };
            let mut writer = MatrixMarketWriter::new(Vec::new(), head, size).unwrap();
            entries.iter().for_each(|entry| writer.write_entry(entry).unwrap());
            let bytes = writer.finish().unwrap();
            let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            prop_assert_eq!(parse_banner(lines.next().unwrap()), Ok(head));
            prop_assert_eq!(parse_size(lines.next().unwrap(), head), Ok(size));
            let read: Vec<_> = lines.map(|line| parse_entry(line, head, size).unwrap()).collect();
            prop_assert_eq!(read, entries);
        }

        #[test]
        fn any_line_is_something_or_an_error(line in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = parse_banner(&line);
            let _ = parse_size(&line, banner(Field::Real, Symmetry::General));
            let _ = parse_entry(&line, banner(Field::Real, Symmetry::General), SIZE);
        }
    }
}
