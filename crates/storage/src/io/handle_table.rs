//! Handle table: files that are read have a bounded number of open handles, and are opened again by name when one is read
//! whose handle was closed.
//!
//! ```text
//! read_at ──> handle there ──> read                                   one lock of the file's own
//!               └ closed ──> opened again by name ──> in the table ──> more than may be: another one is closed
//! clock       [ a used ] [ b ] [ c used ] ...      from the front: a used one goes to the back, another one is closed
//! kept open   files whose name goes: they are in no table, and stay open for as long as somebody holds them
//! ```
//!
//! A read holds a count of the handle, so that a handle which is closed meanwhile goes when the read has ended.
//!
//! A name must lead to the same file for as long as the table opens files again. Whoever removes a name first keeps the
//! file open ([`TableFile::keep_open`]); whoever gives up the lock of the directory closes the table before
//! ([`HandleTable::close`]).

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use crate::io::directory::{Directory, File, OpenMode};
use crate::io::error::{IoError, Operation};
use crate::io::open_files::{handles_max, is_out_of_handles};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Handles that are closed at once where the process may have no more.
const CLOSED_AT_ONCE: usize = 32;

/// What a table has done, and what it has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HandleStatistics {
    /// Handles that may be closed when others are opened.
    pub open: u64,
    /// How many of them there are at most.
    pub open_max: u64,
    /// How often a file was opened again.
    pub opened_again: u64,
}

/// The open handles of many files.
///
/// # Concurrency
/// Any thread reads and opens. Each file has a lock of its own, which is held while it is opened, and for a few instructions
/// of each read. The table's lock is a leaf below those: of other files it only tries the locks.
#[derive(Debug)]
pub struct HandleTable {
    clock: Mutex<VecDeque<Weak<FileSlot>>>,
    open_max: usize,
    /// Files that went with an open handle, and are in the clock still. Relaxed, as the next: a hint, and a statistic.
    gone: AtomicU64,
    opened_again: AtomicU64,
    /// Release when the directory is given up; Acquire before a file is opened again.
    is_closed: AtomicBool,
}

/// A file of a table.
#[derive(Debug)]
struct FileSlot {
    handle: Mutex<SlotHandle>,
    /// Since the clock came by. Relaxed: which file is closed next decides nothing but speed.
    is_used: AtomicBool,
    table: Weak<HandleTable>,
}

#[derive(Debug)]
struct SlotHandle {
    file: Option<Arc<dyn File>>,
    is_kept: bool,
}

