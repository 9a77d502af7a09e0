//! Partition folders: the folders of a node's partitions, and how a copy takes the place of one that cannot be used.
//!
//! ```text
//! 0003  cannot be used     0003.copy  comes piece by piece
//!   │ renamed                  │ whole
//!   └──> 0003.old              └──> 0003 ── can be opened ──> 0003.old goes
//!          ▲                          └──── cannot ──> 0003.discarded goes, for the next copy
//!          └── stays until a copy can be opened, and becomes 0003 again if there is none
//! ```
//!
//! # Why a crash at any step is safe
//!
//! | the power fails | a start finds | and does |
//! |---|---|---|
//! | while the copy comes | 0003, and 0003.copy without a manifest | removes the copy |
//! | when the copy is whole | both | removes the copy, and makes another one |
//! | between the renames | 0003.copy and 0003.old | goes on: renames the copy |
//! | after both, before the old one is gone | 0003, and 0003.old | removes the old one once the copy is open |
//! | while 0003.discarded goes | it, whole or in part | removes it |
//!
//! So what cannot be used is removed only after something that can is in its place, and no step leaves a folder that looks like a
//! partition and is half of one.

use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::PartitionId;
use evergraph_storage::checkpoint::manifest;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::disk::DiskDirectory;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Behind the name of a partition's folder: a copy that comes.
const COPY: &str = "copy";
/// What a copy takes the place of.
const OLD: &str = "old";
/// A copy that cannot be used: another one, or the old one, takes its place.
const DISCARDED: &str = "discarded";

/// Folders of partitions, within one folder.
#[derive(Debug)]
pub(super) struct PartitionFolders {
    parent: PathBuf,
}

impl PartitionFolders {
    /// In `parent`, which is made at need.
    pub(super) fn new(parent: PathBuf) -> Self {
        Self { parent }
    }

    /// The folder that they are in.
    pub(super) fn parent(&self) -> &Path {
        &self.parent
    }

    /// Where a partition lies.
    pub(super) fn path(&self, partition: PartitionId) -> PathBuf {
        self.parent.join(name(partition))
    }

    /// Ends what copies left that were interrupted.
    ///
    /// # Errors
    /// `io`.
    pub(super) fn clean(&self) -> Result<()> {
        let parent = DiskDirectory::open_or_create(&self.parent)?;
        for left in self.names()? {
            match beside(&left) {
                Some((_, DISCARDED)) => self.remove(&left)?,
                Some((partition, COPY)) if parent.exists(partition)? => self.remove(&left)?,
                _ => {}
            }
        }
        for left in self.names()? {
            let Some((partition, COPY)) = beside(&left) else { continue };
            let copy = DiskDirectory::open(self.parent.join(&left))?;
            match copy.exists(manifest::FILE_NAME)? {
                true => {
                    parent.rename(&left, partition)?;
                    parent.sync_directory()?;
                }
                false => self.remove(&left)?,
            }
        }
        for left in self.names()? {
            let Some((partition, OLD)) = beside(&left) else { continue };
            // Its copy is gone. Otherwise nobody knows yet whether that can be used.
            if !parent.exists(partition)? {
                parent.rename(&left, partition)?;
            }
        }
        Ok(parent.sync_directory()?)
    }

    /// Where the copy of a partition comes.
    ///
    /// # Errors
    /// `limit` if the disk is full; `io`.
    pub(super) fn begin_copy(&self, partition: PartitionId) -> Result<Arc<dyn Directory>> {
        let path = self.parent.join(named(partition, COPY));
        Ok(Arc::new(DiskDirectory::open_or_create(path)?))
    }

    /// Nothing comes of the copy: what there is of it is removed.
    ///
    /// # Errors
    /// `io`: the next start removes it.
    pub(super) fn discard_copy(&self, partition: PartitionId) -> Result<()> {
        self.remove(&named(partition, COPY))
    }

    /// Puts the copy, which is whole, in place of the partition, which nobody has open. What was there stays until
    /// [`PartitionFolders::remove_old`], unless it is such a copy.
    ///
    /// # Errors
    /// `io`; the next start goes on.
    pub(super) fn put_in_place(&self, partition: PartitionId) -> Result<()> {
        self.remove(&named(partition, DISCARDED))?;
        put_in_place(&DiskDirectory::open(&self.parent)?, partition)?;
        self.remove(&named(partition, DISCARDED))
    }

