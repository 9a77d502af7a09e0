//! Generation: what is remembered of a stretch of the log: subjects that were touched, values that entered ordered
//! indexes, outcomes by id.
//!
//! A *slot* stands for the memory of one touched subject: 17 bytes in a table that is full to seven eighths. Entries and
//! outcomes take several. A generation ends when its slots are used up, so that its length is a fact of the log.
//!
//! A clone is cheap and stays as it is ([`SplitTable`]): a checkpoint writes one while its node goes on.
//!
//! What entered an index is a list in commit order, read from its end: a range check costs what entered after its
//! snapshot, however long the list is.

use crate::certification::outcome::Outcome;
use crate::certification::split_table::SplitTable;
use crate::key_hash::graph_salt::KeyHash;
use crate::key_hash::sort_key::{EnteredKey, RangeCheck, SortKey};
use crate::record_id::RecordId;
use evergraph_graph::timestamp::Timestamp;

/// Slots of a touched subject.
pub const TOUCH_SLOTS: u64 = 1;
/// Slots of a value in an ordered index: 24 bytes, 72 while a list grows.
pub const ENTERED_SLOTS: u64 = 4;
/// Slots of an outcome.
pub const OUTCOME_SLOTS: u64 = 2;
/// Slots of a message: its digest.
pub const MESSAGE_SLOTS: u64 = 3;

/// What is remembered of a stretch of the log.
#[derive(Clone, Debug, Default)]
pub struct Generation {
    touched: SplitTable<KeyHash, Timestamp>,
    /// By index, in commit order; no list is empty.
    entered: SplitTable<KeyHash, Vec<(Timestamp, SortKey)>>,
    outcomes: SplitTable<RecordId, Outcome>,
}

impl Generation {
    /// `subject` was touched by the commit at `at`, the newest.
    #[inline]
    pub fn touch(&mut self, subject: KeyHash, at: Timestamp) {
        self.touched.insert(subject, at);
    }

    /// `key` entered its index with the commit at `at`, the newest.
    pub fn enter(&mut self, key: EnteredKey, at: Timestamp) {
        self.entered.or_default(key.index).push((at, key.key));
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

    /// The commits after `since` that entered a value of `range`, newest first. Cost: linear in what entered its index
    /// after `since`.
    pub fn entered_after(&self, range: &RangeCheck, since: Timestamp) -> impl Iterator<Item = Timestamp> {
        let range = *range;
        let entered = self.entered.get(&range.index).map(Vec::as_slice).unwrap_or_default();
        let after = entered.iter().rev().take_while(move |(at, _)| !at.visible_at(since));
        let lies_within = move |key: SortKey| range.contains(&EnteredKey { index: range.index, key });
        after.filter(move |(_, key)| lies_within(*key)).map(|(at, _)| *at)
    }

    /// The outcome of the record `id`.
    #[must_use]
    pub fn outcome(&self, id: RecordId) -> Option<Outcome> {
        self.outcomes.get(&id).copied()
    }

    /// Forgets everything, and keeps the memory that a generation of `slots` takes: a large transaction may have taken more.
    pub fn clear(&mut self, slots: u64) {
        let kept = |of_one: u64| usize::try_from(slots / of_one).unwrap_or(usize::MAX);
        self.touched.clear(kept(TOUCH_SLOTS));
        self.outcomes.clear(kept(OUTCOME_SLOTS));
        self.entered.clear(0);
    }

    /// What was touched, ascending.
    #[must_use]
    pub fn sorted_touches(&self) -> Vec<(KeyHash, Timestamp)> {
        let mut touches: Vec<_> = self.touched.iter().map(|(subject, at)| (*subject, *at)).collect();
        touches.sort_unstable();
        touches
    }

    /// What entered each index, in commit order, by ascending index.
    #[must_use]
    pub fn sorted_entries(&self) -> Vec<(KeyHash, &[(Timestamp, SortKey)])> {
        let mut entries: Vec<_> =
            self.entered.iter().map(|(index, entered)| (*index, entered.as_slice())).collect();
        entries.sort_unstable_by_key(|(index, _)| *index);
        entries
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
    use evergraph_graph::split_mix::mix;

    fn key(index: u64, byte: u8) -> EnteredKey {
        EnteredKey { index: KeyHash(index), key: SortKey([byte; 16]) }
    }

    fn range(index: u64, low: u8, high: u8) -> RangeCheck {
        RangeCheck { index: KeyHash(index), low: SortKey([low; 16]), high: SortKey([high; 16]) }
    }

    #[test]
    fn a_range_finds_what_entered_its_index_between_its_ends_after_a_snapshot_newest_first() {
        let mut generation = Generation::default();
        for (at, index, byte) in [(1, 1, 7), (2, 1, 5), (2, 2, 6), (3, 1, 7)] {
            generation.enter(key(index, byte), Timestamp(at));
        }
        let found = |range: RangeCheck, since| {
            generation.entered_after(&range, Timestamp(since)).map(|at| at.0).collect::<Vec<_>>()
        };
        assert_eq!(found(range(1, 0, 255), 0), [3, 2, 1]);
        assert_eq!(found(range(1, 0, 255), 1), [3, 2]);
        assert_eq!(found(range(1, 6, 7), 0), [3, 1]);
        assert_eq!(found(range(1, 6, 7), 3), [0; 0]);
        assert_eq!(found(range(2, 5, 5), 0), [0; 0]);
        assert_eq!(found(range(1, 7, 5), 0), [0; 0], "an empty range");
    }

    #[test]
    fn what_a_large_transaction_took_is_given_back_and_a_clone_keeps_what_it_has() {
        let mut generation = Generation::default();
        let touch = |generation: &mut Generation, count: u64| {
            // Spread, as hashes are: the table looks at the highest bits, too.
            (0..count).for_each(|number| generation.touch(KeyHash(mix(number)), Timestamp(1)));
        };
        touch(&mut generation, 20_000);
        let usual = generation.touched.capacity();
        touch(&mut generation, 400_000);
        let clone = generation.clone();
        generation.clear(20_000);
        assert!(generation.touched.is_empty() && generation.touched.capacity() < 2 * usual);
        assert_eq!(clone.sorted_touches().len(), 400_000);
        touch(&mut generation, 400_000);
        generation.clear(20_000);
        assert!(generation.touched.is_empty() && generation.touched.capacity() < 2 * usual);
    }
}
