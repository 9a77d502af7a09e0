//! Scans: how many messages it takes to go through a graph of many groups, whatever their labels are.

use crate::split_graph::{KNOWS, LIKES, PERSON, POST, SplitGraph};
use crate::{NO_WRITES, indexes};
use evergraph_cluster::remote::remote_snapshot::RemoteLimits;
use evergraph_cluster::remote::remote_view::RemoteView;
use evergraph_graph::id::{EdgeId, GroupId, LabelId, TypeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::view::{EdgeCursor, GraphView, VertexCursor};
use evergraph_storage::snapshot::reader::Reader;

const GROUPS: u32 = 200;
const PARTITIONS: u16 = 4;

/// A vertex in each group, of two labels in turn; of every tenth group an edge starts.
pub fn alternating() -> SplitGraph {
    let mut graph = SplitGraph::new(PARTITIONS);
    let vertex = |group| VertexId::new(GroupId(group), 7);
    let label = |group| if group % 2 == 0 { PERSON } else { POST };
    let insert = |group| Mutation::InsertVertex {
        vertex: vertex(group),
        label: label(group),
        properties: Properties::EMPTY,
    };
    let mut mutations: Vec<_> = (0..GROUPS).map(insert).collect();
    for source in (0..GROUPS).step_by(10) {
        let target = vertex((source + 3) % GROUPS);
        let edge = EdgeId { source: vertex(source), edge_type: KNOWS, target, discriminator: 0 };
        mutations.push(Mutation::InsertEdge { edge, properties: Properties::EMPTY });
    }
    graph.install(&mutations);
    graph
}

/// Whether a scan finds the same as one of the whole graph; the rounds that it took.
fn scanned<T: PartialEq + std::fmt::Debug>(
    graph: &SplitGraph,
    scan: impl Fn(&dyn GraphView) -> Vec<T>,
) -> usize {
    let whole = graph.whole_at(graph.now);
    let (snapshot, asker) = graph.remote_at(graph.now, RemoteLimits::default());
    let catalogue = whole.catalogue();
    let indexes = indexes(&catalogue);
    let reader = Reader::new(RemoteView::new(&snapshot), &NO_WRITES, &catalogue, &indexes);
    assert_eq!(scan(&reader), scan(&whole));
    let (rounds, messages) = asker.counted();
    assert!(messages <= rounds * usize::from(PARTITIONS), "{messages} messages in {rounds} rounds");
    rounds
}

pub fn vertices(view: &dyn GraphView, labels: Option<&[LabelId]>) -> Vec<VertexId> {
    let (mut cursor, mut found) = (VertexCursor::default(), Vec::new());
    while !cursor.done {
        // A cursor stops in the middle of groups.
        view.scan_vertices(labels, &mut cursor, 3, &mut found).unwrap();
    }
    found
}

pub fn edges(view: &dyn GraphView, types: Option<&[TypeId]>) -> Vec<EdgeId> {
    let (mut cursor, mut found) = (EdgeCursor::default(), Vec::new());
    while !cursor.done {
        view.scan_edges(types, &mut cursor, 3, &mut found).unwrap();
    }
    found
}

#[test]
fn a_scan_of_all_vertices_takes_few_rounds_though_labels_alternate() {
    // What was answered is kept.
    let rounds = scanned(&alternating(), |view| [vertices(view, None), vertices(view, None)].concat());
    // One group, one more as the label changes, then 2, 4, .. 64, 64 and the rest.
    assert_eq!(rounds, 10);
}

#[test]
fn a_scan_of_one_label_asks_about_no_group_of_another() {
    let rounds = scanned(&alternating(), |view| vertices(view, Some(&[POST])));
    assert_eq!(rounds, 7);
    let both = |view: &dyn GraphView| [PERSON, POST].map(|label| vertices(view, Some(&[label]))).concat();
    assert_eq!(scanned(&alternating(), both), 14, "two scans know where they are");
}

#[test]
fn a_scan_of_edges_takes_few_rounds_though_most_groups_have_none() {
    // Of no group more than its edge types is read.
    assert_eq!(scanned(&alternating(), |view| edges(view, Some(&[LIKES]))), 9);
    let rounds = scanned(&alternating(), |view| edges(view, Some(&[KNOWS])));
    // Edge types as before; rows of groups with edges, and their lists.
    assert!(rounds <= 9 + 20 + 20, "{rounds}");
}

#[test]
fn counts_of_all_groups_take_few_rounds() {
    let counted = |view: &dyn GraphView| {
        let statistics = view.statistics().unwrap();
        vec![(statistics.vertices, statistics.edges)]
    };
    assert_eq!(scanned(&alternating(), counted), 10);
}
