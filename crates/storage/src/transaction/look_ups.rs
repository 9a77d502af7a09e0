//! Look-ups: the values and ranges that a serialisable transaction looked up, by index.
//!
//! An answer changes when a value gains a holder, which the index's list of changes tells, or when a
//! holder loses it, which the transaction sees as the property that it read to check the candidate.

use crate::engine::ChangedSince;
use crate::index::directory::{Indexed, Indexes};
use crate::index::entry_bound::EntryBound;
use crate::index::property_index::PropertyIndex;
use crate::planted::{Bug, planted};
use crate::sync::Mutex;
use crate::transaction::stale::StaleRead;
use evergraph_graph::index::IndexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use std::collections::HashSet;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

/// Takes notes of look-ups where a log that several stores share checks them, in the log's own terms.
///
/// Concurrency: any thread notes.
pub trait NoteLookUps: Send + Sync + fmt::Debug {
    /// The items with `value` were asked for.
    fn note_value(&self, index: IndexId, value: &Value);

    /// The entries of a range were asked for: a superset of those that were read.
    fn note_range(&self, index: IndexId, low: Bound<&Value>, high: Bound<&Value>);
}

/// Reads of one segment, or of one index, that are kept one by one.
pub const APART_MAX: usize = 4096;

/// What was looked up in indexes of vertices, or of edges.
#[derive(Debug)]
pub struct IndexReads<I>(Mutex<Vec<IndexRead<I>>>);

impl<I> Default for IndexReads<I> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// What was looked up in one index.
#[derive(Debug)]
struct IndexRead<I> {
    index: Arc<PropertyIndex<I>>,
    hashes: HashSet<u32>,
    ranges: Vec<(EntryBound<I>, EntryBound<I>)>,
    /// Too much to tell apart: any change of the index counts.
    whole: bool,
}

impl<I: Indexed> IndexReads<I> {
    /// The items with `value` were asked for.
    pub fn note_value(&self, index: &Arc<PropertyIndex<I>>, value: &Value) {
        let hash = index.hash_of(value);
        self.note(index, |entry| {
            entry.hashes.insert(hash);
        });
    }

    /// The entries between two places were asked for.
    pub fn note_range(&self, index: &Arc<PropertyIndex<I>>, low: EntryBound<I>, high: EntryBound<I>) {
        self.note(index, |entry| entry.ranges.push((low, high)));
    }

    fn note(&self, index: &Arc<PropertyIndex<I>>, note: impl FnOnce(&mut IndexRead<I>)) {
        let mut all = self.0.lock();
        let at = all.iter().position(|entry| Arc::ptr_eq(&entry.index, index)).unwrap_or_else(|| {
            let index = Arc::clone(index);
            all.push(IndexRead { index, hashes: HashSet::new(), ranges: Vec::new(), whole: false });
            all.len() - 1
        });
        let entry = &mut all[at];
        if entry.whole || planted(Bug::LookUpsNotChecked) {
            return;
        }
        note(entry);
        if entry.hashes.len() + entry.ranges.len() > APART_MAX {
            (entry.hashes, entry.ranges, entry.whole) = (HashSet::new(), Vec::new(), true);
        }
    }

    /// The first look-up whose answer changed after `since`. Indexes without any change after
    /// `checked`, up to which all was looked at before, are passed over.
    pub fn stale(
        &self,
        indexes: &Indexes,
        since: Timestamp,
        checked: Option<Timestamp>,
    ) -> Option<StaleRead> {
        self.0.lock().iter().find_map(|entry| {
            let id = entry.index.definition().id;
            if !indexes.get::<I>(id).is_some_and(|now| Arc::ptr_eq(now, &entry.index)) {
                return Some(StaleRead::Dropped(id));
            }
            if checked.is_some_and(|checked| entry.index.any_newer(checked) == ChangedSince::No) {
                return None;
            }
            let newer = entry.newer(since);
            (newer != ChangedSince::No).then_some(StaleRead::Entered(id, newer))
        })
    }

    /// Whether nothing was looked up.
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }
}

impl<I: Indexed> IndexRead<I> {
    fn newer(&self, since: Timestamp) -> ChangedSince {
        if self.whole {
            return self.index.any_newer(since);
        }
        let hashes = self.hashes.iter().map(|hash| self.index.newer(*hash, since));
        let ranges = self.ranges.iter().map(|(low, high)| self.index.newer_between(low, high, since));
        hashes.chain(ranges).find(|newer| *newer != ChangedSince::No).unwrap_or(ChangedSince::No)
    }
}
