//! Body merge: one segment's records into its body, in the files.
//!
//! ```text
//! decode    the body, and of its columns those that may change
//! merge     nets of the records; rows with very many edges become hubs
//! write     columns that changed, then the body, as extents; found by their place from here on
//! publish   latch, registry: a version of B (segment's merge)
//! ```
//!
//! It needn't be durable: the old body and the log say all. What was built for nothing is free at once.

use crate::body_store::body_writer::BodyWriter;
use crate::body_store::stored_body::{StoredBody, StoredColumns};
use crate::body_store::stored_column::StoredColumn;
use crate::engine::graph::MappedGraph;
use crate::engine::groups::id_of;
use crate::entries::entry::ENTRY_BYTES_MAX;
use crate::files::segment_id::SegmentId;
use crate::merge::{BuiltBody, LiveMergeOutcome, MergedBody};
use crate::segment::LiveSegment;
use crate::shared_record::{SharedRecord, first_inexact};
use crate::version::BodyPlace;
use crate::view::layer::record_ref;
use crate::view::source::VERTICES;
use evergraph_bodies::body::Body;
use evergraph_bodies::merge_turn::MergeTurn;
use evergraph_bodies::net::{Effect, Net, nets};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::KeyId;
use evergraph_graph::packed_column::column::PackedColumn;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::record::{Operation, Record, Stamp};
use evergraph_storage::sync::atomic::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

impl MappedGraph {
    /// Takes what is readable of a segment into its body.
    ///
    /// # Errors
    /// `limit` on a full disk or without room in `live`; `corrupt` if the body or `live` is damaged; what the system says.
    pub fn merge(&self, segment: &Arc<LiveSegment>) -> Result<LiveMergeOutcome> {
        self.merge_in(MergeTurn::OnlyIfFree, segment)
    }

    /// The same up to what is readable now, after a merge of the segment that is under way: that may have begun earlier.
    ///
    /// # Errors
    /// As [`MappedGraph::merge`].
    pub fn merge_in_turn(&self, segment: &Arc<LiveSegment>) -> Result<LiveMergeOutcome> {
        self.merge_in(MergeTurn::Awaited, segment)
    }

    fn merge_in(&self, turn: MergeTurn, segment: &Arc<LiveSegment>) -> Result<LiveMergeOutcome> {
        if self.extents().is_only_read() || self.is_building(segment) {
            return Ok(LiveMergeOutcome::Nothing);
        }
        if self.is_dropped(segment) {
            return self.empty_index(segment);
        }
        let began = self.timeline().clock().now();
        // Without room for names fewer records are merged.
        let _ = self.advance_readable();
        // To be taken back if nothing refers to them.
        let mut built = Vec::new();
        let mut replaced = BodyPlace::default();
        let merged = self.writer().merge_body(segment, self.timeline(), turn, |body, base, records| {
            replaced = body;
            self.build(segment, body, base, records, &mut built)
        });
        let Ok(LiveMergeOutcome::Done { records, growth }) = merged else {
            built.into_iter().for_each(|place| self.bodies().remove(place));
            return merged;
        };
        if planted(Bug::ReplacedBodyFreed) {
            self.bodies().remove(replaced);
        }
        if segment.subject() != VERTICES && segment.index_number().is_none() {
            self.count_body_edges(growth);
        }
        self.count_merged(records);
        self.counters().merged(self.timeline().clock().now().saturating_sub(began), 0);
        merged
    }

    /// So many records are part of bodies, and wait no longer.
    pub(crate) fn count_merged(&self, records: usize) {
        self.counters().records.fetch_sub(records as u64, Ordering::Relaxed);
    }

    /// Bodies have so many edges more, or fewer.
    pub(crate) fn count_body_edges(&self, growth: i64) {
        let edges = &self.counters().body_edges;
        match u64::try_from(growth) {
            Ok(more) => edges.fetch_add(more, Ordering::Relaxed),
            Err(_) => edges.fetch_sub(growth.unsigned_abs(), Ordering::Relaxed),
        };
    }

