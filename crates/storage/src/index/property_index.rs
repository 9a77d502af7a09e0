//! Property index: from a value to the vertices or edges that may have it; maintained by every commit.
//!
//! ```text
//! building   in the directory, not in the catalogue: commits keep it up, a scan fills it
//! filled     exact for snapshots from the scan's on; newcomers are still watched, if it is unique
//! ready      in the catalogue: it answers
//! ```
//!
//! Entries have no timestamps: they are a *superset*. Whoever looks up reads the property of each
//! candidate at its own snapshot and compares.
//!
//! - An entry is inserted under the commit latch, before the commit is published, so that whoever sees
//!   the commit finds it. It is removed by way of [`Removals`].
//! - [`ChangeList`] tells a writer whether a value gained a holder after its snapshot: one that it enters
//!   into a unique index, or one that a serialisable transaction looked up.
//! - While a unique index is built, nobody checks what commits enter: the build looks at these [`Newcomers`].
//! - An engine may keep the entries of an index itself ([`PropertyIndex::kept_by_engine`]): then this has the
//!   definition, the changes and the newcomers, and a view of the engine answers in place of the entries.
//!
//! Source: core-protocol section 6.

use crate::engine::ChangedSince;
use crate::index::change_list::ChangeList;
use crate::index::entry_bound::EntryBound;
use crate::index::hash_entries::{HashEntries, Meeting};
use crate::index::item::Item;
use crate::index::newcomers::Newcomers;
use crate::index::ordered_entries::OrderedEntries;
use crate::index::removals::{EntryKey, Removals};
use crate::planted::{Bug, planted};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard};
use crate::view::IndexSize;
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind, IndexState, IndexStatistics};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Changes remembered for writers: at most 24 bytes each.
const CHANGES_MAX: usize = 1 << 16;
/// Removals done before their lock is given back: a commit may wait for it.
const COLLECT_BATCH: usize = 16;

/// The values of one key among the vertices of one label, or the edges of one type.
///
/// Concurrency: readers, the collector and a build's scan at any time; `insert` and `remove_later` only
/// under the commit latch (or before the index is known to anybody). Locks: one of removals, change
/// list and newcomers; inside the removals', those of the entries.
#[derive(Debug)]
pub struct PropertyIndex<I> {
    definition: IndexDefinition,
    seed: u64,
    entries: Entries<I>,
    removals: Mutex<Removals<I>>,
    changes: Mutex<ChangeList<I>>,
    newcomers: Newcomers<I>,
    /// The oldest snapshot that finds all it should; `u64::MAX` until it is filled. Release after the
    /// scan's last entry; Acquire by who looks up.
    since: AtomicU64,
    /// Release under the latch; Acquire by who lists indexes.
    ready: AtomicBool,
}

#[derive(Debug)]
enum Entries<I> {
    Hash(HashEntries<I>),
    Ordered(OrderedEntries<I>),
    /// The engine has them.
    Engine,
}

/// An index at the end of its build, as the commit that makes it ready sees it.
pub trait Completion {
    /// Which index it is, and whether the engine has its entries.
    fn kept_by_engine(&self) -> Option<IndexId>;

    /// Whether nothing stands against it since the commit's snapshot. Under the latch: looks at memory.
    fn may_complete(&self) -> bool;

    /// Makes it answer with commit `at`. Under the latch; cannot fail.
    fn complete(&self, at: Timestamp);
}

impl<I: Item> Completion for PropertyIndex<I> {
    fn kept_by_engine(&self) -> Option<IndexId> {
        self.is_kept_by_engine().then_some(self.definition.id)
    }

    /// Whether what entered and was not taken out yet is alone with its value for sure: looks at entries
    /// only, no value is read. Where the engine has the entries nobody may have entered: asking it might do I/O.
    fn may_complete(&self) -> bool {
        let mut others = Vec::new();
        self.newcomers.are_few_and_all(|key, item| {
            others.clear();
            match (&self.entries, &key.value) {
                (Entries::Hash(entries), _) => entries.of(key.hash, None, 2, &mut others),
                (Entries::Ordered(entries), Some(value)) => entries.of(value, None, 2, &mut others),
                (Entries::Ordered(_), None) | (Entries::Engine, _) => {}
            }
            others == [item]
        })
    }

