//! `dedup()`: each item once, compared by itself or by a modulator.

use crate::batch::Batch;
use crate::batch::column::{Column, Data};
use crate::execute::context::Context;
use crate::execute::limits::Work;
use crate::execute::pipeline::Step;
use crate::step::by::Projection;
use crate::value::item::Item;
use crate::value::same::ByValue;
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use foldhash::fast::RandomState;
use std::borrow::Cow;
use std::collections::HashSet;

/// Bytes that an entry of a set of items takes beside what the item owns, about.
const ENTRY_BYTES: usize = 2 * size_of::<(u32, Item)>();
/// Fewer vertices than this are kept in a hash table, whatever their numbers.
const FEW: usize = 64;
/// Bits are used once they would take at most so many bytes for each vertex that was met.
const BYTES_PER_VERTEX: usize = 1024;

/// Each item once for each origin.
pub struct Dedup {
    slots: Vec<usize>,
    by: Vec<Projection>,
    vertices: SeenVertices,
    others: HashSet<(u32, ByValue), RandomState>,
    /// What the items of `others` own.
    owned_bytes: usize,
    held_bytes: usize,
}

/// Vertices that were there.
#[derive(Default)]
struct SeenVertices {
    few: HashSet<(u32, VertexId), RandomState>,
    /// Those of the origin 0, by number: most dedups are of vertices, in the main traversal.
    many: Vec<u64>,
    /// The highest number of a vertex of origin 0 that is in `few`.
    highest: u32,
}

impl SeenVertices {
    /// Whether `vertex` is met for the first time.
    fn insert(&mut self, origin: u32, vertex: VertexId) -> bool {
        if origin == 0 && !self.many.is_empty() {
            return self.mark(vertex);
        }
        let new = self.few.insert((origin, vertex));
        if origin == 0 && new {
            self.highest = self.highest.max(vertex.0);
            let bytes = self.highest as usize / 8;
            if self.few.len() >= FEW && bytes / BYTES_PER_VERTEX <= self.few.len() {
                self.spread();
            }
        }
        new
    }

    /// From the hash table to bits.
    fn spread(&mut self) {
        self.many.resize(self.highest as usize / 64 + 1, 0);
        let first: Vec<VertexId> =
            self.few.extract_if(|(origin, _)| *origin == 0).map(|(_, vertex)| vertex).collect();
        for vertex in first {
            self.mark(vertex);
        }
    }

    fn mark(&mut self, vertex: VertexId) -> bool {
        let (word, bit) = (vertex.0 as usize / 64, 1 << (vertex.0 % 64));
        if word >= self.many.len() {
            self.many.resize((word + 1).max(2 * self.many.len()), 0);
        }
        let new = self.many[word] & bit == 0;
        self.many[word] |= bit;
        new
    }

    fn bytes(&self) -> usize {
        self.few.capacity() * 2 * size_of::<(u32, VertexId)>() + self.many.len() * size_of::<u64>()
    }
}

impl Dedup {
    /// Compares the slots, or the items themselves, modulated by `by` in turn.
    #[must_use]
    pub fn new(slots: Vec<usize>, by: Vec<Projection>) -> Self {
        Self {
            slots,
            by,
            vertices: SeenVertices::default(),
            others: HashSet::default(),
            owned_bytes: 0,
            held_bytes: 0,
        }
    }

    /// What counts of each row; a row of which nothing does is left out.
    fn keys(&mut self, batch: &Batch, cx: &mut Context<'_>) -> Result<Vec<Option<Item>>> {
        if self.slots.is_empty() {
            return match self.by.first_mut() {
                None => Ok(batch.current.items().map(Some).collect()),
                Some(by) => by.of(batch, cx),
            };
        }
        let mut columns = Vec::with_capacity(self.slots.len());
        for (at, slot) in self.slots.iter().enumerate() {
            let column = batch.slots.get(*slot).cloned().flatten();
            let column = column.unwrap_or_else(|| Column::nothing(batch.len()));
            let turns = self.by.len().max(1);
            columns.push(match self.by.get_mut(at % turns) {
                None => (0..batch.len()).map(|row| column.get(row)).collect::<Vec<_>>(),
                Some(by) => by.of(&Batch { current: column, ..batch.clone() }, cx)?,
            });
        }
        let key = |row: usize| columns.iter().map(|column| column[row].clone()).collect::<Option<Vec<_>>>();
        Ok((0..batch.len()).map(|row| key(row).map(|items| Item::List(items.into()))).collect())
    }