    fn build(
        &self,
        segment: &LiveSegment,
        before: BodyPlace,
        base: Timestamp,
        records: Vec<SharedRecord>,
        built: &mut Vec<BodyPlace>,
    ) -> Result<MergedBody> {
        let id = id_of(segment);
        if id.index_number().is_some() {
            let merged = self.merged_entries(segment, before, base, &records)?;
            built.push(merged.place);
            return Ok(merged.into());
        }
        let records = records.iter().map(|record| decoded(id, record)).collect::<Result<Vec<Record>>>()?;
        if let Some((_, problem)) = first_inexact(records.iter().map(|record| (record.key, record.stamp))) {
            return Err(damaged(id, &problem));
        }
        let history = segment.history().followed_by(self.timeline(), &records);
        let mut nets: Vec<Net> = nets(records.iter().map(record_ref)).collect();
        if planted(Bug::LostDelete) {
            nets.retain(|net| net.effect != Effect::Absent);
        }
        let before = self.bodies().get(before).ok_or_else(|| {
            Error::new(ErrorKind::Corrupt, format!("{id} has no body where its version says"))
        })?;
        let writer = BodyWriter { extents: self.extents(), segment: id, base };
        let mut insert = |body: StoredBody, items: usize| {
            let place = self.bodies().insert(Arc::new(body))?;
            built.push(place);
            Ok::<BuiltBody, Error>(BuiltBody { place, items })
        };
        if id.type_and_side().is_none() {
            let old = before.to_vertex_body()?;
            let merged = old.copied(&nets).map_err(|problem| damaged(id, &problem))?;
            // A column that is as it was is the same in both.
            let kept = |key: KeyId, column: &Arc<PackedColumn>| -> Option<Arc<StoredColumn>> {
                let is_same = old.column(key).is_some_and(|old| Arc::ptr_eq(old, column));
                before.column(key).filter(|_| is_same).cloned()
            };
            let body = insert(writer.vertices(&merged, &kept)?, merged.items())?;
            return Ok(MergedBody { body, hubs: Vec::new(), history });
        }
        let (old, untouched) = match changed_keys(&nets) {
            Some(_) if planted(Bug::ChangedColumnKept) => {
                (before.to_edge_body(|_| false)?, before.columns().to_vec())
            }
            Some(keys) => {
                let untouched = before.columns().iter().filter(|column| !keys.contains(&column.0));
                (before.to_edge_body(|key| keys.contains(&key))?, untouched.cloned().collect())
            }
            None => (before.to_edge_body(|_| true)?, StoredColumns::new()),
        };
        let merged = old.copied(&nets).map_err(|problem| damaged(id, &problem))?;
        // A hub's own list is split no further, and where only properties changed no list grew.
        let (rest, hubs) = match id.hub_row() {
            None if untouched.is_empty() => merged.split_hubs(),
            _ => (merged, Vec::new()),
        };
        let body = insert(writer.edges(&rest, &|_, _| None, untouched)?, rest.items())?;
        let mut of_hubs = Vec::with_capacity(hubs.len());
        for (row, hub) in hubs {
            let writer = BodyWriter { segment: id.hub(row), ..writer };
            of_hubs.push((row, insert(writer.edges(&hub, &|_, _| None, Vec::new())?, hub.items())?));
        }
        Ok(MergedBody { body, hubs: of_hubs, history })
    }
}

impl MappedGraph {
    /// The entries of an index with what `records`, by (key, stamp), say of them: of each the newest.
    fn merged_entries(
        &self,
        segment: &LiveSegment,
        before: BodyPlace,
        base: Timestamp,
        records: &[SharedRecord],
    ) -> Result<BuiltBody> {
        let id = id_of(segment);
        let corrupt =
            |problem: String| Error::new(ErrorKind::Corrupt, format!("{id} cannot be read: {problem}"));
        let before = self.bodies().get(before);
        let before = before.ok_or_else(|| corrupt("it has no body where its version says".to_owned()))?;
        let mut newest: Vec<(&[u8], Stamp)> =
            records.iter().map(|record| (&record.properties[..], record.stamp)).collect();
        newest.sort_unstable_by(|a, b| a.0.cmp(b.0).then(b.1.cmp(&a.1)));
        newest.dedup_by(|later, first| later.0 == first.0);
        if newest.iter().any(|(entry, _)| entry.is_empty() || entry.len() > ENTRY_BYTES_MAX) {
            return Err(corrupt("a record in `live` that is no entry's".to_owned()));
        }
        let is_there = |stamp: Stamp| stamp.operation() != Operation::Delete || planted(Bug::EntryDeleteLost);
        let changes = newest.iter().map(|(entry, stamp)| (*entry, is_there(*stamp)));
        let _memory = self.starts_of_merge(before.entries()?.count() + newest.len() as u64);
        self.write_merged_entries(segment, base, &before, changes)
    }
}

/// The properties that change, if nothing else does: then every edge keeps its place.
fn changed_keys(nets: &[Net]) -> Option<BTreeSet<KeyId>> {
    let mut keys = BTreeSet::new();
    for net in nets {
        let Effect::Changed(changes) = &net.effect else { return None };
        keys.extend(changes.as_slice().iter().map(|change| change.0));
    }
    Some(keys)
}

/// A record with its properties.
///
/// # Errors
/// `corrupt` if `live` is damaged.
pub fn decoded(id: SegmentId, record: &SharedRecord) -> Result<Record> {
    record.decoded().map_err(|problem| damaged(id, &problem))
}

/// The error of records that no commit can have made.
fn damaged(id: SegmentId, problem: &str) -> Error {
    Error::new(ErrorKind::Corrupt, format!("a record of {id} in `live` is damaged: {problem}"))
}
