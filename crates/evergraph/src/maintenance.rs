//! Maintenance: checkpoints, copies, checks, conversions and salvage of a database.
//!
//! Each is for the process that has the database open to write it, or for nobody: files change under a reader. On a cluster each is
//! refused: its nodes have the files.

use crate::database::Database;
use crate::file_work::FileWork;
use crate::options::Options;
use crate::path::{DatabasePath, existing};
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_engines::persistent_memory::{PersistentMemory, is_written_by_stores, placed};
use evergraph_graph::error::Result;
use evergraph_storage::backup::{BackupProgress, BackupSummary};
use evergraph_storage::checkpoint::contract::{CheckpointOutcome, OnCheckpointProgress};
use evergraph_storage::checkpoint::report::{CheckProgress, Report};
use evergraph_storage::conversion::run::ConversionSummary;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::open::{check_with, salvage};
use evergraph_storage::salvage::salvaged::Salvaged;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

impl Database {
    /// Writes a checkpoint, so that opening does not need to replay a long log; others continue to write.
    ///
    /// # Errors
    /// `limit` on a full disk, `io`; the previous checkpoint stays valid.
    pub fn checkpoint(&self) -> Result<CheckpointOutcome> {
        self.checkpoint_with(&mut |_| ControlFlow::Continue(()))
    }

    /// As [`Database::checkpoint`]; `progress` is told how far it is, and may cancel.
    ///
    /// # Errors
    /// As [`Database::checkpoint`]; `cancelled`.
    pub fn checkpoint_with(&self, progress: &mut OnCheckpointProgress<'_>) -> Result<CheckpointOutcome> {
        self.open.files(FileWork::Checkpoint)?.checkpoint(progress)
    }

    /// Copies everything committed so far to the directory `path`, which is new or empty, while others continue
    /// to read, write and make checkpoints. The copy is a database: opening it restores it. `progress`
    /// may cancel.
    ///
    /// Cost: each file read, verified and written once; no checkpoint is made while files are opened.
    ///
    /// # Errors
    /// `invalid` if `path` is taken; `corrupt` if a file of this database is damaged; `limit` on
    /// a full disk, `io`, `cancelled`. Nothing is left at `path` then; what a crash leaves there is refused by
    /// [`Database::open`] and replaced by the next backup to `path`.
    pub fn backup(
        &self,
        path: impl AsRef<Path>,
        progress: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
    ) -> Result<BackupSummary> {
        let open = self.open.files(FileWork::Backup)?;
        into_new(path.as_ref(), |target| open.backup(&**target, progress))
    }

    /// Checks the graph of a new snapshot, while others continue: lists sorted, both sides of every
    /// edge, its ends alive, indexes against a scan.
    ///
    /// # Errors
    /// `cancelled` if `progress` requests it; errors of reading. Damage is a finding, not an error.
    pub fn check(&self, progress: &mut CheckProgress<'_>) -> Result<Report> {
        self.open.files(FileWork::Check)?.check(progress)
    }

    /// Checks the database at `path`, which must not be open: its files, then the graph.
    ///
    /// # Errors
    /// As [`Database::open_with`] without `create`; `cancelled`. Damage is a finding, not an error.
    pub fn check_files(path: impl AsRef<Path>, progress: &mut CheckProgress<'_>) -> Result<Report> {
        Self::check_files_with(path, &Options::default(), progress)
    }

    /// As [`Database::check_files`], with [`Options`], such as a memory limit.
    ///
    /// # Errors
    /// As [`Database::check_files`].
    pub fn check_files_with(
        path: impl AsRef<Path>,
        options: &Options,
        progress: &mut CheckProgress<'_>,
    ) -> Result<Report> {
        let directory = placed(existing(path.as_ref())?, options.persistent_memory)?;
        check_with::<AnyEngine>(directory, options.to_open_options(), progress)
    }

    /// As [`Database::check_files_with`], of a copy that was just written, wherever that lies: the backup of a database in
    /// persistent memory may be on any disk, and is then opened as [`PersistentMemory::Emulated`], whatever the options say. It is
    /// durable again when the check returns.
    ///
    /// # Errors
    /// As [`Database::check_files`].
    pub fn check_copy(
        path: impl AsRef<Path>,
        options: &Options,
        progress: &mut CheckProgress<'_>,
    ) -> Result<Report> {
        let files = existing(path.as_ref())?;
        let directory = anywhere(existing(path.as_ref())?)?;
        let report = check_with::<AnyEngine>(directory, options.to_open_options(), progress)?;
        // An emulation leaves what opening and closing wrote to the system.
        for name in files.list()? {
            files.open(&name, OpenMode::Read)?.sync_data()?;
        }
        Ok(report)
    }

