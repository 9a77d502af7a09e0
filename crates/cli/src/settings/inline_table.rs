//! Inline table: keys and values as TOML has them, which an option takes as a text and a settings file as a table.
//!
//! ```text
//! --replica 'database = "shop.eg", mapping = "shop.toml"'        [[serve.replica]]
//!                                                                database = "shop.eg"
//!                                                                mapping = "shop.toml"
//! ```
//!
//! It is read when it is used, not by the command line's parser, whose messages would repeat what may be secret in it.

use evergraph_graph::error::{Error, Result};
use serde::de::DeserializeOwned;
use std::convert::Infallible;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// Keys whose values name files or folders: those of a settings file are relative to its own folder.
const PATHS: [&str; 2] = ["database", "mapping"];

/// Keys and values as somebody said them.
#[derive(Clone, PartialEq, Eq)]
pub struct InlineTable(String);

impl InlineTable {
    /// What it says, for `option`.
    ///
    /// # Errors
    /// `invalid` if it is no such table, a key is missing or unknown, or has another type.
    pub fn read<T: DeserializeOwned>(&self, option: &str) -> Result<T> {
        let table = self.table().ok_or_else(|| {
            Error::invalid(format!(
                "{option}: expected keys and values, such as database = \"shop.eg\", mapping = \"shop.toml\""
            ))
        })?;
        toml::Value::Table(table).try_into().map_err(|error: toml::de::Error| {
            // Its text without a piece of what was said.
            Error::invalid(format!("{option}: {}", error.message()))
        })
    }

    /// The table; `None` if it is none.
    #[must_use]
    pub fn table(&self) -> Option<toml::Table> {
        let document: toml::Table = toml::from_str(&format!("table = {{ {} }}", self.0)).ok()?;
        match document.into_iter().next() {
            Some((_, toml::Value::Table(table))) => Some(table),
            _ => None,
        }
    }

    /// The text of keys and values that stand in a file in `folder`.
    #[must_use]
    pub fn text_of(mut table: toml::Table, folder: &Path) -> String {
        for (key, value) in &mut table {
            if let (true, toml::Value::String(path)) = (PATHS.contains(&key.as_str()), &mut *value) {
                *path = folder.join(&*path).to_string_lossy().into_owned();
            }
        }
        let entries: Vec<String> = table
            .iter()
            .map(|(key, value)| format!("{} = {value}", toml::Value::String(key.clone())))
            .collect();
        entries.join(", ")
    }
}

impl FromStr for InlineTable {
    type Err = Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for InlineTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InlineTable(...)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize, PartialEq, Debug)]
    #[serde(deny_unknown_fields)]
    struct Replica {
        database: String,
        memory: Option<u64>,
    }

    #[test]
    fn a_table_of_a_file_is_read_as_the_text_of_an_option_and_says_what_is_wrong() {
        let read = |text: &str| text.parse::<InlineTable>().unwrap().read::<Replica>("--replica");
        let table = toml::from_str("database = 'a.eg'\nmemory = 7").unwrap();
        let text = InlineTable::text_of(table, Path::new("/etc/graphs"));
        assert_eq!(read(&text).unwrap(), Replica { database: "/etc/graphs/a.eg".into(), memory: Some(7) });
        assert_eq!(read("database = 'a.eg'").unwrap(), Replica { database: "a.eg".into(), memory: None });
        for (text, word) in [
            ("", "missing field `database`"),
            ("base = 's'", "unknown field"),
            ("secret", "expected keys"),
            ("} x = {", "expected keys"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(word) && !error.contains("secret"), "{error}");
        }
    }
}
