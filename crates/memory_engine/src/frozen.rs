//! Frozen topology: segments in RAM as lists for algorithms.
//!
//! Lists share their bodies with the segments, so that nothing is copied but what is fresh. Nothing here fails.

use crate::segment::version::Layer;
use crate::view::MemoryView;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::frozen::freeze_source::{FreezeSegment, FreezeSource, FreezeVisitor, ListChanges};
use evergraph_bodies::frozen::frozen_graph::FrozenGraph;
use evergraph_bodies::frozen::shared_list;
use evergraph_bodies::net::{Net, nets};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, GroupId, KeyId, LabelId, TypeId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::view::{GroupBits, View};
use std::sync::Arc;

/// Adjacency lists of one snapshot, for algorithms.
pub type FrozenTopology = FrozenGraph<Arc<EdgeBody>>;

/// The lists of one group, handed out as they lie: see [`FrozenGraph::shared_lists`].
pub type SharedList = shared_list::SharedList;

impl FreezeSource for MemoryView<'_> {
    type Lists = Arc<EdgeBody>;

    fn group_count(&self) -> u32 {
        View::group_count(self)
    }

    fn label(&self, group: GroupId) -> Result<Option<LabelId>> {
        self.group_label(group)
    }

    fn live(&self, group: GroupId) -> Result<GroupBits> {
        View::live(self, group)
    }

    fn for_each_segment(
        &self,
        group: GroupId,
        side: Direction,
        wanted: &dyn Fn(TypeId) -> bool,
        freeze: &mut FreezeVisitor<'_, Arc<EdgeBody>>,
    ) -> Result<()> {
        let Some(group) = self.group(group) else { return Ok(()) };
        for edge in group.edges().iter().filter(|edge| edge.subject.side() == side) {
            let edge_type = edge.subject.edge_type();
            if !wanted(edge_type) {
                continue;
            }
            let timestamp = self.timestamp();
            let version = edge.segment.load();
            let layer = version.layer_at(timestamp);
            freeze(edge_type, &LayerAt { layer, timestamp })?;
            for hub in layer.hubs.iter() {
                let version = hub.segment.load();
                freeze(edge_type, &LayerAt { layer: version.layer_at(timestamp), timestamp })?;
            }
        }
        Ok(())
    }
}

/// What a snapshot sees of a segment.
struct LayerAt<'a> {
    layer: &'a Layer<EdgeBody>,
    timestamp: Timestamp,
}

impl FreezeSegment for LayerAt<'_> {
    type Lists = Arc<EdgeBody>;

    fn lists(&self) -> Result<Arc<EdgeBody>> {
        Ok(Arc::clone(&self.layer.body))
    }

    fn changes(&self) -> Result<ListChanges> {
        Ok(match self.layer.inserted(self.timestamp) {
            Some(keys) => ListChanges::Inserted(keys),
            None => ListChanges::Differences(self.layer.differences(self.timestamp)),
        })
    }

    fn inexact(&self, problem: String) -> Error {
        Error::new(ErrorKind::Corrupt, format!("records are not exact: {problem}"))
    }

    fn with_nets(&self, read: &mut dyn FnMut(&[Net]) -> Result<()>) -> Result<()> {
        let nets: Vec<Net> = nets(self.layer.all_records(self.timestamp).into_iter()).collect();
        read(&nets)
    }

    fn body(&self, _keys: &[KeyId]) -> Result<Arc<EdgeBody>> {
        self.lists()
    }
}
