//! Topology writer: vertices, lists and entries become the topology file, with filters, page index and directory.
//!
//! ```text
//! subject 0   | out edges of type 0 | filters | in edges of type 0 | ... | entries of an index | filters
//! ```
//!
//! Filters of out sides and indexes are gathered until they fill a span, so that pages of lists lie together for
//! scans; so the last filters of a subject may stand behind others.

use crate::format::directory::{DirectoryBuilder, encode_directory};
use crate::format::entries::builder::EntryPageBuilder;
use crate::format::entries::entry::{EntryRecord, ItemKind, Separator};
use crate::format::file_head::FileHead;
use crate::format::file_name::PAGE_BYTES;
use crate::format::filter::{FilterChoice, FilterColumns, FilterPageBuilder};
use crate::format::lists::builder::ListPageBuilder;
use crate::format::lists::record::ListRecord;
use crate::format::operation::RecordOperation;
use crate::format::page::{PageBytes, PageHead, Pushed};
use crate::format::page_index::topology::TopologyIndexBuilder;
use crate::format::subject::{EdgeSide, Subject, SubjectKind};
use crate::format::tree_key::{ItemKey, ListId};
use crate::format::vertices::{VertexPageBuilder, VertexRecord};
use crate::merge::list_source::ListKey;
use crate::merge::merged_run::RunKeys;
use crate::stored_file::{StoredPart, entry_key, list_key};
use crate::writer::page_file::{PageFile, SPAN_PAGES};
use evergraph_graph::id::VertexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::io::directory::Directory;
use std::sync::Arc;

/// Writes a topology file.
#[derive(Debug)]
pub(super) struct TopologyWriter {
    pages: Pages,
    filters: FinishedFilters,
    rows: DirectoryBuilder,
    stamp_base: Option<Timestamp>,
    level: u8,
    /// Of new filters; `None` if the file gets none.
    filter_columns: Option<FilterColumns>,
    section: Section,
    /// Records of the section so far: the rank of the next.
    rank: u64,
    first_key: Option<Vec<u8>>,
    last_key: Vec<u8>,
}

/// The file's pages and their index.
#[derive(Debug)]
struct Pages {
    file: PageFile,
    index: TopologyIndexBuilder,
    /// Records of the section before the page in hand.
    rank: u64,
}

/// The subject in hand.
#[derive(Debug)]
enum Section {
    None,
    Vertices { builder: VertexPageBuilder, last: VertexId },
    Lists(ListSection),
    Entries(EntrySection),
}

#[derive(Debug)]
struct ListSection {
    subject: Subject,
    builder: ListPageBuilder,
    /// Of an out side.
    filter: Option<FilterPageBuilder>,
    last: (VertexId, ItemKey),
}

#[derive(Debug)]
struct EntrySection {
    subject: Subject,
    builder: EntryPageBuilder,
    filter: Option<FilterPageBuilder>,
    /// What the page in hand begins with: a value and perhaps an item.
    separator: (Vec<u8>, Option<ItemId>),
}

impl TopologyWriter {
    /// Creates the file of `head`.
    ///
    /// # Errors
    /// As [`PageFile::create`].
    pub(super) fn create(directory: &Arc<dyn Directory>, head: &FileHead) -> CheckpointResult<Self> {
        let file = PageFile::create(directory, head)?;
        Ok(Self {
            pages: Pages { file, index: TopologyIndexBuilder::default(), rank: 0 },
            filters: FinishedFilters::default(),
            rows: DirectoryBuilder::default(),
            stamp_base: head.stamp_base(),
            level: head.level,
            filter_columns: FilterChoice::default().of_level(head.level),
            section: Section::None,
            rank: 0,
            first_key: None,
            last_key: Vec::new(),
        })
    }

    /// The same with filters by `choice`, before the first record.
    pub(super) fn with_filters(self, choice: FilterChoice) -> Self {
        Self { filter_columns: choice.of_level(self.level), ..self }
    }

    /// Bytes of the file so far, filters that wait included.
    pub(super) fn bytes(&self) -> u64 {
        self.pages.file.bytes() + (self.filters.pages.len() * PAGE_BYTES) as u64
    }

    /// Adds a record of a vertex. Cost: some 5 ns.
    ///
    /// # Errors
    /// If a write fails.
    ///
    /// # Panics
    /// If it doesn't follow in file order.
    pub(super) fn push_vertex(&mut self, record: &VertexRecord) -> CheckpointResult<()> {
        if !matches!(self.section, Section::Vertices { .. }) {
            self.begin(Subject::VERTICES, || list_key(ListId::vertex(record.vertex), ItemKey::VERTEX))?;
            let builder = VertexPageBuilder::new(self.stamp_base);
            self.section = Section::Vertices { builder, last: record.vertex };
        }
        let Section::Vertices { builder, last } = &mut self.section else { unreachable!("begun above") };
        if builder.push(record) == Pushed::PageFull {
            self.pages.append(self.rank, VertexId(0), |rank, page| builder.finish(rank, page))?;
            assert_eq!(builder.push(record), Pushed::Taken, "an empty page has room for any record");
        }
        *last = record.vertex;
        self.rank += 1;
        self.rows.add_vertex(record.vertex, record.operation);
        Ok(())
    }

