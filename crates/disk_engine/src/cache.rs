//! Page cache: verified pages of files, as many as memory is left for.
//!
//! ```text
//! claim    Cached     the page
//!          Read       nobody reads it yet: the caller does, and keeps its promise with `put`
//!          Awaited    another reader reads it: wait, after all own promises were kept
//! put      a page takes new memory while the budget gives some, else the place of the first page that the hand of
//!          its shard's CLOCK finds without lives; where there is no place it is handed to its readers alone
//! lives    a hit gives a page one life, a page of a filter three; the hand takes one from each page it passes
//! ```
//!
//! Filters get more lives because one of their pages saves many reads: with them in memory an insertion reads next to
//! nothing. Scans read past the cache, so that they do not empty it.
//!
//! A failed read is an error of the reader that made it and is not cached; readers that waited for it claim the page
//! again and read it themselves.
//!
//! Source: Corbató's CLOCK (1968), with counts in place of bits; single flight as in RocksDB's block cache.

use crate::format::file_name::{FileContent, FileNumber, PageNumber};
use evergraph_storage::memory_budget::{ElasticReservation, MemoryBudget, Shrink};
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use evergraph_storage::sync::{Condvar, Mutex};
use hashbrown::{DefaultHashBuilder, HashMap};
use std::fmt;
use std::hash::BuildHasher;
use std::sync::{Arc, Weak};

/// What caches of pages are called in a budget.
pub const CACHE_PURPOSE: &str = "page cache";
/// Shards, so that readers of different pages rarely meet at a lock.
#[cfg(not(shuttle))]
const SHARDS: usize = 32;
/// One shard, so that schedules meet in it.
#[cfg(shuttle)]
const SHARDS: usize = 1;

/// Which page.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CachedPageId {
    /// The number of its file.
    pub file: FileNumber,
    /// Which of the two files with that number.
    pub content: FileContent,
    /// Its place there.
    pub page: PageNumber,
}

/// How long a page stays without being used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageWorth {
    /// Until the hand comes by: one round after its last use.
    Ordinary,
    /// Three rounds: a page of a filter.
    Filter,
}

impl PageWorth {
    const fn lives(self) -> u8 {
        match self {
            Self::Ordinary => 1,
            Self::Filter => 3,
        }
    }
}

/// Verified pages, shared by all readers of one database.
///
/// # Concurrency
/// Any thread calls anything. A page's shard is locked for a look-up or an exchange and never across I/O; inside of it
/// only the budget's lock is taken, a leaf. A reader keeps the promises of its [`PageRead`]s before it waits for other
/// readers; so nobody waits for somebody who waits.
pub struct PageCache<P> {
    shards: Box<[Mutex<Shard<P>>]>,
    hasher: DefaultHashBuilder,
    /// Bytes that a page takes, its entry here included.
    page_bytes: u64,
    reservation: ElasticReservation,
    /// The shard that shrinks first, the next time. Relaxed: it only spreads the loss.
    next_to_shrink: AtomicUsize,
    counters: CacheCounters,
}

/// Relaxed: for statistics alone.
#[derive(Default)]
struct CacheCounters {
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
}

/// What a cache has done since it was made, and what it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CacheStatistics {
    /// Pages that were there when they were asked for.
    pub hits: u64,
    /// Pages that had to be read.
    pub misses: u64,
    /// Pages that went for others, or because memory was needed.
    pub evictions: u64,
    /// Bytes of pages now, their entries included.
    pub bytes: u64,
}

struct Shard<P> {
    slots: Vec<Slot<P>>,
    places: HashMap<CachedPageId, usize>,
    reads: HashMap<CachedPageId, Arc<ReadInFlight<P>>>,
    /// The slot that is looked at next when one is needed.
    hand: usize,
}

struct Slot<P> {
    id: CachedPageId,
    page: Arc<P>,
    worth: PageWorth,
    /// Rounds of the hand that the page survives.
    lives: u8,
}

/// A page that some reader reads.
struct ReadInFlight<P> {
    outcome: Mutex<ReadOutcome<P>>,
    done: Condvar,
}

enum ReadOutcome<P> {
    UnderWay,
    Read(Arc<P>),
    GivenUp,
}

