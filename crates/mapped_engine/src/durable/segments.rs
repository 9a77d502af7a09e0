//! Segments as checkpoints see them: one version of each, kept as long as it is looked at.

use crate::body_store::column_table::{ColumnEntry, with_places};
use crate::body_store::extent_bytes::ExtentBytes;
use crate::body_store::stored_body::{StoredBody, StoredColumns};
use crate::body_store::stored_column::StoredColumn;
use crate::checkpoint::contract::{CheckpointBody, CheckpointSegments, CheckpointVersion, MergeStep};
use crate::engine::graph::MappedGraph;
use crate::engine::groups::id_of;
use crate::extents::stored_extent::StoredExtent;
use crate::extents::table::Extents;
use crate::files::section::NamedIndexes;
use crate::files::segment_id::{INDEXES, SegmentId};
use crate::index_table::StoredIndexState;
use crate::merge::LiveMergeOutcome;
use crate::retired::KeptSnapshot;
use crate::run::merge_sorted_runs;
use crate::segment::LiveSegment;
use crate::segment_state::SegmentState;
use crate::shared_record::{PlacedRecord, SharedRecord, properties_at};
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::id::{GroupId, KeyId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::timeline::clock::Timeline;
use std::sync::Arc;

impl CheckpointBody for Arc<StoredBody> {
    fn parts(&self) -> impl Iterator<Item = (Option<KeyId>, &StoredExtent)> {
        StoredBody::parts(self)
    }

    fn rewritten(&self, extents: &Extents) -> CheckpointResult<Self> {
        let rewrite = |lost: &StoredExtent, payload: &[u8]| extents.write(lost.header(), payload);
        let mut columns = StoredColumns::new();
        for (key, column) in self.columns() {
            let own = column.extent().own().filter(|extent| extent.is_lost());
            columns.push(match own {
                None => (*key, Arc::clone(column)),
                Some(lost) => {
                    let extent = rewrite(lost, &lost.copy_verified()?)?;
                    (*key, Arc::new(StoredColumn::new(ExtentBytes::Own(extent), column.base())))
                }
            });
        }
        let Some(own) = self.extent().and_then(ExtentBytes::own) else { return Ok(Arc::clone(self)) };
        let entry = |(key, column): &(KeyId, Arc<StoredColumn>)| ColumnEntry {
            key: *key,
            base: column.base(),
            place: column.extent().place(),
        };
        let entries: Vec<ColumnEntry> = columns.iter().map(entry).collect();
        let moved =
            with_places(&own.copy_verified()?, &entries).map_err(|problem| own.corrupt(0, problem))?;
        Ok(Arc::new(StoredBody::found(ExtentBytes::Own(rewrite(own, &moved)?), columns)))
    }
}

/// One version of a segment.
#[derive(Debug)]
pub struct SegmentVersionView<'a> {
    graph: &'a MappedGraph,
    segment: Arc<LiveSegment>,
    state: SegmentState,
    body: Arc<StoredBody>,
    hubs: Vec<Arc<LiveSegment>>,
    newest: Timestamp,
    /// Keeps runs and tail.
    _kept: KeptSnapshot,
}

impl CheckpointVersion for SegmentVersionView<'_> {
    type Segment = Arc<LiveSegment>;
    type Body = Arc<StoredBody>;

    fn id(&self) -> SegmentId {
        id_of(&self.segment)
    }

    fn base(&self) -> Timestamp {
        self.state.version.base
    }

    fn items(&self) -> u64 {
        self.state.items as u64
    }

    fn body(&self) -> Option<&Arc<StoredBody>> {
        self.body.extent().is_some().then_some(&self.body)
    }

    fn newest(&self) -> Timestamp {
        self.newest
    }

    fn is_merge_due(&self) -> bool {
        self.graph.is_merge_due(&self.segment)
    }

    fn hubs(&self) -> Vec<Arc<LiveSegment>> {
        self.hubs.clone()
    }

    fn records(&self, after: Timestamp, through: Timestamp) -> CheckpointResult<Vec<SharedRecord>> {
        let arena = self.graph.arena();
        let of_runs = self.state.runs.iter().flat_map(|run| run.placed(arena));
        let of_tail = self.state.tail.iter().flat_map(|tail| tail.placed(arena));
        let after = after.max(self.base());
        let is_wanted = |record: &PlacedRecord| {
            let at = record.stamp.timestamp();
            at > after && at <= through
        };
        let shared = self.graph.live().words();
        let mut records = Vec::new();
        for PlacedRecord { key, stamp, properties } in of_runs.chain(of_tail).filter(is_wanted) {
            let properties = properties_at(shared, properties).map_err(CheckpointError::Refused)?;
            records.push(SharedRecord { key, stamp, properties });
        }
        merge_sorted_runs(&mut records);
        Ok(records)
    }
}

