//! Labels: the vertices that edges may join, by names of files and columns and by ids.
//!
//! ```text
//! user.csv   Adam,30     lives-in.csv   Adam,Waterloo     Adam is a user, Waterloo a city:
//! city.csv   Waterloo,..                 │        │       nobody else has these ids
//! ```

use crate::import::recognise::columns::{is_called, stem_of_key};
use crate::import::recognise::end_names::words_of;
use crate::import::recognise::sample::ColumnSample;
use std::sync::Arc;

/// A label whose vertices come from some file or are in the database, and the space of their ids.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KnownLabel {
    /// The label.
    pub label: String,
    /// Its id space.
    pub space: String,
    /// What the file calls the ids.
    pub id_name: Option<String>,
    /// The ids, if all of them were looked at.
    pub ids: Option<Arc<ColumnSample>>,
}

/// All labels whose vertices edges may join.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KnownLabels {
    /// Those of files that are imported.
    pub of_files: Vec<KnownLabel>,
    /// Those of the database.
    pub of_database: Vec<KnownLabel>,
}

impl KnownLabel {
    /// The label `label`, whose ids are in the space of its name.
    #[must_use]
    pub fn new(label: impl Into<String>) -> Self {
        let label = label.into();
        Self { space: label.clone(), label, id_name: None, ids: None }
    }

    /// Whether a column called `name` has ids of its vertices: it is called after the label, or as their own
    /// column of ids is.
    #[must_use]
    pub fn is_named_by(&self, name: &str) -> bool {
        let is_own = |own: &String| own.eq_ignore_ascii_case(name) && words_of(own).len() > 1;
        let is_word = |own: &String| own.eq_ignore_ascii_case(name) && !is_common(own);
        is_called(name, &self.label) || self.id_name.as_ref().is_some_and(|own| is_own(own) || is_word(own))
    }

    /// Whether columns of ids of `subject`, such as `airport` or `tx`, have those of its vertices.
    #[must_use]
    fn is_about(&self, subject: &str) -> bool {
        let without_id = |own: &String| {
            let words = words_of(own);
            let words: Vec<String> = words.into_iter().filter(|word| word != "id").collect();
            !words.is_empty() && words.join("_") == subject
        };
        is_called(subject, &self.label) || self.id_name.as_ref().is_some_and(without_id)
    }

    /// Whether all values of `column` are ids of its vertices.
    #[must_use]
    pub fn has_all(&self, column: &ColumnSample) -> bool {
        let ids = self.ids.as_ref().filter(|_| column.filled > 0);
        ids.is_some_and(|ids| column.values.is_subset(&ids.values))
    }
}

impl KnownLabels {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// All of them, those of files first.
    pub fn all(&self) -> impl Iterator<Item = &KnownLabel> {
        self.of_files.iter().chain(&self.of_database)
    }

    /// The one that a column called `name` has ids of.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&KnownLabel> {
        let stem = stem_of_key(name).unwrap_or(name);
        let exact = self.all().find(|known| known.label.eq_ignore_ascii_case(stem));
        exact.or_else(|| self.all().find(|known| known.is_named_by(name)))
    }

    /// The one that columns of ids of `subject` have ids of.
    #[must_use]
    pub fn about(&self, subject: &str) -> Option<&KnownLabel> {
        self.all().find(|known| known.is_about(subject))
    }

    /// The one whose ids all values of `column` are, if it is only one.
    #[must_use]
    pub fn having(&self, column: &ColumnSample) -> Option<&KnownLabel> {
        let mut having = self.of_files.iter().filter(|known| known.has_all(column));
        having.next().filter(|_| having.next().is_none())
    }

    /// The one that is meant where nothing says which: the only one of the files, or if these have none, of
    /// the database.
    #[must_use]
    pub fn only(&self) -> Option<&KnownLabel> {
        match (&self.of_files[..], &self.of_database[..]) {
            ([only], _) | ([], [only]) => Some(only),
            _ => None,
        }
    }
}

/// Whether files of many kinds call their ids `name`.
fn is_common(name: &str) -> bool {
    ["id", "_id", "~id", "name", "label", "key", "code", "title"]
        .contains(&name.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_name_labels_by_the_label_or_by_what_its_ids_are_called() {
        let known = |label: &str, id_name: &str| KnownLabel {
            id_name: Some(id_name.to_owned()),
            ..KnownLabel::new(label)
        };
        assert!(known("persons", "id").is_named_by("person_id"));
        assert!(known("title.basics", "tconst").is_named_by("tconst"));
        assert!(known("elliptic_txs_classes", "txId").is_about("tx"));
        assert!(!known("a", "id").is_named_by("id") && !known("a", "name").is_named_by("name"));
    }
}
