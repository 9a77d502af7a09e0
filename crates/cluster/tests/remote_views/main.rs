//! Remote views: a graph in several partitions, read over messages, shows what the same graph in one store shows.
//!
//! ```text
//! commits ──> a store of the whole graph ── view ───────────────────────────────┐
//!         ──> a store a partition ── answers to messages ── remote view ────────┴─ every method, the same answers
//!         ──> the graph said naively ── what indexes and newest edges have ─────┘
//! ```
//!
//! Messages have room for a few items each, or for many; what was answered is kept, or nothing is; readers announce what
//! they read, or do not. Above a remote view stands the reader of every engine, unchanged. Where stages run the stores themselves are
//! read, as one graph: that shows the same. So do partitions that the reader's own node keeps and that are not asked.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod announced;
mod at_hand;
mod failing_view;
mod own_graphs;
mod same_answers;
mod scans;
#[path = "../../../memory_engine/tests/partitions/shown.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod shown;
mod split_graph;

use crate::same_answers::ViewComparison;
use crate::shown::Shown;
use crate::split_graph::{
    AGE, AGES, DirectAsker, HUB, KNOWS, LIKES, NAME, NAMES, NUMBERS, PERSON, SINCE, SplitGraph, TEXT, TIMES,
    assert_found, indexes,
};
use evergraph_cluster::planted::Bug;
use evergraph_cluster::remote::remote_snapshot::{RemoteLimits, RemoteSnapshot};
use evergraph_cluster::remote::remote_view::RemoteView;
use evergraph_cluster::remote::view_answering::answer_view;
use evergraph_cluster::remote::view_question::{ViewQuestion, ViewQuestions};
use evergraph_cluster::seeded::SeededChance;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, GroupId, PartitionId, TypeId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
use evergraph_graph::look_up::{MatchCursor, Matches, OrderedMatches, RangeCursor, ValueRange};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::newest::NewestEdges;
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::owner::Owner;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::value::Value;
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor};
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::snapshot::reader::Reader;
use evergraph_storage::transaction::writes::Writes;
use evergraph_storage::view::View as _;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ops::Bound;

static NO_WRITES: Writes = Writes::new();

/// Few items a message and nothing kept; few and kept; many.
const LIMITS: [RemoteLimits; 3] = [
    RemoteLimits { answer_bytes_max: 40, kept_bytes_max: 0 },
    RemoteLimits { answer_bytes_max: 300, kept_bytes_max: 100_000 },
    RemoteLimits { answer_bytes_max: 4 << 20, kept_bytes_max: 64 << 20 },
];

fn compare(graph: &SplitGraph, limits: RemoteLimits, seed: u64, announces: bool) {
    let (snapshot, _) = graph.remote_at(graph.now, limits);
    let whole = graph.whole_at(graph.now);
    let (remote, chance) = (RemoteView::new(&snapshot), SeededChance::new(seed));
    ViewComparison { graph, model: &graph.model, remote, whole: whole.view(), chance, announces }.run();
}

#[test]
fn a_remote_view_answers_as_a_view_of_the_whole_graph() {
    for seed in 0..9 {
        let partitions = [1, 3, 4][seed as usize % 3];
        let graph = SplitGraph::random(seed, partitions);
        for (at, limits) in LIMITS.into_iter().enumerate() {
            compare(&graph, limits, seed + at as u64, (seed + at as u64).is_multiple_of(2));
        }
    }
}

#[test]
fn an_older_moment_is_read_as_it_was_though_indexes_were_dropped_since() {
    for seed in 0..4 {
        let mut graph = SplitGraph::random(seed, 3);
        let (at, model, mut chance) = (graph.now, graph.model.clone(), SeededChance::new(seed));
        graph.commit(&mut chance, 60);
        let drop = |index| Mutation::Schema(SchemaChange::DropIndex(index));
        graph.install(&[NAMES, TIMES].map(drop));
        graph.commit(&mut chance, 60);
        let (snapshot, _) = graph.remote_at(at, LIMITS[1]);
        let whole = graph.whole_at(at);
        let remote = RemoteView::new(&snapshot);
        assert!(remote.index_size(NAMES).is_none() && remote.index_size(AGES).is_some());
        let whole = whole.view();
        ViewComparison { graph: &graph, model: &model, remote, whole, chance, announces: true }.run();
    }
}

