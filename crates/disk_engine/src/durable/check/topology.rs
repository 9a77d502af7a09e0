//! Topology: checks the pages of a topology file, alone, in order, and against index, directory and filters.

use crate::durable::check::stored_bytes::StoredBytes;
use crate::durable::check::sums::GraphSums;
use crate::format::directory::{DirectoryBuilder, DirectoryRow};
use crate::format::entries::entry::Separator;
use crate::format::entries::page::EntryPage;
use crate::format::file_head::FileStamps;
use crate::format::file_name::{PAGE_BYTES, PageNumber};
use crate::format::filter::{FilterPage, KeyHash};
use crate::format::lists::buffer::ListBuffer;
use crate::format::lists::page::ListPage;
use crate::format::page::{PageBytes, PageFlags, PageHead, PageKind};
use crate::format::page_index::filters::FilterAnswer;
use crate::format::page_index::topology::{IndexedPage, TopologyIndex};
use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use crate::format::vertices::VertexPage;
use crate::stored_file::{StoredFile, entry_key, list_key};
use evergraph_graph::bytes::DecodeError;
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::checkpoint::report::{CheckProgress, Report, tell};
use std::collections::BTreeMap;

/// Values of each subject of a file; `None` where a page could not be read.
pub(super) type ValuesBySubject = BTreeMap<Subject, Option<u64>>;

/// Checks all pages of `file`; edges go to `sums`. How many values each subject has, if the index can be
/// read.
///
/// # Errors
/// `cancelled`, and what the system says. Damage is a finding.
pub(super) fn check_topology(
    file: &StoredBytes,
    stored: &StoredFile,
    sums: &mut GraphSums,
    report: &mut Report,
    progress: &mut CheckProgress<'_>,
) -> Result<Option<ValuesBySubject>> {
    let index = match TopologyIndex::decode(&file.index, file.pages) {
        Ok(index) => Some(index),
        Err(error) => {
            report.take_in(file.corrupt(file.index_offset + error.offset as u64, error.expected))?;
            None
        }
    };
    let Some(index) = index else {
        sums.is_unread = true;
        return verify_pages(file, report, progress).map(|()| None);
    };
    let mut check = TopologyCheck {
        file,
        stored,
        index: &index,
        sums,
        report,
        values: BTreeMap::new(),
        rows: DirectoryBuilder::default(),
        first_key: None,
        last: None,
        last_key: Vec::new(),
        is_whole: true,
        filter: None,
        buffer: ListBuffer::default(),
    };
    let mut indexed: Vec<Option<&IndexedPage>> = vec![None; file.pages as usize];
    for page in index.pages().iter().chain(index.filters()) {
        indexed[page.page.0 as usize] = Some(page);
    }
    file.for_each_page(&mut |page, bytes, verified| {
        tell(progress, "pages of a file", u64::from(page.0), u64::from(file.pages))?;
        let Some(indexed) = indexed[page.0 as usize] else { return Ok(()) };
        check.page(page, bytes, verified, indexed)
    })?;
    check.finish().map(Some)
}

/// Verifies the checksums of all pages, where nothing else can be told of them.
pub(super) fn verify_pages(
    file: &StoredBytes,
    report: &mut Report,
    progress: &mut CheckProgress<'_>,
) -> Result<()> {
    file.for_each_page(&mut |page, _, verified| {
        tell(progress, "pages of a file", u64::from(page.0), u64::from(file.pages))?;
        report.bytes_count += PAGE_BYTES as u64;
        verified.map(drop).or_else(|error| report.take_in(error))
    })
}

/// The last record of the page before.
struct LastRecord {
    subject: Subject,
    /// Its key, and above it the stamp: what follows is greater, or the same with an older stamp.
    key: Vec<u8>,
    stamp: Timestamp,
    /// The vertex of a list; none of an index.
    vertex: Option<VertexId>,
}

