//! Sample: the first rows of a CSV file whose columns nobody declared, and what they look like.
//!
//! ```text
//! rows     7, 2024-02-29, true,  x        guess   long, date, bool, string
//!          8, ,           false, 007              (007 is no number: it would come back as 7)
//! ```
//!
//! A guess is of the rows that were looked at: a later one of another type is a bad row.

use crate::import::csv_records::{CsvFormat, CsvRecords, RecordBatch};
use crate::import::faults::{FaultCollector, OnBadRow};
use crate::import::input::Input;
use crate::import::integer::parse_i64;
use crate::import::parquet::cells::value_at;
use crate::import::parquet::file::ParquetStart;
use evergraph_graph::error::Result;
use evergraph_graph::value::date::Date;
use evergraph_graph::value::datetime::DateTime;
use evergraph_graph::value::{Value, ValueType};
use std::collections::HashSet;

/// Bytes of fields that are looked at.
const SAMPLE_BYTES: usize = 256 * 1024;

/// The beginning of a CSV file.
#[derive(Debug)]
pub struct Sample {
    /// The fields of its first line.
    pub first: Vec<String>,
    /// What each column looks like in the rows behind it.
    pub columns: Vec<ColumnSample>,
    /// What each column looks like if the first line is a row as well.
    pub columns_with_first: Vec<ColumnSample>,
    /// How many rows there are behind it, of those that were looked at.
    pub rows: usize,
}

/// What a column looks like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnSample {
    /// The type that all its values have; `None` if there are none.
    pub value_type: Option<ValueType>,
    /// Whether every row has a value, and all differ.
    pub is_key: bool,
}

impl Sample {
    /// Looks at `input`; `None` if it is empty.
    ///
    /// # Errors
    /// As reading; `invalid` for a first line that isn't UTF-8 and for a quote that isn't closed.
    pub fn of(input: &Input, format: CsvFormat) -> Result<Option<Self>> {
        let mut records = CsvRecords::new(input.look()?, format);
        let Some(first) = records.read_header()? else { return Ok(None) };
        // Rows of another width are told when they are read for good.
        let rules = FaultCollector::new(OnBadRow::Skip { at_most: None }, None).rules();
        let batch = records.next_batch(first.len(), SAMPLE_BYTES, rules)?;
        let rows = batch.as_ref().map_or(0, RecordBatch::len);
        let look = |column: usize, with_first: bool| {
            let in_first = first.iter().skip(column).take(usize::from(with_first)).map(String::as_bytes);
            let behind = batch
                .iter()
                .flat_map(|batch| (0..batch.len()).map(|record| batch.fields.field(record, column)));
            ColumnSample::of(in_first.chain(behind))
        };
        let columns = (0..first.len()).map(|column| look(column, false)).collect();
        let columns_with_first = (0..first.len()).map(|column| look(column, true)).collect();
        Ok(Some(Self { columns, columns_with_first, rows, first }))
    }
}

impl Sample {
    /// What the columns of a Parquet file look like; their types are stated.
    #[must_use]
    pub fn of_columns(start: &ParquetStart) -> Self {
        let rows = start.rows.as_ref().map_or(0, |rows| rows.num_rows());
        let is_key = |column: usize| {
            let mut seen = HashSet::new();
            let array = start.rows.as_ref().map(|rows| rows.column(column));
            array.is_some_and(|array| {
                (0..rows).all(|row| match value_at(array, row, false) {
                    Ok(Some(value)) => seen.insert(value),
                    _ => false,
                })
            })
        };
        let columns: Vec<ColumnSample> = start
            .types
            .iter()
            .enumerate()
            .map(|(column, value_type)| ColumnSample { value_type: *value_type, is_key: is_key(column) })
            .collect();
        Self { first: start.names.clone(), columns_with_first: columns.clone(), columns, rows }
    }
}

impl ColumnSample {
    /// The type of its values, if they aren't texts.
    #[must_use]
    pub fn typed(&self) -> Option<ValueType> {
        self.value_type.filter(|value_type| *value_type != ValueType::String)
    }

