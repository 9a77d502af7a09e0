//! Change list: values that recently got a new holder, to answer "newer than S?" under the latch.
//!
//! ```text
//! order    (ts 7, #a) (ts 9, #b) (ts 9, #c) (ts 12, #a)    oldest is dropped first
//! entries  (value, item) of each, where the index has an order
//! newest   #a -> 12   #b -> 9   #c -> 9                     one look a question of equality
//! floor    6: everything newer is in the list
//! ```
//!
//! A range is asked by a walk over what is newer than S, newest first.
//!
//! A bounded memory: beyond its budget the oldest entries go and raise the floor, below which the
//! answer is [`ChangedSince::Forgotten`], a conflict. Equal hashes of different values may answer `Yes`
//! without cause; the transaction runs again and finds nothing.
//!
//! Source: core-protocol sections 2 and 6.

use crate::engine::ChangedSince;
use crate::index::entry_bound::EntryBound;
use crate::index::item::Item;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use hashbrown::HashTable;
use std::collections::VecDeque;

/// The latest changes of one index.
#[derive(Debug)]
pub struct ChangeList<I> {
    order: VecDeque<(Timestamp, u32)>,
    /// What was entered, beside `order`; stays empty for an index without an order.
    entries: VecDeque<(Value, I)>,
    newest: HashTable<(u32, Timestamp)>,
    floor: Timestamp,
    entries_max: usize,
}

impl<I: Item> ChangeList<I> {
    /// Knows everything after `floor`, of which there is nothing yet; keeps at most `entries_max`.
    #[must_use]
    pub fn new(floor: Timestamp, entries_max: usize) -> Self {
        Self {
            order: VecDeque::new(),
            entries: VecDeque::new(),
            newest: HashTable::new(),
            floor,
            entries_max,
        }
    }

    /// Whether `hash` gained a holder after `since`.
    #[must_use]
    pub fn newer(&self, hash: u32, since: Timestamp) -> ChangedSince {
        match self.newest.find(spread(hash), |entry| entry.0 == hash) {
            Some((_, at)) if !at.visible_at(since) => ChangedSince::Yes,
            _ if since < self.floor => ChangedSince::Forgotten,
            _ => ChangedSince::No,
        }
    }

    /// Whether any value gained a holder after `since`.
    #[must_use]
    pub fn any_newer(&self, since: Timestamp) -> ChangedSince {
        match self.order.back() {
            Some((at, _)) if !at.visible_at(since) => ChangedSince::Yes,
            _ if since < self.floor => ChangedSince::Forgotten,
            _ => ChangedSince::No,
        }
    }

    /// Whether a value between two places of an index with an order gained a holder after `since`. Cost:
    /// linear in all that changed after `since`.
    #[must_use]
    pub fn newer_between(&self, low: &EntryBound<I>, high: &EntryBound<I>, since: Timestamp) -> ChangedSince {
        let newer = self.order.iter().rev().take_while(|(at, _)| !at.visible_at(since));
        let mut entries = self.entries.iter().rev().zip(newer).map(|(entry, _)| entry);
        let between = |(value, item): &(Value, I)| {
            low.cmp_entry(value, *item).is_lt() && high.cmp_entry(value, *item).is_gt()
        };
        match entries.any(between) {
            true => ChangedSince::Yes,
            false if since < self.floor => ChangedSince::Forgotten,
            false => ChangedSince::No,
        }
    }

    /// Notes that `hash` gained a holder at `at`, which is no older than any before; `entry` is its value
    /// and the holder, if the index has an order.
    pub fn push(&mut self, at: Timestamp, hash: u32, entry: Option<(Value, I)>) {
        self.order.push_back((at, hash));
        self.entries.extend(entry);
        let entry = self.newest.entry(spread(hash), |entry| entry.0 == hash, |entry| spread(entry.0));
        entry.and_modify(|entry| entry.1 = at).or_insert((hash, at));
        if self.order.len() > self.entries_max {
            self.pop();
        }
    }

    /// Notes that all of `hashes` gained holders at `at`, in an index without an order. More than it may keep are forgotten at once.
    pub fn push_all(&mut self, at: Timestamp, hashes: impl ExactSizeIterator<Item = u32>) {
        if hashes.len() > self.entries_max {
            self.forget_through(at);
            self.floor = at;
            return;
        }
        hashes.for_each(|hash| self.push(at, hash, None));
    }

