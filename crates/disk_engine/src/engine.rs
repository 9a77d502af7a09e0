//! The disk engine's parts: memory graphs and files, groups, memory and time, and where writers wait.
//!
//! ```text
//! tree     files and memory graphs of this moment       supply   the graph that follows the open one
//! groups   labels and edge types                        pacing   writers wait for flushes, and are woken by them
//! files    numbers, and who writes files                loads    what bulk loads changed lately
//! ```
//!
//! What it does with them stands above: commits and reads in `transactions`, room for a commit in `commit_room`,
//! flushes in `flusher`, compactions in `compactor`, checkpoints in `durable`.
//!
//! Lock order: the checkpoint lock, the flush lock, the log's leader, latch, registry; leaves below them:
//! the graph that follows the open one, what writers and background wait at, areas of compactions, cache shards, the memory
//! budget. No I/O
//! and no freeing of graphs under latch or registry.
//!
//! Source: LSMGraph (SIGMOD 2024), section 3; disk-engine, sections 4, 5 and 8.

use crate::compaction_areas::CompactionAreas;
use crate::counters::{CompactionCounters, FlushCounters};
use crate::durable::files::DatabaseFiles;
use crate::durable::load::touched::RecentLoads;
use crate::durable::section::FileList;
use crate::file::csr_file::CsrFile;
use crate::file::page_reader::PageReader;
use crate::file_set::FileSet;
use crate::graph_supply::{GraphSupply, graph_capacity};
use crate::groups::GroupTable;
use crate::index_table::IndexTable;
use crate::memory_graph::graph::{AppendedCommit, MemoryGraph};
use crate::pacing::{Pacing, PacingLimits};
use crate::pick::limits::PickLimits;
use crate::tree::{ReplacedState, Tree};
use crate::tree_state::{Pin, SourceHandle};
use crate::tuning::Tuning;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::planted::{Bug, planted};
use evergraph_storage::timeline::clock::Timeline;
use std::fmt;
use std::sync::Arc;

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
    /// The indexes whose entries those files have.
    pub indexes: IndexTable,
    /// Whether checkpoints are made by a thread. If not, a writer that would wait for one flushes by itself.
    pub background: Background,
    /// Threads that compact, 1 or more, where `background` says that there are threads.
    pub compaction_threads: usize,
    /// The bytes at which a memory graph is full: for tests. Default: an eighth of the budget, 16 to 256 MiB.
    pub graph_bytes: Option<u64>,
    /// When writers wait.
    pub limits: PacingLimits,
    /// When levels are compacted, and which filters files get.
    pub tuning: Tuning,
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
    pick_limits: PickLimits,
    tuning: Tuning,
    budget: Arc<MemoryBudget>,
    reader: Arc<PageReader>,
    files: DatabaseFiles,
    background: Background,
    compaction_threads: usize,
    compaction_areas: CompactionAreas,
    flushes: FlushCounters,
    compactions: CompactionCounters,
    loads: RecentLoads,
    indexes: IndexTable,
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
    _replaced: Option<ReplacedState<CsrFile>>,
    /// A graph that was to follow a large commit's, and wasn't needed.
    _unused: Option<Box<MemoryGraph>>,
}

impl DisplacedState {
    /// What a commit replaced, if its graph was another one, and what is left of it.
    pub(crate) fn of_commit(appended: AppendedCommit, replaced: Option<ReplacedState<CsrFile>>) -> Self {
        Self { _appended: Some(Box::new(appended)), _replaced: replaced, _unused: None }
    }

    /// What a commit with a graph of its own replaced, and the next graph if it wasn't needed.
    pub(crate) fn of_large_commit(replaced: ReplacedState<CsrFile>, unused: Option<MemoryGraph>) -> Self {
        Self { _appended: None, _replaced: Some(replaced), _unused: unused.map(Box::new) }
    }

    /// What a bulk load replaced.
    pub(crate) fn of_load(replaced: ReplacedState<CsrFile>) -> Self {
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
            indexes: IndexTable::new([], FileList::default().next_subject),
            background,
            compaction_threads: 1,
            graph_bytes,
            limits: PacingLimits::UNCOMPACTED,
            tuning: Tuning::default(),
        };
        Self::open_parts(parts).expect("the budget is many times that of a graph")
    }

    /// The engine of `parts`, with an empty memory graph.
    ///
    /// # Errors
    /// `limit` if the budget refuses the graph.
    pub fn open_parts(parts: EngineParts) -> Result<Self> {
        let EngineParts {
            timeline,
            budget,
            reader,
            files,
            set,
            groups,
            indexes,
            background,
            compaction_threads,
            graph_bytes,
            limits,
            tuning,
        } = parts;
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
            pick_limits: tuning.pick_limits(capacity_bytes),
            tuning,
            budget,
            reader,
            files,
            background,
            compaction_threads,
            compaction_areas: CompactionAreas::default(),
            flushes: FlushCounters::default(),
            compactions: CompactionCounters::default(),
            loads: RecentLoads::default(),
            indexes,
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

    /// Where files lie, their numbers, and the checkpoint lock.
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

    /// How many compactions are under way at once.
    #[must_use]
    pub fn compaction_threads(&self) -> usize {
        self.compaction_threads
    }

    /// What compactions under way read and write.
    #[must_use]
    pub fn compaction_areas(&self) -> &CompactionAreas {
        &self.compaction_areas
    }

    /// Counts flushes.
    #[must_use]
    pub fn flushes(&self) -> &FlushCounters {
        &self.flushes
    }

    /// Counts compactions.
    #[must_use]
    pub fn compactions(&self) -> &CompactionCounters {
        &self.compactions
    }

    /// What bulk loads changed, for conflict checks.
    pub(crate) fn loads(&self) -> &RecentLoads {
        &self.loads
    }

    /// The indexes.
    #[must_use]
    pub fn indexes(&self) -> &IndexTable {
        &self.indexes
    }

    /// What a reader at `timestamp` asks, newest first, however long it does. Files of a bulk load that is newer are left out.
    pub(crate) fn sources(pin: &Pin<CsrFile>, timestamp: Timestamp) -> Vec<SourceHandle<CsrFile>> {
        let is_visible = |source: &SourceHandle<CsrFile>| match source {
            // A level leaves out what is newer file by file.
            SourceHandle::Graph(_) | SourceHandle::Generation(_) | SourceHandle::Level(_) => true,
            SourceHandle::File(file) => {
                file.stored().first_ts.visible_at(timestamp) || planted(Bug::LoadSeenEarly)
            }
        };
        pin.held_sources(timestamp).filter(is_visible).collect()
    }

    pub(crate) fn supply(&self) -> &GraphSupply {
        &self.supply
    }

    pub(crate) fn pick_limits(&self) -> &PickLimits {
        &self.pick_limits
    }

    pub(crate) fn tuning(&self) -> &Tuning {
        &self.tuning
    }

    pub(crate) fn limits(&self) -> &PacingLimits {
        &self.limits
    }

    /// Time, which the front shares.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        self.tree.timeline()
    }
}
