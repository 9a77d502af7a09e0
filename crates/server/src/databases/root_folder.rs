//! Root folder: the folder whose databases are served, in which they are made and removed as a whole.
//!
//! ```text
//! create   .evergraph-new-X: an empty database, closed ──> renamed to NAME.eg
//! drop     NAME.eg, locked ──> renamed to .evergraph-dropped-X ──> removed
//! start    what a crash left of both is removed
//! ```
//!
//! One server at a time has a root. Names that begin with a dot are never those of databases.

use crate::databases::name::{ENDING, check_database_name};
use crate::databases::settings_file::DatabaseSettings;
use evergraph::{Database, Options};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::checkpoint::manifest;
use evergraph_storage::io::directory::Directory as _;
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::unfinished_directory::LOCK_NAME;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// What a new database is called until it is whole, and a dropped one until it is removed.
const NEW_PREFIX: &str = ".evergraph-new-";
const DROPPED_PREFIX: &str = ".evergraph-dropped-";
/// Locked by the server that has the root.
const ROOT_LOCK_NAME: &str = ".evergraph-root-lock";

/// A folder of databases, which is this server's.
pub(crate) struct RootFolder {
    path: PathBuf,
    _lock: File,
}

/// A folder that may be a database.
pub(crate) struct FoundFolder {
    pub(crate) name: Box<str>,
    pub(crate) path: PathBuf,
}

impl RootFolder {
    /// Takes the folder `path`, and removes what a crash left behind. What cannot be removed is a notice.
    ///
    /// # Errors
    /// `not_found` and `invalid` without such a folder; `busy` if another server has it; `io`.
    pub(crate) fn open(path: &Path) -> Result<(Self, Vec<String>)> {
        let shown = path.display();
        let failed = |error| failed("open the root", path, error);
        let path = path.canonicalize().map_err(failed)?;
        if !path.is_dir() {
            return Err(Error::invalid(format!(
                "{shown} is no folder: --root names one with databases in it"
            )));
        }
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join(ROOT_LOCK_NAME))
            .map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let text = format!("another server has the root {shown}: stop it, or name another folder");
                return Err(Error::new(ErrorKind::Busy, text));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let root = Self { path, _lock: lock };
        let notices = root.remove_leftovers()?;
        Ok((root, notices))
    }

    /// Where it is, without symbolic links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The folders in it that may be databases, by name, and why others that end like one are none.
    ///
    /// # Errors
    /// `io`.
    pub(crate) fn folders(&self) -> Result<(Vec<FoundFolder>, Vec<String>)> {
        let (mut found, mut refused) = (Vec::new(), Vec::new());
        for path in self.entries()? {
            let is_hidden = file_name(&path).starts_with('.');
            if is_hidden || path.extension().is_none_or(|ending| ending != &ENDING[1..]) {
                continue;
            }
            // Not by `name_of`, which follows links.
            let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
            match check_database_name(name).and_then(|()| self.find(name)) {
                Ok(Some(path)) => found.push(FoundFolder { name: name.into(), path }),
                Ok(None) => {}
                Err(error) => refused.push(format!("{path:?} is not served: {error}")),
            }
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok((found, refused))
    }

    /// The folder of the database `name`, if there is one.
    ///
    /// # Errors
    /// `invalid` for a name that no database can have, a file, and a symbolic link.
    pub(crate) fn find(&self, name: &str) -> Result<Option<PathBuf>> {
        let path = self.place_of(name)?;
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("look for the database", &path, error)),
        };
        let metadata = if planted(Bug::RootLinksFollowed) {
            fs::metadata(&path).map_err(|error| failed("look for the database", &path, error))?
        } else {
            metadata
        };
        if metadata.is_dir() {
            return Ok(Some(path));
        }
        let what = if metadata.is_symlink() { "a symbolic link" } else { "a file" };
        Err(Error::invalid(format!(
            "{} is {what}, and a database below the root is a folder in it: move it there, or name it on the command line",
            path.display()
        )))
    }

    /// Makes a database, which is whole or not there after a crash. It is closed.
    ///
    /// # Errors
    /// `invalid` if there is something of this name; those of creating a database.
    pub(crate) fn create(
        &self,
        name: &str,
        options: &Options,
        settings: DatabaseSettings,
    ) -> Result<PathBuf> {
        let path = self.place_of(name)?;
        if fs::symlink_metadata(&path).is_ok() {
            return Err(Error::invalid(format!("there is {} already", path.display())));
        }
        let new = self.path.join(format!("{NEW_PREFIX}{}", random_suffix()?));
        let made = Database::open_with(&new, &Options { create: true, ..options.clone() })
            .and_then(|database| database.close())
            .and_then(|()| settings.write(&new))
            .and_then(|()| self.rename(&new, &path));
        if made.is_err() {
            // Otherwise it is removed at the next start.
            let _ = fs::remove_dir_all(&new);
        }
        made.map(|()| path)
    }

    /// Removes a database that nobody has open. After a crash it is there as a whole, or never served again.
    ///
    /// # Errors
    /// `not_found`; `invalid` for what is no database; `busy` if another process has it open; `io`.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        let path = self.find(name)?.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("there is no {}", self.path.join(name).display()))
        })?;
        let directory = DiskDirectory::open(&path)?;
        if !directory.exists(manifest::FILE_NAME)? {
            return Err(Error::invalid(format!(
                "{} holds no database, and may hold something else: remove it by hand",
                path.display()
            )));
        }
        let lock = directory.lock_exclusive(LOCK_NAME)?;
        let doomed = self.path.join(format!("{DROPPED_PREFIX}{}", random_suffix()?));
        self.rename(&path, &doomed)?;
        drop(lock);
        fs::remove_dir_all(&doomed).map_err(|error| {
            let what = format!("the database {name:?} was dropped, and its files are left: remove");
            failed(&what, &doomed, error)
        })
    }

    fn place_of(&self, name: &str) -> Result<PathBuf> {
        check_database_name(name)?;
        Ok(self.path.join(format!("{name}{ENDING}")))
    }

    /// Renames within the root, for good.
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        fs::rename(from, to)
            .and_then(|()| File::open(&self.path)?.sync_all())
            .map_err(|error| failed(&format!("rename to {}", to.display()), from, error))
    }

    fn remove_leftovers(&self) -> Result<Vec<String>> {
        let mut notices = Vec::new();
        for path in self.entries()? {
            let name = file_name(&path);
            if name.starts_with(NEW_PREFIX) || name.starts_with(DROPPED_PREFIX) {
                // Of a symbolic link this removes the link alone.
                if let Err(error) = fs::remove_dir_all(&path) {
                    notices.push(failed("remove what a crash left", &path, error).to_string());
                }
            }
        }
        Ok(notices)
    }

    fn entries(&self) -> Result<Vec<PathBuf>> {
        let read = || -> io::Result<Vec<PathBuf>> {
            fs::read_dir(&self.path)?.map(|entry| Ok(entry?.path())).collect()
        };
        read().map_err(|error| failed("read the root", &self.path, error))
    }
}

