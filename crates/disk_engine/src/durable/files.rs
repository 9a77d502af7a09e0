//! Database files: where CSR files lie, which numbers they get, and which of them a manifest may name.
//!
//! ```text
//! number taken ──> written, synced ──> in the set ──> named by a durable manifest ──> no manifest names it: removed
//!                    └ failed: removed                                                    └ not removed: tried again
//! ```
//!
//! The lock of what is on disk is the *checkpointer's place*: who holds it may replace the manifest, and nobody else
//! removes a file that a manifest named. It comes before the log's locks, the place of the flush and the latch.

use crate::durable::section::{FileList, file_parts};
use crate::format::file_name::{CsrFileName, FileContent, FileNumber};
use crate::spill::scratch::SpillFolder;
use crate::stored_file::StoredFile;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::checkpoint::manifest::{Manifest, NEW_FILE_NAME, remove_if_there};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::IoError;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use evergraph_storage::sync::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The files of one open database.
///
/// # Concurrency
/// Any thread takes numbers. One at a time has the checkpointer's place, the others wait for it.
#[derive(Debug)]
pub struct DatabaseFiles {
    directory: Arc<dyn Directory>,
    /// The next number of a file. Relaxed: nothing is published through it.
    next: Arc<AtomicU64>,
    on_disk: Mutex<FilesOnDisk>,
    /// Held by who flushes: generations are installed one by one.
    flushing: Mutex<()>,
    /// Whether the set has outputs of compactions that no manifest names. Relaxed, as the next: when a checkpoint is due
    /// may be known a look later.
    has_unnamed_outputs: AtomicBool,
    /// Bytes of files that the manifest names and the set hasn't any more.
    replaced_bytes: AtomicU64,
}

/// Files that a manifest named, or may have. Those that were just flushed or loaded are not among them before one names
/// them.
#[derive(Debug, Default)]
pub struct FilesOnDisk {
    present: BTreeSet<CsrFileName>,
}

impl DatabaseFiles {
    /// Those of a database whose manifest was read from `directory`, with the files of `list`. The directory is synced:
    /// the manifest that was read could be one whose renaming a power cut still takes back, and then the files of the
    /// one before are needed. Nothing is removed yet: see [`DatabaseFiles::remove_unnamed`].
    ///
    /// # Errors
    /// `Corrupt` for a file of the list that is missing, and what the system says.
    pub fn open(
        directory: &Arc<dyn Directory>,
        manifest: &Manifest,
        list: &FileList,
    ) -> CheckpointResult<Self> {
        if !planted(Bug::OpenedNotSynced) {
            directory.sync_directory()?;
        }
        let present: BTreeSet<CsrFileName> =
            directory.list()?.iter().filter_map(|name| CsrFileName::parse(name)).collect();
        if let Some(missing) = list.names().find(|name| !present.contains(name)) {
            return Err(missing_file(&**directory, missing));
        }
        // A number that the crash left a file of is not used again either.
        let after = |name: &CsrFileName| name.number.0.saturating_add(1);
        let next = present.iter().map(after).fold(manifest.next_file, u64::max);
        Ok(Self {
            directory: Arc::clone(directory),
            next: Arc::new(AtomicU64::new(next)),
            on_disk: Mutex::new(FilesOnDisk { present }),
            flushing: Mutex::default(),
            has_unnamed_outputs: AtomicBool::new(false),
            replaced_bytes: AtomicU64::new(0),
        })
    }

    /// Those of an engine that has none yet, in an empty `directory`.
    #[must_use]
    pub fn empty(directory: &Arc<dyn Directory>) -> Self {
        Self {
            directory: Arc::clone(directory),
            next: Arc::new(AtomicU64::new(1)),
            on_disk: Mutex::default(),
            flushing: Mutex::default(),
            has_unnamed_outputs: AtomicBool::new(false),
            replaced_bytes: AtomicU64::new(0),
        }
    }

    /// Removes what an interrupted checkpoint or load left: when the files of `list` were opened.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove_unnamed(&self, list: &FileList) -> CheckpointResult<()> {
        remove_if_there(&*self.directory, NEW_FILE_NAME)?;
        match self.hold().remove_unnamed(&*self.directory, list) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// Where the files lie.
    #[must_use]
    pub fn directory(&self) -> &Arc<dyn Directory> {
        &self.directory
    }

