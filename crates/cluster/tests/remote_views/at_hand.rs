//! At hand: partitions that the reader's node keeps are read where they lie, and show what messages show.

use crate::failing_view::FailingView;
use crate::same_answers::ViewComparison;
use crate::split_graph::{
    AtHand, DirectAsker, HUB, KNOWS, NAME, NAMES, PERSON, SplitGraph, TEXT, assert_found,
};
use crate::{LIMITS, compare_readers, ring};
use evergraph_cluster::engine::pin_waits::{LimitedAsker, PinWaits};
use evergraph_cluster::planted::Bug;
use evergraph_cluster::remote::remote_snapshot::{RemoteLimits, RemoteSnapshot};
use evergraph_cluster::remote::remote_view::RemoteView;
use evergraph_cluster::remote::view_answer::ViewAnswer;
use evergraph_cluster::remote::view_asking::{PartitionAsker, ask_all_beside};
use evergraph_cluster::remote::view_question::ViewQuestion;
use evergraph_cluster::seeded::SeededChance;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, GroupId, PartitionId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::owner::Owner;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::value::Value;
use evergraph_graph::wait_limit::WaitLimit;
use evergraph_storage::index::entry_bound::EntryBound;
use evergraph_storage::io::clock::{Clock, SystemClock};
use evergraph_storage::snapshot::index_entries::CheckTime;
use evergraph_storage::transaction::deadline::Deadline;
use evergraph_storage::view::View as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// All of so many, or every second one; a single one always.
fn kept_by_seed(seed: u64, partitions: u16) -> AtHand {
    let is_kept = |partition: &u16| match seed % 3 {
        _ if partitions == 1 => true,
        0 => true,
        1 => !partition.is_multiple_of(2),
        _ => partition.is_multiple_of(2),
    };
    let partitions = (0..partitions).filter(is_kept).map(PartitionId).collect();
    AtHand { partitions, failing: None }
}

/// Compares everything. Who was asked by messages.
fn compare(graph: &SplitGraph, limits: RemoteLimits, seed: u64, at_hand: AtHand) -> Arc<DirectAsker> {
    let (snapshot, asker) = graph.remote_beside(graph.now, limits, at_hand);
    let whole = graph.whole_at(graph.now);
    let (remote, chance) = (RemoteView::new(&snapshot), SeededChance::new(seed));
    let announces = seed.is_multiple_of(2);
    ViewComparison { graph, model: &graph.model, remote, whole: whole.view(), chance, announces }.run();
    asker
}

#[test]
fn partitions_at_hand_show_what_messages_show_beside_others_that_are_asked() {
    for seed in 0..9 {
        let partitions = [1, 3, 4][seed as usize / 3];
        let graph = SplitGraph::random(seed, partitions);
        for (at, limits) in LIMITS.into_iter().enumerate() {
            compare(&graph, limits, seed + at as u64, kept_by_seed(seed, partitions));
            let (snapshot, _) = graph.remote_beside(graph.now, limits, kept_by_seed(seed, partitions));
            compare_readers(&graph, &snapshot);
        }
    }
}

#[test]
fn a_partition_whose_store_fails_is_asked_by_messages() {
    let ways = [FailingView::ByError, FailingView::ByPanic, FailingView::ByNothing];
    for (seed, failing) in (0..).zip(ways) {
        let graph = SplitGraph::random(seed, 3);
        // Where all are at hand, messages are sent for what their stores were asked, and did not answer.
        for kept_by in [0, 1, 2] {
            let at_hand = AtHand { failing: Some(failing.clone()), ..kept_by_seed(kept_by, 3) };
            let asker = compare(&graph, LIMITS[1], seed, at_hand);
            let (looks, (_, messages)) = (asker.looks(), asker.counted());
            assert!(looks > 0 && messages > 0, "{looks} looks at hand, {messages} messages");
        }
    }
}

fn failing(graph: &SplitGraph, way: FailingView) -> Arc<DirectAsker> {
    failing_of(graph, way, 0)
}

