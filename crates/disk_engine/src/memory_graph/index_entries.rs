//! Index entries: what entered and left the indexes that lie on disk, in the order of value bytes.
//!
//! ```text
//! subject ──> parts    (start)            ("k", v3, 12)        each part from its first place on
//!                         |                    |
//!             part     ("a", v8, 5 enters) ("k", v3, 12 leaves) ("k", v9, 12 enters) ..   sorted, a lock each
//! ```
//!
//! A record is (value bytes, item, time, Insert or Delete), and newer ones of a pair stand behind older ones. Value bytes
//! are opaque here: whoever makes them gives them the order of values. A full part is cut in the middle, or where a
//! series goes on, so that such a series leaves full parts behind.
//!
//! Source: `ordered_entries.rs` of the front (core-protocol, section 6). Differs: entries are stamped and never
//! removed, so that a reader gets the state at its timestamp and parts never join; the list of parts is a sorted array,
//! short enough for that, which is searched without making a key.

use crate::format::entries::visible_entry::VisibleEntry;
use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::memory_graph::slot::RelativeStamp;
use crate::source::EntriesSize;
use evergraph_graph::index_entry::ItemId;
use evergraph_storage::index::entry_range::{BytesBound, EntryOrder};
use evergraph_storage::sync::RwLock;
use evergraph_storage::sync::atomic::{AtomicI64, AtomicU64, Ordering as Memory};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Records of a part.
#[cfg(not(any(shuttle, loom)))]
const PART_MAX: usize = 256;
/// Records of a part: few, so that schedules of a few commits cut it.
#[cfg(any(shuttle, loom))]
const PART_MAX: usize = 2;

/// Records that a reader looks at before it lets go of the locks, and commits go on.
#[cfg(not(any(test, shuttle, loom)))]
const LOOKED_AT_MAX: usize = 1024;
/// Records that a reader looks at before it lets go of the locks: few, so that small tests see it.
#[cfg(any(test, shuttle, loom))]
const LOOKED_AT_MAX: usize = 5;

/// A record of an index in a commit that has no timestamp yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexRecord {
    /// The subject of the index.
    pub subject: Subject,
    /// The value, in bytes that order as values do.
    pub value: Arc<[u8]>,
    /// The item that enters or leaves.
    pub item: ItemId,
    /// `Insert` or `Delete`.
    pub operation: RecordOperation,
}

/// A record where it lies.
#[derive(Clone, Debug)]
pub(super) struct StampedEntry {
    pub value: Arc<[u8]>,
    pub item: ItemId,
    pub stamp: RelativeStamp,
}

impl StampedEntry {
    fn is_of(&self, value: &[u8], item: ItemId) -> bool {
        self.item == item && *self.value == *value
    }

    fn cmp_key(&self, other: &Self) -> Ordering {
        let pair = self.value.cmp(&other.value).then_with(|| self.item.cmp(&other.item));
        pair.then_with(|| self.stamp.cmp(&other.stamp))
    }
}

/// Where a visit begins.
#[derive(Clone, Copy, Debug)]
enum Start<'a> {
    /// There.
    At(&'a BytesBound<'a>),
    /// With the record that comes after this one, in this order.
    Behind(&'a StampedEntry, EntryOrder),
}

impl Start<'_> {
    /// Whether it lies before a record or behind it.
    fn cmp_entry(&self, entry: &StampedEntry) -> Ordering {
        match self {
            Self::At(place) => place.cmp_pair(&entry.value, entry.item),
            Self::Behind(last, order) => last.cmp_key(entry).then(match order {
                EntryOrder::Ascending => Ordering::Greater,
                EntryOrder::Descending => Ordering::Less,
            }),
        }
    }
}

#[derive(Debug, Default)]
struct Part {
    /// No record of the part is before this one; the first part has none.
    start: Option<StampedEntry>,
    records: RwLock<Vec<StampedEntry>>,
}

