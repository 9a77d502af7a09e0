//! Index table: which indexes there are, and under which numbers their entries lie.
//!
//! ```text
//! begin      a number that none ever had; commits enter from now on    building: no merge, until the scan lies below
//! fill       the scan's entries are a body                             filled:   merged as any segment
//! complete   the commit that makes it ready                            ready:    the next checkpoint names it
//! drop       a build that ended, an index that was dropped             nowhere:  a merge leaves nothing of it, once the drop
//!                                                                                is readable: earlier snapshots look up in it
//! ```
//!
//! A number is never used twice: the log may name it for long. A manifest names the next one, and replay steps over those that
//! the log names.
//!
//! Source: disk-engine, section 7.

use crate::entries::entry::EntryForm;
use crate::files::section::FIRST_INDEX;
use crate::files::segment_id::SegmentId;
use evergraph_graph::index::IndexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::atomic::{AtomicUsize, Ordering};
use evergraph_storage::sync::{ArcCell, Mutex};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How far an index is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoredIndexState {
    /// Commits enter; what was there before isn't in it.
    Building,
    /// All is in it.
    Filled,
    /// It answers, since this commit.
    Ready(Timestamp),
}

/// An index whose entries lie here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoredIndex {
    /// The number of its segment.
    pub number: u32,
    /// How far it is.
    pub state: StoredIndexState,
}

/// The indexes at one moment.
pub type StoredIndexes = BTreeMap<IndexId, StoredIndex>;

/// The indexes at one moment, by their ids and by their numbers. Merges look each segment's index up by its number.
#[derive(Debug, Default)]
struct ListedIndexes {
    by_id: Arc<StoredIndexes>,
    /// How far the index of each number is.
    states: BTreeMap<u32, StoredIndexState>,
}

/// The indexes of the process that writes.
///
/// # Concurrency
/// Anybody looks. The lock is that of changes, a leaf, and held for a copy: they are made under the latch, by a load, or before
/// the engine is shared.
#[derive(Debug)]
pub struct IndexTable {
    indexes: ArcCell<ListedIndexes>,
    /// How many of them are being built. Relaxed: it says when to look.
    building: AtomicUsize,
    numbers: Mutex<IndexNumbers>,
}

#[derive(Debug)]
struct IndexNumbers {
    /// What the next index gets.
    next: u32,
    /// Numbers of indexes that answered and were dropped, with the commit that did so.
    dropped: BTreeMap<u32, Timestamp>,
}

impl Default for IndexTable {
    fn default() -> Self {
        let numbers = IndexNumbers { next: FIRST_INDEX, dropped: BTreeMap::new() };
        let building = AtomicUsize::new(0);
        Self { indexes: ArcCell::new(Arc::default()), building, numbers: Mutex::new(numbers) }
    }
}

impl IndexTable {
    /// The indexes of this moment.
    #[must_use]
    pub fn load(&self) -> Arc<StoredIndexes> {
        Arc::clone(&self.indexes.load().by_id)
    }

    fn change(&self, change: impl FnOnce(&mut StoredIndexes)) {
        let _one = self.numbers.lock();
        let mut indexes = StoredIndexes::clone(&self.indexes.load().by_id);
        change(&mut indexes);
        let states: BTreeMap<u32, StoredIndexState> =
            indexes.values().map(|index| (index.number, index.state)).collect();
        let building = states.values().filter(|state| **state == StoredIndexState::Building).count();
        self.indexes.swap(Arc::new(ListedIndexes { by_id: Arc::new(indexes), states }));
        self.building.store(building, Ordering::Relaxed);
    }

    /// The numbers of those that are being built. Cost: mostly a look, since there are none.
    #[must_use]
    pub fn building(&self) -> Vec<u32> {
        if self.building.load(Ordering::Relaxed) == 0 {
            return Vec::new();
        }
        let indexes = self.indexes.load();
        let building = indexes.states.iter().filter(|(_, state)| **state == StoredIndexState::Building);
        building.map(|(number, _)| *number).collect()
    }