/// Whether a view shows what a snapshot of the whole graph shows; without look-ups.
fn compare_graphs<V: GraphView>(view: &V, whole: &Snapshot<MemoryEngine>) {
    let shown = Shown::of(whole);
    assert_eq!(Shown::of(view), shown, "everything");
    let vertices: Vec<_> = shown.vertices.keys().copied().collect();
    for types in [None, Some(&[KNOWS][..])] {
        let (mut found, mut wanted) = (Vec::new(), Vec::new());
        view.degrees(&vertices, types, Direction::Both, &mut found).unwrap();
        whole.degrees(&vertices, types, Direction::Both, &mut wanted).unwrap();
        assert_eq!(found, wanted, "degrees");
    }
    let edges = |view: &dyn GraphView| {
        let (mut cursor, mut edges) = (Default::default(), Vec::new());
        loop {
            let before = edges.len();
            view.scan_edges(None, &mut cursor, 70, &mut edges).unwrap();
            if edges.len() - before < 70 {
                return edges;
            }
        }
    };
    assert_eq!(edges(view), edges(whole), "a scan of edges");
    for edge_type in [KNOWS, LIKES] {
        let asked = NewestEdges::new(HUB, edge_type, SINCE);
        let newest = |view: &dyn GraphView| {
            let (mut cursor, mut ranked) = (RangeCursor::default(), OrderedMatches::default());
            while !cursor.done {
                view.newest(&asked, &mut cursor, 25, &mut ranked).unwrap();
            }
            ranked
        };
        assert_eq!(newest(view), newest(whole), "newest edges");
    }
}

/// Whether the reader of every engine, above a remote view, shows what a snapshot of the whole graph shows.
fn compare_readers(graph: &SplitGraph, snapshot: &RemoteSnapshot) {
    let whole = graph.whole_at(graph.now);
    let catalogue = whole.catalogue();
    let indexes = indexes(&catalogue);
    let reader = Reader::new(RemoteView::new(snapshot), &NO_WRITES, &catalogue, &indexes);
    compare_graphs(&reader, &whole);
    let names: Vec<_> = (0..6).map(|number| Value::from(format!("name {number}"))).collect();
    let looked_up = |view: &dyn GraphView| {
        let (mut cursor, mut matches) = (MatchCursor::default(), Matches::default());
        while !cursor.done {
            view.look_up_vertices(PERSON, NAME, &names, &mut cursor, 7, &mut matches).unwrap();
        }
        matches
    };
    assert_eq!(looked_up(&reader), looked_up(&whole), "look-ups");
    for descending in [false, true] {
        let range = ValueRange::new(Bound::Excluded(Value::I64(1)), Bound::Included(Value::I64(NUMBERS - 2)));
        let range = ValueRange { descending, ..range };
        let persons = |view: &dyn GraphView| {
            let (mut cursor, mut ranked) = (RangeCursor::default(), OrderedMatches::default());
            while !cursor.done {
                view.range_vertices(PERSON, AGE, &range, &mut cursor, 9, &mut ranked).unwrap();
            }
            ranked
        };
        assert_eq!(persons(&reader), persons(&whole), "a range of vertices");
        let friends = |view: &dyn GraphView| {
            let (mut cursor, mut ranked) = (RangeCursor::default(), OrderedMatches::default());
            while !cursor.done {
                view.range_edges(KNOWS, SINCE, &range, &mut cursor, 9, &mut ranked).unwrap();
            }
            ranked
        };
        assert_eq!(friends(&reader), friends(&whole), "a range of edges");
    }
}

#[test]
fn the_reader_of_every_engine_stands_above_a_remote_view() {
    for seed in 0..4 {
        let graph = SplitGraph::random(seed, 4);
        for limits in LIMITS {
            compare_readers(&graph, &graph.remote_at(graph.now, limits).0);
        }
    }
}

