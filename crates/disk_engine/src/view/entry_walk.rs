//! Entry walk: the pairs of an index that all sources together have, in order, one after the other.
//!
//! ```text
//! sources, newest first    graph   (a, v1)-  (b, v2)+
//!                          L1      (a, v1)+  (c, v3)+
//! walk                               none    (b, v2)   (c, v3)
//! ```
//!
//! Each source gives a batch at a time, small ones first: most look-ups want one pair. Of a pair that several sources
//! have the newest one's record counts.
//!
//! Source: disk-engine, section 7.

use crate::format::entries::visible_entry::VisibleEntry;
use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::source::RecordSource;
use crate::view::merged_records::MergedRecords;
use crate::view::read_source::ReadSources;
use evergraph_graph::error::Result;
use evergraph_graph::index_entry::ItemId;
use evergraph_storage::index::entry_range::{BytesBound, EntryRange};
use std::sync::Arc;

/// Pairs that a source gives at once.
const BATCH_MAX: usize = 1024;

/// What one source has of the range.
struct Front<R> {
    records: R,
    batch: Vec<VisibleEntry>,
    /// The pair in front.
    at: usize,
    /// Whether the batch is the source's last one.
    is_last: bool,
}

/// The present pairs of an index in a range.
pub struct EntryWalk<'s, R> {
    index: Subject,
    range: EntryRange<'s>,
    /// Pairs of the next batches.
    count: usize,
    /// The newest source first.
    fronts: Vec<Front<R>>,
}

impl<'l, L: ReadSources> MergedRecords<'l, L> {
    /// The pairs of `index` in `range`. Asks for batches of `count` pairs first, and for more from then on.
    ///
    /// Cost: a question to each source for each batch.
    pub fn walk_entries<'s>(
        &self,
        index: Subject,
        range: EntryRange<'s>,
        count: usize,
    ) -> Result<EntryWalk<'s, L::Records<'l>>> {
        let count = count.clamp(1, BATCH_MAX);
        let mut fronts = Vec::new();
        for records in self.sources() {
            let mut batch = Vec::new();
            records.index_entries(index, &range, count, &mut batch)?;
            if !batch.is_empty() {
                let is_last = batch.len() < count;
                fronts.push(Front { records, batch, at: 0, is_last });
            }
        }
        Ok(EntryWalk { index, range, count: (count * 2).min(BATCH_MAX), fronts })
    }
}

impl<R: RecordSource> EntryWalk<'_, R> {
    /// The next pair that is there: value bytes and item.
    ///
    /// # Errors
    /// As a [`RecordSource`]. An error ends the walk.
    pub fn next_pair(&mut self) -> Result<Option<(Arc<[u8]>, ItemId)>> {
        loop {
            let order = self.range.order;
            // Of equal pairs the first, the newest source's.
            let fronts = self.fronts.iter().filter_map(|front| front.batch.get(front.at));
            let next = fronts.min_by(|a, b| order.compare((&*a.value, a.item), (&*b.value, b.item))).cloned();
            let Some(next) = next else { return Ok(None) };
            for front in &mut self.fronts {
                let is_same = |entry: &VisibleEntry| (&entry.value, entry.item) == (&next.value, next.item);
                if !front.batch.get(front.at).is_some_and(is_same) {
                    continue;
                }
                front.at += 1;
                if front.at == front.batch.len() && !front.is_last {
                    front.batch.clear();
                    front.at = 0;
                    let from = BytesBound::At(&next.value, next.item);
                    let range = EntryRange { from, ..self.range };
                    front.records.index_entries(self.index, &range, self.count, &mut front.batch)?;
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
