//! Open: the array files of a database, with what its manifest names of each segment.
//!
//! ```text
//! directory synced --> section --> extents found, the rest is free --> files that nothing names removed --> runs read
//! ```
//!
//! Bodies aren't read. What follows is the log: commits after C, put on each segment whose base is older.

use crate::checkpoint::contract::CheckpointBody;
use crate::checkpoint::ledger::{Ledger, LedgerEntry, LedgerRun};
use crate::extents::stored_extent::StoredExtent;
use crate::extents::table::{ExtentOptions, Extents, Reuse};
use crate::files::batch::StoredRun;
use crate::files::section::{NamedIndexes, NamedSegment, Section};
use crate::files::segment_id::SegmentId;
use crate::run::merge_sorted_runs;
use crate::shared_record::{SharedRecord, first_inexact};
use evergraph_graph::id::KeyId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::checkpoint::manifest::{Manifest, NEW_FILE_NAME, remove_if_there};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::planted::{Bug, planted};
use std::sync::Arc;

/// A segment as its files have it.
#[derive(Debug)]
pub struct FoundSegment {
    /// Which one.
    pub id: SegmentId,
    /// The commit at which its body is exact.
    pub base: Timestamp,
    /// Edges in the body, or vertices.
    pub items: u64,
    /// The body's extent; `None` if it is empty.
    pub body: Option<StoredExtent>,
    /// Its columns, ascending by key.
    pub columns: Vec<(KeyId, StoredExtent)>,
    /// The records from the base to C, by (key, stamp).
    pub records: Vec<SharedRecord>,
    runs: Vec<LedgerRun>,
}

impl FoundSegment {
    /// What the manifest names of it, held by the body that was made of its extents.
    pub fn into_entry<B: CheckpointBody>(self, body: Option<B>) -> (SegmentId, LedgerEntry<B>) {
        (self.id, LedgerEntry::new((self.base, self.items), body, self.runs))
    }
}

/// The files of a database that is being opened.
#[derive(Debug)]
pub struct FoundFiles {
    /// The array files.
    pub extents: Extents,
    /// Ascending; hubs follow the segment that they belong to.
    pub segments: Vec<FoundSegment>,
    /// The indexes that segments are of.
    pub indexes: NamedIndexes,
    /// Bytes of runs that were read.
    pub bytes_count: u64,
}

/// Syncs the directory of a database whose manifest was read. Whoever writes does that before anything is made or removed there.
///
/// A power cut may still take the manifest's renaming back. Then the extents of the one before are needed; and if there was
/// none, `live` would be a stranger's file to the next opening.
///
/// # Errors
/// What the system says.
pub fn sync_names(directory: &dyn Directory) -> CheckpointResult<()> {
    if !planted(Bug::OpenedNotSynced) {
        directory.sync_directory()?;
    }
    Ok(())
}

/// Opens the array files that `manifest` names; what an interrupted checkpoint left is removed, unless `reuse` forbids it. Whoever
/// does more than read has called [`sync_names`].
///
/// Cost: a look at each segment, and all runs.
///
/// # Errors
/// `Corrupt`, naming file and byte, if the section, an extent's place or a run isn't what was written; what the system says.
pub fn open_files(
    directory: &Arc<dyn Directory>,
    manifest: &Manifest,
    options: ExtentOptions,
    reuse: Reuse,
) -> CheckpointResult<FoundFiles> {
    let section = Section::of(&**directory, manifest)?;
    if reuse != Reuse::OnlyRead {
        remove_if_there(&**directory, NEW_FILE_NAME)?;
    }
    let (extents, found) = Extents::open(Arc::clone(directory), options, section.extents(), reuse)?;
    extents.number_from(manifest.next_file);
    let mut found = found.into_iter();
    let batches: Vec<Arc<StoredExtent>> = found.by_ref().take(section.batches.len()).map(Arc::new).collect();
    let mut next = || found.next().expect("an extent was found for each that is named");
    let mut segments = Vec::with_capacity(section.segments.len());
    let mut bytes_count = 0;
    for NamedSegment { id, base, items, body, columns, runs } in section.segments {
        let body = body.map(|_| next());
        let columns = columns.into_iter().map(|column| (column.key, next())).collect();
        let runs: Vec<StoredRun> = runs
            .into_iter()
            .map(|run| StoredRun::new(Arc::clone(&batches[run.batch]), id, run.range))
            .collect();
        bytes_count += runs.iter().map(|run| run.range().bytes).sum::<u64>();
        let (runs, records) = read_runs(id, runs, (base, manifest.covered_through))?;
        segments.push(FoundSegment { id, base, items, body, columns, records, runs });
    }
    Ok(FoundFiles { extents, segments, indexes: section.indexes, bytes_count })
}

/// The records of a segment's runs, which were written one after the other; by (key, stamp), and each follows from the one
/// before it.
fn read_runs(
    id: SegmentId,
    runs: Vec<StoredRun>,
    (base, through): (Timestamp, Timestamp),
) -> CheckpointResult<(Vec<LedgerRun>, Vec<SharedRecord>)> {
    let (mut named, mut records, mut after) = (Vec::with_capacity(runs.len()), Vec::new(), base);
    for run in runs {
        let own = run.records(after, through)?;
        let newest = own.iter().map(|record| record.stamp.timestamp()).max();
        named.push(LedgerRun { run, after });
        after = newest.unwrap_or(after);
        records.extend(own);
    }
    merge_sorted_runs(&mut records);
    // An index has records of entries, which may have the same key.
    if id.index_number().is_none()
        && let Some((stamp, problem)) = first_inexact(records.iter().map(|record| (record.key, record.stamp)))
    {
        let of = named.iter().rfind(|of| of.after < stamp.timestamp());
        return Err(of.expect("the record is of a run").run.corrupt(0, &problem));
    }
    Ok((named, records))
}

/// The ledger of a manifest, of the entries that were made of its segments.
pub fn found_ledger<B>(
    manifest: &Manifest,
    indexes: NamedIndexes,
    entries: impl IntoIterator<Item = (SegmentId, LedgerEntry<B>)>,
) -> Ledger<B> {
    Ledger { covered_through: manifest.covered_through, segments: entries.into_iter().collect(), indexes }
}
