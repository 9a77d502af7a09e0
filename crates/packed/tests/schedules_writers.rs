//! Schedules: writers of neighbouring sections, whose lists meet in one word, and somebody who makes views; and writers of one
//! section, who find it full at once. Driven by shuttle.
//!
//! Each writer gives its vertices the targets 0, 1, 2, …: a view shows a prefix of each list, stays what it was, and shows
//! no edge of a writer without those that the same writer inserted before.
//!
//! `EVERGRAPH_PLANTED=packed-resize-leaves-lock` makes writers of one section wait for ever.
//!
//! Run with `RUSTFLAGS="--cfg shuttle"`; `make test` does.

#![cfg(shuttle)]

use evergraph_packed::ablation::Ablation;
use evergraph_packed::graph::PackedGraph;
use evergraph_packed::memory::heap::HeapMemory;
use evergraph_packed::memory::region::Domain;
use evergraph_packed::options::Options;
use evergraph_packed::view::View;
use std::sync::Arc;

const RUNS: usize = 100;
const VERTICES: u32 = 4;
const EDGES: u32 = 4;
/// Logs of which a few insertions ask for room, sections of two vertices.
const OPTIONS: Options =
    Options { vertices: VERTICES, edges: 0, log_records: 3, undo_bytes: 64, ablation: Ablation::NONE };

fn lengths(view: &View<HeapMemory>) -> Vec<usize> {
    let length = |vertex| {
        let list = view.neighbors(vertex).expect("nothing is damaged");
        assert!(list.iter().copied().eq(0..list.len() as u32), "no prefix: {list:?}");
        list.len()
    };
    (0..VERTICES).map(length).collect()
}

fn run() {
    let graph = Arc::new(PackedGraph::create(HeapMemory::new(Domain::Adr), &OPTIONS).expect("it has memory"));
    // The second vertex of a section and the first of the next: their slots meet.
    let mut threads: Vec<_> = [[1, 0], [2, 3]]
        .into_iter()
        .map(|sources: [u32; 2]| {
            let graph = Arc::clone(&graph);
            shuttle::thread::spawn(move || {
                for target in 0..EDGES {
                    for source in sources {
                        graph.insert_edge(source, target).expect("it has memory");
                    }
                }
            })
        })
        .collect();
    let watched = Arc::clone(&graph);
    threads.push(shuttle::thread::spawn(move || {
        let view = watched.consistent_view();
        let found = lengths(&view);
        for [earlier, later] in [[1, 0], [2, 3]] {
            assert!(found[earlier] == found[later] || found[earlier] == found[later] + 1, "{found:?}");
        }
        assert_eq!(lengths(&view), found, "a view stays");
    }));
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    assert_eq!(lengths(&graph.consistent_view()), [EDGES as usize; VERTICES as usize]);
    assert_eq!(graph.statistics().edges, u64::from(EDGES * VERTICES));
}

/// Whoever has the array second finds the room that the other one made.
fn run_in_one_section() {
    let graph = Arc::new(PackedGraph::create(HeapMemory::new(Domain::Adr), &OPTIONS).expect("it has memory"));
    let threads: Vec<_> = [0, 1]
        .into_iter()
        .map(|source| {
            let graph = Arc::clone(&graph);
            shuttle::thread::spawn(move || {
                for target in 0..EDGES {
                    graph.insert_edge(source, target).expect("it has memory");
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    let each = EDGES as usize;
    assert_eq!(lengths(&graph.consistent_view()), [each, each, 0, 0]);
    let statistics = graph.statistics();
    assert_eq!(statistics.edges, u64::from(2 * EDGES));
    assert!(statistics.rebalances + statistics.resizes > 0, "the section was full");
}

#[test]
fn writers_who_find_their_section_full_at_once_go_on_in_the_room_that_one_of_them_makes() {
    shuttle::check_pct(run_in_one_section, RUNS, 3);
    shuttle::check_random(run_in_one_section, RUNS);
}

#[test]
fn writers_of_neighbouring_sections_and_a_view_see_whole_insertions() {
    shuttle::check_pct(run, RUNS, 3);
    shuttle::check_random(run, RUNS);
}
