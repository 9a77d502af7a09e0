//! Backup: a copy of everything committed through T, made while others commit, merge and checkpoint.
//!
//! ```text
//! no checkpoint meanwhile   snapshot at T; log synced through T; manifest read; the engine's files that it
//!                           names and the log files after C opened: removed later, they can still be read
//! beside everybody          the engine's files, against their checksums; commits C < ts <= T
//! at the end                the same manifest with need = T: a copy whose log lost its end is corrupt
//! ```
//!
//! Why that is one state: the engine's files and the log after C are what recovery reads after a crash at T, and
//! recovery is right at every T >= need (`durable_engine.rs`). A bulk load is seen from the moment on
//! at which its manifest is in place and T reaches it, so a copy has all of it or nothing.
//!
//! Source: core-protocol section 8: backups include the log to `need`.

use std::ops::ControlFlow;
use std::time::Duration;

use evergraph_graph::error::{Error, Result};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::view::GraphView;

use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::manifest::Manifest;
use crate::durable_engine::{DurableEngine, PinnedFiles};
use crate::io::directory::Directory;
use crate::log::copy::PinnedLog;
use crate::snapshot::handle::Snapshot;
use crate::store::Store;
use crate::sync::{Condvar, Mutex};
use crate::unfinished::Unfinished;

/// How long a bulk load that is about to be seen is waited for, before looking again.
const PAUSE: Duration = Duration::from_millis(1);

/// How far a backup is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupProgress {
    /// Bytes that were written.
    pub bytes_done: u64,
    /// Bytes that there are to write at most.
    pub bytes_total: u64,
}

/// What a backup holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackedUp {
    /// T: every commit through this one is in the copy, and none after it.
    pub through: Timestamp,
    /// Vertices at T.
    pub vertices_count: u64,
    /// Edges at T.
    pub edges_count: u64,
    /// Commits in the copy's log; those before are in its bodies.
    pub log_commits_count: u64,
    /// Bytes of the copy's files.
    pub bytes_written: u64,
}

/// What is copied: opened, so that it stays readable.
struct Pinned<E: DurableEngine> {
    manifest: Manifest,
    files: Box<dyn PinnedFiles>,
    log: PinnedLog,
    snapshot: Snapshot<E>,
    through: Timestamp,
}

/// Copies the database of `store`, which lies in `directory`, into `target`: an empty directory, or one
/// in which a backup was left unfinished. `salt` is any number; `progress` may ask to stop.
///
/// Cost: each file read and written once, a sync a file; memory for 8 MiB, or twice the longest commit.
///
/// # Errors
/// `invalid` if the target is taken; `corrupt` if what is copied isn't what was written; `limit` on a
/// full disk, `io`, `busy`, `cancelled`. What was written is removed then.
pub fn backup<E: DurableEngine>(
    store: &Store<E>,
    directory: &dyn Directory,
    target: &dyn Directory,
    salt: u64,
    progress: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
) -> Result<BackedUp> {
    let unfinished = Unfinished::begin(target, E::is_file)?;
    let Pinned { mut manifest, files, log, snapshot, through } = pin(store, directory, progress)?;
    let counts = snapshot.statistics()?;
    // Its old versions need not be kept for as long as the copying takes.
    drop(snapshot);
    let mut now = BackupProgress { bytes_done: 0, bytes_total: files.bytes() + log.bytes() };
    let bytes_written = files.copy(target, &mut |bytes| {
        now.bytes_done += bytes;
        tell(progress, now)
    })?;
    let before_log = now.bytes_done;
    let copied = log.copy(through.0, target, salt, &mut |bytes| {
        now.bytes_done = before_log + bytes;
        tell(progress, now)
    })?;
    tell(progress, BackupProgress { bytes_done: now.bytes_total, ..now })?;
    manifest.need = through;
    manifest.has_end_file = true;
    unfinished.finish(&manifest)?;
    Ok(BackedUp {
        through,
        vertices_count: counts.vertices.iter().map(|entry| entry.1).sum(),
        edges_count: counts.edges.iter().map(|entry| entry.1).sum(),
        log_commits_count: copied.commits_count,
        bytes_written: bytes_written + copied.bytes,
    })
}

fn tell(
    progress: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
    now: BackupProgress,
) -> std::result::Result<(), CheckpointError> {
    match progress(now) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(CheckpointError::Cancelled),
    }
}

/// Chooses T and opens what is needed for it.
fn pin<E: DurableEngine>(
    store: &Store<E>,
    directory: &dyn Directory,
    progress: &mut dyn FnMut(BackupProgress) -> ControlFlow<()>,
) -> Result<Pinned<E>> {
    let pause = (Mutex::new(()), Condvar::new());
    loop {
        let pinned = store.engine().holding(|| try_pin(store, directory))?;
        if let Some(pinned) = pinned {
            return Ok(pinned);
        }
        // A bulk load is in the manifest and not seen yet: in a moment it is, unless it failed.
        if let Some(cause) = store.timeline().latch().poisoned.clone() {
            return Err(CheckpointError::Poisoned { cause }.into());
        }
        tell(progress, BackupProgress { bytes_done: 0, bytes_total: 0 })?;
        drop(pause.1.wait_timeout(pause.0.lock(), PAUSE));
    }
}

fn try_pin<E: DurableEngine>(store: &Store<E>, directory: &dyn Directory) -> Result<Option<Pinned<E>>> {
    let snapshot = store.snapshot();
    let through = snapshot.timestamp();
    // In the modes that don't wait, what is seen may not be on disk.
    store.log().wait_durable(through.0).map_err(Error::from)?;
    let manifest = Manifest::read(directory, E::opens)?;
    if manifest.need > through {
        return Ok(None);
    }
    let files = store.engine().pin_files(&manifest)?;
    let log = PinnedLog::open(directory, manifest.covered_through.0).map_err(Error::from)?;
    Ok(Some(Pinned { manifest, files, log, snapshot, through }))
}