    /// Forgets what no writer asks about any more: changes visible at `oldest`.
    pub fn forget_through(&mut self, oldest: Timestamp) {
        while self.order.front().is_some_and(|(at, _)| at.visible_at(oldest)) {
            self.pop();
        }
        if self.order.is_empty() {
            self.order = VecDeque::new();
            self.entries = VecDeque::new();
            self.newest = HashTable::new();
        }
    }

    /// Entries in the list.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether nothing changed lately.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    fn pop(&mut self) {
        let Some((at, hash)) = self.order.pop_front() else { return };
        self.entries.pop_front();
        self.floor = at;
        if let Ok(entry) = self.newest.find_entry(spread(hash), |entry| *entry == (hash, at)) {
            entry.remove();
        }
    }
}

/// A 32-bit hash as the 64 bits that a hash table wants: it takes the place from the low bits and
/// a tag from the high ones.
#[inline]
pub(crate) fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::VertexId;
    use evergraph_graph::timestamp::Timestamp as T;
    use proptest::prelude::*;

    #[test]
    fn a_dropped_change_is_forgotten_and_never_denied() {
        let mut list = ChangeList::<VertexId>::new(T(3), 2);
        assert_eq!((list.newer(1, T(3)), list.newer(1, T(2))), (ChangedSince::No, ChangedSince::Forgotten));
        list.push(T(5), 1, None);
        list.push(T(6), 2, None);
        list.push(T(8), 3, None);
        assert_eq!(list.newer(1, T(4)), ChangedSince::Forgotten, "the change at 5 was dropped");
        assert_eq!(
            (list.newer(1, T(5)), list.newer(2, T(5)), list.newer(2, T(6))),
            (ChangedSince::No, ChangedSince::Yes, ChangedSince::No)
        );
    }

    #[test]
    fn many_changes_at_once_are_known_or_forgotten_and_never_denied() {
        for (hashes, known) in [(vec![1, 2], ChangedSince::Yes), (vec![1, 2, 3], ChangedSince::Forgotten)] {
            let mut list = ChangeList::<VertexId>::new(T(3), 2);
            list.push(T(5), 9, None);
            list.push_all(T(8), hashes.into_iter());
            assert_eq!((list.newer(1, T(7)), list.newer(1, T(8))), (known, ChangedSince::No));
            assert_ne!(list.newer(9, T(4)), ChangedSince::No);
        }
    }

    proptest! {
        #[test]
        fn the_list_answers_as_a_full_history_or_says_that_it_forgot(
            changes in proptest::collection::vec((0u64..3, 0u32..4), 0..40),
            entries_max in 1usize..20, forget in 0u64..30,
        ) {
            let mut list = ChangeList::<VertexId>::new(T(0), entries_max);
            let (mut at, mut history) = (T(1), Vec::new());
            for (step, hash) in changes {
                at = T(at.0 + step);
                let value = Value::from(i64::from(hash));
                list.push(at, hash, Some((value, VertexId(hash))));
                history.push((at, hash));
                prop_assert!(list.len() <= entries_max);
            }
            list.forget_through(T(forget));
            for since in 0..at.0 + 2 {
                for (low, high) in [(0, 0), (1, 2), (0, 3)] {
                    let newer = |changed: &u32| (low..=high).contains(changed);
                    let truth = history.iter().any(|(at, changed)| newer(changed) && at.0 > since);
                    let place = |hash: u32, item| EntryBound::At(Value::from(i64::from(hash)), item);
                    let (from, to) = (place(low, None), place(high + 1, None));
                    match list.newer_between(&from, &to, T(since)) {
                        ChangedSince::Yes => prop_assert!(truth),
                        ChangedSince::No => prop_assert!(!truth),
                        ChangedSince::Forgotten => prop_assert!(since < list.floor.0),
                    }
                    let any = list.any_newer(T(since));
                    prop_assert!(!truth || any != ChangedSince::No);
                }
                for hash in 0..4 {
                    let truth = history.iter().any(|(at, changed)| *changed == hash && at.0 > since);
                    match list.newer(hash, T(since)) {
                        ChangedSince::Yes => prop_assert!(truth),
                        ChangedSince::No => prop_assert!(!truth),
                        ChangedSince::Forgotten => prop_assert!(since < list.floor.0),
                    }
                }
            }
        }
    }
}
