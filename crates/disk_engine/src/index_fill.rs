//! Index fill: the entries that a scan finds are sorted externally, and become files below everything.
//!
//! ```text
//! push ──> buffer ──full: sorted──> run, run, run ... ──16: merged──> one run
//! finish   one run of all; duplicates are neighbours in it
//! install  the files of the bottommost level that the run overlaps, merged above it, take their place with it
//! ```
//!
//! - *Below everything*: commits have entered and left since the build began, and some of that may lie in the bottommost
//!   level already. The run is older than all of it, whatever its scan saw: entries that it has once more change
//!   nothing, and Deletes were kept for it (`merge/delete_rule`).
//! - The swap holds the checkpoint lock, as a compaction's: the bottommost level stays as it is meanwhile. A compaction
//!   of these files that is under way finds its inputs gone, and is picked anew.
//! - Rule D1: the scan's snapshot was readable, so who pins the set from now on sees all of it.
//!
//! A run is a CSR file that no manifest names. What is left of a fill goes when it is dropped; after a crash, when the
//! database is opened.
//!
//! Source: disk-engine, section 7, and its model (`models/disk-protocol`).

use crate::compact::job::CompactionJob;
use crate::engine::DiskEngine;
use crate::file::csr_file::CsrFile;
use crate::file::entry_scan::EntryScan;
use crate::file::page_reader::PageReader;
use crate::format::entries::entry::EntryRecord;
use crate::format::file_head::{BOTTOMMOST_LEVEL, FileStamps};
use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::index_table::StoredIndexState;
use crate::key_range::KeyRange;
use crate::merge::delete_rule::{Below, DeleteRule};
use crate::merge::entry_merge::EntrySource;
use crate::stored_file::StoredFile;
use crate::writer::file_writer::{FileWriter, NewFile};
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::index::IndexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_graph::value::order_bytes::value_bytes::ValueBytes;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::index::fill::{IndexFill, OnSameValue};
use evergraph_storage::io::directory::Directory;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// What the memory of fills is called in a budget.
const FILL_PURPOSE: &str = "index builds";
/// Runs that are merged to one.
const RUNS_MAX: usize = 16;
/// Bytes of entries that are sorted at once: a thirty-second of the budget, within these bounds.
const BUFFER_BYTES: RangeInclusive<usize> = 1 << 20..=64 << 20;
/// Bytes of an entry in the buffer, beside its value.
const ENTRY_BYTES: usize = size_of::<BufferedEntry>();

/// An entry whose value bytes lie in a buffer.
#[derive(Clone, Copy, Debug)]
struct BufferedEntry {
    start: u32,
    length: u8,
    item: ItemId,
}

/// Files in the order of their keys, which don't overlap.
pub(crate) type FileRun = Vec<Arc<CsrFile>>;

/// What becomes of the files of a fill that is finished. It removes those that it doesn't keep.
pub(crate) type OnFilled<'a> = dyn FnOnce(FileRun) -> Result<()> + 'a;

/// The entries of a scan on their way into files.
pub(crate) struct DiskIndexFill<'a> {
    engine: &'a DiskEngine,
    subject: Subject,
    /// The scan's snapshot, or the load.
    at: Timestamp,
    /// Until it is called.
    on_filled: Option<Box<OnFilled<'a>>>,
    entries: Vec<BufferedEntry>,
    value_bytes: Vec<u8>,
    buffer_bytes: usize,
    _memory: Reservation,
    runs: Vec<FileRun>,
}

impl<'a> DiskIndexFill<'a> {
    /// Entries of `subject`, as of `at`.
    ///
    /// # Errors
    /// `limit` if the budget refuses the buffer.
    pub(crate) fn new(
        engine: &'a DiskEngine,
        subject: Subject,
        at: Timestamp,
        on_filled: Box<OnFilled<'a>>,
    ) -> Result<Self> {
        let share = usize::try_from(engine.budget().limit_bytes() / 32).unwrap_or(usize::MAX);
        let buffer_bytes = share.clamp(*BUFFER_BYTES.start(), *BUFFER_BYTES.end());
        let memory = engine.budget().reserve(FILL_PURPOSE, buffer_bytes as u64)?;
        Ok(Self {
            engine,
            subject,
            at,
            on_filled: Some(on_filled),
            entries: Vec::new(),
            value_bytes: Vec::new(),
            buffer_bytes,
            _memory: memory,
            runs: Vec::new(),
        })
    }

