//! Status file: how a node tells other processes of its machine how it is, in its folder.
//!
//! ```text
//! node.json    the report of the process that serves the node, written anew every second, always whole
//! ```
//!
//! Nothing of the node depends on it. Whether its process still runs is told by the lock that the node itself has on its folder.

use crate::command::cluster::node_document::NodeDocument;
use evergraph_cluster::running::description::CLUSTER_FILE;
use evergraph_graph::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const STATUS_NAME: &str = "node.json";
const NEW_STATUS_NAME: &str = "node.json.new";

/// What the file says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StatusDocument {
    /// The process that wrote it.
    pub pid: u32,
    /// Where it serves drivers; `null` before it listens.
    pub url: Option<String>,
    /// When it was written, in microseconds since 1970.
    written_at: u64,
    /// How the node was then.
    #[serde(flatten)]
    pub report: NodeDocument,
}

impl StatusDocument {
    /// Of this process, now.
    #[must_use]
    pub fn new(report: NodeDocument, url: Option<String>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let written_at = u64::try_from(now.as_micros()).unwrap_or(u64::MAX);
        Self { pid: std::process::id(), url, written_at, report }
    }

    /// Writes it into the folder of the node, in place of the one before.
    ///
    /// # Errors
    /// `io`, and `limit` if the disk is full; the one before stays.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).expect("a report has text keys and finite numbers");
        let (new, path) = (folder.join(NEW_STATUS_NAME), folder.join(STATUS_NAME));
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &path));
        written.map_err(|error| failure("write", &path, error))
    }

    /// What the file in the folder of a node says.
    ///
    /// # Errors
    /// `not_found` if the node was never served; `corrupt` if the file says nothing; `io`.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(STATUS_NAME);
        let text = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::new(ErrorKind::NotFound, missing(folder)),
            _ => failure("read", &path, error),
        })?;
        serde_json::from_slice(&text).map_err(|error| {
            let path: PathBuf = path;
            let text =
                format!("{} says no status: {error}; it is written anew when the node runs", path.display());
            Error::new(ErrorKind::Corrupt, text)
        })
    }

    /// How long ago it was written.
    #[must_use]
    pub fn age(&self) -> Duration {
        let written_at = UNIX_EPOCH + Duration::from_micros(self.written_at);
        SystemTime::now().duration_since(written_at).unwrap_or_default()
    }
}

/// Why the folder has no status.
fn missing(folder: &Path) -> String {
    let shown = folder.display();
    if folder.join(CLUSTER_FILE).exists() {
        format!(
            "{shown} has no status: `evergraph cluster serve {shown}` has not run yet, or has not joined its cluster, as its log says"
        )
    } else {
        format!(
            "{shown} is not the folder of a node: it has no {CLUSTER_FILE}. `evergraph cluster create OUT` makes OUT/node-0 and so on"
        )
    }
}

fn failure(doing: &str, path: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull => ErrorKind::Limit,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("{doing} {}: {error}", path.display())).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::cluster::node_document::example;

    #[test]
    fn a_status_is_read_as_it_was_written_and_what_is_none_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let missing = StatusDocument::read(folder.path()).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        assert!(missing.to_string().contains("not the folder of a node"), "{missing}");
        fs::write(folder.path().join(CLUSTER_FILE), "").unwrap();
        let missing = StatusDocument::read(folder.path()).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        assert!(missing.to_string().contains("evergraph cluster serve"), "{missing}");
        fs::remove_file(folder.path().join(CLUSTER_FILE)).unwrap();
        let document = StatusDocument::new(example(), None);
        document.write(folder.path()).unwrap();
        assert_eq!(StatusDocument::read(folder.path()).unwrap(), document);
        assert!(document.age() < Duration::from_secs(60));
        let names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [STATUS_NAME]);
        fs::write(folder.path().join(STATUS_NAME), "{\"pid\": 7").unwrap();
        assert_eq!(StatusDocument::read(folder.path()).unwrap_err().kind(), ErrorKind::Corrupt);
    }
}
