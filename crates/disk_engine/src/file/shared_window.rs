//! Shared window: pages that all visits of one topology read together, by reads of up to 1 MiB, eight of them ahead.
//!
//! ```text
//! file        | span 7      | span 8      | span 9      | ...     64 pages each; fewer where many sources are read
//! worker 1      ..^                         ahead ..............   whoever enters a span begins those behind it
//! worker 2          ..^                                            a page is verified once and decoded by each
//! page        in the page cache: taken from there    else in its span, and offered to the cache if that has free room
//! ```
//!
//! Parts of a graph are small beside a read: with a window each, workers would read a few pages at a time, twice at
//! each cut, and wait for each. A span whose predecessor is here is read on beyond the range of its visit, since the
//! next part follows. Spans leave in the order in which they came, and later ones take their buffers: an allocator that gets
//! and gives large aligned buffers among small ones keeps the holes (glibc: 171 MiB where 58 were in use).
//!
//! Scans fill the cache only while nobody else needs the memory, and never push a page out; so a graph that fits is
//! read from the disk once.
//!
//! Source: disk-engine, section 6. Differs: the cache is looked at first; it holds graphs that fit.

use crate::cache::PageWorth;
use crate::file::csr_file::CsrFile;
use crate::file::page_reader::{PageReader, VerifiedPage};
use crate::file::paged_file::PagedFile;
use crate::format::file_name::{CsrFileName, PAGE_BYTES, PageNumber};
use crate::format::page::PageBytes;
use crate::format::page_index::topology::IndexedPage;
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::io::page::AlignedBuffer;
use evergraph_storage::io::pool::{PageRead, PendingRead};
use evergraph_storage::sync::Mutex;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// What windows are called in a budget.
pub const WINDOW_PURPOSE: &str = "scan windows";
/// Pages of a span, at most: 1 MiB.
const SPAN_PAGES_MAX: u64 = 64;
/// Pages of a span below which fewer are read ahead.
const SPAN_PAGES_WISHED: u64 = 16;
/// Bytes of all spans, where the budget and the graph have as much.
const WINDOW_BYTES: u64 = 12 << 20;
/// A budget that refuses this refuses the topology.
const WINDOW_BYTES_MIN: u64 = 256 << 10;

/// How pages come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WindowReads {
    /// In spans, ahead, past the cache.
    Spans(WindowSize),
    /// One by one, through the cache.
    Pages,
}

/// How a window is divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct WindowSize {
    span_pages: u32,
    ahead: u32,
    spans_max: usize,
}

impl WindowSize {
    /// A window of about `bytes` for visits that read `streams` sequences of pages side by side. Of each there are the
    /// span that is read, the one before it, and those ahead.
    fn of(bytes: u64, streams: u64) -> Self {
        let (streams, pages) = (streams.max(1), bytes / PAGE_BYTES as u64);
        let span_pages = |ahead: u64| (pages / (streams * (ahead + 2))).clamp(1, SPAN_PAGES_MAX);
        let ahead = [8, 4].into_iter().find(|ahead| span_pages(*ahead) >= SPAN_PAGES_WISHED).unwrap_or(2);
        let spans_max = streams * (ahead + 2);
        Self { span_pages: span_pages(ahead) as u32, ahead: ahead as u32, spans_max: spans_max as usize }
    }

    /// With those that `workers` hold while they go.
    fn bytes(self, workers: usize) -> u64 {
        (self.spans_max + workers) as u64 * u64::from(self.span_pages) * PAGE_BYTES as u64
    }
}

/// Where a span lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct SpanId {
    file: CsrFileName,
    /// Its pages divided by those of a span.
    number: u32,
}

/// Some consecutive pages.
#[derive(Debug)]
struct SharedSpan {
    first: PageNumber,
    pages: u32,
    read: Mutex<SpanRead>,
    /// A bit for each page whose checksum was compared. Relaxed: the bytes were published by the lock of `read`.
    verified: AtomicU64,
}

/// What is there of a span.
#[derive(Debug)]
enum SpanRead {
    /// Nobody has begun to read it, or the read failed.
    Wanted,
    UnderWay(PendingRead),
    Done(Arc<AlignedBuffer>),
}

