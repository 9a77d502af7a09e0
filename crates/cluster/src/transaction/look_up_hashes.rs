//! Look-up hashes: the values and ranges that a serialisable transaction looked up, as the log compares them; and all that it
//! has read, as what its record checks.
//!
//! ```text
//! Reader ── values, ranges of an index ──> LookUpHashes ─┐
//! TrackedView ── keys, types of a group, groups ──> Reads ┴──> add_reads ──> Checks
//! ```
//!
//! Pages of a scan are one range: each begins where the one before ended. Beyond 4,096 values and ranges of an index any value
//! that enters it counts. Whoever looked at all groups checks that no label got one, and that nobody gave a name: what is scanned
//! is seen below the reader's choice of labels. Rows are taken once in 256 vertices, and names are soon there.

use crate::key_hash::checks::Checks;
use crate::key_hash::graph_salt::{GraphSalt, KeyHash};
use crate::key_hash::sort_key::{RangeCheck, SortKey};
use crate::key_hash::subject::{Subject, ValueHash};
use crate::planted::{Bug, planted};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::index::IndexId;
use evergraph_graph::look_up::ValueRange;
use evergraph_graph::value::Value;
use evergraph_storage::sync::Mutex;
use evergraph_storage::transaction::look_ups::{APART_MAX, NoteLookUps};
use evergraph_storage::transaction::reads::{NotedRead, Reads};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// What one transaction has looked up.
///
/// # Concurrency
///
/// Any thread notes, under a lock inside which nothing else is locked.
#[derive(Debug)]
pub struct LookUpHashes {
    salt: GraphSalt,
    indexes: Mutex<BTreeMap<IndexId, IndexLookUps>>,
}

/// What was looked up in one index.
#[derive(Debug, Default)]
struct IndexLookUps {
    values: BTreeSet<KeyHash>,
    /// Both ends belong to a range; none meets another.
    ranges: BTreeMap<SortKey, SortKey>,
    /// Too much to tell apart.
    is_whole: bool,
}

impl LookUpHashes {
    /// Nothing yet, of the graph of `salt`.
    #[must_use]
    pub fn new(salt: GraphSalt) -> Self {
        Self { salt, indexes: Mutex::default() }
    }

    fn note(&self, index: IndexId, note: impl FnOnce(&mut IndexLookUps)) {
        let mut indexes = self.indexes.lock();
        let of_index = indexes.entry(index).or_default();
        if of_index.is_whole {
            return;
        }
        note(of_index);
        if of_index.values.len() + of_index.ranges.len() > APART_MAX {
            *of_index = IndexLookUps { is_whole: true, ..IndexLookUps::default() };
        }
    }

    fn add_to(&self, checks: &mut Checks) {
        for (index, look_ups) in self.indexes.lock().iter() {
            let entries = Subject::Entries(*index);
            // Once it is dropped nothing enters it any more: then nobody knows what would be found.
            if !planted(Bug::DroppedIndexUnchecked) {
                checks.add_subject(Subject::Indexes(index.owner));
            }
            if look_ups.is_whole {
                checks.add_subject(entries);
            }
            look_ups.values.iter().for_each(|value| checks.add_hash(*value));
            for (low, high) in &look_ups.ranges {
                let (low, high) = (*low, *high);
                checks.add_range_check(RangeCheck { index: entries.hash(self.salt), low, high });
            }
        }
    }
}

impl IndexLookUps {
    /// Adds a range, as one with those that it meets.
    fn add_range(&mut self, mut low: SortKey, mut high: SortKey) {
        while let Some((start, end)) = self.ranges.range(..=high).next_back().map(|(low, high)| (*low, *high))
            && end >= low
        {
            self.ranges.remove(&start);
            (low, high) = (low.min(start), high.max(end));
        }
        self.ranges.insert(low, high);
    }
}

impl NoteLookUps for LookUpHashes {
    fn note_value(&self, index: IndexId, value: &Value) {
        let value = Subject::Entered(index, ValueHash::of_value(self.salt, value)).hash(self.salt);
        self.note(index, |look_ups| {
            look_ups.values.insert(value);
        });
    }

    fn note_range(&self, index: IndexId, low: Bound<&Value>, high: Bound<&Value>) {
        let range = ValueRange::new(low.cloned(), high.cloned());
        let RangeCheck { low, high, .. } = RangeCheck::around(KeyHash(0), &range);
        self.note(index, |look_ups| look_ups.add_range(low, high));
    }
}