    /// One that the engine filled serves from this commit on: a snapshot between the scan's and this one may
    /// have pinned files without the scan's entries.
    #[inline]
    fn complete(&self, at: Timestamp) {
        if self.since.load(Ordering::Acquire) == u64::MAX {
            self.filled(if planted(Bug::IndexServesEarly) { Timestamp::ZERO } else { at });
        }
        self.ready.store(true, Ordering::Release);
    }
}

impl<I: Item> PropertyIndex<I> {
    /// An empty index, being built, that is told of every commit after `known_from`. `seed` keeps others
    /// from choosing values that collide.
    #[must_use]
    pub fn new(definition: IndexDefinition, known_from: Timestamp, seed: u64) -> Self {
        let entries = match definition.id.kind {
            IndexKind::Hash => Entries::Hash(HashEntries::default()),
            IndexKind::Ordered | IndexKind::Newest => Entries::Ordered(OrderedEntries::default()),
        };
        Self::with_entries(definition, known_from, seed, entries)
    }

    /// The same for an index whose entries the engine keeps: see
    /// [`Engine::keeps_index`](crate::engine::Engine::keeps_index).
    #[must_use]
    pub fn kept_by_engine(definition: IndexDefinition, known_from: Timestamp, seed: u64) -> Self {
        Self::with_entries(definition, known_from, seed, Entries::Engine)
    }

    fn with_entries(
        definition: IndexDefinition,
        known_from: Timestamp,
        seed: u64,
        entries: Entries<I>,
    ) -> Self {
        Self {
            definition,
            seed,
            entries,
            removals: Mutex::default(),
            changes: Mutex::new(ChangeList::new(known_from, CHANGES_MAX)),
            newcomers: Newcomers::of(definition),
            since: AtomicU64::new(u64::MAX),
            ready: AtomicBool::new(false),
        }
    }

    /// What it is on and what it promises.
    #[must_use]
    pub fn definition(&self) -> IndexDefinition {
        self.definition
    }

    /// Whether the engine keeps its entries.
    #[must_use]
    #[inline]
    pub fn is_kept_by_engine(&self) -> bool {
        matches!(self.entries, Entries::Engine)
    }

    /// Everything that a snapshot at `since` shows is in it, and so are all commits after: it serves that
    /// snapshot and those after it.
    pub fn filled(&self, since: Timestamp) {
        self.since.store(since.0, Ordering::Release);
    }

    /// Who entered it since its build began, if it is unique.
    #[must_use]
    #[inline]
    pub fn newcomers(&self) -> &Newcomers<I> {
        &self.newcomers
    }

    /// Whether it answers.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Whether a snapshot at `snapshot` finds all that it should.
    #[must_use]
    pub fn serves(&self, snapshot: Timestamp) -> bool {
        Timestamp(self.since.load(Ordering::Acquire)).visible_at(snapshot)
    }

    /// What `value` is filed under: equal for equal values, stable while the process runs.
    #[must_use]
    pub fn key(&self, value: &Value) -> EntryKey {
        let ordered = self.definition.id.kind != IndexKind::Hash;
        EntryKey { hash: self.hash(value), value: ordered.then(|| value.clone()) }
    }

    fn hash(&self, value: &Value) -> u32 {
        let mut hasher = DefaultHasher::new();
        self.seed.hash(&mut hasher);
        value.hash(&mut hasher);
        hasher.finish() as u32
    }

    /// Appends up to `limit` items greater than `after` that may have `value` now or at an open snapshot,
    /// ascending.
    ///
    /// # Panics
    /// If the engine keeps the entries: its view has the answer.
    pub fn candidates(&self, value: &Value, after: Option<I>, limit: usize, items: &mut Vec<I>) {
        match &self.entries {
            Entries::Hash(entries) => entries.of(self.hash(value), after, limit, items),
            Entries::Ordered(entries) => entries.of(value, after, limit, items),
            Entries::Engine => self.missing_answer(),
        }
    }

