//! Generation: what is remembered of a stretch of the log: subjects that were touched, values that entered ordered
//! indexes, outcomes by id.
//!
//! A *slot* stands for the memory of one touched subject: 17 bytes in a table that is full to seven eighths. Entries and
//! outcomes take several. A generation ends when its slots are used up, so that its length is a fact of the log.

use crate::certification::outcome::Outcome;
use crate::key_hash::graph_salt::KeyHash;
use crate::key_hash::sort_key::{EnteredKey, RangeCheck};
use crate::record_id::RecordId;
use evergraph_graph::timestamp::Timestamp;
use std::collections::BTreeMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Slots of a touched subject.
pub const TOUCH_SLOTS: u64 = 1;
/// Slots of a value in an ordered index.
pub const ENTERED_SLOTS: u64 = 4;
/// Slots of an outcome.
pub const OUTCOME_SLOTS: u64 = 2;
/// Slots of a message: its digest.
pub const MESSAGE_SLOTS: u64 = 3;

/// Hashes keys that are one word, and random already.
#[derive(Clone, Copy, Default, Debug)]
pub struct WordHasher(u64);

impl Hasher for WordHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("a key is one word");
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }
}

type WordMap<K, V> = hashbrown::HashMap<K, V, BuildHasherDefault<WordHasher>>;

/// What is remembered of a stretch of the log.
#[derive(Clone, Debug, Default)]
pub struct Generation {
    touched: WordMap<KeyHash, Timestamp>,
    entered: BTreeMap<EnteredKey, Timestamp>,
    outcomes: WordMap<RecordId, Outcome>,
}

impl Generation {
    /// `subject` was touched by the commit at `at`, the newest.
    #[inline]
    pub fn touch(&mut self, subject: KeyHash, at: Timestamp) {
        self.touched.insert(subject, at);
    }

    /// `key` entered its index with the commit at `at`, the newest.
    pub fn enter(&mut self, key: EnteredKey, at: Timestamp) {
        self.entered.insert(key, at);
    }

    /// The record `id` was decided.
    pub fn decide(&mut self, id: RecordId, outcome: Outcome) {
        self.outcomes.insert(id, outcome);
    }

    /// The newest commit that touched `subject`.
    #[inline]
    #[must_use]
    pub fn touched(&self, subject: KeyHash) -> Option<Timestamp> {
        self.touched.get(&subject).copied()
    }

    /// The newest commits that entered each value of `range`.
    pub fn entered(&self, range: &RangeCheck) -> impl Iterator<Item = Timestamp> {
        let RangeCheck { index, low, high } = *range;
        // A range that ends before it begins holds nothing, and is no range of a tree.
        let high = high.max(low);
        let all = self.entered.range(EnteredKey { index, key: low }..=EnteredKey { index, key: high });
        let range = *range;
        all.filter(move |(key, _)| range.contains(key)).map(|(_, at)| *at)
    }

    /// The outcome of the record `id`.
    #[must_use]
    pub fn outcome(&self, id: RecordId) -> Option<Outcome> {
        self.outcomes.get(&id).copied()
    }

    /// Forgets everything, and keeps the memory of it.
    pub fn clear(&mut self) {
        self.touched.clear();
        self.entered.clear();
        self.outcomes.clear();
    }

    /// What was touched, ascending.
    #[must_use]
    pub fn sorted_touches(&self) -> Vec<(KeyHash, Timestamp)> {
        let mut touches: Vec<_> = self.touched.iter().map(|(subject, at)| (*subject, *at)).collect();
        touches.sort_unstable();
        touches
    }

    /// What entered indexes, ascending.
    pub fn sorted_entries(&self) -> impl ExactSizeIterator<Item = (EnteredKey, Timestamp)> {
        self.entered.iter().map(|(key, at)| (*key, *at))
    }

    /// Outcomes by ascending id.
    #[must_use]
    pub fn sorted_outcomes(&self) -> Vec<(RecordId, Outcome)> {
        let mut outcomes: Vec<_> = self.outcomes.iter().map(|(id, outcome)| (*id, *outcome)).collect();
        outcomes.sort_unstable_by_key(|(id, _)| *id);
        outcomes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_hash::sort_key::SortKey;

    #[test]
    fn a_range_finds_the_values_of_its_index_between_its_ends() {
        let mut generation = Generation::default();
        let key = |index, byte| EnteredKey { index: KeyHash(index), key: SortKey([byte; 16]) };
        for (index, byte) in [(1, 5), (1, 7), (2, 6)] {
            generation.enter(key(index, byte), Timestamp(u64::from(byte)));
        }
        let found = |index, low, high| {
            let range =
                RangeCheck { index: KeyHash(index), low: SortKey([low; 16]), high: SortKey([high; 16]) };
            generation.entered(&range).map(|at| at.0).collect::<Vec<_>>()
        };
        assert_eq!(found(1, 0, 255), [5, 7]);
        assert_eq!(found(1, 6, 7), [7]);
        assert_eq!(found(2, 5, 5), [0; 0]);
        assert_eq!(found(1, 7, 5), [0; 0], "an empty range");
    }
}
