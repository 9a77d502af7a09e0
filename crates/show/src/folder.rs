//! Folder: where a demo or a benchmark keeps its databases: a fresh folder that goes when it is done.

use evergraph_graph::error::{Error, ErrorKind, Result};
use std::env;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A fresh folder, removed with this unless it is kept.
#[derive(Debug)]
pub struct Folder(TempDir);

impl Folder {
    /// Makes one whose name begins with `prefix`: in `parent`; else in `target` where there is one,
    /// which is a disk and ignored by git; else where the system has temporary files.
    ///
    /// # Errors
    /// `not_found` if `parent` isn't there; `io` if the system refuses.
    pub fn make(prefix: &str, parent: Option<&Path>) -> Result<Self> {
        let parent = parent.map_or_else(usual_parent, Path::to_owned);
        let made = tempfile::Builder::new().prefix(prefix).tempdir_in(&parent);
        made.map(Self).map_err(|error| {
            let kind = match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ErrorKind::NotFound,
                _ => ErrorKind::Io,
            };
            // The text of the error itself names the folder that wasn't made.
            let why = io::Error::from(error.kind());
            Error::new(kind, format!("make a folder in {}: {why}", parent.display())).because(why)
        })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Leaves it where it is.
    pub fn keep(self) -> PathBuf {
        self.0.keep()
    }
}

fn usual_parent() -> PathBuf {
    let target = Path::new("target");
    if target.is_dir() { target.to_owned() } else { env::temp_dir() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_when_it_is_dropped_and_stays_when_it_is_kept() {
        let parent = tempfile::tempdir().unwrap();
        let folder = Folder::make("demo-", Some(parent.path())).unwrap();
        let path = folder.path().to_owned();
        std::fs::write(path.join("a"), "b").unwrap();
        drop(folder);
        assert!(!path.exists());
        assert!(Folder::make("demo-", Some(parent.path())).unwrap().keep().is_dir());
    }

    #[test]
    fn a_missing_parent_is_named() {
        let error = Folder::make("demo-", Some(Path::new("no/such/place"))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().contains("no/such/place"), "{error}");
    }
}