/// Vertices of many groups, each with a few edges.
fn ring(vertices_count: u32) -> (SplitGraph, Vec<VertexId>) {
    let mut graph = SplitGraph::new(4);
    let vertices: Vec<_> =
        (0..vertices_count).map(|number| VertexId::new(GroupId(number % 12), (number / 12) as u16)).collect();
    let insert = |vertex: &VertexId| {
        let properties = Properties::new(vec![(AGE, Some(Value::I64(i64::from(vertex.0 % 7))))]);
        Mutation::InsertVertex { vertex: *vertex, label: PERSON, properties }
    };
    let sorted: BTreeSet<_> = vertices.iter().copied().collect();
    let mut mutations: Vec<_> = sorted.iter().map(insert).collect();
    let mut edges = BTreeSet::new();
    for (at, source) in vertices.iter().enumerate() {
        for (edge_type, step) in [(KNOWS, 1), (KNOWS, 5), (LIKES, 17)] {
            let target = vertices[(at + step) % vertices.len()];
            edges.insert(EdgeId { source: *source, edge_type, target, discriminator: 0 });
        }
    }
    let insert = |edge| Mutation::InsertEdge { edge, properties: Properties::EMPTY };
    mutations.extend(edges.into_iter().map(insert));
    graph.install(&mutations);
    (graph, vertices)
}

/// Reads `graph` as every engine is read, by messages that are counted, with nothing read before.
fn read_by_messages(graph: &SplitGraph, read: impl FnOnce(&dyn GraphView, &DirectAsker)) {
    let (snapshot, asker) = graph.remote_at(graph.now, RemoteLimits::default());
    let catalogue = graph.whole_at(graph.now).catalogue();
    let indexes = indexes(&catalogue);
    read(&Reader::new(RemoteView::new(&snapshot), &NO_WRITES, &catalogue, &indexes), &asker);
}

#[test]
fn a_batch_takes_a_message_a_partition_and_not_one_an_item() {
    let (graph, vertices) = ring(600);
    read_by_messages(&graph, |reader, asker| batches_take_few_messages(reader, asker, &vertices));
    // What is not announced is asked for once, all the same.
    read_by_messages(&graph, |reader, asker| {
        let (mut cursor, mut found) = (Default::default(), Vec::new());
        reader.scan_vertices(None, &mut cursor, usize::MAX, &mut found).unwrap();
        let (rounds, _) = asker.counted();
        assert_eq!(found.len(), 600);
        assert!(rounds <= 4, "a scan of twelve groups asks for more and more at once: {rounds}");
        let statistics = reader.statistics().unwrap();
        assert_eq!(statistics.edges, [(KNOWS, 1200), (LIKES, 600)]);
        assert_eq!(asker.counted().0, 0, "the scan has brought what counts need");
    });
}

fn batches_take_few_messages(reader: &dyn GraphView, asker: &DirectAsker, vertices: &[VertexId]) {
    let mut labels = Vec::new();
    reader.labels(vertices, &mut labels).unwrap();
    assert_eq!((labels.len(), asker.counted()), (600, (1, 4)), "labels");
    let mut degrees = Vec::new();
    reader.degrees(vertices, Some(&[KNOWS]), Direction::Out, &mut degrees).unwrap();
    assert_eq!(asker.counted(), (1, 4), "degrees of one type, in twelve groups");
    assert!(degrees.iter().all(|degree| *degree == 2));
    degrees.clear();
    reader.degrees(vertices, None, Direction::Both, &mut degrees).unwrap();
    assert_eq!(asker.counted(), (1, 4), "degrees of all types on both sides, with the types of groups");
    assert!(degrees.iter().all(|degree| *degree == 6));
    let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
    while !cursor.done {
        reader.neighbors(vertices, None, Direction::Both, &mut cursor, usize::MAX, &mut batch).unwrap();
    }
    let (rounds, messages) = asker.counted();
    assert_eq!(batch.len(), 600 * 6);
    // The types of groups are known; then lists of 64 rows at once, and of all others, since there is room for them.
    assert_eq!((rounds, messages), (2, 8));
    batch.clear();
    let mut cursor = NeighborCursor::default();
    while !cursor.done {
        reader.neighbors(vertices, None, Direction::Both, &mut cursor, usize::MAX, &mut batch).unwrap();
    }
    assert_eq!((batch.len(), asker.counted()), (600 * 6, (0, 0)), "what was answered is kept");
}

