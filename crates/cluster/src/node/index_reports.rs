//! Index reports: a node says on the log that its stores have filled an index that is being built.
//!
//! ```text
//! create index ──applied──> stores fill it ──looked at now and then──> index ready, on the log ──applied──> counted
//!                                                       └──────────── nothing in 5 s: once more ──────┘
//! ```
//!
//! Nobody asks the node for it: an index is filled and counted though whoever created it has gone. A node that starts again has
//! filled what its stores know, since they build their indexes as they open.

use crate::node::apply::Applier;
use crate::node::partition_store::PartitionStore;
use crate::record::body::RecordBody;
use crate::record_id::NodeId;
use crate::tables::index_builds::{BuildStage, IndexBuild};
use crate::tables::placement::CopyState;
use evergraph_graph::index::IndexId;
use evergraph_graph::timestamp::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// How often the stores are looked at while they fill an index.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// When an own record that has not come back is written again, under another id: the log may have taken and lost it, or it was refused
/// for its age.
pub(super) const REPEAT_AFTER: Duration = Duration::from_secs(5);

/// What a node has still to say of indexes.
#[derive(Debug, Default)]
pub(super) struct IndexReports {
    /// None while there is nothing to say.
    next_look_at: Option<Duration>,
    /// When it was said last, of which index, by the record that created it.
    reported: BTreeMap<(IndexId, Timestamp), Duration>,
}

impl IndexReports {
    /// When the stores are looked at next.
    pub(super) fn next_look_at(&self) -> Option<Duration> {
        self.next_look_at
    }

    /// What `node` has to say now, by its stores: [`IndexReports::is_reported`] is told once it was.
    ///
    /// Cost: nothing, while no index is being filled; else a look at each store, every 50 ms.
    pub(super) fn due<P: PartitionStore>(
        &mut self,
        node: NodeId,
        applier: &Applier<P>,
        now: Duration,
    ) -> Vec<RecordBody> {
        let tables = applier.state().tables();
        let is_waited_for = |build: &&IndexBuild| {
            build.stage == BuildStage::Filling
                && !build.nodes.contains(&node)
                && tables.placement().kept_by(node).any(|(_, state)| state == CopyState::Serves)
        };
        let waiting: Vec<&IndexBuild> = tables.builds().all().filter(is_waited_for).collect();
        if waiting.is_empty() {
            *self = Self::default();
            return Vec::new();
        }
        if self.next_look_at.is_some_and(|at| now < at) {
            return Vec::new();
        }
        self.next_look_at = Some(now + LOOK_EVERY);
        let is_due = |build: &&&IndexBuild| {
            let reported = self.reported.get(&(build.definition.id, build.created));
            reported.is_none_or(|at| now >= *at + REPEAT_AFTER)
                && applier.has_filled(node, build.definition.id)
        };
        let due = waiting.iter().filter(is_due).map(|build| RecordBody::IndexReady {
            index: build.definition,
            created: build.created,
            // What enters the index is touched since it was created.
            touches: Vec::new(),
        });
        due.collect()
    }

