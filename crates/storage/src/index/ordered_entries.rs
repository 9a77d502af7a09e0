//! Ordered entries: values in order, with the items that may have them, in small parts.
//!
//! ```text
//! parts      start        (7, v3)         (9, v1)           a tree from each part's first place
//!              |             |               |
//! part     (1,v8)(5,v2)  (7,v3)(7,v9)..  (9,v1)(12,v4)..    at most 256 entries, sorted, a lock each
//! ```
//!
//! - A full part is cut in the middle, or where an ascending or descending series goes on, so that such
//!   a series leaves full parts behind. A part that shrank to an eighth joins the one before it.
//! - Reading holds the tree for reading, and one part at a time, for as long as it copies at most the
//!   entries of one batch; the next batch finds its place again. Only cutting and joining parts lock
//!   the tree for themselves.
//!
//! Source: core-protocol section 6. Differs: parts with locks in place of one lock given up and taken
//! again, so that a commit under the latch waits for a reader of its own part only, and a sorted
//! array takes a third less memory than a tree's nodes.

use crate::index::entry_bound::EntryBound;
use crate::index::item::Item;
use crate::sync::RwLock;
use crate::sync::atomic::{AtomicU64, Ordering as Memory};
use evergraph_graph::value::Value;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Entries of a part.
const PART_MAX: usize = 256;

type Part<I> = Vec<(Value, I)>;
/// By the place that no entry of a part is before; the first part's is the start.
type Parts<I> = BTreeMap<EntryBound<I>, RwLock<Part<I>>>;

/// Pairs of value and item in order, each once.
///
/// Concurrency: any thread reads and writes. Locks: the tree, then one part.
#[derive(Debug)]
pub struct OrderedEntries<I> {
    parts: RwLock<Parts<I>>,
    /// Relaxed, as all three: sizes for people and planners.
    count: AtomicU64,
    distinct: AtomicU64,
    heap_bytes: AtomicU64,
}

impl<I: Item> Default for OrderedEntries<I> {
    fn default() -> Self {
        let parts = Parts::from([(EntryBound::Start, RwLock::default())]);
        let (count, distinct, heap_bytes) = Default::default();
        Self { parts: RwLock::new(parts), count, distinct, heap_bytes }
    }
}

/// The part where `place` is or would be.
fn part_of<'p, I: Item>(
    parts: &'p Parts<I>,
    place: &EntryBound<I>,
) -> (&'p EntryBound<I>, &'p RwLock<Part<I>>) {
    parts.range(..=place).next_back().expect("the first part begins before every place")
}

/// The part where `place` is or would be, and those behind it.
fn parts_from<'p, I: Item>(
    parts: &'p Parts<I>,
    place: &'p EntryBound<I>,
) -> impl Iterator<Item = &'p RwLock<Part<I>>> {
    let first = std::iter::once(part_of(parts, place).1);
    // `range` searches the tree when it is called: who finds all in the first part doesn't pay for it.
    let others = std::iter::once_with(move || parts.range((Bound::Excluded(place), Bound::Unbounded)));
    first.chain(others.flatten().map(|(_, part)| part))
}

fn find<I: Item>(part: &Part<I>, value: &Value, item: I) -> Result<usize, usize> {
    part.binary_search_by(|entry| entry.0.cmp(value).then_with(|| entry.1.cmp(&item)))
}

/// Whether the value of the entry at `at` is that of a neighbour.
fn is_repeated<I>(part: &Part<I>, at: usize) -> bool {
    let same = |other: Option<&(Value, I)>| other.is_some_and(|other| other.0 == part[at].0);
    same(at.checked_sub(1).and_then(|before| part.get(before))) || same(part.get(at + 1))
}

