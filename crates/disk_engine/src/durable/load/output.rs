//! Output: the files that a load writes, two sequences of them, each in key order.
//!
//! ```text
//! newest   lists of vertices that were there before     above every older file: their keys may stand there too
//! bottom   vertices and lists of the load's new groups   as deep as possible: nothing older has their keys
//! ```
//!
//! A small load is all `newest`, as the flush of a memory graph would be.
//!
//! Files of one sequence are cut near 64 MiB, or earlier where the memory is too small for their columns, between any
//! two keys, and don't overlap. In the bottom sequence
//! no file has two subjects: the groups of a later load are higher, so that its files find room between
//! these. All are without stamps and have the load's timestamp as their first and last: a snapshot before it
//! reads none of them, one at it or later reads them whole.

use crate::format::file_head::{BOTTOMMOST_LEVEL, FileStamps};
use crate::format::file_name::{CsrFileName, FileContent, FileNumber};
use crate::format::filter::FilterChoice;
use crate::format::lists::record::ListRecord;
use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::format::tree_key::ItemKey;
use crate::format::vertices::VertexRecord;
use crate::stored_file::StoredFile;
use crate::writer::file_writer::{FileWriter, NewFile};
use evergraph_graph::id::VertexId;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Where a load's files are cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadFileLimits {
    /// About how long a file gets, in bytes.
    pub file_bytes: u64,
    /// At how many bytes of columns that wait in memory for the end of their subject a file is cut, too.
    pub waiting_bytes: u64,
    /// Up to how many records a load is small.
    pub small_records: u64,
}

impl Default for LoadFileLimits {
    /// 64 MiB, 8 MiB of columns, and about as many records as a memory graph of 64 MiB has.
    fn default() -> Self {
        Self { file_bytes: 64 << 20, waiting_bytes: 8 << 20, small_records: 1 << 20 }
    }
}

impl LoadFileLimits {
    /// The same, where columns may take a quarter of `memory_bytes`, 64 KiB to 32 MiB, while they wait.
    pub(super) fn within(self, memory_bytes: u64) -> Self {
        Self { waiting_bytes: (memory_bytes / 4).clamp(64 << 10, 32 << 20), ..self }
    }
}

/// Edges of a list that are added between two looks at a file's length.
const PIECE_EDGES: usize = 1 << 16;

/// Which of the two sequences a list belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sequence {
    /// Lists of vertices that were there before.
    Newest,
    /// What belongs to new groups.
    Bottom,
}

/// Finished files of a load. Dropped without being kept, they are removed.
#[derive(Debug)]
pub(crate) struct LoadFiles {
    directory: Arc<dyn Directory>,
    /// Lists of vertices that were there before, in key order.
    pub newest: Vec<StoredFile>,
    /// What belongs to new groups, in key order.
    pub bottom: Vec<StoredFile>,
    /// Those of indexes, which come when the others are read.
    entries: Mutex<Vec<StoredFile>>,
    /// Release when the files are installed, Acquire when they are dropped.
    is_kept: AtomicBool,
}

impl LoadFiles {
    fn new(directory: &Arc<dyn Directory>) -> Self {
        let (newest, bottom, entries) = (Vec::new(), Vec::new(), Mutex::default());
        Self { directory: Arc::clone(directory), newest, bottom, entries, is_kept: AtomicBool::new(false) }
    }

    /// Adds files of an index.
    pub(super) fn add_entries(&self, files: impl IntoIterator<Item = StoredFile>) {
        self.entries.lock().extend(files);
    }

    /// From now on they are a part of the database.
    pub(crate) fn keep(&self) {
        self.is_kept.store(true, Ordering::Release);
    }

    fn of(&mut self, sequence: Sequence) -> &mut Vec<StoredFile> {
        match sequence {
            Sequence::Newest => &mut self.newest,
            Sequence::Bottom => &mut self.bottom,
        }
    }
}

impl Drop for LoadFiles {
    fn drop(&mut self) {
        if self.is_kept.load(Ordering::Acquire) {
            return;
        }
        let entries = std::mem::take(&mut *self.entries.lock());
        for file in self.newest.iter().chain(&self.bottom).chain(&entries) {
            // What can't be removed now is removed when the database is opened: no manifest names it.
            drop(self.directory.remove(&CsrFileName::new(file.number, FileContent::Topology).to_string()));
            if file.columns.is_some() {
                drop(self.directory.remove(&CsrFileName::new(file.number, FileContent::Columns).to_string()));
            }
        }
    }
}