    /// Adds a record of a list; gives its rank. Cost: some 15 ns.
    ///
    /// # Errors
    /// If a write fails.
    ///
    /// # Panics
    /// If it doesn't follow in file order, or `subject` is no edges'.
    pub(super) fn push_edge(&mut self, subject: Subject, record: &ListRecord) -> CheckpointResult<u64> {
        self.begin_lists(subject, record.vertex, record.neighbor, record.discriminator)?;
        let Section::Lists(lists) = &mut self.section else { unreachable!("begun above") };
        if lists.builder.push(record) == Pushed::PageFull {
            self.pages.append_lists(self.rank, &mut lists.builder)?;
            assert_eq!(lists.builder.push(record), Pushed::Taken, "an empty page has room for any record");
        }
        lists.last = (record.vertex, ItemKey::edge(record.neighbor, record.discriminator));
        if let Some(filter) = &mut lists.filter {
            self.filters.push_edge(filter, record.vertex, record.neighbor);
        }
        self.rows.add_list(subject, record.vertex, record.operation.difference());
        self.rank += 1;
        self.filters.write_run(&mut self.pages)?;
        Ok(self.rank - 1)
    }

    /// Adds edges without discriminators from `vertex` to the ascending `neighbors`; gives the rank of the first.
    /// Cost: about a nanosecond an edge, and 5 ns for the filter of an out side.
    ///
    /// # Errors
    /// If a write fails.
    ///
    /// # Panics
    /// If they don't follow in file order, the file has stamps, or `subject` is no edges'.
    pub(super) fn push_list(
        &mut self,
        subject: Subject,
        vertex: VertexId,
        neighbors: &[u32],
    ) -> CheckpointResult<u64> {
        let (Some(first), Some(last)) = (neighbors.first(), neighbors.last()) else { return Ok(self.rank) };
        self.begin_lists(subject, vertex, VertexId(*first), 0)?;
        let Section::Lists(lists) = &mut self.section else { unreachable!("begun above") };
        let first_rank = self.rank;
        let mut rest = neighbors;
        loop {
            let pushed = lists.builder.push_list(vertex, rest);
            rest = &rest[pushed..];
            self.rank += pushed as u64;
            if rest.is_empty() {
                break;
            }
            self.pages.append_lists(self.rank, &mut lists.builder)?;
        }
        lists.last = (vertex, ItemKey::edge(VertexId(*last), 0));
        if let Some(filter) = &mut lists.filter {
            for neighbor in neighbors {
                self.filters.push_edge(filter, vertex, VertexId(*neighbor));
                self.filters.write_run(&mut self.pages)?;
            }
        }
        self.rows.add_list(subject, vertex, neighbors.len() as i64);
        Ok(first_rank)
    }

    /// Adds records without stamps of one list, or of vertices; gives the rank of the first. Cost: about a nanosecond an
    /// edge that is inserted and has no discriminator, some 15 ns for another, 5 ns for a vertex.
    ///
    /// # Errors
    /// If a write fails.
    ///
    /// # Panics
    /// If they don't follow in file order, or the file has stamps.
    pub(super) fn push_run(&mut self, run: &RunKeys<'_>) -> CheckpointResult<u64> {
        let ListKey { subject, vertex } = run.list;
        let operation = |at: usize| run.operations.get(at).copied().unwrap_or(RecordOperation::Insert);
        let stamp = Timestamp::ZERO;
        let mut first_rank = None;
        if subject == Subject::VERTICES {
            for (at, vertex) in run.neighbors.iter().enumerate() {
                self.push_vertex(&VertexRecord {
                    vertex: VertexId(*vertex),
                    operation: operation(at),
                    stamp,
                })?;
                first_rank.get_or_insert(self.rank - 1);
            }
            return Ok(first_rank.unwrap_or(self.rank));
        }
        let discriminator = |at: usize| run.discriminators.get(at).copied().unwrap_or(0);
        let is_plain = |at: usize| operation(at) == RecordOperation::Insert && discriminator(at) == 0;
        let mut at = 0;
        while at < run.neighbors.len() {
            let plain = match (run.operations, run.discriminators) {
                ([], []) => run.neighbors.len(),
                _ => (at..run.neighbors.len()).take_while(|at| is_plain(*at)).count(),
            };
            let rank = if plain > 0 {
                self.push_list(subject, vertex, &run.neighbors[at..at + plain])?
            } else {
                let (neighbor, discriminator) = (VertexId(run.neighbors[at]), discriminator(at));
                let operation = operation(at);
                let record = ListRecord { vertex, neighbor, discriminator, operation, stamp };
                self.push_edge(subject, &record)?
            };
            first_rank.get_or_insert(rank);
            at += plain.max(1);
        }
        Ok(first_rank.unwrap_or(self.rank))
    }