#[derive(Debug, Default)]
struct Spans {
    by_id: HashMap<SpanId, Arc<SharedSpan>>,
    oldest_first: VecDeque<SpanId>,
    /// Buffers of spans that left, for those that come: together they are no more than the spans that there may be.
    idle: Vec<AlignedBuffer>,
    /// How many buffers were allocated.
    #[cfg(test)]
    allocated: usize,
}

/// Spans of the files that one topology reads.
///
/// # Concurrency
/// Any thread. The map's lock is held for look-ups alone; a span's while it is waited for, by those who want that span.
pub struct SharedWindow {
    reads: WindowReads,
    spans: Mutex<Spans>,
    _reservation: Option<Reservation>,
}

impl fmt::Debug for SharedWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedWindow").field("reads", &self.reads).finish_non_exhaustive()
    }
}

/// Pages of a file that somebody reads in order.
pub(super) struct PageSequence<'s> {
    pub file: &'s PagedFile,
    pub reader: &'s PageReader,
    /// The last page that the reader wants.
    pub last_wanted: PageNumber,
    /// The last page that whoever comes next may want.
    pub last: PageNumber,
    /// The first and the last page of a range that anybody wants.
    pub bounds: &'s dyn Fn(Range<u32>) -> Option<[PageNumber; 2]>,
    /// The span of the last page that was not cached.
    pub entered: &'s mut Option<u32>,
}

/// A verified page.
#[derive(Debug)]
pub(super) enum SharedPage {
    Cached(Arc<VerifiedPage>),
    Spanned(Arc<AlignedBuffer>, usize),
}

impl SharedPage {
    pub(super) fn bytes(&self) -> &PageBytes {
        match self {
            Self::Cached(page) => page.bytes(),
            Self::Spanned(buffer, place) => buffer[*place..].first_chunk().expect("a span has whole pages"),
        }
    }
}

impl SharedWindow {
    /// A window for visits that read `streams` sequences of pages side by side, of `pages` in all. Where the budget has
    /// less than 12 MiB, reads are shorter and fewer.
    ///
    /// # Errors
    /// `limit` if the budget refuses a quarter of a MiB.
    pub fn new(budget: &dyn Budget, streams: u64, pages: u64) -> Result<Self> {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let mut bytes = WINDOW_BYTES.min(pages.saturating_mul(PAGE_BYTES as u64));
        loop {
            let size = WindowSize::of(bytes, streams);
            let reserved = if pages == 0 { 0 } else { size.bytes(workers) };
            match budget.reserve(WINDOW_PURPOSE, reserved) {
                Ok(reservation) => {
                    let (reads, _reservation) = (WindowReads::Spans(size), Some(reservation));
                    return Ok(Self { reads, spans: Mutex::default(), _reservation });
                }
                Err(error) if error.kind() == ErrorKind::Limit && bytes > WINDOW_BYTES_MIN => bytes /= 2,
                Err(error) => return Err(error),
            }
        }
    }

    /// A window that reads nothing ahead and keeps nothing: each page comes through the cache, by itself. For scans of a
    /// few lists, whose pages are far apart.
    #[must_use]
    pub fn of_single_pages() -> Self {
        Self { reads: WindowReads::Pages, spans: Mutex::default(), _reservation: None }
    }

    /// Whether pages come one by one, through the cache.
    #[must_use]
    pub fn reads_single_pages(&self) -> bool {
        self.reads == WindowReads::Pages
    }

    /// A page of `pages`, from the cache or else from its span.
    ///
    /// # Errors
    /// `Corrupt`, naming file and offset; what the system says.
    pub(super) fn page(
        &self,
        pages: &mut PageSequence<'_>,
        page: PageNumber,
    ) -> CheckpointResult<SharedPage> {
        let WindowReads::Spans(size) = self.reads else {
            return pages.reader.page(pages.file, page, PageWorth::Ordinary).map(SharedPage::Cached);
        };
        if let Some(cached) = pages.reader.cached(pages.file, page) {
            return Ok(SharedPage::Cached(cached));
        }
        let number = page.0 / size.span_pages;
        let span = self.span(size, pages, number);
        *pages.entered = Some(number);
        span.page(self, pages, page)
    }

