//! Watched reads: what a serialisable transaction has read, as what its record checks.
//!
//! ```text
//! RemoteView ── TrackedView ──> keys, types of a group, groups        as the store of a whole graph notes them
//!                        └────> values and ranges asked of an index   hashed as the log compares them
//! names looked up in vain ────> that name                             each by itself
//! ```
//!
//! Beyond 4,096 values and ranges of an index any value that enters it counts. Whoever looked at all groups checks that no
//! label got one, and that nobody gave a name: what is scanned is seen below the reader's choice of labels. Rows are taken
//! once in 256 vertices, and names are soon there.

use crate::key_hash::checks::Checks;
use crate::key_hash::graph_salt::{GraphSalt, KeyHash};
use crate::key_hash::sort_key::{RangeCheck, SortKey};
use crate::key_hash::subject::{NameKind, Subject, ValueHash};
use crate::planted::{Bug, planted};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::id::{Direction, GroupId, TypeId};
use evergraph_graph::index::IndexId;
use evergraph_graph::look_up::ValueRange;
use evergraph_graph::value::Value;
use evergraph_storage::engine::Key;
use evergraph_storage::index::entry_bound::EntryBound;
use evergraph_storage::index::index_item::IndexItem;
use evergraph_storage::sync::Mutex;
use evergraph_storage::transaction::look_ups::APART_MAX;
use evergraph_storage::transaction::reads::{NoteReads, NotedRead, Reads};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// What one transaction has read.
///
/// # Concurrency
///
/// Any thread notes; each part has a lock of its own, inside which nothing else is locked.
#[derive(Debug)]
pub struct WatchedReads {
    salt: GraphSalt,
    reads: Reads,
    look_ups: Mutex<BTreeMap<IndexId, IndexLookUps>>,
    names: Mutex<BTreeSet<(NameKind, ValueHash)>>,
}

/// What was asked of one index.
#[derive(Debug, Default)]
struct IndexLookUps {
    values: BTreeSet<KeyHash>,
    /// The other end, as far away as it was asked: by the end to which a scan goes, and whether it goes down.
    ranges: BTreeMap<(SortKey, bool), SortKey>,
    /// Too much to tell apart.
    is_whole: bool,
}

impl WatchedReads {
    /// Nothing yet, of the graph of `salt`.
    #[must_use]
    pub fn new(salt: GraphSalt) -> Self {
        let (reads, look_ups, names) = (Reads::default(), Mutex::default(), Mutex::default());
        Self { salt, reads, look_ups, names }
    }

    /// A name was looked for that nothing has.
    pub fn note_missing_name(&self, kind: NameKind, name: &str) {
        self.names.lock().insert((kind, ValueHash::of_name(self.salt, kind, name)));
    }

    /// Adds everything that was read to what a record checks. `catalogue` is that of the snapshot.
    pub fn add_to(&self, checks: &mut Checks, catalogue: &Catalogue) {
        if planted(Bug::ReadsUnchecked) {
            return;
        }
        self.reads.visit(|read| match read {
            NotedRead::Key(key) => checks.add_key(&key),
            NotedRead::EdgeTypes(group, side) => {
                side.sides().iter().for_each(|side| checks.add_subject(Subject::Types(group, *side)));
            }
            NotedRead::Groups => {
                catalogue.labels().for_each(|(label, _)| checks.add_subject(Subject::Groups(label)));
                checks.add_subject(Subject::Names);
            }
        });
        for (_, name) in self.names.lock().iter() {
            checks.add_subject(Subject::Name(*name));
        }
        for (index, look_ups) in self.look_ups.lock().iter() {
            let entries = Subject::Entries(*index);
            if look_ups.is_whole {
                checks.add_subject(entries);
            }
            look_ups.values.iter().for_each(|value| checks.add_hash(*value));
            for ((end, is_down), start) in &look_ups.ranges {
                let (low, high) = if *is_down { (*end, *start) } else { (*start, *end) };
                checks.add_range_check(RangeCheck { index: entries.hash(self.salt), low, high });
            }
        }
    }

    fn note_look_up(&self, index: IndexId, note: impl FnOnce(&mut IndexLookUps)) {
        let mut look_ups = self.look_ups.lock();
        let of_index = look_ups.entry(index).or_default();
        if of_index.is_whole {
            return;
        }
        note(of_index);
        if of_index.values.len() + of_index.ranges.len() > APART_MAX {
            *of_index = IndexLookUps { is_whole: true, ..IndexLookUps::default() };
        }
    }
}

impl NoteReads for WatchedReads {
    fn note(&self, key: Key) {
        self.reads.note(key);
    }

    fn note_edge_types(&self, group: GroupId, side: Direction, types: &[TypeId]) {
        self.reads.note_edge_types(group, side, types);
    }

    fn note_groups(&self, count: u32) {
        self.reads.note_groups(count);
    }

    fn note_value(&self, index: IndexId, value: &Value) {
        let value = Subject::Entered(index, ValueHash::of_value(self.salt, value)).hash(self.salt);
        self.note_look_up(index, |look_ups| {
            look_ups.values.insert(value);
        });
    }

