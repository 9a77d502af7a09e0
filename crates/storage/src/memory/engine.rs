//! The memory engine: groups of segments in RAM, and the merging of them.

use crate::memory::group::{Group, GroupTable};
use crate::memory::merger::{Job, Merger, Rounds, for_each_segment};
use crate::segment::body::Body;
use crate::segment::edge_body::EdgeBody;
use crate::segment::version::{Layer, Segment, Version};
use crate::sync::atomic::Ordering;
use crate::timeline::clock::Timeline;
use std::sync::Arc;
use std::time::Duration;

/// How long a writer sleeps before it looks for room again, if no merge wakes it.
pub(super) const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Segments in RAM.
#[derive(Debug)]
pub struct MemoryEngine {
    pub(super) timeline: Arc<Timeline>,
    pub(super) groups: GroupTable,
    pub(super) merger: Merger,
}

impl MemoryEngine {
    /// An engine without groups.
    #[must_use]
    pub fn new(timeline: Arc<Timeline>) -> Self {
        Self { timeline, groups: GroupTable::default(), merger: Merger::default() }
    }

    /// The groups.
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
    pub fn step_merges(&self, rounds: &mut Rounds, quiet: bool) {
        self.merger.step(&self.timeline, &self.groups, rounds, quiet);
    }

    /// Merges every segment up to what is readable now. For tests, benchmarks and quiet times.
    pub fn merge_everything(&self) {
        for_each_segment(&self.groups, |job| {
            self.merger.merge(&self.timeline, &job);
            true
        });
        self.merger.trim(&self.timeline);
    }

    /// Takes in a group that a checkpoint or a bulk load made.
    pub fn attach(&self, group: Arc<Group>) {
        let edges: usize = group
            .edges()
            .iter()
            .map(|edge| {
                let version = edge.segment.load_full();
                let hubs = version.layer.hubs.iter();
                let in_hubs: usize = hubs.map(|hub| hub.segment.load().layer.body.items()).sum();
                version.layer.body.items() + in_hubs
            })
            .sum();
        self.merger.counters.body_edges.fetch_add(edges as u64, Ordering::Relaxed);
        self.merger.retain(&group);
        self.groups.insert(group);
    }

    /// Merges `segment` until nothing is on top of its body. Every commit must be readable and none may
    /// come meanwhile.
    pub fn settle(&self, segment: &Arc<Segment<EdgeBody>>) {
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
        let items = |layer: &Layer<EdgeBody>| {
            let hubs = layer.hubs.iter().map(|hub| hub.segment.load().layer.body.items());
            layer.body.items() + hubs.sum::<usize>()
        };
        let added = items(&layer) - items(&segment.load().layer);
        self.merger.counters.body_edges.fetch_add(added as u64, Ordering::Relaxed);
        let displaced = segment.load_over(&self.timeline, layer);
        self.merger.keep(Job::from(segment));
        displaced
    }
}
