//! Column scan: the records of one column of a file in order of position, for merges, past the cache.
//!
//! ```text
//! seek(40)          front: the first record at 40 or behind it       content: its value, or that it was removed
//! pages of a column lie together, so a read takes several; pages that a seek passes over are not read
//! ```
//!
//! Only forward: a merge asks for ascending ranks and vertices of each of its files. In a stamped file a vertex may have
//! several records, the newest first; those of a rank are one.

use crate::file::csr_file::{ColumnsFile, CsrFile};
use crate::format::columns::page::ColumnPage;
use crate::format::file_head::FileStamps;
use crate::format::file_name::{PAGE_BYTES, PageNumber};
use crate::format::long_values::{LongReference, LongValueReader};
use crate::format::page::PageBytes;
use crate::format::page_index::columns::IndexedColumnPage;
use crate::format::subject::Subject;
use evergraph_graph::bytes::DecodeError;
use evergraph_graph::id::KeyId;
use evergraph_graph::packed_column::PackedColumn;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::io::page::AlignedBuffer;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

/// Pages of a long value that are read at once.
const LONG_READ_PAGES: u64 = 64;

/// Where a record stands in a column: its vertex or rank, and its stamp where that matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnPosition {
    /// The vertex or rank.
    pub position: u64,
    /// The stamp of a vertex's record in a stamped file; zero of all others.
    pub stamp: Timestamp,
}

impl ColumnPosition {
    /// In the order of columns: of one vertex the newest record first.
    fn order(self) -> (u64, Reverse<Timestamp>) {
        (self.position, Reverse(self.stamp))
    }
}

/// Reads one column forward.
///
/// # Concurrency
/// One thread, which reads itself. It holds the pages of a read and one decoded page: 9 or, with stamps, 17 bytes a
/// record and its values, for a page of single bits up to 1 MiB, else some 50 KB.
#[derive(Debug)]
pub struct ColumnScan {
    file: Arc<CsrFile>,
    subject: Subject,
    key: KeyId,
    /// Whether stamps tell records apart.
    has_stamps: bool,
    /// The column's pages, by their places in the index.
    pages: Range<usize>,
    /// The decoded one.
    decoded: Option<usize>,
    read_pages: u32,
    /// The first page of `window`.
    window_first: PageNumber,
    window: AlignedBuffer,
    positions: Vec<u64>,
    stamps: Vec<Timestamp>,
    values: Option<PackedColumn>,
    /// Ascending by record.
    long_values: Vec<(usize, LongReference)>,
    /// The record in front, of the decoded page.
    at: usize,
}

impl ColumnScan {
    /// Scans property `key` of `subject`, `read_pages` at a time; `None` if the file has no such column. Reads nothing
    /// yet.
    ///
    /// # Panics
    /// If `read_pages` is zero.
    #[must_use]
    pub fn new(file: &Arc<CsrFile>, subject: Subject, key: KeyId, read_pages: u32) -> Option<Self> {
        assert!(read_pages > 0, "a read has pages");
        let index = file.columns.as_ref()?.index.pages();
        let column = |page: &IndexedColumnPage| (page.subject, page.property_key);
        let start = index.partition_point(|page| column(page) < (subject, key));
        let end = index.partition_point(|page| column(page) <= (subject, key));
        (start < end).then(|| Self {
            file: Arc::clone(file),
            subject,
            key,
            has_stamps: subject == Subject::VERTICES && file.stored().stamps == FileStamps::Stamped,
            pages: start..end,
            decoded: None,
            read_pages,
            window_first: PageNumber(0),
            window: AlignedBuffer::default(),
            positions: Vec::new(),
            stamps: Vec::new(),
            values: None,
            long_values: Vec::new(),
            at: 0,
        })
    }