/// The same of the partitions of a seed: messages go to the others.
fn failing_of(graph: &SplitGraph, way: FailingView, seed: u64) -> Arc<DirectAsker> {
    let at_hand = AtHand { failing: Some(way), ..kept_by_seed(seed, graph.partitions.get()) };
    graph.remote_beside(graph.now, RemoteLimits::default(), at_hand).1
}

fn look_up(graph: &SplitGraph, asker: Arc<dyn PartitionAsker>) -> Result<()> {
    let snapshot = RemoteSnapshot::new(graph.now, graph.map_with(None), asker, RemoteLimits::default());
    let mut found = Vec::<VertexId>::new();
    RemoteView::new(&snapshot).candidates(NAMES, &Value::from("name 1"), None, 9, &mut found).map(drop)
}

#[test]
fn a_scan_at_hand_ends_at_the_deadline_of_its_transaction() {
    let (graph, clock) = (SplitGraph::new(3), Arc::new(SystemClock::new()) as Arc<dyn Clock>);
    // Alone, and beside messages.
    for (seed, messages) in [(0, 0), (1, 2)] {
        let (asker, waits) = (failing_of(&graph, FailingView::Endless, seed), Arc::new(PinWaits::default()));
        waits.end_with(&Deadline::after(&clock, Duration::from_millis(20), Duration::from_secs(60)));
        let limited = LimitedAsker::new(Arc::<DirectAsker>::clone(&asker), waits);
        let late = look_up(&graph, Arc::new(limited)).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::Limit);
        assert!(late.to_string().contains("its timeout is 20ms"), "{late}");
        assert_eq!(asker.counted().1, messages, "{messages} messages are due");
    }
}

#[test]
fn a_reader_of_many_indexes_at_hand_looks_at_its_limit_now_and_then() {
    let (graph, reader, questions) = (SplitGraph::new(200), CancelFlag::default(), Arc::default());
    let asker = failing(&graph, FailingView::Cancelling(reader.clone(), Arc::clone(&questions)));
    let _limit = WaitLimit::default().and(reader).enter();
    assert_eq!(look_up(&graph, asker).unwrap_err().kind(), ErrorKind::Cancelled);
    let read = questions.load(Ordering::Relaxed);
    assert!((1..100).contains(&read), "{read} questions were answered");
}

