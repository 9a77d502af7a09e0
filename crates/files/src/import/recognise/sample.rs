//! Sample: the first rows of a file without declared columns, and what they look like.
//!
//! ```text
//! rows     7, 2024-02-29, true,  x        guess   long, date, bool, string
//!          8, ,           false, 007              (007 is no number: it would come back as 7)
//! ```
//!
//! A guess is of the rows that were looked at: a later one of another type is a bad row.

use crate::import::bytes::input::Input;
use crate::import::csv::records::{CsvFormat, CsvRecords, RecordBatch};
use crate::import::faults::{FaultCollector, OnBadRow};
use crate::import::field::guess::guess;
use crate::import::field::literal::read_map;
use evergraph_graph::error::Result;
use evergraph_graph::value::{Value, ValueType};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bytes of fields that are looked at.
const SAMPLE_BYTES: usize = 256 * 1024;

/// What PostgreSQL, MySQL and others write for no value.
pub const NULL_MARK: &str = "\\N";

/// What others write, and what may be a text as well.
const NULL_WORDS: [&str; 6] = ["NULL", "null", "NA", "N/A", "NaN", "None"];

/// Keys of maps that become properties of their own, at most.
const ATTRIBUTES_MAX: usize = 64;

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
    /// Of them, how many have another number of fields.
    pub odd_rows: u64,
    /// Whether that were all rows of the file.
    pub is_whole: bool,
    /// Whether some field is [`NULL_MARK`], which counts as no value.
    pub has_null_marks: bool,
    /// A word that may mean no value, if it is there.
    pub null_word: Option<&'static str>,
}

/// What a column looks like.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ColumnSample {
    /// The type that all its values have; `None` if there are none.
    pub value_type: Option<ValueType>,
    /// Whether every row has a value, and all differ.
    pub is_key: bool,
    /// Rows with a value.
    pub filled: usize,
    /// The values, by their hashes.
    pub values: HashSet<u64>,
    /// The shapes of the values, as [`shape_of`] tells them.
    pub shapes: u64,
    /// Whether all values stand in braces, as maps do.
    pub are_maps: bool,
    /// The keys of these maps and the types of their values, if texts lead to them; in order of appearance.
    pub attributes: Vec<(String, ValueType)>,
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
        let behind = |column: usize| {
            let batch = batch.iter();
            batch.flat_map(move |batch| (0..batch.len()).map(move |row| batch.fields.field(row, column)))
        };
        let look = |column: usize, with_first: bool| {
            let in_first = first.iter().skip(column).take(usize::from(with_first)).map(String::as_bytes);
            ColumnSample::of(in_first.chain(behind(column)))
        };
        let columns = (0..first.len()).map(|column| look(column, false)).collect();
        let columns_with_first = (0..first.len()).map(|column| look(column, true)).collect();
        let has_null_marks = (0..first.len())
            .any(|column| behind(column).any(|text| text == NULL_MARK.as_bytes()))
            || first.iter().any(|text| text == NULL_MARK);
        let is_there =
            |word: &&str| (0..first.len()).any(|column| behind(column).any(|text| text == word.as_bytes()));
        let null_word = NULL_WORDS.into_iter().find(is_there);
        let odd_rows = batch.as_ref().map_or(0, |batch| batch.faults.count());
        let is_whole = records.next_batch(first.len(), 1, rules)?.is_none();
        Ok(Some(Self {
            columns,
            columns_with_first,
            rows,
            odd_rows,
            is_whole,
            has_null_marks,
            null_word,
            first,
        }))
    }

    /// What columns look like that a schema calls `names`, each of a stated type and with the texts of its first
    /// values, which are empty where there is none.
    #[must_use]
    pub fn of_columns(
        names: &[String],
        columns: impl Iterator<Item = (Option<ValueType>, Vec<String>)>,
    ) -> Self {
        let mut rows = 0;
        let columns: Vec<ColumnSample> = columns
            .map(|(value_type, texts)| {
                rows = texts.len();
                ColumnSample { value_type, ..ColumnSample::of(texts.iter().map(String::as_bytes)) }
            })
            .collect();
        Self {
            first: names.to_vec(),
            columns_with_first: columns.clone(),
            columns,
            rows,
            odd_rows: 0,
            // Whether there are more rows nobody asked.
            is_whole: false,
            has_null_marks: false,
            null_word: None,
        }
    }
}

impl ColumnSample {
    /// The type of its values, if they aren't texts.
    #[must_use]
    pub fn typed(&self) -> Option<ValueType> {
        self.value_type.filter(|value_type| *value_type != ValueType::String)
    }

    /// Whether its values may be ids of vertices: they are whole numbers, texts or UUIDs.
    #[must_use]
    pub fn may_be_id(&self) -> bool {
        const WIDTHS: [ValueType; 4] = [ValueType::I8, ValueType::I16, ValueType::I32, ValueType::I64];
        const OTHERS: [ValueType; 3] = [ValueType::BigInteger, ValueType::String, ValueType::Uuid];
        self.value_type.is_none_or(|of| WIDTHS.contains(&of) || OTHERS.contains(&of))
    }

