//! Lock file: a file whose lock one process has at a time, and that names it.
//!
//! ```text
//! take          locks the file, which is made if there is none, and leaves the id of the process in it
//! look          has the lock shared, for a moment: whoever takes it waits for that, but not for a holder
//! give back     when the guard is dropped, or the process ends, however it ends
//! ```
//!
//! Whoever holds the lock may remove the file. So each who locked it looks whether it still has its name: else two processes could
//! hold locks of one name.

use std::fs::{File as SystemFile, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;

use crate::io::directory::{LockGuard, LockState};
use crate::io::error::{IoError, Operation};
use crate::io::folder::Folder;
use crate::sync::{Condvar, Mutex};

/// How often, and how long apart, a lock is tried that nobody holds, while others look whether somebody does.
const LOCK_TRIES: u32 = 5000;
const LOCK_AGAIN: Duration = Duration::from_millis(1);
/// So many files in a row that lost their name before they were locked are not the work of holders who removed theirs.
const FILES_MAX: u32 = 10_000;

/// The file of a lock, which may not exist.
#[derive(Debug)]
pub(crate) struct LockFile<'a> {
    pub(crate) folder: &'a Folder,
    /// Where the folder lies, for error messages.
    pub(crate) location: &'a Path,
    pub(crate) name: &'a str,
}

impl LockFile<'_> {
    /// Takes the lock, and leaves the id of this process in its file.
    pub(crate) fn take(&self) -> Result<LockGuard, IoError> {
        let file = self.first_with_its_name(|| {
            let opened = self.folder.open_or_create_file(self.name);
            self.locked(opened.map_err(|source| self.failed(source))?)
        })?;
        // The id serves a message only. A full disk, which leaves the file empty, is no reason
        // to keep anybody from reading the database.
        let holder = format!("{}\n", std::process::id());
        let left = file.set_len(0).and_then(|()| file.write_all_at(holder.as_bytes(), 0));
        match left {
            Err(source) if source.kind() != ErrorKind::StorageFull => Err(self.failed(source)),
            _ => Ok(LockGuard::new(HeldLock { file, has_id: true })),
        }
    }

    /// Takes the lock of a file that exists, and leaves it as it is.
    pub(crate) fn take_unchanged(&self) -> Result<Option<LockGuard>, IoError> {
        self.first_with_its_name(|| {
            let Some(file) = self.open()? else { return Ok(Some(None)) };
            let locked = self.locked(file)?;
            Ok(locked.map(|file| Some(LockGuard::new(HeldLock { file, has_id: false }))))
        })
    }

    /// Whether somebody has the lock, and who.
    pub(crate) fn state(&self) -> Result<LockState, IoError> {
        self.first_with_its_name(|| {
            let Some(file) = self.open()? else { return Ok(Some(LockState::Free)) };
            match file.try_lock_shared() {
                // Explicit, as below.
                Ok(()) => file.unlock().map_err(|source| self.failed(source))?,
                Err(TryLockError::WouldBlock) => return Ok(Some(LockState::Held(read_holder(&file)))),
                Err(TryLockError::Error(source)) => return Err(self.failed(source)),
            }
            Ok(self.has_its_name(&file)?.then_some(LockState::Free))
        })
    }

    /// What the first `attempt` came to whose file had its name afterwards.
    fn first_with_its_name<T>(
        &self,
        mut attempt: impl FnMut() -> Result<Option<T>, IoError>,
    ) -> Result<T, IoError> {
        for _ in 0..FILES_MAX {
            if let Some(done) = attempt()? {
                return Ok(done);
            }
        }
        let text =
            "another file has its name each time: locks need a file system on which a file keeps its number";
        Err(self.failed(std::io::Error::other(text)))
    }

    fn open(&self) -> Result<Option<SystemFile>, IoError> {
        match self.folder.open_file(self.name, false, OFlags::empty()) {
            Ok(file) => Ok(Some(file)),
            Err(source) if source.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// The file, locked, if it still has its name.
    fn locked(&self, file: SystemFile) -> Result<Option<SystemFile>, IoError> {
        if !take_lock(&file).map_err(|source| self.failed(source))? {
            let holder = read_holder(&file);
            return Err(IoError::Locked { directory: self.location.to_owned(), holder });
        }
        Ok(self.has_its_name(&file)?.then_some(file))
    }

    fn has_its_name(&self, file: &SystemFile) -> Result<bool, IoError> {
        self.folder.has(self.name, file).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: std::io::Error) -> IoError {
        IoError::new(Operation::Lock, self.location.join(self.name), source)
    }
}

/// Locks a file; whether nobody else holds its lock. Who only looks at it has it shared, for a moment that is waited for.
fn take_lock(file: &SystemFile) -> std::io::Result<bool> {
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(source)) => return Err(source),
        }
        // Beside those who look, not beside a holder.
        match file.try_lock_shared() {
            Ok(()) => file.unlock()?,
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(source)) => return Err(source),
        }
        let (lock, waited) = (Mutex::new(()), Condvar::default());
        drop(waited.wait_timeout(lock.lock(), LOCK_AGAIN));
    }
    Ok(false)
}

/// The id that the holder left, if it is whole.
fn read_holder(file: &SystemFile) -> Option<u32> {
    let mut bytes = [0; 16];
    let length = file.read_at(&mut bytes, 0).ok()?;
    std::str::from_utf8(&bytes[..length]).ok()?.strip_suffix('\n')?.parse().ok()
}

