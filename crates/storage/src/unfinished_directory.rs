//! Unfinished directory: a directory that becomes a database at the very end, or stays none.
//!
//! ```text
//! empty, or left unfinished ──> lock, `unfinished` ──> bodies, log ──> manifest renamed ──> `unfinished` goes
//!                                     └ whatever fails, or a crash ┘
//!                                       removed, or refused by name and made anew next time
//! ```
//!
//! Who makes a whole database from outside (a backup, a salvage, a conversion) writes its files in any order: there is
//! no database before there is a manifest, and that comes when all else is synced.

use evergraph_graph::error::{Error, ErrorKind, Result};

use crate::checkpoint::manifest::{self, Manifest, remove_if_there};
use crate::io::directory::{Directory, LockGuard};
use crate::io::error::IoError;
use crate::log::end_file;
use crate::log::file;

/// The lock file in a database's directory: one process writes a database.
pub const LOCK_NAME: &str = "lock";
/// The file that says that a directory is about to become a database.
pub const UNFINISHED_NAME: &str = "unfinished";

const TEXT: &[u8] =
    b"A backup, salvage or conversion into this folder began and has not ended. If nobody is at it any more, \
    run it again, or remove the folder.\n";

/// A directory on its way to a database. Dropped before its end, it is emptied.
#[derive(Debug)]
pub struct Unfinished<'a> {
    directory: &'a dyn Directory,
    /// Tells names of an engine's files.
    is_engine_file: fn(&str) -> bool,
    finished: bool,
    _lock: LockGuard,
}

impl<'a> Unfinished<'a> {
    /// Takes an empty directory, or one that was left unfinished and is emptied first: of files that
    /// `is_engine_file` knows by name, and of the front's.
    ///
    /// # Errors
    /// `invalid` if it is not empty; `busy` if another process uses it; `limit`, `io`.
    pub fn begin(directory: &'a dyn Directory, is_engine_file: fn(&str) -> bool) -> Result<Self> {
        refuse_taken(directory, is_engine_file)?;
        let lock = directory.lock_exclusive(LOCK_NAME)?;
        // Again: somebody may have been quicker.
        refuse_taken(directory, is_engine_file)?;
        let begun = Self { directory, is_engine_file, finished: false, _lock: lock };
        if directory.exists(UNFINISHED_NAME)? {
            begun.empty()?;
        }
        directory.write_all_new(UNFINISHED_NAME, TEXT)?;
        directory.sync_directory()?;
        Ok(begun)
    }

    /// Makes it the database of `manifest`, whose files are written and synced.
    ///
    /// # Errors
    /// `corrupt` if the manifest contradicts itself; `limit`, `io`.
    pub fn finish(mut self, manifest: &Manifest) -> Result<()> {
        // Names before what needs them.
        self.directory.sync_directory()?;
        manifest.write(self.directory, || Ok(()))?;
        self.finished = true;
        // A database by now: what remains of the beginning is removed by whoever opens it, if not here.
        if remove_if_there(self.directory, UNFINISHED_NAME).is_ok() {
            self.directory.sync_directory()?;
        }
        Ok(())
    }

    /// Removes our files, the mark last. A manifest goes first: without it there is no database.
    fn empty(&self) -> std::result::Result<(), IoError> {
        if self.directory.exists(manifest::FILE_NAME)? {
            self.directory.remove(manifest::FILE_NAME)?;
            self.directory.sync_directory()?;
        }
        for name in self.directory.list()?.iter().filter(|name| is_content(name, self.is_engine_file)) {
            self.directory.remove(name)?;
        }
        self.directory.sync_directory()?;
        remove_if_there(self.directory, UNFINISHED_NAME)
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // What can't be removed is marked as unfinished: opening refuses it, and the next try removes it.
            if self.empty().is_ok() {
                let _ = remove_if_there(self.directory, LOCK_NAME);
            }
        }
    }
}

/// Whether the directory was left unfinished: marked, and without a manifest.
///
/// # Errors
/// What the system says.
pub fn is_unfinished(directory: &dyn Directory) -> std::result::Result<bool, IoError> {
    Ok(directory.exists(UNFINISHED_NAME)? && !directory.exists(manifest::FILE_NAME)?)
}

/// The error of a directory that was left unfinished.
#[must_use]
pub fn unfinished(directory: &dyn Directory) -> Error {
    Error::invalid(format!(
        "{} is not a complete database: a backup, salvage or conversion into it did not finish; run that again, \
         or remove the folder",
        directory.location().display()
    ))
}

fn is_content(name: &str, is_engine_file: fn(&str) -> bool) -> bool {
    name == manifest::NEW_FILE_NAME
        || is_engine_file(name)
        || file::file_number(name).is_some()
        || [end_file::FILE_NAME, end_file::NEW_FILE_NAME].contains(&name)
}

fn refuse_taken(directory: &dyn Directory, is_engine_file: fn(&str) -> bool) -> Result<()> {
    let location = directory.location().display();
    if directory.exists(manifest::FILE_NAME)? {
        return Err(Error::invalid(format!(
            "there is a database in {location} already: name a new or an empty folder"
        )));
    }
    let unfinished = directory.exists(UNFINISHED_NAME)?;
    let names = directory.list()?;
    let ours = |name: &&String| {
        name.as_str() == LOCK_NAME
            || (unfinished && (name.as_str() == UNFINISHED_NAME || is_content(name, is_engine_file)))
    };
    match names.iter().find(|name| !ours(name)) {
        None => Ok(()),
        Some(stranger) => Err(Error::new(
            ErrorKind::Invalid,
            format!("{location} isn't empty, `{stranger}` is there: name a new or an empty folder"),
        )),
    }
}
