//! Entry changes: one commit's changes to all indexes, computed before the latch and applied under it. What an engine
//! keeps of indexes is told by `index/changes.rs`.

use crate::index::item::Item;
use crate::index::property_index::PropertyIndex;
use crate::index::removals::EntryKey;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use std::sync::Arc;
use std::time::Duration;

/// A value of an item, in an index.
#[derive(Clone, Debug)]
pub struct IndexEntry<I> {
    /// The index.
    pub index: Arc<PropertyIndex<I>>,
    /// What the value is filed under.
    pub key: EntryKey,
    /// The value once more for the list of changes, so that nothing is allocated under the latch.
    again: Option<Value>,
    /// The vertex or edge.
    pub item: I,
}

/// The entries of vertices, or of edges, that a commit changes.
#[derive(Debug)]
pub struct EntryChanges<I> {
    leaving: Vec<IndexEntry<I>>,
    entering: Vec<IndexEntry<I>>,
}

impl<I> Default for EntryChanges<I> {
    fn default() -> Self {
        Self { leaving: Vec::new(), entering: Vec::new() }
    }
}

impl<I: Item> EntryChanges<I> {
    /// `item`, whose value was `old`, has `new` from this commit on.
    pub fn note(&mut self, index: &Arc<PropertyIndex<I>>, item: I, old: Option<&Value>, new: Option<&Value>) {
        if old == new {
            return;
        }
        let entry =
            |value: &Value| IndexEntry { index: Arc::clone(index), key: index.key(value), again: None, item };
        self.leaving.extend(old.map(entry));
        self.entering
            .extend(new.map(entry).map(|entry| IndexEntry { again: entry.key.value.clone(), ..entry }));
    }

    /// The same, for an index whose entries the engine keeps: here it is told who enters only.
    pub fn note_entering(&mut self, index: &Arc<PropertyIndex<I>>, item: I, new: Option<&Value>) {
        self.note(index, item, None, new);
    }

    /// The values that enter.
    #[must_use]
    pub fn entering(&self) -> &[IndexEntry<I>] {
        &self.entering
    }

    /// Waits for builds that can't end while values enter: for at most `patience` each. Cost without such: a look at each.
    pub fn wait_for_builds(&self, patience: Duration) {
        self.entering.iter().for_each(|entry| entry.index.newcomers().wait_while_held(patience));
    }

    /// Changes the indexes. Under the latch; what it was stays allocated, to be freed after it.
    pub fn apply(&mut self, at: Timestamp) {
        // First what leaves: a value that comes back to its item calls the removal off.
        for entry in &mut self.leaving {
            let key = entry.take_key();
            entry.index.remove_later(at, key, entry.item);
        }
        for entry in &mut self.entering {
            let key = entry.take_key();
            entry.index.insert(at, key, entry.again.take(), entry.item);
        }
    }
}

impl<I> IndexEntry<I> {
    fn take_key(&mut self) -> EntryKey {
        EntryKey { hash: self.key.hash, value: self.key.value.take() }
    }
}
