//! Pin map: how a graph is divided, for one transaction: as of its snapshot, but for groups, which it may open itself.

use crate::node::shared_tables::TablesMoment;
use crate::planted::{Bug, planted};
use crate::remote::remote_snapshot::GraphMap;
use evergraph_graph::id::{GroupId, LabelId, PartitionId};
use evergraph_graph::index::IndexId;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::value::Value;
use evergraph_storage::sync::{ArcCell, Mutex};
use std::sync::Arc;

/// The map of one snapshot. Groups are those of a moment that moves on: one that was opened since has no vertex at S, and may
/// have the transaction's own.
///
/// # Concurrency
///
/// Any thread reads, and moves on; the lock orders those that do, so that it never goes back.
pub struct PinMap {
    begun: Arc<TablesMoment>,
    groups: ArcCell<TablesMoment>,
    moving: Mutex<()>,
}

impl PinMap {
    /// As of `begun`.
    #[must_use]
    pub fn new(begun: Arc<TablesMoment>) -> Self {
        Self { groups: ArcCell::new(Arc::clone(&begun)), begun, moving: Mutex::default() }
    }

    /// Has the groups of `newest`, unless it has those of a later moment: another thread may have taken that one first.
    pub fn move_on(&self, newest: Arc<TablesMoment>) {
        let _moving = self.moving.lock();
        let is_later = newest.seen().position > self.groups.load().seen().position;
        if (is_later || planted(Bug::GroupsGoBack)) && !planted(Bug::GroupsOfBegin) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certification::certifier::CertifierLimits;
    use crate::key_hash::graph_salt::GraphSalt;
    use crate::log::reader::ReadMessage;
    use crate::node::replicated_state::ReplicatedState;
    use crate::node::shared_tables::TablesPublisher;
    use crate::planted::assert_found;
    use crate::record::body::{NewName, Record, RecordBody};
    use crate::record::message::{Message, MessageBuilder};
    use crate::record_id::{Author, NodeId};
    use crate::tables::cluster_tables::ClusterTables;
    use crate::tables::members::Members;

    const AUTHOR: Author = Author { node: NodeId(0), incarnation: 0 };

    /// Moments of a log that opens groups.
    fn moments() -> Vec<Arc<TablesMoment>> {
        let mut members = Members::new([(AUTHOR.node, "a:1".into())]);
        members.join(AUTHOR, "a:1".into()).expect("nobody has joined");
        let tables = ClusterTables::new(PartitionCount::new(1).expect("one is possible"), members, 1);
        let mut state = ReplicatedState::new(GraphSalt([7; 16]), CertifierLimits::default(), tables);
        let name = RecordBody::Name { name: NewName::Label("Person".into()), touches: Vec::new() };
        let mut apply = |number, body| {
            let mut builder = MessageBuilder::new(AUTHOR);
            assert!(builder.push(&Record { number, body }), "there is room");
            let bytes: Arc<[u8]> = builder.finish(&state.seen()).into();
            let message = Message::decode(&bytes).expect("it was just made");
            state.apply(ReadMessage { position: state.seen().position.next(), message, bytes });
            TablesPublisher::new(&state).tables().newest()
        };
        apply(1, name);
        let rows = |_| RecordBody::Rows { label: LabelId(0), partition: PartitionId(0), touches: Vec::new() };
        // A group has rows for sixteen ranges.
        (2..50).map(|number| apply(number, rows(number))).collect()
    }

    #[test]
    fn groups_of_a_later_moment_stay_whoever_comes_with_an_earlier_one() {
        let moments = moments();
        let [first, last] = [&moments[0], &moments[moments.len() - 1]];
        assert!(first.group_count() < last.group_count());
        let map = PinMap::new(Arc::clone(first));
        map.move_on(Arc::clone(last));
        map.move_on(Arc::clone(first));
        assert_eq!(map.group_count(), last.group_count(), "it goes back");
    }

    #[test]
    fn planted_bugs_are_found() {
        let back = groups_of_a_later_moment_stay_whoever_comes_with_an_earlier_one;
        assert_found(Bug::GroupsGoBack, back, "it goes back");
    }
}
