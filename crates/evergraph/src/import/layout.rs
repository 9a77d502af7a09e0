//! Layout: the files of LDBC's social network generator, known by their names.
//!
//! ```text
//! person_0_0.csv                 id|firstName|...             vertices of label Person
//! person_knows_person_0_0.csv    Person.id|Person.id|...      edges of type KNOWS, Person to Person
//! ```
//!
//! Their first line has names and no types, `|` between fields and no quoting. A header with types
//! takes its place; labels and edge types are named as in LDBC's own Cypher implementation.
//!
//! Source: LDBC SNB Interactive v1, "CsvCompositeMergeForeign / CsvBasic" of the data generator
//! (dates as milliseconds since 1970).

use crate::import::source::unpacked_name;
use std::path::Path;

/// How to read one of the generator's files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LdbcFile {
    /// The label of its vertices or the type of its edges.
    pub name: String,
    /// The header that takes the place of its first line.
    pub header: String,
}

/// Recognises a file of the generator by its name and its first line; `None` for any other.
#[must_use]
pub fn recognise(path: &Path, first_line: &str) -> Option<LdbcFile> {
    let file_name = path.file_name()?.to_str()?;
    let stem = unpacked_name(file_name).strip_suffix(".csv")?;
    let words: Vec<&str> = stem.split('_').collect();
    let (name, numbers) = words.split_at_checked(words.len().checked_sub(2)?)?;
    let is_number = |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    if !numbers.iter().all(is_number) || name.contains(&"") || first_line.contains(':') {
        return None;
    }
    let columns: Vec<&str> = first_line.split('|').collect();
    match (name, columns.as_slice()) {
        ([vertex], ["id", properties @ ..]) => {
            let label = label_of(vertex);
            let id = format!("id:ID({label}){{id-type:long}}");
            Some(LdbcFile { header: join(vec![id], &label, properties), name: label })
        }
        ([_, edge, _], [source, target, properties @ ..]) => {
            let start = format!(":START_ID({})", source.strip_suffix(".id")?);
            let end = format!(":END_ID({})", target.strip_suffix(".id")?);
            Some(LdbcFile { header: join(vec![start, end], edge, properties), name: upper_snake(edge) })
        }
        _ => None,
    }
}

fn join(mut header: Vec<String>, of: &str, properties: &[&str]) -> String {
    header.extend(properties.iter().map(|key| format!("{key}{}", type_of(of, key))));
    header.join("|")
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

fn label_of(word: &str) -> String {
    if word == "tagclass" {
        return "TagClass".to_owned();
    }
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// `hasCreator` as `HAS_CREATOR`.
fn upper_snake(word: &str) -> String {
    let mut snake = String::with_capacity(word.len() + 4);
    for letter in word.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_uppercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, first_line: &str) -> Option<(String, String)> {
        recognise(Path::new(path), first_line).map(|file| (file.name, file.header))
    }

    #[test]
    fn files_of_vertices_and_of_edges_are_recognised() {
        let (name, header) = read("graph/tagclass_0_0.csv.gz", "id|name|url").unwrap();
        assert_eq!(
            (name.as_str(), header.as_str()),
            ("TagClass", "id:ID(TagClass){id-type:long}|name:string|url:string")
        );
        let (_, header) = read("person_0_0.csv", "id|birthday|creationDate|language").unwrap();
        assert_eq!(
            header,
            "id:ID(Person){id-type:long}|birthday:date{epoch:milliseconds}|\
             creationDate:datetime{epoch:milliseconds}|language:string[]"
        );
        let (name, header) =
            read("person_workAt_organisation_12_0.csv", "Person.id|Organisation.id|workFrom").unwrap();
        assert_eq!(
            (name.as_str(), header.as_str()),
            ("WORK_AT", ":START_ID(Person)|:END_ID(Organisation)|workFrom:int")
        );
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