fn a_scan_ends_with_its_reader() {
    let (graph, reader, looks) = (SplitGraph::new(1), CancelFlag::default(), Arc::default());
    let asker = failing(&graph, FailingView::CancellingScan(reader.clone(), Arc::clone(&looks)));
    let _limit = WaitLimit::default().and(reader).enter();
    let ended = look_up(&graph, asker);
    assert_eq!(looks.load(Ordering::Relaxed), 2, "groups are scanned for nobody");
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn a_scan_at_hand_ends_at_the_next_group_when_its_reader_is_cancelled() {
    a_scan_ends_with_its_reader();
}

const LONG_VALUE_BYTES: usize = 64 << 10;

/// Texts of a property without a length limit.
const TEXTS: IndexId = IndexId { owner: Owner::Label(PERSON), key: TEXT, kind: IndexKind::Ordered };

/// Vertices with long texts, whose index serves, or whose partition is scanned.
fn graph_of_long_values(vertices: u16, is_indexed: bool) -> SplitGraph {
    let mut graph = SplitGraph::new(2);
    if is_indexed {
        let index = IndexDefinition { id: TEXTS, unique: false };
        graph.install(&[Mutation::Schema(SchemaChange::AddIndex(index))]);
        graph.fill_indexes();
    }
    let insert = |number: u16| Mutation::InsertVertex {
        vertex: VertexId::new(GroupId(0), number),
        label: PERSON,
        properties: Properties::new(vec![(TEXT, Some(long_value(number)))]),
    };
    graph.install(&(0..vertices).map(insert).collect::<Vec<_>>());
    graph
}

fn long_value(number: u16) -> Value {
    Value::from(format!("{number:04}{}", "x".repeat(LONG_VALUE_BYTES)))
}

/// As many long values as are wanted, page by page, none of which takes much more bytes than an answer of the partition may.
fn pages_of_long_values_are_short() {
    const VERTICES: u16 = 40;
    for is_indexed in [true, false] {
        let graph = graph_of_long_values(VERTICES, is_indexed);
        let limits = RemoteLimits { answer_bytes_max: 5 * LONG_VALUE_BYTES, ..RemoteLimits::default() };
        let (snapshot, asker) = graph.remote_beside(graph.now, limits, kept_by_seed(0, 2));
        let page = |after: EntryBound<ItemId>, descending: bool, bytes_max: usize| {
            let (until, limit) =
                (if descending { EntryBound::Start } else { EntryBound::End }, 1 + u32::from(VERTICES));
            let question = ViewQuestion::PairsBetween { index: TEXTS, after, until, descending, limit };
            let view = asker.own_view(PartitionId(0)).unwrap();
            match view.of_index(&question, bytes_max, &|| Ok(())).unwrap() {
                Some(ViewAnswer::Pairs(page)) => page,
                other => panic!("pairs are asked for, and what comes is {other:?}"),
            }
        };
        let (mut counts, mut after, mut is_last) = (Vec::new(), EntryBound::Start, false);
        while !is_last {
            let page = page(after, false, limits.answer_bytes_max);
            let (value, item) = page.entries.last().unwrap();
            after = EntryBound::At(value.clone(), Some(*item));
            counts.push(page.entries.len());
            is_last = page.is_last;
        }
        assert_eq!(counts, [4; 10], "whole values come at once, however long they are");
        let long = page(EntryBound::End, true, 100);
        assert_eq!((long.entries.len(), long.is_last), (1, false), "one that is longer than all may be");
        let mut found = Vec::<(Value, VertexId)>::new();
        let places = (&EntryBound::End, &EntryBound::Start);
        RemoteView::new(&snapshot).between(TEXTS, places, true, 30, &mut found).unwrap();
        let numbers = (10..VERTICES).rev();
        let expected = numbers.map(|number| (long_value(number), VertexId::new(GroupId(0), number)));
        assert!(found.into_iter().eq(expected), "the pages put together are others");
        assert_eq!(asker.counted(), (0, 0), "somebody is asked");
    }
}

#[test]
fn pages_of_indexes_at_hand_take_no_more_bytes_than_answers() {
    pages_of_long_values_are_short();
}

#[test]
fn own_work_is_done_once_beside_the_first_messages_and_without_any() {
    let (graph, mut vertices) = ring(600);
    let asker = graph.asker_at(graph.now);
    let of_first = |vertex: &VertexId| graph.partitions.of_group(vertex.group()) == PartitionId(0);
    vertices.retain(of_first);
    vertices.sort_unstable();
    let labels = vec![(PartitionId(0), ViewQuestion::Labels { vertices })];
    let mut rounds = Vec::new();
    let mut own_work = |_: CheckTime<'_>| {
        rounds.push(asker.counted().0);
        Ok(())
    };
    ask_all_beside(&asker, 100, labels, &mut own_work).unwrap();
    ask_all_beside(&asker, 100, Vec::new(), &mut own_work).unwrap();
    assert!(rounds.len() == 2 && rounds[0] == 1, "{rounds:?}");
    assert!(rounds[1] > 0, "all was answered by one message, and nobody sees what comes with the next");
    let mut fails = |_: CheckTime<'_>| Err(Error::new(ErrorKind::Cancelled, "on purpose"));
    assert!(ask_all_beside(&asker, 100, Vec::new(), &mut fails).is_err());
}

#[test]
fn each_partition_is_looked_for_once_to_announce_many_items() {
    let (graph, vertices) = ring(600);
    let (snapshot, asker) = graph.remote_beside(graph.now, RemoteLimits::default(), kept_by_seed(1, 4));
    RemoteView::new(&snapshot).ahead(NextReads::Labels(&vertices));
    assert_eq!(asker.looks(), 4);
}