    /// `report` is on its way to the log.
    pub(super) fn is_reported(&mut self, report: &RecordBody, now: Duration) {
        if let RecordBody::IndexReady { index, created, .. } = report {
            self.reported.insert((index.id, *created), now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certification::certifier::CertifierLimits;
    use crate::digest::SeenLog;
    use crate::key_hash::graph_salt::GraphSalt;
    use crate::node::partition_store::Installed;
    use crate::node::replicated_state::ReplicatedState;
    use crate::planted::{Bug, assert_found};
    use crate::record::body::NewName;
    use crate::record_id::{Author, RecordId};
    use crate::tables::cluster_tables::ClusterTables;
    use crate::tables::members::Members;
    use evergraph_graph::error::Result;
    use evergraph_graph::id::{KeyId, LabelId, PartitionId};
    use evergraph_graph::index::{IndexDefinition, IndexKind};
    use evergraph_graph::mutation::Mutation;
    use evergraph_graph::owner::Owner;
    use evergraph_graph::partition::PartitionCount;
    use std::cell::Cell;
    use std::rc::Rc;

    const NODES: [NodeId; 2] = [NodeId(0), NodeId(1)];

    /// A store of nothing, which has filled an index or not.
    struct ToyStore(Rc<Cell<bool>>);

    impl PartitionStore for ToyStore {
        type PendingSync = ();

        fn installed(&self) -> Installed {
            Installed::all(&SeenLog::START)
        }

        fn has_filled(&self, _: IndexId) -> bool {
            self.0.get()
        }

        fn apply(&mut self, _: Timestamp, _: Vec<Mutation>, _: &SeenLog) -> Result<()> {
            Ok(())
        }

        fn publish_through(&mut self, _: &SeenLog) -> Result<()> {
            Ok(())
        }

        fn begin_sync(&self) {}
    }

    fn index() -> IndexDefinition {
        let id = IndexId { owner: Owner::Label(LabelId(0)), key: KeyId(0), kind: IndexKind::Ordered };
        IndexDefinition { id, unique: false }
    }

    /// Two nodes with two copies of two partitions, an index that is being built, and what was said of it.
    fn tables(reports: &[NodeId]) -> ClusterTables {
        let members = Members::new(NODES.map(|node| (node, "a:1".into())));
        let mut tables = ClusterTables::new(PartitionCount::new(2).unwrap(), members, 2);
        let touches = Vec::new;
        let bodies = [
            RecordBody::Name { name: NewName::Label("Person".into()), touches: touches() },
            RecordBody::Name { name: NewName::Key("name".into()), touches: touches() },
            RecordBody::CreateIndex { index: index(), touches: touches() },
        ];
        let ready = RecordBody::IndexReady { index: index(), created: Timestamp(3), touches: touches() };
        let all = bodies.map(|body| (NODES[0], body)).into_iter();
        let all = all.chain(reports.iter().map(|node| (*node, ready.clone())));
        for (number, (node, body)) in (1..).zip(all) {
            let author = Author { node, incarnation: 0 };
            tables.apply(RecordId { author, number }, Timestamp(number), body);
        }
        tables
    }

    /// Node 1, whose stores have filled the index or not, as `filled` say.
    fn applier(reports: &[NodeId], filled: [&Rc<Cell<bool>>; 2]) -> Applier<ToyStore> {
        let tables = tables(reports);
        let state = ReplicatedState::new(GraphSalt([7; 16]), CertifierLimits::default(), tables);
        let mut applier = Applier::new(state);
        for (partition, filled) in (0..).map(PartitionId).zip(filled) {
            applier.keep(partition, ToyStore(Rc::clone(filled))).unwrap();
        }
        applier
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_node_reports_once_all_of_its_stores_have_filled_and_again_if_nothing_comes() {
        let [one, other] = [true, false].map(|filled| Rc::new(Cell::new(filled)));
        let (applier, mut reports) = (applier(&[], [&one, &other]), IndexReports::default());
        let mut due = |now| {
            let due = reports.due(NODES[1], &applier, now);
            due.iter().for_each(|report| reports.is_reported(report, now));
            (due, reports.next_look_at())
        };
        let nothing = |at: Duration| (Vec::new(), Some(at + LOOK_EVERY));
        assert_eq!(due(seconds(1)), nothing(seconds(1)), "a store has not");
        other.set(true);
        assert_eq!(due(seconds(1)), nothing(seconds(1)), "it is not time to look");
        let report = RecordBody::IndexReady { index: index(), created: Timestamp(3), touches: Vec::new() };
        assert_eq!(due(seconds(2)), (vec![report.clone()], Some(seconds(2) + LOOK_EVERY)));
        assert_eq!(due(seconds(3)), nothing(seconds(3)), "it is on its way");
        assert_eq!(due(seconds(7)).0, [report], "it was lost");
    }

    #[test]
    fn a_node_that_starts_again_reports_what_it_has_not_reported_and_nothing_else() {
        let filled = Rc::new(Cell::new(true));
        let due = |said: &[NodeId]| {
            let mut reports = IndexReports::default();
            let due = reports.due(NODES[1], &applier(said, [&filled, &filled]), Duration::ZERO);
            (due.len(), reports.next_look_at().is_some())
        };
        assert_eq!(due(&[]), (1, true));
        assert_eq!(due(&[NODES[0]]), (1, true));
        assert_eq!(due(&[NODES[1]]), (0, false));
        assert_eq!(due(&NODES), (0, false), "the index is ready");
    }

    #[test]
    fn planted_bugs_are_found() {
        let reports = a_node_reports_once_all_of_its_stores_have_filled_and_again_if_nothing_comes;
        assert_found(Bug::PartitionUnfilled, reports, "a store has not");
    }
}
