//! Failing directory: any directory, with failures planned by operation, file and count.
//!
//! ```text
//! caller --> FailingDirectory --(no fault is due)--> the wrapped directory
//!                 \--(the nth matching operation)--> an error; the operation does not happen
//! ```

use std::collections::HashMap;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::io::directory::{Directory, File, LockGuard, LockState, OpenMode};
use crate::io::error::{IoError, Operation};
use crate::io::mapping::{ByteMapping, WordMapping};
use crate::io::write_unit::WriteUnit;
use crate::sync::Mutex;

/// One planned failure.
#[derive(Debug, Clone)]
pub struct Fault {
    operation: Option<Operation>,
    prefix: String,
    nth: u64,
    kind: ErrorKind,
    /// What the error says, if not what its kind does.
    text: Option<String>,
    lasting: bool,
    panics: bool,
    /// How the names of threads begin whose operations count; all do if there is none.
    threads: Option<String>,
}

impl Fault {
    /// The next `operation` on a file whose name begins with `prefix` fails once with `kind`.
    /// A disk that is full says `StorageFull`, one that is broken `Other`.
    /// `SyncDirectory` and `List` have no file; plan them with an empty prefix.
    #[must_use]
    pub fn new(operation: Operation, prefix: &str, kind: ErrorKind) -> Self {
        let prefix = prefix.to_owned();
        Self {
            operation: Some(operation),
            prefix,
            nth: 1,
            kind,
            text: None,
            lasting: false,
            panics: false,
            threads: None,
        }
    }

    /// The next operation that would change anything, or make a change durable, fails once.
    #[must_use]
    pub fn any_change(kind: ErrorKind) -> Self {
        Self { operation: None, ..Self::new(Operation::Write, "", kind) }
    }

    /// Not the next, but the `nth` from now on (the next is 1).
    #[must_use]
    pub fn nth(mut self, nth: u64) -> Self {
        self.nth = nth;
        self
    }

    /// Not once, but from then on for ever.
    #[must_use]
    pub fn lasting(mut self) -> Self {
        self.lasting = true;
        self
    }

    /// Not with the system's words for the kind, but with these.
    #[must_use]
    pub fn saying(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Not an error, but a panic: what a bug below would do.
    #[must_use]
    pub fn panicking(mut self) -> Self {
        self.panics = true;
        self
    }

    /// Only operations of threads whose names begin with `prefix`: of one kind of background work.
    #[must_use]
    pub fn on_threads(mut self, prefix: &str) -> Self {
        self.threads = Some(prefix.to_owned());
        self
    }

    fn error(&self) -> std::io::Error {
        match &self.text {
            Some(text) => std::io::Error::new(self.kind, text.clone()),
            None => self.kind.into(),
        }
    }

    fn matches(&self, operation: Operation, name: &str) -> bool {
        self.operation.map_or(operation.changes(), |planned| planned == operation)
            && name.starts_with(&self.prefix)
            && self.threads.as_deref().is_none_or(|prefix| {
                std::thread::current().name().is_some_and(|thread| thread.starts_with(prefix))
            })
    }
}

/// A directory that fails as planned. Clones share directory, plan and counts.
///
/// Concurrency: one lock around the plan, held for the decision only.
#[derive(Debug, Clone)]
pub struct FailingDirectory {
    inner: Arc<dyn Directory>,
    plan: Arc<Mutex<Plan>>,
}

#[derive(Debug, Default)]
struct Plan {
    faults: Vec<(Fault, u64)>,
    counts: HashMap<Operation, u64>,
}

impl FailingDirectory {
    /// Wraps `inner`; nothing fails yet.
    pub fn new(inner: Arc<dyn Directory>) -> Self {
        Self { inner, plan: Arc::default() }
    }

    /// Adds a failure; it counts operations from now on.
    pub fn plan(&self, fault: Fault) {
        self.plan.lock().faults.push((fault, 0));
    }

    /// Forgets every planned failure.
    pub fn heal(&self) {
        self.plan.lock().faults.clear();
    }

    /// How often `operation` was asked for, failed ones included.
    #[must_use]
    pub fn count(&self, operation: Operation) -> u64 {
        self.plan.lock().counts.get(&operation).copied().unwrap_or(0)
    }

    /// How many operations were asked for that change something or make it durable.
    #[must_use]
    pub fn changes_count(&self) -> u64 {
        let plan = self.plan.lock();
        plan.counts.iter().filter(|(operation, _)| operation.changes()).map(|(_, count)| count).sum()
    }

