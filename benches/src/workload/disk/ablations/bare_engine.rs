//! Bare engine: raw edges put into the engine, without transactions, log and look-ups; beside a store with all of that, and
//! beside RocksDB without its log.
//!
//! ```text
//! store   look-up ── log ── sort, room ── latch: memory graph ┐
//! here                      sort, room ── latch: memory graph ┴─ flush ── compaction
//! ```
//!
//! As LSMGraph's paper measures updates: an edge a put, nothing is read, nothing is logged. Two threads put half of the edges each;
//! they sort side by side, and append one at a time, as the engine's writers do. Ours has both directions of each edge, and
//! the engine has no way to put one alone; so RocksDB gets two keys a write, too. The second half of a run counts.
//!
//! Source: LSMGraph (SIGMOD 2024), section 5.2, figures 10a and 10b.

use crate::disk_plan::{DiskPlan, DiskStore};
use crate::edges::Contents;
use crate::engine::limited::LimitedStore;
#[cfg(feature = "rocksdb")]
use crate::engine::rocksdb::RocksDbStore;
use crate::engine::store::{Commit, Edge, Store};
use crate::plan::{Work, expect};
use crate::race::{Race, order};
use crate::results::Heading;
use crate::workload::disk::graph::{DiskGraph, Properties as Loaded};
use crate::workload::disk::inserts::INSERTS_A_DELETION;
use evergraph_disk_engine::durable::files::DatabaseFiles;
use evergraph_disk_engine::durable::section::FileList;
use evergraph_disk_engine::engine::{DiskEngine, EngineParts};
use evergraph_disk_engine::file::page_reader::PageReader;
use evergraph_disk_engine::file_set::FileSet;
use evergraph_disk_engine::groups::GroupTable;
use evergraph_disk_engine::index_table::IndexTable;
use evergraph_disk_engine::tuning::Tuning;
use evergraph_graph::byte_size::ByteSize;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, GROUP_SIZE, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_measure::figure::Unit;
use evergraph_storage::durable_engine::DurableEngine as _;
use evergraph_storage::engine::Engine as _;
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::environment::Background;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::timeline::clock::{Readable, Timeline};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// How long a put may wait for flushes, as in a store.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait before looking again whether the background is done.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What is put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Puts {
    /// Inserts alone.
    Inserts,
    /// Inserts, and a deletion for each twenty.
    Mixed,
}

/// A store that raw edges are put into, by several threads at once.
trait RawStore: Sync {
    /// Puts an edge that is not there.
    fn insert(&self, edge: Edge) -> Result<()>;

    /// Deletes an edge that is there.
    fn delete(&self, edge: Edge) -> Result<()>;
}

/// Measures inserts, and inserts with deletions, by one thread and by two.
///
/// # Errors
/// `corrupt` if a store has other edges in the end; what engines say.
pub fn measure(work: &mut Work<'_>, plan: &DiskPlan, graph: &DiskGraph) -> Result<()> {
    let edges = &graph.later[..graph.later.len().min(plan.ablations.edges)];
    let contenders: Vec<Contender> = Contender::ALL.into_iter().filter(|one| one.takes_part(plan)).collect();
    for (puts, name, title) in [
        (Puts::Inserts, "insert", "raw edges put, both directions, no log and no look-up"),
        (Puts::Mixed, "mixed", "the same, with a deletion for each twenty"),
    ] {
        for threads in [1, 2] {
            let mut race = Race::new(contenders.iter().map(|contender| contender.name()));
            for round in 0..plan.rounds {
                let mut rates = vec![0.0; contenders.len()];
                for place in order(round, contenders.len()) {
                    let folder = work.folder_for("bare-")?;
                    let limit_bytes = plan.limit_bytes;
                    let run = Run { puts, threads, edges, vertices: graph.vertices, limit_bytes };
                    rates[place] = run.on(contenders[place], folder.path())?;
                }
                race.note(&rates);
            }
            let name = format!("disk.ablation.bare.{name}.threads_{threads}");
            let title = format!("{title}, threads: {threads}");
            let heading = Heading::new(name, title, Unit::PerSecond);
            work.add_race(&heading.with("memory limit", ByteSize(plan.limit_bytes)), &race);
        }
    }
    work.note(format!(
        "raw edges: {} into empty stores, in random order; flushes and compactions go on beside, and are not waited for",
        edges.len()
    ));
    Ok(())
}

/// Who takes part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Contender {
    /// The disk engine alone.
    Bare,
    /// The same below a store: transactions of an edge, with look-ups and the log, which is not synced.
    Transactions,
    /// RocksDB without its log.
    #[cfg(feature = "rocksdb")]
    RocksDb,
}

impl Contender {
    #[cfg(feature = "rocksdb")]
    const ALL: [Self; 3] = [Self::Bare, Self::Transactions, Self::RocksDb];
    #[cfg(not(feature = "rocksdb"))]
    const ALL: [Self; 2] = [Self::Bare, Self::Transactions];

