//! Entry walk: the pairs of an index that all layers together have, in order, one after the other.
//!
//! ```text
//! layers, newest first     graph   (a, v1)-  (b, v2)+
//!                          L1      (a, v1)+  (c, v3)+
//! walk                               none    (b, v2)   (c, v3)
//! ```
//!
//! Each layer gives a batch at a time, small ones first: most look-ups want one pair. Of a pair that several layers
//! have the newest one's record counts.
//!
//! Source: disk-engine, section 7.

use crate::format::entries::place::{EntryPlace, EntryStretch, IndexEntry};
use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::source::RecordSource;
use crate::view::layer::Layers;
use crate::view::layered::LayeredRecords;
use evergraph_graph::error::Result;
use evergraph_graph::index_entry::IndexItem;
use std::sync::Arc;

/// Pairs that a layer gives at once.
const BATCH_MAX: usize = 1024;

/// What one layer has of the stretch.
struct Front<R> {
    records: R,
    batch: Vec<IndexEntry>,
    /// The pair in front.
    at: usize,
    /// Whether the batch is the layer's last one.
    is_last: bool,
}

/// The present pairs of an index in a stretch.
pub struct EntryWalk<'s, R> {
    index: Subject,
    stretch: EntryStretch<'s>,
    /// Pairs of the next batches.
    count: usize,
    /// The newest layer first.
    fronts: Vec<Front<R>>,
}

impl<'l, L: Layers> LayeredRecords<'l, L> {
    /// The pairs of `index` in `stretch`. Asks for batches of `count` pairs first, and for more from then on.
    ///
    /// Cost: a question to each layer for each batch.
    pub fn walk_entries<'s>(
        &self,
        index: Subject,
        stretch: EntryStretch<'s>,
        count: usize,
    ) -> Result<EntryWalk<'s, L::Records<'l>>> {
        let count = count.clamp(1, BATCH_MAX);
        let mut fronts = Vec::new();
        for records in self.sources() {
            let mut batch = Vec::new();
            records.index_entries(index, &stretch, count, &mut batch)?;
            if !batch.is_empty() {
                let is_last = batch.len() < count;
                fronts.push(Front { records, batch, at: 0, is_last });
            }
        }
        Ok(EntryWalk { index, stretch, count: (count * 2).min(BATCH_MAX), fronts })
    }
}

impl<R: RecordSource> EntryWalk<'_, R> {
    /// The next pair that is there: value bytes and item.
    ///
    /// # Errors
    /// As a [`RecordSource`]. An error ends the walk.
    pub fn next_pair(&mut self) -> Result<Option<(Arc<[u8]>, IndexItem)>> {
        loop {
            let order = self.stretch.order;
            // Of equal pairs the first, the newest layer's.
            let fronts = self.fronts.iter().filter_map(|front| front.batch.get(front.at));
            let next = fronts.min_by(|a, b| order.compare((&*a.value, a.item), (&*b.value, b.item))).cloned();
            let Some(next) = next else { return Ok(None) };
            for front in &mut self.fronts {
                let is_same = |entry: &IndexEntry| (&entry.value, entry.item) == (&next.value, next.item);
                if !front.batch.get(front.at).is_some_and(is_same) {
                    continue;
                }
                front.at += 1;
                if front.at == front.batch.len() && !front.is_last {
                    front.batch.clear();
                    front.at = 0;
                    let from = EntryPlace::At(&next.value, next.item);
                    let stretch = EntryStretch { from, ..self.stretch };
                    front.records.index_entries(self.index, &stretch, self.count, &mut front.batch)?;
                    front.is_last = front.batch.len() < self.count;
                    self.count = (self.count * 2).min(BATCH_MAX);
                }
            }
            if next.operation != RecordOperation::Delete {
                return Ok(Some((next.value, next.item)));
            }
        }
    }
}
