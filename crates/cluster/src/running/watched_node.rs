//! Watched node: the graph node of a running node, whose errors say why the node has stopped, once it has.

use crate::engine::graph_node::{BegunSnapshot, GraphNode};
use crate::node::owned_node::CoordinatingNode;
use crate::node::replicated_state::RecordResult;
use crate::node::shared_tables::{SharedTables, TablesMoment};
use crate::record::body::{NewName, RecordBody};
use crate::record::transaction_part::TransactionPart;
use crate::remote::partition_view::PartitionView;
use crate::remote::view_asking::{OwnWork, PartitionAsker};
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
    fn ask_beside(
        &self,
        messages: Vec<(PartitionId, Vec<u8>)>,
        own_work: OwnWork<'_>,
    ) -> Result<Vec<Vec<u8>>> {
        self.monitor.explain(self.asker.ask_beside(messages, own_work))
    }

    fn travels(&self) -> Option<Arc<dyn Travels>> {
        self.asker.travels()
    }

    fn own_view(&self, partition: PartitionId) -> Option<Arc<dyn PartitionView>> {
        self.asker.own_view(partition)
    }

    fn keeps_all(&self) -> bool {
        self.asker.keeps_all()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::pin_waits::{LimitedAsker, PinWaits};
    use crate::node::node_error::NodeError;
    use evergraph_graph::error::{Error, ErrorKind};
    use evergraph_graph::travel::{TravelProgram, TravelRun, TravelStart};
    use evergraph_storage::snapshot::index_entries::CheckTime;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Answers each message with itself, twice, and runs no program.
    struct EchoAsker;

    impl PartitionAsker for EchoAsker {
        fn ask_beside(
            &self,
            messages: Vec<(PartitionId, Vec<u8>)>,
            own_work: OwnWork<'_>,
        ) -> Result<Vec<Vec<u8>>> {
            own_work(&|| Ok(()))?;
            match messages.is_empty() {
                true => Err(Error::new(ErrorKind::Io, "nothing is asked")),
                false => Ok(messages.into_iter().map(|(_, asked)| asked.repeat(2)).collect()),
            }
        }

        fn travels(&self) -> Option<Arc<dyn Travels>> {
            Some(Arc::new(RefusingTravels))
        }

        fn own_view(&self, partition: PartitionId) -> Option<Arc<dyn PartitionView>> {
            panic!("partition {} is looked for", partition.0)
        }

        fn keeps_all(&self) -> bool {
            true
        }
    }

    struct RefusingTravels;

    impl Travels for RefusingTravels {
        fn begin(&self, program: TravelProgram) -> Result<Box<dyn TravelRun>> {
            Err(Error::invalid(format!("of {} stages", program.stages)))
        }
    }

    fn watched() -> (WatchedAsker, NodeMonitor) {
        let monitor = NodeMonitor::new(None);
        (WatchedAsker { asker: Arc::new(EchoAsker), monitor: monitor.clone() }, monitor)
    }

    /// A query whose asker forgets that stages travel is right, and slow: no other test finds it.
    #[test]
    fn whatever_wraps_an_asker_hands_on_all_of_it() {
        let (watched, _) = watched();
        let (watched, of_wrapper): (Arc<dyn PartitionAsker>, Arc<dyn PartitionAsker>) = (
            Arc::new(watched),
            Arc::new(LimitedAsker::new(Arc::new(EchoAsker), Arc::new(PinWaits::default()))),
        );
        for asker in [watched, of_wrapper] {
            let messages = vec![(PartitionId(1), vec![7]), (PartitionId(0), vec![8, 9])];
            let mut works = 0;
            let mut own_work = |_: CheckTime<'_>| {
                works += 1;
                Ok(())
            };
            assert_eq!(asker.ask_beside(messages, &mut own_work).unwrap(), [vec![7, 7], vec![8, 9, 8, 9]]);
            assert_eq!(works, 1, "own work is not handed on");
            let travels = asker.travels().expect("its queries travel");
            let (stages, start, time) = (3, TravelStart::Everywhere, Duration::MAX);
            let program = TravelProgram { bytes: Vec::new(), stages, start, memory_bytes: 0, time };
            let refused = travels.begin(program).err().map(|error| error.to_string());
            assert_eq!(refused.as_deref(), Some("of 3 stages"));
            let looked_for = AssertUnwindSafe(|| asker.own_view(PartitionId(4)).is_some());
            assert!(catch_unwind(looked_for).is_err(), "what the node keeps is not handed on");
            assert!(asker.keeps_all(), "that the node keeps everything is not handed on");
        }
    }

    #[test]
    fn an_asker_of_a_node_that_has_stopped_says_why() {
        let (watched, monitor) = watched();
        assert_eq!(watched.ask(Vec::new()).unwrap_err().to_string(), "nothing is asked");
        monitor.listener().stopped(NodeError::Left);
        let error = watched.ask(Vec::new()).unwrap_err().to_string();
        assert!(error.contains("no member"), "{error}");
    }
}