    fn of<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Self {
        let texts: Vec<&[u8]> = texts.collect();
        let mut seen = HashSet::new();
        Self {
            value_type: guess(texts.iter().copied()),
            is_key: !texts.is_empty() && texts.iter().all(|text| !text.is_empty() && seen.insert(*text)),
        }
    }
}

/// Whether `text` looks like a value and not like the name of a column.
#[must_use]
pub fn is_value(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || narrowest_type(text) != ValueType::String
}

/// The narrowest type that `text` fits: of bool, long, bigint, double, date, datetime, uuid and string.
#[must_use]
pub fn narrowest_type(text: &str) -> ValueType {
    guess([text.as_bytes()].into_iter()).unwrap_or(ValueType::String)
}

/// The narrowest type that all `texts` have which aren't empty.
fn guess<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Option<ValueType> {
    const GUESSES: [ValueType; 7] = [
        ValueType::Bool,
        ValueType::I64,
        ValueType::BigInteger,
        ValueType::F64,
        ValueType::Date,
        ValueType::DateTime,
        ValueType::Uuid,
    ];
    let mut possible = GUESSES.to_vec();
    let mut is_empty = true;
    for text in texts.filter(|text| !text.is_empty()) {
        is_empty = false;
        let text = std::str::from_utf8(text).unwrap_or_default().trim();
        possible.retain(|value_type| is_of(text, *value_type));
    }
    if is_empty { None } else { Some(possible.first().copied().unwrap_or(ValueType::String)) }
}

fn is_of(text: &str, value_type: ValueType) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    // Zeros and signs in front belong to codes and telephone numbers.
    let is_number = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && !(digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0."));
    match value_type {
        ValueType::I64 => is_number && parse_i64(text.as_bytes()).is_ok(),
        ValueType::F64 | ValueType::BigInteger => is_number && Value::parse(text, value_type).is_ok(),
        ValueType::Date => text.parse::<Date>().is_ok(),
        ValueType::DateTime => text.parse::<DateTime>().is_ok(),
        _ => Value::parse(text, value_type).is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_the_narrowest_that_all_values_have() {
        for (texts, expected) in [
            (&["true", "", "FALSE"][..], Some(ValueType::Bool)),
            (&["1", "-20", "0"], Some(ValueType::I64)),
            (&["1", "2.5", "1e9"], Some(ValueType::F64)),
            (&["1", "9223372036854775808"], Some(ValueType::BigInteger)),
            (&["2024-02-29"], Some(ValueType::Date)),
            (&["2024-02-29", "2024-02-29 12:00:00+01:00"], Some(ValueType::DateTime)),
            (&["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12"], Some(ValueType::Uuid)),
            (&["1", "007"], Some(ValueType::String)),
            (&["+49 30"], Some(ValueType::String)),
            (&["nan"], Some(ValueType::String)),
            (&["1", "x"], Some(ValueType::String)),
            (&["", ""], None),
        ] {
            assert_eq!(guess(texts.iter().map(|text| text.as_bytes())), expected, "{texts:?}");
        }
    }

    #[test]
    fn a_sample_is_the_first_line_and_what_follows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let format = CsvFormat { delimiter: b',', quote: Some(b'"'), escape: None };
        std::fs::write(&path, "id,name,town\n1,Ada,London\n2,,London\nbad\n").unwrap();
        let sample = Sample::of(&Input::new(&path).unwrap(), format).unwrap().unwrap();
        assert_eq!((sample.first.join(" ").as_str(), sample.rows), ("id name town", 2));
        let keys: Vec<bool> = sample.columns.iter().map(|column| column.is_key).collect();
        assert_eq!(keys, [true, false, false]);
        let types = sample.columns_with_first.iter().map(|column| column.value_type);
        assert_eq!(types.collect::<Vec<_>>(), [Some(ValueType::String); 3]);
        std::fs::write(&path, "").unwrap();
        assert!(Sample::of(&Input::new(&path).unwrap(), format).unwrap().is_none());
    }
}
