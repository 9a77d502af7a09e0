//! Versions: the present of a segment, and as much of its past as open snapshots need.
//!
//! ```text
//! Segment ──> Version ─ layer   { base, body, aside, run, tail, hubs }      the present
//!                     ├ older   [ layer, until ]*                    kept for open snapshots
//!                     └ history records merged away, newer than the oldest open writer
//! ```
//!
//! A reader at S takes the newest layer with `base <= S`, then its records <= S. A layer holds every
//! record newer than its base up to the moment it was displaced.
//!
//! Concurrency: anybody loads `current` without a lock; only the holder of the commit latch stores it
//! or pushes to its tail. `changed` and `floor` are written under the latch before publication.
//!
//! Source: core-protocol section 0; LSMGraph (SIGMOD 2024) pins sets of files the same way.

use crate::segment::runs_aside::RunsAside;
use crate::segment::tail::{TAIL_CAPACITY, Tail};
use evergraph_bodies::body::Body;
use evergraph_bodies::history::History;
use evergraph_bodies::run::Run;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::engine::ChangedSince;
use evergraph_storage::record::{Operation, RecordKey, RecordRef, Stamp};
use evergraph_storage::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use evergraph_storage::sync::{ArcCell, Mutex};
use std::ops::{Deref, RangeInclusive};
use std::sync::Arc;

/// A body and the records on top of it.
#[derive(Debug)]
pub struct Layer<B> {
    /// The body is exact at this timestamp.
    pub base: Timestamp,
    /// The state at `base`.
    pub body: Arc<B>,
    /// Records that are older than those of the run, while merges are held back.
    pub aside: RunsAside,
    /// Older records, sorted.
    pub run: Arc<Run>,
    /// Newest records, in commit order.
    pub tail: Arc<Tail>,
    /// Rows that have a segment of their own, ascending; nothing about them is in this layer.
    pub hubs: Arc<[Hub<B>]>,
}

impl<B> Clone for Layer<B> {
    fn clone(&self) -> Self {
        Self {
            base: self.base,
            body: Arc::clone(&self.body),
            aside: self.aside.clone(),
            run: Arc::clone(&self.run),
            tail: Arc::clone(&self.tail),
            hubs: Arc::clone(&self.hubs),
        }
    }
}

/// A row that outgrew its group's segment.
#[derive(Debug)]
pub struct Hub<B> {
    /// The row in the group.
    pub row: u16,
    /// Its own segment.
    pub segment: Arc<Segment<B>>,
}

impl<B> Clone for Hub<B> {
    fn clone(&self) -> Self {
        Self { row: self.row, segment: Arc::clone(&self.segment) }
    }
}

/// A layer that was displaced by a merge.
#[derive(Debug)]
pub struct PastLayer<B> {
    /// What it was.
    pub layer: Layer<B>,
    /// The base of the layer that followed: snapshots from `layer.base` up to before this one use it.
    pub until: Timestamp,
}

impl<B> Clone for PastLayer<B> {
    fn clone(&self) -> Self {
        Self { layer: self.layer.clone(), until: self.until }
    }
}

/// A segment at one moment; replaced as a whole.
#[derive(Debug)]
pub struct Version<B> {
    /// The present.
    pub layer: Layer<B>,
    /// Displaced layers that open snapshots need, newest first.
    pub older: Arc<[PastLayer<B>]>,
    /// Records that merges took into the body and that an open writer may ask about.
    pub history: History,
}

impl<B> Version<B> {
    /// The layer that a snapshot at `timestamp` reads.
    ///
    /// # Panics
    /// If it was dropped: invariant I5 says that an open snapshot finds one.
    pub fn layer_at(&self, timestamp: Timestamp) -> &Layer<B> {
        if self.layer.base.visible_at(timestamp) {
            return &self.layer;
        }
        let past = self.older.iter().find(|past| past.layer.base.visible_at(timestamp));
        &past.expect("an open snapshot finds a layer with base <= S").layer
    }
}

impl<B> Layer<B> {
    /// A layer with nothing on top of `body`.
    pub fn of_body(base: Timestamp, body: B, hubs: Arc<[Hub<B>]>) -> Self {
        let (aside, run, tail) = (RunsAside::default(), Arc::default(), Arc::new(Tail::none()));
        Self { base, body: Arc::new(body), aside, run, tail, hubs }
    }

    /// Records in runs and tail.
    pub fn record_count(&self) -> usize {
        self.aside.len() + self.run.len() + self.tail.len()
    }