/// The records of one index.
///
/// # Concurrency
/// The holder of the commit latch inserts; anybody reads. Locks: the list of parts, then one part. A reader holds both
/// for as long as it looks at a thousand records, seen or not, so the writer may wait for that long, for a reader of its own part or
/// when it cuts one.
#[derive(Debug, Default)]
pub(super) struct StampedEntries {
    #[expect(clippy::vec_box, reason = "a cut moves all parts behind it, under the latch")]
    parts: RwLock<Vec<Box<Part>>>,
    /// Inserts minus Deletes. Relaxed, as the bytes: sizes, exact for the holder of the latch, who alone changes them.
    difference: AtomicI64,
    bytes: AtomicU64,
}

/// The last part that begins where `is_behind` does not hold.
fn part_of(parts: &[Box<Part>], is_behind: impl Fn(&StampedEntry) -> bool) -> usize {
    let count = parts.partition_point(|part| !part.start.as_ref().is_some_and(&is_behind));
    count.saturating_sub(1)
}

impl StampedEntries {
    /// Inserts a record, newer than those of its pair. Under the latch. Cost: a search, a move within a part; now and
    /// then a cut.
    fn insert(&self, entry: StampedEntry) {
        loop {
            {
                let parts = self.parts.read();
                if let Some(part) = parts.get(part_of(&parts, |start| start.cmp_key(&entry).is_gt())) {
                    let mut records = part.records.write();
                    if records.len() < PART_MAX {
                        let at = records.partition_point(|other| other.cmp_key(&entry).is_lt());
                        records.insert(at, entry);
                        return;
                    }
                }
            }
            self.cut(&entry);
        }
    }

    /// Cuts the part that is full where `entry` is to go, or makes the first part.
    fn cut(&self, entry: &StampedEntry) {
        let mut parts = self.parts.write();
        let number = part_of(&parts, |start| start.cmp_key(entry).is_gt());
        let upper = match parts.get(number) {
            None => Box::default(),
            Some(part) => {
                let mut full = part.records.write();
                let at = full.partition_point(|other| other.cmp_key(entry).is_lt());
                // Where a series goes on, one record of it goes along, or stays.
                let cut = match at {
                    0 => 1,
                    PART_MAX => PART_MAX - 1,
                    _ => PART_MAX / 2,
                };
                let mut records = Vec::with_capacity(PART_MAX);
                records.extend(full.drain(cut..));
                Box::new(Part { start: records.first().cloned(), records: RwLock::new(records) })
            }
        };
        let behind = if parts.is_empty() { 0 } else { number + 1 };
        parts.insert(behind, upper);
    }

    /// What the newest record until `limit` did to a pair. Cost: a search.
    fn newest(&self, value: &[u8], item: ItemId, limit: u64) -> Option<RecordOperation> {
        let mut found = None;
        let (after, until) = (BytesBound::At(value, item), BytesBound::After(value));
        self.visit(&after, &until, EntryOrder::Ascending, |entry| {
            if !entry.is_of(value, item) || entry.stamp.offset() > limit {
                return false;
            }
            found = Some(entry.stamp.operation());
            true
        });
        found
    }

    /// As [`IndexEntries::between`].
    fn between(
        &self,
        (after, until): (&BytesBound<'_>, &BytesBound<'_>),
        order: EntryOrder,
        count_max: usize,
        limit: u64,
        found: &mut Vec<VisibleEntry>,
    ) {
        let start = found.len();
        self.visit(after, until, order, |entry| {
            let is_edge = |place: &BytesBound<'_>| *place == BytesBound::At(&entry.value, entry.item);
            if entry.stamp.offset() > limit || is_edge(after) || is_edge(until) {
                return true;
            }
            let count = found.len() - start;
            let operation = entry.stamp.operation();
            let last = found[start..].last_mut().filter(|last| entry.is_of(&last.value, last.item));
            if let Some(last) = last {
                // Ascending, newer records come later; descending, the newest came first.
                if order == EntryOrder::Ascending {
                    last.operation = operation;
                }
                return true;
            }
            if count == count_max {
                return false;
            }
            found.push(VisibleEntry { value: Arc::clone(&entry.value), item: entry.item, operation });
            true
        });
    }