#[test]
fn all_edges_of_many_vertices_take_two_rounds() {
    let (graph, vertices) = ring(600);
    let whole = graph.whole_at(graph.now);
    read_by_messages(&graph, |reader, asker| {
        assert!(reader.is_remote() && reader.heeds_ahead());
        assert!(!whole.is_remote() && !whole.heeds_ahead());
        reader.ahead(NextReads::EdgesOf(&vertices, Direction::Both));
        for vertex in &vertices {
            let of = |view: &dyn GraphView| {
                let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
                view.neighbors(&[*vertex], None, Direction::Both, &mut cursor, usize::MAX, &mut batch)
                    .unwrap();
                batch
            };
            assert_eq!(of(reader), of(&whole));
        }
        assert_eq!(asker.counted(), (2, 8), "the types of groups, and the lists");
    });
}

#[test]
fn many_values_are_looked_up_in_one_round() {
    let (graph, _) = ring(600);
    let (snapshot, asker) = graph.remote_at(graph.now, RemoteLimits::default());
    let whole = graph.whole_at(graph.now);
    let catalogue = whole.catalogue();
    let indexes = indexes(&catalogue);
    let reader = Reader::new(RemoteView::new(&snapshot), &NO_WRITES, &catalogue, &indexes);
    // Three of these ages have 85 or 86 vertices each.
    let ages: Vec<_> = (0..500_i32).map(|age| Value::I32(age + 4)).collect();
    let looked_up = |view: &dyn GraphView, values: &[Value], limit| {
        let (mut cursor, mut matches) = (MatchCursor::default(), Matches::default());
        while !cursor.done {
            view.look_up_vertices(PERSON, AGE, values, &mut cursor, limit, &mut matches).unwrap();
        }
        matches
    };
    let found = looked_up(&reader, &ages, usize::MAX);
    let (rounds, messages) = asker.counted();
    assert_eq!(found, looked_up(&whole, &ages, usize::MAX));
    // Once for all values, and for what more than a page has.
    assert!(rounds <= 4 && messages <= 4 * rounds, "{messages} messages in {rounds} rounds");
    for limit in [1, 7, 64, 256] {
        assert_eq!(looked_up(&reader, &ages[..9], limit), looked_up(&whole, &ages[..9], limit));
    }
}

#[test]
fn who_holds_unique_values_is_asked_in_one_round() {
    let mut graph = SplitGraph::new(4);
    let id = IndexId { owner: Owner::Label(PERSON), key: TEXT, kind: IndexKind::Hash };
    let add = SchemaChange::AddIndex(IndexDefinition { id, unique: true });
    graph.install(&[Mutation::Schema(add)]);
    let text = |number: u32| Value::from(format!("text {number}"));
    let mut vertices: Vec<_> =
        (0..300).map(|number| VertexId::new(GroupId(number % 12), number as u16)).collect();
    vertices.sort();
    let insert = |vertex: &VertexId| {
        let properties = Properties::new(vec![(TEXT, Some(text(vertex.0)))]);
        Mutation::InsertVertex { vertex: *vertex, label: PERSON, properties }
    };
    graph.install(&vertices.iter().map(insert).collect::<Vec<_>>());
    let whole = graph.whole_at(graph.now);
    let catalogue = whole.catalogue();
    let indexes = indexes(&catalogue);
    let values: Vec<_> = vertices.iter().flat_map(|vertex| [text(vertex.0), text(vertex.0 + 4096)]).collect();
    let holders = |view: &dyn GraphView| {
        let mut holders = Vec::new();
        view.look_up(PERSON, TEXT, &values, &mut holders).unwrap();
        holders
    };
    for limits in LIMITS {
        let (snapshot, asker) = graph.remote_at(graph.now, limits);
        let reader = Reader::new(RemoteView::new(&snapshot), &NO_WRITES, &catalogue, &indexes);
        let found = holders(&reader);
        let (rounds, messages) = asker.counted();
        assert_eq!(found, holders(&whole));
        assert!(found.iter().step_by(2).all(Option::is_some));
        if limits == RemoteLimits::default() {
            assert_eq!((rounds, messages), (1, 4), "six hundred values");
            assert_eq!((holders(&reader), asker.counted()), (found, (0, 0)), "what was answered is kept");
        }
    }
}

