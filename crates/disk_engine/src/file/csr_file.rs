//! CSR file: the two files of a number, open for reading, with their indexes of pages and their directory in memory.

use crate::file::group_directory::GroupDirectory;
use crate::file::page_reader::PageReader;
use crate::file::paged_file::{FileSource, PagedFile};
use crate::format::directory::{DirectoryRow, decode_directory};
use crate::format::file_name::{FileContent, FileNumber};
use crate::format::page_index::columns::ColumnIndex;
use crate::format::page_index::topology::TopologyIndex;
use crate::format::subject::Subject;
use crate::stored_file::{KeyedFile, StoredFile};
use evergraph_graph::budget::{Budget as _, Reservation};
use evergraph_graph::id::{GroupId, KeyId};
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::IoError;
use evergraph_storage::sync::atomic::{AtomicBool, Ordering};
use std::fmt;
use std::sync::Arc;

/// What the memory of open files is called in a budget: indexes of pages, and directories with the bits of live vertices
/// and of lists.
pub const INDEXES_PURPOSE: &str = "page indexes";

/// An open CSR file.
///
/// # Concurrency
/// Immutable. Any thread reads; the file may be removed meanwhile, when it is kept open.
#[derive(Debug)]
pub struct CsrFile {
    stored: StoredFile,
    pub(super) reader: Arc<PageReader>,
    pub(super) topology: PagedFile,
    pub(super) topology_index: TopologyIndex,
    pub(super) directory: GroupDirectory,
    pub(super) columns: Option<ColumnsFile>,
    /// Set once it is known how much the others take.
    memory: Option<IndexMemory>,
    cached: CachedPages,
}

/// What an open file has of the budget.
struct IndexMemory(Reservation);

impl fmt::Debug for IndexMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bytes", self.0.bytes())
    }
}

/// The cached pages of a file, which go with the last of those who hold it, if it was replaced by then.
#[derive(Debug)]
struct CachedPages {
    reader: Arc<PageReader>,
    number: FileNumber,
    /// Of the files, not of the pages.
    file_bytes: u64,
    /// Relaxed: counts that drop the file order it.
    is_replaced: AtomicBool,
}

impl Drop for CachedPages {
    fn drop(&mut self) {
        if self.is_replaced.load(Ordering::Relaxed) {
            self.reader.forget_file(self.number);
            self.reader.note_closed(self.file_bytes);
        }
    }
}

/// The columns of a CSR file.
#[derive(Debug)]
pub(super) struct ColumnsFile {
    pub(super) file: PagedFile,
    pub(super) index: ColumnIndex,
}

impl CsrFile {
    /// Opens the files of `stored` and checks all of them but their pages, which are verified when they are read.
    ///
    /// Cost: three reads a file; memory for indexes and directory, some 25 bytes a page and a bit a vertex and subject, which
    /// the reader's budget counts.
    ///
    /// # Errors
    /// [`CheckpointError::Corrupt`], naming file and
    /// offset, also for a file that is missing, cut, or another one than `stored` says; `NewerFormat`; `Refused` if the budget has no
    /// memory for it; what the system
    /// says.
    pub fn open(
        directory: &Arc<dyn Directory>,
        stored: &StoredFile,
        reader: &Arc<PageReader>,
    ) -> CheckpointResult<Self> {
        let source = FileSource::Table(reader.handles(), directory);
        let mut file = Self::open_uncounted(source, stored, reader)?;
        let reserved = reader.budget().reserve(INDEXES_PURPOSE, file.heap_bytes() as u64);
        file.memory = Some(IndexMemory(reserved.map_err(CheckpointError::Refused)?));
        Ok(file)
    }

    /// As [`CsrFile::open`], in a directory that is only lent: the file stays open. A budget that is full does not stop
    /// that: who checks a database has no limit, and opening it takes more memory than its indexes.
    ///
    /// # Errors
    /// As [`CsrFile::open`], but `Refused`.
    pub fn open_in(
        directory: &dyn Directory,
        stored: &StoredFile,
        reader: &Arc<PageReader>,
    ) -> CheckpointResult<Self> {
        Self::open_anyway(FileSource::Lent(directory), stored, reader)
    }

    /// As [`CsrFile::open`], of a file that was written to take the place of a graph or of files, which have more memory
    /// than its index takes: a budget that is full does not stop that.
    ///
    /// # Errors
    /// As [`CsrFile::open`], but `Refused`.
    pub fn open_in_place(
        directory: &Arc<dyn Directory>,
        stored: &StoredFile,
        reader: &Arc<PageReader>,
    ) -> CheckpointResult<Self> {
        Self::open_anyway(FileSource::Table(reader.handles(), directory), stored, reader)
    }