struct TopologyCheck<'a> {
    file: &'a StoredBytes,
    stored: &'a StoredFile,
    index: &'a TopologyIndex,
    sums: &'a mut GraphSums,
    report: &'a mut Report,
    values: ValuesBySubject,
    /// Inserts less Deletes of the records, as the directory should have them.
    rows: DirectoryBuilder,
    first_key: Option<Vec<u8>>,
    last: Option<LastRecord>,
    last_key: Vec<u8>,
    /// Whether every page of records was read.
    is_whole: bool,
    /// The filter page that was asked last.
    filter: Option<(PageNumber, Box<PageBytes>)>,
    buffer: ListBuffer,
}

impl TopologyCheck<'_> {
    fn page(
        &mut self,
        page: PageNumber,
        bytes: &PageBytes,
        verified: std::result::Result<PageHead, CheckpointError>,
        indexed: &IndexedPage,
    ) -> Result<()> {
        self.report.bytes_count += PAGE_BYTES as u64;
        self.report.bodies_count += 1;
        let checked = verified.and_then(|head| {
            self.compare(&head, indexed)
                .and_then(|()| match head.kind {
                    PageKind::Lists => self.lists(&head, bytes, indexed),
                    PageKind::Vertices => self.vertices(&head, bytes),
                    PageKind::Entries => self.entries(&head, bytes, indexed),
                    PageKind::Filter => FilterPage::open(bytes).map(drop),
                    PageKind::Column | PageKind::LongValues => Ok(()),
                })
                .map_err(|error| self.file.in_page(page, error))
        });
        let Err(error) = checked else { return Ok(()) };
        if indexed.kind != PageKind::Filter {
            self.is_whole = false;
            self.last = None;
            self.values.insert(indexed.subject, None);
            self.sums.unread.insert(indexed.subject);
        }
        self.report.take_in(error)
    }

    /// Whether a page is what the index says.
    fn compare(&self, head: &PageHead, indexed: &IndexedPage) -> std::result::Result<(), DecodeError> {
        let expected = (indexed.kind, indexed.flags, indexed.subject, indexed.values);
        let found = (head.kind, head.flags, head.subject, head.values);
        if expected != found {
            return Err(wrong(4, format!("the page of the index, {expected:?}, expected, found {found:?}")));
        }
        let is_entries = matches!(head.kind, PageKind::Entries);
        if !is_entries && head.kind != PageKind::Filter && head.first_vertex != indexed.first_vertex() {
            let (expected, found) = (indexed.first_vertex(), head.first_vertex);
            return Err(wrong(
                12,
                format!("the first vertex of the index, {expected}, expected, found {found}"),
            ));
        }
        let is_stamped = self.stored.stamps == FileStamps::Stamped;
        if head.kind != PageKind::Filter && head.flags.has(PageFlags::STAMPS) != is_stamped {
            return Err(wrong(5, format!("a page of a file that is {:?} expected", self.stored.stamps)));
        }
        Ok(())
    }

    /// Whether the rank of a page is the number of values before it; it counts on from there.
    fn rank(&mut self, head: &PageHead) -> std::result::Result<(), DecodeError> {
        let before = self.values.entry(head.subject).or_insert(Some(0));
        let expected = before.unwrap_or(head.rank);
        *before = before.is_some().then(|| expected + u64::from(head.values));
        if head.rank == expected {
            return Ok(());
        }
        Err(wrong(24, format!("the rank {expected} expected, found {}", head.rank)))
    }

    /// Whether a page may begin with this record, behind the last one.
    fn follows(
        &mut self,
        head: &PageHead,
        key: Vec<u8>,
        stamp: Timestamp,
        vertex: Option<VertexId>,
    ) -> std::result::Result<(), DecodeError> {
        let last = self.last.take().filter(|last| last.subject == head.subject);
        if let Some(last) = last {
            if last.key > key || (last.key == key && last.stamp <= stamp) {
                return Err(wrong(32, "records behind those of the page before expected".to_owned()));
            }
            let continues = if vertex.is_some() { last.vertex == vertex } else { last.key == key };
            if continues && !head.flags.has(PageFlags::BEGINS_INSIDE) {
                return Err(wrong(5, "the flag of a page that begins inside a list expected".to_owned()));
            }
        }
        self.first_key.get_or_insert(key);
        Ok(())
    }

    fn check_stamp(&self, stamp: Timestamp) -> std::result::Result<(), DecodeError> {
        let (first, last) = (self.stored.first_ts, self.stored.last_ts);
        if self.stored.stamps == FileStamps::Unstamped || (first <= stamp && stamp <= last) {
            return Ok(());
        }
        Err(wrong(32, format!("stamps from {first} to {last} expected, found {stamp}")))
    }

    fn vertices(&mut self, head: &PageHead, bytes: &PageBytes) -> std::result::Result<(), DecodeError> {
        let page = VertexPage::open(bytes)?;
        page.check(self.stored.first_ts)?;
        self.rank(head)?;
        let mut records = Vec::new();
        page.decode_into(self.stored.first_ts, &mut records)?;
        let key = |vertex| list_key(ListId::vertex(vertex), ItemKey::VERTEX);
        let (Some(first), Some(last)) = (records.first(), records.last()) else {
            return Err(wrong(6, "a page with vertices expected".to_owned()));
        };
        self.follows(head, key(first.vertex), first.stamp, Some(first.vertex))?;
        for record in &records {
            self.check_stamp(record.stamp)?;
            self.rows.add_vertex(record.vertex, record.operation);
        }
        self.ends_with(head.subject, key(last.vertex), last.stamp, Some(last.vertex));
        Ok(())
    }

    fn ends_with(&mut self, subject: Subject, key: Vec<u8>, stamp: Timestamp, vertex: Option<VertexId>) {
        self.last_key.clone_from(&key);
        self.last = Some(LastRecord { subject, key, stamp, vertex });
    }

    fn lists(
        &mut self,
        head: &PageHead,
        bytes: &PageBytes,
        indexed: &IndexedPage,
    ) -> std::result::Result<(), DecodeError> {
        let page = ListPage::open(bytes)?;
        let mut buffer = std::mem::take(&mut self.buffer);
        let checked = page.check(self.stored.first_ts, &mut buffer);
        let checked = checked.and_then(|()| self.list_records(head, &buffer, indexed));
        self.buffer = buffer;
        checked
    }

    fn list_records(
        &mut self,
        head: &PageHead,
        buffer: &ListBuffer,
        indexed: &IndexedPage,
    ) -> std::result::Result<(), DecodeError> {
        self.rank(head)?;
        let subject = head.subject;
        let (Some(first), Some(last)) = (buffer.records().next(), buffer.records().last()) else {
            return Err(wrong(6, "a page with edges expected".to_owned()));
        };
        if first.neighbor != indexed.first_neighbor() {
            let (expected, found) = (indexed.first_neighbor(), first.neighbor);
            return Err(wrong(
                32,
                format!("the first neighbor of the index, {expected}, expected, found {found}"),
            ));
        }
        let key = |vertex, item| list_key(ListId { subject, vertex }, item);
        let item = |neighbor, discriminator| ItemKey::edge(neighbor, discriminator);
        self.follows(
            head,
            key(first.vertex, item(first.neighbor, first.discriminator)),
            first.stamp,
            Some(first.vertex),
        )?;
        self.sums.add_edges(subject, buffer);
        buffer.stamps().iter().try_for_each(|stamp| self.check_stamp(*stamp))?;
        let index = self.index;
        let mut filters = index.filters_from(subject, first.vertex, first.neighbor);
        for (vertex, range) in buffer.lists().filter(|(_, range)| !range.is_empty()) {
            let (mut difference, mut filtered) = (0, None);
            for record in range.map(|at| buffer.record(vertex, at)) {
                difference += record.operation.difference();
                if filtered != Some(record.neighbor) {
                    filtered = Some(record.neighbor);
                    let place = filters.of_edge(vertex, record.neighbor);
                    if !self.knows(place, KeyHash::of_edge(subject, vertex, record.neighbor)) {
                        let ends = format!("{vertex} to {}", record.neighbor);
                        return Err(wrong(
                            32,
                            format!("edges that the filter knows expected, found one from {ends}"),
                        ));
                    }
                }
            }
            self.rows.add_list(subject, vertex, difference);
        }
        let last_item = item(last.neighbor, last.discriminator);
        self.ends_with(subject, key(last.vertex, last_item), last.stamp, Some(last.vertex));
        Ok(())
    }

    /// Whether a filter knows a key.
    fn knows(&mut self, place: FilterAnswer, key: KeyHash) -> bool {
        let page = match place {
            FilterAnswer::Unfiltered => return true,
            FilterAnswer::Absent => return false,
            FilterAnswer::Page(page) => page,
        };
        if self.filter.as_ref().is_none_or(|(known, _)| *known != page) {
            // A page that can't be read is a finding where it stands.
            let Ok(bytes) = self.file.read_page(page) else { return true };
            self.filter = Some((page, bytes));
        }
        let filter = self.filter.as_ref().and_then(|(_, bytes)| FilterPage::open(bytes).ok());
        filter.is_none_or(|filter| filter.may_contain(key))
    }

    fn entries(
        &mut self,
        head: &PageHead,
        bytes: &PageBytes,
        indexed: &IndexedPage,
    ) -> std::result::Result<(), DecodeError> {
        let page = EntryPage::open(bytes)?;
        page.check(self.stored.first_ts)?;
        self.rank(head)?;
        let separator = self.index.separator(indexed);
        let (mut cursor, mut is_first) = (page.entries(self.stored.first_ts)?, true);
        let mut last = None;
        while let Some(record) = cursor.next()? {
            let key = entry_key(head.subject, record.value, record.item);
            if is_first {
                if (Separator { value: record.value, item: Some(record.item) }) < separator {
                    return Err(wrong(32, "entries not below the page's separator expected".to_owned()));
                }
                self.follows(head, key.clone(), record.stamp, None)?;
                is_first = false;
            }
            self.check_stamp(record.stamp)?;
            self.rows.add_entry(head.subject, record.operation.difference());
            let place = self.index.filter_of_value(head.subject, record.value);
            if !self.knows(place, KeyHash::of_value(head.subject, record.value)) {
                return Err(wrong(32, "values that the filter knows expected".to_owned()));
            }
            last = Some((key, record.stamp));
        }
        let Some((key, stamp)) = last else {
            return Err(wrong(6, "a page with entries expected".to_owned()));
        };
        self.ends_with(head.subject, key, stamp, None);
        Ok(())
    }

    /// What all pages come to: directory, first and last key.
    fn finish(self) -> Result<ValuesBySubject> {
        let Self { file, stored, report, values, rows, first_key, last_key, is_whole, .. } = self;
        if !is_whole {
            return Ok(values);
        }
        let counted: Vec<DirectoryRow> = rows.into_rows();
        if counted != file.directory {
            let differ = counted.iter().zip(&file.directory).find(|(counted, row)| counted != row);
            let problem = match differ {
                Some((counted, row))
                    if counted.difference == row.difference && counted.group == row.group =>
                {
                    format!(
                        "the rows of {} in group {} expected, found others",
                        counted.subject, counted.group.0
                    )
                }
                Some((counted, row)) => format!(
                    "a directory with {} of {} in group {} expected, found {} of {} in group {}",
                    counted.difference,
                    counted.subject,
                    counted.group.0,
                    row.difference,
                    row.subject,
                    row.group.0
                ),
                None => {
                    format!("a directory of {} rows expected, found {}", counted.len(), file.directory.len())
                }
            };
            report.take_in(file.corrupt(file.directory_offset, problem))?;
        }
        let found = (first_key.unwrap_or_default(), last_key);
        if found.0 != stored.first_key || found.1 != stored.last_key {
            report
                .take_in(file.corrupt(0, "the first and last key of the manifest expected, found others"))?;
        }
        Ok(values)
    }
}

fn wrong(offset: usize, expected: String) -> DecodeError {
    DecodeError { offset, expected }
}
