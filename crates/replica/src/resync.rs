//! Resync: a database that was made anew in a folder beside the old one takes its place.
//!
//! ```text
//! shop.eg          ──> shop.eg.resync-old  ──> shop.eg.resync-old  ──> shop.eg
//! shop.eg.resync       shop.eg.resync          shop.eg, the new one
//!                      first rename            second rename           the old one is removed
//!
//! after a crash:       the second is made      the old one is removed
//! ```
//!
//! Until the first rename the old database can be read. The names that are there say how far it was, so that [`recover`] goes
//! on after a crash at any point: the path names the old database or the whole new one, or recovering makes it so.
//!
//! A folder with the old one's second name is removed only if it has a mark in it, which the old database gets before the first
//! rename: somebody else may have made a folder of that name.

use evergraph::storage::checkpoint::manifest::FILE_NAME as MANIFEST;
use evergraph_graph::error::{Error, ErrorKind, Result};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// What stands behind the name of the new database.
const NEW_SUFFIX: &str = ".resync";
/// What stands behind the name of the old one while they change places.
const OLD_SUFFIX: &str = ".resync-old";
/// The file in the old database that says that it may be removed.
const MARK: &str = "replaced-by-resync";
/// What the file says, to people.
const MARK_TEXT: &str =
    "`evergraph replica resync` put another database in the place of this one, and removes it.\n";

/// Where the database that takes the place of the one at `path` is made: beside it, on the same disk.
///
/// # Errors
/// `invalid` if `path` has no name, such as `/`.
pub fn new_folder(path: impl AsRef<Path>) -> Result<PathBuf> {
    with_suffix(path.as_ref(), NEW_SUFFIX)
}

/// Lets the database in [`new_folder`] take the place of the one at `path`, which is removed. Both must be closed; whoever opens
/// the path after that opens the new one.
///
/// # Errors
/// `invalid` if the new one is not whole; those of [`check_room`]; `io`. The path names the old or the new database then, or
/// [`recover`] makes it so.
pub fn swap(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    check_room(path)?;
    let [new, old] = [new_folder(path)?, with_suffix(path, OLD_SUFFIX)?];
    // A manifest is there once a checkpoint made all of it durable.
    if !new.join(MANIFEST).exists() {
        let text = format!("{} is no whole database: copy the tables into it first", new.display());
        return Err(Error::invalid(text));
    }
    if path.exists() {
        mark(path)?;
        rename(path, &old)?;
    }
    rename(&new, path)?;
    remove(&old)
}

/// Whether the old database at `path` can be moved away for a [`swap`]; finishes one that a crash interrupted.
///
/// # Errors
/// `invalid` if a folder has the name that it gets, which no swap made; those of [`recover`].
pub fn check_room(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    recover(path)?;
    let old = with_suffix(path, OLD_SUFFIX)?;
    if !old.exists() {
        return Ok(());
    }
    let (old, path) = (old.display(), path.display());
    Err(Error::invalid(format!(
        "{old} is in the way, and no resync of {path} left it: rename it, or remove it"
    )))
}

/// Finishes a [`swap`] that a crash interrupted, before `path` is opened. Cost: a look at two names, if there was none.
///
/// # Errors
/// `io`.
pub fn recover(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let [new, old] = [new_folder(path)?, with_suffix(path, OLD_SUFFIX)?];
    if !path.exists() && is_marked(&old) {
        // The old one is away and the new one is whole, or it would not be away.
        rename(if new.exists() { &new } else { &old }, path)?;
    }
    if path.exists() && is_marked(&old) {
        remove(&old)?;
    }
    // Of a swap that went no further, or back.
    match fs::remove_file(path.join(MARK)) {
        Err(error) if is_elsewhere(error.kind()) => Ok(()),
        Err(error) => Err(failed(&format!("remove {}", path.join(MARK).display()), error)),
        Ok(()) => Ok(()),
    }
}

