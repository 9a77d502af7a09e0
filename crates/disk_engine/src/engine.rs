//! The disk engine as an `Engine`: memory graphs and files behind the front's transactions.
//!
//! ```text
//! prepare   records sorted, room promised, time for the flush (commit_room)          no lock of the front
//! newer     retained graphs, no I/O                                                  latch
//! append    into the open graph; a full one is frozen, the next follows (tree)       latch
//! pin       files and generations of this moment                                     registry
//! view      groups and types in memory; the rest out of the pin's sources            none
//! replay    as append, without a latch; what fills two graphs is flushed             alone
//! ```
//!
//! Lock order: the checkpointer's place, the place of the flush, the log's leader, latch, registry; leaves below them:
//! the graph that follows the open one, what writers and background wait at, cache shards, the memory budget. No I/O
//! and no freeing of graphs under latch or registry.
//!
//! Source: LSMGraph (SIGMOD 2024), section 3; disk-engine, sections 4, 5 and 8.

use crate::commit_room::{LargeCommit, PreparedWrite};
use crate::durable::files::DatabaseFiles;
use crate::durable::load::touched::RecentLoads;
use crate::file::csr_file::CsrFile;
use crate::file::page_reader::PageReader;
use crate::file_set::FileSet;
use crate::format::subject::EdgeSide;
use crate::format::tree_key::ListId;
use crate::generation::GenerationSource;
use crate::graph_supply::{GraphSupply, graph_capacity};
use crate::groups::GroupTable;
use crate::memory_graph::graph::{AppendedCommit, MemoryGraph};
use crate::memory_graph::sorted_commit::SortedCommit;
use crate::pacing::{Pacing, PacingLimits};
use crate::source::RecordSource;
use crate::statistics::FlushCounters;
use crate::topology::disk_topology::DiskTopology;
use crate::tree::{Pin, Replaced, SourceHandle, Tree};
use crate::view::disk_view::DiskView;
use evergraph_graph::budget::Budget;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, GroupId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::Projection;
use evergraph_storage::engine::{ChangedSince, Engine, EngineStatistics, Key};
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::timeline::clock::Timeline;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The budget of an engine that is never opened again.
const UNSTORED_BUDGET_BYTES: u64 = 256 << 20;

/// What an engine consists of when it opens: files, groups and time, all of them at commit C.
pub struct EngineParts {
    /// Time, which stands at C.
    pub timeline: Arc<Timeline>,
    /// What graphs, indexes of pages and the cache reserve from.
    pub budget: Arc<MemoryBudget>,
    /// Reads pages.
    pub reader: Arc<PageReader>,
    /// Where files lie, and which numbers they get.
    pub files: DatabaseFiles,
    /// The files, which have every commit through C.
    pub set: FileSet<CsrFile>,
    /// The groups, with the types that those files have edges of.
    pub groups: GroupTable,
    /// Whether checkpoints are made by a thread. If not, a writer that would wait for one flushes by itself.
    pub background: Background,
    /// The bytes at which a memory graph is full: for tests. Default: an eighth of the budget, 16 to 256 MiB.
    pub graph_bytes: Option<u64>,
    /// When writers wait.
    pub limits: PacingLimits,
}

/// A graph in files, whose newest commits lie in memory.
///
/// # Concurrency
/// As every engine. Writers meet at the commit latch alone; readers take no lock but those of the cache's shards.
pub struct DiskEngine {
    tree: Tree<CsrFile>,
    groups: GroupTable,
    supply: GraphSupply,
    pacing: Pacing,
    limits: PacingLimits,
    budget: Arc<MemoryBudget>,
    reader: Arc<PageReader>,
    files: DatabaseFiles,
    background: Background,
    flushes: FlushCounters,
    loads: RecentLoads,
}

impl fmt::Debug for DiskEngine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DiskEngine").field("pin", &self.tree.pin()).finish_non_exhaustive()
    }
}

/// What a commit replaced, and what is left of it; freed outside the latch.
#[derive(Debug)]
pub struct DisplacedState {
    _appended: Option<Box<AppendedCommit>>,
    _replaced: Option<Replaced<CsrFile>>,
    /// A graph that was to follow a large commit's, and wasn't needed.
    _unused: Option<Box<MemoryGraph>>,
}

impl DisplacedState {
    /// What a bulk load replaced.
    pub(crate) fn of_load(replaced: Replaced<CsrFile>) -> Self {
        Self { _appended: None, _replaced: Some(replaced), _unused: None }
    }
}

impl DiskEngine {
    /// Its name in manifests.
    pub const NAME: &'static str = "disk";

    /// An engine without groups, whose files lie in memory: for a store that is never opened again.
    #[must_use]
    pub fn new(timeline: Arc<Timeline>) -> Self {
        let budget = Arc::new(MemoryBudget::new(UNSTORED_BUDGET_BYTES));
        Self::unstored(timeline, budget, None)
    }