    fn check(&self, operation: Operation, name: &str) -> Result<(), IoError> {
        match self.plan.lock().next(operation, &[name]) {
            None => Ok(()),
            Some(source) => Err(IoError::new(operation, self.inner.path(name), source)),
        }
    }
}

impl Plan {
    fn next(&mut self, operation: Operation, names: &[&str]) -> Option<std::io::Error> {
        *self.counts.entry(operation).or_default() += 1;
        let mut due = None;
        for (fault, seen) in &mut self.faults {
            if names.iter().any(|name| fault.matches(operation, name)) {
                *seen += 1;
                if *seen == fault.nth || (fault.lasting && *seen > fault.nth) {
                    assert!(!fault.panics, "a planned panic in {operation} {names:?}");
                    due = due.or_else(|| Some(fault.error()));
                }
            }
        }
        due
    }
}

impl Directory for FailingDirectory {
    fn location(&self) -> &Path {
        self.inner.location()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.inner.path(name)
    }

    fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn File>, IoError> {
        self.check(Operation::Open, name)?;
        Ok(Arc::new(FailingFile {
            name: name.to_owned(),
            inner: self.inner.open(name, mode)?,
            plan: self.plan.clone(),
        }))
    }

    fn create(&self, name: &str) -> Result<Arc<dyn File>, IoError> {
        self.check(Operation::Create, name)?;
        Ok(Arc::new(FailingFile {
            name: name.to_owned(),
            inner: self.inner.create(name)?,
            plan: self.plan.clone(),
        }))
    }

    fn exists(&self, name: &str) -> Result<bool, IoError> {
        self.check(Operation::Exists, name)?;
        self.inner.exists(name)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), IoError> {
        match self.plan.lock().next(Operation::Rename, &[from, to]) {
            None => {}
            Some(source) => {
                return Err(IoError::new(Operation::Rename, self.inner.path(from), source));
            }
        }
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<(), IoError> {
        self.check(Operation::Remove, name)?;
        self.inner.remove(name)
    }

    fn list(&self) -> Result<Vec<String>, IoError> {
        self.check(Operation::List, "")?;
        self.inner.list()
    }

    fn sync_directory(&self) -> Result<(), IoError> {
        self.check(Operation::SyncDirectory, "")?;
        self.inner.sync_directory()
    }

    fn write_unit(&self) -> WriteUnit {
        self.inner.write_unit()
    }

    fn allocate(&self, name: &str, bytes: u64) -> Result<(), IoError> {
        self.check(Operation::Allocate, name)?;
        self.inner.allocate(name, bytes)
    }

    fn map(&self, name: &str) -> Result<ByteMapping, IoError> {
        self.check(Operation::Map, name)?;
        self.inner.map(name)
    }

    fn map_words(&self, name: &str, range: Range<u64>) -> Result<WordMapping, IoError> {
        self.check(Operation::Map, name)?;
        self.inner.map_words(name, range)
    }

    fn lock_exclusive(&self, name: &str) -> Result<LockGuard, IoError> {
        self.check(Operation::Lock, name)?;
        self.inner.lock_exclusive(name)
    }

    fn lock_unchanged(&self, name: &str) -> Result<Option<LockGuard>, IoError> {
        self.check(Operation::Lock, name)?;
        self.inner.lock_unchanged(name)
    }

    fn is_replaced(&self) -> Result<bool, IoError> {
        self.inner.is_replaced()
    }

    fn lock_state(&self, name: &str) -> Result<LockState, IoError> {
        self.check(Operation::Lock, name)?;
        self.inner.lock_state(name)
    }
}

#[derive(Debug)]
struct FailingFile {
    name: String,
    inner: Arc<dyn File>,
    plan: Arc<Mutex<Plan>>,
}

impl FailingFile {
    fn check(&self, operation: Operation, offset: Option<u64>) -> Result<(), IoError> {
        match self.plan.lock().next(operation, &[&self.name]) {
            None => Ok(()),
            Some(source) => {
                Err(IoError::Failed { operation, path: self.inner.path().to_owned(), offset, source })
            }
        }
    }
}

impl File for FailingFile {
    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn is_direct(&self) -> bool {
        self.inner.is_direct()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), IoError> {
        self.check(Operation::Read, Some(offset))?;
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), IoError> {
        self.check(Operation::Write, Some(offset))?;
        self.inner.write_at(bytes, offset)
    }

    fn set_len(&self, len: u64) -> Result<(), IoError> {
        self.check(Operation::SetLength, None)?;
        self.inner.set_len(len)
    }

    fn len(&self) -> Result<u64, IoError> {
        self.check(Operation::Length, None)?;
        self.inner.len()
    }