/// Whether there is no such file, perhaps since its folder is none.
fn is_elsewhere(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Puts the mark into `folder`, durably.
fn mark(folder: &Path) -> Result<()> {
    let file = folder.join(MARK);
    let written = File::create(&file).and_then(|mut written| {
        written.write_all(MARK_TEXT.as_bytes())?;
        written.sync_all()?;
        File::open(folder)?.sync_all()
    });
    written.map_err(|error| failed(&format!("write {}", file.display()), error))
}

fn is_marked(folder: &Path) -> bool {
    folder.join(MARK).exists()
}

fn with_suffix(path: &Path, suffix: &str) -> Result<PathBuf> {
    let Some(name) = path.file_name() else {
        return Err(Error::invalid(format!("{} is no folder of a database", path.display())));
    };
    let mut name: OsString = name.to_owned();
    name.push(suffix);
    Ok(path.with_file_name(name))
}

/// Renames a folder, durably.
fn rename(from: &Path, to: &Path) -> Result<()> {
    let doing = || format!("rename {} to {}", from.display(), to.display());
    fs::rename(from, to).map_err(|error| failed(&doing(), error))?;
    let parent = match to.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(parent).and_then(|folder| folder.sync_all()).map_err(|error| failed(&doing(), error))
}

/// Removes a folder, if it is there.
fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(failed(&format!("remove {}", folder.display()), error))
        }
        _ => Ok(()),
    }
}

fn failed(doing: &str, error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{doing}: {error}")).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph::Database;

    /// A database that has a vertex with this label.
    fn make(path: &Path, label: &str) {
        let database = Database::open(path).unwrap();
        database.transact(|tx| tx.add_vertex(label, &[]).map(drop)).unwrap();
        database.checkpoint().unwrap();
        database.close().unwrap();
    }

    fn label_at(path: &Path) -> String {
        let database = Database::open(path).unwrap();
        let label = database.gremlin("g.V().label()").one().unwrap();
        database.close().unwrap();
        label
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_new_database_takes_the_place_of_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shop.eg");
        make(&path, "Old");
        assert_eq!(swap(&path).unwrap_err().kind(), ErrorKind::Invalid);
        fs::create_dir(new_folder(&path).unwrap()).unwrap();
        assert_eq!(swap(&path).unwrap_err().kind(), ErrorKind::Invalid, "it has no manifest");
        assert_eq!(label_at(&path), "Old");
        make(&new_folder(&path).unwrap(), "New");
        swap(&path).unwrap();
        assert_eq!((label_at(&path), names(folder.path())), ("New".to_owned(), vec!["shop.eg".to_owned()]));
    }

    #[test]
    fn a_crash_at_any_point_leaves_the_old_database_or_the_whole_new_one() {
        // What there is after each step, what the path must name, and what is beside it.
        for (there, expected, beside) in [
            (&[("shop.eg", "Old"), ("shop.eg.resync", "New")][..], "Old", &["shop.eg", "shop.eg.resync"][..]),
            (&[("shop.eg.resync-old", "Old"), ("shop.eg.resync", "New")], "New", &["shop.eg"]),
            (&[("shop.eg.resync-old", "Old"), ("shop.eg", "New")], "New", &["shop.eg"]),
            (&[("shop.eg", "New")], "New", &["shop.eg"]),
            (&[("shop.eg.resync-old", "Old")], "Old", &["shop.eg"]),
        ] {
            let folder = tempfile::tempdir().unwrap();
            for (name, label) in there {
                let made = folder.path().join(name);
                make(&made, label);
                if *label == "Old" {
                    mark(&made).unwrap();
                }
            }
            let path = folder.path().join("shop.eg");
            recover(&path).unwrap();
            assert_eq!(label_at(&path), expected, "{there:?}");
            assert_eq!(names(folder.path()), beside, "{there:?}");
            assert!(!is_marked(&path), "a copy of it would be removed");
            recover(&path).unwrap();
        }
    }

    #[test]
    fn a_folder_with_the_name_of_the_old_database_stays_unless_a_swap_made_it() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["shop.eg", "shop.eg.resync-old"].map(|name| folder.path().join(name));
        make(&other, "Mine");
        recover(&path).unwrap();
        assert_eq!(names(folder.path()), ["shop.eg.resync-old"], "it does not become the database");
        make(&path, "Old");
        make(&new_folder(&path).unwrap(), "New");
        recover(&path).unwrap();
        let error = swap(&path).unwrap_err();
        assert!(error.to_string().contains("shop.eg.resync-old is in the way"), "{error}");
        assert_eq!((label_at(&path), label_at(&other)), ("Old".to_owned(), "Mine".to_owned()));
        fs::rename(&other, folder.path().join("elsewhere")).unwrap();
        swap(&path).unwrap();
        assert_eq!(
            (label_at(&path), names(folder.path())),
            ("New".to_owned(), vec!["elsewhere".to_owned(), "shop.eg".to_owned()])
        );
    }
}