    /// No copy can be used: what the first one took the place of, if it did, is there again. Nobody has it open.
    ///
    /// # Errors
    /// `io`; the next start goes on.
    pub(super) fn put_old_back(&self, partition: PartitionId) -> Result<()> {
        self.remove(&named(partition, DISCARDED))?;
        put_old_back(&DiskDirectory::open(&self.parent)?, partition)?;
        self.remove(&named(partition, DISCARDED))
    }

    /// The copy can be used: what it took the place of is removed.
    ///
    /// # Errors
    /// `io`; the next start removes it.
    pub(super) fn remove_old(&self, partition: PartitionId) -> Result<()> {
        self.remove(&named(partition, OLD))
    }

    fn remove(&self, name: &str) -> Result<()> {
        let path = self.parent.join(name);
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failure("remove", &path, error)),
            _ => Ok(()),
        }
    }

    /// The names of all folders.
    fn names(&self) -> Result<Vec<String>> {
        let list = || -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in fs::read_dir(&self.parent)? {
                names.extend(entry?.file_name().into_string());
            }
            names.sort();
            Ok(names)
        };
        list().map_err(|error| failure("list", &self.parent, error))
    }
}

/// The renames, in their order.
fn put_in_place(parent: &dyn Directory, partition: PartitionId) -> Result<()> {
    let place = name(partition);
    // The copy has its name for good before anything depends on it.
    parent.sync_directory()?;
    if parent.exists(&place)? {
        let aside = if parent.exists(&named(partition, OLD))? { DISCARDED } else { OLD };
        parent.rename(&place, &named(partition, aside))?;
        parent.sync_directory()?;
    }
    parent.rename(&named(partition, COPY), &place)?;
    Ok(parent.sync_directory()?)
}

/// As [`put_in_place`].
fn put_old_back(parent: &dyn Directory, partition: PartitionId) -> Result<()> {
    let (place, old) = (name(partition), named(partition, OLD));
    if !parent.exists(&old)? {
        return Ok(());
    }
    if parent.exists(&place)? {
        parent.rename(&place, &named(partition, DISCARDED))?;
        parent.sync_directory()?;
    }
    parent.rename(&old, &place)?;
    Ok(parent.sync_directory()?)
}

/// The name of a partition's folder, and what this one beside it is; `None` if it is not one of ours.
fn beside(folder: &str) -> Option<(&str, &str)> {
    let (partition, what) = folder.split_once('.')?;
    let number: u16 = partition.parse().ok()?;
    (name(PartitionId(number)) == partition).then_some((partition, what))
}

fn name(partition: PartitionId) -> String {
    format!("{:04}", partition.0)
}

fn named(partition: PartitionId, what: &str) -> String {
    format!("{}.{what}", name(partition))
}

