//! A store of ours with a limit of memory, on either engine: both directions kept, ends checked, a simple edge type.

use crate::engine::snapshot_reader::{SnapshotReader, simple_edge};
use crate::engine::store::{Commit, Edge, Reader, Store};
use crate::folder::make_folder;
use crate::workload::disk::graph::{DiskGraph, EDGE, Properties, WEIGHT, weight};
use crate::workload::disk::inserts::BATCH;
use evergraph_disk_engine::durable::open::open_tuned;
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_disk_engine::statistics::TreeStatistics;
use evergraph_disk_engine::tuning::Tuning;
use evergraph_graph::budget::Budget as _;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, TypeId, VertexId};
use evergraph_graph::load::Load;
use evergraph_graph::transaction::{NewEdge, Transaction as _};
use evergraph_graph::value::Value;
use evergraph_graph::view::{Freeze, GraphView};
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::durable_engine::{DurableEngine, OpenContext, OpenedEngine};
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::snapshot::handle::Snapshot;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Everything is in files, and compacted, within this.
const PATIENCE: Duration = Duration::from_secs(300);
/// How often it is looked whether that is so, and how often in a row it must be.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const LOOKS: u32 = 4;

/// An engine that is measured.
pub trait MeasuredEngine: DurableEngine {
    /// Its name in results.
    const MEASURED: &'static str;

    /// What flushes and compactions did; none of an engine without files of levels.
    fn tree(&self) -> Option<TreeStatistics>;

    /// Whether work in the background is due or under way.
    fn is_busy(&self) -> bool;
}

impl MeasuredEngine for DiskEngine {
    const MEASURED: &'static str = "disk engine";

    fn tree(&self) -> Option<TreeStatistics> {
        Some(self.tree_statistics())
    }

    fn is_busy(&self) -> bool {
        let tree = self.tree_statistics();
        tree.frozen_graphs > 0 || self.is_compaction_due()
    }
}

impl MeasuredEngine for MemoryEngine {
    const MEASURED: &'static str = "memory engine";

    fn tree(&self) -> Option<TreeStatistics> {
        None
    }

    fn is_busy(&self) -> bool {
        false
    }
}

/// A database of ours.
pub struct LimitedStore<E: MeasuredEngine> {
    open: OpenStore<E>,
    edge_type: TypeId,
    limit_bytes: u64,
}

impl<E: MeasuredEngine> LimitedStore<E> {
    /// Opens the database in `folder`; makes it, without vertices, if there is none.
    ///
    /// # Errors
    /// What opening meets.
    pub fn open(folder: &Path, limit_bytes: u64, commit: Commit) -> Result<Self> {
        Self::open_by(folder, limit_bytes, commit, E::open)
    }