    /// Adds a record of an index. Cost: some 30 ns.
    ///
    /// # Errors
    /// If a write fails.
    ///
    /// # Panics
    /// If it doesn't follow in file order, or `subject` is no index.
    pub(super) fn push_entry(&mut self, subject: Subject, record: &EntryRecord<'_>) -> CheckpointResult<()> {
        if !matches!(&self.section, Section::Entries(entries) if entries.subject == subject) {
            assert!(
                matches!(subject.kind(), SubjectKind::Index(_)),
                "entries are of an index, not of {subject}"
            );
            self.begin(subject, || entry_key(subject, record.value, record.item))?;
            self.section = Section::Entries(EntrySection {
                subject,
                builder: EntryPageBuilder::new(subject, ItemKind::of(&record.item), self.stamp_base),
                filter: self.filter_columns.map(|columns| FilterPageBuilder::new(subject, columns)),
                separator: (Vec::new(), None),
            });
        }
        let Section::Entries(entries) = &mut self.section else { unreachable!("begun above") };
        if entries.builder.push(record) == Pushed::PageFull {
            self.pages.append_entries(self.rank, entries)?;
            let last = entries.builder.last().expect("a full page has entries");
            let separator = Separator::between(last, record.key());
            entries.separator = (separator.value.to_vec(), separator.item);
            let pushed = entries.builder.push(record);
            assert_eq!(pushed, Pushed::Taken, "an empty page has room for any record");
        }
        if let Some(filter) = &mut entries.filter {
            self.filters.push_value(filter, record.value);
        }
        self.rows.add_entry(subject, record.operation.difference());
        self.rank += 1;
        self.filters.write_run(&mut self.pages)
    }

    /// Goes to the lists of `subject`, unless the writer is there.
    fn begin_lists(
        &mut self,
        subject: Subject,
        vertex: VertexId,
        neighbor: VertexId,
        discriminator: u16,
    ) -> CheckpointResult<()> {
        if matches!(&self.section, Section::Lists(lists) if lists.subject == subject) {
            return Ok(());
        }
        let SubjectKind::Edges { side, .. } = subject.kind() else {
            panic!("lists are of edges, not of {subject}");
        };
        let first = ItemKey::edge(neighbor, discriminator);
        self.begin(subject, || list_key(ListId { subject, vertex }, first))?;
        self.section = Section::Lists(ListSection {
            subject,
            builder: ListPageBuilder::new(subject, self.stamp_base),
            filter: self
                .filter_columns
                .filter(|_| side == EdgeSide::Out)
                .map(|columns| FilterPageBuilder::new(subject, columns)),
            last: (vertex, first),
        });
        Ok(())
    }

    /// Ends the section in hand, for that of `subject`.
    fn begin(&mut self, subject: Subject, first_key: impl FnOnce() -> Vec<u8>) -> CheckpointResult<()> {
        let before = match &self.section {
            Section::None => None,
            Section::Vertices { .. } => Some(Subject::VERTICES),
            Section::Lists(lists) => Some(lists.subject),
            Section::Entries(entries) => Some(entries.subject),
        };
        assert!(before.is_none_or(|before| before < subject), "subjects ascend: {before:?}, {subject:?}");
        self.end_section()?;
        self.first_key.get_or_insert_with(first_key);
        Ok(())
    }

    /// Writes the last page of the section in hand; its last filter waits.
    fn end_section(&mut self) -> CheckpointResult<()> {
        match std::mem::replace(&mut self.section, Section::None) {
            Section::None => return Ok(()),
            Section::Vertices { mut builder, last } => {
                self.pages.append(self.rank, VertexId(0), |rank, page| builder.finish(rank, page))?;
                self.last_key = list_key(ListId::vertex(last), ItemKey::VERTEX);
            }
            Section::Lists(mut lists) => {
                self.pages.append_lists(self.rank, &mut lists.builder)?;
                let (vertex, item) = lists.last;
                self.last_key = list_key(ListId { subject: lists.subject, vertex }, item);
                if let Some(mut filter) = lists.filter {
                    self.filters.finish_edges(&mut filter);
                }
            }
            Section::Entries(mut entries) => {
                self.pages.append_entries(self.rank, &mut entries)?;
                let (value, item) = entries.builder.last().expect("a section has records");
                self.last_key = entry_key(entries.subject, value, item);
                if let Some(mut filter) = entries.filter {
                    self.filters.finish_values(&mut filter);
                }
            }
        }
        (self.rank, self.pages.rank) = (0, 0);
        self.filters.write_run(&mut self.pages)
    }

