//! Pin map: how a graph is divided, for one transaction: as of its snapshot, but for groups, which it may open itself.

use crate::node::shared_tables::TablesMoment;
use crate::planted::{Bug, planted};
use crate::remote::remote_snapshot::GraphMap;
use evergraph_graph::id::{GroupId, LabelId, PartitionId};
use evergraph_graph::index::IndexId;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::value::Value;
use evergraph_storage::sync::ArcCell;
use std::sync::Arc;

/// The map of one snapshot. Groups are those of a moment that moves on: one that was opened since has no vertex at S, and may
/// have the transaction's own.
///
/// # Concurrency
///
/// Any thread reads, and moves on.
pub struct PinMap {
    begun: Arc<TablesMoment>,
    groups: ArcCell<TablesMoment>,
}

impl PinMap {
    /// As of `begun`.
    #[must_use]
    pub fn new(begun: Arc<TablesMoment>) -> Self {
        Self { groups: ArcCell::new(Arc::clone(&begun)), begun }
    }

    /// Has the groups of `newest`, a later moment.
    pub fn move_on(&self, newest: Arc<TablesMoment>) {
        if !planted(Bug::GroupsOfBegin) {
            self.groups.swap(newest);
        }
    }
}

impl GraphMap for PinMap {
    fn partitions(&self) -> PartitionCount {
        self.begun.partitions()
    }

    fn group_count(&self) -> u32 {
        self.groups.load().group_count()
    }

    fn group_label(&self, group: GroupId) -> Option<LabelId> {
        self.groups.load().group_label(group)
    }

    fn partition_of_value(&self, index: IndexId, value: &Value) -> Option<PartitionId> {
        self.begun.partition_of_value(index, value)
    }
}
