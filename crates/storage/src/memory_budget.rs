//! Memory budget: named reservations below one limit in bytes, and caches that take what is left.
//!
//! Kernels, records and buffers reserve before they allocate; what would pass the limit is refused
//! with `limit`, and the text says which purpose wanted how much, and how much is in use.
//!
//! ```text
//! limit      |== reservations ==|== elastic: caches ==|.. free ..|
//! reserve    fits into what is free: at once
//!            else, if reservations and it fit below the limit: caches shrink, without the budget's lock; again
//!            else: refused, and no cache has shrunk in vain
//!            in place of more that is freed right after it: counted beyond the limit; nothing else fits meanwhile
//! a cache    grows into what is free, and not into what a reservation waits for
//! ```

use crate::sync::Mutex;
use evergraph_graph::budget::{Budget, OverBudget, Reservation};
use evergraph_graph::error::Result;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

/// A cache that gives memory back when somebody reserves it.
pub trait Shrink: Send + Sync {
    /// Frees `bytes` or more, and [gives them back](ElasticReservation::release); less if it cannot. Waits for nobody
    /// and does no I/O.
    ///
    /// Called by whoever reserves, without the budget's lock. It takes the locks of the cache, so nobody may reserve
    /// while holding one of those.
    fn shrink(&self, bytes: u64);
}

/// A limit in bytes, shared by everything that reserves from it. Clones share it.
///
/// # Concurrency
/// One lock, held for a map look-up; reservations are few and large. It is a leaf: nothing is locked and nobody is
/// called inside it, so that caches grow and release under their own locks. [`Budget::reserve`] may call
/// [`Shrink::shrink`] before it takes the lock again. Lock order: whatever the caller holds, locks of caches, the
/// budget.
#[derive(Clone, Debug)]
pub struct MemoryBudget {
    limit_bytes: u64,
    held: Arc<Mutex<ReservedBytes>>,
}

/// A cache's place in the order in which they came.
type CacheId = u64;

#[derive(Debug, Default)]
struct ReservedBytes {
    /// Of reservations and caches.
    total_bytes: u64,
    /// Of caches.
    elastic_bytes: u64,
    /// What caches gave back so far, to see that one of them shrank though another one grew. Wraps around.
    given_back_bytes: u64,
    /// Of reservations that wait for caches to shrink. Caches don't grow into them.
    awaited_bytes: u64,
    by_purpose: BTreeMap<Arc<str>, u64>,
    caches: Vec<(CacheId, Weak<dyn Shrink>)>,
    next_cache: CacheId,
}

impl MemoryBudget {
    /// A budget of `limit_bytes`; [`u64::MAX`] never refuses.
    #[must_use]
    pub fn new(limit_bytes: u64) -> Self {
        Self { limit_bytes, held: Arc::default() }
    }

    /// The limit, in bytes.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Bytes reserved now, those of caches included.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.held.lock().total_bytes
    }

    /// Bytes reserved now for each purpose, by name.
    #[must_use]
    pub fn reservations(&self) -> Vec<(Arc<str>, u64)> {
        let held = self.held.lock();
        held.by_purpose.iter().map(|(purpose, bytes)| (Arc::clone(purpose), *bytes)).collect()
    }

    /// Memory for `cache`, which takes what nobody reserves and shrinks when somebody does. It begins with nothing.
    pub fn elastic(&self, purpose: &str, cache: Weak<dyn Shrink>) -> ElasticReservation {
        let mut held = self.held.lock();
        let id = held.next_cache;
        held.next_cache += 1;
        held.caches.push((id, cache));
        let (budget, purpose) = (self.clone(), purpose.into());
        ElasticReservation { budget, id, purpose, bytes: Mutex::new(0) }
    }

    /// As [`Budget::reserve`], beyond the limit if it does not fit: for memory that is about to take the place of more, so
    /// that a full budget does not stop what would free some. Until then others are refused. Caches give way to it first.
    pub fn reserve_anyway(&self, purpose: &str, bytes: u64) -> Reservation {
        if let Ok(reservation) = self.reserve(purpose, bytes) {
            return reservation;
        }
        self.shrink_caches(bytes);
        self.count(&mut self.held.lock(), purpose, bytes)
    }

    fn count(&self, held: &mut ReservedBytes, purpose: &str, bytes: u64) -> Reservation {
        if bytes == 0 {
            // Not counted: the first of two to end would take the purpose's entry with it.
            return Reservation::new(0, |_| {});
        }
        let purpose: Arc<str> = purpose.into();
        held.take(&purpose, bytes);
        let home = Arc::clone(&self.held);
        Reservation::new(bytes, move |bytes| home.lock().release(&purpose, bytes))
    }

    /// Asks caches for what a reservation of `bytes` lacks, and returns whether it may fit now: whether they gave anything,
    /// or it lacks nothing any more.
    #[cold]
    fn shrink_caches(&self, bytes: u64) -> bool {
        let (lacking, before, caches) = {
            let held = self.held.lock();
            let lacking = held.total_bytes.saturating_add(bytes).saturating_sub(self.limit_bytes);
            (lacking, held.given_back_bytes, held.caches.clone())
        };
        let freed = || self.held.lock().given_back_bytes.wrapping_sub(before);
        for cache in caches.iter().filter_map(|(_, cache)| cache.upgrade()) {
            let still_lacking = lacking.saturating_sub(freed());
            if still_lacking == 0 {
                break;
            }
            cache.shrink(still_lacking);
        }
        lacking == 0 || freed() > 0
    }
}

