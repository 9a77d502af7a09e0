//! Cluster pin: what a snapshot of a divided graph holds on to, and the shared log as of its moment.
//!
//! ```text
//! names   known now? ── no ──> Name in the log          take_id   where its value belongs, else where the transaction's go
//! commit  Writes, Reads ──> transaction_record ──> submission
//! drop    ids that no commit has, nor may have, go back
//! ```

use crate::engine::graph_node::{BegunSnapshot, GraphNode};
use crate::engine::pin_map::PinMap;
use crate::engine::pin_waits::{LimitedAsker, PinWaits};
use crate::key_hash::graph_salt::GraphSalt;
use crate::node::shared_tables::TablesMoment;
use crate::planted::{Bug, planted};
use crate::record::body::NewName;
use crate::remote::refused_snapshot::refused_snapshot;
use crate::remote::remote_snapshot::{GraphMap, RemoteSnapshot};
use crate::remote::remote_view::RemoteView;
use crate::tables::names::NameId;
use crate::transaction::look_up_hashes::LookUpHashes;
use crate::transaction::transaction_record::{RecordFacts, transaction_part};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, KeyId, LabelId, PartitionId, TypeId, VertexId};
use evergraph_graph::index::{IndexId, IndexKind};
use evergraph_graph::owner::Owner;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Committed;
use evergraph_graph::unknown_commit::UnknownCommit;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::sync::Mutex;
use evergraph_storage::transaction::build_indexes::BuildIndexes;
use evergraph_storage::transaction::deadline::Deadline;
use evergraph_storage::transaction::give_names::{GiveNames, GivenName, NameRequest};
use evergraph_storage::transaction::graph_log::{GraphLog, SharedCommit};
use evergraph_storage::transaction::look_ups::NoteLookUps;
use evergraph_storage::transaction::writes::{VertexWrite, Writes};
use evergraph_storage::view::View as _;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Parallel edges that are read at once.
const PARALLEL_AT_ONCE: usize = 64;

/// A snapshot in use, or why there is none.
pub struct ClusterPin {
    snapshot: RemoteSnapshot,
    /// None if it could not begin: then each read of `snapshot` says why.
    begun: Option<BegunTables>,
    node: Arc<dyn GraphNode>,
    waits: Arc<PinWaits>,
    ids: Mutex<TransactionIds>,
    look_ups: OnceLock<Arc<LookUpHashes>>,
}

struct BegunTables {
    moment: Arc<TablesMoment>,
    map: Arc<PinMap>,
}

/// Vertex ids of one transaction.
#[derive(Default)]
struct TransactionIds {
    /// Where vertices go that are not placed by a value; chosen with the first one.
    partition: Option<PartitionId>,
    ids: Vec<(LabelId, PartitionId, VertexId)>,
}

impl ClusterPin {
    /// Holds what `node` has begun, or could not. What it keeps of what it reads is counted in `budget`.
    #[must_use]
    pub fn new(node: Arc<dyn GraphNode>, begun: Result<BegunSnapshot>, budget: &MemoryBudget) -> Self {
        let (waits, ids, look_ups) = (Arc::<PinWaits>::default(), Mutex::default(), OnceLock::new());
        match begun {
            Ok(BegunSnapshot { moment, timestamp, asker }) => {
                let map = Arc::new(PinMap::new(Arc::clone(&moment)));
                let of_snapshot: Arc<dyn GraphMap> = Arc::<PinMap>::clone(&map);
                let limits = node.options().limits;
                let asker = Arc::new(LimitedAsker::new(asker, Arc::clone(&waits)));
                let snapshot = RemoteSnapshot::new(timestamp, of_snapshot, asker, limits).charged_to(budget);
                Self { snapshot, begun: Some(BegunTables { moment, map }), node, waits, ids, look_ups }
            }
            Err(error) => {
                let snapshot = refused_snapshot(&error);
                Self { snapshot, begun: None, node, waits, ids, look_ups }
            }
        }
    }