#[test]
fn a_value_that_is_placed_is_asked_of_one_partition() {
    let (graph, vertices) = ring(60);
    let value = Value::I64(3);
    let look_up = |placed| {
        let (snapshot, asker) = graph.remote_with(graph.now, RemoteLimits::default(), placed);
        let mut found: Vec<VertexId> = Vec::new();
        RemoteView::new(&snapshot).candidates(AGES, &value, None, 1000, &mut found).unwrap();
        (found, asker.counted().1)
    };
    let mut holders: Vec<_> = vertices.into_iter().filter(|vertex| vertex.0 % 7 == 3).collect();
    holders.sort();
    assert_eq!(look_up(None), (holders.clone(), 4));
    let partition = PartitionId(2);
    let there: Vec<_> =
        holders.into_iter().filter(|vertex| graph.partitions.of_group(vertex.group()) == partition).collect();
    assert_eq!(look_up(Some((value.clone(), partition))), (there, 1));
}

#[test]
fn answers_that_find_nothing_take_no_more_room_than_was_asked_for() {
    let (graph, _) = ring(60);
    let (_, asker) = graph.remote_at(graph.now, RemoteLimits::default());
    let (own, snapshot) = &asker.snapshots[0];
    let question = ViewQuestion::ItemsOfValue { index: AGES, value: Value::I64(99), after: None, limit: 9 };
    let asked = ViewQuestions::encode(40, vec![question; 100].iter());
    let answered = answer_view(snapshot, *own, &asked, 1 << 20, &|| Ok(())).unwrap();
    // The last answer may go beyond it by its count and its flag.
    assert!((40..45).contains(&answered.len()), "{} bytes", answered.len());
}

/// The question, and nothing but it, asked of one partition.
fn answer_of(graph: &SplitGraph, partition: usize, question: ViewQuestion) -> Result<Vec<u8>> {
    let (_, asker) = graph.remote_at(graph.now, RemoteLimits::default());
    let (own, snapshot) = &asker.snapshots[partition];
    let asked = ViewQuestions::encode(1 << 20, [question].iter());
    answer_view(snapshot, *own, &asked, 1 << 20, &|| Ok(()))
}

#[test]
fn a_question_about_another_partition_is_refused() {
    let (graph, _) = ring(24);
    let stranger = VertexId::new(GroupId(1), 0);
    let edge = EdgeId { source: stranger, edge_type: KNOWS, target: HUB, discriminator: 0 };
    let (vertices, edges, groups) = (vec![stranger], vec![edge], vec![stranger.group()]);
    let (edge_type, side, asked) = (KNOWS, Direction::In, NewestEdges::new(stranger, LIKES, SINCE));
    let questions = [
        ViewQuestion::Groups { groups: groups.clone() },
        ViewQuestion::Live { groups },
        ViewQuestion::Labels { vertices: vertices.clone() },
        ViewQuestion::VertexMaps { vertices: vertices.clone(), after: None },
        ViewQuestion::Lists { vertices: vertices.clone(), edge_type, side, after: None, limit: 1 },
        ViewQuestion::Degrees { vertices, edge_type, side },
        ViewQuestion::Edges { edges: edges.clone() },
        ViewQuestion::EdgeValues { edges, key: AGE },
        ViewQuestion::CountsBetween { pairs: vec![(stranger, HUB)], edge_type },
        ViewQuestion::Newest { asked, after: None, limit: 1, keys: vec![] },
    ];
    for question in questions {
        assert!(answer_of(&graph, 1, question.clone()).is_ok());
        let answer = answer_of(&graph, 0, question).map(drop);
        let kind = answer.map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::Invalid), "what is elsewhere is not nowhere");
    }
}

