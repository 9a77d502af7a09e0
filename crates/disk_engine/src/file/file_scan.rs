//! File scan: lists of a file in key order, as a merge reads them.
//!
//! ```text
//! without stamps   a slice is a list, or its part in one page, where the page was decoded to
//! with stamps      in the file   3@9 3@7 3@4 5@6    ranks 20 21 22 23    the newest first
//!                  slices        3@4 | 3@7 | 3@9 | 5@6                   the oldest first
//!                  ranks         22    21    20    23                    a slice ends where ranks do not follow
//! ```
//!
//! Records of one key that go on over the end of a page are held back until the last of them was read.

use crate::file::csr_file::CsrFile;
use crate::file::page_scan::{PageScan, ScanWindow};
use crate::file::shared_window::{SharedScan, SharedWindow};
use crate::format::file_head::FileStamps;
use crate::format::lists::buffer::ListBuffer;
use crate::format::lists::page::ListPage;
use crate::format::operation::RecordOperation;
use crate::format::page::{PageBytes, PageHead};
use crate::format::page_index::topology::IndexedPage;
use crate::format::subject::{EdgeSide, Subject};
use crate::format::tree_key::{ItemKey, ListId};
use crate::format::vertices::{VertexPage, VertexRecord};
use crate::merge::list_source::{ListKey, ListSlice, ListSource};
use evergraph_graph::bytes::{DecodeError, Decoded};
use evergraph_graph::id::{TypeId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

/// A record of a stamped file, or a vertex.
#[derive(Clone, Copy, Debug)]
struct ScannedRecord {
    list: ListKey,
    item: ItemKey,
    operation: RecordOperation,
    stamp: Timestamp,
    rank: u64,
}

/// Where a slice lies in the arrays.
#[derive(Clone, Debug)]
struct SliceBounds {
    list: ListKey,
    values: Range<usize>,
    first_rank: u64,
}

/// Records in the order of merges, in arrays.
#[derive(Debug, Default)]
struct OrderedRecords {
    neighbors: Vec<u32>,
    discriminators: Vec<u16>,
    operations: Vec<RecordOperation>,
    stamps: Vec<Timestamp>,
}

impl OrderedRecords {
    fn clear(&mut self) {
        self.neighbors.clear();
        self.discriminators.clear();
        self.operations.clear();
        self.stamps.clear();
    }

    fn push(&mut self, record: &ScannedRecord, slices: &mut Vec<SliceBounds>) {
        let at = self.neighbors.len();
        self.neighbors.push(record.item.neighbor().0);
        self.discriminators.push(record.item.discriminator());
        self.operations.push(record.operation);
        self.stamps.push(record.stamp);
        match slices.last_mut() {
            Some(last)
                if last.list == record.list
                    && last.first_rank.saturating_add(last.values.len() as u64) == record.rank =>
            {
                last.values.end = at + 1;
            }
            _ => slices.push(SliceBounds { list: record.list, values: at..at + 1, first_rank: record.rank }),
        }
    }
}

/// Which arrays the slices lie in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SliceArrays {
    /// Where the page was decoded to.
    Page,
    /// In the order of merges.
    Ordered,
}

/// Where pages come from.
#[derive(Debug)]
enum ScannedPages {
    /// A window of the scan's own, past the cache.
    Own(PageScan),
    /// The cache, and a window of several scans.
    Shared(SharedScan),
}

impl ScannedPages {
    fn next_page(&mut self) -> CheckpointResult<Option<(IndexedPage, &PageBytes)>> {
        match self {
            Self::Own(pages) => pages.next_page(),
            Self::Shared(pages) => pages.next_page(),
        }
    }
}

/// Reads lists of a file in key order. Stamps are all there: which count is the merge's affair.
///
/// # Concurrency
/// One thread; the reads ahead are the pool's. It holds [`PageScan::WINDOW_BYTES_MAX`] bytes of pages unless it shares a
/// window, and a decoded page.
#[derive(Debug)]
pub struct FileScan {
    file: Arc<CsrFile>,
    pages: ScannedPages,
    lists: RangeInclusive<ListId>,
    arrays: SliceArrays,
    buffer: ListBuffer,
    vertices: Vec<VertexRecord>,
    ordered: OrderedRecords,
    /// Records of one key, the newest first, the last of which was perhaps not read yet.
    held: Vec<ScannedRecord>,
    slices: Vec<SliceBounds>,
    /// The slice in front.
    at: usize,
}