impl Drop for FileSlot {
    fn drop(&mut self) {
        if let Some(table) = self.table.upgrade() {
            table.gone.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl HandleTable {
    /// A table for about half as many handles as the process may have.
    #[must_use]
    pub fn of_process() -> Arc<Self> {
        Self::new(handles_max())
    }

    /// A table for `open_max` handles, and at least one.
    #[must_use]
    pub fn new(open_max: usize) -> Arc<Self> {
        Arc::new(Self {
            clock: Mutex::default(),
            open_max: open_max.max(1),
            gone: AtomicU64::new(0),
            opened_again: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
        })
    }

    /// Opens a file that exists, to read it, and closes another one if there are too many.
    ///
    /// # Errors
    /// As [`Directory::open`].
    pub fn open(
        self: &Arc<Self>,
        directory: &Arc<dyn Directory>,
        name: &str,
        mode: OpenMode,
    ) -> Result<TableFile, IoError> {
        let file = self.open_file(&**directory, name, mode)?;
        let opened = TableFile {
            path: file.path().to_owned(),
            is_direct: file.is_direct(),
            directory: Arc::clone(directory),
            name: name.to_owned(),
            mode,
            table: Arc::clone(self),
            slot: Arc::new(FileSlot {
                handle: Mutex::new(SlotHandle { file: Some(file), is_kept: false }),
                is_used: AtomicBool::new(false),
                table: Arc::downgrade(self),
            }),
        };
        self.add(&opened.slot);
        Ok(opened)
    }

    /// From here on nothing is closed, and nothing opened again: the names may lead to other files.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    /// What it has done. Cost: a look at each file of it.
    #[must_use]
    pub fn statistics(&self) -> HandleStatistics {
        let open = self.clock.lock().iter().filter(|slot| slot.strong_count() > 0).count();
        HandleStatistics {
            open: open as u64,
            open_max: self.open_max as u64,
            opened_again: self.opened_again.load(Ordering::Relaxed),
        }
    }

    /// Opens a file; others are closed for it if the process has as many open as it may.
    fn open_file(
        &self,
        directory: &dyn Directory,
        name: &str,
        mode: OpenMode,
    ) -> Result<Arc<dyn File>, IoError> {
        match directory.open(name, mode) {
            Err(IoError::Failed { source, .. })
                if is_out_of_handles(&source) && self.shrink(CLOSED_AT_ONCE) > 0 =>
            {
                directory.open(name, mode)
            }
            opened => opened,
        }
    }

    /// Adds a file whose handle was just opened.
    fn add(&self, slot: &Arc<FileSlot>) {
        let mut clock = self.clock.lock();
        clock.push_back(Arc::downgrade(slot));
        let more = clock.len().saturating_sub(self.open_max);
        if more == 0 {
            return;
        }
        if self.gone.swap(0, Ordering::Relaxed) > 0 {
            clock.retain(|slot| slot.strong_count() > 0);
        }
        let more = clock.len().saturating_sub(self.open_max);
        drop(clock);
        self.shrink(more);
    }

    /// Closes so many handles, if there are so many that nobody needs; how many it closed. They go outside of the lock.
    fn shrink(&self, count: usize) -> usize {
        let mut closed = Vec::new();
        if self.is_closed.load(Ordering::Acquire) {
            return 0;
        }
        let mut clock = self.clock.lock();
        // A used one is met twice.
        for _ in 0..2 * clock.len() {
            if closed.len() == count {
                break;
            }
            let Some(front) = clock.pop_front() else { break };
            let Some(slot) = front.upgrade() else { continue };
            let Some(mut handle) = slot.handle.try_lock() else {
                // Somebody opens it, or is about to read it.
                clock.push_back(front);
                continue;
            };
            if handle.is_kept || handle.file.is_none() {
                continue;
            }
            if slot.is_used.swap(false, Ordering::Relaxed) {
                drop(handle);
                clock.push_back(front);
                continue;
            }
            let file = handle.file.take();
            drop(handle);
            closed.push((file, slot));
        }
        drop(clock);
        closed.len()
    }
}

/// A file that is read, whose handle is open or is opened when it is read next. It may not be written.
#[derive(Debug)]
pub struct TableFile {
    path: PathBuf,
    is_direct: bool,
    directory: Arc<dyn Directory>,
    name: String,
    mode: OpenMode,
    table: Arc<HandleTable>,
    slot: Arc<FileSlot>,
}

impl TableFile {
    /// Opens the file if it isn't open, and keeps it open until it is dropped: before its name goes.
    ///
    /// # Errors
    /// As [`Directory::open`]. It is not kept open then.
    pub fn keep_open(&self) -> Result<(), IoError> {
        let mut handle = self.slot.handle.lock();
        if handle.file.is_none() {
            handle.file = Some(self.open_again()?);
        }
        handle.is_kept = true;
        Ok(())
    }

    fn handle(&self) -> Result<Arc<dyn File>, IoError> {
        let mut handle = self.slot.handle.lock();
        if let Some(file) = &handle.file {
            if !self.slot.is_used.load(Ordering::Relaxed) {
                self.slot.is_used.store(true, Ordering::Relaxed);
            }
            return Ok(Arc::clone(file));
        }
        let file = self.open_again()?;
        handle.file = Some(Arc::clone(&file));
        drop(handle);
        self.table.add(&self.slot);
        Ok(file)
    }

    fn open_again(&self) -> Result<Arc<dyn File>, IoError> {
        let refused =
            |problem: &str| IoError::new(Operation::Open, &self.path, std::io::Error::other(problem));
        if self.table.is_closed.load(Ordering::Acquire) {
            return Err(refused("the database was closed, and this file of it is not open any more"));
        }
        let opened = self.table.open_file(&*self.directory, &self.name, self.mode);
        let file = opened.map_err(|error| match error.kind() {
            ErrorKind::NotFound => refused("the file is missing"),
            _ => error,
        })?;
        self.table.opened_again.fetch_add(1, Ordering::Relaxed);
        Ok(file)
    }

    fn refused(&self, operation: Operation) -> IoError {
        let cause = std::io::Error::new(ErrorKind::PermissionDenied, "the file is open to be read");
        IoError::new(operation, &self.path, cause)
    }
}

impl File for TableFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn is_direct(&self) -> bool {
        self.is_direct
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), IoError> {
        self.handle()?.read_at(buffer, offset)
    }

    fn write_at(&self, _bytes: &[u8], _offset: u64) -> Result<(), IoError> {
        Err(self.refused(Operation::Write))
    }

    fn set_len(&self, _len: u64) -> Result<(), IoError> {
        Err(self.refused(Operation::SetLength))
    }

    fn len(&self) -> Result<u64, IoError> {
        self.handle()?.len()
    }

    fn sync_data(&self) -> Result<(), IoError> {
        Err(self.refused(Operation::Sync))
    }
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;
    use crate::io::failing::{FailingDirectory, Fault};
    use crate::io::memory::MemoryDirectory;

    struct Fixture {
        failing: FailingDirectory,
        directory: Arc<dyn Directory>,
        table: Arc<HandleTable>,
    }

    #[allow(clippy::unwrap_used, reason = "a test's helper fails as the test does")]
    impl Fixture {
        /// Files `f0`, `f1` and so on, each of its number.
        fn new(files: u8, open_max: usize) -> (Self, Vec<TableFile>) {
            let failing = FailingDirectory::new(Arc::new(MemoryDirectory::new("db")));
            let directory: Arc<dyn Directory> = Arc::new(failing.clone());
            let table = HandleTable::new(open_max);
            let open = |number: u8| {
                let name = format!("f{number}");
                directory.write_all_new(&name, &[number]).unwrap();
                table.open(&directory, &name, OpenMode::Read).unwrap()
            };
            let opened = (0..files).map(open).collect();
            (Self { failing, directory, table }, opened)
        }

        fn opened(&self) -> u64 {
            self.failing.count(Operation::Open)
        }
    }

    fn read(file: &TableFile) -> Result<u8, IoError> {
        let mut byte = [0];
        file.read_at(&mut byte, 0).map(|()| byte[0])
    }

    #[test]
    fn many_files_are_read_with_few_handles() {
        let (fixture, files) = Fixture::new(10, 3);
        assert_eq!((fixture.table.statistics().open, fixture.opened()), (3, 10));
        for round in 0..3 {
            for (number, file) in (0..).zip(&files) {
                assert_eq!(read(file).unwrap(), number, "round {round}");
                assert!(fixture.table.statistics().open <= 3);
            }
        }
        assert!(fixture.table.statistics().opened_again >= 20);
        let before = fixture.opened();
        (0..5).for_each(|_| assert_eq!(read(&files[9]).unwrap(), 9));
        assert_eq!(fixture.opened(), before, "what is open is not opened again");
    }

    #[test]
    fn what_is_read_often_stays_open() {
        let (fixture, files) = Fixture::new(10, 3);
        read(&files[0]).unwrap();
        let mut again = 0;
        for file in &files[1..] {
            let before = fixture.opened();
            read(&files[0]).unwrap();
            again += fixture.opened() - before;
            read(file).unwrap();
        }
        assert!(again <= 1, "it was opened {again} times");
    }

    #[test]
    fn a_file_whose_name_goes_is_kept_open_and_no_other_is() {
        let (fixture, files) = Fixture::new(6, 2);
        files[0].keep_open().unwrap();
        fixture.directory.remove("f0").unwrap();
        fixture.directory.remove("f1").unwrap();
        for _ in 0..3 {
            assert!(files[2..].iter().all(|file| read(file).is_ok()));
            assert_eq!(read(&files[0]).unwrap(), 0);
            assert!(fixture.table.statistics().open <= 2);
        }
        let missing = read(&files[1]).unwrap_err();
        assert!(missing.to_string().contains("f1: the file is missing"), "{missing}");
        assert_ne!(missing.kind(), ErrorKind::NotFound, "that would be said of a vertex");
    }

    #[test]
    fn a_failure_to_open_again_names_the_file_and_is_tried_anew() {
        let (fixture, files) = Fixture::new(4, 1);
        fixture.failing.plan(Fault::new(Operation::Open, "f0", ErrorKind::Other));
        let failed = read(&files[0]).unwrap_err();
        assert!(failed.to_string().starts_with("open db/f0"), "{failed}");
        assert_eq!(read(&files[0]).unwrap(), 0);
        fixture.failing.plan(Fault::new(Operation::Open, "f1", ErrorKind::Other));
        assert!(files[1].keep_open().is_err());
        assert_eq!(read(&files[1]).unwrap(), 1);
    }

    #[test]
    fn a_closed_table_opens_and_closes_nothing() {
        let (fixture, files) = Fixture::new(3, 2);
        fixture.table.close();
        let refused = read(&files[0]).unwrap_err();
        assert!(refused.to_string().contains("the database was closed"), "{refused}");
        assert_eq!((read(&files[1]).unwrap(), read(&files[2]).unwrap()), (1, 2));
    }

    #[test]
    fn handles_of_files_that_are_gone_count_no_longer() {
        let (fixture, mut files) = Fixture::new(3, 3);
        files.drain(..2);
        let more = |number: u8| {
            let name = format!("more{number}");
            fixture.directory.write_all_new(&name, &[number]).unwrap();
            fixture.table.open(&fixture.directory, &name, OpenMode::Read).unwrap()
        };
        let more = [more(0), more(1)];
        let before = fixture.opened();
        assert!(read(&files[0]).is_ok() && more.iter().all(|file| read(file).is_ok()));
        assert_eq!(fixture.opened(), before);
    }

    #[test]
    fn threads_that_read_more_files_than_may_be_open_read_the_right_ones() {
        let (fixture, files) = Fixture::new(12, 2);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let files = &files;
                scope.spawn(move || {
                    for step in 0..2000 {
                        let number = (step * 7 + thread * 5) % 12;
                        assert_eq!(usize::from(read(&files[number]).unwrap()), number);
                    }
                });
            }
        });
        assert!(fixture.table.statistics().open <= 2 + 4);
    }
}
