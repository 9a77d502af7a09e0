//! Index entries: what one index of a store finds at the moment of a snapshot, and nothing else.
//!
//! ```text
//! engine's entries, or the front's   a superset  ─┐
//! properties at S                                ─┴> items that have the value, pairs in a range
//! no index that serves S             a scan of the label or type
//! ```
//!
//! A reader re-checks what an index says while it lays own writes over it. Whoever answers another machine re-checks here,
//! so that no candidate travels that is none: the other machine has the own writes, and takes the answer for exact.

use crate::engine::Engine;
use crate::index::directory::Indexed;
use crate::index::entry_bound::EntryBound;
use crate::index::item::Item;
use crate::index::property_index::PropertyIndex;
use crate::snapshot::handle::Snapshot;
use crate::snapshot::look_up::BATCH;
use crate::snapshot::reader::Reader;
use crate::view::{IndexAnswer, View};
use evergraph_graph::error::Result;
use evergraph_graph::id::GroupId;
use evergraph_graph::index::IndexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::value::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// Fails when whoever asks does not wait any more. Called before each batch of entries and each group of a scan.
pub type CheckTime<'c> = &'c dyn Fn() -> Result<()>;

impl<E: Engine> Snapshot<E> {
    /// Appends the first `limit` items greater than `after` that are filed under `value` in `index`, ascending, each once:
    /// fewer if these are all. Under what an item is filed, [`IndexId::entry_value`] says.
    ///
    /// Cost: a read of each candidate. If the store has no such index that serves this snapshot, a scan of the label or type,
    /// from `after` on.
    ///
    /// # Errors
    /// What `check_time` says; errors of reading.
    pub fn items_with_value<I: Indexed>(
        &self,
        index: IndexId,
        value: &Value,
        after: Option<I>,
        limit: usize,
        check_time: CheckTime<'_>,
        items: &mut Vec<I>,
    ) -> Result<()> {
        let reader = self.reader();
        match reader.serving::<I>(index) {
            Some(found) => reader.filed_items(&found, value, after, limit, check_time, items),
            None => reader.scanned_items(index, value, after, limit, check_time, items),
        }
    }

    /// Appends the first `limit` pairs that lie between two places of `index`, in its order or, if `descending`, in the
    /// reverse: from behind the first place, which is then the higher one, up to the second. Neither place is an answer.
    ///
    /// Cost: as [`Snapshot::items_with_value`]; a scan, which a hash index always needs, begins at the first group in every
    /// call.
    ///
    /// # Errors
    /// As [`Snapshot::items_with_value`].
    pub fn pairs_between<I: Indexed>(
        &self,
        index: IndexId,
        places: (&EntryBound<I>, &EntryBound<I>),
        descending: bool,
        limit: usize,
        check_time: CheckTime<'_>,
        pairs: &mut Vec<(Value, I)>,
    ) -> Result<()> {
        let reader = self.reader();
        match reader.serving::<I>(index).filter(|found| !found.is_hashed()) {
            Some(found) => reader.filed_pairs(&found, places, descending, limit, check_time, pairs),
            None => reader.scanned_pairs(index, places, descending, limit, check_time, pairs),
        }
    }
}