impl FileScan {
    /// Scans `lists` of `file`. Cost: waits for the first read.
    ///
    /// # Errors
    /// As [`ListSource::advance`].
    pub fn new(file: &Arc<CsrFile>, lists: RangeInclusive<ListId>) -> CheckpointResult<Self> {
        Self::with_window(file, lists, ScanWindow::WIDE)
    }

    /// As [`FileScan::new`], in as much memory as `window` says.
    ///
    /// # Errors
    /// As [`FileScan::new`].
    pub fn with_window(
        file: &Arc<CsrFile>,
        lists: RangeInclusive<ListId>,
        window: ScanWindow,
    ) -> CheckpointResult<Self> {
        let pages = PageScan::with_window(file, pages_of(file, &lists), window);
        Self::of_pages(file, lists, ScannedPages::Own(pages))
    }

    /// As [`FileScan::new`], through the cache and a window that others share.
    ///
    /// # Errors
    /// As [`FileScan::new`].
    pub fn sharing(
        file: &Arc<CsrFile>,
        lists: RangeInclusive<ListId>,
        window: &Arc<SharedWindow>,
    ) -> CheckpointResult<Self> {
        let pages = SharedScan::new(file, window, pages_of(file, &lists));
        Self::of_pages(file, lists, ScannedPages::Shared(pages))
    }

    fn of_pages(
        file: &Arc<CsrFile>,
        lists: RangeInclusive<ListId>,
        pages: ScannedPages,
    ) -> CheckpointResult<Self> {
        let mut scan = Self {
            file: Arc::clone(file),
            pages,
            lists,
            arrays: SliceArrays::Ordered,
            buffer: ListBuffer::default(),
            vertices: Vec::new(),
            ordered: OrderedRecords::default(),
            held: Vec::new(),
            slices: Vec::new(),
            at: 0,
        };
        scan.fill()?;
        Ok(scan)
    }

    /// Scans all lists of `file`.
    ///
    /// # Errors
    /// As [`FileScan::new`].
    pub fn all(file: &Arc<CsrFile>) -> CheckpointResult<Self> {
        Self::all_with_window(file, ScanWindow::WIDE)
    }

    /// Scans all lists of `file`, in as much memory as `window` says.
    ///
    /// # Errors
    /// As [`FileScan::new`].
    pub fn all_with_window(file: &Arc<CsrFile>, window: ScanWindow) -> CheckpointResult<Self> {
        let last = ListId::edges(VertexId(u32::MAX), TypeId(u16::MAX), EdgeSide::In);
        Self::with_window(file, ListId::FIRST..=last, window)
    }

    /// Replaces the slices by those of the next page that has any.
    fn fill(&mut self) -> CheckpointResult<()> {
        let filled = self.read_slices();
        if let ScannedPages::Shared(pages) = &mut self.pages {
            pages.let_go();
        }
        filled
    }

    fn read_slices(&mut self) -> CheckpointResult<()> {
        self.slices.clear();
        self.ordered.clear();
        self.at = 0;
        let Self { file, pages, lists, arrays, buffer, vertices, ordered, held, slices, .. } = self;
        let is_stamped = file.stored().stamps == FileStamps::Stamped;
        let first_ts = file.stored().first_ts;
        while slices.is_empty() {
            let Some((indexed, page)) = pages.next_page()? else {
                *arrays = SliceArrays::Ordered;
                release(held, ordered, slices);
                return Ok(());
            };
            let damaged = |error: DecodeError| file.topology.page_error(indexed.page, &error);
            *arrays = SliceArrays::Ordered;
            if indexed.subject == Subject::VERTICES {
                let page = VertexPage::open(page).map_err(damaged)?;
                page.decode_into(first_ts, vertices).map_err(damaged)?;
                let rank = page.head().rank;
                for (at, record) in vertices.iter().enumerate() {
                    if lists.contains(&ListId::vertex(record.vertex)) {
                        let record = ScannedRecord {
                            list: ListKey { subject: Subject::VERTICES, vertex: VertexId(0) },
                            item: ItemKey::edge(record.vertex, 0),
                            operation: record.operation,
                            stamp: record.stamp,
                            rank: rank.saturating_add(at as u64),
                        };
                        take(record, is_stamped, held, ordered, slices);
                    }
                }
                continue;
            }
            let (head, subject) =
                (decode_lists(page, &indexed, first_ts, buffer).map_err(damaged)?, indexed.subject);
            for (vertex, values) in buffer.lists() {
                if values.is_empty() || !lists.contains(&ListId { subject, vertex }) {
                    continue;
                }
                let list = ListKey { subject, vertex };
                let rank_of = |at: usize| head.rank.saturating_add(at as u64);
                if !is_stamped {
                    let first_rank = rank_of(values.start);
                    slices.push(SliceBounds { list, values, first_rank });
                    *arrays = SliceArrays::Page;
                    continue;
                }
                for at in values {
                    let record = buffer.record(vertex, at);
                    let record = ScannedRecord {
                        list,
                        item: ItemKey::edge(record.neighbor, record.discriminator),
                        operation: record.operation,
                        stamp: record.stamp,
                        rank: rank_of(at),
                    };
                    take(record, is_stamped, held, ordered, slices);
                }
            }
        }
        Ok(())
    }
}