    #[cold]
    fn missing_answer(&self) -> ! {
        panic!("an engine that keeps an index answers for it: {:?}", self.definition)
    }

    /// Appends up to `limit` pairs that lie between two places, as [`OrderedEntries::between`]; nothing
    /// from a hash index, which has no order.
    ///
    /// # Panics
    /// As [`PropertyIndex::candidates`].
    pub fn between(
        &self,
        after: &EntryBound<I>,
        until: &EntryBound<I>,
        descending: bool,
        limit: usize,
        pairs: &mut Vec<(Value, I)>,
    ) {
        match &self.entries {
            Entries::Ordered(entries) => entries.between(after, until, descending, limit, pairs),
            Entries::Hash(_) => {}
            Entries::Engine => self.missing_answer(),
        }
    }

    /// What a value is filed under, without the value.
    #[must_use]
    pub fn hash_of(&self, value: &Value) -> u32 {
        self.hash(value)
    }

    /// Whether the value of this hash gained a holder after `since`. Under the latch, or ahead of it as
    /// [`crate::engine::Engine::newer`].
    #[must_use]
    pub fn newer(&self, hash: u32, since: Timestamp) -> ChangedSince {
        self.changes.lock().newer(hash, since)
    }

    /// As [`PropertyIndex::newer`], for any value.
    #[must_use]
    pub fn any_newer(&self, since: Timestamp) -> ChangedSince {
        self.changes.lock().any_newer(since)
    }

    /// As [`PropertyIndex::newer`], for the values between two places of an index with an order.
    #[must_use]
    pub fn newer_between(&self, low: &EntryBound<I>, high: &EntryBound<I>, since: Timestamp) -> ChangedSince {
        self.changes.lock().newer_between(low, high, since)
    }

    /// `item` has this value from commit `at` on; `again` is the value once more, if the index has an
    /// order. Under the latch, before the commit is published.
    pub fn insert(&self, at: Timestamp, key: EntryKey, again: Option<Value>, item: I) {
        self.changes.lock().push(at, key.hash, again.map(|value| (value, item)));
        if self.definition.unique && !self.is_ready() {
            self.newcomers.push(at, &key, item);
        }
        // Together, so that the collector removes nothing that just came back.
        let mut removals = self.removals.lock();
        removals.call_off(key.hash, item);
        self.enter(key, item);
    }

    /// Whether it files items under the hashes of their values alone, in memory.
    #[must_use]
    pub fn is_hashed(&self) -> bool {
        matches!(self.entries, Entries::Hash(_))
    }

    /// As [`HashEntries::meetings`]; none in an index that is not hashed.
    #[must_use]
    pub fn meetings(&self, entries: &[(u32, I)]) -> Vec<Meeting<I>> {
        match &self.entries {
            Entries::Hash(known) => known.meetings(entries),
            Entries::Ordered(_) | Entries::Engine => Vec::new(),
        }
    }

    /// Items have values of these hashes from commit `at` on, as [`PropertyIndex::insert`] each, in a hashed index that is ready.
    pub fn insert_all(&self, at: Timestamp, entries: &[(u32, I)]) {
        debug_assert!(self.is_ready(), "builds and loads refuse each other");
        self.changes.lock().push_all(at, entries.iter().map(|(hash, _)| *hash));
        let mut removals = self.removals.lock();
        entries.iter().for_each(|(hash, item)| removals.call_off(*hash, *item));
        if let Entries::Hash(known) = &self.entries {
            known.insert_all(entries);
        }
    }

    /// `item` doesn't have this value from commit `at` on. Under the latch. Not where the engine keeps the entries.
    pub fn remove_later(&self, at: Timestamp, key: EntryKey, item: I) {
        self.removals.lock().queue(at, key, item);
    }

    /// Adds an entry that a scan found at an open snapshot. Calls no removal off: one of a commit after
    /// that snapshot counts. Nothing where the engine keeps the entries.
    pub fn fill(&self, key: EntryKey, item: I) {
        self.enter(key, item);
    }