/// Writes a load's files.
pub(crate) struct LoadOutput<'a> {
    directory: &'a Arc<dyn Directory>,
    next_number: &'a dyn Fn() -> FileNumber,
    timestamp: Timestamp,
    limits: LoadFileLimits,
    is_small: bool,
    newest: Option<FileWriter>,
    bottom: Option<FileWriter>,
    /// The subject of the file that `bottom` writes.
    bottom_subject: Subject,
    filters: FilterChoice,
    files: LoadFiles,
}

impl<'a> LoadOutput<'a> {
    /// Nothing yet, of a load of `records` vertices and edges, sides counted apart.
    pub(crate) fn new(
        directory: &'a Arc<dyn Directory>,
        next_number: &'a dyn Fn() -> FileNumber,
        timestamp: Timestamp,
        records: u64,
        limits: LoadFileLimits,
    ) -> Self {
        Self {
            directory,
            next_number,
            timestamp,
            limits,
            is_small: records <= limits.small_records,
            newest: None,
            bottom: None,
            bottom_subject: Subject::VERTICES,
            filters: FilterChoice::default(),
            files: LoadFiles::new(directory),
        }
    }

    /// The same, whose files get filters by `choice`.
    pub(super) fn with_filters(self, choice: FilterChoice) -> Self {
        Self { filters: choice, ..self }
    }

    /// Adds a new vertex; vertices ascend and come before all edges.
    pub(crate) fn push_vertex(&mut self, vertex: VertexId, properties: &Properties) -> CheckpointResult<()> {
        let record = VertexRecord { vertex, operation: RecordOperation::Insert, stamp: Timestamp::ZERO };
        self.writer(Sequence::Bottom, Subject::VERTICES)?.push_vertex(&record, properties)
    }

    /// Adds a new edge to a list. Subjects, lists and items ascend.
    #[inline]
    pub(crate) fn push_edge(
        &mut self,
        sequence: Sequence,
        (subject, vertex): (Subject, VertexId),
        item: ItemKey,
        properties: &Properties,
    ) -> CheckpointResult<()> {
        let record = ListRecord {
            vertex,
            neighbor: item.neighbor(),
            discriminator: item.discriminator(),
            operation: RecordOperation::Insert,
            stamp: Timestamp::ZERO,
        };
        self.writer(sequence, subject)?.push_edge(subject, &record, properties)
    }

    /// Adds new edges without discriminators and properties to a list: as [`LoadOutput::push_edge`] of each, at a fraction
    /// of its cost.
    #[inline]
    pub(super) fn push_list(
        &mut self,
        sequence: Sequence,
        (subject, vertex): (Subject, VertexId),
        neighbors: &[u32],
    ) -> CheckpointResult<()> {
        // Pieces, so that files are cut inside of long lists, too.
        for piece in neighbors.chunks(PIECE_EDGES) {
            self.writer(sequence, subject)?.push_list(subject, vertex, piece)?;
        }
        Ok(())
    }

    /// The writer of a sequence for a record of `subject`: a new one if the file is long enough, or has
    /// another subject.
    #[inline]
    fn writer(&mut self, sequence: Sequence, subject: Subject) -> CheckpointResult<&mut FileWriter> {
        let sequence = if self.is_small { Sequence::Newest } else { sequence };
        let (writer, is_behind) = match sequence {
            Sequence::Newest => (&mut self.newest, false),
            Sequence::Bottom => {
                (&mut self.bottom, std::mem::replace(&mut self.bottom_subject, subject) != subject)
            }
        };
        let LoadFileLimits { file_bytes, waiting_bytes, .. } = self.limits;
        let is_full =
            |writer: &FileWriter| writer.bytes() >= file_bytes || writer.waiting_bytes() >= waiting_bytes;
        if let Some(full) = writer.take_if(|writer| is_behind || is_full(writer)) {
            self.files.of(sequence).push(full.finish()?);
        }
        match writer {
            Some(writer) => Ok(writer),
            none => {
                let new = NewFile {
                    number: (self.next_number)(),
                    level: if sequence == Sequence::Newest { 0 } else { BOTTOMMOST_LEVEL },
                    stamps: FileStamps::Unstamped,
                    first_ts: self.timestamp,
                    last_ts: self.timestamp,
                };
                Ok(none.insert(FileWriter::create(self.directory, &new)?.with_filters(self.filters)))
            }
        }
    }

    /// Finishes the last files, which are synced as all before them.
    pub(crate) fn finish(mut self) -> CheckpointResult<LoadFiles> {
        for (writer, sequence) in
            [(self.newest.take(), Sequence::Newest), (self.bottom.take(), Sequence::Bottom)]
        {
            if let Some(writer) = writer {
                self.files.of(sequence).push(writer.finish()?);
            }
        }
        Ok(self.files)
    }
}