impl<V: View> Reader<'_, V> {
    fn serving<I: Indexed>(&self, index: IndexId) -> Option<Arc<PropertyIndex<I>>> {
        self.indexes.get::<I>(index).filter(|index| self.is_served_by(index))
    }

    /// Whether an item that an index names is filed there under `value` at this moment.
    fn is_filed<I: Item>(&self, index: IndexId, item: I, value: &Value) -> Result<bool> {
        let found = item.property(&self.view, index.key)?;
        Ok(found.is_some_and(|found| *index.entry_value(item.item_id(), Cow::Owned(found)) == *value))
    }

    fn filed_items<I: Indexed>(
        &self,
        index: &PropertyIndex<I>,
        value: &Value,
        mut after: Option<I>,
        limit: usize,
        check_time: CheckTime<'_>,
        items: &mut Vec<I>,
    ) -> Result<()> {
        let id = index.definition().id;
        let end = items.len().saturating_add(limit);
        let mut candidates = Vec::new();
        while items.len() < end {
            check_time()?;
            candidates.clear();
            let batch = (end - items.len()).clamp(BATCH.0, BATCH.1);
            let answer = self.view.candidates(id, value, after, batch, &mut candidates)?;
            if answer == IndexAnswer::No {
                index.candidates(value, after, batch, &mut candidates);
            }
            for item in &candidates {
                if items.len() < end && (answer == IndexAnswer::Exact || self.is_filed(id, *item, value)?) {
                    items.push(*item);
                }
            }
            if candidates.len() < batch {
                break;
            }
            after = candidates.last().copied();
        }
        Ok(())
    }

    fn filed_pairs<I: Indexed>(
        &self,
        index: &PropertyIndex<I>,
        (after, until): (&EntryBound<I>, &EntryBound<I>),
        descending: bool,
        limit: usize,
        check_time: CheckTime<'_>,
        pairs: &mut Vec<(Value, I)>,
    ) -> Result<()> {
        let id = index.definition().id;
        let end = pairs.len().saturating_add(limit);
        let (mut after, mut found) = (after.clone(), Vec::new());
        while pairs.len() < end {
            check_time()?;
            found.clear();
            let batch = (end - pairs.len()).clamp(BATCH.0, BATCH.1);
            let answer = self.view.between(id, (&after, until), descending, batch, &mut found)?;
            if answer == IndexAnswer::No {
                index.between(&after, until, descending, batch, &mut found);
            }
            let is_last = found.len() < batch;
            if let Some((value, item)) = found.last() {
                after = EntryBound::At(value.clone(), Some(*item));
            }
            for (value, item) in found.drain(..) {
                if pairs.len() < end && (answer == IndexAnswer::Exact || self.is_filed(id, item, &value)?) {
                    pairs.push((value, item));
                }
            }
            if is_last {
                break;
            }
        }
        Ok(())
    }

    fn scanned_items<I: Indexed>(
        &self,
        index: IndexId,
        value: &Value,
        after: Option<I>,
        limit: usize,
        check_time: CheckTime<'_>,
        items: &mut Vec<I>,
    ) -> Result<()> {
        let end = items.len().saturating_add(limit);
        let first = after.map_or(GroupId(0), group_of);
        for group in (first.0..self.view.group_count()).map(GroupId) {
            if items.len() >= end {
                break;
            }
            check_time()?;
            I::for_each_in(&self.view, index, group, &mut |item, filed| {
                if items.len() < end && filed == *value && after.is_none_or(|after| item > after) {
                    items.push(item);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn scanned_pairs<I: Indexed>(
        &self,
        index: IndexId,
        (after, until): (&EntryBound<I>, &EntryBound<I>),
        descending: bool,
        limit: usize,
        check_time: CheckTime<'_>,
        pairs: &mut Vec<(Value, I)>,
    ) -> Result<()> {
        let (low, high) = if descending { (until, after) } else { (after, until) };
        let keep_first = |found: &mut Vec<(Value, I)>| {
            match descending {
                true => found.sort_unstable_by(|one, other| other.cmp(one)),
                false => found.sort_unstable(),
            }
            found.truncate(limit);
        };
        // As many as are wanted and as many again, at most, however many there are.
        let kept_max = limit.saturating_mul(2).max(BATCH.1);
        let mut found = Vec::new();
        for group in (0..self.view.group_count()).map(GroupId) {
            check_time()?;
            I::for_each_in(&self.view, index, group, &mut |item, filed| {
                if low.cmp_entry(&filed, item).is_lt() && high.cmp_entry(&filed, item).is_gt() {
                    found.push((filed, item));
                    if found.len() >= kept_max {
                        keep_first(&mut found);
                    }
                }
                Ok(())
            })?;
        }
        keep_first(&mut found);
        pairs.append(&mut found);
        Ok(())
    }
}

/// The group whose scan finds an item.
fn group_of<I: Item>(item: I) -> GroupId {
    match item.item_id() {
        ItemId::Vertex(vertex) => vertex.group(),
        ItemId::Edge(edge) => edge.source.group(),
    }
}
