//! Holders: which vertex or edge has a value of a unique property, for a reader.

use crate::index::property_index::PropertyIndex;
use crate::snapshot::look_up::{AHEAD_VALUES, BATCH, Property, ReadItem};
use crate::snapshot::reader::Reader;
use crate::view::View;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{KeyId, LabelId, VertexId};
use evergraph_graph::look_up::{MatchCursor, Matches};
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView as _;
use std::sync::Arc;

/// A vertex that a transaction looked up, with its properties as they were then.
#[derive(Clone, Debug)]
pub struct FoundVertex {
    vertex: VertexId,
    label: LabelId,
    /// The snapshot that shows it; `None` if own writes have changed it, which may take it back.
    seen_at: Option<Timestamp>,
    properties: Vec<(KeyId, Value)>,
}

impl FoundVertex {
    /// The vertex.
    #[must_use]
    #[inline]
    pub fn vertex(&self) -> VertexId {
        self.vertex
    }

    /// Its properties, by key.
    #[must_use]
    #[inline]
    pub fn properties(&self) -> &[(KeyId, Value)] {
        &self.properties
    }

    /// Its label, if a snapshot at `timestamp` shows it.
    #[must_use]
    #[inline]
    pub(crate) fn label_at(&self, timestamp: Timestamp) -> Option<LabelId> {
        (self.seen_at == Some(timestamp)).then_some(self.label)
    }
}

impl<V: View> Reader<'_, V> {
    /// The item other than `item` that holds `value` of a unique property.
    pub(crate) fn holder<I: ReadItem>(
        &self,
        (owner, key): Property,
        value: &Value,
        item: Option<I>,
    ) -> Result<Option<I>> {
        let mut cursor = MatchCursor::default();
        let mut found = Matches::default();
        while !cursor.done {
            self.matches((owner, key), std::slice::from_ref(value), &mut cursor, 2, &mut found)?;
            if let Some(other) = found.items.iter().find(|other| Some(**other) != item) {
                return Ok(Some(*other));
            }
        }
        Ok(None)
    }

    /// As [`GraphView::look_up`], for any item.
    pub(crate) fn holders<I: ReadItem>(
        &self,
        (owner, key): Property,
        values: &[Value],
        holders: &mut Vec<Option<I>>,
    ) -> Result<()> {
        self.check_unique_index((owner, key))?;
        let Some(index) = self.index_on::<I>((owner, key), None)? else {
            return self.scanned_holders((owner, key), values, holders);
        };
        let mut candidates = Vec::with_capacity(BATCH.0);
        for (at, value) in values.iter().enumerate() {
            if at.is_multiple_of(AHEAD_VALUES.1) {
                let next = &values[at..(at + AHEAD_VALUES.1).min(values.len())];
                self.announce_values((owner, key), &index, next);
            }
            let value = self.fitting((owner, key), value);
            let holder =
                self.first_candidate((owner, key), &index, &value, &mut candidates, |item, is_exact| {
                    Ok(self.has_value(item, key, &value, is_exact)?.then_some(item))
                });
            holders.push(holder?);
        }
        Ok(())
    }

    /// As [`Reader::holders`] of vertices of `label`, each with its properties, which are read once.
    pub(crate) fn found_holders(
        &self,
        label: LabelId,
        key: KeyId,
        values: &[Value],
        holders: &mut Vec<Option<FoundVertex>>,
    ) -> Result<()> {
        let property = (Owner::Label(label), key);
        self.check_unique_index(property)?;
        let Some(index) = self.index_on::<VertexId>(property, None)? else {
            let mut found = Vec::new();
            self.scanned_holders(property, values, &mut found)?;
            self.announce_maps(&found);
            for holder in found {
                holders.push(holder.map(|vertex| self.found(label, vertex)).transpose()?);
            }
            return Ok(());
        };
        let mut candidates = Vec::with_capacity(BATCH.0);
        for (at, value) in values.iter().enumerate() {
            if at.is_multiple_of(AHEAD_VALUES.1) && values.len() > 1 && self.view.heeds_ahead() {
                // Their properties are asked for together; who they are is kept, mostly.
                let mut next = Vec::new();
                self.holders(property, &values[at..(at + AHEAD_VALUES.1).min(values.len())], &mut next)?;
                self.announce_maps(&next);
            }
            let value = self.fitting(property, value);
            let holder = self.first_candidate(property, &index, &value, &mut candidates, |vertex, _| {
                let found = self.found(label, vertex)?;
                let is_holder = found.properties.iter().any(|(of, found)| *of == key && *found == *value);
                Ok(is_holder.then_some(found))
            });
            holders.push(holder?);
        }
        Ok(())
    }

    /// Says that all properties of these vertices are read next, if that takes messages.
    fn announce_maps(&self, found: &[Option<VertexId>]) {
        if self.view.heeds_ahead() {
            let vertices: Vec<VertexId> = found.iter().flatten().copied().collect();
            self.view.ahead(NextReads::VertexPropertyMaps(&vertices));
        }
    }

    fn found(&self, label: LabelId, vertex: VertexId) -> Result<FoundVertex> {
        let seen_at = self.writes.vertex(vertex).is_none().then(|| self.view.timestamp());
        Ok(FoundVertex { vertex, label, seen_at, properties: self.vertex_property_map(vertex)? })
    }

    fn check_unique_index(&self, (owner, key): Property) -> Result<()> {
        if self.catalogue.is_unique(owner, key) {
            return Ok(());
        }
        let property = self.catalogue.property_name(owner, key);
        Err(Error::invalid(format!("there is no unique index on {property}: create it, then look up")))
    }

    /// What `accept` makes of the first item that may have `value` and that it takes; it is told whether the item is one for
    /// sure, unless own writes say otherwise.
    fn first_candidate<I: ReadItem, T>(
        &self,
        property: Property,
        index: &Arc<PropertyIndex<I>>,
        value: &Value,
        candidates: &mut Vec<I>,
        mut accept: impl FnMut(I, bool) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let mut after = None;
        loop {
            candidates.clear();
            let batch = self.candidates(property, index, value, after, self.batch(index, 1), candidates)?;
            after = candidates.last().copied();
            for item in &*candidates {
                if let Some(accepted) = accept(*item, batch.is_exact)? {
                    return Ok(Some(accepted));
                }
            }
            if batch.is_last {
                return Ok(None);
            }
        }
    }

    /// As [`Reader::holders`], where no index answers.
    fn scanned_holders<I: ReadItem>(
        &self,
        property: Property,
        values: &[Value],
        holders: &mut Vec<Option<I>>,
    ) -> Result<()> {
        let (mut cursor, mut found) = (MatchCursor::default(), Matches::default());
        self.scan_matches(property, values, &mut cursor, usize::MAX, &mut found)?;
        let start = holders.len();
        holders.resize(start + values.len(), None);
        let rows = found.rows.into_iter().zip(found.items);
        rows.for_each(|(row, item)| holders[start + row as usize] = Some(item));
        Ok(())
    }
}