#[derive(Debug)]
struct HeldLock {
    file: SystemFile,
    /// Whether the id of this process stands in the file.
    has_id: bool,
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        if self.has_id {
            // So that nobody is told of this process who finds the lock held by one that leaves no id.
            let _ = self.file.set_len(0);
        }
        // Explicit, because a child process that inherited the handle would keep the lock.
        // An error leaves it to the closing of the handle, which comes next.
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::directory::Directory as _;
    use crate::io::disk::DiskDirectory;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn temporary() -> (tempfile::TempDir, DiskDirectory) {
        let place = tempfile::tempdir().unwrap();
        let directory = DiskDirectory::open(place.path()).unwrap();
        (place, directory)
    }

    #[test]
    fn a_name_that_never_stays_is_told_and_not_tried_for_ever() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(place.path()).unwrap();
        let lock = LockFile { folder: &folder, location: place.path(), name: "lock" };
        let error = lock.first_with_its_name(|| Ok(None::<()>)).unwrap_err().to_string();
        assert!(error.contains("/lock") && error.contains("keeps its number"), "{error}");
    }

    #[test]
    fn who_only_reads_takes_the_lock_and_changes_nothing() {
        let (_place, directory) = temporary();
        assert!(directory.lock_unchanged("lock").unwrap().is_none());
        assert!(!directory.exists("lock").unwrap());
        directory.write_all_new("lock", b"17\n").unwrap();
        let held = directory.lock_unchanged("lock").unwrap();
        assert!(held.is_some());
        assert!(matches!(directory.lock_exclusive("lock"), Err(IoError::Locked { .. })));
        assert_eq!(directory.read_all("lock", 99).unwrap(), b"17\n");
        drop(held);
        let _writer = directory.lock_exclusive("lock").unwrap();
        assert!(matches!(directory.lock_unchanged("lock"), Err(IoError::Locked { .. })));
    }

    #[test]
    fn whoever_looks_at_a_lock_keeps_nobody_from_taking_it() {
        let (_place, directory) = temporary();
        assert_eq!(directory.lock_state("lock").unwrap(), LockState::Free);
        assert!(!directory.exists("lock").unwrap());
        let running = Arc::new(());
        let watched = Arc::downgrade(&running);
        std::thread::scope(|scope| {
            // Dropped at the end, also where an assertion fails: that ends the loops.
            let _running = running;
            for _ in 0..4 {
                let other = DiskDirectory::open(directory.location()).unwrap();
                let watched = &watched;
                scope.spawn(move || {
                    while watched.strong_count() > 0 {
                        let state = other.lock_state("lock").unwrap();
                        let this = std::process::id();
                        // The file is empty between a process' locking and its id.
                        assert!(
                            matches!(state, LockState::Free | LockState::Held(None))
                                || state == LockState::Held(Some(this))
                        );
                    }
                });
            }
            let taken = (0..200).all(|_| directory.lock_exclusive("lock").is_ok());
            assert!(taken, "a lock that nobody holds is refused");
        });
        let _held = directory.lock_exclusive("lock").unwrap();
        assert_eq!(directory.lock_state("lock").unwrap(), LockState::Held(Some(std::process::id())));
    }

    /// Two that hold locks of one name, in a file and in another one that followed it, would both go on.
    #[test]
    fn a_lock_whose_file_is_removed_by_its_holder_is_held_by_one_at_a_time() {
        let (_place, directory) = temporary();
        let (holders, running) = (AtomicU32::new(0), Arc::new(()));
        let watched = Arc::downgrade(&running);
        let take = |directory: &DiskDirectory| {
            let lock = match directory.lock_exclusive("lock") {
                Ok(lock) => lock,
                Err(IoError::Locked { .. }) => return,
                Err(error) => panic!("{error}"),
            };
            assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0, "two hold the lock");
            std::thread::yield_now();
            holders.fetch_sub(1, Ordering::SeqCst);
            directory.remove("lock").unwrap();
            drop(lock);
        };
        std::thread::scope(|scope| {
            // Dropped at the end, also where an assertion fails: that ends the loops.
            let _running = running;
            for _ in 0..3 {
                let other = DiskDirectory::open(directory.location()).unwrap();
                let (take, watched) = (&take, &watched);
                scope.spawn(move || {
                    while watched.strong_count() > 0 {
                        take(&other);
                    }
                });
            }
            (0..2000).for_each(|_| take(&directory));
        });
    }

    #[test]
    fn a_process_that_has_ended_leaves_no_id_behind() {
        let (_place, directory) = temporary();
        drop(directory.lock_exclusive("lock").unwrap());
        // As a salvage does, which may change nothing.
        let _held = directory.lock_unchanged("lock").unwrap();
        assert!(matches!(directory.lock_exclusive("lock"), Err(IoError::Locked { holder: None, .. })));
        assert_eq!(directory.lock_state("lock").unwrap(), LockState::Held(None));
    }

    #[test]
    fn a_second_opening_is_told_who_holds_the_lock() {
        let (_place, directory) = temporary();
        let held = directory.lock_exclusive("lock").unwrap();
        let second = DiskDirectory::open(directory.location()).unwrap();
        let error = second.lock_exclusive("lock").unwrap_err();
        assert!(matches!(error, IoError::Locked { holder: Some(id), .. } if id == std::process::id()));
        drop(held);
        let _held = second.lock_exclusive("lock").unwrap();
    }

    #[test]
    fn the_id_of_a_process_that_died_is_no_obstacle() {
        let (_place, directory) = temporary();
        directory.write_all_new("lock", b"4294967295\nmore").unwrap();
        let _held = directory.lock_exclusive("lock").unwrap();
        let expected = format!("{}\n", std::process::id());
        assert_eq!(directory.read_all("lock", 99).unwrap(), expected.as_bytes());
    }
}