    /// Visits all records from one place to another, both included, until `visit` says no. Now and then it lets go of the
    /// locks: what is inserted meanwhile is newer than anything that the reader sees.
    fn visit(
        &self,
        from: &BytesBound<'_>,
        to: &BytesBound<'_>,
        order: EntryOrder,
        mut visit: impl FnMut(&StampedEntry) -> bool,
    ) {
        let mut last = self.visit_some(&Start::At(from), to, order, &mut visit);
        while let Some(record) = last {
            last = self.visit_some(&Start::Behind(&record, order), to, order, &mut visit);
        }
    }

    /// The same for so many records as a commit may wait for; the last one, if there may be more.
    fn visit_some(
        &self,
        from: &Start<'_>,
        to: &BytesBound<'_>,
        order: EntryOrder,
        visit: &mut impl FnMut(&StampedEntry) -> bool,
    ) -> Option<StampedEntry> {
        let parts = self.parts.read();
        let mut looked_at = 0;
        match order {
            EntryOrder::Ascending => {
                let first = part_of(&parts, |start| from.cmp_entry(start).is_le());
                for part in &parts[first..] {
                    let records = part.records.read();
                    let at = records.partition_point(|entry| from.cmp_entry(entry).is_gt());
                    for entry in &records[at..] {
                        if to.cmp_pair(&entry.value, entry.item).is_lt() || !visit(entry) {
                            return None;
                        }
                        looked_at += 1;
                        if looked_at == LOOKED_AT_MAX {
                            return Some(entry.clone());
                        }
                    }
                }
            }
            EntryOrder::Descending => {
                let last = part_of(&parts, |start| from.cmp_entry(start).is_lt());
                for part in parts.iter().take(last + 1).rev() {
                    let records = part.records.read();
                    let end = records.partition_point(|entry| from.cmp_entry(entry).is_ge());
                    for entry in records[..end].iter().rev() {
                        if to.cmp_pair(&entry.value, entry.item).is_gt() || !visit(entry) {
                            return None;
                        }
                        looked_at += 1;
                        if looked_at == LOOKED_AT_MAX {
                            return Some(entry.clone());
                        }
                    }
                }
            }
        }
        None
    }
}

/// Bytes of the entry in a part that is three quarters full, and of its value with two counts.
fn entry_bytes(value: &[u8]) -> u64 {
    (size_of::<StampedEntry>() * 4 / 3 + 16 + value.len()) as u64
}

/// Bytes that `records` take, about.
pub(super) fn bytes_of(records: &[IndexRecord]) -> u64 {
    records.iter().map(|record| entry_bytes(&record.value)).sum()
}

/// The records of all indexes of a memory graph.
///
/// # Concurrency
/// As [`StampedEntries`]; the lock of the table is held to find an index, and exclusively to add one.
#[derive(Debug, Default)]
pub(super) struct IndexEntries {
    indexes: RwLock<BTreeMap<Subject, Arc<StampedEntries>>>,
    /// Relaxed: a size, exact for the holder of the latch, who alone adds to it.
    bytes: AtomicU64,
}

impl IndexEntries {
    /// Inserts the records of one commit. Under the latch.
    pub(super) fn append(&self, records: Vec<IndexRecord>, offset: u64) {
        let mut known: Option<(Subject, Arc<StampedEntries>)> = None;
        for record in records {
            let IndexRecord { subject, value, item, operation } = record;
            if known.as_ref().is_none_or(|(of, _)| *of != subject) {
                known = Some((subject, self.index_or_new(subject)));
            }
            let (_, entries) = known.as_ref().expect("set above");
            let bytes = entry_bytes(&value);
            self.bytes.fetch_add(bytes, Memory::Relaxed);
            entries.bytes.fetch_add(bytes, Memory::Relaxed);
            entries.difference.fetch_add(operation.difference(), Memory::Relaxed);
            entries.insert(StampedEntry { value, item, stamp: RelativeStamp::new(offset, operation) });
        }
    }