    /// The graph at S.
    #[must_use]
    pub fn view(&self) -> RemoteView<'_> {
        RemoteView::new(&self.snapshot)
    }

    /// Names, types and indexes of S. None if it could not begin: see [`ClusterPin::check_begun`].
    #[must_use]
    pub fn catalogue(&self) -> Option<&Arc<Catalogue>> {
        self.begun.as_ref().map(|begun| begun.moment.catalogue())
    }

    /// Whether it could begin.
    ///
    /// # Errors
    /// Why not.
    pub fn check_begun(&self) -> Result<()> {
        self.waits.explained(self.snapshot.check_begun())
    }

    /// The tables of S. None if it could not begin.
    #[must_use]
    pub fn moment(&self) -> Option<&TablesMoment> {
        self.begun.as_ref().map(|begun| &*begun.moment)
    }

    pub(super) fn node(&self) -> &dyn GraphNode {
        &*self.node
    }

    pub(super) fn waits(&self) -> &PinWaits {
        &self.waits
    }

    fn begun(&self) -> Result<&BegunTables> {
        self.check_begun()?;
        self.begun.as_ref().ok_or_else(|| Error::new(ErrorKind::Io, "the snapshot did not begin"))
    }

    /// The change that adds a name, if this node knows it by now. An edge type may be there in the other kind.
    fn known_change(&self, name: &NameRequest<'_>) -> Option<SchemaChange> {
        let newest = self.node.tables().newest();
        let catalogue = newest.catalogue();
        match name {
            NameRequest::Label(name) => {
                let id = catalogue.label(name)?;
                Some(SchemaChange::AddLabel { id, name: Arc::clone(name) })
            }
            NameRequest::EdgeType { name, .. } => {
                let id = catalogue.edge_type(name)?;
                let simple = catalogue.edge_type_definition(id)?.simple;
                Some(SchemaChange::AddEdgeType { id, name: Arc::clone(name), simple })
            }
            NameRequest::Key(name) => {
                let id = catalogue.key(name)?;
                Some(SchemaChange::AddKey { id, name: Arc::clone(name) })
            }
            NameRequest::MetaKey { of, .. } => {
                let id = catalogue.meta_key_of(*of)?;
                Some(SchemaChange::AddMetaKey { id, of: *of })
            }
        }
    }

    fn look_up_hashes(&self) -> &Arc<LookUpHashes> {
        // One that could not begin reads nothing.
        let salt = self.begun.as_ref().map_or(GraphSalt([0; 16]), |begun| begun.moment.salt());
        self.look_ups.get_or_init(|| Arc::new(LookUpHashes::new(salt)))
    }

    /// Takes the ids that `writes` insert out of those that go back.
    fn take_used_ids(&self, writes: &Writes) -> Vec<(LabelId, PartitionId, VertexId)> {
        if planted(Bug::UsedIdsGivenBack) {
            return Vec::new();
        }
        let is_used = |vertex| matches!(writes.vertex(vertex), Some(VertexWrite::Insert { .. }));
        let mut taken = self.ids.lock();
        let all = std::mem::take(&mut taken.ids);
        let (used, unused) = all.into_iter().partition(|(.., vertex)| is_used(*vertex));
        taken.ids = unused;
        used
    }
}

/// The change that adds a name under the number that the log gave.
fn change_of(name: &NameRequest<'_>, id: NameId) -> Result<SchemaChange> {
    match (name, id) {
        (NameRequest::Label(name), NameId::Label(id)) => {
            Ok(SchemaChange::AddLabel { id, name: Arc::clone(name) })
        }
        (NameRequest::EdgeType { name, simple }, NameId::EdgeType(id)) => {
            Ok(SchemaChange::AddEdgeType { id, name: Arc::clone(name), simple: *simple })
        }
        (NameRequest::Key(name), NameId::Key(id)) => Ok(SchemaChange::AddKey { id, name: Arc::clone(name) }),
        (NameRequest::MetaKey { of, .. }, NameId::Key(id)) => Ok(SchemaChange::AddMetaKey { id, of: *of }),
        (_, other) => Err(Error::new(ErrorKind::Io, format!("the log gave {other:?} for {name:?}"))),
    }
}

fn new_name(name: &NameRequest<'_>) -> NewName {
    match name {
        NameRequest::Label(name) => NewName::Label((&***name).into()),
        NameRequest::EdgeType { name, simple: false } => NewName::EdgeType((&***name).into()),
        NameRequest::EdgeType { name, simple: true } => NewName::SimpleEdgeType((&***name).into()),
        NameRequest::Key(name) => NewName::Key((&***name).into()),
        NameRequest::MetaKey { of, .. } => NewName::MetaKey(*of),
    }
}

