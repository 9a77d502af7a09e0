//! Insertions, deletions and views on several threads at once.

use crate::adjacency::Adjacency;
use evergraph_packed::ablation::Ablation;
use evergraph_packed::graph::PackedGraph;
use evergraph_packed::memory::heap::HeapMemory;
use evergraph_packed::memory::region::Domain;
use evergraph_packed::options::Options;

#[test]
fn views_show_prefixes_while_two_threads_insert() {
    insert_beside_views(Ablation::NONE);
}

/// Lists are shifted then, over which views read.
#[test]
fn views_show_prefixes_while_two_threads_insert_without_section_logs() {
    insert_beside_views(Ablation::ALL);
}

/// Each of two writers gives the lists of its vertices the targets 0, 1, 2, …: a view shows a prefix of each.
fn insert_beside_views(ablation: Ablation) {
    const VERTICES: u32 = 40;
    let options =
        Options { vertices: VERTICES, log_records: 8, undo_bytes: 128, ablation, ..Options::default() };
    let graph = PackedGraph::create(HeapMemory::new(Domain::Adr), &options).unwrap();
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let graph = &graph;
                scope.spawn(move || {
                    for target in 0..VERTICES {
                        for source in (0..VERTICES).filter(|source| source % 2 == writer) {
                            graph.insert_edge(source, target).unwrap();
                        }
                    }
                })
            })
            .collect();
        while !writers.iter().all(|writer| writer.is_finished()) {
            let view = graph.consistent_view();
            let lists = Adjacency::of_view(&view);
            for list in &lists.0 {
                assert!(list.iter().copied().eq(0..list.len() as u32), "no prefix: {list:?}");
            }
            assert_eq!(Adjacency::of_view(&view), lists, "a view stays");
        }
    });
    assert_eq!(Adjacency::of(&graph).0, vec![(0..VERTICES).collect::<Vec<_>>(); VERTICES as usize]);
}

/// Writers whose vertices share sections, and words of the array, delete each edge that another one inserts once.
#[test]
fn an_edge_is_deleted_by_one_of_two_threads() {
    const VERTICES: u32 = 30;
    const EDGES: u32 = 40;
    let options = Options { vertices: VERTICES, log_records: 8, undo_bytes: 128, ..Options::default() };
    let graph = PackedGraph::create(HeapMemory::new(Domain::Adr), &options).unwrap();
    for source in 0..VERTICES {
        (0..EDGES).for_each(|at| graph.insert_edge(source, at % 3).unwrap());
    }
    let deleted: u32 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let graph = &graph;
                scope.spawn(move || {
                    let mut deleted = 0;
                    for _ in 0..EDGES {
                        for source in 0..VERTICES {
                            deleted += u32::from(graph.delete_edge(source, 1).unwrap());
                            graph.insert_edge(source, 7).unwrap();
                        }
                    }
                    deleted
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let ones = (0..EDGES).filter(|at| at % 3 == 1).count() as u32;
    assert_eq!(deleted, VERTICES * ones);
    let lists = Adjacency::of(&graph);
    let expected = VERTICES * (EDGES - ones + 2 * EDGES);
    assert_eq!((lists.edges(), graph.statistics().edges), (u64::from(expected), u64::from(expected)));
}