/// What came of asking for a page.
pub enum Claim<'a, P> {
    /// It is there.
    Cached(Arc<P>),
    /// The caller reads it, for all who want it.
    Read(PageRead<'a, P>),
    /// Another reader reads it.
    Awaited(AwaitedPage<P>),
}

/// The promise to read a page. Dropped, it is given up, and others read the page for themselves.
#[must_use = "others wait for the page"]
pub struct PageRead<'a, P> {
    cache: &'a PageCache<P>,
    id: CachedPageId,
    flight: Arc<ReadInFlight<P>>,
    is_kept: bool,
}

/// A page that another reader reads.
pub struct AwaitedPage<P>(Arc<ReadInFlight<P>>);

impl<P: Send + Sync + 'static> PageCache<P> {
    /// An empty cache of pages that take `page_bytes` each, in what nobody reserves of `budget`.
    #[must_use]
    pub fn new(budget: &MemoryBudget, page_bytes: usize) -> Arc<Self> {
        Arc::new_cyclic(|cache: &Weak<Self>| {
            let empty =
                || Shard { slots: Vec::new(), places: HashMap::new(), reads: HashMap::new(), hand: 0 };
            Self {
                shards: (0..SHARDS).map(|_| Mutex::new(empty())).collect(),
                hasher: DefaultHashBuilder::default(),
                page_bytes: (page_bytes + size_of::<Slot<P>>() + size_of::<(CachedPageId, usize)>()) as u64,
                reservation: budget.elastic(CACHE_PURPOSE, Weak::clone(cache) as Weak<dyn Shrink>),
                next_to_shrink: AtomicUsize::new(0),
                counters: CacheCounters::default(),
            }
        })
    }

    /// The page, or who reads it. Cost: a look-up under the lock of a shard.
    pub fn claim(&self, id: CachedPageId) -> Claim<'_, P> {
        let mut shard = self.shard(id).lock();
        if let Some(place) = shard.places.get(&id).copied() {
            let slot = &mut shard.slots[place];
            slot.lives = slot.worth.lives();
            self.counters.hits.fetch_add(1, Ordering::Relaxed);
            return Claim::Cached(Arc::clone(&slot.page));
        }
        if let Some(flight) = shard.reads.get(&id) {
            return Claim::Awaited(AwaitedPage(Arc::clone(flight)));
        }
        Claim::Read(self.begin_read(&mut shard, id))
    }

    /// The promise to read a page, unless it is there or somebody reads it. The look does not count as a use. Cost: a
    /// look-up under the lock of a shard.
    pub fn claim_missing(&self, id: CachedPageId) -> Option<PageRead<'_, P>> {
        let mut shard = self.shard(id).lock();
        let is_known = shard.places.contains_key(&id) || shard.reads.contains_key(&id);
        (!is_known).then(|| self.begin_read(&mut shard, id))
    }

    fn begin_read(&self, shard: &mut Shard<P>, id: CachedPageId) -> PageRead<'_, P> {
        self.counters.misses.fetch_add(1, Ordering::Relaxed);
        let flight =
            Arc::new(ReadInFlight { outcome: Mutex::new(ReadOutcome::UnderWay), done: Condvar::new() });
        shard.reads.insert(id, Arc::clone(&flight));
        PageRead { cache: self, id, flight, is_kept: false }
    }

    /// The page if it is cached; it does not stay longer for that, and nothing is counted. Cost: as [`PageCache::claim`].
    #[must_use]
    pub fn peek(&self, id: CachedPageId) -> Option<Arc<P>> {
        let shard = self.shard(id).lock();
        shard.places.get(&id).map(|place| Arc::clone(&shard.slots[*place].page))
    }

    /// Caches the page that `make` gives if there is memory for it that nobody reserved, and it is not cached yet or
    /// being read. No other page goes for it.
    pub fn offer(&self, id: CachedPageId, make: impl FnOnce() -> P) {
        let mut shard = self.shard(id).lock();
        let is_known = shard.places.contains_key(&id) || shard.reads.contains_key(&id);
        if !is_known && self.reservation.grow(self.page_bytes) {
            let worth = PageWorth::Ordinary;
            let slot = Slot { id, page: Arc::new(make()), worth, lives: 0 };
            let place = shard.slots.len();
            shard.places.insert(id, place);
            shard.slots.push(slot);
        }
    }

    /// One page: the cached one, or what `read` returns, which runs at most once at a time for all readers.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn get<E>(
        &self,
        id: CachedPageId,
        worth: PageWorth,
        read: impl Fn() -> Result<P, E>,
    ) -> Result<Arc<P>, E> {
        loop {
            match self.claim(id) {
                Claim::Cached(page) => return Ok(page),
                Claim::Read(promise) => return Ok(promise.put(read()?, worth)),
                Claim::Awaited(awaited) => {
                    if let Some(page) = awaited.wait() {
                        return Ok(page);
                    }
                }
            }
        }
    }

    /// Lets go of all pages of a file, which was removed. Cost: a look at each cached page.
    pub fn forget_file(&self, file: FileNumber) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            let mut at = 0;
            let mut displaced = Vec::new();
            while at < shard.slots.len() {
                if shard.slots[at].id.file == file {
                    displaced.push(shard.remove(at));
                } else {
                    at += 1;
                }
            }
            self.reservation.release(displaced.len() as u64 * self.page_bytes);
            drop(shard);
        }
    }

    /// What it has done and holds.
    #[must_use]
    pub fn statistics(&self) -> CacheStatistics {
        let CacheCounters { hits, misses, evictions } = &self.counters;
        CacheStatistics {
            hits: hits.load(Ordering::Relaxed),
            misses: misses.load(Ordering::Relaxed),
            evictions: evictions.load(Ordering::Relaxed),
            bytes: self.reservation.bytes(),
        }
    }
}