    /// These are there, ready, and the next one gets `next`. Before the engine is shared.
    pub fn found(&self, indexes: &[(IndexId, u32)], next: u32) {
        let state = StoredIndexState::Ready(Timestamp::ZERO);
        self.change(|all| {
            all.extend(indexes.iter().map(|(id, number)| (*id, StoredIndex { number: *number, state })));
        });
        self.step_over(next - 1);
    }

    /// The number that the next index gets.
    #[must_use]
    pub fn next(&self) -> u32 {
        self.numbers.lock().next
    }

    /// Steps over a number that a log names.
    pub fn step_over(&self, number: u32) {
        let next = &mut self.numbers.lock().next;
        *next = (*next).max(number.saturating_add(1));
    }

    /// A number that none ever had; `None` if there are no more.
    pub fn take_number(&self) -> Option<u32> {
        let next = &mut self.numbers.lock().next;
        let number = *next;
        SegmentId::index(number)?;
        *next += 1;
        Some(number)
    }

    /// Adds an index under a number that none ever had; without one if there are no more.
    pub fn begin(&self, id: IndexId) {
        let number = self.take_number();
        self.change(|all| {
            all.remove(&id);
            let state = StoredIndexState::Building;
            all.extend(number.map(|number| (id, StoredIndex { number, state })));
        });
    }

    /// The scan of an index lies in it, if it has this number still.
    pub fn filled(&self, id: IndexId, number: u32) {
        self.change(|all| {
            if let Some(index) = all.get_mut(&id).filter(|index| index.number == number) {
                index.state = StoredIndexState::Filled;
            }
        });
    }

    /// An index answers from the commit `at` on.
    pub fn complete(&self, id: IndexId, at: Timestamp) {
        self.change(|all| {
            if let Some(index) = all.get_mut(&id) {
                index.state = StoredIndexState::Ready(at);
            }
        });
    }

    /// Adds an index that became ready with a load, the commit `at`.
    pub fn add_ready(&self, id: IndexId, number: u32, at: Timestamp) {
        self.change(|all| _ = all.insert(id, StoredIndex { number, state: StoredIndexState::Ready(at) }));
    }

    /// Removes an index, whose drop is the commit `at`; its number.
    pub fn remove(&self, id: IndexId, at: Timestamp) -> Option<u32> {
        let StoredIndex { number, state } = self.indexes.load().by_id.get(&id).copied()?;
        // Nobody looks up in one that isn't ready, and what takes such a one back need not be a commit.
        if matches!(state, StoredIndexState::Ready(_)) {
            self.numbers.lock().dropped.insert(number, at);
        }
        self.change(|all| _ = all.remove(&id));
        Some(number)
    }

    /// Whether no index has this number any more, and who reads at `readable` or later knows that.
    #[must_use]
    pub fn is_gone(&self, number: u32, readable: Timestamp) -> bool {
        let dropped_at = || self.numbers.lock().dropped.get(&number).copied().unwrap_or(Timestamp::ZERO);
        self.state_of(number).is_none()
            && (dropped_at().visible_at(readable) || planted(Bug::IndexEmptiedEarly))
    }

    /// Removes those that `is_kept` doesn't name.
    pub fn retain(&self, is_kept: impl Fn(IndexId) -> bool) {
        self.change(|all| all.retain(|id, _| is_kept(*id)));
    }

    /// Those that are ready, as a manifest names them.
    #[must_use]
    pub fn ready(&self) -> Vec<(IndexId, u32)> {
        let is_ready = |index: &StoredIndex| matches!(index.state, StoredIndexState::Ready(_));
        let indexes = self.indexes.load();
        indexes
            .by_id
            .iter()
            .filter(|(_, index)| is_ready(index))
            .map(|(id, index)| (*id, index.number))
            .collect()
    }

    /// How far the index of this number is; `None` if there is none any more. Cost: a look-up.
    #[must_use]
    pub fn state_of(&self, number: u32) -> Option<StoredIndexState> {
        self.indexes.load().states.get(&number).copied()
    }
}

/// The form of the entries of the index with this number.
#[must_use]
pub fn form_of(indexes: &StoredIndexes, number: u32) -> Option<EntryForm> {
    indexes.iter().find(|(_, index)| index.number == number).map(|(id, _)| EntryForm::of(*id))
}