fn failure(verb: &str, path: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{verb} {}: {error}", path.display())).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_storage::io::failing::{FailingDirectory, Fault};
    use std::collections::BTreeMap;

    const PARTITION: PartitionId = PartitionId(3);

    struct Home {
        folder: tempfile::TempDir,
        folders: PartitionFolders,
    }

    impl Home {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let folders = PartitionFolders::new(folder.path().join("partitions"));
            fs::create_dir(&folders.parent).unwrap();
            Self { folder, folders }
        }

        fn put(&self, name: &str, file: &str, text: &str) {
            let path = self.folders.parent.join(name);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join(file), text).unwrap();
        }

        /// What each folder's manifest says.
        fn all(&self) -> BTreeMap<String, Option<String>> {
            let names = self.folders.names().unwrap();
            let manifest = |name: &String| {
                fs::read_to_string(self.folders.parent.join(name).join(manifest::FILE_NAME)).ok()
            };
            names.into_iter().map(|name| (name.clone(), manifest(&name))).collect()
        }

        fn only(&self, text: &str) {
            let all = self.all();
            assert_eq!(
                all,
                BTreeMap::from([("0003".to_owned(), Some(text.to_owned()))]),
                "{:?}",
                self.folder
            );
        }
    }

    #[test]
    fn a_copy_takes_the_place_of_what_cannot_be_used_whatever_step_fails() {
        for has_old in [true, false] {
            assert!((1..20).any(|nth| put_with_fault(nth, has_old)), "more steps");
        }
    }

    /// Whether a copy was put in place before change `nth` failed.
    fn put_with_fault(nth: u64, has_old: bool) -> bool {
        let home = Home::new();
        if has_old {
            home.put("0003", manifest::FILE_NAME, "damaged");
        }
        home.put("0003.copy", manifest::FILE_NAME, "copy");
        let disk: Arc<dyn Directory> = Arc::new(DiskDirectory::open(&home.folders.parent).unwrap());
        let failing = FailingDirectory::new(disk);
        failing.plan(Fault::any_change(io::ErrorKind::Other).nth(nth).lasting());
        let put = put_in_place(&failing, PARTITION);
        let before = home.all();
        home.folders.clean().unwrap();
        match before.get("0003").cloned().flatten().as_deref() {
            // The first rename has not happened: the copy is made once more.
            Some("damaged") => home.only("damaged"),
            _ => {
                let old = home.all().remove("0003.old").flatten();
                assert_eq!(old.as_deref(), has_old.then_some("damaged"), "nobody has opened the copy");
                home.folders.remove_old(PARTITION).unwrap();
                home.only("copy");
            }
        }
        put.is_ok()
    }

    #[test]
    fn what_the_first_copy_took_the_place_of_stays_until_one_can_be_opened() {
        let home = Home::new();
        home.put("0003", manifest::FILE_NAME, "damaged");
        for copy in ["first", "second", "third"] {
            home.put("0003.copy", manifest::FILE_NAME, copy);
            home.folders.put_in_place(PARTITION).unwrap();
            let expected = [("0003", copy), ("0003.old", "damaged")];
            let expected = expected.map(|(name, text)| (name.to_owned(), Some(text.to_owned())));
            assert_eq!(home.all(), BTreeMap::from(expected.clone()));
            // A start that finds both opens the copy first.
            home.folders.clean().unwrap();
            assert_eq!(home.all(), BTreeMap::from(expected));
        }
        home.folders.put_old_back(PARTITION).unwrap();
        home.only("damaged");
        home.folders.put_old_back(PARTITION).unwrap();
        home.only("damaged");
    }

    #[test]
    fn whatever_step_fails_after_an_unusable_copy_what_it_took_the_place_of_is_left() {
        for puts_old_back in [true, false] {
            assert!((1..20).any(|nth| go_on_with_fault(nth, puts_old_back)), "more steps");
        }
    }

    /// Whether the old one, or another copy, was put in place of a copy before change `nth` failed.
    fn go_on_with_fault(nth: u64, puts_old_back: bool) -> bool {
        let home = Home::new();
        home.put("0003", manifest::FILE_NAME, "unusable");
        home.put("0003.old", manifest::FILE_NAME, "damaged");
        let disk: Arc<dyn Directory> = Arc::new(DiskDirectory::open(&home.folders.parent).unwrap());
        let failing = FailingDirectory::new(disk);
        failing.plan(Fault::any_change(io::ErrorKind::Other).nth(nth).lasting());
        let done = if puts_old_back {
            put_old_back(&failing, PARTITION)
        } else {
            home.put("0003.copy", manifest::FILE_NAME, "second");
            put_in_place(&failing, PARTITION)
        };
        home.folders.clean().unwrap();
        home.folders.put_old_back(PARTITION).unwrap();
        home.only("damaged");
        done.is_ok()
    }

    #[test]
    fn folders_of_others_are_left_alone() {
        let home = Home::new();
        for name in ["mine.old", "mine", "3.copy", "0003.copy.old", "0003.other", "+003.discarded"] {
            home.put(name, manifest::FILE_NAME, "of an operator");
        }
        let before = home.all();
        home.folders.clean().unwrap();
        assert_eq!(home.all(), before);
    }

    #[test]
    fn halves_are_removed_and_whole_ones_stay() {
        let home = Home::new();
        home.put("0003", manifest::FILE_NAME, "usable");
        home.put("0003.copy", "log-1", "half");
        home.put("0003.old", manifest::FILE_NAME, "damaged");
        home.folders.clean().unwrap();
        assert_eq!(home.all().len(), 2, "until what is there was opened");
        home.folders.remove_old(PARTITION).unwrap();
        home.only("usable");
        home.put("0004.copy", "unfinished", "half");
        home.folders.clean().unwrap();
        home.only("usable");

        let copy = home.folders.begin_copy(PARTITION).unwrap();
        copy.write_all_new("log-1", b"half").unwrap();
        home.folders.discard_copy(PARTITION).unwrap();
        home.folders.discard_copy(PARTITION).unwrap();
        home.only("usable");

        home.folders.begin_copy(PARTITION).unwrap().write_all_new(manifest::FILE_NAME, b"copy").unwrap();
        home.folders.put_in_place(PARTITION).unwrap();
        assert_eq!(home.all().len(), 2, "until the copy was opened");
        home.folders.remove_old(PARTITION).unwrap();
        home.only("copy");
    }
}