impl<I: Item> OrderedEntries<I> {
    /// Adds a pair, if it isn't there.
    pub fn insert(&self, value: Value, item: I) {
        let place = EntryBound::At(value, Some(item));
        loop {
            {
                let parts = self.parts.read();
                let mut part = part_of(&parts, &place).1.write();
                let EntryBound::At(value, _) = &place else { unreachable!("made above") };
                let Err(at) = find(&part, value, item) else { return };
                if part.len() < PART_MAX {
                    let EntryBound::At(value, _) = place else { unreachable!("made above") };
                    self.count.fetch_add(1, Memory::Relaxed);
                    self.heap_bytes.fetch_add(value.heap_bytes() as u64, Memory::Relaxed);
                    part.insert(at, (value, item));
                    if !is_repeated(&part, at) {
                        self.distinct.fetch_add(1, Memory::Relaxed);
                    }
                    return;
                }
            }
            self.cut(&place);
        }
    }

    /// Cuts the part of `place` in two, if it is full.
    fn cut(&self, place: &EntryBound<I>) {
        let mut parts = self.parts.write();
        let mut full = part_of(&parts, place).1.write();
        if full.len() < PART_MAX {
            return;
        }
        let at = full.partition_point(|(value, item)| place.cmp_entry(value, *item).is_gt());
        // Where a series goes on, one entry of it goes along, or stays.
        let cut = match at {
            0 => 1,
            PART_MAX => PART_MAX - 1,
            _ => PART_MAX / 2,
        };
        let upper = full.split_off(cut);
        drop(full);
        let (value, item) = upper.first().expect("a cut leaves something above it");
        parts.insert(EntryBound::At(value.clone(), Some(*item)), RwLock::new(upper));
    }

    /// Removes a pair, if it is there; its value, for the caller to free.
    pub fn remove(&self, value: &Value, item: I) -> Option<Value> {
        let place = EntryBound::At(value.clone(), Some(item));
        let (removed, left) = {
            let parts = self.parts.read();
            let mut part = part_of(&parts, &place).1.write();
            let at = find(&part, value, item).ok()?;
            if !is_repeated(&part, at) {
                // Saturating: what parts count apart they may take back once too often.
                let less = |count: u64| Some(count.saturating_sub(1));
                let _ = self.distinct.fetch_update(Memory::Relaxed, Memory::Relaxed, less);
            }
            (part.remove(at).0, part.len())
        };
        self.count.fetch_sub(1, Memory::Relaxed);
        self.heap_bytes.fetch_sub(removed.heap_bytes() as u64, Memory::Relaxed);
        if left == 0 || left == PART_MAX / 8 {
            self.join(&place);
        }
        Some(removed)
    }

    /// Joins the part of `place` with the one before it, if both are small.
    fn join(&self, place: &EntryBound<I>) {
        let mut parts = self.parts.write();
        let fence = part_of(&parts, place).0.clone();
        let Some((_, before)) = parts.range(..&fence).next_back() else { return };
        let together = before.read().len() + part_of(&parts, place).1.read().len();
        if together <= PART_MAX / 2 || part_of(&parts, place).1.read().is_empty() {
            let part = parts.remove(&fence).expect("found above");
            let (_, before) = parts.range(..&fence).next_back().expect("found above");
            before.write().append(&mut part.write());
        }
    }

    /// Appends up to `limit` entries that lie between `after` and `until`, from the first towards the
    /// second; down if `descending`, and then `until` is the lower one.
    pub fn between(
        &self,
        after: &EntryBound<I>,
        until: &EntryBound<I>,
        descending: bool,
        limit: usize,
        entries: &mut Vec<(Value, I)>,
    ) {
        let end = entries.len().saturating_add(limit);
        let parts = self.parts.read();
        let mut copy = |entry: &(Value, I)| {
            let order = until.cmp_entry(&entry.0, entry.1);
            let inside = if descending { order.is_lt() } else { order.is_gt() };
            if inside && entries.len() < end {
                entries.push(entry.clone());
                return true;
            }
            false
        };
        if descending {
            for (_, part) in parts.range(..after).rev() {
                let part = part.read();
                let to = part.partition_point(|(value, item)| after.cmp_entry(value, *item).is_gt());
                if !part[..to].iter().rev().all(&mut copy) {
                    return;
                }
            }
        } else {
            for part in parts_from(&parts, after) {
                let part = part.read();
                let from = part.partition_point(|(value, item)| after.cmp_entry(value, *item).is_ge());
                if !part[from..].iter().all(&mut copy) {
                    return;
                }
            }
        }
    }

