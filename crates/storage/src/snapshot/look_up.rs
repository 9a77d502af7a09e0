//! Look-ups of a reader: equality and ranges by index, combined with own writes, in batches.
//!
//! ```text
//! index   candidates of the value, or pairs in the range: of the engine, where it keeps the index, else
//!         of the front's own entries                      ─┐
//! own     values that this transaction wrote, in order    ─┴> merged ─> read at S, compared ─> found
//! ```
//!
//! Both sides are supersets: what is read decides. Where the engine says that its answer is exact, items that own
//! writes don't touch are not read, unless own values lie among them: those may have been taken back. A view may be older than the index that its
//! catalogue names, or the index may be dropped since; then everything of the label or type is read
//! instead, so that the answer is right all the same.

use crate::index::directory::Indexed;
use crate::index::entry_bound::EntryBound;
use crate::index::property_index::PropertyIndex;
use crate::snapshot::reader::Reader;
use crate::transaction::fitting::fitted;
use crate::transaction::look_ups::IndexReads;
use crate::transaction::reads::Reads;
use crate::transaction::writes::{ValueOrder, Writes};
use crate::view::{IndexAnswer, View};
use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{EdgeId, KeyId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexKind, IndexStatistics};
use evergraph_graph::look_up::{MatchCursor, Matches, OrderedMatches, RangeCursor, ValueRange};
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::value::Value;
use evergraph_graph::view::{EdgeCursor, GraphView, VertexCursor};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;

/// A property: whose, and which.
pub(super) type Property = (Owner, KeyId);

/// Candidates asked for at once, at least and at most.
pub(super) const BATCH: (usize, usize) = (16, 256);
/// Items read at once where everything is read.
const SCAN_BATCH: usize = 4096;
/// Values that are announced at once, at least and at most.
pub(super) const AHEAD_VALUES: (usize, usize) = (64, 4096);

/// An item that a reader reads with own writes laid over.
pub(crate) trait ReadItem: Indexed {
    fn read<V: View>(self, reader: &Reader<'_, V>, key: KeyId) -> Result<Option<Value>>;

    /// That one property of each item is read next.
    fn next_values(items: &[Self], key: KeyId) -> NextReads<'_>;

    /// Whether own writes change or delete it.
    fn is_written(self, writes: &Writes) -> bool;

    /// What own writes gave to such items.
    fn noted(writes: &Writes) -> &ValueOrder<Self>;

    /// Where look-ups of such items are noted.
    fn looked_up(reads: &Reads) -> &IndexReads<Self>;

    /// Appends the next items of `owner`; whether there are more.
    fn scan<V: View>(
        reader: &Reader<'_, V>,
        owner: Owner,
        cursor: &mut ScanCursor,
        items: &mut Vec<Self>,
    ) -> Result<bool>;
}

/// Where the scan of everything goes on.
#[derive(Default)]
pub(crate) struct ScanCursor {
    vertices: VertexCursor,
    edges: EdgeCursor,
}

impl ReadItem for VertexId {
    fn read<V: View>(self, reader: &Reader<'_, V>, key: KeyId) -> Result<Option<Value>> {
        reader.vertex_property(self, key)
    }

    fn next_values(items: &[Self], key: KeyId) -> NextReads<'_> {
        NextReads::VertexProperties(items, key)
    }

    fn is_written(self, writes: &Writes) -> bool {
        writes.vertex(self).is_some()
    }

    fn noted(writes: &Writes) -> &ValueOrder<Self> {
        writes.vertex_values()
    }

    fn looked_up(reads: &Reads) -> &IndexReads<Self> {
        &reads.vertices
    }

    fn scan<V: View>(
        reader: &Reader<'_, V>,
        owner: Owner,
        cursor: &mut ScanCursor,
        items: &mut Vec<Self>,
    ) -> Result<bool> {
        if let Owner::Label(label) = owner {
            reader.scan_vertices(Some(&[label]), &mut cursor.vertices, SCAN_BATCH, items)?;
            return Ok(!cursor.vertices.done);
        }
        Ok(false)
    }
}

impl ReadItem for EdgeId {
    fn read<V: View>(self, reader: &Reader<'_, V>, key: KeyId) -> Result<Option<Value>> {
        reader.edge_property(self, key)
    }