impl CheckpointSegments for MappedGraph {
    type Segment = Arc<LiveSegment>;
    type Version<'a> = SegmentVersionView<'a>;

    fn timeline(&self) -> &Timeline {
        MappedGraph::timeline(self)
    }

    fn groups(&self) -> Vec<GroupId> {
        let groups = MappedGraph::groups(self);
        groups.iter().chain(groups.get(INDEXES)).map(|group| group.id).collect()
    }

    fn indexes(&self) -> NamedIndexes {
        let table = MappedGraph::indexes(self);
        NamedIndexes { indexes: table.ready(), next: table.next() }
    }

    fn segments(&self, group: GroupId) -> Vec<Arc<LiveSegment>> {
        let group = MappedGraph::groups(self).get(group);
        let segments = group.map(|group| Arc::clone(&group.segments())).unwrap_or_default();
        // What an index has that isn't ready is worth nothing to who opens the database.
        let is_named = |segment: &LiveSegment| {
            let state = segment.index_number().map(|number| MappedGraph::indexes(self).state_of(number));
            state.is_none_or(|state| matches!(state, Some(StoredIndexState::Ready(_))))
        };
        segments.iter().map(|(_, segment)| segment).filter(|segment| is_named(segment)).cloned().collect()
    }

    fn version<'a>(&'a self, segment: &Arc<LiveSegment>) -> CheckpointResult<SegmentVersionView<'a>> {
        loop {
            // Of W: the base of a load is newer than R until it is durable.
            let kept = self.pin(MappedGraph::timeline(self).published());
            let found = {
                // What belongs together: a merge that replaces the body and takes hubs out of it has this lock.
                let state = segment.state.lock();
                let hubs = segment.hubs().iter().map(|(_, hub)| Arc::clone(hub)).collect();
                (state.clone(), hubs, self.bodies().get(state.version.body))
            };
            let (state, hubs, body) = found;
            // A snapshot keeps what has a base that it sees.
            if state.version.base > kept.timestamp() {
                continue;
            }
            let body = body.ok_or_else(|| {
                let text = format!("{} has no body where its version says", id_of(segment));
                CheckpointError::Refused(Error::new(ErrorKind::Corrupt, text))
            })?;
            let newest = segment.history().changed();
            return Ok(SegmentVersionView {
                graph: self,
                segment: Arc::clone(segment),
                state,
                body,
                hubs,
                newest,
                _kept: kept,
            });
        }
    }

    fn move_body(
        &self,
        segment: &Arc<LiveSegment>,
        from: &Arc<StoredBody>,
        to: &Arc<StoredBody>,
    ) -> CheckpointResult<()> {
        self.relocate(segment, from, to).map_err(CheckpointError::Refused)
    }

    fn merge(&self, segment: &Arc<LiveSegment>) -> CheckpointResult<MergeStep> {
        let merged = MappedGraph::merge(self, segment).map_err(CheckpointError::Refused)?;
        Ok(match merged {
            LiveMergeOutcome::Done { .. } => MergeStep::Done,
            LiveMergeOutcome::Busy | LiveMergeOutcome::Overtaken => MergeStep::Busy,
            LiveMergeOutcome::Nothing => MergeStep::Nothing,
        })
    }
}