fn file_name(path: &Path) -> std::borrow::Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}

fn random_suffix() -> Result<String> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::new(ErrorKind::Io, format!("ask the system for random bytes: {error}")))?;
    Ok(format!("{:016x}", u64::from_le_bytes(bytes)))
}

fn failed(what: &str, path: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::Limit,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("{what} {}: {error}", path.display())).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn names(root: &RootFolder) -> Vec<String> {
        root.folders().unwrap().0.iter().map(|found| found.name.to_string()).collect()
    }

    #[test]
    fn a_crash_within_a_creation_or_a_removal_leaves_a_whole_database_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let (root, _) = RootFolder::open(folder.path()).unwrap();
        root.create("social", &Options::default(), DatabaseSettings::default()).unwrap();
        assert!(root.create("social", &Options::default(), DatabaseSettings::default()).is_err());
        // Before the renaming of a new one, and after that of a dropped one.
        let whole = folder.path().join("social.eg");
        for left in ["new-1", "dropped-2"] {
            let left = folder.path().join(format!(".evergraph-{left}"));
            fs::create_dir(&left).unwrap();
            fs::copy(whole.join("manifest"), left.join("manifest")).unwrap();
        }
        assert_eq!(names(&root), ["social"], "what is half made or half removed is no database");
        drop(root);
        let (root, notices) = RootFolder::open(folder.path()).unwrap();
        assert!(notices.is_empty(), "{notices:?}");
        let left: Vec<PathBuf> = root.entries().unwrap();
        assert_eq!(left.len(), 2, "the database and the lock: {left:?}");
        root.remove("social").unwrap();
        assert!(names(&root).is_empty());
        assert_eq!(root.remove("social").unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn links_files_and_strange_names_are_no_databases_and_are_not_removed() {
        let outside = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let precious = outside.path().join("precious.eg");
        Database::open(&precious).unwrap().close().unwrap();
        let (root, _) = RootFolder::open(folder.path()).unwrap();
        symlink(&precious, folder.path().join("link.eg")).unwrap();
        symlink(outside.path(), folder.path().join(".evergraph-dropped-1")).unwrap();
        fs::write(folder.path().join("file.eg"), "").unwrap();
        fs::create_dir(folder.path().join("g_a.eg")).unwrap();
        fs::create_dir(folder.path().join("photos.eg")).unwrap();
        fs::write(folder.path().join("photos.eg/one.jpg"), "").unwrap();
        let (found, refused) = root.folders().unwrap();
        let found: Vec<&str> = found.iter().map(|found| &*found.name).collect();
        assert_eq!(
            (found, refused.len()),
            (vec!["photos"], 3),
            "links of the root are not followed: {refused:?}"
        );
        for name in ["link", "file", "photos", "../precious", "a/b", "..", ""] {
            assert!(root.remove(name).is_err(), "{name:?}");
            assert!(name == "photos" || root.find(name).is_err(), "{name:?}");
            assert!(root.create(name, &Options::default(), DatabaseSettings::default()).is_err(), "{name:?}");
        }
        drop(root);
        let (_root, notices) = RootFolder::open(folder.path()).unwrap();
        assert!(notices.is_empty(), "{notices:?}");
        assert!(precious.join("manifest").exists() && folder.path().join("photos.eg/one.jpg").exists());
    }

    #[test]
    fn a_database_that_another_process_has_open_is_not_removed_and_a_root_has_one_server() {
        let folder = tempfile::tempdir().unwrap();
        let (root, _) = RootFolder::open(folder.path()).unwrap();
        assert_eq!(RootFolder::open(folder.path()).err().unwrap().kind(), ErrorKind::Busy);
        let path = root.create("social", &Options::default(), DatabaseSettings::default()).unwrap();
        let database = Database::open(&path).unwrap();
        assert_eq!(root.remove("social").unwrap_err().kind(), ErrorKind::Busy);
        database.close().unwrap();
        root.remove("social").unwrap();
        assert!(!path.exists());
    }
}