    /// Writes the rest of the file, which is not synced then. Gives the first and the last key with it.
    ///
    /// # Errors
    /// If a write fails.
    ///
    /// # Panics
    /// If there are no records.
    pub(super) fn write_end(&mut self) -> CheckpointResult<(StoredPart, Vec<u8>, Vec<u8>)> {
        self.end_section()?;
        self.filters.write(&mut self.pages)?;
        let first_key = self.first_key.take().expect("a file has records");
        let index = std::mem::take(&mut self.pages.index).finish();
        let directory = encode_directory(&std::mem::take(&mut self.rows).into_rows());
        let part = self.pages.file.write_end(&index, &directory)?;
        Ok((part, first_key, std::mem::take(&mut self.last_key)))
    }

    /// The file, to be synced and kept.
    pub(super) fn into_file(self) -> PageFile {
        self.pages.file
    }
}

impl Pages {
    /// Appends the page in hand, whose last record is the one before `rank`.
    fn append(
        &mut self,
        rank: u64,
        first_neighbor: VertexId,
        finish: impl FnOnce(u64, &mut PageBytes) -> PageHead,
    ) -> CheckpointResult<()> {
        let before = std::mem::replace(&mut self.rank, rank);
        let head = self.file.append(|page| finish(before, page))?;
        self.index.push(&head, first_neighbor);
        Ok(())
    }

    fn append_lists(&mut self, rank: u64, builder: &mut ListPageBuilder) -> CheckpointResult<()> {
        let first = builder.first_neighbor().expect("a page that is finished has records");
        self.append(rank, first, |rank, page| builder.finish(rank, page))
    }

    fn append_entries(&mut self, rank: u64, entries: &mut EntrySection) -> CheckpointResult<()> {
        let before = std::mem::replace(&mut self.rank, rank);
        let head = self.file.append(|page| entries.builder.finish(before, page))?;
        let (value, item) = &entries.separator;
        self.index.push_separated(&head, &Separator { value, item: *item });
        Ok(())
    }
}

/// Filters that wait to be written as a run.
#[derive(Debug, Default)]
struct FinishedFilters {
    pages: Vec<FinishedFilter>,
}

#[derive(Debug)]
struct FinishedFilter {
    head: PageHead,
    first: FilterStart,
    page: Box<PageBytes>,
}

/// The first key of a filter.
#[derive(Debug)]
enum FilterStart {
    Neighbor(VertexId),
    Value(Vec<u8>),
}

impl FinishedFilters {
    #[inline]
    fn push_edge(&mut self, filter: &mut FilterPageBuilder, vertex: VertexId, neighbor: VertexId) {
        if filter.push_edge(vertex, neighbor) == Pushed::PageFull {
            self.finish_edges(filter);
            assert_eq!(filter.push_edge(vertex, neighbor), Pushed::Taken, "an empty page has room for a key");
        }
    }

    fn push_value(&mut self, filter: &mut FilterPageBuilder, value: &[u8]) {
        if filter.push_value(value) == Pushed::PageFull {
            self.finish_values(filter);
            assert_eq!(filter.push_value(value), Pushed::Taken, "an empty page has room for a key");
        }
    }

    fn finish_edges(&mut self, filter: &mut FilterPageBuilder) {
        let first = FilterStart::Neighbor(filter.first_neighbor());
        self.finish(filter, first);
    }

    fn finish_values(&mut self, filter: &mut FilterPageBuilder) {
        let first = FilterStart::Value(filter.first_value().to_vec());
        self.finish(filter, first);
    }

    fn finish(&mut self, filter: &mut FilterPageBuilder, first: FilterStart) {
        let mut page = Box::new([0; PAGE_BYTES]);
        self.pages.push(FinishedFilter { head: filter.finish(&mut page), first, page });
    }

    /// Writes the filters if they fill a span.
    #[inline]
    fn write_run(&mut self, pages: &mut Pages) -> CheckpointResult<()> {
        if self.pages.len() < SPAN_PAGES { Ok(()) } else { self.write(pages) }
    }

    fn write(&mut self, pages: &mut Pages) -> CheckpointResult<()> {
        for FinishedFilter { head, first, page: finished } in self.pages.drain(..) {
            pages.file.append(|page| page.copy_from_slice(&*finished))?;
            match first {
                FilterStart::Neighbor(neighbor) => pages.index.push(&head, neighbor),
                FilterStart::Value(value) => {
                    pages.index.push_separated(&head, &Separator { value: &value, item: None });
                }
            }
        }
        Ok(())
    }
}
