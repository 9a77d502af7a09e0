//! `dedup()`: each once, by what it is or what counts of it.

use crate::batch::Batch;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::step::by::Projection;
use crate::value::item::Item;
use evergraph_graph::error::Result;
use std::collections::HashSet;

/// Bytes that an entry of a set of items takes beside what the item owns, about.
const ENTRY_BYTES: usize = 2 * size_of::<(u32, Item)>();

/// Each once an origin.
pub struct Dedup {
    slots: Vec<usize>,
    by: Vec<Projection>,
    /// Vertices that were there, for the origin 0 alone: most dedups are of vertices, in the main traversal.
    seen: HashSet<(u32, Item)>,
    seen_bytes: usize,
}

impl Dedup {
    /// Each once by the slots, or by what it is, seen as `by` says, by turns.
    #[must_use]
    pub fn new(slots: Vec<usize>, by: Vec<Projection>) -> Self {
        Self { slots, by, seen: HashSet::new(), seen_bytes: 0 }
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
            let column = column.unwrap_or_else(|| crate::batch::column::Column::nothing(batch.len()));
            let turns = self.by.len().max(1);
            columns.push(match self.by.get_mut(at % turns) {
                None => (0..batch.len()).map(|row| column.get(row)).collect::<Vec<_>>(),
                Some(by) => by.of(&Batch { current: column, ..batch.clone() }, cx)?,
            });
        }
        let key = |row: usize| columns.iter().map(|column| column[row].clone()).collect::<Option<Vec<_>>>();
        Ok((0..batch.len()).map(|row| key(row).map(|items| Item::List(items.into()))).collect())
    }
}

impl Step for Dedup {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(mut batch) = input.take() else { return Ok(None) };
        let keys = self.keys(&batch, cx)?;
        let mut bytes = 0;
        let mut keep = Vec::with_capacity(keys.len());
        for (key, origin) in keys.into_iter().zip(&batch.origin) {
            keep.push(key.is_some_and(|key| {
                let key_bytes = key.heap_bytes();
                let new = self.seen.insert((*origin, key));
                bytes += if new { ENTRY_BYTES + key_bytes } else { 0 };
                new
            }));
        }
        cx.charge.hold(bytes)?;
        self.seen_bytes += bytes;
        // Once is once, however many there were.
        batch.bulk = None;
        Ok(Some(batch.filter(&keep)))
    }

    fn reset(&mut self, _origins: u32) {
        self.seen.clear();
    }

    fn again(&mut self, _origins: u32) {}
}
