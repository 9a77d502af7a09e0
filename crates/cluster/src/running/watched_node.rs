//! Watched node: the graph node of a running node, whose errors say why the node has stopped, once it has.

use crate::engine::graph_node::{BegunSnapshot, GraphNode};
use crate::node::owned_node::CoordinatingNode;
use crate::node::replicated_state::RecordResult;
use crate::node::shared_tables::{SharedTables, TablesMoment};
use crate::record::body::{NewName, RecordBody};
use crate::record::transaction_part::TransactionPart;
use crate::remote::view_asking::PartitionAsker;
use crate::running::monitor::NodeMonitor;
use crate::tables::names::NameId;
use crate::transaction::coordinator::{BeginAt, Coordinator, CoordinatorOptions};
use evergraph_graph::error::Result;
use evergraph_graph::id::{LabelId, PartitionId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::travel::Travels;
use evergraph_graph::unknown_commit::UnknownCommit;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Coordinates on a node that a monitor watches.
pub(super) struct WatchedNode<N> {
    pub(super) coordinator: Coordinator<N>,
    pub(super) monitor: NodeMonitor,
}

/// Asks for a snapshot of such a node.
struct WatchedAsker {
    asker: Arc<dyn PartitionAsker>,
    monitor: NodeMonitor,
}

impl PartitionAsker for WatchedAsker {
    fn ask(&self, messages: Vec<(PartitionId, Vec<u8>)>) -> Result<Vec<Vec<u8>>> {
        self.monitor.explain(self.asker.ask(messages))
    }

    fn travels(&self) -> Option<Arc<dyn Travels>> {
        self.asker.travels()
    }
}

impl<N: CoordinatingNode> GraphNode for WatchedNode<N> {
    fn wait_for(&self, at: BeginAt) -> Result<()> {
        self.monitor.explain(GraphNode::wait_for(&self.coordinator, at))
    }

    fn begin_now(&self) -> Result<BegunSnapshot> {
        let begun = self.monitor.explain(self.coordinator.begin_now())?;
        let asker = Arc::new(WatchedAsker { asker: begun.asker, monitor: self.monitor.clone() });
        Ok(BegunSnapshot { asker, ..begun })
    }

    fn tables(&self) -> &SharedTables {
        GraphNode::tables(&self.coordinator)
    }

    fn wait_until(
        &self,
        at_most: Duration,
        holds: &dyn Fn(&TablesMoment) -> bool,
    ) -> Result<Arc<TablesMoment>> {
        self.monitor.explain(GraphNode::wait_until(&self.coordinator, at_most, holds))
    }

    fn options(&self) -> &CoordinatorOptions {
        GraphNode::options(&self.coordinator)
    }

    fn name(&self, name: NewName) -> Result<NameId> {
        self.monitor.explain(GraphNode::name(&self.coordinator, name))
    }

    fn choose_partition(&self) -> PartitionId {
        GraphNode::choose_partition(&self.coordinator)
    }

    fn take_id(&self, label: LabelId, partition: PartitionId) -> Result<VertexId> {
        self.monitor.explain(GraphNode::take_id(&self.coordinator, label, partition))
    }

    fn give_back(&self, label: LabelId, partition: PartitionId, vertex: VertexId) {
        GraphNode::give_back(&self.coordinator, label, partition, vertex);
    }

    fn submit(&self, since: Timestamp, part: TransactionPart) -> Result<Timestamp> {
        self.monitor.explain(GraphNode::submit(&self.coordinator, since, part))
    }

    fn settle(&self, unknown: UnknownCommit) -> Result<Timestamp> {
        self.monitor.explain(GraphNode::settle(&self.coordinator, unknown))
    }

    fn ask(&self, body: RecordBody) -> Result<RecordResult> {
        self.monitor.explain(GraphNode::ask(&self.coordinator, body))
    }
}

impl<N> fmt::Debug for WatchedNode<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.coordinator.fmt(f)
    }
}
