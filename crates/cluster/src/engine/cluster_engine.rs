//! `ClusterEngine`: a graph whose partitions any nodes keep, under the front of a store.
//!
//! ```text
//! begin    prepare   wait until this node has applied what is asked for        registry free
//!          register  the newest moment of its tables, and a reader there       registry locked, nothing is waited for
//!          pin       takes both: ClusterPin
//! reads    pin ── view ──> RemoteView ──> whoever keeps the partitions
//! commit   pin ── GraphLog ──> a record of the log                             no latch, nothing installed here
//! ```
//!
//! A snapshot always begins: one that could not says why when it is asked, in each of its reads, and at its commit. The entries of
//! indexes lie with the partitions, which check them, so that all but newest-first lists count as kept by the engine, ready from the
//! beginning.
//!
//! The store has no log, no files and no threads: those of the node's partitions are their own.

use crate::engine::cluster_pin::{ClusterPin, graph_log};
use crate::engine::graph_node::{BegunSnapshot, GraphNode};
use crate::engine::no_topology::NoTopology;
use crate::log_position::LogPosition;
use crate::record::large_transaction::TRANSACTION_BYTES_MAX;
use crate::remote::remote_snapshot::GraphMap as _;
use crate::remote::remote_view::RemoteView;
use crate::transaction::coordinator::BeginAt;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, GroupId, LabelId, TypeId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Freshness;
use evergraph_storage::engine::{ChangedSince, Engine, EngineStatistics, FreezeRequest, Key};
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::io::clock::Clock;
use evergraph_storage::io::random::Random;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::store::{SharedParts, Store, StoreOptions};
use evergraph_storage::sync::Mutex;
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::timeline::shared_readable::{Prepared, SharedReadable};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The graph, by one node.
///
/// # Concurrency
///
/// `begun` is put in and taken out with the registry of the store's timeline locked.
pub struct ClusterEngine {
    node: Arc<dyn GraphNode>,
    /// Snapshots count there what they keep.
    budget: MemoryBudget,
    /// What the snapshot has that is being registered.
    begun: Mutex<Option<Result<BegunSnapshot>>>,
}

/// A commit that this engine prepared: there is none.
#[derive(Debug)]
pub enum NothingPrepared {}

/// The store of a graph whose partitions any nodes keep, by `node`: see [`cluster_parts`].
///
/// Cost: none; nothing is read.
#[must_use]
pub fn cluster_store(
    node: Arc<dyn GraphNode>,
    clock: Arc<dyn Clock>,
    budget: Arc<MemoryBudget>,
    random: Box<dyn Random>,
    options: StoreOptions,
) -> Store<ClusterEngine> {
    let parts = cluster_parts(node, clock, budget, random, options, |engine| engine);
    Store::assemble_coordinator(parts, graph_log)
}

/// The parts of a store of a graph whose partitions any nodes keep, by `node`, whose engine is what `as_engine` makes of this one.
/// A transaction of it may write as much as a record of the log takes, whatever `options` say.
pub fn cluster_parts<E: Engine>(
    node: Arc<dyn GraphNode>,
    clock: Arc<dyn Clock>,
    budget: Arc<MemoryBudget>,
    random: Box<dyn Random>,
    options: StoreOptions,
    as_engine: impl FnOnce(Arc<ClusterEngine>) -> Arc<E>,
) -> SharedParts<E> {
    let engine = ClusterEngine::new(node, &budget);
    let shared: Arc<dyn SharedReadable> = Arc::<ClusterEngine>::clone(&engine);
    let timeline = Timeline::new(Timestamp::ZERO, Readable::Shared(shared)).with_clock(clock);
    let transaction_bytes_max = options.transaction_bytes_max.min(TRANSACTION_BYTES_MAX as u64);
    let options = StoreOptions { transaction_bytes_max, ..options };
    SharedParts { engine: as_engine(engine), timeline: Arc::new(timeline), budget, random, options }
}

impl ClusterEngine {
    /// By `node`. The timeline of its store is read from the same engine: see [`cluster_store`].
    #[must_use]
    pub fn new(node: Arc<dyn GraphNode>, budget: &MemoryBudget) -> Arc<Self> {
        Arc::new(Self { node, budget: budget.clone(), begun: Mutex::default() })
    }

    /// The node.
    #[must_use]
    pub fn node(&self) -> &Arc<dyn GraphNode> {
        &self.node
    }
}

#[cold]
fn decided_by_the_log<T>() -> Result<T> {
    Err(Error::invalid(
        "the log of the cluster decides what is committed: nothing is installed by a coordinator",
    ))
}