    /// Whether a snapshot at `timestamp` sees any record. Cost: a look at each run, and at the stamps of the tail.
    pub fn has_any_through(&self, timestamp: Timestamp) -> bool {
        self.aside.runs().any(|run| run.has_any_through(timestamp))
            || self.run.has_any_through(timestamp)
            || self.tail.stamps().any(|(_, stamp)| stamp.timestamp().visible_at(timestamp))
    }

    /// The records of `keys` that a snapshot at `timestamp` sees, by (key, time). Cost: two binary
    /// searches in each run and a look at each record of the tail; no allocation if there is none.
    pub fn records(&self, keys: &RangeInclusive<RecordKey>, timestamp: Timestamp) -> Vec<RecordRef<'_>> {
        let visible = |record: &RecordRef<'_>| record.visible_at(timestamp);
        if !self.aside.is_empty() {
            let older = self.aside.runs().flat_map(|run| run.range(keys)).chain(self.run.range(keys));
            let mut found: Vec<_> = older.chain(self.tail.range(keys.clone())).filter(visible).collect();
            // Stretches that are sorted already.
            found.sort_by_key(|record| (record.key, record.stamp));
            return found;
        }
        let older = self.run.range(keys).filter(visible);
        let mut newer: Vec<RecordRef<'_>> = self.tail.range(keys.clone()).filter(visible).collect();
        if newer.is_empty() {
            return older.collect();
        }
        // The run is sorted already, and the tail is short: one merges into the other.
        newer.sort_unstable_by_key(|record| (record.key, record.stamp));
        let mut found = Vec::with_capacity(self.run.places(keys).len() + newer.len());
        let mut newer = newer.into_iter().peekable();
        for record in older {
            // The tail's record of a key is newer than the run's.
            while let Some(first) = newer.next_if(|first| first.key < record.key) {
                found.push(first);
            }
            found.push(record);
        }
        found.extend(newer);
        found
    }

    /// By how many the records of `keys` that a snapshot at `timestamp` sees change the number of items. Payloads aren't read.
    ///
    /// Cost: two binary searches in each run, a look at each stamp of `keys` in runs that do not only insert, and one at each key
    /// of the tail; no allocation.
    pub fn difference(&self, keys: &RangeInclusive<RecordKey>, timestamp: Timestamp) -> i64 {
        let visible = |stamp: &Stamp| stamp.timestamp().visible_at(timestamp);
        let of_run = |run: &Run| -> i64 {
            let places = run.places(keys);
            if run.only_inserts_until(timestamp) {
                return places.len() as i64;
            }
            run.stamps_at(places).iter().filter(|stamp| visible(stamp)).map(|stamp| stamp.difference()).sum()
        };
        let of_keys = |(key, stamp): (RecordKey, Stamp)| {
            if keys.contains(&key) && visible(&stamp) { stamp.difference() } else { 0 }
        };
        let of_tail: i64 = self.tail.stamps().map(of_keys).sum();
        self.aside.runs().map(of_run).sum::<i64>() + of_run(&self.run) + of_tail
    }

    /// The records of `key` that a snapshot at `timestamp` sees, the newest first. Cost: a look at each record of
    /// the tail, and two binary searches in each run for who reads so far back.
    pub fn newest_first(&self, key: RecordKey, timestamp: Timestamp) -> impl Iterator<Item = RecordRef<'_>> {
        let newer = self.tail.range(key.only()).rev();
        let places = std::iter::once_with(move || self.run.places(&key.only()).rev());
        let older = places.flatten().map(|at| self.run.get(at));
        let aside = self.aside.runs().rev().flat_map(move |run| {
            let places = run.places(&key.only()).rev();
            places.map(move |at| run.get(at))
        });
        newer.chain(older).chain(aside).filter(move |record| record.visible_at(timestamp))
    }

    /// All records that a snapshot at `timestamp` sees, by (key, time).
    pub fn all_records(&self, timestamp: Timestamp) -> Vec<RecordRef<'_>> {
        self.records(&(RecordKey(0)..=RecordKey(u64::MAX)), timestamp)
    }

    /// Answers whether each of `items`, whose keys ascend, is there for a snapshot at `timestamp`: as its last record says, or
    /// as `stored` says of its place among `items` if no record mentions it.
    ///
    /// Cost: a binary search in each run for each item, and one among the items for each record of the tail; payloads aren't
    /// read.
    pub fn are_there<T, A>(
        &self,
        items: &[T],
        key_of: impl Fn(&T) -> RecordKey,
        timestamp: Timestamp,
        stored: impl Fn(usize) -> bool,
        answer: impl Fn(bool) -> A,
        answers: &mut [A],
    ) {
        debug_assert!(items.is_sorted_by(|a, b| key_of(a) < key_of(b)) && items.len() == answers.len());
        let visible = |stamp: &Stamp| stamp.timestamp().visible_at(timestamp);
        let is_there = |at: usize, last: Option<Operation>| {
            answer(last.map_or_else(|| stored(at), |operation| operation != Operation::Delete))
        };
        let mut from = 0;
        let mut in_run = |key| {
            let places = self.run.places_of(key, from);
            from = places.end;
            let found = self.run.stamps_at(places).iter().rfind(|stamp| visible(stamp)).copied();
            found.or_else(|| self.aside.newest_stamp(key, visible))
        };
        if let [item] = items {
            let key = key_of(item);
            let last = self.tail.newest_stamp(key, visible).or_else(|| in_run(key));
            answers[0] = is_there(0, last.map(Stamp::operation));
            return;
        }
        let mut last: Vec<_> = items.iter().map(|item| in_run(key_of(item)).map(Stamp::operation)).collect();
        for (key, stamp) in self.tail.stamps().filter(|(_, stamp)| visible(stamp)) {
            if let Ok(at) = items.binary_search_by_key(&key, &key_of) {
                last[at] = Some(stamp.operation());
            }
        }
        for ((at, last), answer) in last.into_iter().enumerate().zip(answers) {
            *answer = is_there(at, last);
        }
    }

    /// By how many the records that a snapshot at `timestamp` sees change the items of each key: 1 or -1,
    /// ascending by key; keys whose records cancel out are left out. Payloads aren't read.
    pub fn differences(&self, timestamp: Timestamp) -> Vec<(RecordKey, i64)> {
        let visible = |(key, stamp): (RecordKey, Stamp)| {
            stamp.timestamp().visible_at(timestamp).then(|| (key, stamp.difference()))
        };
        // In any order: only the differences of a key count.
        let aside = self.aside.runs().flat_map(|run| run.stamps());
        let mut newer: Vec<_> = self.tail.stamps().chain(aside).filter_map(visible).collect();
        newer.sort_unstable_by_key(|(key, _)| *key);
        let mut newer = newer.into_iter().peekable();
        let mut found: Vec<(RecordKey, i64)> = Vec::with_capacity(self.record_count());
        let mut add = |(key, difference)| match found.last_mut() {
            Some(last) if last.0 == key => last.1 += difference,
            Some(last) if last.1 == 0 => *last = (key, difference),
            _ => found.push((key, difference)),
        };
        for record in self.run.stamps().filter_map(visible) {
            while let Some(first) = newer.next_if(|first| first.0 < record.0) {
                add(first);
            }
            add(record);
        }
        newer.for_each(&mut add);
        found.pop_if(|last| last.1 == 0);
        found
    }

    /// The keys of the records that a snapshot at `timestamp` sees, ascending, if all of these only insert: then no two
    /// are alike. `None` if that isn't so, or not seen at once. Payloads aren't read.
    ///
    /// Cost: a copy of the keys, and sorting those of the tail.
    pub fn inserted(&self, timestamp: Timestamp) -> Option<Vec<RecordKey>> {
        if !self.aside.is_empty() || !self.run.only_inserts_until(timestamp) {
            return None;
        }
        let mut newer = [RecordKey(0); TAIL_CAPACITY];
        let mut count = 0;
        for (key, stamp) in self.tail.stamps() {
            if stamp.timestamp().visible_at(timestamp) {
                if stamp.operation() != Operation::Insert {
                    return None;
                }
                newer[count] = key;
                count += 1;
            }
        }
        let newer = &mut newer[..count];
        sort_few(newer);
        let mut older = self.run.keys();
        let mut keys = Vec::with_capacity(older.len() + newer.len());
        for key in newer {
            // All of them are copied anyway: counting costs less than a search, whose steps wait for each other, and for
            // memory that nobody has read ahead.
            let (before, behind) = older.split_at(older.iter().take_while(|old| **old < *key).count());
            keys.extend_from_slice(before);
            keys.push(*key);
            older = behind;
        }
        keys.extend_from_slice(older);
        Some(keys)
    }

    /// The segment of `row`, if the row is a hub here.
    pub fn hub(&self, row: u16) -> Option<&Arc<Segment<B>>> {
        if self.hubs.is_empty() {
            return None;
        }
        let at = self.hubs.binary_search_by_key(&row, |hub| hub.row).ok()?;
        Some(&self.hubs[at].segment)
    }
}

