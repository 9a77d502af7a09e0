//! Segment changes: what is newer in a segment than an open writer's snapshot, and what records name; by the process that
//! writes.

use crate::body_store::body_table::BodyTable;
use crate::segment::LiveSegment;
use crate::segment_history::ChangeKind;
use crate::segment_state::{SegmentMemory, SegmentState};
use crate::shared_record::{PlacedRecord, decoded, properties_at};
use crate::words::SharedWords;
use evergraph_graph::error::Result;
use evergraph_graph::id::KeyId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::engine::ChangedSince;
use evergraph_storage::record::RecordKey;
use std::ops::RangeInclusive;

impl LiveSegment {
    /// Whether a record of `keys` is newer than `since`, and a change of this kind. Cost: a look at the records of the tail
    /// that are newer, two binary searches in each run, and in the history for who began before the base.
    pub fn newer(
        &self,
        memory: &SegmentMemory<'_>,
        keys: &RangeInclusive<RecordKey>,
        since: Timestamp,
        kind: ChangeKind,
    ) -> ChangedSince {
        if self.history().changed().visible_at(since) {
            return ChangedSince::No;
        }
        // Under its lock: what it refers to stays, and a row becomes no hub.
        let state = self.state.lock();
        let row = keys.start().row();
        if row == keys.end().row()
            && let Some(hub) = self.hub_of(row)
        {
            drop(state);
            return hub.newer(memory, keys, since, kind);
        }
        match newer_records(&state, memory, keys, since, kind) {
            Some(true) => return ChangedSince::Yes,
            // Somebody else stored there.
            None => return ChangedSince::Forgotten,
            Some(false) => {}
        }
        if state.version.base.visible_at(since) {
            return ChangedSince::No;
        }
        self.history().newer(keys, since, kind)
    }
}

impl LiveSegment {
    /// Appends the discriminators of edges from `row` to `neighbor` that are there, or that a record names.
    ///
    /// # Errors
    /// `corrupt` if the body is damaged.
    pub fn taken_discriminators(
        &self,
        memory: &SegmentMemory<'_>,
        bodies: &BodyTable,
        row: u16,
        neighbor: u32,
        taken: &mut Vec<u16>,
    ) -> Result<()> {
        let state = self.state.lock();
        if let Some(hub) = self.hub_of(row) {
            drop(state);
            return hub.taken_discriminators(memory, bodies, row, neighbor, taken);
        }
        let keys = RecordKey::parallel(row, neighbor);
        let tail = state.tail.iter().flat_map(|tail| tail.placed(memory.arena));
        let tail = tail.filter(|record| keys.contains(&record.key));
        let runs = state.runs.iter().flat_map(|run| run.placed_in(memory.arena, &keys));
        taken.extend(tail.chain(runs).map(|record| record.key.discriminator()));
        self.history().discriminators(&keys, taken);
        // The body stays while somebody has it.
        let body = bodies.get(state.version.body);
        drop(state);
        if let Some(body) = body {
            let lists = body.edges()?;
            taken.extend(lists.parallel(row, neighbor).map(|at| lists.discriminator(at)));
        }
        Ok(())
    }
}

/// As [`LiveSegment::newer`], of tail and runs; `None` if properties are damaged.
fn newer_records(
    state: &SegmentState,
    memory: &SegmentMemory<'_>,
    keys: &RangeInclusive<RecordKey>,
    since: Timestamp,
    kind: ChangeKind,
) -> Option<bool> {
    let shared = memory.live.words();
    let holds = |record: PlacedRecord| kind.holds(record.stamp, |key| mentions(shared, record, key));
    if let Some(tail) = &state.tail {
        let is_newer = |record: &PlacedRecord| !record.stamp.timestamp().visible_at(since);
        for record in tail.placed(memory.arena).rev().take_while(is_newer) {
            if keys.contains(&record.key) && holds(record)? {
                return Some(true);
            }
        }
    }
    for run in &state.runs {
        for record in run.placed_in(memory.arena, keys) {
            if !record.stamp.timestamp().visible_at(since) && holds(record)? {
                return Some(true);
            }
        }
    }
    Some(false)
}

/// Whether a record says anything of a property.
fn mentions(shared: &SharedWords, record: PlacedRecord, key: KeyId) -> Option<bool> {
    let bytes = properties_at(shared, record.properties).ok()?;
    Some(decoded(&bytes).ok()?.get(key).is_some())
}
