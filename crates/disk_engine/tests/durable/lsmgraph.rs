//! LSMGraph: A High-Performance Dynamic Graph Storage System with Multi-Level CSR (Yu et al., SIGMOD 2024): the worked
//! examples of its figures.
//!
//! ```text
//! figure 5   a memory graph after its insertions
//! figure 7   two files of L0 compacted into two files of L1, of two edges each
//! figure 8   in which files the edges of v0 and v1 are found
//! figure 9   what readers at t0 to t3 see, through a flush and a compaction
//! ```
//!
//! They stand here and not among the other papers' examples (`tests/tests/papers`), because they are about files and graphs
//! that no face of the database shows.

use evergraph_disk_engine::compact::job::CompactionJob;
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_disk_engine::file::csr_file::CsrFile;
use evergraph_disk_engine::file::page_reader::PageReader;
use evergraph_disk_engine::flush::write_generation;
use evergraph_disk_engine::format::file_name::{FILE_HEAD_BYTES, FileNumber, PAGE_BYTES};
use evergraph_disk_engine::format::subject::{EdgeSide, Subject};
use evergraph_disk_engine::format::tree_key::{ItemKey, ListId};
use evergraph_disk_engine::level::Level;
use evergraph_disk_engine::memory_graph::graph::MemoryGraph;
use evergraph_disk_engine::memory_graph::promises::Promises;
use evergraph_disk_engine::memory_graph::sorted_commit::SortedCommit;
use evergraph_disk_engine::merge::delete_rule::{Below, DeleteRule};
use evergraph_disk_engine::pick::limits::PickLimits;
use evergraph_disk_engine::source::RecordSource as _;
use evergraph_graph::id::{Direction, EdgeId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::environment::{Background, Environment};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::open::{OpenOptions, OpenStore};
use std::sync::Arc;

const TYPE: TypeId = TypeId(0);

fn out(vertex: u32) -> ListId {
    ListId::edges(VertexId(vertex), TYPE, EdgeSide::Out)
}

/// A frozen memory graph into which edges were inserted in this order, those of one slice by one commit, from `first` on.
fn graph_of(first: u64, commits: &[&[(u32, u32)]]) -> MemoryGraph {
    let graph = MemoryGraph::open(1 << 22, &Promises::new()).unwrap();
    for (timestamp, edges) in (first..).zip(commits) {
        let insert = |(source, target): &(u32, u32)| {
            let (source, target) = (VertexId(*source), VertexId(*target));
            let edge = EdgeId { source, edge_type: TYPE, target, discriminator: 0 };
            Mutation::InsertEdge { edge, properties: Properties::EMPTY }
        };
        let mutations: Vec<Mutation> = edges.iter().map(insert).collect();
        let prepared = graph.prepare(SortedCommit::new(&mutations).unwrap(), Vec::new()).unwrap();
        drop(graph.append(Timestamp(timestamp), prepared));
    }
    graph.freeze();
    graph
}

/// Files of one database in memory.
struct Files {
    directory: Arc<dyn Directory>,
    reader: Arc<PageReader>,
}

impl Files {
    fn new() -> Self {
        let reader = PageReader::start(&MemoryBudget::new(64 << 20), Background::Stepped).unwrap();
        Self { directory: Arc::new(MemoryDirectory::new("db")), reader }
    }

    /// What a memory graph becomes in L0.
    fn flushed(&self, number: u64, first: u64, edges: &[(u32, u32)]) -> Arc<CsrFile> {
        let graph = graph_of(first, &[edges]);
        let stored = write_generation(&self.directory, FileNumber(number), &graph).unwrap().unwrap();
        Arc::new(CsrFile::open(&self.directory, &stored, &self.reader).unwrap())
    }

    /// The files of about `file_bytes` that `inputs`, newest first, become in `level`.
    fn compacted(
        &self,
        level: u8,
        first_number: u64,
        file_bytes: u64,
        inputs: &[&Arc<CsrFile>],
    ) -> Vec<Arc<CsrFile>> {
        let inputs = inputs.iter().map(|input| Arc::clone(input)).collect();
        let mut job = CompactionJob::new(inputs, level, DeleteRule::new(Below::Nothing, []));
        job.limits.file_bytes = file_bytes;
        let mut numbers = (first_number..).map(FileNumber);
        let stored = job.run(&self.directory, &mut || numbers.next().unwrap(), &|| false).unwrap();
        let open = |stored| Arc::new(CsrFile::open(&self.directory, &stored, &self.reader).unwrap());
        stored.into_iter().map(open).collect()
    }
}

/// The edges that leave `vertices` in a file, in its order.
fn edges_in(file: &CsrFile, vertices: std::ops::Range<u32>) -> Vec<(u32, u32)> {
    let mut edges = Vec::new();
    for vertex in vertices {
        let mut items = Vec::new();
        assert!(!file.at(Timestamp::MAX).list(out(vertex), None, 1 << 20, &mut items).unwrap());
        edges.extend(items.iter().map(|listed| (vertex, listed.item.neighbor().0)));
    }
    edges
}

/// Section 4.1, figure 5: e(v3, v0) arrives first and is v3's only edge; v0 has three. Lists lie in the order in which
/// they arrive, and a flush finds them by vertex, sorted.
///
/// Differs: v0's list doesn't move to a skip list, it goes on in blocks; in sides are kept too.
#[test]
fn a_memory_graph_has_lists_as_edges_arrived_and_gives_them_sorted() {
    let arrived = [(3, 0), (0, 4), (1, 3), (0, 1), (2, 0), (0, 2), (1, 0)];
    let graph = graph_of(1, &arrived.each_ref().map(std::slice::from_ref));
    let at = |timestamp| graph.at(Timestamp(timestamp));
    let newest_first = |vertex, timestamp| -> Vec<u32> {
        let list = at(timestamp).list(out(vertex)).unwrap();
        list.newest_first().map(|record| record.item.neighbor().0).collect()
    };
    assert_eq!(at(7).list(out(3)).unwrap().record_count(), 1);
    assert_eq!(newest_first(3, 7), [0]);
    assert_eq!(newest_first(0, 7), [2, 1, 4], "three edges, the newest first");
    assert_eq!(newest_first(0, 5), [1, 4], "a reader passes what is newer");
    assert_eq!(newest_first(1, 7), [0, 3]);
    assert!(at(7).list(out(4)).is_none(), "v4 has no entry");
    let visible = at(7);
    let mut scan = visible.scan(out(0)..=out(9));
    let mut flushed = Vec::new();
    while let Some(list) = scan.next_list() {
        flushed.extend(list.records.iter().map(|record| (list.id.vertex.0, record.item.neighbor().0)));
    }
    assert_eq!(flushed, [(0, 1), (0, 2), (0, 4), (1, 0), (1, 3), (2, 0), (3, 0)]);
}

/// Section 4.2.1, figure 7 and example 1: e(v0, v1) and e(v1, v3) in one file of L0, e(v0, v4) in another; the first
/// file of L1 gets v0's edges, and v1's begin the second one, "if each CSR file is limited to 2 edges". The text doesn't
/// name the fourth edge; here it is e(v1, v5).
///
/// Differs: a file's limit is in bytes of whole pages, and a list that is longer is cut. So each edge is some thousands of
/// them here, at v0 more than half a page.
#[test]
fn two_files_are_compacted_into_two_files_of_two_edges() {
    const BUNDLE: u32 = 3950;
    const GAP: u32 = 130_000;
    let bundle = |edges: &[(u32, u32)]| -> Vec<(u32, u32)> {
        let each = |(source, target): &(u32, u32)| {
            let (source, first) = (*source, target * BUNDLE);
            let count = if source == 0 { BUNDLE } else { BUNDLE - 1000 };
            (first..first + count).map(move |target| (source, target * GAP))
        };
        edges.iter().flat_map(each).collect()
    };
    let files = Files::new();
    let first = files.flushed(1, 1, &bundle(&[(0, 1), (1, 3)]));
    let second = files.flushed(2, 2, &bundle(&[(1, 5), (0, 4)]));
    let two_bundles = (FILE_HEAD_BYTES + PAGE_BYTES) as u64;
    let outputs = files.compacted(1, 3, two_bundles, &[&second, &first]);
    let of_figure = |file: &Arc<CsrFile>| -> Vec<(u32, u32)> {
        let edges = edges_in(file, 0..2);
        let in_bundle = |(source, target): &(u32, u32)| (*source, target / GAP / BUNDLE);
        let bundles = edges.chunk_by(|a, b| in_bundle(a) == in_bundle(b)).map(|edges| {
            let (source, target) = in_bundle(&edges[0]);
            assert!(edges == bundle(&[(source, target)]), "whole, and sorted: {source}, {target}");
            (source, target)
        });
        bundles.collect()
    };
    let out_sides: Vec<_> = outputs.iter().map(of_figure).filter(|edges| !edges.is_empty()).collect();
    assert_eq!(out_sides, [[(0, 1), (0, 4)], [(1, 3), (1, 5)]]);
    assert_eq!([of_figure(&first), of_figure(&second)], [[(0, 1), (1, 3)], [(0, 4), (1, 5)]]);
}

/// Section 4.2.2, figure 8 and example 2: the edges of v0 lie in the files F1, F2 and F3 of three levels, those of v1 in
/// F1 and F3 alone.
///
/// Differs: no array says that for each vertex. The bounds of a level's files, in memory, and a file's index of pages lead
/// to at most one page of each; a page that turns out to have nothing of a vertex costs a read. F2 has nothing behind v0,
/// so its bounds are enough here.
#[test]
fn the_files_of_three_levels_that_have_a_vertex_are_found_by_their_keys() {
    let files = Files::new();
    let contents: [&[(u32, u32)]; 3] = [&[(0, 1), (1, 3)], &[(0, 2)], &[(0, 4), (1, 5), (2, 0)]];
    let levels = (1u8..).zip(contents).map(|(level, edges)| {
        let flushed = files.flushed(u64::from(level), u64::from(level) * 10, edges);
        let outputs = files.compacted(level, u64::from(level) * 10, 1, &[&flushed]);
        Level::new(outputs).unwrap()
    });
    let levels: Vec<Level<CsrFile>> = levels.collect();
    let found = |vertex| -> Vec<Vec<(u32, u32)>> {
        let in_level = |level: &Level<CsrFile>| {
            let places = level.places_of_items(out(vertex), ItemKey::VERTEX..=ItemKey::LAST);
            assert!(places.len() <= 1, "a short list lies in one file of a level");
            let pages = |file: &CsrFile| {
                file.topology_index().pages_of_vertex(out(vertex).subject, VertexId(vertex)).len()
            };
            assert!(level.files()[places.clone()].iter().all(|file| pages(file) == 1), "and in one page");
            level.files()[places].iter().flat_map(|file| edges_in(file, vertex..vertex + 1)).collect()
        };
        levels.iter().map(in_level).collect()
    };
    assert_eq!(found(0), [vec![(0, 1)], vec![(0, 2)], vec![(0, 4)]]);
    assert_eq!(found(1), [vec![(1, 3)], vec![], vec![(1, 5)]]);
    let of_v1 = |level: &Level<CsrFile>| level.places_of_items(out(1), ItemKey::VERTEX..=ItemKey::LAST).len();
    assert_eq!(levels.iter().map(of_v1).collect::<Vec<_>>(), [1, 0, 1], "F2 isn't asked");
    assert_eq!(out(0).subject, Subject::edges(TYPE, EdgeSide::Out));
}

/// Section 4.3, figure 9 and example 3: at t0 there are a memory graph, a full one, file 4 in L0 and file 3 below; at t1
/// the full graph is file 5; at t2 a compaction of 3, 4 and 5 is under way; at t3 file 6 has taken their place. Whoever
/// reads v0 and v1 at any time sees the same edges, whichever files they are read from.
///
/// Differs: versions are of the whole graph, so v0 and v1 change over together; a reader keeps what it pinned at t0, and
/// sees nothing that was committed later.
#[test]
fn readers_through_a_flush_and_a_compaction_see_the_same_edges() {
    let options = OpenOptions {
        environment: Environment::simulated(1),
        memory_limit_bytes: 64 << 20,
        ..OpenOptions::default()
    };
    let directory = MemoryDirectory::new("db");
    let open = OpenStore::<DiskEngine>::open(Arc::new(directory.clone()), &options).unwrap();
    let (store, engine) = (open.store(), open.store().engine());
    let mut first = store.begin();
    let (label, edge_type) = (first.label("V").unwrap(), first.edge_type("E").unwrap());
    let vertices: Vec<VertexId> = (0..8).map(|_| first.add_vertex(label, &[]).unwrap()).collect();
    first.commit().unwrap();
    let insert = |edges: &[(usize, usize)]| {
        let mut transaction = store.begin();
        for (source, target) in edges {
            transaction.add_edge(vertices[*source], edge_type, vertices[*target], &[]).unwrap();
        }
        transaction.commit().unwrap();
    };
    let flush = || assert!(engine.flush_oldest().unwrap());
    let limits = |flushed_runs| PickLimits { flushed_runs, ..PickLimits::default() };
    // How many graphs there are, and how many files in L0 and below.
    let state = || {
        let current = engine.tree().current();
        let files: Vec<usize> = current.set.levels().map(<[_]>::len).collect();
        (current.generations.len(), files[0], files[1..].iter().sum::<usize>())
    };

    insert(&[(0, 1), (1, 2)]);
    engine.freeze_open().unwrap();
    flush();
    assert!(engine.compact_by(&limits(1)).unwrap(), "file 3");
    insert(&[(0, 3), (1, 4)]);
    engine.freeze_open().unwrap();
    flush();
    insert(&[(0, 5), (1, 5)]);
    engine.freeze_open().unwrap();
    insert(&[(0, 6)]);
    let neighbors = |view: &dyn Fn(&mut NeighborBatch)| {
        let mut batch = NeighborBatch::default();
        view(&mut batch);
        let number = |id: &VertexId| vertices.iter().position(|vertex| vertex == id).unwrap();
        let mut numbers: Vec<usize> = batch.edges.iter().map(|edge| number(&edge.target)).collect();
        numbers.sort_unstable();
        numbers
    };
    let mut readers = Vec::new();
    let mut check = |when: &str, newest: &[usize]| {
        readers.push((when.to_owned(), newest.to_vec(), store.snapshot()));
        for (began, of_v0, reader) in &readers {
            let of = |vertex: usize| {
                neighbors(&|batch| {
                    let (mut cursor, of) = (NeighborCursor::default(), [vertices[vertex]]);
                    reader.neighbors(&of, None, Direction::Out, &mut cursor, usize::MAX, batch).unwrap();
                })
            };
            assert_eq!(of(0), *of_v0, "v0 at {when}, by a reader since {began}");
            assert_eq!(of(1), [2, 4, 5], "v1 at {when}, by a reader since {began}");
        }
    };
    assert_eq!(state(), (2, 1, 1));
    check("t0", &[1, 3, 5, 6]);

    flush();
    assert_eq!(state(), (1, 2, 1));
    check("t1", &[1, 3, 5, 6]);

    // Files 3 to 5 stay where they are until file 6 is whole.
    insert(&[(0, 7)]);
    check("t2", &[1, 3, 5, 6, 7]);
    assert!(engine.compact_by(&limits(2)).unwrap(), "file 6");
    assert_eq!(state(), (1, 0, 1));
    check("t3", &[1, 3, 5, 6, 7]);
}