    fn take(&mut self, value: &ValueBytes, item: ItemId) -> CheckpointResult<()> {
        let value = value.as_slice();
        if (self.entries.len() + 1) * ENTRY_BYTES + self.value_bytes.len() + value.len() > self.buffer_bytes {
            self.spill()?;
        }
        let start = self.value_bytes.len() as u32;
        self.value_bytes.extend_from_slice(value);
        self.entries.push(BufferedEntry { start, length: value.len() as u8, item });
        Ok(())
    }

    /// Writes what is in the buffer as a run.
    fn spill(&mut self) -> CheckpointResult<()> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let bytes = &self.value_bytes;
        let value = |entry: &BufferedEntry| &bytes[entry.start as usize..][..usize::from(entry.length)];
        self.entries.sort_unstable_by(|a, b| value(a).cmp(value(b)).then_with(|| a.item.cmp(&b.item)));
        let new = NewFile {
            number: self.engine.files().take_number(),
            level: BOTTOMMOST_LEVEL,
            stamps: FileStamps::Unstamped,
            first_ts: self.at,
            last_ts: self.at,
        };
        let writer = FileWriter::create(self.engine.files().directory(), &new)?;
        let mut writer = writer.with_filters(self.engine.tuning().filters);
        for entry in &self.entries {
            let (value, item, operation) = (value(entry), entry.item, RecordOperation::Insert);
            writer
                .push_entry(self.subject, &EntryRecord { value, item, operation, stamp: Timestamp::ZERO })?;
        }
        let stored = writer.finish()?;
        self.runs.push(open(self.engine, &[stored])?);
        self.entries.clear();
        self.value_bytes.clear();
        if self.runs.len() >= RUNS_MAX { self.merge_runs() } else { Ok(()) }
    }

    /// Merges all runs to one.
    fn merge_runs(&mut self) -> CheckpointResult<()> {
        let inputs: Vec<_> = self.runs.iter().flatten().cloned().collect();
        let stored = merge(self.engine, &inputs, DeleteRule::new(Below::Nothing, []), None)?;
        let run = open_merged(self.engine, &stored)?;
        for run in std::mem::replace(&mut self.runs, vec![run]) {
            remove(self.engine, &run);
        }
        Ok(())
    }

    /// Hears of entries of one value.
    fn find_same(&self, on_same_value: &mut OnSameValue<'_>) -> Result<()> {
        let (mut value, mut first) = (Vec::new(), None);
        for file in self.runs.iter().flatten() {
            let mut scan = EntryScan::new(file, self.subject..=self.subject)?;
            while let Some((_, record)) = scan.entry() {
                match first {
                    Some(first) if value == record.value => {
                        on_same_value(first, record.item)?;
                    }
                    _ => {
                        first = Some(record.item);
                        value.clear();
                        value.extend_from_slice(record.value);
                    }
                }
                scan.advance()?;
            }
        }
        Ok(())
    }
}

impl Drop for DiskIndexFill<'_> {
    fn drop(&mut self) {
        for run in std::mem::take(&mut self.runs) {
            remove(self.engine, &run);
        }
    }
}

impl IndexFill for DiskIndexFill<'_> {
    fn push(&mut self, value: &Value, item: ItemId) -> Result<()> {
        Ok(self.take(&ValueBytes::of(value), item)?)
    }

    fn finish(&mut self, on_same_value: Option<&mut OnSameValue<'_>>) -> Result<()> {
        self.spill()?;
        if self.runs.len() > 1 {
            self.merge_runs()?;
        }
        on_same_value.map_or(Ok(()), |on_same_value| self.find_same(on_same_value))
    }

    fn install(mut self: Box<Self>) -> Result<()> {
        assert!(self.runs.len() <= 1 && self.entries.is_empty(), "a fill is finished before it is installed");
        let run = self.runs.pop().unwrap_or_default();
        match self.on_filled.take() {
            Some(on_filled) => on_filled(run),
            None => Ok(()),
        }
    }
}

/// The error when there is no subject for another index: 2^32 - 2^24 were built.
#[cold]
pub(crate) fn used_up() -> Error {
    Error::new(ErrorKind::Limit, "the numbers of indexes are used up: export the graph, and import it")
}

/// Removes files that no manifest named.
pub(crate) fn remove(engine: &DiskEngine, files: &[Arc<CsrFile>]) {
    for file in files {
        // What cannot be removed now goes when the database is opened next.
        let _ = engine.files().remove(file.number());
    }
}

/// Opens files that were just written; removes them if that fails.
fn open(engine: &DiskEngine, stored: &[StoredFile]) -> CheckpointResult<FileRun> {
    open_by(engine, stored, CsrFile::open)
}