    /// Goes to the first record at `target` or behind it, unless the scan is farther already. Cost: a binary search; the
    /// read and decoding of a page, if it is in another one.
    ///
    /// # Errors
    /// `Corrupt`, naming file and offset; what the system says. The scan is of no more use then.
    pub fn seek(&mut self, target: ColumnPosition) -> CheckpointResult<()> {
        if self.last_of_page().is_none_or(|last| last.order() < target.order()) {
            self.load(self.page_of(target))?;
        }
        while self.last_of_page().is_some_and(|last| last.order() < target.order()) {
            let Some(next) = self.decoded.map(|page| page + 1).filter(|next| *next < self.pages.end) else {
                // The end: behind every record.
                self.at = self.positions.len();
                return Ok(());
            };
            self.load(next)?;
        }
        // Mostly it is the record in front, or the one behind it.
        while self.at_record(self.at).is_some_and(|record| record.order() < target.order()) {
            let ahead = self.at_record(self.at + 16).is_some_and(|record| record.order() < target.order());
            if !ahead {
                self.at += 1;
                continue;
            }
            let (mut low, mut high) = (self.at + 17, self.positions.len());
            while low < high {
                let middle = low.midpoint(high);
                if self.at_record(middle).is_some_and(|record| record.order() < target.order()) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            self.at = low;
        }
        Ok(())
    }

    /// The record in front; `None` at the end, and before the first seek.
    #[must_use]
    #[inline]
    pub fn front(&self) -> Option<ColumnPosition> {
        self.at_record(self.at)
    }

    /// Goes on behind the record in front. Cost: as [`ColumnScan::seek`] at the end of a page.
    ///
    /// # Errors
    /// As [`ColumnScan::seek`].
    pub fn advance(&mut self) -> CheckpointResult<()> {
        self.at += 1;
        if self.at < self.positions.len() {
            return Ok(());
        }
        match self.decoded.map(|page| page + 1).filter(|next| *next < self.pages.end) {
            Some(next) => self.load(next),
            None => Ok(()),
        }
    }

    /// What the record in front says: its value; `None` if the property was removed. Cost: a copy of the value, and the
    /// reads of a long one.
    ///
    /// # Errors
    /// As [`ColumnScan::seek`].
    ///
    /// # Panics
    /// If no record is in front.
    pub fn content(&self) -> CheckpointResult<Option<Value>> {
        assert!(self.at < self.positions.len(), "a record is in front");
        match self.long_values.binary_search_by_key(&self.at, |(record, _)| *record) {
            Ok(found) => self.long_value(self.long_values[found].1).map(Some),
            Err(_) => Ok(self.values.as_ref().and_then(|values| values.get(self.at))),
        }
    }

    /// Bytes on the heap: the pages of a read, and the decoded one.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let records = (self.positions.capacity() + self.stamps.capacity()) * size_of::<u64>();
        let long_values = self.long_values.capacity() * size_of::<(usize, LongReference)>();
        let values = self.values.as_ref().map_or(0, PackedColumn::heap_bytes);
        self.window.len() + records + long_values + values
    }

    #[inline]
    fn at_record(&self, at: usize) -> Option<ColumnPosition> {
        let stamp = self.stamps.get(at).copied().unwrap_or(Timestamp::ZERO);
        self.positions.get(at).map(|position| ColumnPosition { position: *position, stamp })
    }

    fn last_of_page(&self) -> Option<ColumnPosition> {
        self.at_record(self.positions.len().checked_sub(1)?)
    }

    fn columns(&self) -> &ColumnsFile {
        self.file.columns.as_ref().expect("a file without columns has no scan of them")
    }

    /// The page, behind the decoded one, in which the first record at or behind `target` is, or in the next one.
    fn page_of(&self, target: ColumnPosition) -> usize {
        let start = self.decoded.map_or(self.pages.start, |page| page + 1).min(self.pages.end - 1);
        let rest = &self.columns().index.pages()[start..self.pages.end];
        // With stamps, the page before one that begins with the vertex may have newer records of it.
        let is_before = |page: &IndexedColumnPage| match self.has_stamps {
            true => page.first < target.position,
            false => page.first <= target.position,
        };
        start + rest.partition_point(is_before).saturating_sub(1)
    }

