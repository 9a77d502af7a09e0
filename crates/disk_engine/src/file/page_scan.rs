//! Page scan: the keyed pages of a file in order, by reads of 1 MiB, some of them ahead, past the cache.
//!
//! ```text
//! pages    L L F L L L F F F F F L L       F: filters
//! reads    [----------]          [--]      from the first to the last page that is wanted, at most 64
//! ```
//!
//! Who has many scans under way gives each a smaller window. A read of only filters is left out. Each page is verified when it is handed out.

use crate::file::csr_file::CsrFile;
use crate::format::file_name::{PAGE_BYTES, PageNumber};
use crate::format::page::PageBytes;
use crate::format::page_index::topology::IndexedPage;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::io::page::AlignedBuffer;
use evergraph_storage::io::pool::{PageRead, PendingRead};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// How much of a file a scan holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScanWindow {
    /// Pages of a read, at least one.
    pub read_pages: u32,
    /// Reads under way beside the one that is used, at least one.
    pub reads_ahead: usize,
}

impl ScanWindow {
    /// Reads of 1 MiB, three of them ahead: as much as a disk gives one reader.
    pub const WIDE: Self = Self { read_pages: 64, reads_ahead: 3 };

    /// The most bytes that a scan with this window holds.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        (1 + self.reads_ahead as u64) * self.read_pages as u64 * PAGE_BYTES as u64
    }
}

/// Hands out pages in order.
#[derive(Debug)]
pub struct PageScan {
    file: Arc<CsrFile>,
    size: ScanWindow,
    /// The pages that are not handed out yet, by their places in the index.
    rest: Range<usize>,
    /// The first of them that no read covers.
    unread: usize,
    ahead: VecDeque<(PageNumber, PendingRead)>,
    /// The first page of `window`.
    window_first: PageNumber,
    window: AlignedBuffer,
}

impl PageScan {
    /// The most bytes that a scan with a wide window holds.
    pub const WINDOW_BYTES_MAX: u64 = ScanWindow::WIDE.bytes();

    /// Begins to read the pages of `file` at the places `pages` of its index.
    ///
    /// # Panics
    /// If the index does not have them.
    #[must_use]
    pub fn new(file: &Arc<CsrFile>, pages: Range<usize>) -> Self {
        Self::with_window(file, pages, ScanWindow::WIDE)
    }

    /// As [`PageScan::new`], in this much memory.
    ///
    /// # Panics
    /// If the index does not have the pages, or the window has none.
    #[must_use]
    pub fn with_window(file: &Arc<CsrFile>, pages: Range<usize>, size: ScanWindow) -> Self {
        assert!(size.read_pages > 0 && size.reads_ahead > 0, "a window has pages");
        assert!(pages.end <= file.topology_index.pages().len(), "places in the index");
        let (window_first, window) = (PageNumber(0), AlignedBuffer::default());
        let (unread, ahead) = (pages.start, VecDeque::new());
        let mut scan =
            Self { file: Arc::clone(file), size, rest: pages, unread, ahead, window_first, window };
        scan.read_ahead(AlignedBuffer::default());
        scan
    }

    /// The next page, verified; `None` at the end. Cost: a checksum, and the wait for the disk where it is slower.
    ///
    /// # Errors
    /// `Corrupt`, naming file and offset; what the system says. The scan is at its end then.
    pub fn next_page(&mut self) -> CheckpointResult<Option<(IndexedPage, &PageBytes)>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let indexed = self.file.topology_index.pages()[self.rest.start];
        if self.place_in_window(indexed.page).is_none() {
            let (first, read) = self.ahead.pop_front().expect("all pages that are left are read ahead");
            // For the next read: an allocator keeps holes where large aligned buffers come and go.
            let used = std::mem::take(&mut self.window);
            match read.wait() {
                Ok(window) => (self.window_first, self.window) = (first, window),
                Err(error) => {
                    self.rest.start = self.rest.end;
                    return Err(error.into());
                }
            }
            self.read_ahead(used);
        }
        self.rest.start += 1;
        let place = self.place_in_window(indexed.page).expect("reads cover the pages in their order");
        let bytes = self.window[place..].first_chunk().expect("a window has whole pages");
        if let Err(error) = self.file.topology.verify(indexed.page, bytes) {
            self.rest.start = self.rest.end;
            return Err(error);
        }
        Ok(Some((indexed, bytes)))
    }

    fn place_in_window(&self, page: PageNumber) -> Option<usize> {
        let place = page.0.checked_sub(self.window_first.0)? as usize * PAGE_BYTES;
        (place < self.window.len()).then_some(place)
    }

    /// Begins reads until enough are under way, the first of them into `used`, if that is as long.
    fn read_ahead(&mut self, mut used: AlignedBuffer) {
        let pages = self.file.topology_index.pages();
        while self.ahead.len() < self.size.reads_ahead && self.unread < self.rest.end {
            let wanted = &pages[self.unread..self.rest.end];
            let first = wanted[0].page;
            let count = wanted.partition_point(|indexed| indexed.page.0 - first.0 < self.size.read_pages);
            let length = (wanted[count - 1].page.0 - first.0 + 1) as usize * PAGE_BYTES;
            let used = Some(std::mem::take(&mut used)).filter(|used| used.len() == length);
            let buffer = used.unwrap_or_else(|| AlignedBuffer::zeroed(length));
            let file = Arc::clone(self.file.topology.handle());
            let read = PageRead { file, offset: first.offset(), buffer };
            self.ahead.push_back((first, self.file.reader.pool().begin(read)));
            self.unread += count;
        }
    }
}