impl<P> PageCache<P> {
    fn shard(&self, id: CachedPageId) -> &Mutex<Shard<P>> {
        // The high bits: the table inside the shard uses the low ones.
        &self.shards[(self.hasher.hash_one(id) >> 48) as usize % self.shards.len()]
    }

    /// Gives `page` a place in its shard, which is locked; the page that had it, to be freed without the lock.
    fn store(
        &self,
        shard: &mut Shard<P>,
        id: CachedPageId,
        page: Arc<P>,
        worth: PageWorth,
    ) -> Option<Slot<P>> {
        // A new page has no life of its own yet: one that is never asked for again goes before those that were.
        let lives = worth.lives() - 1;
        let slot = Slot { id, page, worth, lives };
        if self.reservation.grow(self.page_bytes) {
            shard.places.insert(id, shard.slots.len());
            shard.slots.push(slot);
            return None;
        }
        let place = shard.victim()?;
        self.counters.evictions.fetch_add(1, Ordering::Relaxed);
        let displaced = std::mem::replace(&mut shard.slots[place], slot);
        shard.places.remove(&displaced.id);
        shard.places.insert(id, place);
        Some(displaced)
    }
}

impl<P> Shard<P> {
    /// The place of the page that goes next, and moves the hand behind it; `None` if there is no page.
    fn victim(&mut self) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        loop {
            let place = self.hand % self.slots.len();
            self.hand = place + 1;
            match &mut self.slots[place].lives {
                0 => return Some(place),
                lives => *lives -= 1,
            }
        }
    }

    /// Takes out the page at `place`; the last one takes its place.
    fn remove(&mut self, place: usize) -> Slot<P> {
        let slot = self.slots.swap_remove(place);
        self.places.remove(&slot.id);
        if let Some(moved) = self.slots.get(place) {
            self.places.insert(moved.id, place);
        }
        slot
    }
}

impl<P> PageRead<'_, P> {
    /// The page that is to be read.
    #[must_use]
    pub fn id(&self) -> CachedPageId {
        self.id
    }

    /// Keeps the promise: the page is there for all, and stays for a while if there is memory for it.
    pub fn put(mut self, page: P, worth: PageWorth) -> Arc<P> {
        let page = Arc::new(page);
        self.is_kept = true;
        self.end(Some((&page, worth)));
        page
    }

    fn end(&self, read: Option<(&Arc<P>, PageWorth)>) {
        let _displaced = {
            let mut shard = self.cache.shard(self.id).lock();
            shard.reads.remove(&self.id);
            read.and_then(|(page, worth)| self.cache.store(&mut shard, self.id, Arc::clone(page), worth))
        };
        *self.flight.outcome.lock() = match read {
            Some((page, _)) => ReadOutcome::Read(Arc::clone(page)),
            None => ReadOutcome::GivenUp,
        };
        self.flight.done.notify_all();
    }
}