    fn enter(&self, key: EntryKey, item: I) {
        match &self.entries {
            Entries::Hash(entries) => entries.insert(key.hash, item),
            Entries::Ordered(entries) => {
                entries.insert(key.value.expect("keys of an ordered index have their value"), item);
            }
            Entries::Engine => {}
        }
    }

    /// Does the removals that every open snapshot agrees with: those of commits visible at `oldest`, the
    /// oldest open snapshot (R if that is older or there is none). For a background thread; holds no
    /// lock for long.
    pub fn collect(&self, oldest: Timestamp) {
        self.changes.lock().forget_through(oldest);
        let is_unheld = planted(Bug::BuildHoldsNothing) && self.since.load(Ordering::Acquire) == u64::MAX;
        let oldest = if is_unheld { Timestamp::MAX } else { oldest };
        let mut freed = Vec::new();
        while self.collect_some(&mut self.removals.lock(), oldest, &mut freed) {
            freed.clear();
        }
    }

    /// Whether more may be due.
    fn collect_some(
        &self,
        removals: &mut MutexGuard<'_, Removals<I>>,
        oldest: Timestamp,
        freed: &mut Vec<Value>,
    ) -> bool {
        for _ in 0..COLLECT_BATCH {
            let Some((key, item, counts)) = removals.next_due(oldest) else { return false };
            match (&self.entries, &key.value) {
                (Entries::Hash(entries), _) if counts => entries.remove(key.hash, item),
                (Entries::Ordered(entries), Some(value)) if counts => {
                    freed.extend(entries.remove(value, item));
                }
                _ => {}
            }
            freed.extend(key.value);
        }
        true
    }

    /// Whether it has an entry for this value of `item`.
    ///
    /// # Panics
    /// As [`PropertyIndex::candidates`].
    #[must_use]
    pub fn contains(&self, value: &Value, item: I) -> bool {
        match &self.entries {
            Entries::Hash(entries) => {
                let mut found = Vec::new();
                let before = item;
                entries.of(self.hash(value), None, usize::MAX, &mut found);
                found.binary_search(&before).is_ok()
            }
            Entries::Ordered(entries) => entries.contains(value, item),
            Entries::Engine => self.missing_answer(),
        }
    }

    /// Visits every entry: its item, and whether it is stale beyond what waits to be removed, given the
    /// item's value; a hash index compares hashes. What changes meanwhile is seen or not. There is none to visit
    /// where the engine keeps the entries.
    ///
    /// # Errors
    /// What `value_of` says.
    pub fn count_stale<E>(
        &self,
        mut value_of: impl FnMut(I) -> Result<Option<Value>, E>,
    ) -> Result<(u64, u64), E> {
        let (mut entries_count, mut stale_count) = (0, 0);
        let mut look = |hash: u32, matches: bool, item: I| {
            entries_count += 1;
            stale_count += u64::from(!matches && !self.removals.lock().is_leaving(hash, item));
        };
        match &self.entries {
            Entries::Engine => {}
            Entries::Hash(entries) => {
                let mut failed = Ok(());
                entries.for_each(&mut |hash, item| {
                    if failed.is_ok() {
                        match value_of(item) {
                            Ok(value) => {
                                look(hash, value.is_some_and(|value| self.hash(&value) == hash), item)
                            }
                            Err(error) => failed = Err(error),
                        }
                    }
                });
                failed?;
            }
            Entries::Ordered(entries) => {
                let (mut after, mut batch) = (EntryBound::Start, Vec::new());
                loop {
                    entries.between(&after, &EntryBound::End, false, 256, &mut batch);
                    let Some((value, item)) = batch.last() else { break };
                    after = EntryBound::At(value.clone(), Some(*item));
                    for (value, item) in batch.drain(..) {
                        look(self.hash(&value), value_of(item)?.as_ref() == Some(&value), item);
                    }
                }
            }
        }
        Ok((entries_count, stale_count))
    }