fn begin_at(freshness: Freshness) -> Result<BeginAt> {
    match freshness {
        Freshness::Applied => Ok(BeginAt::Applied),
        Freshness::After(timestamp) => Ok(BeginAt::After(LogPosition::of(timestamp))),
        Freshness::Fresh => Ok(BeginAt::Fresh),
        // A later one promises more than what is there.
        unknown => Err(Error::invalid(format!(
            "this version does not know how to begin with freshness {unknown:?}: choose another one, or update the node"
        ))),
    }
}

impl SharedReadable for ClusterEngine {
    fn prepare(&self, freshness: Freshness) -> Option<Prepared> {
        let refused = begin_at(freshness).and_then(|at| self.node.wait_for(at)).err()?;
        Some(Box::new(refused))
    }

    fn register(&self, prepared: Option<Prepared>) -> Option<Timestamp> {
        let begun = match prepared {
            Some(refused) => Err(*refused.downcast::<Error>().expect("what this engine prepared")),
            None => self.node.begin_now(),
        };
        // Nothing is read at the moment of one that was refused: the pin has the error.
        let timestamp = begun.as_ref().map_or_else(|_| self.readable(), |begun| begun.timestamp);
        *self.begun.lock() = Some(begun);
        Some(timestamp)
    }

    fn readable(&self) -> Timestamp {
        self.node.tables().newest().seen().position.end()
    }
}

impl Engine for ClusterEngine {
    type Pin = Box<ClusterPin>;
    type View<'a> = RemoteView<'a>;
    type Topology = NoTopology;
    type Prepared = NothingPrepared;
    type Displaced = ();

    const KEEPS_INDEXES: bool = true;

    /// Newest-first lists are in that order with the partitions already.
    fn keeps_index(&self, index: IndexId) -> bool {
        index.kind != IndexKind::Newest
    }

    fn pin(&self, _: Timestamp) -> Box<ClusterPin> {
        let not_begun = || Err(Error::new(ErrorKind::Io, "the snapshot was not registered"));
        let begun = self.begun.lock().take().unwrap_or_else(not_begun);
        Box::new(ClusterPin::new(Arc::clone(&self.node), begun, &self.budget))
    }

    fn view<'a>(&'a self, pin: &'a Box<ClusterPin>, _: Timestamp) -> RemoteView<'a> {
        pin.view()
    }

    fn freeze(&self, _: &Box<ClusterPin>, _: Timestamp, _: &FreezeRequest<'_>) -> Result<NoTopology> {
        Err(Error::invalid(
            "algorithms need the whole graph in one process, and its partitions lie on several: run them on a copy",
        ))
    }

    fn shared_catalogue(&self, pin: &Box<ClusterPin>) -> Option<Arc<Catalogue>> {
        pin.catalogue().cloned()
    }

    fn check_begun(&self, pin: &Box<ClusterPin>) -> Result<()> {
        pin.check_begun()
    }

    fn shared_index(&self, _: &Box<ClusterPin>, index: IndexId) -> Option<Timestamp> {
        self.keeps_index(index).then_some(Timestamp::ZERO)
    }

    fn shared_builds(&self, pin: &Box<ClusterPin>) -> Vec<IndexDefinition> {
        let builds = pin.moment().map_or(&[][..], |moment| moment.builds());
        builds.iter().map(|build| build.definition).collect()
    }

    fn open_group(&self, _: GroupId, _: LabelId) {}

    fn prepare(&self, _: &[Mutation], _: &IndexChanges, _: Duration) -> Result<NothingPrepared> {
        decided_by_the_log()
    }

    fn group_count(&self) -> u32 {
        0
    }

    fn has_group(&self, _: GroupId) -> bool {
        false
    }

    fn edge_types(&self, _: GroupId, _: Direction) -> Vec<TypeId> {
        Vec::new()
    }

    /// No commit is checked here.
    fn newer(&self, _: &Key, _: Timestamp) -> ChangedSince {
        ChangedSince::Forgotten
    }

    fn taken_discriminators(&self, _: VertexId, _: TypeId, _: VertexId, _: &mut Vec<u16>) -> Result<()> {
        decided_by_the_log()
    }

    fn append(&self, _: Timestamp, prepared: NothingPrepared) {
        match prepared {}
    }

    fn replay(&self, _: &[(Timestamp, Mutation)]) -> Result<()> {
        decided_by_the_log()
    }

    fn snapshot_ended(&self) {}

    /// Groups of the whole graph. What lies in them is in the stores of the partitions.
    fn statistics(&self) -> EngineStatistics {
        let moment = self.node.tables().newest();
        let groups = (0..moment.group_count()).filter(|group| moment.group_label(GroupId(*group)).is_some());
        let mut statistics = EngineStatistics::default();
        statistics.groups = groups.count() as u64;
        statistics
    }
}

impl fmt::Debug for ClusterEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterEngine").field("node", &self.node).finish_non_exhaustive()
    }
}
