//! Index table: which indexes the engine has, and under which subjects their entries lie.
//!
//! ```text
//! begin      a fresh subject; commits enter from now on      building: no merge drops its Deletes
//! fill       the scan's entries lie below everything         filled:   views answer for it
//! complete   the commit that makes it ready                  ready:    the next checkpoint names it
//! drop       a build that ended, an index that was dropped   nowhere:  merges leave its entries out
//! ```
//!
//! A subject is never used twice: entries of an index that was dropped may lie in files for long, and in the log. A
//! manifest names the next one, and replay steps over those that the log names.
//!
//! Source: disk-engine, section 7, and its model (`models/disk-protocol`).

use crate::format::subject::Subject;
use evergraph_graph::index::IndexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use evergraph_storage::sync::{ArcCell, Mutex};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How far an index is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoredIndexState {
    /// Commits enter; the scan is not in the files yet.
    Building,
    /// The scan is in the files.
    Filled,
    /// It answers, since this commit.
    Ready(Timestamp),
}

/// An index of the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoredIndex {
    /// What its entries lie under.
    pub subject: Subject,
    /// How far it is.
    pub state: StoredIndexState,
}

/// The indexes at one moment.
pub type StoredIndexes = BTreeMap<IndexId, StoredIndex>;

/// Indexes that were being built when somebody looked, before a set of files was taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeenBuilds {
    building: BTreeSet<Subject>,
    next_subject: u32,
}

impl SeenBuilds {
    /// The subjects that may have Deletes in the set without the scan that these hide: those that were being built, and
    /// those of `kept`, looked for after the set was taken, that began in between, however far they are by now.
    #[must_use]
    pub fn without_scan(mut self, kept: &BTreeSet<Subject>) -> BTreeSet<Subject> {
        self.building.extend(kept.iter().filter(|subject| subject.number() >= self.next_subject));
        self.building
    }
}

/// The indexes of an engine.
///
/// # Concurrency
/// Anybody looks. They change under the commit latch, or before the engine is shared; the lock is that of the next subject,
/// a leaf.
#[derive(Debug)]
pub struct IndexTable {
    indexes: ArcCell<StoredIndexes>,
    next_subject: Mutex<u32>,
    /// Until which commit indexes that are ready are named by a manifest. Relaxed: a checkpoint more or less.
    named_through: AtomicU64,
}

impl IndexTable {
    /// Of what a manifest names: indexes that were ready, and the number of the next subject.
    #[must_use]
    pub fn new(stored: impl IntoIterator<Item = (IndexId, Subject)>, next_subject: u32) -> Self {
        let state = StoredIndexState::Ready(Timestamp::ZERO);
        let indexes = stored.into_iter().map(|(id, subject)| (id, StoredIndex { subject, state })).collect();
        let named_through = AtomicU64::new(0);
        Self {
            indexes: ArcCell::new(Arc::new(indexes)),
            next_subject: Mutex::new(next_subject),
            named_through,
        }
    }

    /// The indexes of this moment.
    #[must_use]
    pub fn load(&self) -> Arc<StoredIndexes> {
        self.indexes.load_full()
    }

    fn change(&self, change: impl FnOnce(&mut StoredIndexes)) {
        let mut indexes = StoredIndexes::clone(&self.indexes.load());
        change(&mut indexes);
        self.indexes.swap(Arc::new(indexes));
    }

    /// The number that the next index gets.
    #[must_use]
    pub fn next_subject(&self) -> u32 {
        *self.next_subject.lock()
    }

    /// Steps over a subject that a log names.
    pub fn step_over(&self, subject: Subject) {
        let mut next = self.next_subject.lock();
        *next = (*next).max(subject.number().saturating_add(1));
    }

    /// Adds an index under a subject that none ever had; false if there are no more.
    pub fn begin(&self, id: IndexId) -> bool {
        let Some(subject) = self.take_subject() else { return false };
        self.change(|all| _ = all.insert(id, StoredIndex { subject, state: StoredIndexState::Building }));
        true
    }

    /// The state of an index becomes `state`, if its entries lie under `subject` still.
    pub fn set_state(&self, id: IndexId, subject: Subject, state: StoredIndexState) {
        self.change(|all| {
            if let Some(index) = all.get_mut(&id).filter(|index| index.subject == subject) {
                index.state = state;
            }
        });
    }

