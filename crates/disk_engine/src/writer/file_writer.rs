//! File writer: one CSR file, topology and columns, from its first record until both files are durable.
//!
//! ```text
//! create ──> topology file     columns file, with the first property
//! finish ──> both synced, directory synced ──> StoredFile
//! else   ──> both removed: after an error, and when the writer is dropped
//! ```
//!
//! Whoever creates a writer gives it a number that no file had before, and that no file gets again if the writer fails:
//! if even the removal fails, what was written stays, and is removed when the database is opened.

use crate::format::entries::entry::EntryRecord;
use crate::format::file_head::{FileHead, FileStamps};
use crate::format::file_name::{CsrFileName, FileContent, FileNumber};
use crate::format::filter::FilterChoice;
use crate::format::lists::record::ListRecord;
use crate::format::subject::{EdgeSide, Subject, SubjectKind};
use crate::format::vertices::VertexRecord;
use crate::merge::merged_run::RunKeys;
use crate::stored_file::StoredFile;
use crate::writer::columns_writer::ColumnsWriter;
use crate::writer::topology_writer::TopologyWriter;
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::planted::{Bug, planted};
use std::sync::Arc;

/// What a new file is, apart from its records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewFile {
    /// Its number: no file had it before.
    pub number: FileNumber,
    /// The level that it is written for.
    pub level: u8,
    /// Whether its records have stamps.
    pub stamps: FileStamps,
    /// The oldest commit in the file.
    pub first_ts: Timestamp,
    /// The newest commit in the file.
    pub last_ts: Timestamp,
}

impl NewFile {
    fn head(&self, content: FileContent) -> FileHead {
        let Self { number, level, stamps, first_ts, last_ts } = *self;
        FileHead { name: CsrFileName::new(number, content), level, stamps, first_ts, last_ts }
    }
}

/// Writes one CSR file. Dropped unfinished, it removes what it wrote.
///
/// Records come in file order: vertices, then lists, then indexes, by subject; inside a subject by key, and of one key the
/// newest stamp first. In a file without stamps a key has one record, and its stamp is not used.
///
/// # Errors
/// Methods fail if a write fails. The writer is of no more use then, and should be dropped, which removes both files.
///
/// # Concurrency
/// One thread writes. Nobody reads the files before they are finished.
#[derive(Debug)]
pub struct FileWriter {
    directory: Arc<dyn Directory>,
    new: NewFile,
    topology: TopologyWriter,
    columns: Option<ColumnsWriter>,
}

impl FileWriter {
    /// Creates the topology file. Cost: two system calls, and 1 MiB of memory.
    ///
    /// # Errors
    /// If there is such a file, which is left alone, and those of the directory.
    ///
    /// # Panics
    /// If the first timestamp is above the last.
    pub fn create(directory: &Arc<dyn Directory>, new: &NewFile) -> CheckpointResult<Self> {
        assert!(new.first_ts <= new.last_ts, "the oldest commit is not newer than the newest");
        let topology = TopologyWriter::create(directory, &new.head(FileContent::Topology))?;
        Ok(Self { directory: Arc::clone(directory), new: *new, topology, columns: None })
    }

    /// The same with filters by `choice`, before the first record; without this, with those of its level.
    #[must_use]
    pub fn with_filters(self, choice: FilterChoice) -> Self {
        Self { topology: self.topology.with_filters(choice), ..self }
    }