/// Sorts as many keys as a tail has, no two alike: each goes behind those below it, counted without a branch. Sorting that
/// compares and branches takes three times as long for so few.
fn sort_few(keys: &mut [RecordKey]) {
    let mut sorted = [RecordKey(0); TAIL_CAPACITY];
    for key in &*keys {
        sorted[keys.iter().filter(|other| *other < key).count()] = *key;
    }
    keys.copy_from_slice(&sorted[..keys.len()]);
}

/// What a vertex group, or a hub, knows of one subject.
#[derive(Debug)]
pub struct Segment<B> {
    pub(super) current: ArcCell<Version<B>>,
    /// The newest record, those of its hubs included. Stored (Release) under the latch when records
    /// are appended, before they are published; loaded (Acquire) under the latch by conflict checks.
    pub(super) changed: AtomicU64,
    /// Questions about what is newer than a timestamp below this one cannot be answered any more.
    /// Only grows; stored and loaded under the latch.
    pub(super) floor: AtomicU64,
    /// Whether a merge of this segment is under way; one at a time.
    pub(super) merging: Mutex<()>,
    /// The limit from which on a merge takes as many records as it should. Relaxed: a hint.
    pub(super) worth_from: AtomicU64,
    /// Whether the segment waits in the merge queue. Decides nothing but a second entry.
    queued: AtomicBool,
    /// Whether the segment is listed as keeping layers. Decides nothing but a second entry.
    listed: AtomicBool,
    /// Where the present body lies on disk, for checkpoints.
    stored: Mutex<Option<Stored>>,
}