    /// An index becomes ready with the commit `at`.
    pub fn complete(&self, id: IndexId, at: Timestamp) {
        self.change(|all| {
            if let Some(index) = all.get_mut(&id) {
                index.state = StoredIndexState::Ready(at);
            }
        });
    }

    /// Takes a subject that no index ever had; `None` if there are no more.
    pub fn take_subject(&self) -> Option<Subject> {
        let mut next = self.next_subject.lock();
        if planted(Bug::SubjectUsedTwice)
            && let Some(last) = next.checked_sub(1).and_then(Subject::from_number)
        {
            return Some(last);
        }
        let subject = Subject::from_number(*next)?;
        *next = next.checked_add(1)?;
        Some(subject)
    }

    /// Adds an index that became ready with a load, the commit `at`.
    pub fn add_ready(&self, id: IndexId, subject: Subject, at: Timestamp) {
        self.change(|all| _ = all.insert(id, StoredIndex { subject, state: StoredIndexState::Ready(at) }));
    }

    /// A manifest names all indexes that were ready with the commit `through`.
    pub fn named(&self, through: Timestamp) {
        self.named_through.store(through.0, Ordering::Relaxed);
    }

    /// Whether an index is ready that no manifest names. Cost: a look at each.
    #[must_use]
    pub fn has_unnamed(&self) -> bool {
        let named = self.named_through.load(Ordering::Relaxed);
        let is_unnamed =
            |index: &StoredIndex| matches!(index.state, StoredIndexState::Ready(at) if at.0 > named);
        self.indexes.load().values().any(is_unnamed)
    }

    /// Indexes that are ready, as a manifest names them.
    #[must_use]
    pub fn ready(&self) -> Vec<(IndexId, Subject)> {
        let is_ready = |index: &StoredIndex| matches!(index.state, StoredIndexState::Ready(_));
        let indexes = self.indexes.load();
        indexes.iter().filter(|(_, index)| is_ready(index)).map(|(id, index)| (*id, index.subject)).collect()
    }

    /// Removes an index.
    pub fn remove(&self, id: IndexId) {
        self.change(|all| _ = all.remove(&id));
    }

    /// Removes those that `is_kept` doesn't name.
    pub fn retain(&self, is_kept: impl Fn(IndexId) -> bool) {
        self.change(|all| all.retain(|id, _| is_kept(*id)));
    }

    /// The subjects of all indexes. Cost: a copy.
    #[must_use]
    pub fn subjects(&self) -> BTreeSet<Subject> {
        self.indexes.load().values().map(|index| index.subject).collect()
    }

    /// Which indexes are being built. Cost: a copy.
    #[must_use]
    pub fn builds(&self) -> SeenBuilds {
        // The number first: who begins after that has it, or a later one.
        let next_subject = self.next_subject();
        let indexes = self.indexes.load();
        let building = indexes.values().filter(|index| index.state == StoredIndexState::Building);
        SeenBuilds { building: building.map(|index| index.subject).collect(), next_subject }
    }
}

#[cfg(all(test, not(any(shuttle, loom))))]
mod tests {
    use super::*;
    use evergraph_graph::catalogue::Owner;
    use evergraph_graph::id::{KeyId, LabelId};
    use evergraph_graph::index::IndexKind;

    fn id(key: u16) -> IndexId {
        IndexId { owner: Owner::Label(LabelId(0)), key: KeyId(key), kind: IndexKind::Hash }
    }

    fn subject(table: &IndexTable, id: IndexId) -> Subject {
        table.load()[&id].subject
    }

    /// A merge looks, takes a set of files, and looks again. An index that began in between may have Deletes in that set,
    /// and not its scan, even if it is filled by the second look.
    #[test]
    fn an_index_that_begins_between_two_looks_of_a_merge_keeps_its_deletes() {
        let table = IndexTable::new([], 1 << 24);
        let [ready, building, later, filled] = [0, 1, 2, 3].map(id);
        assert!(table.begin(ready) && table.begin(building));
        table.complete(ready, Timestamp(5));
        let seen = table.builds();
        assert!(table.begin(later) && table.begin(filled));
        table.set_state(filled, subject(&table, filled), StoredIndexState::Filled);
        let without_scan = seen.without_scan(&table.subjects());
        let expected = [building, later, filled].map(|id| subject(&table, id));
        assert_eq!(without_scan, BTreeSet::from(expected));
    }
}