    /// The same, whose memory graphs are full at `graph_bytes`: so a test sees flushes within a few commits.
    #[must_use]
    pub fn with_graph_bytes(timeline: Arc<Timeline>, graph_bytes: u64) -> Self {
        let budget = Arc::new(MemoryBudget::new(UNSTORED_BUDGET_BYTES));
        Self::unstored(timeline, budget, Some(graph_bytes))
    }

    fn unstored(timeline: Arc<Timeline>, budget: Arc<MemoryBudget>, graph_bytes: Option<u64>) -> Self {
        let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("disk"));
        let background = Background::Stepped;
        let reader = PageReader::start(&budget, background).expect("no thread is started");
        let parts = EngineParts {
            timeline,
            budget,
            reader,
            files: DatabaseFiles::empty(&directory),
            set: FileSet::new(),
            groups: GroupTable::new(),
            background,
            graph_bytes,
            limits: PacingLimits::default(),
        };
        Self::open_parts(parts).expect("the budget is many times that of a graph")
    }

    /// The engine of `parts`, with an empty memory graph.
    ///
    /// # Errors
    /// `limit` if the budget refuses the graph.
    pub fn open_parts(parts: EngineParts) -> Result<Self> {
        let EngineParts { timeline, budget, reader, files, set, groups, background, graph_bytes, limits } =
            parts;
        let capacity_bytes = graph_bytes.unwrap_or_else(|| graph_capacity(&budget));
        let supply = GraphSupply::new(capacity_bytes, Arc::clone(&budget));
        let covered_through = timeline.published();
        let tree = Tree::new(timeline, set, covered_through, supply.open()?);
        Ok(Self {
            tree,
            groups,
            supply,
            pacing: Pacing::default(),
            limits,
            budget,
            reader,
            files,
            background,
            flushes: FlushCounters::default(),
            loads: RecentLoads::default(),
        })
    }

    /// Files and memory graphs of this moment.
    #[must_use]
    #[inline]
    pub fn tree(&self) -> &Tree<CsrFile> {
        &self.tree
    }

    /// The groups.
    #[must_use]
    #[inline]
    pub fn groups(&self) -> &GroupTable {
        &self.groups
    }

    /// Where writers and background wait for each other.
    #[must_use]
    pub fn pacing(&self) -> &Pacing {
        &self.pacing
    }

    /// Reads pages of all files.
    #[must_use]
    pub fn page_reader(&self) -> &Arc<PageReader> {
        &self.reader
    }

    /// Where files lie, their numbers, and the checkpointer's place.
    #[must_use]
    pub fn files(&self) -> &DatabaseFiles {
        &self.files
    }

    /// What graphs and caches reserve from.
    #[must_use]
    pub fn budget(&self) -> &Arc<MemoryBudget> {
        &self.budget
    }

    /// Whether checkpoints are made by a thread.
    #[must_use]
    pub fn background(&self) -> Background {
        self.background
    }

    /// Counts flushes.
    #[must_use]
    pub fn flushes(&self) -> &FlushCounters {
        &self.flushes
    }

    /// What bulk loads changed, for conflict checks.
    pub(crate) fn loads(&self) -> &RecentLoads {
        &self.loads
    }

    /// What a reader at `timestamp` asks, newest first. Files of a bulk load that is newer are left out.
    pub(crate) fn sources(pin: &Pin<CsrFile>, timestamp: Timestamp) -> Vec<SourceHandle<CsrFile>> {
        let is_visible = |source: &SourceHandle<CsrFile>| match source {
            SourceHandle::Graph(_) => true,
            SourceHandle::File(file) => file.stored().first_ts.visible_at(timestamp),
        };
        pin.sources(timestamp).filter(is_visible).collect()
    }

    pub(crate) fn supply(&self) -> &GraphSupply {
        &self.supply
    }

    pub(crate) fn limits(&self) -> &PacingLimits {
        &self.limits
    }

    /// Time, which the front shares.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        self.tree.timeline()
    }

    /// Freezes the open graph if it is full and another one was opened; under the latch. Else it grows on: so much was
    /// promised in it. Not beyond the frozen graphs that pacing allows, which writers wait for anyway.
    fn switch_if_full(&self) -> Option<Replaced<CsrFile>> {
        let is_due = self.tree.with_current(|current| {
            let open = current.open_graph();
            open.is_full() && open.last().is_some() && current.frozen().len() < self.limits.frozen_graphs_max
        });
        if !is_due {
            return None;
        }
        let replaced = self.tree.switch(self.supply.take()?);
        self.pacing.wake_background();
        Some(replaced)
    }

    /// Installs one commit of the log.
    fn replay_commit(&self, commit: &[(Timestamp, Mutation)]) -> Result<()> {
        let sorted = SortedCommit::of_each(commit, |(_, mutation)| mutation)?;
        if !sorted.is_empty() {
            let prepared = self.prepare_replayed(sorted)?;
            drop(self.append(commit[0].0, prepared));
        }
        Ok(())
    }

    /// Makes the groups of the vertices that a log inserts; one that exists has their label.
    fn replay_groups(&self, mutations: &[(Timestamp, Mutation)]) -> Result<()> {
        for (_, mutation) in mutations {
            if let Mutation::InsertVertex { vertex, label, .. } = mutation {
                let found = self.groups.open(vertex.group(), *label);
                if found != *label {
                    return Err(Error::new(
                        ErrorKind::Corrupt,
                        format!("vertex {vertex} has label {} in the log, its group {}", label.0, found.0),
                    ));
                }
            }
        }
        Ok(())
    }
}

