//! Own view: the partitions of this node at one moment, as a graph that has nothing else.
//!
//! A stage reads them in its worker's thread, by the same questions and answers as a coordinator that asks other nodes, and waits
//! for nobody. Scans find the vertices of these partitions alone, so that each is found on one node.

use crate::digest::SeenLog;
use crate::log_position::LogPosition;
use crate::node::own_partitions::{OwnPartitions, PartitionReader};
use crate::node::shared_tables::{SharedTables, TablesMoment};
use crate::remote::remote_snapshot::{GraphMap, RemoteLimits, RemoteSnapshot};
use crate::remote::remote_view::RemoteView;
use crate::remote::view_asking::PartitionAsker;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{GroupId, LabelId, PartitionId};
use evergraph_graph::index::IndexId;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::travel::Travels;
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView;
use evergraph_storage::index::directory::{IndexDirectory, Indexes};
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::snapshot::reader::Reader;
use evergraph_storage::transaction::writes::Writes;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

static NO_WRITES: Writes = Writes::new();

/// A graph that stages read.
pub trait StageView: Send + Sync {
    /// Calls `read` with it.
    fn with(&self, read: &mut dyn FnMut(&dyn GraphView));

    /// How many groups of vertices the graph has, on all nodes.
    fn group_count(&self) -> u32;
}

/// Opens graphs for stages.
pub trait OpenStageViews: Send + Sync {
    /// These partitions, at a moment that is in use until the view is dropped. `cancel` ends its reads.
    ///
    /// # Errors
    /// `busy` if one of them is not here, or lacks something.
    fn open(
        &self,
        at: SeenLog,
        partitions: &[PartitionId],
        cancel: &CancelFlag,
    ) -> Result<Box<dyn StageView>>;
}

/// The partitions that a node keeps.
#[derive(Clone, Debug)]
pub struct OwnViews {
    /// Its partitions.
    pub own: OwnPartitions,
    /// Its tables.
    pub tables: SharedTables,
    /// What the memory of answers comes from.
    pub budget: Option<MemoryBudget>,
}

impl OpenStageViews for OwnViews {
    fn open(
        &self,
        at: SeenLog,
        partitions: &[PartitionId],
        cancel: &CancelFlag,
    ) -> Result<Box<dyn StageView>> {
        let reader = |partition: &PartitionId| match self.own.reader(*partition, at.position) {
            Some(reader) => Ok((*partition, reader)),
            None => Err(not_here(*partition)),
        };
        let readers: BTreeMap<_, _> = partitions.iter().map(reader).collect::<Result<_>>()?;
        let moment = self.tables.newest();
        let own = readers.keys().copied().collect();
        let map = Arc::new(OwnMap { moment: Arc::clone(&moment), own });
        let asker = Arc::new(OwnAsker { readers, at: at.position, cancel: cancel.clone() });
        let snapshot = RemoteSnapshot::new(at.position.end(), map, asker, RemoteLimits::default());
        let snapshot = match &self.budget {
            Some(budget) => snapshot.charged_to(budget),
            None => snapshot,
        };
        Ok(Box::new(OwnView { snapshot, moment, indexes: IndexDirectory::new(Indexes::default()) }))
    }
}

fn not_here(partition: PartitionId) -> Error {
    let text = format!("partition {} cannot be read on the node that was to", partition.0);
    Error::new(ErrorKind::Busy, text)
}

struct OwnView {
    snapshot: RemoteSnapshot,
    moment: Arc<TablesMoment>,
    indexes: IndexDirectory,
}

impl StageView for OwnView {
    fn with(&self, read: &mut dyn FnMut(&dyn GraphView)) {
        let view = RemoteView::new(&self.snapshot);
        read(&Reader::new(view, &NO_WRITES, self.moment.catalogue(), &self.indexes));
    }

    fn group_count(&self) -> u32 {
        self.moment.group_count()
    }
}

/// Groups of the own partitions alone.
struct OwnMap {
    moment: Arc<TablesMoment>,
    own: Vec<PartitionId>,
}

impl GraphMap for OwnMap {
    fn partitions(&self) -> PartitionCount {
        self.moment.partitions()
    }

    fn group_count(&self) -> u32 {
        self.moment.group_count()
    }

    fn group_label(&self, group: GroupId) -> Option<LabelId> {
        let is_own = self.own.binary_search(&self.partitions().of_group(group)).is_ok();
        if is_own { self.moment.group_label(group) } else { None }
    }

    fn partition_of_value(&self, index: IndexId, value: &Value) -> Option<PartitionId> {
        self.moment.partition_of_value(index, value)
    }
}

/// Answers in the thread that asks.
struct OwnAsker {
    readers: BTreeMap<PartitionId, Arc<dyn PartitionReader>>,
    at: LogPosition,
    cancel: CancelFlag,
}

impl PartitionAsker for OwnAsker {
    fn ask(&self, messages: Vec<(PartitionId, Vec<u8>)>) -> Result<Vec<Vec<u8>>> {
        let answer = |(partition, asked): (PartitionId, Vec<u8>)| {
            let reader = self.readers.get(&partition).ok_or_else(|| not_here(partition))?;
            reader.answer(self.at, &asked, &|| self.cancel.check())
        };
        messages.into_iter().map(answer).collect()
    }

    fn travels(&self) -> Option<Arc<dyn Travels>> {
        None
    }
}

impl fmt::Debug for OwnAsker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnAsker").field("at", &self.at).finish_non_exhaustive()
    }
}
