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
use crate::file::paged_file::PagedFile;
use crate::format::file_name::{FileNumber, PAGE_BYTES, PageNumber};
use crate::format::page::PageBytes;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::page::AlignedBuffer;
use evergraph_storage::io::pool::{self, READERS, ReadPool};
use evergraph_storage::memory_budget::MemoryBudget;
use std::sync::Arc;

/// A page whose checksum was compared.
#[derive(Debug)]
pub struct VerifiedPage(AlignedBuffer);

impl VerifiedPage {
    /// Its bytes.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> &PageBytes {
        self.0.first_chunk().expect("the buffer is as long as a page")
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
    /// [`CheckpointError::Thread`].
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
        let pool = ReadPool::start(threads, background);
        let pool = pool.map_err(|source| CheckpointError::Thread { source })?;
        Ok(Arc::new(Self { cache: PageCache::new(budget, PAGE_BYTES), pool }))
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
            let mut buffer = AlignedBuffer::zeroed(PAGE_BYTES);
            file.handle().read_at(&mut buffer, page.offset())?;
            verified(file, page, buffer)
        })
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
                    let (handle, buffer) = (Arc::clone(file.handle()), AlignedBuffer::zeroed(PAGE_BYTES));
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
                    match buffer.map_err(Into::into).and_then(|buffer| verified(file, page, buffer)) {
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
}

fn page_id(file: &PagedFile, page: PageNumber) -> CachedPageId {
    CachedPageId { file: file.name().number, content: file.name().content, page }
}

fn verified(file: &PagedFile, page: PageNumber, buffer: AlignedBuffer) -> CheckpointResult<VerifiedPage> {
    let read = VerifiedPage(buffer);
    file.verify(page, read.bytes())?;
    Ok(read)
}