    /// Its name in results.
    const fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare engine",
            Self::Transactions => "transactions",
            #[cfg(feature = "rocksdb")]
            Self::RocksDb => DiskStore::Rocksdb.name(),
        }
    }

    /// The peer of the plan that it is; none for ours, which always takes part.
    const fn peer(self) -> Option<DiskStore> {
        match self {
            Self::Bare | Self::Transactions => None,
            #[cfg(feature = "rocksdb")]
            Self::RocksDb => Some(DiskStore::Rocksdb),
        }
    }

    fn takes_part(self, plan: &DiskPlan) -> bool {
        self.peer().is_none_or(|peer| plan.peers.contains(&peer))
    }
}

/// A run of puts.
#[derive(Clone, Copy)]
struct Run<'a> {
    puts: Puts,
    threads: usize,
    edges: &'a [Edge],
    vertices: u32,
    limit_bytes: u64,
}

impl Run<'_> {
    /// Edges put or deleted a second.
    fn on(self, contender: Contender, folder: &Path) -> Result<f64> {
        match contender {
            Contender::Bare => {
                let bare = BareEngine::new(folder, self.vertices, self.limit_bytes)?;
                let rate = bare.beside_background(|| self.rate(&bare))?;
                expect(contender.name(), "edges", bare.edges(), self.left().count() as u64)?;
                Ok(rate)
            }
            Contender::Transactions => {
                let store = LimitedStore::<DiskEngine>::open(folder, self.limit_bytes, Commit::Unsynced)?;
                store.load_graph(&DiskGraph::load(self.vertices, &[], Loaded::Bare))?;
                let rate = self.rate(&store)?;
                store.settle()?;
                Contents::of(&self.left().collect::<Vec<_>>()).check(contender.name(), &store)?;
                Box::new(store).close()?;
                Ok(rate)
            }
            #[cfg(feature = "rocksdb")]
            Contender::RocksDb => {
                let store = RocksDbStore::open_limited(folder, self.limit_bytes, Commit::Unsynced)?;
                let store = store.without_log();
                let rate = self.rate(&store)?;
                let both: Vec<Edge> = self.left().flat_map(|edge| [edge, reversed(edge)]).collect();
                Contents::of(&both).check(contender.name(), &store)?;
                Box::new(store).close()?;
                Ok(rate)
            }
        }
    }

    /// The rate of the second half.
    fn rate(self, store: &dyn RawStore) -> Result<f64> {
        let (first, second) = self.edges.split_at(self.half());
        self.put_all(store, first)?;
        let began = Instant::now();
        let put = self.put_all(store, second)?;
        Ok(put as f64 / began.elapsed().as_secs_f64())
    }

    /// Half of the edges, in whole stretches of all threads.
    fn half(self) -> usize {
        let stretches = self.threads * INSERTS_A_DELETION;
        self.edges.len() / 2 / stretches * stretches
    }

    /// Puts edges by all threads; how many were put or deleted.
    fn put_all(self, store: &dyn RawStore, edges: &[Edge]) -> Result<usize> {
        thread::scope(|scope| {
            let put = |edges| scope.spawn(move || self.put(store, edges));
            let threads: Vec<_> = self.parts(edges).map(put).collect();
            let join = |thread: thread::ScopedJoinHandle<'_, Result<usize>>| {
                thread.join().expect("who puts edges returns what the engine says")
            };
            threads.into_iter().map(join).sum()
        })
    }

    /// The edges of each thread.
    fn parts(self, edges: &[Edge]) -> impl Iterator<Item = &[Edge]> {
        edges.chunks(edges.len().div_ceil(self.threads).next_multiple_of(INSERTS_A_DELETION))
    }

    fn put(self, store: &dyn RawStore, edges: &[Edge]) -> Result<usize> {
        let mut put = 0;
        for stretch in edges.chunks(INSERTS_A_DELETION) {
            stretch.iter().try_for_each(|edge| store.insert(*edge))?;
            put += stretch.len();
            if self.puts == Puts::Mixed {
                store.delete(stretch[0])?;
                put += 1;
            }
        }
        Ok(put)
    }

    /// The edges that are left.
    fn left(&self) -> impl Iterator<Item = Edge> {
        let (first, second) = self.edges.split_at(self.half());
        let stretches = [first, second].into_iter().flat_map(|half| self.parts(half));
        let stretches = stretches.flat_map(|part| part.chunks(INSERTS_A_DELETION));
        let deleted = usize::from(self.puts == Puts::Mixed);
        stretches.flat_map(move |stretch| &stretch[deleted..]).copied()
    }
}

/// An edge's other direction, beside all first ones: vertices are fewer than 2^31.
#[cfg(feature = "rocksdb")]
fn reversed((source, target): Edge) -> Edge {
    (target | 1 << 31, source)
}