    fn next_values(items: &[Self], key: KeyId) -> NextReads<'_> {
        NextReads::EdgeProperties(items, key)
    }

    fn is_written(self, writes: &Writes) -> bool {
        writes.edge(self).is_some()
    }

    fn noted(writes: &Writes) -> &ValueOrder<Self> {
        writes.edge_values()
    }

    fn looked_up(reads: &Reads) -> &IndexReads<Self> {
        &reads.edges
    }

    fn scan<V: View>(
        reader: &Reader<'_, V>,
        owner: Owner,
        cursor: &mut ScanCursor,
        items: &mut Vec<Self>,
    ) -> Result<bool> {
        if let Owner::EdgeType(edge_type) = owner {
            reader.scan_edges(Some(&[edge_type]), &mut cursor.edges, SCAN_BATCH, items)?;
            return Ok(!cursor.edges.done);
        }
        Ok(false)
    }
}

/// What is said of a batch of candidates.
#[derive(Clone, Copy)]
pub(super) struct CandidateBatch {
    /// There are no more.
    pub(super) is_last: bool,
    /// All are the engine's, and each has the value, unless own writes say otherwise.
    pub(super) is_exact: bool,
}

/// The items with `value` are looked up.
fn note_value<I: ReadItem>(reads: &Reads, index: &Arc<PropertyIndex<I>>, value: &Value) {
    match reads.look_ups_elsewhere() {
        None => I::looked_up(reads).note_value(index, value),
        Some(look_ups) => look_ups.note_value(index.definition().id, value),
    }
}

/// The entries between two places are looked up.
fn note_range<I: ReadItem>(
    reads: &Reads,
    index: &Arc<PropertyIndex<I>>,
    low: EntryBound<I>,
    high: EntryBound<I>,
) {
    match reads.look_ups_elsewhere() {
        None => I::looked_up(reads).note_range(index, low, high),
        Some(look_ups) => look_ups.note_range(index.definition().id, low.as_lower(), high.as_upper()),
    }
}

/// The item of an own write's place, and its value.
fn noted_pair<I: Copy>(place: &EntryBound<I>) -> Option<(&Value, I)> {
    match place {
        EntryBound::At(value, Some(item)) => Some((value, *item)),
        _ => None,
    }
}

