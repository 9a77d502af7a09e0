//! DGAP: Efficient Dynamic Graph Analysis on Persistent Memory (Islam, Dai, SC 2023): its figures, as they are drawn.

use crate::adjacency::Adjacency;
use evergraph_packed::graph::PackedGraph;
use evergraph_packed::memory::region::Domain;
use evergraph_packed::memory::simulated::SimulatedMemory;
use evergraph_packed::options::Options;
use evergraph_packed::recovery::{Found, Reopening};
use evergraph_storage::sync::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Vertices 5 to 9 are a section; 6 has no gap left behind its edges, the others have.
fn figure(memory: &SimulatedMemory) -> PackedGraph<SimulatedMemory> {
    let options = Options { vertices: 20, edges: 40, undo_bytes: 64, ..Options::default() };
    let graph = PackedGraph::create(memory.clone(), &options).unwrap();
    for (source, target) in [(7, 2), (7, 6), (7, 8), (9, 6), (6, 7), (6, 9)] {
        graph.insert_edge(source, target).unwrap();
    }
    while graph.place_of(6).unwrap().gaps > 0 {
        graph.insert_edge(6, 8).unwrap();
    }
    graph
}

/// Sections 3.1.2 and 3.1.3, figure 3: 8 -> 9 goes to a gap of the edge array; 6 -> 1 and 6 -> 4, whose places vertex 7
/// has taken, go to the section's log, where the newer one points back to the older. A task that called
/// `consistent_view()` before bypasses all three.
#[test]
fn an_edge_goes_into_its_gap_and_edges_whose_place_is_taken_into_the_log_linked() {
    let memory = SimulatedMemory::new(Domain::Adr);
    let graph = figure(&memory);
    let view = graph.consistent_view();
    let before = Adjacency::of_view(&view);
    let start = graph.statistics();

    graph.insert_edge(8, 9).unwrap();
    let case_a = graph.statistics();
    assert_eq!(case_a.inserted_into_gaps - start.inserted_into_gaps, 1);
    let (lines, fences) = (
        case_a.traffic.lines_written_back - start.traffic.lines_written_back,
        case_a.traffic.fences - start.traffic.fences,
    );
    assert_eq!((lines, fences), (1, 1), "one line and one fence an edge");
    assert_eq!(graph.place_of(8).unwrap().in_array, 1);

    graph.insert_edge(6, 1).unwrap();
    graph.insert_edge(6, 4).unwrap();
    let case_b = graph.statistics();
    assert_eq!(case_b.inserted_into_logs - case_a.inserted_into_logs, 2);
    assert_eq!((case_b.rebalances, case_b.resizes), (0, 0), "no edge was moved");
    assert_eq!(graph.place_of(6).unwrap().in_log, 2);

    let mut after = before.clone();
    after.0[8].push(9);
    after.0[6].extend([1, 4]);
    assert_eq!(Adjacency::of(&graph), after);
    assert_eq!(Adjacency::of_view(&view), before, "a task bypasses what came after its view");

    // After a power cut the links are those of the log's records.
    let (recovered, found) = PackedGraph::open(memory, Reopening::Saved).unwrap();
    assert_eq!(found, Found::Scanned);
    assert_eq!(recovered.place_of(6).unwrap().in_log, 2);
    assert_eq!(Adjacency::of(&recovered), after);
}

/// Section 3.1.4, figure 4: a rebalance moves the edges of vertex 8 to the right, and the power fails after each store,
/// so that some of its edges are there twice: every edge is there once, at the old place or at the new one. The published
/// program makes its undo logs for a new graph alone, not for one that was shut down and opened again.
#[test]
fn a_power_cut_after_each_store_of_a_move_leaves_every_edge_once() {
    let cases = [Domain::Adr, Domain::Eadr].map(|domain| [(domain, false), (domain, true)]);
    for (domain, is_reopened) in cases.into_iter().flatten() {
        let memory = SimulatedMemory::new(domain);
        let mut graph = figure(&memory);
        (2..5).for_each(|target| graph.insert_edge(8, target).unwrap());
        graph.insert_edge(6, 4).unwrap();
        let lists = Adjacency::of(&graph);
        if is_reopened {
            graph.shutdown().unwrap();
            let (opened, found) = PackedGraph::open(memory.clone(), Reopening::Saved).unwrap();
            assert_eq!(found, Found::ShutDown);
            graph = opened;
        }
        let places = |graph: &PackedGraph<SimulatedMemory>| graph.place_of(8).unwrap().slot;
        let old_place = places(&graph);

        let (cuts, seen) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(BTreeSet::new())));
        let (counted, places_seen, expected) = (Arc::clone(&cuts), Arc::clone(&seen), lists.clone());
        memory.observe(move |memory| {
            memory.for_each_image(4096, 1, |image| {
                let opened = PackedGraph::open(image, Reopening::Saved);
                let (graph, _) =
                    opened.unwrap_or_else(|error| panic!("after a power cut it does not open: {error}"));
                assert_eq!(Adjacency::of(&graph), expected, "a power cut lost or doubled an edge");
                places_seen.lock().insert(graph.place_of(8).unwrap().slot);
                counted.fetch_add(1, Ordering::Relaxed);
            });
        });
        graph.rebalance_section_of(6).unwrap();
        memory.ignore();
        let new_place = places(&graph);
        assert!(new_place > old_place, "vertex 8 moved to the right");
        assert_eq!(Adjacency::of(&graph), lists);
        assert_eq!(*seen.lock(), BTreeSet::from([old_place, new_place]));
        let cuts = cuts.load(Ordering::Relaxed);
        assert!(cuts > if domain == Domain::Adr { 200 } else { 8 }, "{cuts} power cuts");
    }
}