/// The same, of outputs of a merge, which take the place of its inputs.
fn open_merged(engine: &DiskEngine, stored: &[StoredFile]) -> CheckpointResult<FileRun> {
    open_by(engine, stored, CsrFile::open_in_place)
}

fn open_by(
    engine: &DiskEngine,
    stored: &[StoredFile],
    open: impl Fn(&Arc<dyn Directory>, &StoredFile, &Arc<PageReader>) -> CheckpointResult<CsrFile>,
) -> CheckpointResult<FileRun> {
    let directory = engine.files().directory();
    let opened: CheckpointResult<FileRun> =
        stored.iter().map(|stored| open(directory, stored, engine.page_reader()).map(Arc::new)).collect();
    if opened.is_err() {
        for stored in stored {
            let _ = engine.files().remove(stored.number);
        }
    }
    opened
}

/// Merges `inputs`, newest first, to files of the bottommost level; entries of indexes that aren't `kept` are left out.
fn merge(
    engine: &DiskEngine,
    inputs: &[Arc<CsrFile>],
    deletes: DeleteRule,
    kept: Option<BTreeSet<Subject>>,
) -> CheckpointResult<Vec<StoredFile>> {
    let mut job = CompactionJob::new(inputs.to_vec(), BOTTOMMOST_LEVEL, deletes)
        .within(engine.budget().limit_bytes(), 1);
    job.kept_indexes = kept;
    job.filters = engine.tuning().filters;
    let reserved = engine.budget().reserve(FILL_PURPOSE, job.memory_bytes());
    let _reserved = reserved.map_err(CheckpointError::Refused)?;
    let stop = || engine.pacing().is_closed();
    job.run(engine.files().directory(), &mut || engine.files().take_number(), &stop)
}

impl DiskEngine {
    /// Puts the run of an index that is being built below everything; from now on views answer for the index.
    ///
    /// Cost: a merge with the files of the bottommost level that it overlaps, which are mostly none.
    pub(crate) fn install_fill(&self, index: IndexId, subject: Subject, run: FileRun) -> Result<()> {
        let installed = self.install_run(subject, &run);
        if !matches!(installed, Ok(Installed::AsItIs)) {
            remove(self, &run);
        }
        installed?;
        let _latch = self.timeline().latch();
        self.indexes().set_state(index, subject, StoredIndexState::Filled);
        Ok(())
    }

    fn install_run(&self, subject: Subject, run: &FileRun) -> Result<Installed> {
        let Some(keys) = KeyRange::hull(run) else { return Ok(Installed::AsItIs) };
        let mut on_disk = self.files().lock_checkpoint();
        let set = Arc::clone(&self.tree().current().set);
        let overlapped = keys.overlapped(set.level(usize::from(BOTTOMMOST_LEVEL))).to_vec();
        drop(set);
        let (outputs, installed) = if overlapped.is_empty() {
            (run.clone(), Installed::AsItIs)
        } else {
            let builds = self.indexes().builds();
            let mut kept = self.indexes().subjects();
            let mut building = builds.without_scan(&kept);
            // Below it lies nothing any more that a Delete would be kept for.
            building.remove(&subject);
            kept.insert(subject);
            let inputs: Vec<_> = overlapped.iter().chain(run).cloned().collect();
            let stored = merge(self, &inputs, DeleteRule::new(Below::Nothing, building), Some(kept))?;
            (open_merged(self, &stored)?, Installed::Merged)
        };
        let replaced = {
            let _latch = self.timeline().latch();
            self.tree().replace_compacted(&overlapped, BOTTOMMOST_LEVEL, &outputs)
        };
        if replaced.is_none() {
            if installed == Installed::Merged {
                remove(self, &outputs);
            }
            let text = "the bottommost level changed while an index was put into it: build it again";
            return Err(Error::new(ErrorKind::Busy, text));
        }
        self.retire(&mut on_disk, &overlapped);
        Ok(installed)
    }
}