    /// Decodes the page at `place` of the index; nothing if it is that one already.
    fn load(&mut self, place: usize) -> CheckpointResult<()> {
        if self.decoded == Some(place) {
            return Ok(());
        }
        self.positions.clear();
        self.stamps.clear();
        self.long_values.clear();
        (self.values, self.decoded, self.at) = (None, None, 0);
        let number = self.columns().index.pages()[place].page;
        self.read(place)?;
        let offset = (number.0 - self.window_first.0) as usize * PAGE_BYTES;
        let bytes: &PageBytes = self.window[offset..].first_chunk().expect("a window has whole pages");
        let columns = self.file.columns.as_ref().expect("a file without columns has no scan of them");
        columns.file.verify(number, bytes)?;
        let damaged = |error: DecodeError| columns.file.page_error(number, &error);
        let page = ColumnPage::open(bytes).map_err(damaged)?;
        let (subject, key) = (page.head().subject, page.head().property_key);
        if (subject, key) != (self.subject, self.key) {
            let expected = format!("a column of property {} of {} expected", self.key.0, self.subject);
            let expected = format!("{expected}, found one of property {} of {subject}", key.0);
            return Err(damaged(DecodeError { offset: 8, expected }));
        }
        page.positions_into(&mut self.positions).map_err(damaged)?;
        if self.has_stamps {
            let records = 0..self.positions.len();
            page.stamps_into(self.file.stored().first_ts, records, &mut self.stamps).map_err(damaged)?;
        }
        let stamp = |at: usize| self.stamps.get(at).copied().unwrap_or(Timestamp::ZERO);
        let order = |at: usize| (self.positions[at], Reverse(stamp(at)));
        if self.positions.is_empty() || !(1..self.positions.len()).all(|at| order(at - 1) < order(at)) {
            let expected = "records in order of their positions expected".to_owned();
            return Err(damaged(DecodeError { offset: 0, expected }));
        }
        self.values = page.column().map_err(damaged)?;
        self.long_values.extend(page.long_values());
        self.decoded = Some(place);
        Ok(())
    }

    /// Reads the page at `place`, and those behind it.
    fn read(&mut self, place: usize) -> CheckpointResult<()> {
        let columns = self.file.columns.as_ref().expect("a file without columns has no scan of them");
        let first = columns.index.pages()[place].page;
        let pages = (self.window.len() / PAGE_BYTES) as u32;
        if (self.window_first.0..self.window_first.0 + pages).contains(&first.0) {
            return Ok(());
        }
        let last = columns.index.pages()[self.pages.end - 1].page;
        let count = (last.0 - first.0 + 1).min(self.read_pages);
        let length = count as usize * PAGE_BYTES;
        if self.window.len() != length {
            self.window = AlignedBuffer::default();
            self.window = AlignedBuffer::zeroed(length);
        }
        // Nothing, if the read fails.
        self.window_first = PageNumber(u32::MAX - count);
        columns.file.handle().read_at(&mut self.window, first.offset())?;
        self.window_first = first;
        Ok(())
    }

    fn long_value(&self, reference: LongReference) -> CheckpointResult<Value> {
        let file = &self.columns().file;
        let numbers = reference.pages();
        let start = reference.page.offset() + u64::from(reference.offset);
        if numbers.end > u64::from(file.pages()) {
            let problem = format!("a long value among {} pages expected", file.pages());
            return Err(file.corrupt(start, format!("{problem}, found {reference:?}")));
        }
        let mut value = LongValueReader::new(reference);
        let mut first = numbers.start;
        while first < numbers.end {
            let count = (numbers.end - first).min(LONG_READ_PAGES);
            let mut buffer = AlignedBuffer::zeroed(count as usize * PAGE_BYTES);
            file.handle().read_at(&mut buffer, PageNumber(first as u32).offset())?;
            let (pages, _) = buffer.as_chunks::<PAGE_BYTES>();
            for (number, page) in (first..).zip(pages) {
                let number = PageNumber(number as u32);
                file.verify(number, page)?;
                value.add(page).map_err(|error| file.page_error(number, &error))?;
            }
            first += count;
        }
        value.finish().map_err(|error| file.corrupt(start, error.expected))
    }
}
