//! Document: a TOML file of a node's folder, whose mistakes are named by file and line.

use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::io::directory::Directory as _;
use evergraph_storage::io::disk::DiskDirectory;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The most bytes of such a file: it names a few thousand nodes at most.
const BYTES_MAX: u64 = 1 << 20;

/// The text of a file, for errors that name lines of it.
pub(super) struct Document {
    path: PathBuf,
    text: String,
}

impl Document {
    /// Reads the file `name` of a folder.
    ///
    /// # Errors
    /// `not_found` if there is none; `invalid` if it is not text; `io`.
    pub(super) fn read(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join(name);
        let read = DiskDirectory::open(folder).and_then(|directory| directory.read_all(name, BYTES_MAX));
        let bytes = read.map_err(|error| {
            let kind = match error.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => ErrorKind::NotFound,
                _ => ErrorKind::Io,
            };
            let text = format!("{error}: is {} the folder of a node of a cluster?", folder.display());
            Error::new(kind, text).because(error)
        })?;
        let text = String::from_utf8(bytes)
            .map_err(|_| Error::invalid(format!("{} is not UTF-8", path.display())))?;
        Ok(Self { path, text })
    }

    /// Of a text that would be the file at `path`.
    #[cfg(test)]
    pub(super) fn of(path: &str, text: &str) -> Self {
        Self { path: path.into(), text: text.to_owned() }
    }

    /// What it says.
    ///
    /// # Errors
    /// `invalid`, with the line: for what is no TOML, an unknown or a missing key, or a value of another type.
    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        toml::from_str(&self.text).map_err(|error| {
            // Its message alone: a piece of the text may be secret.
            self.wrong_at(error.span().map_or(0, |span| span.start), error.message())
        })
    }

    /// The error of a value that cannot be used.
    pub(super) fn wrong<T>(&self, key: &str, value: &Spanned<T>, problem: impl std::fmt::Display) -> Error {
        self.wrong_at(value.span().start, &format!("{key}: {problem}"))
    }

    fn wrong_at(&self, offset: usize, problem: &str) -> Error {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Error::invalid(format!("{}:{line}: {problem}", self.path.display()))
    }

    /// Where it lies.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// A text as TOML quotes it.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Example {
        name: Spanned<String>,
    }

    #[test]
    fn a_mistake_is_named_by_its_line_and_not_by_the_text_around_it() {
        let said = |text: &str| Document::of("a.toml", text).parse::<Example>().unwrap_err().to_string();
        let unknown = said("name = 'x'\n\nnmae = 'secret'\n");
        assert!(unknown.starts_with("a.toml:3: unknown field `nmae`"), "{unknown}");
        assert!(!unknown.contains("secret"), "{unknown}");
        assert!(said("\n\nname = = 1").starts_with("a.toml:3: "), "no TOML");
        assert!(said("").contains("missing field `name`"), "a missing key");
        let document = Document::of("a.toml", "# one\nname = 'x'\n");
        let example: Example = document.parse().unwrap();
        let wrong = document.wrong("name", &example.name, "too short").to_string();
        assert_eq!(wrong, "a.toml:2: name: too short");
    }

    #[test]
    fn a_folder_without_the_file_is_not_found() {
        let folder = tempfile::tempdir().unwrap();
        let error = Document::read(folder.path(), "cluster.toml").map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(error.to_string().contains("cluster.toml"), "{error}");
    }

    #[test]
    fn quoted_text_reads_back() {
        for text in ["shop", "a \"b\" \\ \n c", "späti"] {
            let document = Document::of("a.toml", &format!("name = {}", quoted(text)));
            assert_eq!(document.parse::<Example>().unwrap().name.get_ref(), text);
        }
    }
}
