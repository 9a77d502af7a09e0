//! Reads: what a question costs, about one item and about a batch, with its pages in the cache and without.
//!
//! ```text
//! cold    the cache is emptied, then each question is about another item: one after the other
//! warm    the same question until its pages are there, then timed
//! ```
//!
//! The first question of each kind is not counted: it begins a snapshot's work.

use crate::graph::Edges;
use crate::options::Options;
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_graph::budget::Budget as _;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::value::ValueType;
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor, VertexCursor};
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Vertices of a batch.
const BATCH_VERTICES: usize = 1000;
/// Batches.
const BATCHES: usize = 10;

/// What is asked, and about what.
struct Questions {
    label: LabelId,
    edge_type: TypeId,
    key: KeyId,
    /// Vertices with edges.
    sources: Vec<VertexId>,
    /// Vertices without.
    lonely: Vec<VertexId>,
    /// Edges that are there.
    present: Vec<EdgeId>,
    /// Edges that are not, from vertices that have others.
    absent: Vec<EdgeId>,
    /// Batches of vertices, ascending in each.
    batches: Vec<Vec<VertexId>>,
}

/// Time and page reads of one kind of question.
struct Cost {
    kind: &'static str,
    nanoseconds: f64,
    page_reads: f64,
}

pub fn run(options: &Options) -> Result<()> {
    println!("drawing 2^{} vertices, {} edges each", options.scale, options.edge_factor);
    let edges = Edges::draw(options);
    let mut columns = Vec::new();
    if options.has_peer {
        let folder = Folder::new(&options.folder.join("evergraph-bench-memory"))?;
        let open = open::<MemoryEngine>(&folder.0, u64::MAX)?;
        let first = edges.load_into(&open, options)?;
        edges.insert_into(&open, first)?;
        let questions = Questions::draw(&open, &edges, options, first)?;
        columns.push(questions.ask(&open, &|| 0, &|| Ok(()))?);
    }
    let folder = Folder::new(&options.folder.join("evergraph-bench-disk"))?;
    let began = Instant::now();
    let first = {
        let open = open::<DiskEngine>(&folder.0, 4 << 30)?;
        edges.load_into(&open, options)?
    };
    println!("loaded within {:.1?}", began.elapsed());
    let open = open::<DiskEngine>(&folder.0, options.limit_bytes)?;
    let began = Instant::now();
    edges.insert_into(&open, first)?;
    println!("inserted {} edges within {:.1?}", edges.inserted.len(), began.elapsed());
    wait_for_compactions(&open);
    show_tree(&open);
    let questions = Questions::draw(&open, &edges, options, first)?;
    let pages = || open.store().engine().page_reader().statistics().misses;
    let costs = questions.ask(&open, &pages, &|| empty_cache(&open))?;
    println!("{:34} {:>12} {:>12} {:>14}", "question", "ns", "page reads", "memory engine");
    for (at, cost) in costs.iter().enumerate() {
        let ratio = columns.first().map(|peer: &Vec<Cost>| cost.nanoseconds / peer[at].nanoseconds);
        let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.2} x"));
        println!("{:34} {:>12.0} {:>12.3} {ratio:>14}", cost.kind, cost.nanoseconds, cost.page_reads);
    }
    println!("memory of the process, the benchmark's own edges with it: {}", resident());
    for (purpose, bytes) in open.store().budget().reservations() {
        println!("{bytes:>12} bytes for {purpose}");
    }
    Ok(())
}

fn open<E: DurableEngine>(folder: &Path, limit_bytes: u64) -> Result<OpenStore<E>> {
    let directory = Arc::new(DiskDirectory::open_or_create(folder)?);
    let options = OpenOptions {
        durability: Durability::None,
        memory_limit_bytes: limit_bytes,
        ..OpenOptions::default()
    };
    OpenStore::open(directory, &options)
}