    fn map_words(&self, range: Range<u64>) -> Result<WordMapping, IoError> {
        self.check(Operation::Map, Some(range.start))?;
        self.inner.map_words(range)
    }

    fn sync_data(&self) -> Result<(), IoError> {
        self.check(Operation::Sync, None)?;
        self.inner.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::memory::MemoryDirectory;
    use crate::io::page::{ALIGNMENT_BYTES, AlignedBuffer};

    fn failing() -> FailingDirectory {
        FailingDirectory::new(Arc::new(MemoryDirectory::new("memory")))
    }

    #[test]
    fn the_nth_matching_operation_fails_once_and_does_not_happen() {
        let directory = failing();
        directory.plan(Fault::new(Operation::Write, "log-", ErrorKind::StorageFull).nth(2));
        let log = directory.create("log-1").unwrap();
        let other = directory.create("other").unwrap();
        log.write_at(b"a", 0).unwrap();
        other.write_at(b"b", 0).unwrap();
        let error = log.write_at(b"c", 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        assert_eq!(log.len().unwrap(), 1);
        log.write_at(b"c", 1).unwrap();
        assert_eq!(directory.count(Operation::Write), 4);
        assert_eq!(directory.changes_count(), 6);
    }

    #[test]
    fn a_lasting_fault_stays_until_healed() {
        let directory = failing();
        let file = directory.create("a").unwrap();
        directory.plan(Fault::any_change(ErrorKind::Other).nth(2).lasting());
        file.write_at(b"a", 0).unwrap();
        assert!(file.sync_data().is_err());
        assert!(directory.rename("a", "b").is_err());
        assert!(directory.sync_directory().is_err());
        assert!(file.read_at(&mut [0], 0).is_ok(), "reading changes nothing");
        directory.heal();
        directory.rename("a", "b").unwrap();
    }

    #[test]
    fn a_file_opened_for_direct_io_fails_as_planned_too() {
        let directory = failing();
        directory.write_all_new("csr-1", &[7; ALIGNMENT_BYTES]).unwrap();
        let file = directory.open("csr-1", OpenMode::ReadDirect).unwrap();
        assert!(file.is_direct());
        directory.plan(Fault::new(Operation::Read, "csr-", ErrorKind::Other));
        let mut buffer = AlignedBuffer::zeroed(ALIGNMENT_BYTES);
        assert_eq!(file.read_at(&mut buffer, 0).unwrap_err().kind(), ErrorKind::Other);
        file.read_at(&mut buffer, 0).unwrap();
        assert_eq!(file.read_at(&mut buffer[..1], 0).unwrap_err().kind(), ErrorKind::InvalidInput);
    }

    #[test]
    fn space_and_mappings_fail_as_planned() {
        let directory = failing();
        directory.create("array-1").unwrap();
        directory.plan(Fault::new(Operation::Allocate, "array-", ErrorKind::StorageFull));
        assert_eq!(directory.allocate("array-1", 4096).unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(directory.open("array-1", OpenMode::Read).unwrap().len().unwrap(), 0);
        directory.allocate("array-1", 4096).unwrap();
        directory.plan(Fault::new(Operation::Map, "array-", ErrorKind::Unsupported).saying("not here"));
        let error = directory.map("array-1").err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(error.to_string(), "map memory/array-1: not here");
        assert_eq!(directory.map("array-1").unwrap().length(), 4096);
        assert_eq!(directory.write_unit(), WriteUnit::PAGE);
    }

    #[cfg(not(any(shuttle, loom)))]
    #[test]
    fn a_fault_of_some_threads_meets_no_others() {
        let directory = failing();
        directory.plan(Fault::new(Operation::Create, "", ErrorKind::Other).lasting().on_threads("work"));
        let create = |thread: &str, name: &'static str| {
            let directory = directory.clone();
            let thread = std::thread::Builder::new().name(thread.to_owned());
            thread.spawn(move || directory.create(name).is_ok()).unwrap().join().unwrap()
        };
        assert_eq!([create("work-1", "a"), create("rest", "b"), create("work-2", "c")], [false, true, false]);
    }

    #[test]
    fn a_renaming_fails_by_either_name() {
        let directory = failing();
        directory.create("manifest.new").unwrap();
        directory.plan(Fault::new(Operation::Rename, "manifest", ErrorKind::Other).nth(1));
        assert!(directory.rename("manifest.new", "manifest").is_err());
        assert!(directory.exists("manifest.new").unwrap());
        directory.rename("manifest.new", "manifest").unwrap();
    }
}
