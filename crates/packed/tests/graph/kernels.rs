//! Algorithms on views of packed graphs beside a static array with the same edges.

use evergraph_algorithms::bfs::{BfsParameters, bfs};
use evergraph_algorithms::control::Control;
use evergraph_algorithms::csr::StaticCsr;
use evergraph_algorithms::pagerank::{PageRankParameters, pagerank};
use evergraph_algorithms::scc::scc;
use evergraph_algorithms::triangles::triangles;
use evergraph_algorithms::wcc::{WccParameters, wcc};
use evergraph_graph::budget::Unlimited;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::split_mix::mix;
use evergraph_graph::topology::{Piece, PieceBuffer, Topology, Turn, Visit};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_packed::both_sides::BothSides;
use evergraph_packed::graph::PackedGraph;
use evergraph_packed::memory::heap::HeapMemory;
use evergraph_packed::memory::region::Domain;
use evergraph_packed::options::Options;
use evergraph_packed::view::TwoSided;

const VERTICES: u32 = 3000;

/// Skewed edges, each at most once.
fn edges() -> Vec<(u32, u32)> {
    let vertex = |number: u64| {
        let random = mix(number);
        (((random >> 32) % u64::from(VERTICES)) >> (random % 4 * 3)) as u32
    };
    let mut edges: Vec<(u32, u32)> =
        (0..20_000).map(|at| (vertex(2 * at), vertex(2 * at + 1))).filter(|(a, b)| a != b).collect();
    let mut seen = std::collections::HashSet::new();
    edges.retain(|edge| seen.insert(*edge));
    edges
}

fn ranks<T: Topology>(lists: &T) -> Vec<f64> {
    pagerank(lists, &PageRankParameters::default(), &Control::new(&Unlimited)).unwrap().scores
}

/// The answers that do not depend on the order in which numbers are added up.
fn answers<T: Topology>(lists: &T) -> Vec<String> {
    let control = Control::new(&Unlimited);
    let parameters = BfsParameters { direction: Direction::Out, ..BfsParameters::default() };
    vec![
        format!("{}", lists.edge_count()),
        format!("{:?}", bfs(lists, VertexId(1), &parameters, &control).unwrap().levels()),
        format!("{:?}", wcc(lists, &WccParameters::default(), &control).unwrap().labels.as_slice()),
        format!("{:?}", scc(lists, &control).unwrap().labels.as_slice()),
        format!("{:?}", triangles(lists, &control).unwrap()),
    ]
}

#[test]
fn algorithms_answer_on_views_as_on_a_static_array_while_edges_are_inserted() {
    let options = Options { vertices: VERTICES, edges: 100, ..Options::default() };
    let graph = || PackedGraph::create(HeapMemory::new(Domain::Adr), &options).unwrap();
    let (out, incoming) = (graph(), graph());
    let edges = edges();
    let (deleted, kept) = edges.split_at(edges.len() / 10);
    for (source, target) in deleted.iter().chain(kept) {
        out.insert_edge(*source, *target).unwrap();
        incoming.insert_edge(*target, *source).unwrap();
    }
    for (source, target) in deleted {
        assert!(out.delete_edge(*source, *target).unwrap());
        assert!(incoming.delete_edge(*target, *source).unwrap());
    }
    assert!(out.statistics().rebalances > 10 && out.statistics().resizes > 0);
    let views = TwoSided::new(out.consistent_view(), incoming.consistent_view()).unwrap();
    let csr = StaticCsr::new(VertexSet::full(VERTICES), kept, None, Direction::Both).unwrap();
    let (expected, expected_ranks) = (answers(&csr), ranks(&csr));
    let is_close =
        |found: &[f64]| found.iter().zip(&expected_ranks).all(|(one, other)| (one - other).abs() < 1e-9);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for (source, target) in deleted {
                out.insert_edge(*target, *source).unwrap();
                incoming.insert_edge(*target, *source).unwrap();
            }
        });
        assert!(answers(&views) == expected && is_close(&ranks(&views)), "beside insertions");
    });
    assert!(answers(&views) == expected && is_close(&ranks(&views)), "after insertions");
}

/// What both logs have of a run comes by itself: of each side to its own lists, and nothing that is newer than the view.
#[test]
fn pieces_of_both_sides_are_what_a_visit_shows() {
    let memory = || HeapMemory::new(Domain::Adr);
    let options = Options { vertices: VERTICES, edges: 100, ..Options::default() };
    let graph = BothSides::create(memory(), memory(), &options).unwrap();
    let edges = edges();
    let (before, after) = edges.split_at(edges.len() - 200);
    before.iter().for_each(|(source, target)| graph.insert_edge(*source, *target).unwrap());
    let view = graph.consistent_view().unwrap();
    after.iter().for_each(|(source, target)| graph.insert_edge(*source, *target).unwrap());
    for direction in [Direction::Out, Direction::In, Direction::Both] {
        let empty = || vec![Vec::<u32>::new(); VERTICES as usize];
        let (mut visited, mut lists, mut apart) = (empty(), empty(), 0);
        let visitor = |vertex: u32, piece: Piece<'_>| {
            visited[vertex as usize].extend(piece.neighbors);
            Visit::Continue
        };
        view.visit(direction, 0..VERTICES, &mut PieceBuffer::default(), visitor).unwrap();
        let visitor = |vertex: u32, piece: Piece<'_>, turn: Turn| {
            apart += usize::from(turn == Turn::Apart);
            lists[vertex as usize].extend(piece.neighbors);
        };
        view.visit_pieces(direction, 0..VERTICES, &mut PieceBuffer::default(), visitor).unwrap();
        visited.iter_mut().chain(&mut lists).for_each(|list| list.sort_unstable());
        assert!(lists == visited, "{direction:?}");
        assert!(apart > 0, "{direction:?}: nothing was in the logs");
        let sides = if direction == Direction::Both { 2 } else { 1 };
        assert_eq!(lists.iter().map(Vec::len).sum::<usize>(), sides * before.len());
    }
}