    fn open_by(
        folder: &Path,
        limit_bytes: u64,
        commit: Commit,
        open_engine: impl FnOnce(&OpenContext<'_>) -> CheckpointResult<OpenedEngine<E>>,
    ) -> Result<Self> {
        let durability = match commit {
            Commit::Unsynced => Durability::None,
            Commit::Durable => Durability::Sync,
        };
        let options = OpenOptions { durability, memory_limit_bytes: limit_bytes, ..OpenOptions::default() };
        let directory = Arc::new(DiskDirectory::open_or_create(folder)?);
        let open = OpenStore::<E>::open_by(directory, &options, open_engine)?;
        let edge_type = match open.store().catalogue().edge_type(EDGE) {
            Some(edge_type) => edge_type,
            None => open.store().transact(|tx| tx.declare_simple_type(EDGE))?,
        };
        Ok(Self { open, edge_type, limit_bytes })
    }

    /// A new database in `folder` with `graph` and these properties of it, all settled: a load of what is there first, and
    /// transactions of [`BATCH`] of the edges that come later.
    ///
    /// # Errors
    /// `io`; what opening, the load and the engine say.
    pub fn filled(folder: &Path, limit_bytes: u64, graph: &DiskGraph, properties: Properties) -> Result<Self>
    where
        Self: Store,
    {
        make_folder(folder)?;
        let store = Self::open(folder, limit_bytes, Commit::Unsynced)?;
        store.load_graph(&DiskGraph::load(graph.vertices, &graph.loaded, properties))?;
        graph.later.chunks(BATCH).try_for_each(|edges| match properties {
            Properties::Weights => store.put_weighted(edges, weight),
            Properties::Bare | Properties::Ids => store.put(edges),
        })?;
        store.settle()?;
        Ok(store)
    }

    /// The database.
    #[must_use]
    pub fn open_store(&self) -> &OpenStore<E> {
        &self.open
    }

    /// Adds `load`, whose vertices must be the first, as an import into a new database does.
    ///
    /// # Errors
    /// What the load says.
    pub fn load_graph(&self, load: &Load) -> Result<()> {
        // As much as `Database::import` gives a load beside what it keeps itself.
        let memory_bytes = self.limit_bytes / 2;
        let loaded =
            self.open.load_within(memory_bytes, load, &mut |_| Ok(()), &mut |_| ControlFlow::Continue(()))?;
        if loaded.first_vertices.first() != Some(&VertexId(0)) {
            return Err(Error::new(ErrorKind::Corrupt, "the first vertex of a new database isn't number 0"));
        }
        Ok(())
    }

    /// The only edge type.
    #[must_use]
    pub fn edge_type(&self) -> TypeId {
        self.edge_type
    }

    /// Makes all `edges` be there with their weights, in one transaction.
    ///
    /// # Errors
    /// What the engine says.
    pub fn put_weighted(&self, edges: &[Edge], weight: impl Fn(Edge) -> f64) -> Result<()> {
        self.open.store().transact(|tx| {
            let key = tx.key(WEIGHT)?;
            let values: Vec<_> = edges.iter().map(|edge| [(key, Value::F64(weight(*edge)))]).collect();
            let new = edges.iter().zip(&values).map(|((source, target), properties)| NewEdge {
                source: VertexId(*source),
                target: VertexId(*target),
                properties,
            });
            let edges: Vec<NewEdge<'_>> = new.collect();
            tx.put_edges(self.edge_type, &edges)
        })
    }

    fn id(&self, edge: Edge) -> EdgeId {
        simple_edge(edge, self.edge_type)
    }
}

impl LimitedStore<DiskEngine> {
    /// As [`LimitedStore::open`], with choices of the engine made by `tuning`.
    ///
    /// # Errors
    /// What opening meets.
    pub fn open_tuned(folder: &Path, limit_bytes: u64, commit: Commit, tuning: Tuning) -> Result<Self> {
        Self::open_by(folder, limit_bytes, commit, |opening| open_tuned(opening, tuning))
    }

    /// Pages that readers and writers have read so far, past the cache.
    #[must_use]
    pub fn pages_read(&self) -> u64 {
        self.open.store().engine().page_reader().statistics().misses
    }

    /// Takes all memory from the cache, so that it gives up its pages.
    ///
    /// # Errors
    /// `limit` if somebody reserves meanwhile.
    pub fn empty_cache(&self) -> Result<()> {
        let budget = self.open.store().budget();
        let cached = self.open.store().engine().page_reader().statistics().bytes;
        let free = budget.limit_bytes().saturating_sub(budget.used_bytes());
        drop(budget.reserve("benchmark: the cache is emptied", free + cached)?);
        Ok(())
    }
}

impl<E: MeasuredEngine> Store for LimitedStore<E>
where
    Snapshot<E>: GraphView + Freeze,
{
    fn put(&self, edges: &[Edge]) -> Result<()> {
        if let [(source, target)] = *edges {
            return self.open.store().transact(|tx| {
                tx.put_edge(VertexId(source), self.edge_type, VertexId(target), &[]).map(drop)
            });
        }
        let new = |(source, target): &Edge| NewEdge::bare(VertexId(*source), VertexId(*target));
        let edges: Vec<NewEdge<'_>> = edges.iter().map(new).collect();
        self.open.store().transact(|tx| tx.put_edges(self.edge_type, &edges))
    }

    /// Ours looks each edge up in any case.
    fn put_missing(&self, edges: &[Edge]) -> Result<()> {
        self.put(edges)
    }

    fn delete(&self, edges: &[Edge]) -> Result<()> {
        self.open.store().transact(|tx| edges.iter().try_for_each(|edge| tx.delete_edge(self.id(*edge))))
    }

    /// Adds as many vertices as `edges` have, too.
    fn load(&self, edges: &[Edge]) -> Result<()> {
        let last = edges.iter().map(|(source, target)| *source.max(target)).max();
        self.load_graph(&DiskGraph::load(last.map_or(0, |last| last + 1), edges, Properties::Bare))
    }

    fn read(&self, body: &mut dyn FnMut(&mut dyn Reader) -> Result<()>) -> Result<()> {
        body(&mut SnapshotReader::new(self.open.store().snapshot(), self.edge_type))
    }

    fn settle(&self) -> Result<()> {
        let (began, mut quiet) = (Instant::now(), 0);
        while quiet < LOOKS {
            if began.elapsed() > PATIENCE {
                let text = format!("compactions are not done after {PATIENCE:?}");
                return Err(Error::new(ErrorKind::Limit, text));
            }
            quiet = if self.open.store().engine().is_busy() { 0 } else { quiet + 1 };
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.open.close()
    }
}
