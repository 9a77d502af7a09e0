//! Spill folder: where algorithms on a database's lists make their scratch files.

use crate::format::file_name::FileNumber;
use crate::spill::file::{SpillFile, SpillPlace};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::scratch::{Scratch, ScratchFile};
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::path::Path;
use std::sync::Arc;

/// A database's directory and its numbers of files, for whoever outlives a call.
#[derive(Clone, Debug)]
pub struct SpillFolder {
    directory: Arc<dyn Directory>,
    /// The next number of a file. Relaxed: nothing is published through it.
    next: Arc<AtomicU64>,
}

impl SpillFolder {
    /// Files are made in `directory`, under numbers from `next` on.
    #[must_use]
    pub fn new(directory: &Arc<dyn Directory>, next: &Arc<AtomicU64>) -> Self {
        Self { directory: Arc::clone(directory), next: Arc::clone(next) }
    }

    /// Does `work` with a place for spill files.
    ///
    /// # Errors
    /// Those of `work`; what the system says of a temporary file names the folder, and is `limit` if the disk is full.
    pub(crate) fn with_place<A>(&self, work: impl FnOnce(SpillPlace<'_>) -> Result<A>) -> Result<A> {
        let next_number = || FileNumber(self.next.fetch_add(1, Ordering::Relaxed));
        work(SpillPlace { directory: &self.directory, next_number: &next_number })
    }

    /// The outcome of `doing` something to a temporary file; an error names the folder.
    pub(crate) fn describe<A>(&self, doing: &str, outcome: CheckpointResult<A>) -> Result<A> {
        outcome.map_err(|error| failed(self.directory.location(), doing, error))
    }
}

/// The error of `doing` something to a temporary file in `folder`.
#[cold]
fn failed(folder: &Path, doing: &str, error: CheckpointError) -> Error {
    let what = format!("{doing} a temporary file in {}", folder.display());
    let cause = Error::from(error);
    match cause.kind() {
        ErrorKind::Limit => {
            Error::new(ErrorKind::Limit, format!("{what}: the disk is full; make space there")).because(cause)
        }
        _ => Error::new(ErrorKind::Io, format!("{what}: {cause}")).because(cause),
    }
}

impl Scratch for SpillFolder {
    fn create(&self) -> Result<Box<dyn ScratchFile>> {
        let file = self.with_place(|place| self.describe("create", SpillFile::create(&place)))?;
        Ok(Box::new(FolderFile { folder: self.clone(), file }))
    }
}

/// A file of a folder.
struct FolderFile {
    folder: SpillFolder,
    file: SpillFile,
}

impl ScratchFile for FolderFile {
    fn append(&mut self, bytes: &[u8]) -> Result<u64> {
        self.folder.describe("write", self.file.append(bytes))
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.folder.describe("read", self.file.read(buffer, offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_storage::io::error::Operation;
    use evergraph_storage::io::failing::{FailingDirectory, Fault};
    use evergraph_storage::io::memory::MemoryDirectory;

    #[test]
    fn a_file_has_no_name_and_its_errors_name_the_folder() {
        let failing = FailingDirectory::new(Arc::new(MemoryDirectory::new("some/folder")));
        let directory: Arc<dyn Directory> = Arc::new(failing.clone());
        let folder = SpillFolder::new(&directory, &Arc::new(AtomicU64::new(5)));
        let mut file = folder.create().unwrap();
        assert!(directory.list().unwrap().is_empty());
        assert_eq!([file.append(b"one").unwrap(), file.append(b"two").unwrap()], [0, 3]);
        let mut found = [0; 4];
        file.read(&mut found, 1).unwrap();
        assert_eq!(&found, b"netw");
        let kinds =
            [(std::io::ErrorKind::StorageFull, ErrorKind::Limit), (std::io::ErrorKind::Other, ErrorKind::Io)];
        for (system, kind) in kinds {
            for operation in [Operation::Create, Operation::Write, Operation::Read, Operation::Remove] {
                failing.plan(Fault::new(operation, "", system));
                let error = match operation {
                    Operation::Write => file.append(b"three").unwrap_err(),
                    Operation::Read => file.read(&mut found, 0).unwrap_err(),
                    _ => folder.create().err().unwrap(),
                };
                assert_eq!(error.kind(), kind, "{error}");
                assert!(error.to_string().contains("some/folder"), "{error}");
            }
        }
    }
}
