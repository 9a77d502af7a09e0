//! Words: the words of a CSV file's header, with the changes that its rule makes.
//!
//! ```text
//! first line    pid    name   born        or `columns` of the rule
//! rule          id     -      type int    ignore -
//! header        pid:ID(Person)   name   born:int
//! ```
//!
//! So there is one language for what columns hold, that of headers, and one place that reads it.

use crate::import::id_options::ON_UNKNOWN_CREATE;
use crate::import::mapping::rule::{ColumnName, EndColumn, FileRule};
use std::collections::HashMap;

/// The header that `rule` makes of `words`.
///
/// # Errors
/// Names the key of the rule, the column that isn't there, and those that are.
pub fn header_words(words: &[String], rule: &FileRule) -> Result<Vec<String>, String> {
    let mut header = words.to_vec();
    // A guess states a type for every column of a file, which may have very many.
    let places: HashMap<&str, usize> = match rule.types.is_empty() {
        true => HashMap::new(),
        false => words.iter().enumerate().map(|(at, word)| (name_of(word), at)).collect(),
    };
    let is_unique = places.len() == words.len();
    for (name, value_type) in &rule.types {
        let at = match places.get(name.as_str()) {
            Some(at) if is_unique => *at,
            _ => find(words, &ColumnName::Name(name.clone())).map_err(|why| format!("types: {why}"))?,
        };
        header[at] = format!("{}:{value_type}", name_of(&words[at]));
    }
    // The key that names a column, which can't be two things.
    let mut taken: Vec<Option<&str>> = vec![None; words.len()];
    for column in &rule.ignore {
        let at = find(words, column).map_err(|why| format!("ignore: {why}"))?;
        ":IGNORE".clone_into(&mut header[at]);
        taken[at] = Some("ignore");
    }
    let ends = [("id", &rule.id, "ID"), ("start", &rule.start, "START_ID"), ("end", &rule.end, "END_ID")];
    for (key, end, role) in ends {
        let Some(EndColumn { column, space, id_type, creates }) = end else { continue };
        let at = find(words, column).map_err(|why| format!("{key}: {why}"))?;
        if let Some(other) = taken[at].replace(key) {
            let name = name_of(&words[at]);
            return Err(format!("{key}: column {} ({name}) is named by {other} as well", at + 1));
        }
        let space = match (space, role) {
            (Some(space), _) => space.as_str(),
            // An id is unique in its label where nobody says more.
            (None, "ID") => rule.label.as_deref().unwrap_or_default(),
            (None, _) => "",
        };
        let mut word = format!(":{role}");
        if !space.is_empty() {
            word += &format!("({space})");
        }
        let id_type =
            id_type.as_deref().or_else(|| type_of(&header[at]).filter(|_| !is_role_word(&header[at])));
        let id_type = id_type.map(|id_type| format!("id-type:{id_type}"));
        let creates = creates.then(|| format!("on-unknown:{ON_UNKNOWN_CREATE}"));
        let options: Vec<String> = id_type.into_iter().chain(creates).collect();
        if !options.is_empty() {
            word += &format!("{{{}}}", options.join(","));
        }
        header[at] = if role == "ID" { format!("{}{word}", name_of(&words[at])) } else { word };
    }
    Ok(header)
}

/// The name in a word of a header: what stands before `:`, brackets and braces.
#[must_use]
pub fn name_of(word: &str) -> &str {
    let word = word.split_once(['{', '(']).map_or(word, |(before, _)| before);
    word.rsplit_once(':').map_or(word, |(name, _)| name).trim()
}

/// Whether `word` is one of a header in Neo4j's conventions, and not just a name with a type.
#[must_use]
pub fn is_role_word(word: &str) -> bool {
    let kind = word.split_once(['(', '{']).map_or(word, |(kind, _)| kind);
    let kind = kind.rsplit_once(':').map_or("", |(_, kind)| kind.trim()).to_ascii_uppercase();
    matches!(kind.as_str(), "ID" | "START_ID" | "END_ID" | "LABEL" | "TYPE")
}

/// The type in a word of a header, if it has one, without brackets and braces.
fn type_of(word: &str) -> Option<&str> {
    let word = word.split_once(['{', '(']).map_or(word, |(before, _)| before);
    word.rsplit_once(':').map(|(_, value_type)| value_type.trim())
}