/// Takes a record in the order of the file.
fn take(
    record: ScannedRecord,
    is_stamped: bool,
    held: &mut Vec<ScannedRecord>,
    ordered: &mut OrderedRecords,
    slices: &mut Vec<SliceBounds>,
) {
    if !is_stamped {
        return ordered.push(&record, slices);
    }
    if held.last().is_some_and(|last| (last.list, last.item) != (record.list, record.item)) {
        release(held, ordered, slices);
    }
    held.push(record);
}

/// Moves the records of one key, turning their order.
fn release(held: &mut Vec<ScannedRecord>, ordered: &mut OrderedRecords, slices: &mut Vec<SliceBounds>) {
    held.drain(..).rev().for_each(|record| ordered.push(&record, slices));
}

/// Decodes a page of lists.
fn decode_lists(
    page: &PageBytes,
    indexed: &IndexedPage,
    first_ts: Timestamp,
    buffer: &mut ListBuffer,
) -> Decoded<PageHead> {
    let page = ListPage::open(page)?;
    if page.head().subject != indexed.subject {
        let expected =
            format!("a page of {} expected, found one of {}", indexed.subject, page.head().subject);
        return Err(DecodeError { offset: 8, expected });
    }
    page.decode_records(first_ts, buffer)?;
    Ok(*page.head())
}

/// The pages that may have some of `lists`, by their places in the index.
fn pages_of(file: &CsrFile, lists: &RangeInclusive<ListId>) -> Range<usize> {
    let pages = file.topology_index.pages();
    let (first, last) = (*lists.start(), *lists.end());
    let list = |page: &IndexedPage| ListId { subject: page.subject, vertex: page.first_vertex() };
    let is_edges_or_vertices = |page: &IndexedPage| page.subject <= last.subject;
    let below = |page: &IndexedPage| is_edges_or_vertices(page) && list(page) < first;
    let start = pages.partition_point(below);
    // The list may begin in the page before.
    let start = match start.checked_sub(1) {
        Some(before) if pages[before].subject == first.subject => before,
        _ => start,
    };
    let end = pages.partition_point(|page| is_edges_or_vertices(page) && list(page) <= last);
    start..end.max(start)
}

impl ListSource for FileScan {
    type Error = CheckpointError;

    fn slice(&self) -> Option<ListSlice<'_>> {
        let SliceBounds { list, values, first_rank } = self.slices.get(self.at)?;
        let (list, first_rank) = (*list, *first_rank);
        let is_stamped = self.file.stored().stamps == FileStamps::Stamped;
        let (neighbors, discriminators, operations) = match self.arrays {
            SliceArrays::Page => {
                (self.buffer.neighbors(), self.buffer.discriminators(), self.buffer.operations())
            }
            SliceArrays::Ordered => {
                let OrderedRecords { neighbors, discriminators, operations, .. } = &self.ordered;
                (neighbors.as_slice(), discriminators.as_slice(), operations.as_slice())
            }
        };
        Some(ListSlice {
            list,
            neighbors: &neighbors[values.clone()],
            discriminators: discriminators.get(values.clone()).unwrap_or_default(),
            operations: operations.get(values.clone()).unwrap_or_default(),
            stamps: is_stamped.then(|| &self.ordered.stamps[values.clone()]),
            first_rank,
        })
    }

    fn advance(&mut self) -> CheckpointResult<()> {
        self.at += 1;
        if self.at < self.slices.len() {
            return Ok(());
        }
        let filled = self.fill();
        if filled.is_err() {
            self.slices.clear();
        }
        filled
    }
}
