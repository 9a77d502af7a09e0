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

    /// The subjects of all indexes, and those of them that are being built. Cost: a copy.
    #[must_use]
    pub fn subjects(&self) -> (BTreeSet<Subject>, BTreeSet<Subject>) {
        let indexes = self.indexes.load();
        let building = |index: &&StoredIndex| index.state == StoredIndexState::Building;
        (
            indexes.values().map(|index| index.subject).collect(),
            indexes.values().filter(building).map(|index| index.subject).collect(),
        )
    }
}