    /// Where temporary files are made.
    #[must_use]
    pub fn spill_folder(&self) -> SpillFolder {
        SpillFolder::new(&self.directory, &self.next)
    }

    /// A number that no file of this database ever had.
    pub fn take_number(&self) -> FileNumber {
        FileNumber(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Greater than every number that was taken.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Takes the place of the flush: whoever holds it is the only one that installs files of generations.
    pub fn flush_place(&self) -> MutexGuard<'_, ()> {
        self.flushing.lock()
    }

    /// Takes the checkpointer's place: the manifest on disk stays while it is held, with every file that it names.
    pub fn hold(&self) -> MutexGuard<'_, FilesOnDisk> {
        self.on_disk.lock()
    }

    /// Whether somebody has the checkpointer's place just now.
    pub fn is_held(&self) -> bool {
        self.on_disk.try_lock().is_none()
    }

    /// Outputs of a compaction took the place of inputs, of which those that the manifest names have `replaced_bytes`.
    pub fn note_compacted(&self, replaced_bytes: u64) {
        self.replaced_bytes.fetch_add(replaced_bytes, Ordering::Relaxed);
        self.has_unnamed_outputs.store(true, Ordering::Relaxed);
    }

    /// A durable manifest names the files of the set; called with the checkpointer's place.
    pub fn note_named(&self) {
        self.replaced_bytes.store(0, Ordering::Relaxed);
        self.has_unnamed_outputs.store(false, Ordering::Relaxed);
    }

    /// Whether a crash, or the next opening, would undo a compaction.
    #[must_use]
    pub fn has_unnamed_outputs(&self) -> bool {
        self.has_unnamed_outputs.load(Ordering::Relaxed)
    }

    /// Bytes of files that only the manifest still needs.
    #[must_use]
    pub fn replaced_bytes(&self) -> u64 {
        self.replaced_bytes.load(Ordering::Relaxed)
    }

    /// Removes both files of a number that no manifest names, so that a full disk gets its space back.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(&self, number: FileNumber) -> Result<(), IoError> {
        let both =
            [FileContent::Topology, FileContent::Columns].map(|content| CsrFileName::new(number, content));
        let removed = both.map(|name| remove_if_there(&*self.directory, &name.to_string()));
        removed.into_iter().collect()
    }
}

impl FilesOnDisk {
    /// Notes the files of `list`, whose manifest may be on disk.
    pub fn add(&mut self, list: &FileList) {
        self.present.extend(list.names());
    }

    /// Whether the manifest on disk, or one that a power cut may bring back, names the files of a number.
    #[must_use]
    pub fn may_be_named(&self, number: FileNumber) -> bool {
        self.present.contains(&CsrFileName::new(number, FileContent::Topology))
    }

    /// Notes files that could not be removed: they go with the next checkpoint.
    pub fn add_unremoved<'a>(&mut self, files: impl IntoIterator<Item = &'a StoredFile>) {
        self.present.extend(files.into_iter().flat_map(|file| file_parts(file).map(|(name, _)| name)));
    }

    /// Notes the files of `list`, which a durable manifest has, and removes all others that a manifest had before. Why
    /// one of them could not be removed; then it is tried again the next time.
    #[must_use]
    pub fn remove_unnamed(&mut self, directory: &dyn Directory, list: &FileList) -> Option<IoError> {
        let named: BTreeSet<CsrFileName> = list.names().collect();
        let mut failed = None;
        self.present.retain(|name| {
            if named.contains(name) {
                return true;
            }
            match remove_if_there(directory, &name.to_string()) {
                Ok(()) => false,
                Err(error) => {
                    failed = Some(error);
                    true
                }
            }
        });
        self.present.extend(named);
        failed
    }
}

/// The error of a file that a manifest names and that isn't there.
#[must_use]
pub fn missing_file(directory: &dyn Directory, name: CsrFileName) -> CheckpointError {
    let problem = "the file is missing, and the manifest names it".to_owned();
    CheckpointError::Corrupt { file: directory.path(&name.to_string()), offset: 0, problem }
}
