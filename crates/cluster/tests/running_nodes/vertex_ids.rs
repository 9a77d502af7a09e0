//! Vertex ids: what becomes of the id of a transaction's vertex, whatever comes of its commit.
//!
//! ```text
//! committed, unknown, failed   the log has it, or may: nobody is given it again
//! conflict, unused             it comes back behind those that the log gave, and somebody else commits with it
//! ```
//!
//! What comes back is seen once all others of its range are taken: whoever takes as many as a range has is given it, for certain.

use crate::cluster::{Cluster, ClusterStore, PATIENCE, coordinators, store_of};
use crate::transactions::ClusterTransaction;
use evergraph_cluster::engine::graph_node::{BegunSnapshot, GraphNode};
use evergraph_cluster::log::memory::LogFaults;
use evergraph_cluster::node::replicated_state::RecordResult;
use evergraph_cluster::node::shared_tables::{SharedTables, TablesMoment};
use evergraph_cluster::planted::{Bug, with};
use evergraph_cluster::record::body::{NewName, RecordBody};
use evergraph_cluster::record::transaction_part::TransactionPart;
use evergraph_cluster::tables::groups::RANGE_ROWS;
use evergraph_cluster::tables::names::NameId;
use evergraph_cluster::transaction::coordinator::{BeginAt, CoordinatorOptions};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{KeyId, LabelId, PartitionId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::unknown_commit::UnknownCommit;
use evergraph_graph::value::Value;
use evergraph_graph::view::{GraphView, VertexCursor};
use evergraph_storage::sync::Mutex;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// How a transaction ends that has added a vertex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Committed,
    /// The log has it, but the commit returns an error of this kind, which is no conflict.
    Told(ErrorKind),
    /// The log has it, but the thread that waits for the commit panics.
    Panicked,
    Conflict,
    RolledBack,
    /// It has deleted the vertex again, and committed something else.
    DeletedAgain,
}

impl End {
    const ALL: [Self; 8] = [
        Self::Committed,
        Self::Told(ErrorKind::Unknown),
        Self::Told(ErrorKind::Io),
        Self::Told(ErrorKind::Busy),
        Self::Panicked,
        Self::Conflict,
        Self::RolledBack,
        Self::DeletedAgain,
    ];

    /// Whether the log has the vertex.
    fn is_in_log(self) -> bool {
        !matches!(self, Self::Conflict | Self::RolledBack | Self::DeletedAgain)
    }
}

/// What a coordinator is told instead of a commit that the log has.
#[derive(Debug)]
enum Lost {
    Error(Error),
    Panic,
}

/// A node whose transactions put all vertices into one partition, and which may lose what came of a commit.
#[derive(Debug)]
struct LosingNode {
    node: Arc<dyn GraphNode>,
    /// Of the next commit.
    lost: Mutex<Option<Lost>>,
}

impl GraphNode for LosingNode {
    fn wait_for(&self, at: BeginAt) -> Result<()> {
        self.node.wait_for(at)
    }

    fn begin_now(&self) -> Result<BegunSnapshot> {
        self.node.begin_now()
    }

    fn tables(&self) -> &SharedTables {
        self.node.tables()
    }

    fn wait_until(
        &self,
        at_most: Duration,
        holds: &dyn Fn(&TablesMoment) -> bool,
    ) -> Result<Arc<TablesMoment>> {
        self.node.wait_until(at_most, holds)
    }

    fn options(&self) -> &CoordinatorOptions {
        self.node.options()
    }

    fn name(&self, name: NewName) -> Result<NameId> {
        self.node.name(name)
    }

    fn choose_partition(&self) -> PartitionId {
        PartitionId(1)
    }

    fn take_id(&self, label: LabelId, partition: PartitionId) -> Result<VertexId> {
        self.node.take_id(label, partition)
    }

    fn give_back(&self, label: LabelId, partition: PartitionId, vertex: VertexId) {
        self.node.give_back(label, partition, vertex);
    }

    fn submit(&self, since: Timestamp, part: TransactionPart) -> Result<Timestamp> {
        let committed = self.node.submit(since, part)?;
        let lost = self.lost.lock().take();
        match lost {
            None => Ok(committed),
            Some(Lost::Error(error)) => Err(error),
            Some(Lost::Panic) => panic!("whoever waited for {committed} ends here, as the test demands"),
        }
    }

    fn settle(&self, unknown: UnknownCommit) -> Result<Timestamp> {
        self.node.settle(unknown)
    }