    /// The span `number`. Whoever enters it begins those behind it: through the end of what it reads, or of the whole
    /// sequence if the span before is here.
    fn span(&self, size: WindowSize, pages: &PageSequence<'_>, number: u32) -> Arc<SharedSpan> {
        let (file, mut begun) = (pages.file, Vec::new());
        let mut spans = self.spans.lock();
        let span = Self::get(size, &mut spans, file, number, &mut begun);
        if *pages.entered != Some(number) {
            let before = number.checked_sub(1).map(|number| SpanId { file: file.name(), number });
            let is_read_on = before.is_some_and(|before| spans.by_id.contains_key(&before));
            let last = if is_read_on { pages.last } else { pages.last_wanted };
            let last_number = last.0 / size.span_pages;
            for ahead in (number + 1..=last_number).take(size.ahead as usize) {
                let id = SpanId { file: file.name(), number: ahead };
                let first = ahead * size.span_pages;
                let bounds = (pages.bounds)(first..(first + size.span_pages).min(last.0 + 1));
                // Where the first and the last page are cached, mostly all are.
                let is_cached = |page: &PageNumber| pages.reader.cached(file, *page).is_some();
                let is_wanted = bounds.is_some_and(|bounds| !bounds.iter().all(is_cached));
                if is_wanted && !spans.by_id.contains_key(&id) {
                    Self::get(size, &mut spans, file, ahead, &mut begun);
                }
            }
        }
        drop(spans);
        // The span that is waited for comes first.
        begun.iter().for_each(|span| span.begin(self, pages));
        span
    }

    /// A buffer for the pages of a span, with any content.
    fn buffer(&self, pages: u32) -> AlignedBuffer {
        let length = pages as usize * PAGE_BYTES;
        let mut spans = self.spans.lock();
        let at = spans.idle.iter().rposition(|buffer| buffer.len() == length);
        // The last span of a file is shorter: it gets a new buffer in place of an idle one.
        let idle = at.or(spans.idle.len().checked_sub(1)).map(|at| spans.idle.swap_remove(at));
        #[cfg(test)]
        if at.is_none() {
            spans.allocated += 1;
        }
        drop(spans);
        idle.filter(|buffer| buffer.len() == length).unwrap_or_else(|| AlignedBuffer::zeroed(length))
    }

    /// How many buffers were allocated so far, and for how many spans there is room at once.
    #[cfg(test)]
    pub(super) fn buffers(&self) -> (usize, usize) {
        let WindowReads::Spans(size) = self.reads else { return (0, 0) };
        (self.spans.lock().allocated, size.spans_max)
    }

    /// The span, which becomes the newest if it is not there.
    fn get(
        size: WindowSize,
        spans: &mut Spans,
        file: &PagedFile,
        number: u32,
        begun: &mut Vec<Arc<SharedSpan>>,
    ) -> Arc<SharedSpan> {
        let id = SpanId { file: file.name(), number };
        if let Some(span) = spans.by_id.get(&id) {
            return Arc::clone(span);
        }
        if spans.oldest_first.len() >= size.spans_max
            && let Some(oldest) = spans.oldest_first.pop_front()
        {
            spans.idle.extend(spans.by_id.remove(&oldest).and_then(SharedSpan::into_buffer));
        }
        let first = number * size.span_pages;
        let pages = size.span_pages.min(file.pages() - first);
        let (read, verified) = (Mutex::new(SpanRead::Wanted), AtomicU64::new(0));
        let span = Arc::new(SharedSpan { first: PageNumber(first), pages, read, verified });
        spans.by_id.insert(id, Arc::clone(&span));
        spans.oldest_first.push_back(id);
        begun.push(Arc::clone(&span));
        span
    }
}

impl SharedSpan {
    /// The buffer, if it was read and nobody else has the span or a page of it.
    fn into_buffer(self: Arc<Self>) -> Option<AlignedBuffer> {
        let span = Arc::into_inner(self)?;
        let read = std::mem::replace(&mut *span.read.lock(), SpanRead::Wanted);
        match read {
            SpanRead::Done(buffer) => Arc::into_inner(buffer),
            SpanRead::Wanted | SpanRead::UnderWay(_) => None,
        }
    }

    /// Begins the read, unless somebody did.
    fn begin(&self, window: &SharedWindow, pages: &PageSequence<'_>) {
        let mut read = self.read.lock();
        if matches!(*read, SpanRead::Wanted) {
            *read = SpanRead::UnderWay(self.read_from(window, pages));
        }
    }