type GroupRead = dyn Fn(RemoteView<'_>, GroupId) -> Result<()>;

/// Each time about twice as many, as if there were no others.
#[test]
fn scans_ask_about_groups_elsewhere_alone() {
    let (graph, _) = ring(600);
    let groups: Vec<GroupId> = graph.labels.keys().copied().collect();
    let elsewhere = groups.iter().filter(|group| graph.partitions.of_group(**group).0.is_multiple_of(2));
    assert!(groups.len() == 12 && elsewhere.count() == 6);
    let rows = |view: RemoteView<'_>, group| view.live(group).map(drop);
    let types = |view: RemoteView<'_>, group| view.edge_types(group, Direction::Out).map(drop);
    let reads: [&GroupRead; 2] = [&rows, &types];
    for read in reads {
        let (snapshot, asker) = graph.remote_beside(graph.now, RemoteLimits::default(), kept_by_seed(1, 4));
        groups.iter().for_each(|group| read(RemoteView::new(&snapshot), *group).unwrap());
        let (asked, rounds) = (asker.asked_partitions(), asker.counted().0);
        assert_eq!(rounds, 3, "one group, two, and the others");
        assert!(
            !asked.is_empty() && asked.iter().all(|partition| partition.0.is_multiple_of(2)),
            "{asked:?}"
        );
    }
}

#[test]
fn nothing_is_asked_about_partitions_at_hand() {
    let (graph, vertices) = ring(600);
    let (snapshot, asker) = graph.remote_beside(graph.now, RemoteLimits::default(), kept_by_seed(0, 4));
    let view = RemoteView::new(&snapshot);
    view.ahead(NextReads::Labels(&vertices));
    view.ahead(NextReads::EdgesOf(&vertices, Direction::Both));
    let mut labels = vec![None; vertices.len()];
    view.labels(&vertices, &mut labels).unwrap();
    let (mut values, mut list, mut found) = (Vec::new(), Vec::new(), Vec::<VertexId>::new());
    view.vertex_properties(&vertices, NAME, &mut values).unwrap();
    for vertex in &vertices {
        view.neighbors(*vertex, KNOWS, Direction::Out, None, usize::MAX, &mut list).unwrap();
        view.edge_types(vertex.group(), Direction::In).unwrap();
        view.group_edge_count(vertex.group(), KNOWS).unwrap();
        view.live(vertex.group()).unwrap();
        view.vertex_property_map(*vertex).unwrap();
    }
    assert_eq!((labels.iter().flatten().count(), list.len()), (600, 1200));
    let edge = |target| EdgeId { source: HUB, edge_type: KNOWS, target, discriminator: 0 };
    let edges: Vec<_> = vertices.iter().copied().map(edge).collect();
    view.has_edges(&edges, &mut vec![false; edges.len()]).unwrap();
    view.candidates(NAMES, &Value::from("name 1"), None, 9, &mut found).unwrap();
    assert_eq!(asker.counted(), (0, 0), "somebody is asked");
    // Half of them: the others alone.
    let (snapshot, asker) = graph.remote_beside(graph.now, RemoteLimits::default(), kept_by_seed(1, 4));
    let view = RemoteView::new(&snapshot);
    view.ahead(NextReads::VertexProperties(&vertices, NAME));
    view.ahead(NextReads::Labels(&vertices));
    view.labels(&vertices, &mut labels).unwrap();
    assert_eq!(asker.counted(), (1, 2));
    let asked = asker.asked_partitions();
    assert!(asked.iter().all(|partition| partition.0.is_multiple_of(2)), "{asked:?}");
}

#[test]
fn planted_bugs_are_found() {
    let unbounded = "whole values come at once";
    assert_found(Bug::OwnPagesUnbounded, pages_of_long_values_are_short, unbounded);
    assert_found(Bug::OwnScanUnlooked, a_scan_ends_with_its_reader, "groups are scanned for nobody");
}
