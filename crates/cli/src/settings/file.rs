//! Files of settings: which are read, and what each says where.
//!
//! ```text
//! --config FILE          that file alone, and it has to be there
//! EVERGRAPH_CONFIG=FILE  the same
//! --no-config            none
//! else                   ./evergraph.toml, then $XDG_CONFIG_HOME/evergraph/evergraph.toml
//!                        (~/.config/evergraph/evergraph.toml); the first wins, key by key
//! ```
//!
//! A key is kept with its line, for whom it is wrong and for `--print-config`. A file in a usual place that
//! the system doesn't let us read is told of and left out: `sudo -u` may keep somebody else's home.

use evergraph_graph::error::{Error, ErrorKind, Result};
use std::env;
use std::error::Error as _;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A file's name, in whichever folder.
const NAME: &str = "evergraph.toml";

/// The files that there are.
#[derive(Debug, Default)]
pub struct SettingsFiles {
    /// What they say; the first wins.
    pub read: Vec<SettingsFile>,
    /// Why others are left out.
    pub left_out: Vec<String>,
}

/// What a file says.
#[derive(Debug)]
pub struct SettingsFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its keys in the order of their lines.
    pub entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Debug)]
pub struct Entry {
    /// The key with its tables: `run`, `top`.
    pub key: Vec<String>,
    /// What it says.
    pub value: FileValue,
    /// The line, from 1.
    pub line: usize,
}

/// A value in a file.
#[derive(Clone, PartialEq, Debug)]
pub enum FileValue {
    /// True or false.
    Switch(bool),
    /// A number as text without underscores, in decimal.
    Number(String),
    /// A text.
    Text(String),
    /// Several values.
    List(Vec<FileValue>),
    /// A table without a key in it.
    EmptyTable,
    /// A table in a list.
    Table(Vec<(String, FileValue)>),
    /// What no setting is: a date.
    Other,
}

/// Reads the files that there are, the first of them wins.
///
/// # Errors
/// `not_found` if a file that was named isn't there; `invalid` if one isn't TOML; `io`, but for a file that
/// nobody named and that the system forbids to read.
pub fn read(named: Option<&Path>, none: bool) -> Result<SettingsFiles> {
    if none {
        return Ok(SettingsFiles::default());
    }
    let named = named.map(Path::to_owned).or_else(|| of_variable("EVERGRAPH_CONFIG"));
    if let Some(path) = named {
        let read = vec![parse(&path, &load(&path)?)?];
        return Ok(SettingsFiles { read, left_out: Vec::new() });
    }
    let mut files = SettingsFiles::default();
    for path in usual_places() {
        match load(&path) {
            Ok(text) => files.read.push(parse(&path, &text)?),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) if is_forbidden(&error) => files.left_out.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    Ok(files)
}

fn usual_places() -> impl Iterator<Item = PathBuf> {
    let home = || of_variable("HOME").map(|home| home.join(".config"));
    // The standard says to ignore a relative path there.
    let user = of_variable("XDG_CONFIG_HOME").filter(|path| path.is_absolute()).or_else(home);
    [PathBuf::from(NAME)].into_iter().chain(user.map(|folder| folder.join("evergraph").join(NAME)))
}

fn of_variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn load(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| {
        let kind = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ErrorKind::NotFound,
            io::ErrorKind::InvalidData | io::ErrorKind::IsADirectory => ErrorKind::Invalid,
            _ => ErrorKind::Io,
        };
        Error::new(kind, format!("read settings from {}: {error}", path.display())).because(error)
    })
}

fn is_forbidden(error: &Error) -> bool {
    let system = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    system.is_some_and(|system| system.kind() == io::ErrorKind::PermissionDenied)
}

fn parse(path: &Path, text: &str) -> Result<SettingsFile> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = line(text, error.span().unwrap_or_default());
        Error::invalid(format!("{}:{line}: {}", path.display(), error.message()))
    })?;
    let mut entries = Vec::new();
    collect(table.get_ref(), &[], text, &mut entries);
    entries.sort_by_key(|entry| entry.line);
    Ok(SettingsFile { path: path.to_owned(), entries })
}

fn collect(table: &DeTable<'_>, above: &[String], text: &str, entries: &mut Vec<Entry>) {
    for (name, value) in table {
        let key = [above, &[name.get_ref().to_string()]].concat();
        match value.get_ref() {
            DeValue::Table(below) if !below.is_empty() => collect(below, &key, text, entries),
            _ => entries.push(Entry { key, value: file_value(value), line: line(text, name.span()) }),
        }
    }
}

fn file_value(value: &Spanned<DeValue<'_>>) -> FileValue {
    match value.get_ref() {
        DeValue::Boolean(value) => FileValue::Switch(*value),
        DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => FileValue::Number(number.to_string()),
            Err(_) => FileValue::Other,
        },
        DeValue::Float(number) => FileValue::Number(number.as_str().to_owned()),
        DeValue::String(text) => FileValue::Text(text.to_string()),
        DeValue::Array(values) => FileValue::List(values.iter().map(file_value).collect()),
        DeValue::Table(table) if table.is_empty() => FileValue::EmptyTable,
        DeValue::Table(table) => {
            let entries = table.iter().map(|(name, value)| (name.get_ref().to_string(), file_value(value)));
            FileValue::Table(entries.collect())
        }
        DeValue::Datetime(_) => FileValue::Other,
    }
}

fn line(text: &str, span: Range<usize>) -> usize {
    text.as_bytes()[..span.start.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_with_their_tables_and_lines() {
        let text = "threads = 0x1_0\n\n[run]\ntop = 5\npagerank = { damping = 0.5 }\nlabel = [\n  'A', \"B\"]\n[check]\n";
        let file = parse(Path::new("a.toml"), text).unwrap();
        let entries: Vec<(String, FileValue, usize)> =
            file.entries.into_iter().map(|entry| (entry.key.join("."), entry.value, entry.line)).collect();
        let text = |text: &str| FileValue::Text(text.to_owned());
        let number = |text: &str| FileValue::Number(text.to_owned());
        let entry = |key: &str, value, line| (key.to_owned(), value, line);
        assert_eq!(
            entries,
            [
                entry("threads", number("16"), 1),
                entry("run.top", number("5"), 4),
                entry("run.pagerank.damping", number("0.5"), 5),
                entry("run.label", FileValue::List(vec![text("A"), text("B")]), 6),
                entry("check", FileValue::EmptyTable, 8),
            ]
        );
    }

    #[test]
    fn a_table_in_a_list_is_one_value() {
        let file =
            parse(Path::new("a.toml"), "[[serve.replica]]\ndatabase = 'a.eg'\n[[serve.replica]]\n").unwrap();
        let table = FileValue::Table(vec![("database".to_owned(), FileValue::Text("a.eg".to_owned()))]);
        assert_eq!(file.entries[0].key, ["serve", "replica"]);
        assert_eq!(file.entries[0].value, FileValue::List(vec![table, FileValue::EmptyTable]));
    }

    #[test]
    fn what_is_no_toml_is_named_by_file_and_line() {
        for (text, line) in [("a = 1\nb = \n", 2), ("[a\n", 1), ("a = 1\na = 2\n", 2)] {
            let error = parse(Path::new("a.toml"), text).unwrap_err();
            assert!(error.to_string().starts_with(&format!("a.toml:{line}: ")), "{error}");
        }
    }
}