impl Budget for MemoryBudget {
    fn reserve(&self, purpose: &str, bytes: u64) -> Result<Reservation> {
        let mut held = self.held.lock();
        // Again, if somebody else reserved what was freed. Caches do not grow meanwhile, so this ends when they are empty.
        while !held.fits(bytes, self.limit_bytes) && held.fits_without_caches(bytes, self.limit_bytes) {
            held.awaited_bytes = held.awaited_bytes.saturating_add(bytes);
            drop(held);
            let have_shrunk = self.shrink_caches(bytes);
            held = self.held.lock();
            held.awaited_bytes = held.awaited_bytes.saturating_sub(bytes);
            if !have_shrunk {
                break;
            }
        }
        if !held.fits(bytes, self.limit_bytes) {
            // What caches hold is in nobody's way, unless one of them doesn't give it back.
            let is_held_by_caches = held.fits_without_caches(bytes, self.limit_bytes);
            let spare_bytes = if is_held_by_caches { 0 } else { held.elastic_bytes };
            let (used_bytes, limit_bytes) = (held.total_bytes - spare_bytes, self.limit_bytes);
            let purpose = purpose.to_owned();
            return Err(OverBudget { purpose, wanted_bytes: bytes, used_bytes, limit_bytes }.into());
        }
        Ok(self.count(&mut held, purpose, bytes))
    }
}

impl ReservedBytes {
    fn fits(&self, bytes: u64, limit_bytes: u64) -> bool {
        self.total_bytes.checked_add(bytes).is_some_and(|total| total <= limit_bytes)
    }

    /// Whether `bytes` would fit if caches held nothing.
    fn fits_without_caches(&self, bytes: u64, limit_bytes: u64) -> bool {
        let reserved_bytes = self.total_bytes - self.elastic_bytes;
        self.elastic_bytes > 0 && reserved_bytes.checked_add(bytes).is_some_and(|total| total <= limit_bytes)
    }

    fn take(&mut self, purpose: &Arc<str>, bytes: u64) {
        self.total_bytes += bytes;
        *self.by_purpose.entry(Arc::clone(purpose)).or_default() += bytes;
    }

    fn release(&mut self, purpose: &str, bytes: u64) {
        self.total_bytes -= bytes;
        let left = self.by_purpose.get_mut(purpose).expect("a reservation is counted until it ends");
        *left -= bytes;
        if *left == 0 {
            self.by_purpose.remove(purpose);
        }
    }
}

/// What a cache holds of a [`MemoryBudget`]; given back when dropped.
///
/// # Concurrency
/// Any thread, also under locks of the cache: its lock and the budget's are leaves, in this order.
#[must_use = "a cache's memory is given back when this is dropped"]
pub struct ElasticReservation {
    budget: MemoryBudget,
    id: CacheId,
    purpose: Arc<str>,
    bytes: Mutex<u64>,
}

impl ElasticReservation {
    /// Takes `bytes` more, if nobody reserved them or waits for them, and returns whether it did. A cache that gets no
    /// more replaces what it has.
    ///
    /// Cost: the lock that all reservations share, so a cache grows by many pages at once.
    #[must_use]
    pub fn grow(&self, bytes: u64) -> bool {
        let mut own = self.bytes.lock();
        let mut held = self.budget.held.lock();
        let wanted = bytes.saturating_add(held.awaited_bytes);
        if bytes == 0 || !held.fits(wanted, self.budget.limit_bytes) {
            return bytes == 0;
        }
        held.take(&self.purpose, bytes);
        held.elastic_bytes += bytes;
        *own += bytes;
        true
    }