    fn read_from(&self, window: &SharedWindow, pages: &PageSequence<'_>) -> PendingRead {
        let buffer = window.buffer(self.pages);
        let file = Arc::clone(pages.file.handle());
        pages.reader.pool().begin(PageRead { file, offset: self.first.offset(), buffer })
    }

    /// The bytes, waiting for them.
    fn wait(&self, window: &SharedWindow, pages: &PageSequence<'_>) -> CheckpointResult<Arc<AlignedBuffer>> {
        let mut read = self.read.lock();
        let pending = match std::mem::replace(&mut *read, SpanRead::Wanted) {
            SpanRead::Done(buffer) => {
                *read = SpanRead::Done(Arc::clone(&buffer));
                return Ok(buffer);
            }
            SpanRead::UnderWay(pending) => pending,
            SpanRead::Wanted => self.read_from(window, pages),
        };
        // After a failure it is wanted still: whoever comes next reads it again and has an error of its own.
        let buffer = Arc::new(pending.wait()?);
        *read = SpanRead::Done(Arc::clone(&buffer));
        Ok(buffer)
    }

    /// A page of it, verified, and offered to the cache by whoever verifies it first.
    fn page(
        &self,
        window: &SharedWindow,
        pages: &PageSequence<'_>,
        page: PageNumber,
    ) -> CheckpointResult<SharedPage> {
        let at = page.0 - self.first.0;
        let found = SharedPage::Spanned(self.wait(window, pages)?, at as usize * PAGE_BYTES);
        if self.verified.load(Ordering::Relaxed) >> at & 1 == 0 {
            pages.file.verify(page, found.bytes())?;
            self.verified.fetch_or(1 << at, Ordering::Relaxed);
            pages.reader.offer(pages.file, page, found.bytes());
        }
        Ok(found)
    }
}

/// Hands out the pages of a range in order, from a window.
#[derive(Debug)]
pub(super) struct SharedScan {
    file: Arc<CsrFile>,
    window: Arc<SharedWindow>,
    /// Places in the index.
    rest: Range<usize>,
    /// Where the pages of the last one's subject end.
    subject_end: usize,
    /// The span of the last page that was not cached.
    entered: Option<u32>,
    page: Option<SharedPage>,
}

impl SharedScan {
    /// Nothing is read before the first page is asked for.
    pub(super) fn new(file: &Arc<CsrFile>, window: &Arc<SharedWindow>, pages: Range<usize>) -> Self {
        let all = file.topology_index.pages();
        let subject = pages.end.checked_sub(1).and_then(|last| all.get(last)).map(|page| page.subject);
        let subject_end = all.partition_point(|page| Some(page.subject) <= subject).max(pages.end);
        let (file, window) = (Arc::clone(file), Arc::clone(window));
        Self { file, window, rest: pages, subject_end, entered: None, page: None }
    }

    /// The next page, verified; `None` at the end.
    ///
    /// # Errors
    /// `Corrupt`, naming file and offset; what the system says. The scan is at its end then.
    pub(super) fn next_page(&mut self) -> CheckpointResult<Option<(IndexedPage, &PageBytes)>> {
        self.page = None;
        if self.rest.is_empty() {
            return Ok(None);
        }
        let indexed = self.file.topology_index.pages()[self.rest.start];
        match self.read(indexed.page) {
            Ok(page) => {
                self.rest.start += 1;
                Ok(Some((indexed, self.page.insert(page).bytes())))
            }
            Err(error) => {
                self.rest.start = self.rest.end;
                Err(error)
            }
        }
    }

    /// Lets go of the page: called when it is decoded, so that a scan keeps nothing of the window.
    pub(super) fn let_go(&mut self) {
        self.page = None;
    }

    fn read(&mut self, page: PageNumber) -> CheckpointResult<SharedPage> {
        let Self { file, window, rest, subject_end, entered, .. } = self;
        let all = &file.topology_index.pages()[..*subject_end];
        let bounds = |range: Range<u32>| {
            let start = all.partition_point(|indexed| indexed.page.0 < range.start);
            let end = all.partition_point(|indexed| indexed.page.0 < range.end);
            Some([all[start..end].first()?.page, all[start..end].last()?.page])
        };
        let mut pages = PageSequence {
            file: &file.topology,
            reader: &file.reader,
            last_wanted: all[rest.end - 1].page,
            last: all[*subject_end - 1].page,
            bounds: &bounds,
            entered,
        };
        window.page(&mut pages, page)
    }
}