    /// Writes the graph of a new snapshot to the directory `path`, which is new or empty, as a database of `engine`, while
    /// others continue to read and write: vertices and edges keep their ids, names and indexes are the same, and
    /// commits go on counting. So a graph that outgrows memory goes on as a database of the disk engine, and one in
    /// memory alone becomes one on disk. `progress` is told what is written, how far it is, and how far there is to
    /// go; it may cancel.
    ///
    /// Cost: one pass over the graph, each edge in both directions; memory for the properties of 64 MiB of files, or, to
    /// the memory and mapped engines, for a group of 4,096 vertices and its edges of one type. Indexes are built when the new database is opened.
    ///
    /// ```
    /// use evergraph::{Database, EngineKind};
    /// use std::ops::ControlFlow;
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("social.eg");
    /// let db = Database::in_memory()?;
    /// let ada = db.transact(|tx| tx.add_vertex("Person", &[("name", "Ada".into())]))?;
    /// db.convert(&path, EngineKind::Disk, &mut |_, _, _| ControlFlow::Continue(()))?;
    ///
    /// let on_disk = Database::open(&path)?;
    /// assert_eq!(on_disk.engine(), EngineKind::Disk);
    /// assert_eq!(on_disk.snapshot().get(ada, "name")?, Some("Ada".into()));
    /// # use evergraph::ReadByName;
    /// # Ok::<(), evergraph::Error>(())
    /// ```
    ///
    /// # Errors
    /// `invalid` if `path` is taken; `corrupt` if a file of this database is damaged; `limit` on a full disk, `io`,
    /// `cancelled`. Nothing is left at `path` then; what a crash leaves there is refused by [`Database::open`] and
    /// replaced by the next conversion to `path`.
    pub fn convert(
        &self,
        path: impl AsRef<Path>,
        engine: EngineKind,
        progress: &mut CheckProgress<'_>,
    ) -> Result<ConversionSummary> {
        let open = self.open.files(FileWork::Conversion)?;
        into_new(path.as_ref(), |target| open.convert::<AnyEngine>(engine.name(), target, progress))
    }

    /// Reads the database at `path`, damaged or not, which must not be open, and writes the verified data to
    /// the directory `target`, which is new or empty: vertices and edges keep their ids, and names and
    /// indexes are the same. What is missing is listed. Not a byte at `path` is changed. A database in persistent memory may
    /// have been copied to any disk.
    ///
    /// # Errors
    /// `corrupt` if the names are lost; `not_found`; `busy`; `invalid` for another engine, a newer format
    /// or a target that is taken; `limit`, `io`, `cancelled`. Nothing is left at `target` then.
    pub fn salvage(
        path: impl AsRef<Path>,
        target: impl AsRef<Path>,
        progress: &mut CheckProgress<'_>,
    ) -> Result<Salvaged> {
        let damaged = anywhere(existing(path.as_ref())?)?;
        into_new(target.as_ref(), |target| salvage::<AnyEngine>(&*damaged, target, progress))
    }
}

/// `directory`, on whichever disk it lies: as an emulation of persistent memory if its files are those of a database there.
fn anywhere(directory: DiskDirectory) -> Result<Arc<dyn Directory>> {
    let memory = match is_written_by_stores(&directory) {
        true => PersistentMemory::Emulated,
        false => PersistentMemory::AsCreated,
    };
    placed(directory, memory)
}

/// Does `work` in the directory `path`, which is created if it does not exist, and removed again if that fails.
fn into_new<T>(path: &Path, work: impl FnOnce(&Arc<dyn Directory>) -> Result<T>) -> Result<T> {
    let path = DatabasePath::folder(path)?;
    let was_there = path.exists();
    let directory: Arc<dyn Directory> = Arc::new(DiskDirectory::open_or_create(path)?);
    let done = work(&directory);
    if done.is_err() && !was_there {
        // Only if it is empty; what happened tells more than why this failed.
        let _ = std::fs::remove_dir(path);
    }
    done
}
