//! LDBC: the files of LDBC's social network generator, known by their names.
//!
//! ```text
//! person_0_0.csv                 id|firstName|...             vertices of label Person
//! person_knows_person_0_0.csv    Person.id|Person.id|...      edges of type KNOWS, Person to Person
//! Person_knows_Person.csv        :START_ID(Person)|...        the same, projected foreign keys (LSQB)
//! ```
//!
//! Their first line has names and no types, `|` between fields and no quoting. A header with types
//! takes its place; labels and edge types are named as in LDBC's own Cypher implementation. `knows`
//! has no direction: it is stored once.
//!
//! Source: LDBC SNB Interactive v1, "CsvCompositeMergeForeign / CsvBasic" of the data generator
//! (dates as milliseconds since 1970); LSQB, "projected foreign keys".

use crate::import::bytes::source::unpacked_name;
use crate::import::mapping::rule::{FileFormat, FileRule};
use std::path::Path;

/// How a file of the generator is read, known by its name and its first line; `None` for any other.
#[must_use]
pub fn recognise(path: &Path, first_line: &str) -> Option<FileRule> {
    let file_name = path.file_name()?.to_str()?;
    let stem = unpacked_name(file_name).strip_suffix(".csv")?;
    let words: Vec<&str> = stem.split('_').collect();
    let (name, numbers) = words.split_at_checked(words.len().checked_sub(2)?)?;
    let is_number = |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    if !numbers.iter().all(is_number) || name.contains(&"") || first_line.contains(':') {
        return None;
    }
    let columns: Vec<&str> = first_line.split('|').collect();
    let rule = FileRule { delimiter: Some(b'|'), quote: Some(None), ..FileRule::new(FileFormat::Csv) };
    match (name, columns.as_slice()) {
        ([vertex], ["id", properties @ ..]) => {
            let label = label_of(vertex);
            let id = format!("id:ID({label}){{id-type:long}}");
            Some(FileRule { columns: Some(join(vec![id], &label, properties)), label: Some(label), ..rule })
        }
        ([_, edge, _], [source, target, properties @ ..]) => {
            let start = format!(":START_ID({}){{id-type:long}}", source.strip_suffix(".id")?);
            let end = format!(":END_ID({}){{id-type:long}}", target.strip_suffix(".id")?);
            let columns = Some(join(vec![start, end], edge, properties));
            Some(FileRule {
                columns,
                edge_type: Some(edge_type_of(edge)),
                undirected: *edge == "knows" && source == target,
                ..rule
            })
        }
        _ => None,
    }
}

/// The parts of a name as `Person_knows_Person`: source, edge type in capitals, target.
#[must_use]
pub fn type_in_name(stem: &str) -> Option<(String, String, String)> {
    let words: Vec<&str> = stem.split('_').collect();
    let [source, edge, target] = words[..] else { return None };
    let all_there = !source.is_empty() && !edge.is_empty() && !target.is_empty();
    all_there.then(|| (source.to_owned(), edge_type_of(edge), target.to_owned()))
}

/// The label for a word of a file's name: `Person` for `person`, `TagClass` for `tagclass`.
#[must_use]
pub fn label_of(word: &str) -> String {
    if word == "tagclass" {
        return "TagClass".to_owned();
    }
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// The edge type for a word of a file's name: `HAS_CREATOR` for `hasCreator`.
#[must_use]
pub fn edge_type_of(word: &str) -> String {
    let mut snake = String::with_capacity(word.len() + 4);
    for letter in word.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_uppercase());
    }
    snake
}

fn join(mut header: Vec<String>, of: &str, properties: &[&str]) -> Vec<String> {
    header.extend(properties.iter().map(|key| format!("{key}{}", type_of(of, key))));
    header
}

fn type_of(of: &str, key: &str) -> &'static str {
    match (of, key) {
        ("Person", "language" | "email") => ":string[]",
        (_, "creationDate" | "joinDate") => ":datetime{epoch:milliseconds}",
        (_, "birthday") => ":date{epoch:milliseconds}",
        (_, "length" | "classYear" | "workFrom") => ":int",
        _ => ":string",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, first_line: &str) -> Option<FileRule> {
        recognise(Path::new(path), first_line)
    }

    #[test]
    fn files_of_vertices_and_of_edges_are_recognised() {
        let rule = read("graph/tagclass_0_0.csv.gz", "id|name|url").unwrap();
        assert_eq!(
            (rule.label.as_deref(), rule.delimiter, rule.quote),
            (Some("TagClass"), Some(b'|'), Some(None))
        );
        assert_eq!(rule.columns.unwrap(), ["id:ID(TagClass){id-type:long}", "name:string", "url:string"]);
        let rule = read("person_0_0.csv", "id|birthday|creationDate|language").unwrap();
        assert_eq!(
            rule.columns.unwrap(),
            [
                "id:ID(Person){id-type:long}",
                "birthday:date{epoch:milliseconds}",
                "creationDate:datetime{epoch:milliseconds}",
                "language:string[]"
            ]
        );
        let rule = read("person_workAt_organisation_12_0.csv", "Person.id|Organisation.id|workFrom").unwrap();
        assert_eq!((rule.edge_type.as_deref(), rule.undirected), (Some("WORK_AT"), false));
        assert_eq!(
            rule.columns.unwrap(),
            [":START_ID(Person){id-type:long}", ":END_ID(Organisation){id-type:long}", "workFrom:int"]
        );
        assert!(read("person_knows_person_0_0.csv.zst", "Person.id|Person.id").unwrap().undirected);
    }

    #[test]
    fn names_of_three_words_tell_type_and_labels() {
        let parts =
            |(source, edge, target): (&str, &str, &str)| Some((source.into(), edge.into(), target.into()));
        assert_eq!(type_in_name("City_isPartOf_Country"), parts(("City", "IS_PART_OF", "Country")));
        assert_eq!(type_in_name("knows"), None);
        assert_eq!(type_in_name("a__b"), None);
    }

    #[test]
    fn other_files_are_left_to_their_own_headers() {
        assert_eq!(read("person.csv", "id|name"), None);
        assert_eq!(read("person_0_0.csv", "id:ID|name"), None);
        assert_eq!(read("person_0_0.csv", "name|id"), None);
        assert_eq!(read("a_b_c_d_0_0.csv", "A.id|D.id"), None);
        assert_eq!(read("person_knows_person_0_0.csv", "from|to"), None);
        assert_eq!(read("_0_0.csv", "id"), None);
    }
}
