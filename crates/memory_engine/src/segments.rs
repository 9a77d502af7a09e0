//! Segments: all segments of a graph in RAM, and the merging that keeps their tails and runs short.
//!
//! The memory engine reads and writes them, a checkpoint stores their bodies, a bulk load adds to them.

use crate::group::{Group, GroupTable};
use crate::merger::{Job, MergeMemory, Merger, for_each_segment};
use crate::segment::version::{Layer, Segment, Version};
use evergraph_bodies::body::Body;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_graph::id::Direction;
use evergraph_graph::partition::OwnGroups;
use evergraph_storage::engine::EngineStatistics;
use evergraph_storage::sync::atomic::Ordering;
use evergraph_storage::timeline::clock::Timeline;
use std::sync::Arc;
use std::time::Duration;

/// How long a settling segment is left to another thread, if no merge ends before.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// See the file's caption.
#[derive(Debug)]
pub struct Segments {
    timeline: Arc<Timeline>,
    groups: GroupTable,
    merger: Merger,
    /// The groups that there are here, if others lie elsewhere.
    own: Option<OwnGroups>,
}

impl Segments {
    /// None yet.
    #[must_use]
    pub fn new(timeline: Arc<Timeline>) -> Self {
        Self { timeline, groups: GroupTable::default(), merger: Merger::default(), own: None }
    }

    /// The same, which has records of `own` groups only. `None`: of all.
    #[must_use]
    pub fn of_groups(self, own: Option<OwnGroups>) -> Self {
        Self { own, ..self }
    }

    /// The groups that there are here, if others lie elsewhere.
    #[must_use]
    pub fn own_groups(&self) -> Option<OwnGroups> {
        self.own
    }

    /// The groups that they belong to.
    #[must_use]
    pub fn groups(&self) -> &GroupTable {
        &self.groups
    }

    /// The queue of merges.
    #[must_use]
    pub fn merger(&self) -> &Merger {
        &self.merger
    }

    /// Time.
    #[must_use]
    pub fn timeline(&self) -> &Arc<Timeline> {
        &self.timeline
    }

    /// Merges in the background until [`Merger::close`]: the body of the merge thread.
    pub fn run_merges(&self) {
        self.merger.run(&self.timeline, &self.groups);
    }

    /// Merges as the merge thread does in one round, as [`Merger::step`].
    pub fn step_merges(&self, rounds: &mut MergeMemory, quiet: bool) {
        self.merger.step(&self.timeline, &self.groups, rounds, quiet);
    }

    /// Merges every segment up to what is readable now. For tests, benchmarks and quiet times.
    pub fn merge_everything(&self) {
        for_each_segment(&self.groups, |job| {
            self.merger.merge_in_turn(&self.timeline, &job);
            true
        });
        self.merger.trim(&self.timeline);
    }

    /// Takes in a group that a checkpoint or a bulk load made.
    pub fn attach(&self, group: Arc<Group>) {
        let edges: usize = group.edges().iter().map(|edge| body_edges(&edge.segment.load().layer)).sum();
        self.merger.counters.body_edges.fetch_add(edges as u64, Ordering::Relaxed);
        self.merger.retain(&group);
        self.groups.insert(group);
    }

    /// Merges `segment` until nothing is on top of its body. Every commit must be readable and none may
    /// come meanwhile.
    pub fn settle<B: Body>(&self, segment: &Arc<Segment<B>>)
    where
        Job: for<'a> From<&'a Arc<Segment<B>>>,
    {
        while segment.load().layer.record_count() > 0 {
            // Another thread may be about it.
            if !self.merger.merge(&self.timeline, &Job::from(segment)) {
                self.merger.wait_for_progress(LOOK_AGAIN);
            }
        }
    }

    /// Puts a layer of a bulk load over a segment, as [`Segment::load_over`]. Under the latch.
    pub fn load_over(
        &self,
        segment: &Arc<Segment<EdgeBody>>,
        layer: Layer<EdgeBody>,
    ) -> Arc<Version<EdgeBody>> {
        let added = body_edges(&layer) - body_edges(&segment.load().layer);
        self.merger.counters.body_edges.fetch_add(added as u64, Ordering::Relaxed);
        let displaced = segment.load_over(&self.timeline, layer);
        self.merger.keep(Job::from(segment));
        displaced
    }

    /// The same of vertices that a bulk load changes.
    pub fn change_over(
        &self,
        segment: &Arc<Segment<VertexBody>>,
        layer: Layer<VertexBody>,
    ) -> Arc<Version<VertexBody>> {
        let displaced = segment.load_over(&self.timeline, layer);
        self.merger.keep(Job::from(segment));
        displaced
    }

    /// Numbers for `stats`. Cost: a look at each segment.
    #[must_use]
    pub fn statistics(&self) -> EngineStatistics {
        let mut sum = EngineStatistics::default();
        self.merger.counters.put_into(&mut sum);
        for group in self.groups.iter() {
            sum.groups += 1;
            add(&mut sum, &group.vertices);
            for edge in group.edges().iter() {
                let side = edge.subject.side();
                add_edges(&mut sum, &edge.segment, side);
                for hub in edge.segment.load().layer.hubs.iter() {
                    add_edges(&mut sum, &hub.segment, side);
                    sum.hubs += 1;
                }
            }
        }
        sum
    }
}

/// Edges in the body of a layer and in those of its hubs.
fn body_edges(layer: &Layer<EdgeBody>) -> usize {
    let hubs = layer.hubs.iter().map(|hub| hub.segment.load().layer.body.items());
    layer.body.items() + hubs.sum::<usize>()
}

/// Every edge lies on both sides, and is counted on the out side.
fn add_edges(sum: &mut EngineStatistics, segment: &Segment<EdgeBody>, side: Direction) {
    add(sum, segment);
    if side == Direction::Out {
        let version = segment.load();
        sum.body_edges += version.layer.body.items() as u64;
        sum.fresh_edge_records += version.layer.record_count() as u64;
    }
}

fn add<B: Body>(sum: &mut EngineStatistics, segment: &Segment<B>) {
    let version = segment.load();
    let bytes = version.layer.body.bytes();
    let fixed = size_of::<Segment<B>>() + size_of::<Version<B>>();
    sum.segments += 1;
    sum.topology_bytes += (bytes.topology + fixed) as u64;
    sum.property_bytes += bytes.properties as u64;
    sum.order_bytes += bytes.orders as u64;
    let layer = &version.layer;
    let waiting = layer.aside.heap_bytes() + layer.run.heap_bytes() + layer.tail.heap_bytes();
    let records = waiting + version.history.heap_bytes();
    sum.record_bytes += records as u64;
    sum.retained_versions += version.older.len() as u64;
    for past in version.older.iter() {
        let bytes = past.layer.body.bytes();
        sum.retained_bytes += (bytes.topology + bytes.properties + bytes.orders) as u64;
    }
}