    /// Bytes of both files so far, but for what is behind their pages and for pages in hand: callers that cut files by
    /// size ask for it.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.topology.bytes() + self.columns.as_ref().map_or(0, ColumnsWriter::bytes)
    }

    /// Adds a record of a vertex with the properties that it carries. Cost: some 5 ns, and 50 ns a property.
    ///
    /// # Errors
    /// If a write fails.
    ///
    /// # Panics
    /// If it is out of order, or its stamp is not between the file's timestamps.
    pub fn push_vertex(&mut self, record: &VertexRecord, properties: &Properties) -> CheckpointResult<()> {
        self.check_stamp(record.stamp);
        self.topology.push_vertex(record)?;
        self.push_properties(Subject::VERTICES, record.vertex.0.into(), record.stamp, properties)
    }

    /// Adds a record of an edge, with the properties that it carries if `subject` is an out side. Cost: some 15 ns, and
    /// 50 ns a property.
    ///
    /// # Errors
    /// If a write fails.
    ///
    /// # Panics
    /// If it is out of order, its stamp is not between the file's timestamps, or `subject` is no edges'.
    #[inline]
    pub fn push_edge(
        &mut self,
        subject: Subject,
        record: &ListRecord,
        properties: &Properties,
    ) -> CheckpointResult<()> {
        self.check_stamp(record.stamp);
        let rank = self.topology.push_edge(subject, record)? + u64::from(planted(Bug::RankOffByOne));
        let is_out = matches!(subject.kind(), SubjectKind::Edges { side: EdgeSide::Out, .. });
        if !is_out || properties.is_empty() {
            return Ok(());
        }
        self.push_properties(subject, rank, record.stamp, properties)
    }

    /// Adds edges that are inserted without properties and discriminators, from `vertex` to the ascending `neighbors`.
    /// Cost: about a nanosecond an edge, and 5 ns more at an out side.
    ///
    /// # Errors
    /// If a write fails.
    ///
    /// # Panics
    /// If they are out of order, the file has stamps, or `subject` is no edges'.
    pub fn push_list(
        &mut self,
        subject: Subject,
        vertex: VertexId,
        neighbors: &[u32],
    ) -> CheckpointResult<()> {
        self.topology.push_list(subject, vertex, neighbors)?;
        Ok(())
    }

    /// Adds records without stamps of one list, or of vertices, without their properties, which are pushed by
    /// [`FileWriter::push_value`]. Gives the rank of the first; those of the others follow one by one. Cost: about a
    /// nanosecond an edge that is inserted and has no discriminator, some 15 ns for another, 5 ns for a vertex.
    ///
    /// # Errors
    /// If a write fails.
    ///
    /// # Panics
    /// If they are out of order, or the file has stamps.
    pub fn push_run(&mut self, run: &RunKeys<'_>) -> CheckpointResult<u64> {
        assert!(self.new.stamps == FileStamps::Unstamped, "runs have no stamps");
        self.topology.push_run(run)
    }

    /// Adds one property of a record that [`FileWriter::push_run`] added, by its vertex, or by its rank in an out list:
    /// `None` says that a Set removed it. Subjects come in file order, and in each of them the positions of each property.
    /// Cost: some 50 ns, and a copy of the value.
    ///
    /// # Errors
    /// If a write fails.
    ///
    /// # Panics
    /// If it is out of order, or the file has stamps.
    pub fn push_value(
        &mut self,
        subject: Subject,
        key: KeyId,
        position: u64,
        value: Option<&Value>,
    ) -> CheckpointResult<()> {
        assert!(self.new.stamps == FileStamps::Unstamped, "runs have no stamps");
        self.columns()?.push_value(subject, key, (position, Timestamp::ZERO), value)
    }

    /// Bytes of finished column pages that wait in memory for the end of their subject: callers that bound memory cut
    /// files by it.
    #[must_use]
    pub fn waiting_bytes(&self) -> u64 {
        self.columns.as_ref().map_or(0, ColumnsWriter::waiting_bytes)
    }

    /// Adds a record of an index. Cost: some 30 ns.
    ///
    /// # Errors
    /// If a write fails.
    ///
    /// # Panics
    /// If it is out of order, its stamp is not between the file's timestamps, its item is of another kind than those
    /// before, or `subject` is no index.
    pub fn push_entry(&mut self, subject: Subject, record: &EntryRecord<'_>) -> CheckpointResult<()> {
        self.check_stamp(record.stamp);
        self.topology.push_entry(subject, record)
    }

    fn push_properties(
        &mut self,
        subject: Subject,
        position: u64,
        stamp: Timestamp,
        properties: &Properties,
    ) -> CheckpointResult<()> {
        if properties.is_empty() {
            return Ok(());
        }
        self.columns()?.push(subject, position, stamp, properties)
    }

    /// The columns file, which is created with the first property.
    fn columns(&mut self) -> CheckpointResult<&mut ColumnsWriter> {
        Ok(match &mut self.columns {
            Some(columns) => columns,
            none => {
                none.insert(ColumnsWriter::create(&self.directory, &self.new.head(FileContent::Columns))?)
            }
        })
    }

    /// Writes what is left and makes both files durable, with their names. Cost: two or three syncs.
    ///
    /// # Errors
    /// If a write or a sync fails: both files are removed then.
    ///
    /// # Panics
    /// If no record was pushed.
    pub fn finish(self) -> CheckpointResult<StoredFile> {
        let Self { directory, new, mut topology, mut columns } = self;
        let (topology_part, first_key, last_key) = topology.write_end()?;
        let columns_part = columns.as_mut().map(ColumnsWriter::write_end).transpose()?;
        let files = (topology.into_file(), columns.map(ColumnsWriter::into_file));
        files.0.sync()?;
        if let Some(columns) = &files.1 {
            columns.sync()?;
        }
        directory.sync_directory()?;
        files.0.keep();
        if let Some(columns) = files.1 {
            columns.keep();
        }
        let NewFile { number, level, stamps, first_ts, last_ts } = new;
        Ok(StoredFile {
            number,
            level,
            stamps,
            first_ts,
            last_ts,
            first_key,
            last_key,
            topology: topology_part,
            columns: columns_part,
        })
    }

    #[inline]
    fn check_stamp(&self, stamp: Timestamp) {
        let NewFile { stamps, first_ts, last_ts, .. } = self.new;
        let is_between = stamps == FileStamps::Unstamped || (first_ts <= stamp && stamp <= last_ts);
        assert!(is_between, "a stamp is between {first_ts} and {last_ts}: {stamp}");
    }
}
