//! What a packed graph refuses, and what it says.

use crate::adjacency::Adjacency;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology as _;
use evergraph_packed::graph::PackedGraph;
use evergraph_packed::memory::heap::HeapMemory;
use evergraph_packed::memory::region::{Domain, Memory as _, Region as _};
use evergraph_packed::memory::simulated::SimulatedMemory;
use evergraph_packed::options::Options;
use evergraph_packed::recovery::Reopening;
use evergraph_packed::view::TwoSided;

fn options(vertices: u32) -> Options {
    Options { vertices, ..Options::default() }
}

#[test]
fn an_edge_of_a_vertex_that_does_not_exist_is_refused_with_what_to_do() {
    let graph = PackedGraph::create(HeapMemory::new(Domain::Adr), &options(3)).unwrap();
    for (source, target) in [(3, 0), (0, 3)] {
        let error = graph.insert_edge(source, target).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert_eq!(
            error.to_string(),
            "vertex 3 does not exist: there are 3; add it by `insert_vertex(3)` first"
        );
        assert!(graph.delete_edge(source, target).is_err());
    }
    graph.insert_vertex(3).unwrap();
    graph.insert_edge(3, 3).unwrap();
    assert_eq!(graph.insert_vertex(1 << 30).unwrap_err().kind(), ErrorKind::Limit);
    assert_eq!(Adjacency::of(&graph).0, [vec![], vec![], vec![], vec![3]]);
}

#[test]
fn one_memory_holds_one_graph() {
    let memory = HeapMemory::new(Domain::Adr);
    let nothing = PackedGraph::open(memory.clone(), Reopening::Saved).err().unwrap();
    assert_eq!(nothing.kind(), ErrorKind::NotFound);
    PackedGraph::create(memory.clone(), &options(3)).unwrap();
    let second = PackedGraph::create(memory.clone(), &options(3)).err().unwrap();
    assert!(second.to_string().contains("there is one already; open it"), "{second}");
    PackedGraph::open(memory, Reopening::Saved).unwrap();
}

#[test]
fn a_memory_without_room_refuses_an_edge_and_leaves_the_graph_as_it_was() {
    let memory = SimulatedMemory::new(Domain::Adr);
    let graph = PackedGraph::create(memory.clone(), &Options { log_records: 4, ..options(4) }).unwrap();
    memory.limit_allocations(0);
    let mut expected = Adjacency::with_vertices(4);
    let refused = (0..1000u32).find_map(|at| {
        let (source, target) = (at % 4, at * 7 % 4);
        let outcome = graph.insert_edge(source, target);
        if outcome.is_ok() {
            expected.insert(source, target);
        }
        outcome.err()
    });
    assert_eq!(refused.unwrap().kind(), ErrorKind::Limit);
    assert_eq!(Adjacency::of(&graph), expected);
    memory.limit_allocations(100);
    graph.insert_edge(1, 0).unwrap();
    expected.insert(1, 0);
    assert_eq!(Adjacency::of(&graph), expected);
    let (graph, _) = PackedGraph::open(memory, Reopening::Saved).unwrap();
    assert_eq!(Adjacency::of(&graph), expected);
}

#[test]
fn deleted_edges_take_no_space_once_the_array_was_replaced_without_a_view() {
    let graph = PackedGraph::create(HeapMemory::new(Domain::Adr), &options(10)).unwrap();
    let mut expected = Adjacency::with_vertices(10);
    let mut change = |at: u32| {
        graph.insert_edge(at % 10, at % 7).unwrap();
        expected.insert(at % 10, at % 7);
        if at >= 20 {
            assert!(graph.delete_edge(at % 10, at % 7).unwrap());
            assert!(expected.delete(at % 10, at % 7));
        }
    };
    (0..5000).for_each(&mut change);
    let statistics = graph.statistics();
    assert!(statistics.resizes > 10 && statistics.slots <= 128, "{statistics:?}");
    let view = graph.consistent_view();
    let shown = Adjacency::of_view(&view);
    (5000..6000).for_each(&mut change);
    assert_eq!(Adjacency::of_view(&view), shown, "a view stays");
    assert!(graph.statistics().slots > 2000, "a view counts what is deleted");
    drop(view);
    assert_eq!(Adjacency::of(&graph), expected);
}

#[test]
fn damage_is_found_where_it_is() {
    let memory = SimulatedMemory::new(Domain::Adr);
    let graph = PackedGraph::create(memory.clone(), &options(20)).unwrap();
    (0..20).for_each(|vertex| graph.insert_edge(vertex, 3).unwrap());
    let slot = graph.place_of(11).unwrap().slot;
    graph.shutdown().unwrap();
    // The array lies at the end of its region: 40 slots, in whole lines.
    let region = memory.open(1).unwrap();
    let word = region.words() - (48 / 2) + slot as usize / 2;
    let found = region.load(word);
    memory.damage(1, word, 1 << 31 | 1 << 63);
    let error = PackedGraph::open(memory.clone(), Reopening::Scan).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let expected = format!("region 1 at byte {}: slot {}: ", word * 8, slot / 2 * 2);
    assert!(error.to_string().starts_with(&expected), "{error}");
    memory.damage(1, word, found);

    let saved = memory.open(2).unwrap();
    memory.damage(2, 6, saved.load(6) ^ 1);
    let error = PackedGraph::open(memory.clone(), Reopening::Saved).err().unwrap();
    assert!(
        error.to_string().contains("region 2: the saved vertex array is damaged: its checksum"),
        "{error}"
    );
    let (graph, _) = PackedGraph::open(memory, Reopening::Scan).unwrap();
    assert_eq!(Adjacency::of(&graph).0, vec![vec![3]; 20]);
}

#[test]
fn a_side_that_is_not_there_and_sides_that_differ_are_refused() {
    let out = PackedGraph::create(HeapMemory::new(Domain::Adr), &options(3)).unwrap();
    let incoming = PackedGraph::create(HeapMemory::new(Domain::Adr), &options(3)).unwrap();
    out.insert_edge(0, 1).unwrap();
    let view = out.consistent_view();
    let refusal = view.degrees(Direction::In, 0..3, &mut [0; 3]).unwrap_err();
    assert!(refusal.to_string().contains("use `BothSides`"), "{refusal}");
    let error = TwoSided::new(view, incoming.consistent_view()).err().unwrap();
    assert!(error.to_string().starts_with("the side out has 3 vertices and 1 edges, the side in 3 and 0"));
    incoming.insert_edge(1, 0).unwrap();
    TwoSided::new(out.consistent_view(), incoming.consistent_view()).unwrap();
}

#[test]
fn a_graph_with_open_views_is_not_shut_down() {
    let memory = HeapMemory::new(Domain::Adr);
    let graph = PackedGraph::create(memory.clone(), &options(3)).unwrap();
    graph.insert_edge(0, 1).unwrap();
    let view = graph.consistent_view();
    let refusal = graph.shutdown().unwrap_err();
    assert_eq!(refusal.kind(), ErrorKind::Busy);
    assert!(refusal.to_string().starts_with("a view is still open"), "{refusal}");
    assert_eq!(view.neighbors(0).unwrap(), [1], "it goes on reading");
    drop(view);
    PackedGraph::open(memory, Reopening::Saved).unwrap().0.shutdown().unwrap();
}