/// Until nothing has been compacted for a second.
fn wait_for_compactions(open: &OpenStore<DiskEngine>) {
    let done = || open.store().engine().tree_statistics().compactions.compactions;
    let mut before = None;
    while before != Some(done()) {
        before = Some(done());
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn show_tree(open: &OpenStore<DiskEngine>) {
    let tree = open.store().engine().tree_statistics();
    for (number, level) in tree.levels.iter().enumerate() {
        let (mib, heap) = ((level.topology_bytes + level.property_bytes) >> 20, level.memory_bytes >> 10);
        println!("L{number}: {} files, {mib} MiB, indexes of {heap} KiB", level.files);
    }
    println!("memory graphs of {} MiB; direct I/O: {}", tree.graph_bytes >> 20, tree.direct_io);
}

/// What the system says of the process' memory, now and at most.
fn resident() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let lines = status.lines().filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM"));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(", ")
}

/// Takes all memory from the cache, so that it gives up its pages.
fn empty_cache(open: &OpenStore<DiskEngine>) -> Result<()> {
    let budget = open.store().budget();
    let cached = open.store().engine().page_reader().statistics().bytes;
    let free = budget.limit_bytes().saturating_sub(budget.used_bytes());
    drop(budget.reserve("benchmark: the cache is emptied", free + cached)?);
    Ok(())
}

impl Questions {
    fn draw<E: DurableEngine>(
        open: &OpenStore<E>,
        edges: &Edges,
        options: &Options,
        first: VertexId,
    ) -> Result<Self> {
        let snapshot = open.store().snapshot();
        let catalogue = snapshot.catalogue();
        let unnamed = || Error::new(ErrorKind::Invalid, "the graph was not loaded");
        let vertex = |row: u32| VertexId(first.0 + row);
        let mut random = SplitMix64::new(11);
        let mut below = |bound: usize| (random.next_u64() % bound as u64) as usize;
        let rows = edges.degrees.len();
        let mut draw = |has_edges: bool| {
            let mut rows_of_kind = Vec::new();
            while rows_of_kind.len() < options.questions {
                let row = below(rows);
                if (edges.degrees[row] > 0) == has_edges {
                    rows_of_kind.push(vertex(row as u32));
                }
            }
            rows_of_kind
        };
        let (sources, lonely) = (draw(true), draw(false));
        let edge_type = catalogue.edge_type("EDGE").ok_or_else(unnamed)?;
        let edge = |source, target| EdgeId { source, edge_type, target, discriminator: 0 };
        let present = (0..options.questions).map(|_| {
            let at = below(edges.loaded.0.len());
            edge(vertex(edges.loaded.0[at]), vertex(edges.loaded.1[at]))
        });
        let present = present.collect();
        let absent = sources.iter().map(|source| edge(*source, vertex(below(rows) as u32)));
        let absent = absent.collect();
        let batches = (0..BATCHES).map(|_| {
            let mut batch: Vec<_> = (0..BATCH_VERTICES).map(|_| vertex(below(rows) as u32)).collect();
            batch.sort_unstable();
            batch
        });
        let batches = batches.collect();
        let label = catalogue.label("Vertex").ok_or_else(unnamed)?;
        let key = catalogue.key("id").ok_or_else(unnamed)?;
        Ok(Self { label, edge_type, key, sources, lonely, present, absent, batches })
    }

    /// Asks everything. `pages` says how many were read so far; `cool` empties the cache.
    fn ask<E: DurableEngine>(
        &self,
        open: &OpenStore<E>,
        pages: &dyn Fn() -> u64,
        cool: &dyn Fn() -> Result<()>,
    ) -> Result<Vec<Cost>> {
        let snapshot = open.store().snapshot();
        let types = Some(std::slice::from_ref(&self.edge_type));
        let mut batch = NeighborBatch::default();
        let mut list = |vertices: &[VertexId], side| {
            batch.clear();
            let mut cursor = NeighborCursor::default();
            snapshot.neighbors(vertices, types, side, &mut cursor, usize::MAX, &mut batch)?;
            Ok(batch.edges.len())
        };
        let mut found = Vec::new();
        let mut has = |edge: &EdgeId| {
            found.clear();
            snapshot.has_edges(std::slice::from_ref(edge), &mut found)?;
            Ok(usize::from(found[0]))
        };
        let property = |vertices: &[VertexId]| {
            let mut column = Column::new(ValueType::I64);
            snapshot.vertex_properties(vertices, self.key, &mut column)?;
            Ok(column.len())
        };
        let ask = Asking { pages, cool };
        let one = |vertex: &VertexId| [*vertex];
        let mut costs = vec![
            ask.cold("out list, cold", &self.sources, |v| list(&one(v), Direction::Out))?,
            ask.warm("out list, warm", &self.sources, |v| list(&one(v), Direction::Out))?,
            ask.cold("in list, cold", &self.sources, |v| list(&one(v), Direction::In))?,
            ask.cold("list that doesn't exist, cold", &self.lonely, |v| list(&one(v), Direction::Out))?,
            ask.warm("list that doesn't exist, warm", &self.lonely, |v| list(&one(v), Direction::Out))?,
            ask.cold("edge that exists, cold", &self.present, &mut has)?,
            ask.warm("edge that exists, warm", &self.present, &mut has)?,
            ask.cold("edge that doesn't exist, cold", &self.absent, &mut has)?,
            ask.warm("edge that doesn't exist, warm", &self.absent, &mut has)?,
            ask.cold("vertex property, cold", &self.sources, |v| property(&one(v)))?,
            ask.warm("vertex property, warm", &self.sources, |v| property(&one(v)))?,
            ask.cold("1,000 out lists, cold", &self.batches, |batch| list(batch, Direction::Out))?,
            ask.cold("1,000 vertex properties, cold", &self.batches, |batch| property(batch))?,
            ask.cold("1,000 degrees, cold", &self.batches, |batch| {
                let mut degrees = Vec::new();
                snapshot.degrees(batch, types, Direction::Out, &mut degrees)?;
                Ok(degrees.len())
            })?,
            ask.cold("1,000 pairs counted, cold", &self.batches, |batch| {
                let pairs: Vec<_> = batch.iter().zip(batch.iter().rev()).map(|(a, b)| (*a, *b)).collect();
                let mut counts = Vec::new();
                snapshot.count_edges_between(&pairs, self.edge_type, &mut counts)?;
                Ok(counts.len())
            })?,
            ask.cold("labels of 1,000, cold", &self.batches, |batch| {
                let mut labels = Vec::new();
                snapshot.labels(batch, &mut labels)?;
                Ok(labels.len())
            })?,
        ];
        costs.push(ask.cold("scan of a label, cold", &[(), ()], |()| {
            let (mut vertices, mut cursor, mut count) = (Vec::new(), VertexCursor::default(), 0);
            while !cursor.done {
                vertices.clear();
                snapshot.scan_vertices(Some(&[self.label]), &mut cursor, 4096, &mut vertices)?;
                count += vertices.len();
            }
            Ok(count)
        })?);
        Ok(costs)
    }
}

/// How questions are asked.
struct Asking<'a> {
    pages: &'a dyn Fn() -> u64,
    cool: &'a dyn Fn() -> Result<()>,
}

