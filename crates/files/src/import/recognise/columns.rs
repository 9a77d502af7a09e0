//! Columns: the names and samples of a file's columns, with a header or without.
//!
//! ```text
//! ,source,target,Amount (USD),      the first one counts rows: pandas writes its index so
//! 0,a,b,17.5,                       a name that holds what ends one in headers stands in quotes
//!                                   a last one without name and values is left out
//! ```
//!
//! Words of ours take the place of those of a file where these can't be keys: without a name, there twice,
//! or with characters that mean something in a header.

use crate::import::csv::header::check_word;
use crate::import::csv::quoted_name;
use crate::import::mapping::words::name_of;
use crate::import::recognise::end_names::words_of;
use crate::import::recognise::first_row::FirstRow;
use crate::import::recognise::sample::{ColumnSample, Sample};
use evergraph_graph::value::ValueType;
use std::collections::HashSet;

/// A column that is left out.
const IGNORED: &str = ":IGNORE";

/// What pandas calls an index that it wrote and read again, and what it calls one in Parquet.
const INDEX_NAMES: [&str; 2] = ["Unnamed: 0", "__index_level_0__"];

/// The columns of a file that doesn't say what they hold.
#[derive(Debug)]
pub struct PlainColumns {
    /// The words of a header, as the file will be read.
    pub words: Vec<String>,
    /// What people call them: as the file does, or `c1`, `c2`, ...
    pub names: Vec<String>,
    /// What they look like.
    pub samples: Vec<ColumnSample>,
    /// Rows that were looked at.
    pub rows: usize,
    /// Whether the first line of the file names them.
    pub has_header: bool,
    /// Whether somebody does: the first line, or a comment before it.
    pub has_names: bool,
    /// Whether it is no guess that the first line does, or doesn't.
    pub is_certain: bool,
    /// Whether the words are those of the file's first line.
    pub is_as_in_file: bool,
    /// The column that counts rows.
    pub row_numbers: Option<usize>,
}

impl PlainColumns {
    /// Those of a text that begins with `sample`, whose first line is what `first_row` says. `names` are those
    /// that a comment has.
    #[must_use]
    pub fn of_text(sample: &Sample, first_row: FirstRow, names: Option<&[String]>) -> Self {
        let FirstRow { is_header, is_certain } = first_row;
        let samples = if is_header { &sample.columns } else { &sample.columns_with_first };
        let rows = sample.rows + usize::from(!is_header);
        let given = if is_header { Some(sample.first.as_slice()) } else { names };
        let mut columns = Self {
            words: Vec::with_capacity(samples.len()),
            names: Vec::with_capacity(samples.len()),
            samples: samples.clone(),
            rows,
            has_header: is_header,
            has_names: given.is_some(),
            is_certain,
            is_as_in_file: is_header,
            row_numbers: None,
        };
        let mut taken = HashSet::new();
        for column in 0..samples.len() {
            let text = given.map_or("", |given| given[column].trim());
            let (word, name) = columns.name(column, text);
            let (word, name) = unlike(word, name, &taken);
            taken.insert(name_of(&word).to_owned());
            columns.is_as_in_file &= word == text;
            columns.words.push(word);
            columns.names.push(name);
        }
        columns
    }

    /// Those of a Parquet file, whose names count as they stand.
    #[must_use]
    pub fn of_schema(sample: &Sample) -> Self {
        let is_index = |name: &String| INDEX_NAMES.contains(&name.as_str());
        Self {
            words: sample.first.clone(),
            names: sample.first.clone(),
            samples: sample.columns.clone(),
            rows: sample.rows,
            has_header: true,
            has_names: true,
            is_certain: true,
            is_as_in_file: true,
            row_numbers: sample.first.iter().position(is_index).filter(|at| {
                let sample = &sample.columns[*at];
                sample.is_key && sample.may_be_id() && !sample.is_text()
            }),
        }
    }

    /// How many.
    #[must_use]
    pub fn width(&self) -> usize {
        self.words.len()
    }

    /// The columns that hold something of the graph, from left to right.
    pub fn used(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.width()).filter(|column| self.words[*column] != IGNORED && self.row_numbers != Some(*column))
    }

    /// The name that rules know `column` by.
    #[must_use]
    pub fn key(&self, column: usize) -> &str {
        name_of(&self.words[column])
    }

    /// Columns of maps whose values become properties: of files without names, as NetworkX writes them.
    pub fn attribute_columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.used().filter(|column| !self.has_names && !self.samples[*column].attributes.is_empty())
    }

    /// The word that says so of `column`.
    #[must_use]
    pub fn attributes_word(&self, column: usize) -> String {
        let attributes = self.samples[column].attributes.iter();
        let words = attributes.map(|(key, of)| format!("{}:{}", quoted_name::write(key), of.name()));
        format!(":ATTRIBUTES{{{}}}", words.collect::<Vec<_>>().join(","))
    }

    /// The column that is an id by its name, `id` or after `stem`.
    #[must_use]
    pub fn id_column(&self, stem: &str) -> Option<usize> {
        if !self.has_names {
            return None;
        }
        let is_id = |name: &str| matches!(name.to_ascii_lowercase().as_str(), "id" | "_id" | "~id");
        let by_name = self.used().find(|column| is_id(self.key(*column)));
        by_name.or_else(|| {
            self.used().find(|column| {
                let name = self.key(*column);
                stem_of_key(name).is_some() && is_called(name, stem)
            })
        })
    }

    /// The first column, if every row has another value in it.
    #[must_use]
    pub fn first_key(&self) -> Option<usize> {
        self.used().next().filter(|first| self.samples[*first].is_key)
    }

    /// The word and the name of `column`, which the file calls `text`.
    fn name(&mut self, column: usize, text: &str) -> (String, String) {
        let sample = &self.samples[column];
        // What NetworkX writes of an edge without attributes.
        if !self.has_names && sample.values.len() == 1 && sample.has("{}") {
            return (IGNORED.to_owned(), format!("c{}", column + 1));
        }
        if !self.has_names {
            let name = format!("c{}", column + 1);
            return (name.clone(), name);
        }
        let is_nameless = text.is_empty() || (column == 0 && INDEX_NAMES.contains(&text));
        match () {
            () if !is_nameless && check_word(text).is_ok() => (text.to_owned(), name_of(text).to_owned()),
            () if !is_nameless => (quoted_name::write(text).into_owned(), text.to_owned()),
            () if column == 0 && counts_rows(sample) => {
                self.row_numbers = Some(column);
                (IGNORED.to_owned(), text.to_owned())
            }
            () if sample.filled == 0 => (IGNORED.to_owned(), text.to_owned()),
            // R writes the names of rows so.
            () if column == 0 => ("id".to_owned(), "id".to_owned()),
            () => {
                let name = format!("c{}", column + 1);
                (name.clone(), name)
            }
        }
    }
}