    /// Which rows are the first of their kind.
    fn keep(&mut self, batch: &Batch, cx: &mut Context<'_>) -> Result<Vec<bool>> {
        let bare = self.slots.is_empty() && self.by.is_empty();
        let vertices = if bare { at_vertices(&batch.current) } else { None };
        if let Some(vertices) = vertices {
            let rows = vertices.iter().zip(&batch.origin);
            return Ok(rows.map(|(vertex, origin)| self.vertices.insert(*origin, *vertex)).collect());
        }
        let keys = self.keys(batch, cx)?;
        let (mut keep, mut work) = (Vec::with_capacity(keys.len()), Work::default());
        for (key, origin) in keys.into_iter().zip(&batch.origin) {
            keep.push(match key {
                None => false,
                Some(Item::Vertex(vertex)) => self.vertices.insert(*origin, vertex),
                Some(key) => {
                    let bytes = key.heap_bytes();
                    // To hash a large key takes its time.
                    work.add(bytes, &cx.charge)?;
                    let new = self.others.insert((*origin, ByValue(key)));
                    self.owned_bytes = self.owned_bytes.saturating_add(if new { bytes } else { 0 });
                    new
                }
            });
        }
        Ok(keep)
    }

    fn bytes(&self) -> usize {
        let others = (self.others.len() * ENTRY_BYTES).saturating_add(self.owned_bytes);
        others.saturating_add(self.vertices.bytes())
    }
}

/// The vertices that all rows are at, not copied if they lie there in order.
fn at_vertices(column: &Column) -> Option<Cow<'_, [VertexId]>> {
    match column.parts() {
        (Data::Vertices(vertices), None) => Some(Cow::Borrowed(vertices)),
        _ => column.vertices().map(Cow::Owned),
    }
}

impl Step for Dedup {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(mut batch) = input.take() else { return Ok(None) };
        let keep = self.keep(&batch, cx)?;
        let bytes = self.bytes();
        if bytes > self.held_bytes {
            cx.charge.hold(bytes - self.held_bytes)?;
            self.held_bytes = bytes;
        }
        // Once is once, however many there were.
        batch.bulk = None;
        Ok(Some(batch.filter(&keep)))
    }

    fn reset(&mut self, _origins: u32) {
        self.vertices = SeenVertices::default();
        self.others.clear();
        self.owned_bytes = 0;
    }

    fn again(&mut self, _origins: u32) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Some numbers are close together, some far apart: both forms are met, and the way from one to the other.
        #[test]
        fn each_vertex_of_an_origin_is_new_once(
            all in prop::collection::vec((0_u32..3, prop_oneof![0_u32..300, 1_000_000_u32..1_000_100]), 0..600),
        ) {
            let (mut seen, mut known) = (SeenVertices::default(), std::collections::BTreeSet::new());
            for (origin, vertex) in all {
                prop_assert_eq!(seen.insert(origin, VertexId(vertex)), known.insert((origin, vertex)));
            }
        }
    }

    #[test]
    fn bits_are_for_numbers_that_lie_close_together() {
        let mut near = SeenVertices::default();
        (0..100).for_each(|vertex| assert!(near.insert(0, VertexId(vertex))));
        assert!(near.few.is_empty() && near.many.len() == 2);
        let mut far = SeenVertices::default();
        (0..100).for_each(|vertex| assert!(far.insert(0, VertexId(vertex << 25))));
        assert!(far.many.is_empty() && far.few.len() == 100);
    }
}
