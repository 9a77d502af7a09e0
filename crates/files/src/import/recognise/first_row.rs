//! First row: whether the first line of a CSV file is a header or data.
//!
//! ```text
//! name,born        Adam,30          Adam,Waterloo        town,river
//! Ada,1815         Karissa,40       Zhang,Waterloo       Rome,Tiber
//! header           data             data                 header
//! `born` is no     `30` is one      `Waterloo` comes     `town` is written as no town is
//! number           of the numbers   again below
//! ```
//!
//! What is certain outweighs what only seems so; where nothing is certain, the answer is a guess, and
//! who asked says so.

use crate::import::field::guess::{is_value, narrowest_type};
use crate::import::mapping::words::name_of;
use crate::import::recognise::end_names::words_of;
use crate::import::recognise::sample::{ColumnSample, NULL_MARK, Sample, shape_of};
use evergraph_graph::value::ValueType;

/// What the first line of a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FirstRow {
    /// Whether it names the columns.
    pub is_header: bool,
    /// Whether that shows, and is no guess.
    pub is_certain: bool,
}

/// Words that name columns and seldom stand in them.
const COLUMN_WORDS: [&str; 88] = [
    "id",
    "ids",
    "uid",
    "uuid",
    "guid",
    "key",
    "name",
    "names",
    "title",
    "label",
    "labels",
    "type",
    "types",
    "kind",
    "category",
    "class",
    "group",
    "source",
    "target",
    "src",
    "dst",
    "dest",
    "tgt",
    "from",
    "to",
    "start",
    "end",
    "head",
    "tail",
    "origin",
    "destination",
    "subject",
    "object",
    "predicate",
    "relation",
    "relationship",
    "rel",
    "parent",
    "child",
    "node",
    "nodes",
    "vertex",
    "edge",
    "weight",
    "score",
    "rating",
    "value",
    "values",
    "count",
    "amount",
    "price",
    "quantity",
    "total",
    "date",
    "time",
    "timestamp",
    "datetime",
    "created",
    "updated",
    "since",
    "year",
    "month",
    "day",
    "age",
    "born",
    "birthday",
    "gender",
    "email",
    "phone",
    "address",
    "city",
    "state",
    "country",
    "region",
    "latitude",
    "longitude",
    "lat",
    "lon",
    "lng",
    "url",
    "link",
    "description",
    "comment",
    "text",
    "content",
    "status",
    "code",
    "number",
];

/// Words that name properties.
const PROPERTY_WORDS: [&str; 40] = [
    "name",
    "title",
    "label",
    "type",
    "kind",
    "category",
    "class",
    "group",
    "weight",
    "score",
    "rating",
    "value",
    "count",
    "amount",
    "price",
    "quantity",
    "total",
    "date",
    "time",
    "timestamp",
    "year",
    "age",
    "born",
    "gender",
    "email",
    "phone",
    "address",
    "city",
    "state",
    "country",
    "region",
    "url",
    "description",
    "comment",
    "text",
    "content",
    "status",
    "code",
    "number",
    "target",
];

/// Whether `name` is, or ends in, a word that names columns of properties and not of ids.
#[must_use]
pub fn names_property(name: &str) -> bool {
    let words = words_of(name);
    words.last().is_some_and(|word| PROPERTY_WORDS.contains(&word.as_str()))
}

/// What programs write for no value.
const NO_VALUES: [&str; 9] = [NULL_MARK, "NULL", "null", "NA", "N/A", "NaN", "nan", "None", "-"];

/// What one column says of the first line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Vote {
    /// Its field is of no type that the others have.
    Contrast,
    /// Its field is a word that names columns.
    Word,
    /// Its field is written as none of the others.
    OtherShape,
    /// Its field is of the type that the others have, and that isn't text.
    SameType,
    /// Its field stands among the others again.
    Again,
    /// Its field is a value among texts.
    Value,
    /// Nothing.
    None,
}

impl FirstRow {
    /// What the first line of `sample` is.
    #[must_use]
    pub fn of(sample: &Sample) -> Self {
        let votes: Vec<Vote> = (0..sample.first.len())
            .map(|column| vote(&sample.first[column], column, &sample.columns))
            .collect();
        let has = |wanted: Vote| votes.contains(&wanted);
        let certain = |is_header| Self { is_header, is_certain: true };
        let guess = |is_header| Self { is_header, is_certain: false };
        match () {
            () if has(Vote::Contrast) => certain(true),
            // A table of years, or a row that begins with a word as columns are called.
            () if has(Vote::SameType) && has(Vote::Word) => guess(true),
            () if has(Vote::SameType) => certain(false),
            () if has(Vote::Word) && !has(Vote::Again) => certain(true),
            () if has(Vote::Again) && !has(Vote::Word) => certain(false),
            () if has(Vote::Again) => guess(false),
            () if has(Vote::Value) => guess(false),
            // A file of one line: somebody wrote a header, and no rows yet.
            () if sample.rows == 0 => guess(!sample.first.iter().any(|text| is_value(text))),
            () => guess(has(Vote::OtherShape)),
        }
    }
}