    fn index(&self, subject: Subject) -> Option<Arc<StampedEntries>> {
        self.indexes.read().get(&subject).cloned()
    }

    fn index_or_new(&self, subject: Subject) -> Arc<StampedEntries> {
        self.index(subject).unwrap_or_else(|| Arc::clone(self.indexes.write().entry(subject).or_default()))
    }

    /// How much there is of an index.
    pub(super) fn size(&self, subject: Subject) -> EntriesSize {
        self.index(subject).map_or_else(EntriesSize::default, |entries| EntriesSize {
            difference: entries.difference.load(Memory::Relaxed),
            bytes: entries.bytes.load(Memory::Relaxed),
            file_bytes: 0,
        })
    }

    /// The indexes that have records, ascending.
    pub(super) fn subjects(&self) -> Vec<Subject> {
        self.indexes.read().keys().copied().collect()
    }

    /// What the newest record until `limit` did to a pair.
    pub(super) fn newest(
        &self,
        subject: Subject,
        value: &[u8],
        item: ItemId,
        limit: u64,
    ) -> Option<RecordOperation> {
        self.index(subject)?.newest(value, item, limit)
    }

    /// Appends up to `count_max` pairs that lie between two places, those excluded, from the first towards the second, each
    /// with its newest record until `limit`.
    pub(super) fn between(
        &self,
        subject: Subject,
        places: (&BytesBound<'_>, &BytesBound<'_>),
        order: EntryOrder,
        count_max: usize,
        limit: u64,
        found: &mut Vec<VisibleEntry>,
    ) {
        if let Some(entries) = self.index(subject) {
            entries.between(places, order, count_max, limit, found);
        }
    }

    /// Visits the records of an index behind those of a pair, or all, in the order of value, item and time, until `visit`
    /// says no.
    pub(super) fn visit_after(
        &self,
        subject: Subject,
        after: Option<(&[u8], ItemId)>,
        mut visit: impl FnMut(&StampedEntry) -> bool,
    ) {
        let Some(entries) = self.index(subject) else { return };
        let from = after.map_or(BytesBound::Start, |(value, item)| BytesBound::At(value, item));
        entries.visit(&from, &BytesBound::End, EntryOrder::Ascending, |entry| {
            after.is_some_and(|(value, item)| entry.is_of(value, item)) || visit(entry)
        });
    }

    /// Bytes of all records, about.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Memory::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::VertexId;
    use proptest::prelude::*;

    type Model = BTreeMap<(Vec<u8>, ItemId), Vec<(u64, RecordOperation)>>;
    const SUBJECT: Subject = Subject::index(3).unwrap();

    fn record(value: &[u8], item: u32, operation: RecordOperation) -> IndexRecord {
        IndexRecord { subject: SUBJECT, value: value.into(), item: ItemId::Vertex(VertexId(item)), operation }
    }

    #[test]
    fn series_leave_full_parts() {
        for descending in [false, true] {
            let entries = IndexEntries::default();
            for at in 0..10_000u32 {
                let number = if descending { 10_000 - at } else { at };
                entries
                    .append(vec![record(&number.to_be_bytes(), at, RecordOperation::Insert)], u64::from(at));
            }
            let parts = entries.index(SUBJECT).unwrap().parts.read().len();
            assert!(parts <= 42, "{parts} parts");
            assert!((70..90).contains(&(entries.bytes() / 10_000)), "{} bytes", entries.bytes());
        }
    }

