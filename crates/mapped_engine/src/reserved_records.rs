//! Reserved records: what a commit appends to one segment, with the blocks that it takes, all of them allocated before the
//! latch.
//!
//! ```text
//! before    properties stored in blocks of their own; blocks for a larger tail, or a run, if one will be needed
//! latch     records get their timestamp, and are appended; a hub's rows to the hub's segment
//! after     what was not needed is free again
//! ```

use crate::arena::{Arena, ArenaBlock, NewBlocks};
use crate::segment::LiveSegment;
use crate::segment_state::{SegmentMemory, WaitingRecords};
use crate::shared_record::{PlacedRecord, SharedRecord, properties_words, store_properties};
use crate::words::LineNumber;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::record::Stamp;
use std::sync::Arc;

/// Records of one segment and one commit, or of many that are replayed, sorted by key, then time.
#[derive(Debug)]
pub struct ReservedRecords {
    arena: Arc<Arena>,
    segment: Arc<LiveSegment>,
    /// The segment that a hub's row was taken out of.
    of_group: Option<Arc<LiveSegment>>,
    records: Vec<PlacedRecord>,
    /// The block of each record's properties, until it is appended. Empty if no record has any.
    properties: Vec<Option<ArenaBlock>>,
    spare: Vec<ArenaBlock>,
}

impl ReservedRecords {
    /// Reserves what appending `records` to `segment` takes now.
    ///
    /// # Errors
    /// As [`Arena::allocate`].
    pub fn new(arena: &Arc<Arena>, segment: &Arc<LiveSegment>, records: &[SharedRecord]) -> Result<Self> {
        let mut new = NewBlocks::new(arena);
        let mut properties = Vec::new();
        if records.iter().any(|record| !record.properties.is_empty()) {
            for record in records {
                let bytes = &record.properties;
                let block =
                    if bytes.is_empty() { None } else { Some(new.allocate(properties_words(bytes))?) };
                if let Some(block) = block {
                    store_properties(arena.words_of(block), bytes);
                }
                properties.push(block);
            }
        }
        let mut spare = Vec::new();
        for words in segment.append_words(records.len()) {
            spare.push(new.allocate(words)?);
        }
        new.keep();
        let line = |at: usize| properties.get(at).copied().flatten().map(|block| block.line);
        let place = |(at, record): (usize, &SharedRecord)| PlacedRecord {
            key: record.key,
            stamp: record.stamp,
            properties: line(at).unwrap_or(LineNumber::NONE),
        };
        let records = records.iter().enumerate().map(place).collect();
        let (arena, segment) = (Arc::clone(arena), Arc::clone(segment));
        Ok(Self { arena, segment, of_group: None, records, properties, spare })
    }

    /// The same, of a hub that was taken out of `of_group`.
    #[must_use]
    pub fn of_hub(mut self, of_group: &Arc<LiveSegment>) -> Self {
        self.of_group = Some(Arc::clone(of_group));
        self
    }

    /// Where they go.
    #[must_use]
    pub fn segment(&self) -> &Arc<LiveSegment> {
        &self.segment
    }

    /// The records.
    #[must_use]
    pub fn records(&self) -> &[PlacedRecord] {
        &self.records
    }

    /// Gives every record this timestamp.
    pub fn stamp(&mut self, timestamp: Timestamp) {
        for record in &mut self.records {
            record.stamp = Stamp::new(timestamp, record.stamp.operation());
        }
    }

    /// Appends them, once; calls `appended` with each segment that got some, and what waits there now. Under the latch.
    pub fn append(
        &mut self,
        memory: &SegmentMemory<'_>,
        appended: &mut dyn FnMut(&Arc<LiveSegment>, WaitingRecords),
    ) {
        let records = std::mem::take(&mut self.records);
        let mut properties = std::mem::take(&mut self.properties).into_iter();
        let segment = Arc::clone(&self.segment);
        let newest = records.iter().map(|record| record.stamp.timestamp()).max();
        // Conflict checks look there first.
        if let (Some(of_group), Some(newest)) = (&self.of_group, newest)
            && !planted(Bug::HubChangeUntold)
        {
            of_group.history().changed_at(newest);
        }
        let mut to = |segment: &Arc<LiveSegment>, records: &[PlacedRecord], blocks: Vec<ArenaBlock>| {
            let waiting = segment.append(memory, records, blocks, &mut self.spare);
            appended(segment, waiting);
        };
        if !segment.has_hubs() {
            to(&segment, &records, properties.flatten().collect());
            return;
        }
        newest.into_iter().for_each(|newest| segment.history().changed_at(newest));
        // All that is no hub's at once: what is reserved is for that, and each time a tail fills its run is sorted anew.
        let (mut rest, mut of_rest) = (Vec::with_capacity(records.len()), Vec::new());
        for of_row in records.chunk_by(|a, b| a.key.row() == b.key.row()) {
            let blocks = properties.by_ref().take(of_row.len()).flatten();
            match segment.hub_of(of_row[0].key.row()) {
                Some(hub) => to(&hub, of_row, blocks.collect()),
                None => {
                    rest.extend_from_slice(of_row);
                    of_rest.extend(blocks);
                }
            }
        }
        if !rest.is_empty() {
            to(&segment, &rest, of_rest);
        }
    }
}

impl Drop for ReservedRecords {
    fn drop(&mut self) {
        let properties = self.properties.drain(..).flatten();
        properties.chain(self.spare.drain(..)).for_each(|block| self.arena.free(block));
    }
}