impl Asking<'_> {
    fn cold<T>(
        &self,
        kind: &'static str,
        items: &[T],
        mut ask: impl FnMut(&T) -> Result<usize>,
    ) -> Result<Cost> {
        let (first, rest) = items.split_first().expect("questions were drawn");
        ask(first)?;
        (self.cool)()?;
        let (before, began) = ((self.pages)(), Instant::now());
        for item in rest {
            std::hint::black_box(ask(item)?);
        }
        Ok(self.cost(kind, rest.len(), began, before))
    }

    fn warm<T>(
        &self,
        kind: &'static str,
        items: &[T],
        mut ask: impl FnMut(&T) -> Result<usize>,
    ) -> Result<Cost> {
        // Few enough that their pages stay.
        let items = &items[..items.len().min(200)];
        for item in items {
            ask(item)?;
        }
        const ROUNDS: usize = 20;
        let (before, began) = ((self.pages)(), Instant::now());
        for item in (0..ROUNDS).flat_map(|_| items) {
            std::hint::black_box(ask(item)?);
        }
        Ok(self.cost(kind, ROUNDS * items.len(), began, before))
    }

    fn cost(&self, kind: &'static str, count: usize, began: Instant, pages_before: u64) -> Cost {
        let nanoseconds = began.elapsed().as_nanos() as f64 / count as f64;
        let page_reads = ((self.pages)() - pages_before) as f64 / count as f64;
        Cost { kind, nanoseconds, page_reads }
    }
}

/// A folder that goes when this is dropped.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(path: &Path) -> Result<Self> {
        drop(std::fs::remove_dir_all(path));
        std::fs::create_dir_all(path).map_err(|error| {
            Error::new(ErrorKind::Io, format!("create {}: {error}; pass another --folder", path.display()))
        })?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}