    /// Whether its values are texts.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.value_type == Some(ValueType::String)
    }

    /// Whether it has the value `text`.
    #[must_use]
    pub fn has(&self, text: &str) -> bool {
        self.values.contains(&hash_of(text.as_bytes()))
    }

    /// How many values it shares with `other`.
    #[must_use]
    pub fn shared(&self, other: &Self) -> usize {
        self.values.intersection(&other.values).count()
    }

    /// A column of `value_type` whose values are not inspected.
    #[cfg(test)]
    #[must_use]
    pub fn of_type(value_type: Option<ValueType>) -> Self {
        Self { value_type, ..Self::default() }
    }

    fn of<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Self {
        let without_null = |text: &'a [u8]| if text == NULL_MARK.as_bytes() { b"" } else { text };
        let texts: Vec<&[u8]> = texts.map(without_null).collect();
        let filled = texts.iter().filter(|text| !text.is_empty()).count();
        let are_maps = filled > 0 && texts.iter().all(|text| text.is_empty() || is_in_braces(text));
        let values: HashSet<u64> =
            texts.iter().filter(|text| !text.is_empty()).map(|text| hash_of(text)).collect();
        Self {
            value_type: guess(texts.iter().copied()),
            is_key: !texts.is_empty() && values.len() == texts.len(),
            filled,
            values,
            are_maps,
            attributes: if are_maps { attributes(&texts) } else { Vec::new() },
            shapes: texts.iter().fold(0, |shapes, text| shapes | shape_of(&String::from_utf8_lossy(text))),
        }
    }
}

/// The keys of the maps that `texts` are; none if some text is no map, or its keys are no texts.
fn attributes(texts: &[&[u8]]) -> Vec<(String, ValueType)> {
    let mut values: Vec<(String, Vec<String>)> = Vec::new();
    for text in texts.iter().filter(|text| !text.is_empty()) {
        let map = std::str::from_utf8(text).ok().and_then(|text| read_map(text).ok());
        let Some(Value::Map(map)) = map else { return Vec::new() };
        for (key, value) in map.as_slice() {
            let Value::String(key) = key else { return Vec::new() };
            match values.iter().position(|(known, _)| **known == **key) {
                Some(at) => values[at].1.push(value.to_string()),
                None if values.len() == ATTRIBUTES_MAX => return Vec::new(),
                None => values.push((key.to_string(), vec![value.to_string()])),
            }
        }
    }
    let type_of = |texts: &[String]| guess(texts.iter().map(String::as_bytes)).unwrap_or(ValueType::String);
    values.into_iter().map(|(key, texts)| (key, type_of(&texts))).collect()
}

fn is_in_braces(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    text.starts_with(b"{") && text.ends_with(b"}")
}

/// The same for equal texts, and blanks around them don't count.
fn hash_of(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.trim_ascii().hash(&mut hasher);
    hasher.finish()
}

/// One bit for the shape of `text`: which case its letters have, and whether digits, blanks or other
/// characters are among them. None for an empty text.
#[must_use]
pub fn shape_of(text: &str) -> u64 {
    let text = text.trim();
    if text.is_empty() {
        return 0;
    }
    let mut words = text.split(|letter: char| !letter.is_alphabetic()).filter(|word| !word.is_empty());
    let is_small = |word: &str| word.chars().all(char::is_lowercase);
    let is_title = |word: &str| {
        let mut letters = word.chars();
        letters.next().is_some_and(char::is_uppercase) && letters.all(char::is_lowercase)
    };
    let has = |wanted: fn(char) -> bool| text.chars().any(wanted);
    let case = match () {
        () if !has(char::is_alphabetic) => 0,
        () if !has(char::is_uppercase) => 1,
        () if !has(char::is_lowercase) => 2,
        () if words.all(|word| is_title(word) || is_small(word)) => 3,
        () => 4,
    };
    let others = [
        has(char::is_numeric),
        has(char::is_whitespace),
        has(|letter| !letter.is_alphanumeric() && !letter.is_whitespace()),
    ];
    let others = others.into_iter().fold(0, |bits, is_there| bits * 2 + usize::from(is_there));
    1 << (case * 8 + others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_the_first_line_and_what_follows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let format = CsvFormat { delimiter: b',', quote: Some(b'"'), escape: None, comment: None };
        std::fs::write(&path, "id,name,town\n1,Ada,London\n2,,London\nbad\n").unwrap();
        let sample = Sample::of(&Input::new(&path).unwrap(), format).unwrap().unwrap();
        assert_eq!((sample.first.join(" ").as_str(), sample.rows), ("id name town", 2));
        let keys: Vec<bool> = sample.columns.iter().map(|column| column.is_key).collect();
        assert_eq!(keys, [true, false, false]);
        let types = sample.columns_with_first.iter().map(|column| column.value_type);
        assert_eq!(types.collect::<Vec<_>>(), [Some(ValueType::String); 3]);
        assert_eq!((sample.odd_rows, sample.is_whole), (1, true));
        std::fs::write(&path, "").unwrap();
        assert!(Sample::of(&Input::new(&path).unwrap(), format).unwrap().is_none());
    }

    #[test]
    fn marks_of_no_value_and_blanks_are_not_looked_at() {
        let texts: [&[u8]; 4] = [b"1", b"\\N", b" 2 ", b"2"];
        let column = ColumnSample::of(texts.into_iter());
        assert_eq!((column.value_type, column.is_key, column.filled), (Some(ValueType::I64), false, 3));
        assert!(column.has("2") && !column.has("3"));
    }

    #[test]
    fn shapes_tell_words_from_words() {
        let same = |one: &str, other: &str| shape_of(one) == shape_of(other);
        assert!(same("Adam", "Waterloo") && same("name", "city") && same("Q12", "P31"));
        assert!(!same("name", "Adam") && !same("Adam", "ADAM") && !same("Adam", "Adam Smith"));
        assert!(!same("title", "a_b") && !same("12", "a"));
        assert_eq!(shape_of(" "), 0);
    }
}
