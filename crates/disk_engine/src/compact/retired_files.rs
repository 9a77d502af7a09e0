//! Retired files: inputs of compactions that no manifest names any more, until nobody reads them.
//!
//! ```text
//! outputs durable ──> manifest edit durable ──> retire ──> no set, generation or reader holds it ──> removed
//! ```
//!
//! An open file could be removed at once where the system keeps it for those who have it open. It is not, since backups
//! open files by name, and not every system removes an open file.
//!
//! Which files are retired is not stored: opening removes every file that the manifest does not name.

use crate::file::csr_file::CsrFile;
use crate::file::page_reader::PageReader;
use crate::format::file_name::{CsrFileName, FileContent, FileNumber};
use evergraph_storage::checkpoint::manifest::remove_if_there;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::IoError;
use std::sync::{Arc, Weak};

/// Files to be removed when nobody holds them.
///
/// # Concurrency
/// One thread at a time: it belongs to the checkpointer's place.
#[derive(Debug, Default)]
pub struct RetiredFiles {
    files: Vec<RetiredFile>,
}

#[derive(Debug)]
struct RetiredFile {
    number: FileNumber,
    /// Nobody gets a file back that nobody holds.
    file: Weak<CsrFile>,
}

impl RetiredFiles {
    /// Retires `files`, which are in no set that begins from now on, and which no manifest names that a crash may bring
    /// back: the manifest edit is durable.
    pub fn retire<'a>(&mut self, files: impl IntoIterator<Item = &'a Arc<CsrFile>>) {
        let retired = |file: &Arc<CsrFile>| RetiredFile { number: file.number(), file: Arc::downgrade(file) };
        self.files.extend(files.into_iter().map(retired));
    }

    /// Whether a file is retired, and still on disk.
    #[must_use]
    pub fn contains(&self, number: FileNumber) -> bool {
        self.files.iter().any(|retired| retired.number == number)
    }

    /// How many files are on disk that no manifest names, because somebody reads them or they could not be removed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Removes those that nobody holds, and their pages from the cache. Why one of them could not be removed; then it is
    /// tried again the next time. Cost: two system calls a file that goes.
    #[must_use]
    pub fn sweep(&mut self, directory: &dyn Directory, reader: &PageReader) -> Option<IoError> {
        let mut failed = None;
        self.files.retain(|retired| {
            if retired.file.strong_count() > 0 {
                return true;
            }
            reader.forget_file(retired.number);
            let both = [FileContent::Topology, FileContent::Columns];
            let names = both.map(|content| CsrFileName::new(retired.number, content).to_string());
            match names.iter().try_for_each(|name| remove_if_there(directory, name)) {
                Ok(()) => false,
                Err(error) => {
                    failed = Some(error);
                    true
                }
            }
        });
        failed
    }
}