/// The index of `column` among `words`.
fn find(words: &[String], column: &ColumnName) -> Result<usize, String> {
    match column {
        ColumnName::Number(number) if (1..=words.len()).contains(number) => Ok(number - 1),
        ColumnName::Number(number) => {
            Err(format!("there is no column {number}; there are {}, counted from 1", words.len()))
        }
        ColumnName::Name(name) => {
            let mut found = words.iter().enumerate().filter(|(_, word)| name_of(word) == name);
            match (found.next(), found.next()) {
                (Some((at, _)), None) => Ok(at),
                (Some((one, _)), Some((other, _))) => Err(format!(
                    "columns {} and {} are both called {name:?}: name one by its number",
                    one + 1,
                    other + 1
                )),
                (None, _) => {
                    let names: Vec<&str> = words.iter().map(|word| name_of(word)).collect();
                    Err(format!("there is no column {name:?}; there are {}", names.join(", ")))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::mapping::rule::FileFormat;

    fn words(text: &str) -> Vec<String> {
        text.split(',').map(ToOwned::to_owned).collect()
    }

    fn column(name: &str) -> ColumnName {
        ColumnName::Name(name.to_owned())
    }

    fn rule() -> FileRule {
        FileRule::new(FileFormat::Csv)
    }

    #[test]
    fn a_rule_without_columns_leaves_the_header_as_it_is() {
        assert_eq!(header_words(&words("id:ID,name"), &rule()).unwrap(), ["id:ID", "name"]);
    }

    #[test]
    fn what_a_rule_says_of_columns_becomes_words_of_the_header() {
        let mut people = FileRule { label: Some("Person".to_owned()), ..rule() };
        people.id = Some(EndColumn::new(column("pid")));
        people.types.insert("born".to_owned(), "date{epoch:seconds}".to_owned());
        people.ignore = vec![ColumnName::Number(4)];
        assert_eq!(
            header_words(&words("pid:long,name,born,x"), &people).unwrap(),
            ["pid:ID(Person){id-type:long}", "name", "born:date{epoch:seconds}", ":IGNORE"]
        );
        let mut knows = rule();
        let end = |number| EndColumn {
            space: Some("Person".to_owned()),
            id_type: Some("long".to_owned()),
            ..EndColumn::new(ColumnName::Number(number))
        };
        let target = EndColumn { creates: true, ..EndColumn::new(ColumnName::Number(2)) };
        (knows.start, knows.end) = (Some(end(1)), Some(target));
        assert_eq!(
            header_words(&words("Person.id,Person.id,since"), &knows).unwrap(),
            [":START_ID(Person){id-type:long}", ":END_ID{on-unknown:create}", "since"]
        );
    }

    #[test]
    fn a_column_is_one_thing() {
        let mut people = FileRule { id: Some(EndColumn::new(column("pid"))), ..rule() };
        assert_eq!(header_words(&words("pid:ID(P),name"), &people).unwrap(), ["pid:ID", "name"]);
        people.ignore = vec![ColumnName::Number(1)];
        let error = header_words(&words("pid,name"), &people).unwrap_err();
        assert_eq!(error, "id: column 1 (pid) is named by ignore as well");
        people.ignore.clear();
        people.start = Some(EndColumn::new(column("pid")));
        let error = header_words(&words("pid,name"), &people).unwrap_err();
        assert_eq!(error, "start: column 1 (pid) is named by id as well");
    }

    #[test]
    fn a_column_that_is_not_there_is_named_with_those_that_are() {
        let mut people = rule();
        people.id = Some(EndColumn::new(column("pid")));
        let error = header_words(&words("id:int,name"), &people).unwrap_err();
        assert_eq!(error, "id: there is no column \"pid\"; there are id, name");
        let error = header_words(&words("pid,pid"), &people).unwrap_err();
        assert_eq!(error, "id: columns 1 and 2 are both called \"pid\": name one by its number");
        people.id = None;
        people.ignore = vec![ColumnName::Number(3)];
        let error = header_words(&words("pid,pid"), &people).unwrap_err();
        assert_eq!(error, "ignore: there is no column 3; there are 2, counted from 1");
    }
}
