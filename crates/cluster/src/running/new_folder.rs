//! New folder: files that appear together, or not at all.
//!
//! They are written and synced in a folder beside the one that is wanted, which no other user can read; then that is renamed.
//! What is there already stays what it is.

use crate::planted::{Bug, planted};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_storage::io::directory::Directory as _;
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::error::{IoError, Operation};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Who may read a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FileSecrecy {
    /// Whoever may read the folder.
    Readable,
    /// Its owner alone.
    Secret,
}

/// A folder that is being written. Dropped, it is removed with everything in it.
pub(super) struct NewFolder {
    /// What the folder is to be.
    target: PathBuf,
    /// Where it is written.
    written: PathBuf,
    is_finished: bool,
}

impl NewFolder {
    /// Begins the folder `target`, which is not there yet, or empty. Folders above it are made.
    ///
    /// # Errors
    /// `invalid` if something is there; `io`.
    pub(super) fn begin(target: &Path) -> Result<Self> {
        refuse_taken(target)?;
        let (parent, name) = parts(target)?;
        DiskDirectory::open_or_create(parent)?;
        let written = parent.join(format!(".{name}.new-{}", std::process::id()));
        make_folder(&written)?;
        Ok(Self { target: target.to_owned(), written, is_finished: false })
    }

    /// Makes a folder in it.
    ///
    /// # Errors
    /// `io`.
    pub(super) fn add_folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.written.join(name);
        make_folder(&folder)?;
        Ok(folder)
    }

    /// Where it is written.
    pub(super) fn written(&self) -> &Path {
        &self.written
    }

    /// Makes it what it is to be.
    ///
    /// # Errors
    /// `invalid` if something is there by now; `io`.
    pub(super) fn finish(mut self) -> Result<()> {
        DiskDirectory::open(&self.written)?.sync_directory()?;
        let ((parent, from), (_, to)) = (parts(&self.written)?, parts(&self.target)?);
        let parent = DiskDirectory::open(parent)?;
        // Takes the place of nothing, or of an empty folder.
        if let Err(error) = parent.rename(from, to) {
            refuse_taken(&self.target)?;
            return Err(error.into());
        }
        self.is_finished = true;
        Ok(parent.sync_directory()?)
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        if !self.is_finished {
            // What is left is told by its name, and harms nothing.
            let _ = fs::remove_dir_all(&self.written);
        }
    }
}

/// Writes a file that is not there yet. A secret one can be read by its owner alone from its first moment: who opened it before
/// it was made private would read on.
///
/// # Errors
/// `io`, and `limit` if the disk is full; what was written of it is left.
pub(super) fn write_file(folder: &Path, name: &str, bytes: &[u8], secrecy: FileSecrecy) -> Result<()> {
    let mode = match secrecy {
        FileSecrecy::Secret if !planted(Bug::KeyReadable) => 0o600,
        _ => 0o666,
    };
    let path = folder.join(name);
    let create = || -> io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    create().map_err(|error| IoError::new(Operation::Create, &path, error))?;
    Ok(DiskDirectory::open(folder)?.sync_directory()?)
}

fn make_folder(path: &Path) -> Result<()> {
    let made = fs::DirBuilder::new().mode(0o700).create(path);
    made.map_err(|error| io_error("make the folder", path, error))
}

fn refuse_taken(path: &Path) -> Result<()> {
    let taken = |what: &str| {
        let path = path.display();
        Err(Error::invalid(format!(
            "{path} {what}: name a folder that is not there yet, nothing is overwritten"
        )))
    };
    match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => taken("is not empty"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => taken("is a file"),
        Err(error) => Err(io_error("look into", path, error)),
    }
}

fn parts(path: &Path) -> Result<(&Path, &str)> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| Error::invalid(format!("{} names no new folder", path.display())))?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    Ok((parent.unwrap_or(Path::new(".")), name))
}

fn io_error(what: &str, path: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{what} {}: {error}", path.display())).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;
    use std::os::unix::fs::PermissionsExt as _;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_appears_whole_and_one_that_is_given_up_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("a/shop");
        let folder = NewFolder::begin(&target).unwrap();
        let inner = folder.add_folder("node").unwrap();
        write_file(&inner, "key", b"secret", FileSecrecy::Secret).unwrap();
        write_file(folder.written(), "open", b"text", FileSecrecy::Readable).unwrap();
        assert!(!target.exists());
        folder.finish().unwrap();
        assert_eq!(
            (names(&target), names(home.path().join("a").as_path())),
            (vec!["node".into(), "open".into()], vec!["shop".into()])
        );
        let key = target.join("node/key");
        assert_eq!(fs::read(&key).unwrap(), b"secret");
        assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600, "others can read it");
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o700);
        let again = write_file(&target.join("node"), "key", b"other", FileSecrecy::Secret).unwrap_err();
        assert!(again.to_string().contains("key"), "{again}");
        assert_eq!(fs::read(&key).unwrap(), b"secret");
        let other = NewFolder::begin(&home.path().join("a/other")).unwrap();
        write_file(other.written(), "open", b"text", FileSecrecy::Readable).unwrap();
        drop(other);
        assert_eq!(names(&home.path().join("a")), ["shop"]);
    }

    #[test]
    fn planted_bugs_are_found() {
        let test = a_folder_appears_whole_and_one_that_is_given_up_leaves_nothing;
        assert_found(Bug::KeyReadable, test, "others can read it");
    }

    #[test]
    fn what_is_there_is_not_overwritten() {
        let home = tempfile::tempdir().unwrap();
        let said = |error: Error| error.to_string();
        fs::write(home.path().join("file"), "mine").unwrap();
        assert!(
            said(NewFolder::begin(&home.path().join("file")).map(drop).unwrap_err()).contains("is a file")
        );
        let (taken, empty) = (home.path().join("taken"), home.path().join("empty"));
        fs::create_dir(&taken).unwrap();
        fs::create_dir(&empty).unwrap();
        fs::write(taken.join("file"), "mine").unwrap();
        assert!(said(NewFolder::begin(&taken).map(drop).unwrap_err()).contains("is not empty"));
        NewFolder::begin(&empty).unwrap().finish().unwrap();
        // Somebody else was faster.
        let late = NewFolder::begin(&empty).unwrap();
        write_file(late.written(), "file", b"mine", FileSecrecy::Readable).unwrap();
        fs::write(empty.join("file"), "theirs").unwrap();
        assert!(said(late.finish().unwrap_err()).contains("is not empty"));
        assert_eq!(fs::read(empty.join("file")).unwrap(), b"theirs");
        assert_eq!(names(home.path()), ["empty", "file", "taken"]);
    }
}