    #[test]
    fn a_reader_lets_go_of_the_locks_between_records_that_it_does_not_see() {
        let entries = IndexEntries::default();
        for at in 0..1000 {
            entries.append(vec![record(b"k", 7, RecordOperation::Insert)], 10 + at);
        }
        let index = entries.index(SUBJECT).unwrap();
        for order in [EntryOrder::Ascending, EntryOrder::Descending] {
            let (mut from, mut to) = (BytesBound::Start, BytesBound::End);
            if order == EntryOrder::Descending {
                std::mem::swap(&mut from, &mut to);
            }
            let mut count = 0;
            let mut look = |_: &StampedEntry| {
                count += 1;
                true
            };
            assert!(index.visit_some(&Start::At(&from), &to, order, &mut look).is_some());
            assert_eq!(count, LOOKED_AT_MAX);
            let mut found = Vec::new();
            index.between((&from, &to), order, 9, 9, &mut found);
            assert_eq!(found, []);
            index.between((&from, &to), order, 9, 500, &mut found);
            assert_eq!(found.len(), 1);
            let mut stamps = Vec::new();
            index.visit(&from, &to, order, |entry| {
                stamps.push(entry.stamp.offset());
                true
            });
            stamps.sort_unstable();
            assert_eq!(stamps, (10..1010).collect::<Vec<_>>(), "each one once");
        }
    }

    fn at(model: &Model, limit: u64) -> Vec<VisibleEntry> {
        let mut entries = Vec::new();
        for ((value, item), records) in model {
            if let Some((_, operation)) = records.iter().rfind(|(offset, _)| *offset <= limit) {
                let value = value.as_slice().into();
                entries.push(VisibleEntry { value, item: *item, operation: *operation });
            }
        }
        entries
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn every_range_at_every_time_is_what_a_sorted_map_holds(
            steps in proptest::collection::vec(("[ab]{0,3}", 0u32..8), 0..900),
            ranges in proptest::collection::vec(("[ab]{0,3}", "[ab]{0,3}", 0u32..8, 1usize..300, 0u64..900), 1..10),
        ) {
            let (entries, mut model) = (IndexEntries::default(), Model::new());
            for (offset, (value, item)) in (0u64..).zip(&steps) {
                let key = (value.clone().into_bytes(), ItemId::Vertex(VertexId(*item)));
                let records = model.entry(key).or_default();
                let operation = match records.last() {
                    Some((_, RecordOperation::Insert)) => RecordOperation::Delete,
                    _ => RecordOperation::Insert,
                };
                records.push((offset, operation));
                entries.append(vec![record(value.as_bytes(), *item, operation)], offset);
            }
            for (low, high, item, batch, limit) in &ranges {
                let item = ItemId::Vertex(VertexId(*item));
                let low = [BytesBound::Start, BytesBound::Before(low.as_bytes()), BytesBound::At(low.as_bytes(), item)];
                let high = [BytesBound::End, BytesBound::After(high.as_bytes()), BytesBound::At(high.as_bytes(), item)];
                for (low, high) in low.iter().flat_map(|low| high.iter().map(move |high| (low, high))) {
                    let inside = |entry: &VisibleEntry| {
                        low.cmp_pair(&entry.value, entry.item).is_lt() && high.cmp_pair(&entry.value, entry.item).is_gt()
                    };
                    let mut wanted: Vec<_> = at(&model, *limit).into_iter().filter(inside).collect();
                    for order in [EntryOrder::Ascending, EntryOrder::Descending] {
                        let (from, to) = if order == EntryOrder::Ascending { (low, high) } else { (high, low) };
                        let mut found = Vec::new();
                        entries.between(SUBJECT, (from, to), order, *batch, *limit, &mut found);
                        prop_assert_eq!(&found[..], &wanted[..wanted.len().min(*batch)]);
                        wanted.reverse();
                    }
                }
                for entry in at(&model, *limit) {
                    let newest = entries.newest(SUBJECT, &entry.value, entry.item, *limit);
                    prop_assert_eq!(newest, Some(entry.operation));
                }
                prop_assert_eq!(entries.newest(SUBJECT, b"c", item, *limit), None);
            }
            let mut all = Vec::new();
            entries.visit_after(SUBJECT, None, |entry| {
                all.push((entry.value.to_vec(), entry.item, entry.stamp.offset(), entry.stamp.operation()));
                true
            });
            let wanted = model.iter().flat_map(|((value, item), records)| {
                records.iter().map(|(offset, operation)| (value.clone(), *item, *offset, *operation))
            });
            prop_assert!(wanted.eq(all));
        }
    }
}