impl<V: View> Reader<'_, V> {
    /// As [`GraphView::look_up_vertices`], for any item.
    pub(crate) fn matches<I: ReadItem>(
        &self,
        property: Property,
        values: &[Value],
        cursor: &mut MatchCursor<I>,
        limit: usize,
        matches: &mut Matches<I>,
    ) -> Result<()> {
        let Some(index) = self.index_on::<I>(property, None)? else {
            return self.scan_matches(property, values, cursor, limit, matches);
        };
        let end = matches.items.len().saturating_add(limit);
        let mut candidates = Vec::new();
        let mut announced = cursor.row;
        while !cursor.done {
            let Some(value) = values.get(cursor.row) else {
                cursor.done = true;
                break;
            };
            if cursor.row >= announced {
                let wanted = (end - matches.items.len()).clamp(AHEAD_VALUES.0, AHEAD_VALUES.1);
                let next = &values[cursor.row..(cursor.row + wanted).min(values.len())];
                self.announce_values(property, &index, next);
                announced += next.len();
            }
            let value = self.fitting(property, value);
            loop {
                let room = end - matches.items.len();
                if room == 0 {
                    return Ok(());
                }
                candidates.clear();
                let count = self.batch(&index, room);
                let batch =
                    self.candidates(property, &index, &value, cursor.after, count, &mut candidates)?;
                for item in &candidates {
                    if matches.items.len() == end {
                        return Ok(());
                    }
                    cursor.after = Some(*item);
                    if self.has_value(*item, property.1, &value, batch.is_exact)? {
                        matches.rows.push(cursor.row as u32);
                        matches.items.push(*item);
                    }
                }
                if batch.is_last {
                    break;
                }
            }
            (cursor.row, cursor.after) = (cursor.row + 1, None);
        }
        Ok(())
    }

    /// Says that the items with each of `values` are looked up next, if that takes messages.
    #[inline]
    pub(super) fn announce_values<I: Indexed>(
        &self,
        property: Property,
        index: &PropertyIndex<I>,
        values: &[Value],
    ) {
        if values.len() > 1 && self.view.heeds_ahead() && index.is_kept_by_engine() {
            let fitting = values.iter().map(|value| self.fitting(property, value).into_owned());
            let fitting: Vec<Value> = fitting.collect();
            self.view.ahead(NextReads::ItemsOfValues(index.definition().id, &fitting));
        }
    }

    /// How many entries are asked for at once, where `room` are wanted. No more than that of an engine, by a serialisable
    /// transaction: what an engine answers exactly counts as read, all of it.
    #[inline]
    pub(super) fn batch<I: Indexed>(&self, index: &PropertyIndex<I>, room: usize) -> usize {
        let least = if self.reads.is_some() && index.is_kept_by_engine() { 1 } else { BATCH.0 };
        room.clamp(least, BATCH.1)
    }

    /// Whether `item`, a candidate, has `value`: read, unless the engine said so and own writes don't touch it. What this
    /// transaction added and deleted again has no write, but is a candidate still.
    #[inline]
    pub(super) fn has_value<I: ReadItem>(
        &self,
        item: I,
        key: KeyId,
        value: &Value,
        is_exact: bool,
    ) -> Result<bool> {
        Ok(is_exact && !item.is_written(self.writes) || item.read(self, key)?.as_ref() == Some(value))
    }

    /// Appends the next items that may have `value`, ascending, at least `batch` of them unless there are
    /// fewer.
    pub(super) fn candidates<I: ReadItem>(
        &self,
        (owner, key): Property,
        index: &Arc<PropertyIndex<I>>,
        value: &Value,
        after: Option<I>,
        batch: usize,
        candidates: &mut Vec<I>,
    ) -> Result<CandidateBatch> {
        if let Some(reads) = self.reads {
            note_value(reads, index, value);
        }
        let start = candidates.len();
        let answer = self.view.candidates(index.definition().id, value, after, batch, candidates)?;
        if answer == IndexAnswer::No {
            index.candidates(value, after, batch, candidates);
        }
        let mut is_exact = answer == IndexAnswer::Exact;
        let is_last = candidates.len() - start < batch;
        let noted = I::noted(self.writes);
        if !noted.is_empty() {
            let last = candidates.last().copied().filter(|_| !is_last);
            let from = (owner, key, EntryBound::At(value.clone(), after));
            let own = noted.range((Bound::Excluded(from), Bound::Unbounded));
            let own = own.take_while(|((of, on, _), ())| (*of, *on) == (owner, key));
            let own = own.map_while(|((.., place), ())| noted_pair(place));
            let own = own.take_while(|(found, _)| *found == value).map(|(_, item)| item);
            let stored = candidates.len();
            candidates.extend(own.take_while(|item| last.is_none_or(|last| *item <= last)));
            is_exact &= candidates.len() == stored;
            candidates[start..].sort_unstable();
            candidates.dedup();
        }
        Ok(CandidateBatch { is_last, is_exact })
    }

    /// As [`GraphView::range_vertices`], for any item.
    pub(crate) fn range<I: ReadItem>(
        &self,
        property: Property,
        range: &ValueRange,
        cursor: &mut RangeCursor<I>,
        limit: usize,
        ranked: &mut OrderedMatches<I>,
    ) -> Result<()> {
        let (low, high) = EntryBound::around(range);
        if low >= high {
            cursor.done = true;
        }
        let (after, until) = if range.descending { (high, low) } else { (low, high) };
        let reached = |cursor: &RangeCursor<I>| {
            cursor.after.as_ref().map(|(value, item)| EntryBound::At(value.clone(), Some(*item)))
        };
        let after = reached(cursor).unwrap_or(after);
        let Some(index) = self.index_on::<I>(property, Some(IndexKind::Ordered))? else {
            return self.scan_range(property, range, cursor, limit, ranked);
        };
        let Some(reads) = self.reads else {
            return self.walk(property, &index, (after, &until), range.descending, cursor, limit, ranked);
        };
        let walked =
            self.walk(property, &index, (after.clone(), &until), range.descending, cursor, limit, ranked);
        // What lies behind the last one that was handed out was not read.
        let last = reached(cursor).filter(|_| !cursor.done).unwrap_or(until);
        let (from, to) = if range.descending { (last, after) } else { (after, last) };
        note_range(reads, &index, from, to);
        walked
    }

    /// Goes on from `after` to `until` through `index`.
    #[expect(clippy::too_many_arguments, reason = "a range, where it goes on, and what comes of it")]
    fn walk<I: ReadItem>(
        &self,
        property: Property,
        index: &PropertyIndex<I>,
        (mut after, until): (EntryBound<I>, &EntryBound<I>),
        descending: bool,
        cursor: &mut RangeCursor<I>,
        limit: usize,
        ranked: &mut OrderedMatches<I>,
    ) -> Result<()> {
        let end = ranked.items.len().saturating_add(limit);
        let mut pairs = Vec::new();
        while !cursor.done {
            let room = end - ranked.items.len();
            if room == 0 {
                return Ok(());
            }
            pairs.clear();
            let batch = self.batch(index, room);
            let places = (&after, until);
            let answer = self.view.between(index.definition().id, places, descending, batch, &mut pairs)?;
            if answer == IndexAnswer::No {
                index.between(&after, until, descending, batch, &mut pairs);
            }
            let whole = pairs.len() < batch;
            let has_own = self.add_noted(property, &after, until, whole, descending, &mut pairs);
            let is_exact = answer == IndexAnswer::Exact && !has_own;
            for (value, item) in pairs.drain(..) {
                if ranked.items.len() == end {
                    return Ok(());
                }
                if self.has_value(item, property.1, &value, is_exact)? {
                    ranked.values.push(value.clone());
                    ranked.items.push(item);
                }
                after = EntryBound::At(value.clone(), Some(item));
                cursor.after = Some((value, item));
            }
            cursor.done = whole;
        }
        Ok(())
    }

    /// Puts own writes among `pairs`, which lie behind `after`: those up to the last of them, or up to
    /// `until` if the pairs are the `whole` rest. Returns whether there are any.
    fn add_noted<I: ReadItem>(
        &self,
        (owner, key): Property,
        after: &EntryBound<I>,
        until: &EntryBound<I>,
        whole: bool,
        descending: bool,
        pairs: &mut Vec<(Value, I)>,
    ) -> bool {
        let noted = I::noted(self.writes);
        if noted.is_empty() {
            return false;
        }
        let last = match pairs.last().filter(|_| !whole) {
            Some((value, item)) => EntryBound::At(value.clone(), Some(*item)),
            None => until.clone(),
        };
        let bound = |place: &EntryBound<I>| Bound::Excluded((owner, key, place.clone()));
        let (from, to) = if descending { (&last, after) } else { (after, &last) };
        if from >= to {
            return false;
        }
        let own = noted.range((bound(from), bound(to))).filter_map(|((.., place), ())| noted_pair(place));
        let stored = pairs.len();
        pairs.extend(own.map(|(value, item)| (value.clone(), item)));
        let has_own = pairs.len() > stored;
        pairs.sort_unstable();
        pairs.dedup();
        if descending {
            pairs.reverse();
        }
        has_own
    }

    /// The index that answers this view, preferably by hash; `None` where the property has to be read off
    /// every item, since the view is older than what is there.
    pub(super) fn index_on<I: Indexed>(
        &self,
        (owner, key): Property,
        kind: Option<IndexKind>,
    ) -> Result<Option<Arc<PropertyIndex<I>>>> {
        let mut named = false;
        for definition in self.catalogue.indexes_on(owner, key) {
            if kind.is_some_and(|kind| kind != definition.id.kind) {
                continue;
            }
            named = true;
            let index = self.indexes.get(definition.id);
            if let Some(index) = index.filter(|index| self.is_served_by(index)) {
                return Ok(Some(index));
            }
        }
        if named {
            return Ok(None);
        }
        let property = self.catalogue.property_name(owner, key);
        let what = kind.map_or_else(String::new, |kind| format!("{kind} "));
        Err(Error::invalid(format!("there is no {what}index on {property}: create it, then look up")))
    }

    /// Whether an index has all that this view shows, and the engine answers for it if it keeps the entries.
    pub(super) fn is_served_by<I: Indexed>(&self, index: &PropertyIndex<I>) -> bool {
        index.serves(self.view.timestamp())
            && (!index.is_kept_by_engine() || self.view.answers_for(index.definition().id))
    }

    /// `value` in the property's type, if that is another one that holds it.
    pub(super) fn fitting<'v>(&self, (owner, key): Property, value: &'v Value) -> Cow<'v, Value> {
        let declared = self.catalogue.property_type(owner, key);
        let fitting = declared.and_then(|declared| fitted(value, declared));
        fitting.map_or(Cow::Borrowed(value), Cow::Owned)
    }

    /// Reads the property off every item of its owner.
    fn for_each_value<I: ReadItem>(
        &self,
        (owner, key): Property,
        mut visit: impl FnMut(I, Value),
    ) -> Result<()> {
        let (mut cursor, mut items, mut more) = (ScanCursor::default(), Vec::new(), true);
        while more {
            items.clear();
            more = I::scan(self, owner, &mut cursor, &mut items)?;
            self.view.ahead(I::next_values(&items, key));
            for item in &items {
                if let Some(value) = I::read(*item, self, key)? {
                    visit(*item, value);
                }
            }
        }
        Ok(())
    }

    pub(super) fn scan_matches<I: ReadItem>(
        &self,
        property: Property,
        values: &[Value],
        cursor: &mut MatchCursor<I>,
        limit: usize,
        matches: &mut Matches<I>,
    ) -> Result<()> {
        let mut rows: HashMap<Cow<'_, Value>, Vec<usize>> = HashMap::new();
        for (row, value) in values.iter().enumerate().skip(cursor.row) {
            rows.entry(self.fitting(property, value)).or_default().push(row);
        }
        let mut found: Vec<(usize, I)> = Vec::new();
        self.for_each_value(property, |item: I, value| {
            for row in rows.get(&value).into_iter().flatten() {
                if *row > cursor.row || cursor.after.is_none_or(|after| item > after) {
                    found.push((*row, item));
                }
            }
        })?;
        found.sort_unstable();
        cursor.done = found.len() <= limit;
        found.truncate(limit);
        if let Some((row, item)) = found.last() {
            (cursor.row, cursor.after) = (*row, Some(*item));
        }
        matches.rows.extend(found.iter().map(|(row, _)| *row as u32));
        matches.items.extend(found.iter().map(|(_, item)| *item));
        Ok(())
    }

    fn scan_range<I: ReadItem>(
        &self,
        property: Property,
        range: &ValueRange,
        cursor: &mut RangeCursor<I>,
        limit: usize,
        ranked: &mut OrderedMatches<I>,
    ) -> Result<()> {
        let mut found: Vec<(Value, I)> = Vec::new();
        self.for_each_value(property, |item: I, value| {
            let behind = cursor.after.as_ref().is_none_or(|after| match range.descending {
                true => (&value, item) < (&after.0, after.1),
                false => (&value, item) > (&after.0, after.1),
            });
            if behind && range.contains(&value) {
                found.push((value, item));
            }
        })?;
        found.sort_unstable();
        if range.descending {
            found.reverse();
        }
        cursor.done = found.len() <= limit;
        found.truncate(limit);
        if let Some(last) = found.last() {
            cursor.after = Some(last.clone());
        }
        for (value, item) in found {
            ranked.values.push(value);
            ranked.items.push(item);
        }
        Ok(())
    }

    /// As [`GraphView::indexes`].
    pub(crate) fn index_statistics(&self) -> Vec<IndexStatistics> {
        let indexes = self.indexes.load();
        let named = self.catalogue.indexes();
        let found = named.filter_map(|IndexDefinition { id, .. }| match id.owner {
            Owner::Label(_) => indexes
                .get::<VertexId>(id)
                .filter(|index| self.is_served_by(index))
                .map(|index| index.statistics(self.view.index_size(id))),
            Owner::EdgeType(_) => indexes
                .get::<EdgeId>(id)
                .filter(|index| self.is_served_by(index))
                .map(|index| index.statistics(self.view.index_size(id))),
        });
        found.collect()
    }
}
