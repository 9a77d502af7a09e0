//! Newest edges of a reader: the order of the engine's lists or of an index, combined with own writes, or a sorted list.

use crate::index::entry_bound::EntryBound;
use crate::snapshot::reader::Reader;
use crate::transaction::fitting::fitted;
use crate::transaction::writes::EdgeWrite;
use crate::view::{IndexAnswer, View};
use evergraph_graph::catalogue::Owner;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, KeyId};
use evergraph_graph::index::IndexId;
use evergraph_graph::look_up::{OrderedMatches, RangeCursor, ValueRange};
use evergraph_graph::newest::{NewestEdges, Overlay, Stamped, moved};
use evergraph_graph::newest_entry::{EntryPlace, places, value_of};
use evergraph_graph::value::Value;
use evergraph_graph::view::{GraphView, newest_by_sorting};
use std::ops::Bound;

impl<V: View> Reader<'_, V> {
    /// As [`evergraph_graph::view::GraphView::newest_with_properties`].
    pub(crate) fn newest_edges_with_properties(
        &self,
        asked: &NewestEdges,
        cursor: &mut RangeCursor<EdgeId>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
        keys: &[KeyId],
        columns: &mut [Column],
    ) -> Result<()> {
        assert_eq!(keys.len(), columns.len(), "a column for each key");
        let before = ranked.items.len();
        let mut own = self.writes.edges_of(asked.source, asked.edge_type, Direction::Out);
        if self.catalogue.newest_first(asked.edge_type) == Some(asked.key) && own.next().is_none() {
            let after = cursor.after.as_ref();
            if self.view.newest_with_properties(asked, after, limit, ranked, keys, columns)? {
                moved(cursor, before, limit, ranked);
                return Ok(());
            }
        }
        self.newest_edges(asked, cursor, limit, ranked)?;
        let mut columns = keys.iter().zip(columns);
        columns.try_for_each(|(key, column)| self.edge_properties(&ranked.items[before..], *key, column))
    }

    /// As [`evergraph_graph::view::GraphView::newest`].
    pub(crate) fn newest_edges(
        &self,
        asked: &NewestEdges,
        cursor: &mut RangeCursor<EdgeId>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
    ) -> Result<()> {
        if self.catalogue.newest_first(asked.edge_type) != Some(asked.key) {
            return newest_by_sorting(self, asked, cursor, limit, ranked);
        }
        let after = cursor.after.as_ref();
        let mut own = Overlay::new(asked, after);
        for (edge, write) in self.writes.edges_of(asked.source, asked.edge_type, Direction::Out) {
            use EdgeWrite::{Add, Delete, Insert, Replace, Set};
            match write {
                Add(all) | Insert(all) | Replace(all) => own.change(edge, all.get(asked.key).flatten()),
                Delete => own.change(edge, None),
                Set(changes) => {
                    if let Some(value) = changes.get(asked.key) {
                        own.change(edge, value);
                    }
                }
            }
        }
        let before = ranked.items.len();
        if own.is_empty() {
            if !self.stored_newest(asked, after, limit, ranked)? {
                return newest_by_sorting(self, asked, cursor, limit, ranked);
            }
        } else {
            // As many as may drop out are read more.
            let mut stored = OrderedMatches::default();
            if !self.stored_newest(asked, after, limit.saturating_add(own.len()), &mut stored)? {
                return newest_by_sorting(self, asked, cursor, limit, ranked);
            }
            own.lay_over(stored.values.into_iter().zip(stored.items), limit, ranked);
        }
        moved(cursor, before, limit, ranked);
        Ok(())
    }

    /// As [`View::newest`], and by an index of kind `newest` where the engine's lists have no order.
    fn stored_newest(
        &self,
        asked: &NewestEdges,
        after: Option<&Stamped>,
        limit: usize,
        ranked: &mut OrderedMatches<EdgeId>,
    ) -> Result<bool> {
        if self.view.newest(asked, after, limit, ranked)? {
            return Ok(true);
        }
        let id = IndexId::newest(asked.edge_type, asked.key);
        let index = self.catalogue.index(id).and_then(|_| self.indexes.get::<EdgeId>(id));
        let Some(index) = index.filter(|index| self.is_served_by(index)) else { return Ok(false) };
        let (high, low) = places(&self.fitting_range(asked), after);
        let (mut high, low) = (bound_of(high), bound_of(low));
        let end = ranked.items.len().saturating_add(limit);
        let mut pairs = Vec::new();
        while ranked.items.len() < end {
            pairs.clear();
            let batch = (end - ranked.items.len()).clamp(BATCH.0, BATCH.1);
            let answer = self.view.between(id, (&high, &low), true, batch, &mut pairs)?;
            if answer == IndexAnswer::No {
                index.between(&high, &low, true, batch, &mut pairs);
            }
            let is_last = pairs.len() < batch;
            for (entry, edge) in pairs.drain(..) {
                let value = value_of(&entry).ok_or_else(|| not_an_entry(edge))?;
                if asked.range.begins_after(&value) || ranked.items.len() == end {
                    return Ok(true);
                }
                let is_there = answer == IndexAnswer::Exact
                    || self.view.edge_property(edge, asked.key)?.as_ref() == Some(&value);
                if is_there && asked.range.contains(&value) {
                    ranked.values.push(value);
                    ranked.items.push(edge);
                }
                high = EntryBound::At(entry, Some(edge));
            }
            if is_last {
                break;
            }
        }
        Ok(true)
    }

    /// The question with a range that ends at a value of the property's type, or nowhere.
    fn fitting_range(&self, asked: &NewestEdges) -> NewestEdges {
        let declared = self.catalogue.property_type(Owner::EdgeType(asked.edge_type), asked.key);
        let fitting = |value: &Value| match declared {
            Some(declared) if value.value_type() == declared => Some(value.clone()),
            Some(declared) => fitted(value, declared),
            None => None,
        };
        let to = match &asked.range.to {
            Bound::Included(value) => fitting(value).map_or(Bound::Unbounded, Bound::Included),
            Bound::Excluded(value) => fitting(value).map_or(Bound::Unbounded, Bound::Excluded),
            Bound::Unbounded => Bound::Unbounded,
        };
        let range = ValueRange { to, ..asked.range.clone() };
        asked.clone().within(range)
    }
}

/// Pairs of an index that are read at once, at least and at most.
const BATCH: (usize, usize) = (16, 256);

fn bound_of(place: EntryPlace) -> EntryBound<EdgeId> {
    match place {
        EntryPlace::Before(entry) => EntryBound::Before(entry),
        EntryPlace::After(entry) => EntryBound::After(entry),
        EntryPlace::At(entry, edge) => EntryBound::At(entry, Some(edge)),
        EntryPlace::End => EntryBound::End,
    }
}

#[cold]
fn not_an_entry(edge: EdgeId) -> Error {
    let text = format!("the index of kind newest files {edge} under what is no source with a value");
    Error::new(ErrorKind::Corrupt, text)
}