impl Engine for DiskEngine {
    type Pin = Pin<CsrFile>;
    type View<'a> = DiskView<'a, SourceHandle<CsrFile>>;
    type Topology = DiskTopology<CsrFile>;
    type Prepared = PreparedWrite;
    type Displaced = DisplacedState;

    // Indexes lie in memory, in the front, until entries are stored: disk-engine, section 7.
    const KEEPS_INDEXES: bool = false;

    #[inline]
    fn pin(&self, _timestamp: Timestamp) -> Pin<CsrFile> {
        self.tree.pin()
    }

    #[inline]
    fn view<'a>(&'a self, pin: &'a Pin<CsrFile>, timestamp: Timestamp) -> Self::View<'a> {
        DiskView::new(&self.groups, Self::sources(pin, timestamp), timestamp)
    }

    fn freeze(
        &self,
        pin: &Pin<CsrFile>,
        timestamp: Timestamp,
        catalogue: &Catalogue,
        projection: &Projection,
        budget: &Arc<dyn Budget>,
    ) -> Result<DiskTopology<CsrFile>> {
        let sources = Self::sources(pin, timestamp);
        DiskTopology::freeze(sources, timestamp, &self.groups, catalogue, projection, budget)
    }

    fn open_group(&self, group: GroupId, label: LabelId) {
        self.groups.open(group, label);
    }

    fn prepare(&self, mutations: &[Mutation], _: &IndexChanges, patience: Duration) -> Result<PreparedWrite> {
        self.prepare_write(SortedCommit::new(mutations)?, patience)
    }

    #[inline]
    fn group_count(&self) -> u32 {
        self.groups.count()
    }

    #[inline]
    fn has_group(&self, group: GroupId) -> bool {
        self.groups.has(group)
    }

    #[inline]
    fn edge_types(&self, group: GroupId, side: Direction) -> Vec<TypeId> {
        self.groups.edge_types(group, side)
    }

    #[inline]
    fn newer(&self, key: &Key, since: Timestamp) -> ChangedSince {
        match self.tree.newer(key, since) {
            ChangedSince::No => self.loads.newer(key, since),
            answer => answer,
        }
    }

    /// Of the records of retained generations and of all files. An edge that was deleted, and that no source names any
    /// more, is seen at most by a writer so old that its commit is refused: its snapshot is before the floor.
    fn taken_discriminators(
        &self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        taken: &mut Vec<u16>,
    ) -> Result<()> {
        if !self.groups.has_edge_type(source.group(), EdgeSide::Out, edge_type) {
            return Ok(());
        }
        let current = self.tree.current();
        let list = ListId::edges(source, edge_type, EdgeSide::Out);
        let mut items = Vec::new();
        for generation in current.retained.as_slice() {
            match generation.source() {
                GenerationSource::Graph(graph) => {
                    graph.taken_discriminators(source, edge_type, target, taken);
                }
                // It was flushed a moment ago, perhaps after the set that is looked at.
                GenerationSource::File(file) => {
                    file.at(Timestamp::MAX).between(list, target, &mut items)?;
                }
            }
        }
        for file in current.set.iter() {
            file.at(Timestamp::MAX).between(list, target, &mut items)?;
        }
        taken.extend(items.iter().map(|listed| listed.item.discriminator()));
        Ok(())
    }

    fn append(&self, timestamp: Timestamp, prepared: PreparedWrite) -> DisplacedState {
        match prepared {
            PreparedWrite::Small(commit) => {
                let replaced = self.switch_if_full();
                let appended = self.tree.open_graph().append(timestamp, *commit);
                DisplacedState { _appended: Some(Box::new(appended)), _replaced: replaced, _unused: None }
            }
            PreparedWrite::Large(large) => {
                let LargeCommit { graph, next } = *large;
                let (replaced, unused) = self.tree.attach(timestamp, graph, next);
                self.pacing.wake_background();
                DisplacedState { _appended: None, _replaced: Some(replaced), _unused: unused.map(Box::new) }
            }
        }
    }

    /// What fills more graphs than may wait is flushed on the way, from commits that an earlier call installed and that
    /// were published since.
    fn replay(&self, mutations: &[(Timestamp, Mutation)]) -> Result<()> {
        self.replay_groups(mutations)?;
        let covered_through = self.tree.with_current(|current| current.covered_through);
        for commit in mutations.chunk_by(|a, b| a.0 == b.0) {
            if commit[0].0 > covered_through {
                self.replay_commit(commit)?;
            }
        }
        Ok(())
    }

    #[inline]
    fn snapshot_ended(&self) {
        self.free_graphs();
    }

    fn statistics(&self) -> EngineStatistics {
        self.shared_statistics()
    }
}