    /// A scan asks page by page, each from the last entry of the page before to the same end: together they are one range.
    fn note_between<I: IndexItem>(
        &self,
        index: IndexId,
        (after, until): (&EntryBound<I>, &EntryBound<I>),
        descending: bool,
    ) {
        let (low, high) = if descending { (until, after) } else { (after, until) };
        let range = ValueRange::new(lower(low), upper(high));
        let RangeCheck { low, high, .. } = RangeCheck::around(KeyHash(0), &range);
        self.note_look_up(index, |look_ups| match descending {
            true => {
                let start = look_ups.ranges.entry((low, true)).or_insert(high);
                *start = high.max(*start);
            }
            false => {
                let start = look_ups.ranges.entry((high, false)).or_insert(low);
                *start = low.min(*start);
            }
        });
    }
}

/// A place as the lower end of a range, which may have more than what lies behind the place.
fn lower<I>(place: &EntryBound<I>) -> Bound<Value> {
    match place {
        EntryBound::Start | EntryBound::End => Bound::Unbounded,
        EntryBound::Before(value) | EntryBound::At(value, _) => Bound::Included(value.clone()),
        EntryBound::After(value) => Bound::Excluded(value.clone()),
    }
}

/// The same for the upper end.
fn upper<I>(place: &EntryBound<I>) -> Bound<Value> {
    match place {
        EntryBound::Start | EntryBound::End => Bound::Unbounded,
        EntryBound::After(value) | EntryBound::At(value, _) => Bound::Included(value.clone()),
        EntryBound::Before(value) => Bound::Excluded(value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_hash::sort_key::EnteredKey;
    use evergraph_graph::id::{KeyId, LabelId, VertexId};
    use evergraph_graph::index::IndexKind;
    use evergraph_graph::owner::Owner;

    const SALT: GraphSalt = GraphSalt([7; 16]);
    const INDEX: IndexId =
        IndexId { owner: Owner::Label(LabelId(0)), key: KeyId(1), kind: IndexKind::Ordered };

    fn checks(reads: &WatchedReads) -> (Vec<KeyHash>, Vec<RangeCheck>) {
        let mut checks = Checks::new(SALT);
        reads.add_to(&mut checks, &Catalogue::default());
        checks.finish()
    }

    fn at(value: i64) -> EntryBound<VertexId> {
        EntryBound::At(Value::I64(value), Some(VertexId(3)))
    }

    fn before(value: i64) -> EntryBound<VertexId> {
        EntryBound::Before(Value::I64(value))
    }

    #[test]
    fn keys_types_groups_and_missing_names_are_checked() {
        let reads = WatchedReads::new(SALT);
        reads.note(Key::Members(GroupId(4)));
        reads.note_edge_types(GroupId(4), Direction::Out, &[]);
        reads.note_groups(1);
        reads.note_missing_name(NameKind::Label, "City");
        let city = ValueHash::of_name(SALT, NameKind::Label, "City");
        let mut expected = [
            Subject::Members(GroupId(4)),
            Subject::Types(GroupId(4), Direction::Out),
            Subject::Names,
            Subject::Name(city),
        ]
        .map(|subject| subject.hash(SALT));
        expected.sort_unstable();
        assert_eq!(checks(&reads), (expected.to_vec(), Vec::new()), "what was read");
    }

    #[test]
    fn pages_of_a_scan_are_one_range_in_both_directions() {
        let reads = WatchedReads::new(SALT);
        for after in [before(2), at(4), at(6)] {
            reads.note_between(INDEX, (&after, &before(9)), false);
        }
        for after in [EntryBound::<VertexId>::After(Value::I64(30)), at(25)] {
            reads.note_between(INDEX, (&after, &before(20)), true);
        }
        let (hashes, ranges) = checks(&reads);
        assert_eq!((hashes.len(), ranges.len()), (0, 2));
        let index = Subject::Entries(INDEX).hash(SALT);
        let is_covered = |value| {
            let entered = EnteredKey { index, key: SortKey::of(&Value::I64(value)) };
            ranges.iter().any(|range| range.contains(&entered))
        };
        assert_eq!([1, 2, 8, 19, 20, 30, 31].map(is_covered), [false, true, true, false, true, true, false]);
    }

    #[test]
    fn values_are_told_apart_until_they_are_too_many() {
        let reads = WatchedReads::new(SALT);
        reads.note_value(INDEX, &Value::I64(5));
        reads.note_value(INDEX, &Value::I64(5));
        let mut expected = Checks::new(SALT);
        expected.add_value(INDEX, &Value::I64(5));
        assert_eq!(checks(&reads), expected.finish());
        (0..=APART_MAX as i64).for_each(|value| reads.note_value(INDEX, &Value::I64(value)));
        assert_eq!(checks(&reads).0, [Subject::Entries(INDEX).hash(SALT)]);
    }

    #[test]
    fn planted_bugs_are_found() {
        let read = keys_types_groups_and_missing_names_are_checked;
        crate::planted::assert_found(Bug::ReadsUnchecked, read, "what was read");
    }
}