    fn ask(&self, body: RecordBody) -> Result<RecordResult> {
        self.node.ask(body)
    }
}

struct LosingStore {
    _cluster: Cluster,
    node: Arc<LosingNode>,
    store: ClusterStore,
    /// What transactions change that conflict.
    wanted: (VertexId, KeyId),
}

impl LosingStore {
    fn start(seed: u64) -> Self {
        let cluster = Cluster::start(seed, LogFaults::default());
        let node = coordinators(&cluster, PATIENCE).swap_remove(0);
        let node = Arc::new(LosingNode { node, lost: Mutex::default() });
        let store = store_of(&cluster, node.clone(), 0);
        let add_wanted = |transaction: &mut ClusterTransaction| {
            let (label, key) = (transaction.label("Wanted")?, transaction.key("changes")?);
            Ok((transaction.add_vertex(label, &[])?, key))
        };
        let wanted = store.transact(add_wanted).unwrap();
        Self { _cluster: cluster, node, store, wanted }
    }

    /// Has a transaction add a vertex of a new label and end so; whether its id is given to another one, which commits.
    fn gives_again(&self, end: End) -> bool {
        let label = self.store.begin().label(&format!("{end:?}")).unwrap();
        let mut transaction = self.store.begin();
        let vertex = transaction.add_vertex(label, &[]).unwrap();
        self.end(transaction, vertex, end);
        let mut next = self.store.begin();
        let mut expected: BTreeSet<_> =
            (0..RANGE_ROWS).map(|_| next.add_vertex(label, &[]).unwrap()).collect();
        assert_eq!(expected.len(), usize::from(RANGE_ROWS), "none is given twice at once");
        let is_given_again = expected.contains(&vertex);
        if end.is_in_log() {
            if is_given_again {
                return true;
            }
            expected.insert(vertex);
        }
        next.commit().unwrap();
        assert_eq!(self.vertices(label), expected, "{end:?}");
        is_given_again
    }

    fn end(&self, mut transaction: ClusterTransaction, vertex: VertexId, end: End) {
        match end {
            End::Committed => {
                transaction.commit().unwrap();
            }
            End::Told(kind) => {
                let (number, since) = (u64::MAX, transaction.timestamp());
                let error = match kind {
                    ErrorKind::Unknown => {
                        UnknownCommit { node: 0, incarnation: 0, number, since, proof: 0 }.into()
                    }
                    kind => Error::new(kind, "nothing is known"),
                };
                *self.node.lost.lock() = Some(Lost::Error(error));
                assert_eq!(transaction.commit().unwrap_err().kind(), kind);
            }
            End::Panicked => {
                *self.node.lost.lock() = Some(Lost::Panic);
                catch_unwind(AssertUnwindSafe(|| transaction.commit())).unwrap_err();
            }
            End::Conflict => {
                let mut first = self.store.begin();
                for transaction in [&mut first, &mut transaction] {
                    self.change_wanted(transaction);
                }
                first.commit().unwrap();
                assert!(transaction.commit().unwrap_err().is_conflict());
            }
            End::RolledBack => drop(transaction),
            End::DeletedAgain => {
                transaction.delete_vertex(vertex).unwrap();
                self.change_wanted(&mut transaction);
                transaction.commit().unwrap();
            }
        }
    }

    fn change_wanted(&self, transaction: &mut ClusterTransaction) {
        let (vertex, key) = self.wanted;
        transaction.set_vertex_property(vertex, key, Some(Value::I64(1))).unwrap();
    }

    fn vertices(&self, label: LabelId) -> BTreeSet<VertexId> {
        let snapshot = self.store.snapshot();
        let (mut cursor, mut vertices) = (VertexCursor::default(), Vec::new());
        while !cursor.done {
            snapshot.scan_vertices(Some(&[label]), &mut cursor, 100, &mut vertices).unwrap();
        }
        vertices.into_iter().collect()
    }
}

#[test]
fn ids_are_used_once() {
    let store = LosingStore::start(14);
    for end in End::ALL {
        assert_eq!(store.gives_again(end), !end.is_in_log(), "{end:?}");
    }
    let store = LosingStore::start(15);
    for end in End::ALL.into_iter().filter(|end| end.is_in_log()) {
        let found = with(Bug::UsedIdsGivenBack, || store.gives_again(end));
        assert!(found, "the planted bug is found: {end:?}");
    }
}