/// `word` and `name`, with a number behind if the word is `taken`.
fn unlike(word: String, name: String, taken: &HashSet<String>) -> (String, String) {
    let key = name_of(&word);
    if word == IGNORED || !taken.contains(key) {
        return (word, name);
    }
    let other = (2..)
        .map(|number| format!("{name}_{number}"))
        .find(|other| !taken.contains(quoted_name::write(other).as_ref()))
        .expect("numbers don't end before names");
    (quoted_name::write(&other).into_owned(), other)
}

/// Whether the values are 0, 1, 2, ... or 1, 2, 3, ..., as far as that shows.
fn counts_rows(sample: &ColumnSample) -> bool {
    let last = sample.filled.to_string();
    let last_but_one = (sample.filled.max(1) - 1).to_string();
    sample.value_type == Some(ValueType::I64)
        && sample.is_key
        && ((sample.has("0") && sample.has(&last_but_one)) || (sample.has("1") && sample.has(&last)))
}

/// `person` of `person_id`, `Person.id`, `personId`.
#[must_use]
pub fn stem_of_key(name: &str) -> Option<&str> {
    let stem =
        ["_id", ".id", "-id", " id", "Id", "ID"].iter().find_map(|ending| name.strip_suffix(ending))?;
    let stem = stem.trim_end_matches([' ', '_', '-', '.']);
    (!stem.is_empty()).then_some(stem)
}

/// Whether a column or word `name` is called after `label`, in any case and number.
#[must_use]
pub fn is_called(name: &str, label: &str) -> bool {
    let plain = |text: &str| {
        let text: String = text.chars().filter(|letter| letter.is_alphanumeric()).collect();
        let text = text.to_lowercase();
        match text.strip_suffix("ies") {
            Some(text) => format!("{text}y"),
            None => text.strip_suffix('s').map_or(text.clone(), ToOwned::to_owned),
        }
    };
    let label = plain(label);
    plain(name) == label || stem_of_key(name).is_some_and(|stem| plain(stem) == label)
}

/// Whether words of a file's name are among `wanted`.
#[must_use]
pub fn stem_has(stem: &str, wanted: &[&str]) -> bool {
    words_of(stem).iter().any(|word| wanted.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::bytes::input::Input;
    use crate::import::csv::records::CsvFormat;

    fn columns(text: &str) -> PlainColumns {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, text).unwrap();
        let format = CsvFormat { delimiter: b',', quote: Some(b'"'), escape: None, comment: None };
        let sample = Sample::of(&Input::new(&path).unwrap(), format).unwrap().unwrap();
        PlainColumns::of_text(&sample, FirstRow::of(&sample), None)
    }

    #[test]
    fn columns_without_names_are_row_numbers_ids_or_nothing() {
        let pandas = columns(",source,target,\n0,a,b,\n1,b,c,\n");
        assert_eq!(pandas.words, [":IGNORE", "source", "target", ":IGNORE"]);
        assert_eq!((pandas.row_numbers, pandas.used().collect::<Vec<_>>()), (Some(0), vec![1, 2]));
        assert_eq!(columns("Unnamed: 0,name\n0,a\n1,b\n").words, [":IGNORE", "name"]);
        let r = columns("\"\",weight,\n\"Ada\",6,x\n\"Mary\",4,y\n");
        assert_eq!((r.words.join(" ").as_str(), r.row_numbers), ("id weight c3", None));
    }

    #[test]
    fn names_that_are_there_twice_or_hold_marks_of_headers_get_words_of_their_own() {
        let columns = columns("Account,Account,at: start,Amount (USD),born:int\nx,y,z,1.5,7\n");
        let price = quoted_name::write("Amount (USD)").into_owned();
        assert_eq!(columns.words[..2], ["Account", "Account_2"]);
        assert_eq!((columns.words[3].as_str(), columns.names[3].as_str()), (price.as_str(), "Amount (USD)"));
        assert_eq!((columns.key(4), columns.words[4].as_str()), ("born", "born:int"));
        assert!(columns.words.iter().all(|word| check_word(word).is_ok()));
    }

    #[test]
    fn names_are_called_after_labels_in_any_number() {
        for (name, label) in [("person_id", "persons"), ("categoryID", "categories"), ("City", "city")] {
            assert!(is_called(name, label), "{name}");
        }
        assert!(!is_called("person_id", "city"));
    }
}