/// What the field `text` of the first line says, given what all columns look like in the rows behind it.
fn vote(text: &str, column: usize, columns: &[ColumnSample]) -> Vote {
    let name = name_of(text);
    let sample = &columns[column];
    // A row may lack a value.
    if text.trim().is_empty() || NO_VALUES.contains(&text.trim()) {
        return Vote::None;
    }
    let is_word = words_of(name).iter().any(|word| COLUMN_WORDS.contains(&word.as_str()));
    // Kansas City is a name, and Airport Name is one of a column if airports are written otherwise.
    let is_word = is_word && (!name.contains(' ') || sample.shapes & shape_of(name) == 0);
    let is_value = is_value(text);
    match sample.typed() {
        Some(_) if !is_value => Vote::Contrast,
        Some(_) if !fits(text, sample) => Vote::None,
        Some(_) => Vote::SameType,
        // Texts of two columns may be of one kind, as in lists of edges.
        None if is_again(text, column, columns) => Vote::Again,
        None if is_word && !is_value => Vote::Word,
        None if is_value => Vote::Value,
        None if sample.filled > 0 && sample.shapes & shape_of(name) == 0 => Vote::OtherShape,
        None => Vote::None,
    }
}

/// Whether `text` is of the type that the values of `sample` have, or both are numbers.
fn fits(text: &str, sample: &ColumnSample) -> bool {
    let is_number = |of: ValueType| matches!(of, ValueType::I64 | ValueType::F64 | ValueType::BigInteger);
    let found = narrowest_type(text);
    sample.value_type.is_some_and(|of| of == found || (is_number(of) && is_number(found)))
}

fn is_again(text: &str, column: usize, columns: &[ColumnSample]) -> bool {
    let is_among = |(at, other): (usize, &ColumnSample)| {
        (at == column || (other.is_text() && columns[column].is_text())) && other.has(text)
    };
    columns.iter().enumerate().any(is_among)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::bytes::input::Input;
    use crate::import::csv::records::CsvFormat;

    fn first_row(text: &str) -> (bool, bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, text).unwrap();
        let format = CsvFormat { delimiter: b',', quote: Some(b'"'), escape: None, comment: None };
        let sample = Sample::of(&Input::new(&path).unwrap(), format).unwrap().unwrap();
        let FirstRow { is_header, is_certain } = FirstRow::of(&sample);
        (is_header, is_certain)
    }

    #[test]
    fn a_header_is_told_from_a_row() {
        const HEADER: (bool, bool) = (true, true);
        const DATA: (bool, bool) = (false, true);
        for (text, expected) in [
            ("name,born\nAda,1815\n", HEADER),
            ("Adam,30\nKarissa,40\n", DATA),
            ("Adam,Waterloo\nKarissa,Waterloo\nZhang,Kitchener\n", DATA),
            ("Tom,knows,Bill\nBill,knows,Allie\n", DATA),
            ("name,city\nAdam,Waterloo\nZhang,Guelph\n", HEADER),
            ("id,2019,2020\na,1,2\n", (true, false)),
            ("Kansas City,508\nNew York,8804\n", DATA),
            ("pid,2019,2020\n7,1,2\n", HEADER),
            (",source,target\n0,a,b\n1,b,c\n", HEADER),
            ("1,Ada,NA\n2,Eve,1900-01-01\n", DATA),
            ("1,2,0.5\n2,3,0.7\n", DATA),
            ("7,Ada,2020-01-01\n8,Mary,\n", DATA),
            ("id:ID,x\n1,2\n", HEADER),
        ] {
            assert_eq!(first_row(text), expected, "{text}");
        }
    }

    #[test]
    fn where_nothing_shows_it_is_a_guess_by_how_words_are_written() {
        for (text, is_header) in [
            ("Adam,Waterloo\nEve,Toronto\n", false),
            ("town,river\nRome,Tiber\nParis,Seine\n", true),
            ("Claim,Patient\nc0,p1\nc1,p7\n", true),
            ("C41D11.8,AH9.2\nCD4.2,AC1.3\n", false),
            ("knot,wire\n", true),
        ] {
            assert_eq!(first_row(text), (is_header, false), "{text}");
        }
    }
}
