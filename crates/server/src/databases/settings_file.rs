//! Settings file: what a server keeps about a database, in the folder of the database.
//!
//! ```text
//! bank.eg/server.json     {"memoryLimitBytes":100000000}
//! ```
//!
//! It is written before the folder gets the name of the database, and goes with the folder. Engines ignore it, and so do
//! backups: it is about this server, not about the graph.

use crate::disk_error::failed;
use evergraph_graph::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

/// The file in the folder of a database.
pub const FILE_NAME: &str = "server.json";
/// Bytes of the file.
const BYTES_MAX: u64 = 64 << 10;

/// What a server keeps about a database.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DatabaseSettings {
    /// Bytes of memory that it may take; `None` for as many as every other one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
}

impl DatabaseSettings {
    /// Those of the database in `folder`; the default without a file.
    ///
    /// # Errors
    /// `invalid` for a file that holds something else; `io`. Both name the file.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE_NAME);
        let mut text = String::new();
        match File::open(&path).and_then(|file| file.take(BYTES_MAX).read_to_string(&mut text)) {
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(Self::default());
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(broken(&path, "it is no text"));
            }
            Err(error) => return Err(failed("read", &path, error)),
        }
        serde_json::from_str(&text).map_err(|error| broken(&path, &error.to_string()))
    }

    /// Writes them into `folder`, for good; nothing if they are the default.
    ///
    /// # Errors
    /// `io`.
    pub fn write(self, folder: &Path) -> Result<()> {
        if self == Self::default() {
            return Ok(());
        }
        let path = folder.join(FILE_NAME);
        let mut text = serde_json::to_string(&self).expect("it holds numbers only");
        text.push('\n');
        let write = || {
            let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::File::open(folder)?.sync_all()
        };
        write().map_err(|error| failed("write", &path, error))
    }
}

fn broken(path: &Path, why: &str) -> Error {
    Error::invalid(format!(
        "{}: {why}; a line such as {{\"memoryLimitBytes\":100000000}} is expected. Without the file the database has the memory \
         of every other one",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_they_were_written_and_what_is_wrong_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        assert_eq!(DatabaseSettings::read(folder.path()).unwrap(), DatabaseSettings::default());
        DatabaseSettings::default().write(folder.path()).unwrap();
        assert!(!path.exists());
        let settings = DatabaseSettings { memory_limit_bytes: Some(100_000_000) };
        settings.write(folder.path()).unwrap();
        assert_eq!(DatabaseSettings::read(folder.path()).unwrap(), settings);
        assert!(settings.write(folder.path()).is_err(), "it replaces nothing");
        for (text, said) in [
            ("{\"memoryLimitBytes\":\"7\"}", "invalid type"),
            ("{\"memory\":7}", "`memoryLimitBytes`"),
            ("{\"memoryLimit", "EOF"),
            ("", "EOF"),
            ("{} {}", "trailing"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = DatabaseSettings::read(folder.path()).unwrap_err().to_string();
            assert!(error.contains(said) && error.contains("server.json"), "{text}: {error}");
        }
    }
}