impl<P> Drop for PageRead<'_, P> {
    fn drop(&mut self) {
        if !self.is_kept {
            self.end(None);
        }
    }
}

impl<P> AwaitedPage<P> {
    /// Waits until the other reader is done: the page, or `None` if its read failed. Call it when no promise of one's
    /// own is open.
    #[must_use]
    pub fn wait(self) -> Option<Arc<P>> {
        let mut outcome = self.0.outcome.lock();
        loop {
            match &*outcome {
                ReadOutcome::UnderWay => outcome = self.0.done.wait(outcome),
                ReadOutcome::Read(page) => return Some(Arc::clone(page)),
                ReadOutcome::GivenUp => return None,
            }
        }
    }
}

impl<P: Send + Sync> Shrink for PageCache<P> {
    /// Each shard gives its share of what is left to give.
    fn shrink(&self, bytes: u64) {
        if planted(Bug::CacheNotShrunk) {
            return;
        }
        let first = self.next_to_shrink.fetch_add(1, Ordering::Relaxed);
        let mut pages_left = usize::try_from(bytes.div_ceil(self.page_bytes)).unwrap_or(usize::MAX);
        // A second round takes from full shards what empty ones did not have.
        for round in 0..2 {
            for number in 0..self.shards.len() {
                let shards_left = if round == 0 { self.shards.len() - number } else { 1 };
                let share = pages_left.div_ceil(shards_left);
                let mut displaced = Vec::new();
                {
                    let mut shard = self.shards[(first + number) % self.shards.len()].lock();
                    while displaced.len() < share
                        && let Some(place) = shard.victim()
                    {
                        displaced.push(shard.remove(place));
                    }
                    self.reservation.release(displaced.len() as u64 * self.page_bytes);
                }
                self.counters.evictions.fetch_add(displaced.len() as u64, Ordering::Relaxed);
                pages_left -= displaced.len();
                if pages_left == 0 {
                    return;
                }
            }
        }
    }
}