/// Where a body lies in a checkpoint's files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stored {
    /// The number of the bodies' file.
    pub file: u64,
    /// Bytes from the beginning of the file.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// The base of the body that lies there.
    pub base: Timestamp,
}

impl<B: Body> Segment<B> {
    /// A segment whose body is exact at `base`.
    pub fn new(base: Timestamp, body: B) -> Self {
        Self::with_hubs(base, body, Arc::from([]))
    }

    /// As [`Segment::new`], with rows that have segments of their own.
    pub fn with_hubs(base: Timestamp, body: B, hubs: Arc<[Hub<B>]>) -> Self {
        Self::of_version(
            Version {
                layer: Layer::of_body(base, body, hubs),
                older: Arc::from([]),
                history: History::default(),
            },
            base,
            Timestamp::ZERO,
        )
    }

    /// A segment that comes into being at `base`: empty before it, `body` from then on. A load writes no records, so
    /// whether what somebody read before `base` has changed is unknown ([`ChangedSince::Forgotten`]).
    pub fn appearing(base: Timestamp, body: B, hubs: Arc<[Hub<B>]>) -> Self {
        let before = Layer::of_body(Timestamp::ZERO, B::empty(), Arc::from([]));
        let older = Arc::from([PastLayer { layer: before, until: base }]);
        let layer = Layer::of_body(base, body, hubs);
        Self::of_version(Version { layer, older, history: History::default() }, base, base)
    }

    /// A segment that a bulk load takes out of another one, exact at `base`: to whoever is older, its
    /// past is unknown.
    pub fn of_load(base: Timestamp, body: B) -> Self {
        let layer = Layer::of_body(base, body, Arc::from([]));
        Self::of_version(Version { layer, older: Arc::from([]), history: History::default() }, base, base)
    }

    pub(super) fn of_version(version: Version<B>, changed: Timestamp, floor: Timestamp) -> Self {
        Self {
            current: ArcCell::new(Arc::new(version)),
            changed: AtomicU64::new(changed.0),
            floor: AtomicU64::new(floor.0),
            merging: Mutex::default(),
            worth_from: AtomicU64::new(0),
            queued: AtomicBool::new(false),
            listed: AtomicBool::new(false),
            stored: Mutex::default(),
        }
    }