    /// Gives `bytes` back.
    ///
    /// # Panics
    /// If the cache doesn't hold that many.
    pub fn release(&self, bytes: u64) {
        let mut own = self.bytes.lock();
        *own = own.checked_sub(bytes).expect("a cache gives back what it holds");
        if bytes > 0 {
            let mut held = self.budget.held.lock();
            held.release(&self.purpose, bytes);
            held.elastic_bytes -= bytes;
            held.given_back_bytes = held.given_back_bytes.wrapping_add(bytes);
        }
    }

    /// Bytes that the cache holds.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        *self.bytes.lock()
    }
}

impl Drop for ElasticReservation {
    fn drop(&mut self) {
        self.release(self.bytes());
        self.budget.held.lock().caches.retain(|(id, _)| *id != self.id);
    }
}

impl fmt::Debug for ElasticReservation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ElasticReservation({} bytes for {})", self.bytes(), self.purpose)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::error::ErrorKind;

    #[test]
    fn what_would_pass_the_limit_is_refused_by_name_and_fits_after_a_release() {
        let budget = MemoryBudget::new(100);
        let scores = budget.reserve("pagerank scores", 70).unwrap();
        let error = budget.reserve("queue", 31).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Limit);
        for part in ["queue", "31", "100", "70"] {
            assert!(error.to_string().contains(part), "{error}");
        }
        drop(scores);
        assert!(budget.reserve("queue", 100).is_ok());
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn what_takes_the_place_of_more_is_counted_beyond_the_limit_and_others_are_refused_until_it_fits() {
        let budget = MemoryBudget::new(100);
        let cache = Cache::new(&budget, "pages", 0);
        assert!(cache.grow(40));
        let graph = budget.reserve("graph", 55).unwrap();
        let index = budget.reserve_anyway("index", 20);
        assert_eq!((cache.reservation.bytes(), budget.used_bytes()), (25, 100), "caches give way");
        let next = budget.reserve_anyway("index", 30);
        assert_eq!(budget.reservations(), [("graph".into(), 55), ("index".into(), 50)]);
        assert!(!cache.grow(1) && budget.reserve("queue", 0).is_err() && budget.reserve("queue", 1).is_err());
        drop(graph);
        assert!(budget.reserve("queue", 50).is_ok());
        drop((index, next, budget.reserve_anyway("nothing", 0)));
        assert_eq!(budget.used_bytes(), 0);
    }

    /// Found by a search for rings in a graph whose edges were all fresh: the weights of its two projections took
    /// nothing, and the second to be dropped panicked.
    #[test]
    fn two_reservations_of_nothing_end_one_after_the_other() {
        let budget = MemoryBudget::new(0);
        let (a, b) = (budget.reserve("weights", 0).unwrap(), budget.reserve("weights", 0).unwrap());
        drop((a, b));
        assert_eq!(budget.reservations(), []);
    }

    #[test]
    fn reservations_are_counted_by_purpose_until_they_end() {
        let budget = MemoryBudget::new(u64::MAX);
        let (a, b) = (budget.reserve("cache", 5).unwrap(), budget.reserve("cache", 7).unwrap());
        assert_eq!(budget.reservations(), [("cache".into(), 12)]);
        drop(a);
        assert_eq!(budget.reservations(), [("cache".into(), 7)]);
        assert!(budget.reserve("too much", u64::MAX).is_err(), "the sum does not wrap around");
        drop(b);
        assert_eq!(budget.reservations(), []);
    }

    /// A cache of bytes that nobody looks at. It may refuse to give some of them back.
    struct Cache {
        reservation: ElasticReservation,
        /// Held while it grows and shrinks, as the lock of a cache's shard is.
        shard: Mutex<()>,
        kept_bytes: u64,
    }

    impl Cache {
        fn new(budget: &MemoryBudget, purpose: &str, kept_bytes: u64) -> Arc<Self> {
            Arc::new_cyclic(|cache: &Weak<Self>| {
                let reservation = budget.elastic(purpose, cache.clone());
                Self { reservation, shard: Mutex::default(), kept_bytes }
            })
        }

        fn grow(&self, bytes: u64) -> bool {
            let _shard = self.shard.lock();
            self.reservation.grow(bytes)
        }
    }

    impl Shrink for Cache {
        fn shrink(&self, bytes: u64) {
            let _shard = self.shard.lock();
            let spare_bytes = self.reservation.bytes().saturating_sub(self.kept_bytes);
            self.reservation.release(bytes.min(spare_bytes));
        }
    }

    #[test]
    fn a_cache_takes_what_is_left_and_shrinks_for_a_reservation() {
        let budget = MemoryBudget::new(100);
        let cache = Cache::new(&budget, "pages", 0);
        let scores = budget.reserve("scores", 30).unwrap();
        assert!(!cache.grow(71), "30 are reserved");
        assert!(cache.grow(50) && cache.grow(20) && cache.grow(0));
        assert_eq!(budget.reservations(), [("pages".into(), 70), ("scores".into(), 30)]);
        let queue = budget.reserve("queue", 25).unwrap();
        assert_eq!((cache.reservation.bytes(), budget.used_bytes()), (45, 100), "just what was lacking");
        drop((scores, queue));
        assert!(cache.grow(55));
        drop(cache);
        assert_eq!(budget.reservations(), []);
        assert!(budget.reserve("all", 100).is_ok(), "a dropped cache is forgotten");
    }

    #[test]
    fn several_caches_shrink_one_after_the_other() {
        let budget = MemoryBudget::new(100);
        let caches = ["pages", "filters"].map(|purpose| Cache::new(&budget, purpose, 0));
        assert!(caches.iter().all(|cache| cache.grow(50)));
        let _scores = budget.reserve("scores", 70).unwrap();
        assert_eq!(caches.map(|cache| cache.reservation.bytes()), [0, 30]);
    }

    #[test]
    fn a_shrink_that_gives_back_too_little_is_a_refusal_that_says_what_is_in_use() {
        let budget = MemoryBudget::new(100);
        let cache = Cache::new(&budget, "pages", 40);
        assert!(cache.grow(90));
        let error = budget.reserve("scores", 70).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Limit);
        for part in ["70", "100", "40 bytes is in use"] {
            assert!(error.to_string().contains(part), "{part}: {error}");
        }
        assert_eq!(cache.reservation.bytes(), 40, "it gave what it could");
        let _scores = budget.reserve("scores", 60).unwrap();
        assert!(!cache.grow(1));
    }

    #[test]
    fn no_cache_shrinks_for_what_could_not_fit() {
        let budget = MemoryBudget::new(100);
        let cache = Cache::new(&budget, "pages", 0);
        let _scores = budget.reserve("scores", 50).unwrap();
        assert!(cache.grow(50));
        for bytes in [51, u64::MAX] {
            let error = budget.reserve("queue", bytes).err().unwrap();
            assert!(error.to_string().contains("50 bytes is in use"), "{error}");
        }
        assert_eq!(cache.reservation.bytes(), 50);
    }

    #[test]
    fn a_cache_does_not_grow_into_what_a_reservation_waits_for() {
        struct Greedy {
            reservation: ElasticReservation,
            grew: Mutex<bool>,
        }
        impl Shrink for Greedy {
            fn shrink(&self, bytes: u64) {
                self.reservation.release(bytes);
                // As another thread that reads pages meanwhile.
                *self.grew.lock() |= self.reservation.grow(1);
            }
        }
        let budget = MemoryBudget::new(100);
        let cache = Arc::new_cyclic(|cache: &Weak<Greedy>| {
            let reservation = budget.elastic("pages", cache.clone());
            Greedy { reservation, grew: Mutex::new(false) }
        });
        assert!(cache.reservation.grow(100));
        let _scores = budget.reserve("scores", 60).unwrap();
        assert!(!*cache.grew.lock());
        assert_eq!(cache.reservation.bytes(), 40);
    }

    #[cfg(not(shuttle))]
    #[test]
    fn caches_and_reservations_of_many_threads_stay_below_the_limit_and_none_waits_for_ever() {
        let budget = MemoryBudget::new(1000);
        let cache = Cache::new(&budget, "pages", 0);
        std::thread::scope(|scope| {
            for thread in 0..2 {
                let (budget, cache) = (&budget, &cache);
                scope.spawn(move || {
                    for round in 0..2000 {
                        // At most 900 are reserved by both together, so none is refused, whatever the cache holds.
                        drop(budget.reserve("scores", 450 - (round + thread) % 7).unwrap());
                        assert!(budget.used_bytes() <= 1000);
                    }
                });
                scope.spawn(move || {
                    for _ in 0..4000 {
                        if !cache.grow(64) {
                            cache.shrink(64);
                        }
                    }
                });
            }
        });
        assert_eq!(budget.used_bytes(), cache.reservation.bytes());
    }
}