impl<P> fmt::Debug for PageCache<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("PageCache").field("bytes", &self.reservation.bytes()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::budget::Budget;
    use std::cell::Cell;

    type NoError = std::convert::Infallible;

    fn id(file: u64, page: u32) -> CachedPageId {
        CachedPageId { file: FileNumber(file), content: FileContent::Topology, page: PageNumber(page) }
    }

    /// A page's content, and whether it had to be read.
    fn look_up(cache: &PageCache<u64>, id: CachedPageId, worth: PageWorth) -> (u64, bool) {
        let was_read = Cell::new(false);
        let read = || {
            was_read.set(true);
            Ok::<_, NoError>(id.file.0 * 1000 + u64::from(id.page.0))
        };
        let Ok(page) = cache.get(id, worth, read);
        (*page, was_read.get())
    }

    /// A budget for `pages` pages, and the cache in it.
    fn cache_of(pages: u64) -> (MemoryBudget, Arc<PageCache<u64>>) {
        let page_bytes = PageCache::<u64>::new(&MemoryBudget::new(0), 8).page_bytes;
        let budget = MemoryBudget::new(pages * page_bytes);
        let cache = PageCache::new(&budget, 8);
        (budget, cache)
    }

    #[test]
    fn a_page_is_read_once_while_there_is_room() {
        let (_, cache) = cache_of(1000);
        for round in 0..3 {
            for page in 0..500 {
                assert_eq!(
                    look_up(&cache, id(1, page), PageWorth::Ordinary),
                    (1000 + u64::from(page), round == 0)
                );
            }
        }
        let CacheStatistics { hits, misses, evictions, .. } = cache.statistics();
        assert_eq!((hits, misses, evictions), (1000, 500, 0));
    }

    #[test]
    fn without_room_every_answer_is_right_and_a_reservation_takes_all_memory() {
        let (budget, cache) = cache_of(64);
        for page in 0..5000 {
            assert_eq!(
                look_up(&cache, id(2, page % 321), PageWorth::Ordinary).0,
                2000 + u64::from(page % 321)
            );
        }
        assert!(cache.statistics().bytes <= budget.limit_bytes());
        let all = budget.reserve("everything", budget.limit_bytes()).unwrap();
        assert_eq!(cache.statistics().bytes, 0);
        assert_eq!(look_up(&cache, id(2, 7), PageWorth::Ordinary), (2007, true));
        assert_eq!(
            look_up(&cache, id(2, 7), PageWorth::Ordinary),
            (2007, true),
            "nothing is kept without memory"
        );
        drop(all);
        look_up(&cache, id(2, 7), PageWorth::Ordinary);
        assert_eq!(look_up(&cache, id(2, 7), PageWorth::Ordinary), (2007, false));
    }

    #[test]
    fn a_part_of_the_memory_is_given_back_from_all_shards() {
        let (budget, cache) = cache_of(640);
        (0..640).for_each(|page| {
            look_up(&cache, id(1, page), PageWorth::Ordinary);
        });
        let before = cache.statistics().bytes;
        let half = budget.reserve("half", budget.limit_bytes() / 2).unwrap();
        let left = cache.statistics().bytes;
        assert!(left <= before - half.bytes() && left + 2 * cache.page_bytes > before - half.bytes());
    }

    /// Looks up `count` pages of `file`, all in the shard of the first page of file 0; how many were there.
    fn look_up_in_one_shard(cache: &PageCache<u64>, file: u64, count: usize, worth: PageWorth) -> usize {
        let shard = cache.shard(id(0, 0));
        let in_shard = |page: &CachedPageId| std::ptr::eq::<Mutex<Shard<u64>>>(cache.shard(*page), shard);
        let pages = (0..).map(|page| id(file, page)).filter(in_shard).take(count);
        pages.filter(|page| !look_up(cache, *page, worth).1).count()
    }

    /// In one shard, so that the seed of the hashes decides nothing.
    #[test]
    fn used_pages_outlive_others_and_filters_outlive_them() {
        let (_, cache) = cache_of(200);
        let pages = |file, count, worth| look_up_in_one_shard(&cache, file, count, worth);
        for round in 0..2 {
            assert_eq!(pages(1, 40, PageWorth::Filter), round * 40);
            assert_eq!(pages(2, 40, PageWorth::Ordinary), round * 40);
        }
        // A scan of pages that nobody asks for again: the last 60 displace those before them.
        assert_eq!(pages(3, 180, PageWorth::Ordinary), 0);
        assert_eq!(pages(2, 40, PageWorth::Ordinary), 40, "used pages");
        // The hand goes round twice: used pages had one life, filters had two left.
        assert_eq!(pages(4, 260, PageWorth::Ordinary), 0);
        assert_eq!(pages(1, 40, PageWorth::Filter), 40, "filters");
        assert_eq!(pages(2, 40, PageWorth::Ordinary), 0, "used pages that are not used any more");
    }

    #[test]
    fn a_failed_read_is_told_to_its_reader_and_the_next_one_reads_again() {
        let (_, cache) = cache_of(10);
        let failed = cache.get(id(1, 1), PageWorth::Ordinary, || Err::<u64, _>("bad sector"));
        assert_eq!(failed.err(), Some("bad sector"));
        assert_eq!(look_up(&cache, id(1, 1), PageWorth::Ordinary), (1001, true));
    }

    #[test]
    fn who_waits_for_a_read_gets_its_page_or_reads_for_itself() {
        let (_, cache) = cache_of(10);
        for succeeds in [true, false] {
            let number = u32::from(succeeds);
            let Claim::Read(promise) = cache.claim(id(1, number)) else { panic!("nobody read it yet") };
            let Claim::Awaited(awaited) = cache.claim(id(1, number)) else { panic!("one reader reads it") };
            assert_eq!(promise.id(), id(1, number));
            if succeeds {
                promise.put(5, PageWorth::Ordinary);
            } else {
                drop(promise);
            }
            assert_eq!(awaited.wait().map(|page| *page), succeeds.then_some(5));
        }
    }

    #[test]
    fn pages_of_a_removed_file_are_forgotten() {
        let (_, cache) = cache_of(100);
        for file in [1, 2] {
            (0..20).for_each(|page| {
                look_up(&cache, id(file, page), PageWorth::Ordinary);
            });
        }
        cache.forget_file(FileNumber(1));
        assert_eq!(cache.statistics().bytes, 20 * cache.page_bytes);
        for page in 0..20 {
            assert!(!look_up(&cache, id(2, page), PageWorth::Ordinary).1);
            assert!(look_up(&cache, id(1, page), PageWorth::Ordinary).1);
        }
    }
}