    /// Appends up to `limit` items of `value` that are greater than `after`, ascending.
    pub fn of(&self, value: &Value, after: Option<I>, limit: usize, items: &mut Vec<I>) {
        let place = EntryBound::At(value.clone(), after);
        let end = items.len().saturating_add(limit);
        let parts = self.parts.read();
        let mut copy = |entry: &(Value, I)| {
            let inside = entry.0 == *value && items.len() < end;
            if inside {
                items.push(entry.1);
            }
            inside
        };
        for part in parts_from(&parts, &place) {
            let part = part.read();
            let from = part.partition_point(|(value, item)| place.cmp_entry(value, *item).is_ge());
            if !part[from..].iter().all(&mut copy) {
                return;
            }
        }
    }

    /// Whether a pair is there.
    #[must_use]
    pub fn contains(&self, value: &Value, item: I) -> bool {
        let place = EntryBound::At(value.clone(), Some(item));
        let parts = self.parts.read();
        let part = part_of(&parts, &place).1.read();
        find(&part, value, item).is_ok()
    }

    /// Pairs; different values, about; bytes, about. Cost: a look at each part.
    #[must_use]
    pub fn size(&self) -> (u64, u64, u64) {
        let parts = self.parts.read();
        let slots: usize = parts.values().map(|part| part.read().capacity()).sum();
        // A node of the tree is about two thirds full.
        let tree = parts.len() * (size_of::<EntryBound<I>>() + size_of::<RwLock<Part<I>>>()) * 3 / 2;
        let load = |counter: &AtomicU64| counter.load(Memory::Relaxed);
        let bytes = (tree + slots * size_of::<(Value, I)>()) as u64 + load(&self.heap_bytes);
        (load(&self.count), load(&self.distinct), bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::{EdgeId, TypeId, VertexId};
    use evergraph_graph::look_up::ValueRange;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    type Entries = OrderedEntries<VertexId>;

    fn all(entries: &Entries, range: &ValueRange, batch: usize) -> Vec<(Value, u32)> {
        let (low, high) = EntryBound::around(range);
        let (mut after, until) = if range.descending { (high, low) } else { (low, high) };
        let mut found = Vec::new();
        loop {
            let start = found.len();
            entries.between(&after, &until, range.descending, batch, &mut found);
            let Some((value, item)) = found[start..].last() else { break };
            after = EntryBound::At(value.clone(), Some(*item));
        }
        found.into_iter().map(|(value, item)| (value, item.0)).collect()
    }

    fn parts_count(entries: &Entries) -> usize {
        entries.parts.read().len()
    }

    #[test]
    fn series_leave_full_parts_and_emptied_parts_go() {
        for descending in [false, true] {
            let entries = Entries::default();
            let number = |at: u32| if descending { 10_000 - at } else { at };
            for at in 0..10_000 {
                entries.insert(Value::I64(number(at).into()), VertexId(at));
            }
            assert!(parts_count(&entries) <= 42, "{} parts", parts_count(&entries));
            assert_eq!(entries.size().0, 10_000);
            for at in 0..9_990 {
                assert!(entries.remove(&Value::I64(number(at).into()), VertexId(at)).is_some());
            }
            assert!(parts_count(&entries) <= 3, "{} parts", parts_count(&entries));
            assert_eq!(all(&entries, &ValueRange::ALL, 3).len(), 10);
        }
    }

    #[test]
    fn a_number_of_a_vertex_takes_about_46_bytes_in_random_order_and_35_in_a_series() {
        let (random, series) = (Entries::default(), Entries::default());
        let rows = 100_000u32;
        for row in 0..rows {
            random.insert(Value::I64(row.wrapping_mul(0x9e37_79b9).into()), VertexId(row));
            series.insert(Value::I64(row.into()), VertexId(row));
        }
        let each = |entries: &Entries| entries.size().2 as f64 / f64::from(rows);
        assert!((38.0..54.0).contains(&each(&random)), "{} bytes", each(&random));
        assert!((32.0..40.0).contains(&each(&series)), "{} bytes", each(&series));
        assert_eq!((random.size().1, series.size().1), (100_000, 100_000));
        let edges = OrderedEntries::default();
        for row in 0..rows {
            let (source, target) = (VertexId(row), VertexId(7));
            let edge = EdgeId { source, edge_type: TypeId(0), target, discriminator: 0 };
            edges.insert(Value::I64((row % 5).into()), edge);
        }
        let (count, distinct, bytes) = edges.size();
        assert!(bytes / count <= 80 && (5..50).contains(&distinct), "{bytes} bytes, {distinct} distinct");
    }

    #[test]
    fn bounds_step_over_a_number_in_every_width() {
        let entries = Entries::default();
        let one = [Value::I8(1), Value::I64(1), Value::F64(1.0)];
        for (at, value) in one.iter().chain(&[Value::I32(0), Value::F32(1.5)]).enumerate() {
            entries.insert(value.clone(), VertexId(at as u32));
        }
        let range = |from, to| all(&entries, &ValueRange::new(from, to), 2).len();
        let int = || Value::I32(1);
        assert_eq!(range(Bound::Included(int()), Bound::Included(int())), 3);
        assert_eq!(range(Bound::Excluded(int()), Bound::Unbounded), 1);
        assert_eq!(range(Bound::Unbounded, Bound::Excluded(int())), 1);
        let mut found = Vec::new();
        entries.of(&Value::I64(1), None, 9, &mut found);
        assert_eq!(found, [VertexId(1)], "equality counts widths");
    }

    fn any_small() -> impl Strategy<Value = Value> {
        let text = |text: &str| Value::from(text);
        prop_oneof![
            (0i64..40).prop_map(Value::I64),
            (0i32..4).prop_map(Value::I32),
            (0i32..8).prop_map(|half| Value::F64(f64::from(half) / 2.0)),
            "[ab]{0,2}".prop_map(move |found| text(&found)),
        ]
    }

    fn any_bound() -> impl Strategy<Value = Bound<Value>> {
        prop_oneof![
            Just(Bound::Unbounded),
            any_small().prop_map(Bound::Included),
            any_small().prop_map(Bound::Excluded),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_range_is_what_a_sorted_set_holds(
            steps in proptest::collection::vec((any_small(), 0u32..60, 0u8..4), 0..1500),
            ranges in proptest::collection::vec((any_bound(), any_bound(), any::<bool>(), 1usize..400), 1..12),
        ) {
            let (entries, mut model) = (Entries::default(), BTreeSet::new());
            for (value, item, action) in steps {
                if action > 0 {
                    entries.insert(value.clone(), VertexId(item));
                    model.insert((value, item));
                } else {
                    let removed = entries.remove(&value, VertexId(item));
                    prop_assert_eq!(removed.is_some(), model.remove(&(value, item)));
                }
            }
            prop_assert_eq!(entries.size().0, model.len() as u64);
            for (from, to, descending, batch) in ranges {
                let range = ValueRange { from, to, descending };
                let mut wanted: Vec<_> =
                    model.iter().filter(|(value, _)| range.contains(value)).cloned().collect();
                if descending {
                    wanted.reverse();
                }
                prop_assert_eq!(all(&entries, &range, batch), wanted);
            }
            for (value, _) in model.iter().step_by(7) {
                let mut found = Vec::new();
                entries.of(value, None, usize::MAX, &mut found);
                let wanted = model.iter().filter(|entry| entry.0 == *value).map(|entry| VertexId(entry.1));
                prop_assert!(wanted.eq(found.iter().copied()));
                prop_assert!(found.iter().all(|item| entries.contains(value, *item)));
            }
        }
    }
}