/// Adds everything that a transaction has read to what its record checks. `catalogue` is that of the snapshot.
pub fn add_reads(reads: &Reads, look_ups: &LookUpHashes, checks: &mut Checks, catalogue: &Catalogue) {
    if planted(Bug::ReadsUnchecked) {
        return;
    }
    reads.visit(|read| match read {
        NotedRead::Key(key) => checks.add_key(&key),
        NotedRead::EdgeTypes(group, side) => {
            side.sides().iter().for_each(|side| checks.add_subject(Subject::Types(group, *side)));
        }
        NotedRead::Groups => {
            catalogue.labels().for_each(|(label, _)| checks.add_subject(Subject::Groups(label)));
            checks.add_subject(Subject::Names);
        }
        NotedRead::Names => checks.add_subject(Subject::Names),
    });
    look_ups.add_to(checks);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_hash::sort_key::EnteredKey;
    use evergraph_graph::id::{Direction, GroupId, KeyId, LabelId};
    use evergraph_graph::index::IndexKind;
    use evergraph_graph::owner::Owner;
    use evergraph_storage::engine::Key;

    const SALT: GraphSalt = GraphSalt([7; 16]);
    const INDEX: IndexId =
        IndexId { owner: Owner::Label(LabelId(0)), key: KeyId(1), kind: IndexKind::Ordered };

    fn checks(reads: &Reads, look_ups: &LookUpHashes) -> (Vec<KeyHash>, Vec<RangeCheck>) {
        let mut checks = Checks::new(SALT);
        add_reads(reads, look_ups, &mut checks, &Catalogue::default());
        checks.finish()
    }

    fn note_range(look_ups: &LookUpHashes, low: i64, high: i64) {
        let (low, high) = (Value::I64(low), Value::I64(high));
        look_ups.note_range(INDEX, Bound::Included(&low), Bound::Included(&high));
    }

    #[test]
    fn keys_types_groups_and_names_are_checked() {
        let (reads, look_ups) = (Reads::default(), LookUpHashes::new(SALT));
        reads.note(Key::Members(GroupId(4)));
        reads.note_edge_types(GroupId(4), Direction::Out, &[]);
        let mut expected = vec![Subject::Members(GroupId(4)), Subject::Types(GroupId(4), Direction::Out)];
        let hashes = |subjects: &[Subject]| {
            let mut hashes: Vec<_> = subjects.iter().map(|subject| subject.hash(SALT)).collect();
            hashes.sort_unstable();
            (hashes, Vec::new())
        };
        assert_eq!(checks(&reads, &look_ups), hashes(&expected), "what was read");
        reads.note_names();
        expected.push(Subject::Names);
        assert_eq!(checks(&reads, &look_ups), hashes(&expected));
        reads.note_groups(1);
        assert_eq!(checks(&reads, &look_ups), hashes(&expected), "names cover labels without groups");
    }

    #[test]
    fn pages_of_a_scan_are_one_range_in_both_directions() {
        let look_ups = LookUpHashes::new(SALT);
        for (low, high) in [(2, 4), (4, 6), (6, 9), (25, 30), (20, 25)] {
            note_range(&look_ups, low, high);
        }
        let (hashes, ranges) = checks(&Reads::default(), &look_ups);
        assert_eq!((hashes, ranges.len()), (vec![Subject::Indexes(INDEX.owner).hash(SALT)], 2));
        let index = Subject::Entries(INDEX).hash(SALT);
        let is_covered = |value| {
            let entered = EnteredKey { index, key: SortKey::of(&Value::I64(value)) };
            ranges.iter().any(|range| range.contains(&entered))
        };
        assert_eq!([1, 2, 8, 19, 20, 30, 31].map(is_covered), [false, true, true, false, true, true, false]);
        note_range(&look_ups, 0, 100);
        assert_eq!(checks(&Reads::default(), &look_ups).1.len(), 1, "it has the others in it");
    }

    #[test]
    fn values_are_told_apart_until_they_are_too_many() {
        let look_ups = LookUpHashes::new(SALT);
        look_ups.note_value(INDEX, &Value::I64(5));
        look_ups.note_value(INDEX, &Value::I64(5));
        let mut expected = Checks::new(SALT);
        expected.add_subject(Subject::Indexes(INDEX.owner));
        expected.add_value(INDEX, &Value::I64(5));
        assert_eq!(checks(&Reads::default(), &look_ups), expected.finish(), "all of the index");
        (0..=APART_MAX as i64).for_each(|value| look_ups.note_value(INDEX, &Value::I64(value)));
        let mut expected = Checks::new(SALT);
        for subject in [Subject::Indexes(INDEX.owner), Subject::Entries(INDEX)] {
            expected.add_subject(subject);
        }
        assert_eq!(checks(&Reads::default(), &look_ups), expected.finish(), "all of the index");
    }

    #[test]
    fn planted_bugs_are_found() {
        crate::planted::assert_found(
            Bug::ReadsUnchecked,
            keys_types_groups_and_names_are_checked,
            "what was read",
        );
        crate::planted::assert_found(
            Bug::DroppedIndexUnchecked,
            values_are_told_apart_until_they_are_too_many,
            "all of the index",
        );
    }
}