#[test]
fn an_answer_ends_when_its_asker_does_not_wait_any_more() {
    let graph = SplitGraph::random(3, 1);
    let (_, asker) = graph.remote_at(graph.now, RemoteLimits::default());
    let (own, snapshot) = &asker.snapshots[0];
    let vertices: Vec<_> = graph.model.vertices.keys().copied().collect();
    let lists =
        ViewQuestion::Lists { vertices, edge_type: KNOWS, side: Direction::Out, after: None, limit: 100 };
    let scan = ViewQuestion::ItemsOfValue { index: NAMES, value: Value::I64(1), after: None, limit: 9 };
    for (question, looks) in [(lists, 10), (scan, 2)] {
        let asked = ViewQuestions::encode(1 << 20, [question].iter());
        let left = Cell::new(looks);
        let check = || {
            left.set(left.get() - 1);
            if left.get() == 0 { Err(Error::new(ErrorKind::Cancelled, "nobody waits")) } else { Ok(()) }
        };
        let error = answer_view(snapshot, *own, &asked, 1 << 20, &check).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
    let error = answer_view(snapshot, *own, &[7, 7], 1 << 20, &|| Ok(())).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "bytes that are no questions");
}

fn lists_of_a_hub_go_on_behind_their_last_entry() {
    let graph = SplitGraph::random(5, 4);
    let (snapshot, _) = graph.remote_at(graph.now, LIMITS[0]);
    let mut found = Vec::new();
    let list = (KNOWS, Direction::In);
    RemoteView::new(&snapshot).neighbors(HUB, list.0, list.1, None, usize::MAX, &mut found).unwrap();
    let into = graph.model.edges.keys().filter(|edge| edge.target == HUB && edge.edge_type == KNOWS);
    let mut wanted: Vec<_> = into.map(|edge| (edge.source, edge.discriminator)).collect();
    wanted.sort();
    assert!(wanted.len() > 50, "{} edges", wanted.len());
    assert_eq!(found, wanted, "the list of a hub");
}

fn edges_are_asked_for_where_they_start() {
    let (graph, _) = ring(24);
    let (snapshot, _) = graph.remote_at(graph.now, RemoteLimits::default());
    let remote = RemoteView::new(&snapshot);
    let edges: Vec<_> = graph.model.edges.keys().copied().collect();
    let mut found = vec![false; edges.len()];
    let asked = remote.has_edges(&edges, &mut found).map_err(|error| error.to_string());
    assert_eq!(asked, Ok(()), "every edge is asked for");
    assert!(found.iter().all(|found| *found), "every edge is there");
}

#[test]
fn a_list_takes_as_many_pages_as_it_needs() {
    lists_of_a_hub_go_on_behind_their_last_entry();
}

#[test]
fn an_edge_between_partitions_is_found_at_its_source() {
    edges_are_asked_for_where_they_start();
}

#[test]
fn planted_bugs_are_found() {
    assert_found(Bug::PageRepeated, lists_of_a_hub_go_on_behind_their_last_entry, "the list of a hub");
    assert_found(Bug::EdgeAskedOfTarget, edges_are_asked_for_where_they_start, "every edge is asked for");
    let stranger = a_question_about_another_partition_is_refused;
    assert_found(Bug::StrangeGroupAnswered, stranger, "what is elsewhere is not nowhere");
}

#[test]
fn an_unknown_type_or_vertex_yields_nothing() {
    let (graph, _) = ring(24);
    let (snapshot, _) = graph.remote_at(graph.now, RemoteLimits::default());
    let remote = RemoteView::new(&snapshot);
    let stranger = VertexId(u32::MAX);
    let mut list = Vec::new();
    remote.neighbors(stranger, TypeId(9), Direction::Out, None, 10, &mut list).unwrap();
    assert!(list.is_empty() && remote.vertex_property_map(stranger).unwrap().is_empty());
    assert_eq!(remote.edge_types(stranger.group(), Direction::In).unwrap(), []);
    assert_eq!(remote.live(stranger.group()).unwrap(), [0; 64]);
}