    fn open_anyway(
        source: FileSource<'_>,
        stored: &StoredFile,
        reader: &Arc<PageReader>,
    ) -> CheckpointResult<Self> {
        let mut file = Self::open_uncounted(source, stored, reader)?;
        let bytes = file.heap_bytes() as u64;
        file.memory = Some(IndexMemory(reader.budget().reserve_anyway(INDEXES_PURPOSE, bytes)));
        Ok(file)
    }

    fn open_uncounted(
        source: FileSource<'_>,
        stored: &StoredFile,
        reader: &Arc<PageReader>,
    ) -> CheckpointResult<Self> {
        let content = FileContent::Topology;
        let (topology, tail) = PagedFile::open(source, stored, content, &stored.topology, reader.reads())?;
        let index = TopologyIndex::decode(tail.index(), topology.pages());
        let topology_index = index
            .map_err(|error| topology.corrupt(tail.index_offset() + error.offset as u64, error.expected))?;
        let rows = decode_directory(tail.directory());
        let rows = rows.map_err(|error| {
            topology.corrupt(tail.directory_offset() + error.offset as u64, error.expected)
        })?;
        let columns = stored.columns.as_ref().map(|part| {
            let (file, tail) = PagedFile::open(source, stored, FileContent::Columns, part, reader.reads())?;
            let index = ColumnIndex::decode(tail.index(), file.pages());
            let index = index
                .map_err(|error| file.corrupt(tail.index_offset() + error.offset as u64, error.expected))?;
            CheckpointResult::Ok(ColumnsFile { file, index })
        });
        Ok(Self {
            stored: stored.clone(),
            reader: Arc::clone(reader),
            topology,
            topology_index,
            directory: GroupDirectory::new(rows),
            columns: columns.transpose()?,
            memory: None,
            cached: CachedPages {
                reader: Arc::clone(reader),
                number: stored.number,
                file_bytes: stored.bytes(),
                is_replaced: AtomicBool::new(false),
            },
        })
    }

    /// Keeps both files open until this is dropped, and opens those that are not: before their names go.
    ///
    /// # Errors
    /// What the system says.
    pub fn keep_open(&self) -> Result<(), IoError> {
        self.topology.keep_open()?;
        self.columns.as_ref().map_or(Ok(()), |columns| columns.file.keep_open())
    }

    /// Notes that others took its place: it counts as pinned, and its cached pages make room when the last one who holds
    /// it lets go of it.
    pub fn note_replaced(&self) {
        if !self.cached.is_replaced.swap(true, Ordering::Relaxed) {
            self.reader.note_replaced(self.cached.file_bytes);
        }
    }

    /// Notes that so many lists were asked for, here and in other files.
    pub fn note_lists(&self, lists: usize) {
        self.reader.reads().asked_for_lists(lists);
    }

    /// What the manifest says of it.
    #[must_use]
    pub const fn stored(&self) -> &StoredFile {
        &self.stored
    }

    /// Its number.
    #[must_use]
    pub const fn number(&self) -> FileNumber {
        self.stored.number
    }

    /// What it changed in each group, ascending by subject and group.
    #[must_use]
    pub fn directory_rows(&self) -> &[DirectoryRow] {
        self.directory.rows()
    }

    /// What it changed in one group, all of its commits together. Cost: a few loads.
    #[must_use]
    pub fn directory_difference(&self, subject: Subject, group: GroupId) -> i64 {
        self.directory.row(subject, group).map_or(0, |row| row.difference)
    }

    /// The pages of lists, vertices and entries, in key order.
    #[must_use]
    pub const fn topology_index(&self) -> &TopologyIndex {
        &self.topology_index
    }

    /// The subjects that have properties in the file, ascending. Cost: a binary search a subject.
    pub fn property_subjects(&self) -> impl Iterator<Item = Subject> + '_ {
        self.columns.iter().flat_map(|columns| columns.index.subjects())
    }

    /// The properties of `subject` that have columns in the file, ascending. Cost: two binary searches a property.
    pub fn property_keys(&self, subject: Subject) -> impl Iterator<Item = KeyId> + '_ {
        self.columns.iter().flat_map(move |columns| columns.index.property_keys(subject))
    }

    /// The error for records of the file that contradict what was written.
    #[must_use]
    pub fn contradiction(&self, problem: impl Into<String>) -> CheckpointError {
        self.topology.corrupt(0, problem)
    }

    /// Whether reads bypass the system's page cache.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        let columns = self.columns.as_ref().is_none_or(|columns| columns.file.handle().is_direct());
        self.topology.handle().is_direct() && columns
    }

    /// Bytes on the heap: indexes and directory.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let columns = self.columns.as_ref().map_or(0, |columns| columns.index.heap_bytes());
        let keys = self.stored.first_key.capacity() + self.stored.last_key.capacity();
        self.topology_index.heap_bytes() + columns + self.directory.heap_bytes() + keys
    }
}

impl KeyedFile for CsrFile {
    fn stored(&self) -> &StoredFile {
        Self::stored(self)
    }
}