/// What became of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Installed {
    /// Its files are in the set.
    AsItIs,
    /// Others are that have its entries.
    Merged,
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;
    use crate::durable::files::DatabaseFiles;
    use crate::engine::EngineParts;
    use crate::file_set::FileSet;
    use crate::groups::GroupTable;
    use crate::index_table::IndexTable;
    use crate::pacing::PacingLimits;
    use crate::tuning::Tuning;
    use evergraph_graph::id::VertexId;
    use evergraph_storage::io::environment::Background;
    use evergraph_storage::io::error::Operation;
    use evergraph_storage::io::failing::{FailingDirectory, Fault};
    use evergraph_storage::io::memory::MemoryDirectory;
    use evergraph_storage::memory_budget::MemoryBudget;
    use evergraph_storage::timeline::clock::{Readable, Timeline};
    use std::io::ErrorKind as IoKind;

    const OPERATIONS: [Operation; 8] = [
        Operation::Create,
        Operation::SetLength,
        Operation::Write,
        Operation::Sync,
        Operation::SyncDirectory,
        Operation::Open,
        Operation::Length,
        Operation::Read,
    ];
    /// Entries, of which the buffer takes four.
    const ENTRIES: u32 = 100;

    fn engine(directory: &Arc<dyn Directory>) -> DiskEngine {
        let budget = Arc::new(MemoryBudget::new(64 << 20));
        let parts = EngineParts {
            timeline: Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published)),
            reader: PageReader::start(&budget, Background::Stepped)
                .expect("the budget has room for its buffers"),
            budget,
            files: DatabaseFiles::empty(directory),
            set: FileSet::new(),
            groups: GroupTable::new(),
            indexes: IndexTable::new([], 1 << 24),
            background: Background::Stepped,
            compaction_threads: 1,
            graph_bytes: Some(1 << 20),
            limits: PacingLimits::UNCOMPACTED,
            tuning: Tuning::default(),
        };
        DiskEngine::open_parts(parts).expect("nothing is there that could be damaged")
    }

    /// The entries that come out of a fill with many runs, which are merged, and those merged again.
    fn fill(engine: &DiskEngine) -> Result<Vec<(Vec<u8>, ItemId)>> {
        let subject = Subject::index(0).expect("the number is small");
        let mut found = Vec::new();
        let mut read = |run: &[Arc<CsrFile>]| {
            for file in run {
                let mut scan = EntryScan::new(file, subject..=subject)?;
                while let Some((_, record)) = scan.entry() {
                    found.push((record.value.to_vec(), record.item));
                    scan.advance()?;
                }
            }
            Ok(())
        };
        let take = |run: FileRun| {
            let taken = read(&run);
            remove(engine, &run);
            taken
        };
        let mut fill = DiskIndexFill::new(engine, subject, Timestamp::ZERO, Box::new(take))?;
        fill.buffer_bytes = 4 * (ENTRY_BYTES + 16);
        for number in 0..ENTRIES {
            fill.push(&Value::I64(i64::from(number * 37 % ENTRIES)), ItemId::Vertex(VertexId(number)))?;
        }
        fill.finish(None)?;
        Box::new(fill).install()?;
        Ok(found)
    }

    fn expected() -> Vec<(Vec<u8>, ItemId)> {
        let entry = |number: u32| {
            let value = ValueBytes::of(&Value::I64(i64::from(number * 37 % ENTRIES)));
            (value.as_slice().to_vec(), ItemId::Vertex(VertexId(number)))
        };
        let mut entries: Vec<_> = (0..ENTRIES).map(entry).collect();
        entries.sort();
        entries
    }

    #[test]
    fn a_fill_that_the_disk_fails_at_any_operation_leaves_no_file_and_succeeds_later() {
        for operation in OPERATIONS {
            let mut failed = 0;
            for nth in 1.. {
                let memory = MemoryDirectory::new("db");
                let failing = FailingDirectory::new(Arc::new(memory.clone()));
                let directory: Arc<dyn Directory> = Arc::new(failing.clone());
                let engine = engine(&directory);
                let kind =
                    if nth % 2 == 0 && operation.changes() { IoKind::StorageFull } else { IoKind::Other };
                failing.plan(Fault::new(operation, "", kind).nth(nth));
                let filled = fill(&engine);
                failing.heal();
                let at = format!("{operation} {nth}");
                let list = memory.list().unwrap();
                assert!(!list.iter().any(|name| name.starts_with("csr-")), "{at}: {list:?}");
                match filled {
                    Ok(entries) => {
                        assert!(entries == expected(), "{at}: other entries");
                        break;
                    }
                    Err(error) => {
                        let expected =
                            if kind == IoKind::StorageFull { ErrorKind::Limit } else { ErrorKind::Io };
                        assert_eq!(error.kind(), expected, "{at}: {error}");
                        assert!(error.to_string().contains("db"), "{at}: {error}");
                    }
                }
                assert!(fill(&engine).is_ok_and(|entries| entries == expected()), "{at}: not again");
                failed += 1;
            }
            println!("{operation}: {failed} fills failed");
            let is_used = !matches!(operation, Operation::SetLength | Operation::Length);
            assert!(!is_used || failed > 20, "only {failed} of {operation}");
        }
    }
}