    /// How big it is; of entries that the engine keeps, `kept` says it. Cost: a look at each of its parts.
    #[must_use]
    pub fn statistics(&self, kept: Option<IndexSize>) -> IndexStatistics {
        let (mut engine_bytes, mut file_bytes) = (0, 0);
        let of_memory = |(entries, distinct, bytes)| (entries, Some(distinct), bytes);
        let (entries, distinct, mut bytes) = match &self.entries {
            Entries::Hash(entries) => of_memory(entries.size()),
            Entries::Ordered(entries) => of_memory(entries.size()),
            Entries::Engine => {
                let size = kept.unwrap_or_default();
                (engine_bytes, file_bytes) = (size.bytes, size.file_bytes);
                (size.entries, None, size.bytes)
            }
        };
        let (leaving, waiting_bytes) = {
            let removals = self.removals.lock();
            (removals.len() as u64, removals.heap_bytes())
        };
        bytes += waiting_bytes;
        bytes += self.changes.lock().len() as u64 * 36;
        // But for those that leave, each value has one entry. Counted are hashes, which two values may share.
        let distinct = if self.definition.unique { Some(entries) } else { distinct };
        let state = if self.is_ready() { IndexState::Ready } else { IndexState::Building };
        IndexStatistics {
            definition: self.definition,
            state,
            entries,
            leaving,
            distinct,
            bytes,
            engine_bytes,
            file_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::catalogue::Owner;
    use evergraph_graph::id::{KeyId, LabelId, VertexId};
    use evergraph_graph::index::IndexId;
    use evergraph_graph::timestamp::Timestamp as T;
    use proptest::prelude::*;

    type Index = PropertyIndex<VertexId>;

    fn new(kind: IndexKind, unique: bool) -> Index {
        let id = IndexId { owner: Owner::Label(LabelId(0)), key: KeyId(0), kind };
        let index = Index::new(IndexDefinition { id, unique }, T(0), 7);
        index.filled(T(0));
        index
    }

    fn found(index: &Index, value: &Value) -> Vec<u32> {
        let mut vertices = Vec::new();
        index.candidates(value, None, usize::MAX, &mut vertices);
        vertices.iter().map(|vertex| vertex.0).collect()
    }

    fn enter(index: &Index, at: u64, value: &Value, vertex: u32) {
        let key = index.key(value);
        index.insert(T(at), key.clone(), key.value, VertexId(vertex));
    }

    fn leave(index: &Index, at: u64, value: &Value, vertex: u32) {
        index.remove_later(T(at), index.key(value), VertexId(vertex));
    }

    #[test]
    fn an_entry_stays_until_every_snapshot_sees_that_it_left() {
        for kind in IndexKind::BY_VALUE {
            let (index, ada) = (new(kind, true), Value::from("ada"));
            enter(&index, 1, &ada, 5);
            leave(&index, 4, &ada, 5);
            index.collect(T(3));
            assert_eq!(found(&index, &ada), [5]);
            index.collect(T(4));
            assert_eq!(found(&index, &ada), []);
            let statistics = index.statistics(None);
            assert_eq!((statistics.entries, statistics.leaving, statistics.distinct), (0, 0, Some(0)));
        }
    }

    #[test]
    fn an_index_that_an_engine_fills_serves_from_the_commit_that_makes_it_ready() {
        let id = new(IndexKind::Hash, false).definition();
        let kept = PropertyIndex::<VertexId>::kept_by_engine(id, T(3), 0);
        assert!(!kept.serves(T(u64::MAX - 1)), "the scan is not in the files that a snapshot pins");
        kept.complete(T(9));
        assert!(!kept.serves(T(8)) && kept.serves(T(9)));
        let scanned = new(IndexKind::Hash, false);
        scanned.filled(T(5));
        scanned.complete(T(9));
        assert!(
            !scanned.serves(T(4)) && scanned.serves(T(5)),
            "entries in memory are those of all snapshots"
        );
    }

    #[test]
    fn a_unique_index_has_as_many_values_as_entries_though_some_share_a_hash() {
        let values_count = 300_000;
        let distinct = [true, false].map(|unique| {
            let index = new(IndexKind::Hash, unique);
            (0..values_count).for_each(|number| enter(&index, 1, &Value::I64(number), number as u32));
            index.statistics(None).distinct.unwrap()
        });
        assert_eq!(distinct[0], values_count as u64);
        assert!(distinct[1] < values_count as u64, "about ten pairs share 32 bits");
    }

    #[test]
    fn a_value_that_comes_back_calls_its_removal_off_and_a_scan_does_not() {
        for kind in IndexKind::BY_VALUE {
            let (index, nine) = (new(kind, false), Value::I64(9));
            enter(&index, 1, &nine, 5);
            leave(&index, 2, &nine, 5);
            enter(&index, 3, &nine, 5);
            leave(&index, 6, &nine, 5);
            index.collect(T(5));
            assert_eq!(found(&index, &nine), [5], "the removal at 2 was called off, that at 6 isn't due");
            index.collect(T(6));
            assert_eq!(found(&index, &nine), []);
            leave(&index, 8, &nine, 6);
            index.fill(index.key(&nine), VertexId(6));
            index.collect(T(7));
            assert_eq!(found(&index, &nine), [6], "the scan's snapshot sees it");
            index.collect(T(8));
            assert_eq!(found(&index, &nine), [], "the scan was older than the removal");
        }
    }

    #[test]
    fn newcomers_are_told_apart_from_who_may_share_a_value() {
        let (index, ada, bob) = (new(IndexKind::Hash, true), Value::from("ada"), Value::from("bob"));
        index.fill(index.key(&ada), VertexId(1));
        enter(&index, 5, &bob, 2);
        assert!(index.may_complete());
        enter(&index, 6, &ada, 3);
        assert!(!index.may_complete(), "a scan found another");
        assert_eq!(index.newcomers().through(T(5)).map(|list| list.len()), Some(1));
        assert_eq!(index.newcomers().through(T(6)).map(|list| list.len()), Some(1));
        assert!(index.may_complete(), "the others were taken out");
        index.complete(T(9));
        enter(&index, 7, &ada, 4);
        assert!(index.is_ready() && index.may_complete(), "nobody watches any more");
    }

    #[test]
    fn an_entry_that_nobody_has_and_nobody_removes_is_stale() {
        for kind in IndexKind::BY_VALUE {
            let (index, ada) = (new(kind, false), Value::from("ada"));
            (1..=3).for_each(|vertex| enter(&index, 1, &ada, vertex));
            leave(&index, 2, &ada, 2);
            let value_of = |vertex: VertexId| Ok::<_, ()>((vertex.0 == 1).then(|| ada.clone()));
            assert_eq!(index.count_stale(value_of), Ok((3, 1)));
        }
    }

    proptest! {
        /// Vertices move between values; at each moment every open snapshot must find all its holders.
        #[test]
        fn every_open_snapshot_finds_the_holders_of_each_value(
            steps in proptest::collection::vec((0u32..3, 0i64..3, 0u8..4), 1..60), ordered in any::<bool>(),
        ) {
            let index = new(if ordered { IndexKind::Ordered } else { IndexKind::Hash }, false);
            let mut history: Vec<[Option<i64>; 3]> = vec![[None; 3]]; // by timestamp: value of each vertex
            let mut oldest = 0;
            for (vertex, value, action) in steps {
                let (at, mut state) = (history.len() as u64, *history.last().unwrap());
                let holder = &mut state[vertex as usize];
                if let Some(old) = holder.take_if(|old| action == 0 || *old != value) {
                    leave(&index, at, &Value::I64(old), vertex);
                }
                if action > 0 && *holder != Some(value) {
                    *holder = Some(value);
                    enter(&index, at, &Value::I64(value), vertex);
                }
                history.push(state);
                if action == 3 {
                    oldest = (oldest + history.len()) / 2;
                    index.collect(T(oldest as u64));
                }
                for state in &history[oldest..] {
                    for (vertex, value) in state.iter().enumerate() {
                        if let Some(value) = value {
                            prop_assert!(found(&index, &Value::I64(*value)).contains(&(vertex as u32)));
                        }
                    }
                }
            }
            index.collect(T(history.len() as u64));
            let live = history.last().unwrap().iter().flatten().count() as u64;
            let statistics = index.statistics(None);
            prop_assert_eq!((statistics.entries, statistics.leaving), (live, 0), "nothing stale is left");
        }
    }
}
