//! Path: where a database lies, as users name it: a directory of its own, or the folder of a cluster's node.
//!
//! ```text
//! social.eg            the directory of a database
//! cluster:node-0       the folder of a node, whose cluster has the graph
//! ./cluster:node-0     a directory that happens to be called so
//! ```

use crate::file_work::FileWork;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::io::disk::DiskDirectory;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What stands before the folder of a node.
const OF_NODE: &str = "cluster:";

/// Where a database lies.
///
/// ```
/// use evergraph::path::DatabasePath;
/// use std::path::Path;
///
/// assert_eq!(DatabasePath::of(Path::new("social.eg"))?, DatabasePath::Folder(Path::new("social.eg")));
/// assert_eq!(DatabasePath::of(Path::new("cluster:/srv/a"))?, DatabasePath::Node(Path::new("/srv/a")));
/// assert!(DatabasePath::of(Path::new("cluster:")).is_err());
/// # Ok::<(), evergraph::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DatabasePath<'p> {
    /// In a directory of its own.
    Folder(&'p Path),
    /// On the nodes of a cluster, by the node that has this folder.
    Node(&'p Path),
}

impl<'p> DatabasePath<'p> {
    /// What `path` names.
    ///
    /// # Errors
    /// `invalid` for the beginning `cluster:` without a folder, or with the address of a server.
    pub fn of(path: &'p Path) -> Result<Self> {
        let Some(folder) = path.as_os_str().as_bytes().strip_prefix(OF_NODE.as_bytes()) else {
            return Ok(Self::Folder(path));
        };
        if folder.is_empty() || folder.starts_with(b"//") {
            return Err(Error::invalid(format!(
                "{} names no folder: write {OF_NODE}FOLDER for the folder of a cluster's node, with one slash if it begins at the root",
                path.display()
            )));
        }
        Ok(Self::Node(Path::new(OsStr::from_bytes(folder))))
    }

    /// Whether a database there can take `work`, before it is opened: a node of a cluster joins it first, which may take long.
    ///
    /// # Errors
    /// `invalid` for a node, with what to do in a cluster.
    pub fn check_work(self, work: FileWork) -> Result<()> {
        match self {
            Self::Folder(_) => Ok(()),
            Self::Node(_) => Err(Error::invalid(format!("{self}: {}", work.refusal_in_cluster()))),
        }
    }

    /// The directory of a database.
    ///
    /// # Errors
    /// As [`DatabasePath::of`]; `invalid` for the folder of a node.
    pub(crate) fn folder(path: &'p Path) -> Result<&'p Path> {
        match Self::of(path)? {
            Self::Folder(folder) => Ok(folder),
            Self::Node(_) => Err(Error::invalid(format!(
                "{} is a node of a cluster, whose graph lies on several machines: this needs the files of one database, and has no \
                 form for a cluster yet",
                path.display()
            ))),
        }
    }

    /// The same place in `folder`.
    #[must_use]
    pub fn in_folder(self, folder: &Path) -> PathBuf {
        match self {
            Self::Folder(_) => folder.to_owned(),
            Self::Node(_) => {
                let mut path = OF_NODE.to_owned().into_bytes();
                path.extend_from_slice(folder.as_os_str().as_bytes());
                PathBuf::from(OsStr::from_bytes(&path))
            }
        }
    }

    /// The folder, whatever has it.
    #[must_use]
    pub const fn as_folder(self) -> &'p Path {
        match self {
            Self::Folder(folder) | Self::Node(folder) => folder,
        }
    }
}

impl fmt::Display for DatabasePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.in_folder(self.as_folder()).display().fmt(f)
    }
}

/// The directory of a database that must exist.
///
/// # Errors
/// `not_found` if there is none; `invalid` for the folder of a node; `io`.
pub(crate) fn existing(path: &Path) -> Result<DiskDirectory> {
    DiskDirectory::open(DatabasePath::folder(path)?).map_err(|error| {
        let error = Error::from(error);
        match error.kind() {
            ErrorKind::NotFound => {
                let text = format!("there is no database at {}", path.display());
                Error::new(ErrorKind::NotFound, text).because(error)
            }
            _ => error,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_says_that_a_path_is_of_a_node() {
        for path in ["a.eg", "./cluster:a", "/cluster:a", "clusters:a", "a/cluster:b", ""] {
            let named = DatabasePath::of(Path::new(path)).unwrap();
            assert_eq!(named, DatabasePath::Folder(Path::new(path)));
            assert_eq!(named.in_folder(Path::new("b")), Path::new("b"));
        }
        for (path, folder) in
            [("cluster:a", "a"), ("cluster:/srv/a", "/srv/a"), ("cluster:cluster:a", "cluster:a")]
        {
            let named = DatabasePath::of(Path::new(path)).unwrap();
            assert_eq!(
                (named, named.as_folder()),
                (DatabasePath::Node(Path::new(folder)), Path::new(folder))
            );
            assert_eq!(named.in_folder(Path::new("/b")), Path::new("cluster:/b"));
            assert_eq!(named.to_string(), path);
            let refused = existing(Path::new(path)).map(drop).unwrap_err();
            assert!(refused.kind() == ErrorKind::Invalid && refused.to_string().contains(path), "{refused}");
        }
        for path in ["cluster:", "cluster://host:7400/social", "cluster:///srv/a"] {
            let refused = DatabasePath::of(Path::new(path)).unwrap_err();
            assert!(refused.to_string().starts_with(path), "{refused}");
        }
    }
}
