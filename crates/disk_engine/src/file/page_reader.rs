//! Page reader: verified pages of files, from the cache or read side by side.
//!
//! ```text
//! one page     in the cache, or read by the caller's thread
//! many pages   claim all ──> read those that nobody reads, side by side ──> verify, keep the promises
//!                       └──> then wait for those that other readers read
//! ```
//!
//! A page that fails its checksum is an error of the reader that read it, and is not cached.

use crate::cache::{AwaitedPage, CacheStatistics, CachedPageId, Claim, PageCache, PageRead, PageWorth};
use crate::counters::ReadCounters;
use crate::file::paged_file::PagedFile;
use crate::file::read_buffers::{ReadBuffers, RoundPages};
use crate::format::file_name::{FileNumber, PAGE_BYTES, PageNumber};
use crate::format::page::{PageBytes, PageKind};
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::handle_table::HandleTable;
use evergraph_storage::io::page::AlignedBuffer;
use evergraph_storage::io::pool::{self, READERS, ReadPool};
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Where a page says of which kind it is.
const KIND_OFFSET: usize = 4;

/// Pages that are read ahead at once.
const AHEAD_PAGES: usize = 64;

/// A page whose checksum was compared.
///
/// A copy of what was read, whose buffer is used again: the system's allocator gives an aligned buffer of 16 KiB 20 KiB
/// or more, so that a cache of such buffers would take a quarter more than it counts. Copying takes half a
/// microsecond, beside a read of 30.
#[derive(Debug)]
pub struct VerifiedPage(Box<[u8]>);

impl VerifiedPage {
    /// Its bytes.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> &PageBytes {
        self.0.first_chunk().expect("as long as a page: it was verified as one")
    }
}

/// Reads pages for all readers of one engine.
///
/// # Concurrency
/// Any thread. Nothing is locked while a page is read; whoever waits for a page of another reader has kept its own
/// promises before.
#[derive(Debug)]
pub struct PageReader {
    cache: Arc<PageCache<VerifiedPage>>,
    pool: ReadPool,
    buffers: ReadBuffers,
    handles: Arc<HandleTable>,
    budget: MemoryBudget,
    reads: Arc<ReadCounters>,
    /// Relaxed, both: numbers for statistics, each by itself.
    pinned_files: AtomicU64,
    pinned_bytes: AtomicU64,
}

/// Files that compactions replaced and that snapshots still read: their space is free when the last of those ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PinnedStatistics {
    /// How many there are.
    pub files: u64,
    /// Bytes of lists, vertices, entries, filters and properties.
    pub bytes: u64,
}

/// A page that is needed next.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageToRead<'f> {
    pub(super) file: &'f PagedFile,
    pub(super) page: PageNumber,
    pub(super) worth: PageWorth,
}

/// What came of claiming a page.
enum ClaimedPage<'a> {
    Found(Arc<VerifiedPage>),
    Promised(PageRead<'a, VerifiedPage>),
    Awaited(AwaitedPage<VerifiedPage>),
}

impl PageReader {
    /// A reader with a cache in what nobody reserves of `budget`, and as many threads as a disk serves at once, or none
    /// for a store that is stepped.
    ///
    /// # Errors
    /// [`CheckpointError::Thread`]; [`CheckpointError::Refused`] if the budget has no memory for pages of batches.
    pub fn start(budget: &MemoryBudget, background: Background) -> CheckpointResult<Arc<Self>> {
        Self::start_with(budget, READERS, background)
    }

    /// The same, with so many threads.
    ///
    /// # Errors
    /// [`CheckpointError::Thread`].
    pub fn start_with(
        budget: &MemoryBudget,
        threads: usize,
        background: Background,
    ) -> CheckpointResult<Arc<Self>> {
        Self::start_with_handles(budget, threads, background, HandleTable::of_process())
    }