impl GiveNames for ClusterPin {
    /// Cost: nothing but a look at the newest tables, if this node knows the name; else a record of the log.
    fn give(&self, name: NameRequest<'_>) -> Result<GivenName> {
        self.begun()?;
        if let Some(change) = self.known_change(&name) {
            return Ok(GivenName::Committed(change));
        }
        match self.waits.limited(|| self.node.name(new_name(&name))) {
            Ok(id) => Ok(GivenName::Committed(change_of(&name, id)?)),
            // Somebody may have named it meanwhile, in the other kind.
            Err(error) => self.known_change(&name).map(GivenName::Committed).ok_or(error),
        }
    }
}

impl GraphLog for ClusterPin {
    fn end_with(&self, deadline: &Deadline) {
        self.waits.end_with(deadline);
    }

    fn take_id(&self, label: LabelId, properties: &Properties) -> Result<VertexId> {
        let BegunTables { moment, map } = self.begun()?;
        let placed = moment.partition_for(label, properties);
        let partition = placed.unwrap_or_else(|| {
            *self.ids.lock().partition.get_or_insert_with(|| self.node.choose_partition())
        });
        let vertex = self.waits.limited(|| self.node.take_id(label, partition))?;
        self.ids.lock().ids.push((label, partition, vertex));
        if map.group_label(vertex.group()).is_none() {
            // The tables had the group before the log's answer came.
            map.move_on(self.node.tables().newest());
        }
        Ok(vertex)
    }

    /// Of edges at S. A long list is not watched for it.
    fn taken_discriminators(
        &self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        taken: &mut Vec<u16>,
    ) -> Result<()> {
        let mut after = target.0.checked_sub(1).map(|before| (VertexId(before), u16::MAX));
        loop {
            let mut list = Vec::new();
            self.view().neighbors(source, edge_type, Direction::Out, after, PARALLEL_AT_ONCE, &mut list)?;
            let parallel = list.iter().filter(|(neighbor, _)| *neighbor == target);
            taken.extend(parallel.map(|(_, discriminator)| *discriminator));
            after = list.last().copied();
            if list.len() < PARALLEL_AT_ONCE || after.is_none_or(|(neighbor, _)| neighbor != target) {
                return Ok(());
            }
        }
    }

    fn look_ups(&self) -> Arc<dyn NoteLookUps> {
        Arc::<LookUpHashes>::clone(self.look_up_hashes())
    }

    fn is_made_unique(&self, owner: Owner, key: KeyId) -> bool {
        let mut indexes = IndexKind::BY_VALUE.into_iter().map(|kind| IndexId { owner, key, kind });
        self.moment().is_some_and(|moment| indexes.any(|index| moment.is_unique(index)))
    }

    fn index_builds(&self) -> Option<&dyn BuildIndexes> {
        Some(self)
    }

    fn commit(&self, commit: SharedCommit<'_>) -> Result<Committed> {
        let SharedCommit { writes, schema, reads } = commit;
        let BegunTables { moment, .. } = self.begun()?;
        let facts = RecordFacts { view: self.view(), moment, writes };
        let reads = reads.map(|reads| (reads, &**self.look_up_hashes()));
        let part = transaction_part(&facts, schema, reads)?;
        // The log may have them from here on, whatever happens, a panic too. Only a conflict says that it never will.
        let used_ids = self.take_used_ids(writes);
        let submitted = self.node.submit(self.snapshot.timestamp(), part);
        if submitted.as_ref().is_err_and(Error::is_conflict) {
            self.ids.lock().ids.extend(used_ids);
        }
        Ok(Committed { timestamp: submitted?, renamed: Vec::new() })
    }

    fn settle(&self, unknown: UnknownCommit) -> Result<Timestamp> {
        self.node.settle(unknown)
    }
}

impl Drop for ClusterPin {
    fn drop(&mut self) {
        for (label, partition, vertex) in self.ids.lock().ids.drain(..) {
            self.node.give_back(label, partition, vertex);
        }
    }
}

impl fmt::Debug for ClusterPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterPin").field("snapshot", &self.snapshot).finish_non_exhaustive()
    }
}

/// The shared log in a pin: for [`Store::assemble_coordinator`](evergraph_storage::store::Store::assemble_coordinator).
#[must_use]
#[expect(clippy::borrowed_box, reason = "this is what an engine pins")]
pub fn graph_log(pin: &Box<ClusterPin>) -> &dyn GraphLog {
    &**pin
}