#[cfg(feature = "rocksdb")]
impl RawStore for RocksDbStore {
    fn insert(&self, edge: Edge) -> Result<()> {
        self.put(&[edge, reversed(edge)])
    }

    fn delete(&self, edge: Edge) -> Result<()> {
        Store::delete(self, &[edge, reversed(edge)])
    }
}

impl RawStore for LimitedStore<DiskEngine> {
    fn insert(&self, edge: Edge) -> Result<()> {
        self.put(&[edge])
    }

    fn delete(&self, edge: Edge) -> Result<()> {
        Store::delete(self, &[edge])
    }
}

/// The disk engine with nothing above it.
struct BareEngine {
    engine: DiskEngine,
}

impl BareEngine {
    /// An empty one with room for so many vertices, which are not inserted.
    fn new(folder: &Path, vertices: u32, limit_bytes: u64) -> Result<Self> {
        let directory: Arc<dyn Directory> = Arc::new(DiskDirectory::open_or_create(folder)?);
        let budget = Arc::new(MemoryBudget::new(limit_bytes));
        let (background, tuning) = (Background::Threads, Tuning::default());
        let parts = EngineParts {
            timeline: Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published)),
            reader: PageReader::start(&budget, background)?,
            budget,
            files: DatabaseFiles::empty(&directory),
            set: FileSet::new(),
            groups: GroupTable::new(),
            indexes: IndexTable::new([], FileList::default().next_subject),
            background,
            compaction_threads: 1,
            graph_bytes: None,
            limits: tuning.pacing_limits(),
            tuning,
        };
        let engine = DiskEngine::open_parts(parts)?;
        let firsts = (0..vertices).step_by(GROUP_SIZE as usize);
        firsts.for_each(|first| engine.open_group(VertexId(first).group(), LabelId(0)));
        Ok(Self { engine })
    }

    /// Calls `put` while a thread flushes and compacts, and waits until everything is in files.
    fn beside_background<T>(&self, put: impl FnOnce() -> Result<T>) -> Result<T> {
        thread::scope(|scope| {
            let background = scope.spawn(|| self.engine.run_background());
            let done = put().and_then(|done| {
                self.engine.flush_all()?;
                while self.engine.is_compaction_due() {
                    if let Some(failure) = self.engine.pacing().compaction_failure() {
                        return Err(Error::new(ErrorKind::Io, failure));
                    }
                    thread::sleep(LOOK_EVERY);
                }
                Ok(done)
            });
            self.engine.pacing().close();
            background.join().expect("the background says what failed to who waits for it");
            done
        })
    }

    /// How many edges its files have.
    fn edges(&self) -> u64 {
        self.engine.statistics().body_edges
    }

    fn commit(&self, mutation: Mutation) -> Result<()> {
        let prepared = self.engine.prepare(&[mutation], &IndexChanges::NONE, PATIENCE)?;
        let timeline = self.engine.timeline();
        let mut latch = timeline.latch();
        let timestamp = timeline.published().next();
        let displaced = self.engine.append(timestamp, prepared);
        timeline.publish(timestamp, &mut latch);
        drop(latch);
        drop(displaced);
        Ok(())
    }
}

impl Drop for BareEngine {
    fn drop(&mut self) {
        self.engine.close();
    }
}

fn edge((source, target): Edge) -> EdgeId {
    let [source, target] = [source, target].map(VertexId);
    EdgeId { source, edge_type: TypeId(0), target, discriminator: 0 }
}

impl RawStore for BareEngine {
    fn insert(&self, of: Edge) -> Result<()> {
        self.commit(Mutation::InsertEdge { edge: edge(of), properties: Properties::EMPTY })
    }

    fn delete(&self, of: Edge) -> Result<()> {
        self.commit(Mutation::DeleteEdge { edge: edge(of) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_deletes_what_it_inserted_and_what_is_left_is_known() {
        let edges: Vec<Edge> = (0..1037).map(|at| (at, at + 1)).collect();
        for threads in [1, 2] {
            let run =
                Run { puts: Puts::Mixed, threads, edges: &edges, vertices: 2000, limit_bytes: 64 << 20 };
            for contender in Contender::ALL {
                let folder = tempfile::tempdir().unwrap();
                assert!(run.on(contender, folder.path()).unwrap() > 0.0);
            }
            let parts = |edges| run.parts(edges).map(<[Edge]>::len).collect::<Vec<_>>();
            assert_eq!(run.half() % (threads * INSERTS_A_DELETION), 0);
            assert_eq!(parts(&edges).iter().sum::<usize>(), edges.len());
            assert_eq!(parts(&edges).len(), threads);
            assert_eq!(run.left().count(), edges.len() - edges.len().div_ceil(INSERTS_A_DELETION));
        }
    }
}