    /// The same, for files that have their handles in a table of the caller's.
    ///
    /// # Errors
    /// As [`PageReader::start_with`].
    pub fn start_with_handles(
        budget: &MemoryBudget,
        threads: usize,
        background: Background,
        handles: Arc<HandleTable>,
    ) -> CheckpointResult<Arc<Self>> {
        let pool = ReadPool::start(threads, background);
        let pool = pool.map_err(|source| CheckpointError::Thread { source })?;
        let buffers = ReadBuffers::reserve(budget).map_err(CheckpointError::Refused)?;
        let (cache, budget) = (PageCache::new(budget, PAGE_BYTES), budget.clone());
        let (reads, pinned_files, pinned_bytes) = Default::default();
        Ok(Arc::new(Self { cache, pool, buffers, handles, budget, reads, pinned_files, pinned_bytes }))
    }

    /// Pages that a reader of a batch may hold at once: `wanted` of them, or fewer.
    pub(super) fn round(&self, wanted: usize) -> RoundPages<'_> {
        self.buffers.take(wanted)
    }

    /// What indexes of pages, the cache and the pages of batches are reserved from.
    #[must_use]
    pub fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// The open handles of its files. A page that is cached is read without them.
    #[must_use]
    pub fn handles(&self) -> &Arc<HandleTable> {
        &self.handles
    }

    /// The threads that read, for reads past the cache.
    #[must_use]
    pub fn pool(&self) -> &ReadPool {
        &self.pool
    }

    /// What the cache has done and holds.
    #[must_use]
    pub fn statistics(&self) -> CacheStatistics {
        self.cache.statistics()
    }

    /// Counts what is read of all files, past the cache too.
    #[must_use]
    pub fn reads(&self) -> &Arc<ReadCounters> {
        &self.reads
    }

    /// The files that were replaced and are still open.
    #[must_use]
    pub fn pinned(&self) -> PinnedStatistics {
        PinnedStatistics {
            files: self.pinned_files.load(Ordering::Relaxed),
            bytes: self.pinned_bytes.load(Ordering::Relaxed),
        }
    }

    /// Notes that a file of so many bytes was replaced.
    pub(super) fn note_replaced(&self, bytes: u64) {
        self.pinned_files.fetch_add(1, Ordering::Relaxed);
        self.pinned_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Notes that the last one who held a file of so many bytes that was replaced let go of it.
    pub(super) fn note_closed(&self, bytes: u64) {
        self.pinned_files.fetch_sub(1, Ordering::Relaxed);
        self.pinned_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Lets go of the pages of a file that was removed. Cost: a look at each cached page.
    pub fn forget_file(&self, file: FileNumber) {
        self.cache.forget_file(file);
    }

    /// Ends the threads. From here on readers read by themselves.
    pub fn close(&self) {
        self.pool.close();
    }

    /// A page. Cost: a look-up in the cache; else a read by the caller's thread, a checksum, and memory for the page.
    ///
    /// # Errors
    /// [`CheckpointError::Corrupt`], naming file and offset; what the system says.
    pub fn page(
        &self,
        file: &PagedFile,
        page: PageNumber,
        worth: PageWorth,
    ) -> CheckpointResult<Arc<VerifiedPage>> {
        self.cache.get(page_id(file, page), worth, || {
            let mut buffer = self.buffers.buffer();
            file.handle().read_at(&mut buffer, page.offset())?;
            self.verified(file, page, buffer)
        })
    }

    /// Reads those of `pages` into the cache that are not there, side by side, of whichever files. A read that fails is
    /// forgotten: who needs the page reads it again, and gets the error.
    pub(super) fn read_ahead<'f>(&self, pages: impl IntoIterator<Item = PageToRead<'f>>) {
        let mut missing = pages
            .into_iter()
            .filter_map(|wanted| Some((wanted, self.cache.claim_missing(page_id(wanted.file, wanted.page))?)))
            .peekable();
        if missing.peek().is_none() {
            return;
        }
        let allowed = self.round(AHEAD_PAGES);
        while missing.peek().is_some() {
            let promises: Vec<_> = missing.by_ref().take(allowed.count()).collect();
            let read = |(wanted, _): &(PageToRead<'f>, PageRead<'_, VerifiedPage>)| {
                let (file, buffer) = (Arc::clone(wanted.file.handle()), self.buffers.buffer());
                pool::PageRead { file, offset: wanted.page.offset(), buffer }
            };
            let outcomes = self.pool.read_all(promises.iter().map(read).collect());
            for ((wanted, promise), read) in promises.into_iter().zip(outcomes) {
                let PageToRead { file, page, worth } = wanted;
                if let Some(read) = read.ok().and_then(|buffer| self.verified(file, page, buffer).ok()) {
                    promise.put(read, worth);
                }
            }
        }
    }

    /// A page if it is cached, without making it stay longer: for scans. Cost: a look-up.
    #[must_use]
    pub fn cached(&self, file: &PagedFile, page: PageNumber) -> Option<Arc<VerifiedPage>> {
        self.cache.peek(page_id(file, page))
    }

    /// Caches a page that was verified, if nobody else needs the memory: no page goes for it. Cost: a copy of it.
    pub fn offer(&self, file: &PagedFile, page: PageNumber, bytes: &PageBytes) {
        self.cache.offer(page_id(file, page), || VerifiedPage(Box::from(bytes.as_slice())));
    }

    /// Appends `pages`, in their order; those that are not cached are read side by side.
    ///
    /// # Errors
    /// As [`PageReader::page`], the first one in the order of `pages`. The others are read all the same.
    pub fn pages(
        &self,
        file: &PagedFile,
        pages: impl IntoIterator<Item = PageNumber>,
        worth: PageWorth,
        out: &mut Vec<Arc<VerifiedPage>>,
    ) -> CheckpointResult<()> {
        let mut claims: Vec<(PageNumber, ClaimedPage<'_>)> = Vec::new();
        let mut reads = Vec::new();
        for page in pages {
            let claim = match self.cache.claim(page_id(file, page)) {
                Claim::Cached(found) => ClaimedPage::Found(found),
                Claim::Awaited(awaited) => ClaimedPage::Awaited(awaited),
                Claim::Read(promise) => {
                    let (handle, buffer) = (Arc::clone(file.handle()), self.buffers.buffer());
                    reads.push(pool::PageRead { file: handle, offset: page.offset(), buffer });
                    ClaimedPage::Promised(promise)
                }
            };
            claims.push((page, claim));
        }
        let (mut outcomes, mut failed) = (self.pool.read_all(reads).into_iter(), None);
        let mut kept = Vec::with_capacity(claims.len());
        for (page, claim) in claims {
            let claim = match claim {
                ClaimedPage::Promised(promise) => {
                    let buffer = outcomes.next().expect("each promise began a read");
                    match buffer.map_err(Into::into).and_then(|buffer| self.verified(file, page, buffer)) {
                        Ok(read) => ClaimedPage::Found(promise.put(read, worth)),
                        Err(error) => {
                            // The promise is given up: who waits for it reads by itself.
                            drop(promise);
                            failed = failed.or(Some(error));
                            continue;
                        }
                    }
                }
                claim => claim,
            };
            kept.push((page, claim));
        }
        if let Some(error) = failed {
            return Err(error);
        }
        out.reserve(kept.len());
        for (page, claim) in kept {
            out.push(match claim {
                ClaimedPage::Found(found) => found,
                ClaimedPage::Awaited(awaited) => match awaited.wait() {
                    Some(found) => found,
                    None => self.page(file, page, worth)?,
                },
                ClaimedPage::Promised(_) => unreachable!("every promise was kept or given up"),
            });
        }
        Ok(())
    }

    /// The page that was read into `buffer`, which is used again.
    fn verified(
        &self,
        file: &PagedFile,
        page: PageNumber,
        buffer: AlignedBuffer,
    ) -> CheckpointResult<VerifiedPage> {
        let verified = file.verify(page, buffer.first_chunk().expect("the buffer is as long as a page"));
        let read = verified.map(|()| VerifiedPage(Box::from(&buffer[..])));
        if buffer.get(KIND_OFFSET) == Some(&PageKind::Lists.code()) {
            self.reads.read_list_page();
        }
        self.buffers.give_back(buffer);
        read
    }
}

fn page_id(file: &PagedFile, page: PageNumber) -> CachedPageId {
    CachedPageId { file: file.name().number, content: file.name().content, page }
}
