//! Recovered graph: what a manifest and the log after it come to, in an engine that has the manifest's files.
//!
//! ```text
//! manifest ──names, ids, notes──┐
//! log after C ──────────────────┴──> Replay ──> engine, timeline, and what the front keeps
//! ```
//!
//! Neither changes the directory: whoever goes on to write opens the log behind what was read.
//!
//! A process that only reads asks later whether the files still come to the same. No clock is needed: a checkpoint and a bulk load
//! replace the manifest, a commit is the first batch at the log's end, and a log file that is taken into use is named in `log_end`
//! before it has a batch. None of the three ever goes back.

use crate::checkpoint::manifest::{FILE_NAME as MANIFEST_NAME, Manifest};
use crate::engine::Engine;
use crate::io::directory::{Directory, OpenMode};
use crate::io::error::IoError;
use crate::log::end_file::FILE_NAME as LOG_END_NAME;
use crate::log::file::file_name;
use crate::log::frame::PAGE_BYTES;
use crate::log::recovery::{self, Recovered};
use crate::timeline::clock::Timeline;
use crate::transaction::replay::{BATCH_MUTATIONS, Replay, Replayed};
use crate::vertex_ids::{GroupState, VertexIds};
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use std::io::ErrorKind;
use std::sync::Arc;

/// Of a manifest: its head, which has the checksums of all of it, the names of features, and what its body begins with: C, `need`
/// and the number of the next file, one of which grows with each manifest that says anything new.
const MANIFEST_BYTES: usize = 192;
/// Of a page of `log_end`, all that it says; of a frame its header, which is not zero.
const LOG_BYTES: usize = 64;

/// The files that a graph was recovered from, as they were then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecoveredFiles {
    manifest: Option<[[u8; MANIFEST_BYTES]; 1]>,
    log_end: Option<[[u8; LOG_BYTES]; 2]>,
    /// The log file, and the place in it, where the next commit would go; `None` if that would begin another file.
    next_batch: Option<(String, u64)>,
}

impl RecoveredFiles {
    /// As they are now. Whoever recovers looks first, and asks [`RecoveredFiles::are_current`] afterwards.
    ///
    /// Cost: two files opened, some 300 bytes read.
    ///
    /// # Errors
    /// What the system says.
    pub fn look(directory: &dyn Directory) -> std::result::Result<Self, IoError> {
        let manifest = compared_bytes(directory, MANIFEST_NAME, [0])?;
        let log_end = compared_bytes(directory, LOG_END_NAME, [0, PAGE_BYTES as u64])?;
        Ok(Self { manifest, log_end, next_batch: None })
    }

    /// Whether nothing was committed and no checkpoint made since they were looked at. A file that is missing by now is a change.
    ///
    /// Cost: three files opened, some 400 bytes read; of a graph that was not recovered yet, two.
    ///
    /// # Errors
    /// What the system says.
    pub fn are_current(&self, directory: &dyn Directory) -> std::result::Result<bool, IoError> {
        let now = Self::look(directory)?;
        if (&now.manifest, &now.log_end) != (&self.manifest, &self.log_end) {
            return Ok(false);
        }
        let Some((name, offset)) = &self.next_batch else { return Ok(true) };
        let found = compared_bytes::<LOG_BYTES, 1>(directory, name, [*offset])?;
        Ok(found.is_some_and(|[bytes]| bytes.iter().all(|byte| *byte == 0)))
    }
}

/// The bytes at each of `places`, zeros where the file ends; `None` if there is no file.
fn compared_bytes<const BYTES: usize, const PLACES: usize>(
    directory: &dyn Directory,
    name: &str,
    places: [u64; PLACES],
) -> std::result::Result<Option<[[u8; BYTES]; PLACES]>, IoError> {
    let file = match directory.open(name, OpenMode::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let length = file.len()?;
    let mut found = [[0; BYTES]; PLACES];
    for (bytes, place) in found.iter_mut().zip(places) {
        let there = length.saturating_sub(place).min(BYTES as u64) as usize;
        if there > 0 {
            file.read_at(&mut bytes[..there], place)?;
        }
    }
    Ok(Some(found))
}

/// Installs the commits after the manifest's C, so many mutations at once. The timeline stands at C.
///
/// # Errors
/// As [`recovery::recover`]; `corrupt` if a commit doesn't fit what is stored.
pub(crate) fn replay_log<E: Engine>(
    directory: &dyn Directory,
    manifest: &Manifest,
    (engine, timeline): (&E, &Timeline),
    batch_mutations: usize,
) -> Result<(Recovered, Replayed)> {
    let groups = manifest.groups.iter().map(|g| GroupState { group: g.id, label: g.label, rows: g.rows });
    let ids = VertexIds::import(&groups.collect::<Vec<_>>());
    let mut replay = Replay::new(engine, timeline, manifest.catalogue.clone(), ids)
        .with_notes(manifest.notes.clone().unwrap_or_default())
        .in_batches_of(batch_mutations);
    let wanted = manifest.wanted_log();
    let recovered =
        recovery::recover(directory, wanted, |at, payload| replay.payload(Timestamp(at), payload))?;
    Ok((recovered, replay.finish()?))
}

/// Recovers a graph that this process only reads: the engine has every commit then, and the names of all. `files` were looked at
/// before the manifest was read, and are told where the log ends.
///
/// # Errors
/// Those of the log, and `corrupt` if a commit doesn't fit what is stored.
pub fn recover_to_read<E: Engine>(
    directory: &dyn Directory,
    manifest: &Manifest,
    (engine, timeline): (&E, &Timeline),
    files: &mut RecoveredFiles,
) -> Result<()> {
    let (recovered, replayed) = replay_log(directory, manifest, (engine, timeline), BATCH_MUTATIONS)?;
    let newest = recovered.files.last().map(|file| file_name(file.number));
    files.next_batch = newest.zip(recovered.unfilled.map(|unfilled| unfilled.offset));
    engine.catalogue_changed(timeline.published(), &Arc::new(replayed.catalogue));
    engine.readable_grew();
    Ok(())
}
