//! Own graphs: the stores of partitions, read as one graph where stages run.

use crate::compare_graphs;
use crate::scans::{alternating, edges, vertices};
use crate::split_graph::{AGE, KNOWS, PERSON, POST, SINCE, SplitGraph};
use evergraph_cluster::seeded::SeededChance;
use evergraph_graph::column::Column;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::{Direction, EdgeId, GroupId, VertexId};
use evergraph_graph::value::ValueType;
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor};

/// All neighbours of vertices, and the rows they belong to, `limit` at a time.
fn neighbors(view: &dyn GraphView, of: &[VertexId], limit: usize) -> NeighborBatch {
    let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
    while !cursor.done {
        let before = batch.len();
        view.neighbors(of, None, Direction::Both, &mut cursor, limit, &mut batch).unwrap();
        assert!(batch.len() - before <= limit, "no more than was asked for");
    }
    batch
}

/// What is read of vertices and edges that lie in any order.
fn read(view: &dyn GraphView, vertices: &[VertexId], edges: &[EdgeId]) -> impl PartialEq + std::fmt::Debug {
    let (mut labels, mut found, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    view.labels(vertices, &mut labels).unwrap();
    view.has_edges(edges, &mut found).unwrap();
    let pairs: Vec<_> = edges.iter().map(|edge| (edge.source, edge.target)).collect();
    view.count_edges_between(&pairs, KNOWS, &mut counts).unwrap();
    let mut columns = [AGE, SINCE].map(|_| Column::new(ValueType::Any));
    view.vertex_properties(vertices, AGE, &mut columns[0]).unwrap();
    view.edge_properties(edges, SINCE, &mut columns[1]).unwrap();
    let maps: Vec<_> = edges.iter().map(|edge| view.edge_property_map(*edge).unwrap()).collect();
    (labels, found, counts, columns, maps)
}

#[test]
fn stores_of_all_partitions_show_the_whole_graph() {
    for seed in 0..6 {
        let count = [1, 3, 4][seed as usize % 3];
        let mut graph = SplitGraph::random(seed, count);
        let mut chance = SeededChance::new(seed);
        let before = graph.now;
        graph.commit(&mut chance, 60);
        for at in [before, graph.now] {
            let (own, whole) = (graph.own_at(at, 0..count), graph.whole_at(at));
            compare_graphs(&own, &whole);
            let (all, all_edges) = (vertices(&whole, None), edges(&whole, None));
            let strangers = [VertexId::new(GroupId(90), 1), VertexId(u32::MAX)];
            let mut any = |count: usize| chance.below(count as u64) as usize;
            let mixed: Vec<_> = (0..50).map(|_| all[any(all.len())]).chain(strangers).collect();
            let mixed_edges: Vec<_> = (0..50).map(|_| all_edges[any(all_edges.len())]).collect();
            assert_eq!(read(&own, &mixed, &mixed_edges), read(&whole, &mixed, &mixed_edges));
            for limit in [1, 7, 10_000] {
                assert_eq!(neighbors(&own, &mixed, limit), neighbors(&whole, &mixed, limit));
            }
        }
    }
}

#[test]
fn a_scan_goes_on_where_another_store_has_the_next_group() {
    let graph = alternating();
    let (own, whole) = (graph.own_at(graph.now, 0..4), graph.whole_at(graph.now));
    for labels in [None, Some(&[POST][..]), Some(&[PERSON, POST])] {
        assert_eq!(vertices(&own, labels), vertices(&whole, labels));
    }
    assert_eq!(edges(&own, Some(&[KNOWS])), edges(&whole, Some(&[KNOWS])));
}

#[test]
fn nodes_with_some_partitions_find_each_vertex_once_and_read_no_other() {
    let graph = SplitGraph::random(3, 4);
    let whole = graph.whole_at(graph.now);
    let owns = [vec![0, 3], vec![1], vec![2]].map(|partitions| graph.own_at(graph.now, partitions));
    let mut all: Vec<_> = owns.iter().flat_map(|own| vertices(own, None)).collect();
    all.sort_unstable();
    assert_eq!(all, vertices(&whole, None));
    let elsewhere = vertices(&owns[1], None);
    let refused = owns[0].labels(&elsewhere, &mut Vec::new()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Busy, "{refused}");
}