    /// The present version, for a short look.
    pub fn load(&self) -> impl Deref<Target = Arc<Version<B>>> + '_ {
        self.current.load()
    }

    /// The present version, to keep.
    pub fn load_full(&self) -> Arc<Version<B>> {
        self.current.load_full()
    }

    /// The newest record's timestamp, those of its hubs included, or the base.
    pub fn changed(&self) -> Timestamp {
        Timestamp(self.changed.load(Ordering::Acquire))
    }

    /// Notes that a hub of this segment got records of `timestamp`: who asks here whether something is
    /// newer is led to the hub. Under the latch.
    pub fn hub_changed(&self, timestamp: Timestamp) {
        self.changed.store(timestamp.0, Ordering::Release);
    }

    /// Whether a record of `keys` for which `matches` holds is newer than `since`. Under the latch.
    pub fn newer(
        &self,
        keys: &RangeInclusive<RecordKey>,
        since: Timestamp,
        matches: impl Fn(RecordRef<'_>) -> bool,
    ) -> ChangedSince {
        if self.changed().visible_at(since) {
            return ChangedSince::No;
        }
        let version = self.current.load();
        let row = keys.start().row();
        if row == keys.end().row()
            && let Some(hub) = version.layer.hub(row)
        {
            return hub.newer(keys, since, matches);
        }
        let hit = |record: &RecordRef<'_>| {
            !record.visible_at(since) && keys.contains(&record.key) && matches(*record)
        };
        let mut tail = version.layer.tail.iter().rev().take_while(|record| !record.visible_at(since));
        let in_run = |run: &Run| run.range(keys).any(|record| hit(&record));
        if tail.any(|record| hit(&record))
            || in_run(&version.layer.run)
            || version.layer.aside.runs().any(in_run)
        {
            return ChangedSince::Yes;
        }
        if version.layer.base.visible_at(since) {
            return ChangedSince::No;
        }
        if version.history.range_after(keys, since).any(matches) {
            return ChangedSince::Yes;
        }
        if since.0 < self.floor.load(Ordering::Acquire) { ChangedSince::Forgotten } else { ChangedSince::No }
    }

    /// Notes that the segment waits in the merge queue; whether it didn't before.
    pub fn enqueue(&self) -> bool {
        !self.queued.swap(true, Ordering::AcqRel)
    }

    /// Notes that the segment is listed as keeping layers; whether it wasn't before.
    pub fn list(&self) -> bool {
        !self.listed.swap(true, Ordering::AcqRel)
    }

    /// Notes that the segment isn't listed any more.
    pub fn unlist(&self) {
        self.listed.store(false, Ordering::Release);
    }

    /// Notes that the segment left the merge queue.
    pub fn dequeue(&self) {
        self.queued.store(false, Ordering::Release);
    }

    /// Where the present body lies on disk, if it does.
    pub fn stored(&self) -> Option<Stored> {
        *self.stored.lock()
    }

    /// Notes where a body was written.
    pub fn set_stored(&self, stored: Stored) {
        *self.stored.lock() = Some(stored);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_bodies::edge_body::EdgeBody;
    use evergraph_graph::properties::Properties;
    use evergraph_storage::record::Record;

    #[test]
    fn keys_are_handed_out_sorted_until_something_else_than_an_insert_is_seen() {
        let segment = Segment::new(Timestamp::ZERO, EdgeBody::empty());
        let append = |timestamp: u64, key, operation| {
            let stamp = Stamp::new(Timestamp(timestamp), operation);
            segment.append(Timestamp(timestamp), &[Record { key, stamp, payload: Properties::EMPTY }]);
        };
        let inserted = |timestamp| segment.load().layer.inserted(Timestamp(timestamp));
        assert_eq!(inserted(9), Some(Vec::new()));
        // Twice as many as a tail holds, and some in the tail.
        let count = TAIL_CAPACITY as u64 * 2 + TAIL_CAPACITY as u64 / 2;
        let key = |timestamp: u64| RecordKey::edge((timestamp * 37 % 100) as u16, timestamp as u32, 0);
        for timestamp in 1..=count {
            append(timestamp, key(timestamp), Operation::Insert);
        }
        assert!(!segment.load().layer.run.is_empty() && !segment.load().layer.tail.is_empty());
        for seen in [count, count - 1] {
            let mut keys: Vec<RecordKey> = (1..=seen).map(key).collect();
            keys.sort_unstable();
            assert_eq!(inserted(seen), Some(keys));
        }
        assert_eq!(inserted(1), None, "the run has newer records");
        append(count + 1, key(1), Operation::Delete);
        assert_eq!(
            (inserted(count).map(|keys| keys.len()), inserted(count + 1)),
            (Some(count as usize), None)
        );
    }
}
