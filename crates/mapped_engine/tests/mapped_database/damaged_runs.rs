//! Damaged runs: what an opening says of records beside bodies that don't verify, and what a salvage makes of the rest.
//!
//! What the log has of the commits that a run held is gone, or is not read any more. So a segment that lost a run is known
//! through the commit before it, but for what newer runs and the log speak of; and of an edge the other side decides.

use crate::stores::{PEOPLE, array_file, damaged_at, go_on, graph, load, loaded, open, salvage};
use crate::support::Graph;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::{Direction, EdgeId, GROUP_SIZE, GroupId, TypeId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView as _;
use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph_mapped_engine::extents::header::HEADER_BYTES;
use evergraph_mapped_engine::files::batch::{ITEM_HEAD_BYTES, item_crc};
use evergraph_mapped_engine::files::run_form::{decode_run, encode_run};
use evergraph_mapped_engine::files::section::{NamedSegment, Section};
use evergraph_mapped_engine::files::segment_id::SegmentId;
use evergraph_mapped_engine::shared_record::SharedRecord;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::open::OpenStore;
use evergraph_storage::record::{Operation, Stamp};
use evergraph_storage::salvage::loss::{LossKind, ids};
use evergraph_storage::salvage::salvaged::Salvaged;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

const FIRST_GROUP: GroupId = GroupId(0);
const KNOWS: TypeId = TypeId(0);

/// The lists of one side of the first group.
fn lists(side: Direction) -> SegmentId {
    SegmentId::edges(FIRST_GROUP, KNOWS, side)
}

fn checkpoint(store: &OpenStore<MappedEngine>) {
    store.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
}

/// What the manifest says of a segment, and where its runs lie: the file, and a byte of each run.
fn stored(directory: &MemoryDirectory, id: SegmentId) -> (NamedSegment, Vec<(u64, u64)>) {
    let manifest = Manifest::read(directory, MappedEngine::opens).unwrap();
    let section = Section::of(directory, &manifest).unwrap();
    let segment = section.segments.iter().find(|segment| segment.id == id).unwrap().clone();
    let places = segment.runs.iter().map(|run| {
        let place = section.batches[run.batch].place;
        (place.file, place.offset + HEADER_BYTES as u64 + run.range.offset + ITEM_HEAD_BYTES)
    });
    let places = places.collect();
    (segment, places)
}

/// A copy of a closed database in which the first run of a segment is damaged.
fn with_damaged_run(directory: &MemoryDirectory, id: SegmentId) -> MemoryDirectory {
    let (_, places) = stored(directory, id);
    damaged_at(directory, places[0].0, places[0].1)
}

/// The same with its body.
fn with_damaged_body(directory: &MemoryDirectory, id: SegmentId) -> MemoryDirectory {
    let place = stored(directory, id).0.body.unwrap();
    damaged_at(directory, place.file, place.offset + 90)
}

/// A copy of a closed database in which `change` was made to the first record of a run of a segment: the run has the checksum of
/// what it says, as if a program had written it.
fn with_other_record(
    directory: &MemoryDirectory,
    (id, run): (SegmentId, usize),
    change: impl FnOnce(&mut SharedRecord),
) -> MemoryDirectory {
    let manifest = Manifest::read(directory, MappedEngine::opens).unwrap();
    let section = Section::of(directory, &manifest).unwrap();
    let segment = section.segments.iter().find(|segment| segment.id == id).unwrap();
    let range = segment.runs[run].range;
    let batch = section.batches[segment.runs[run].batch];
    let from = batch.place.offset + HEADER_BYTES as u64 + range.offset;
    let changed = directory.power_cut();
    let file = changed.open(&array_file(batch.place.file), OpenMode::ReadWrite).unwrap();
    let (mut head, mut bytes) = ([0; ITEM_HEAD_BYTES as usize], vec![0; range.bytes as usize]);
    file.read_at(&mut head, from).unwrap();
    file.read_at(&mut bytes, from + ITEM_HEAD_BYTES).unwrap();
    let mut records = decode_run(&bytes).unwrap();
    change(&mut records[0]);
    let bytes = encode_run(&records).unwrap();
    assert_eq!(bytes.len() as u64, range.bytes);
    let crc = item_crc(batch.base, range.offset, &head, &bytes);
    head[12..].copy_from_slice(&crc.to_le_bytes());
    file.write_at(&head, from).unwrap();
    file.write_at(&bytes, from + ITEM_HEAD_BYTES).unwrap();
    file.sync_data().unwrap();
    changed
}

/// A commit that sets a property of one edge of the ring, from person 21.
fn set_since(store: &OpenStore<MappedEngine>, since: i64) {
    let made = store.store().transact(|tx| {
        let (edge_type, key) = (tx.edge_type("KNOWS")?, tx.key("since")?);
        let (source, target) = (VertexId(21), VertexId(22));
        let edge = EdgeId { source, edge_type, target, discriminator: 0 };
        tx.set_edge_property(edge, key, Some(Value::I64(since)))
    });
    made.unwrap();
}

/// A commit that gives people other numbers.
fn renumber(store: &OpenStore<MappedEngine>, people: &[(u32, i64)]) {
    let made = store.store().transact(|tx| {
        let key = tx.key("id")?;
        for (person, number) in people {
            tx.set_vertex_property(VertexId(*person), key, Some(Value::I64(*number)))?;
        }
        Ok(())
    });
    made.unwrap();
}

/// A commit about people from `first` on: it adds an edge, deletes another one, and changes a third one.
fn change_edges(store: &OpenStore<MappedEngine>, first: u32) {
    let made = store.store().transact(|tx| {
        let (edge_type, key) = (tx.edge_type("KNOWS")?, tx.key("since")?);
        let of_ring = |from: u32| EdgeId {
            source: VertexId(from),
            edge_type,
            target: VertexId(from + 1),
            discriminator: 0,
        };
        tx.add_edge(VertexId(first), edge_type, VertexId(first + 5), &[(key, Value::I64(-1))])?;
        tx.delete_edge(of_ring(first + 10))?;
        tx.set_edge_property(of_ring(first + 20), key, Some(Value::I64(-2)))
    });
    made.unwrap();
}

/// What a salvage saved, after it was checked.
fn saved(damaged: &MemoryDirectory) -> (Salvaged, Graph) {
    let (made, saved) = salvage(damaged);
    assert!(saved.check(&mut go_on).unwrap().is_healthy());
    let graph = graph(&saved);
    (made, graph)
}

/// Kind, side, and first and last commit.
type MissingPart = (LossKind, Option<Direction>, Option<(Timestamp, Option<Timestamp>)>);

/// What is missing.
fn missing(made: &Salvaged) -> Vec<MissingPart> {
    let missing = made.losses.iter().filter(|loss| loss.is_missing());
    missing.map(|loss| (loss.kind, loss.side, loss.commits)).collect()
}

#[test]
fn a_damaged_run_is_named_by_an_opening_and_its_records_are_the_loss_of_a_salvage() {
    let directory = MemoryDirectory::new("db");
    let store = loaded(&directory);
    let before = graph(&store);
    // In two runs of one batch, of two groups; then in the log alone.
    renumber(&store, &[(1, -1), (GROUP_SIZE + 1, -2)]);
    checkpoint(&store);
    let covered = store.store().timeline().published();
    renumber(&store, &[(2, -3)]);
    let (after, last) = (graph(&store), store.store().timeline().published());
    store.close().unwrap();
    drop(store);
    let id = SegmentId::vertices(FIRST_GROUP);
    let (segment, places) = stored(&directory, id);
    assert_eq!(places.len(), 1, "{segment:?}");
    let damaged = with_damaged_run(&directory, id);

    let error = open(&damaged).err().expect("an opening reads every run");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    let (name, text) = (array_file(places[0].0), error.to_string());
    assert!(text.contains(&format!("db/{name}")) && text.contains("the vertices of group 0"), "{text}");

    let (made, found) = saved(&damaged);
    let [loss] = &made.losses[..] else { panic!("{:?}", made.losses) };
    let commits = Some((segment.base.next(), Some(covered)));
    assert_eq!((loss.kind, loss.commits), (LossKind::Vertices, commits), "{loss:?}");
    assert_eq!(loss.vertices, Some(ids(FIRST_GROUP, GROUP_SIZE as u16)), "{loss:?}");
    assert!(loss.file.as_ref().is_some_and(|file| file.ends_with(&name)), "{loss:?}");
    assert!(loss.problem.contains("records of the vertices of group 0"), "{loss:?}");
    assert_eq!((made.through, made.mixed_through), (segment.base, Some(last)));
    // The other run and the log are there; of the lost records what was there before.
    let mut expected = after;
    expected.vertices.insert(1, before.vertices[&1].clone());
    assert!(found == expected, "something else is saved");
}

/// Both sides seemed to be known through the log: an edge that one of them has was dropped as one whose sides contradict each
/// other, and properties from before were nobody's loss.
#[test]
fn what_a_damaged_run_did_to_edges_is_taken_from_the_other_side() {
    let directory = MemoryDirectory::new("db");
    let store = loaded(&directory);
    let before = graph(&store);
    change_edges(&store, 1);
    checkpoint(&store);
    let covered = store.store().timeline().published();
    change_edges(&store, 101);
    let (after, last) = (graph(&store), store.store().timeline().published());
    store.close().unwrap();
    drop(store);
    let (inserted, deleted, changed) = ((1, 0, 6, 0), (11, 0, 12, 0), (21, 0, 22, 0));
    let base = stored(&directory, lists(Direction::Out)).0.base;
    assert!(after.edges.contains_key(&inserted) && !after.edges.contains_key(&deleted));
    assert!(after.edges[&changed] != before.edges[&changed]);
    let commits = Some((base.next(), Some(covered)));
    let out = Some(Direction::Out);

    // The in side has no properties: nothing is missing.
    let (made, found) = saved(&with_damaged_run(&directory, lists(Direction::In)));
    assert!(made.is_complete() && made.losses.len() == 1, "{:?}", made.losses);
    assert_eq!((made.through, made.mixed_through), (last, None));
    assert!(found == after, "something else is saved");

    // What was inserted and deleted comes from the in side; properties are missing, or as they were.
    let without_out = with_damaged_run(&directory, lists(Direction::Out));
    let (made, found) = saved(&without_out);
    let of_properties = |commits| (LossKind::EdgeProperty, out, commits);
    let of_edges = (LossKind::Edges, out, commits);
    assert_eq!(missing(&made), [of_properties(commits), of_properties(None)], "{:?}", made.losses);
    assert_eq!(made.losses[1].count_max, Some(1), "{:?}", made.losses);
    assert_eq!((made.through, made.mixed_through), (base, Some(last)));
    let mut expected = after.clone();
    expected.edges.insert(inserted, BTreeMap::new());
    expected.edges.insert(changed, before.edges[&changed].clone());
    assert!(found == expected, "something else is saved");

    // Nobody knows: edges are as they were, and that is listed.
    let (made, found) = saved(&with_damaged_run(&without_out, lists(Direction::In)));
    assert_eq!(missing(&made), [of_edges, of_properties(commits)], "{:?}", made.losses);
    assert_eq!(made.losses[0].others, [ids(FIRST_GROUP, GROUP_SIZE as u16)], "{:?}", made.losses);
    assert_eq!((made.through, made.mixed_through), (base, Some(last)));
    let mut expected = after;
    expected.edges.remove(&inserted);
    for edge in [deleted, changed] {
        expected.edges.insert(edge, before.edges[&edge].clone());
    }
    assert!(found == expected, "something else is saved");
}

/// Runs beside a damaged body were dropped, although they verify: edges came back without properties that there were, and
/// vertices not at all.
#[test]
fn runs_beside_a_damaged_body_are_saved() {
    let directory = MemoryDirectory::new("db");
    // Opened again, the database goes on in the last group of the load.
    loaded(&directory).close().unwrap();
    let store = open(&directory).unwrap();
    let before = graph(&store);
    change_edges(&store, 1);
    let added = store.store().transact(|tx| {
        let (label, edge_type, key) = (tx.label("Person")?, tx.edge_type("KNOWS")?, tx.key("id")?);
        // One that the body has, of which nobody knows the rest.
        tx.set_vertex_property(VertexId(2 * GROUP_SIZE), key, Some(Value::I64(-1)))?;
        let added = tx.add_vertex(label, &[(key, Value::I64(-2))])?;
        tx.add_edge(added, edge_type, VertexId(5), &[])?;
        Ok(added)
    });
    let added = added.unwrap();
    checkpoint(&store);
    let after = graph(&store);
    store.close().unwrap();
    drop(store);
    assert_eq!(added, VertexId(PEOPLE));

    // The out side of the first group, whose run says what was changed, with and without the run of the in side.
    let mut expected = after.clone();
    for (edge, properties) in &mut expected.edges {
        let is_unchanged = before.edges.get(edge).is_some_and(|known| known == properties);
        if VertexId(edge.0).group() == FIRST_GROUP && is_unchanged {
            properties.clear();
        }
    }
    let without_out = with_damaged_body(&directory, lists(Direction::Out));
    let (made, found) = saved(&without_out);
    let of_properties = (LossKind::EdgeProperty, Some(Direction::Out), None);
    assert_eq!(missing(&made), [of_properties], "{:?}", made.losses);
    assert!(found == expected, "something else is saved");
    let (made, found) = saved(&with_damaged_run(&without_out, lists(Direction::In)));
    let of_edges = (LossKind::Edges, Some(Direction::Out), None);
    assert_eq!(missing(&made), [of_edges, of_properties], "{:?}", made.losses);
    assert!(found == expected, "something else is saved");

    // The last group's vertices: only the one that the run has is whole.
    let group = added.group();
    let (made, found) = saved(&with_damaged_body(&directory, SegmentId::vertices(group)));
    let mut expected = after;
    expected.vertices.retain(|vertex, _| VertexId(*vertex).group() != group || *vertex == added.0);
    let Graph { vertices, edges } = &mut expected;
    edges.retain(|edge, _| vertices.contains_key(&edge.0) && vertices.contains_key(&edge.2));
    assert!(found == expected, "something else is saved");
    let of_vertices = made.losses.iter().filter(|loss| loss.kind == LossKind::Vertices);
    let counts: Vec<Option<u64>> = of_vertices.map(|loss| loss.count_max).collect();
    assert_eq!(counts, [Some(u64::from(PEOPLE - group.first().0))], "{:?}", made.losses);
}

#[test]
fn runs_behind_a_damaged_one_are_saved() {
    let directory = MemoryDirectory::new("db");
    let store = loaded(&directory);
    let before = graph(&store);
    renumber(&store, &[(1, -1), (2, -2)]);
    let first = store.store().timeline().published();
    checkpoint(&store);
    renumber(&store, &[(2, -3), (3, -4)]);
    checkpoint(&store);
    let after = graph(&store);
    store.close().unwrap();
    drop(store);
    let id = SegmentId::vertices(FIRST_GROUP);
    let (segment, places) = stored(&directory, id);
    assert_eq!(places.len(), 2, "{segment:?}");
    let (made, found) = saved(&with_damaged_run(&directory, id));
    let commits = Some((segment.base.next(), Some(first)));
    assert_eq!(missing(&made), [(LossKind::Vertices, None, commits)], "{:?}", made.losses);
    let mut expected = after;
    expected.vertices.insert(1, before.vertices[&1].clone());
    assert!(found == expected, "something else is saved");
}

/// Merging what the two runs say of the edge was a panic, of whoever opened the database and of a salvage.
#[test]
fn a_run_that_does_not_follow_from_the_one_before_it_is_named_and_is_the_loss_of_a_salvage() {
    let directory = MemoryDirectory::new("db");
    let store = loaded(&directory);
    set_since(&store, -1);
    checkpoint(&store);
    set_since(&store, -2);
    checkpoint(&store);
    let after = graph(&store);
    store.close().unwrap();
    drop(store);
    let id = lists(Direction::Out);
    let (segment, places) = stored(&directory, id);
    assert_eq!(places.len(), 2, "{segment:?}");
    let damaged = with_other_record(&directory, (id, 0), |record| {
        record.stamp = Stamp::new(record.stamp.timestamp(), Operation::Delete);
    });

    let error = open(&damaged).err().expect("an opening reads every run");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    let (name, text) = (array_file(places[1].0), error.to_string());
    assert!(text.contains(&format!("db/{name}")) && text.contains("Set follows Delete"), "{text}");

    let (made, found) = saved(&damaged);
    assert!(!made.is_complete(), "{:?}", made.losses);
    // The in side has the edge; its properties are what the first run deleted.
    let mut expected = after;
    expected.edges.insert((21, 0, 22, 0), BTreeMap::new());
    assert!(found == expected, "something else is saved");
}

/// It was a panic of the thread that merges, and of a salvage.
#[test]
fn a_change_of_an_edge_that_the_body_does_not_have_is_an_error_of_its_merge_and_the_loss_of_a_salvage() {
    let directory = MemoryDirectory::new("db");
    let store = loaded(&directory);
    let before = graph(&store);
    set_since(&store, -1);
    checkpoint(&store);
    store.close().unwrap();
    drop(store);
    // A parallel edge that nobody added.
    let damaged = with_other_record(&directory, (lists(Direction::Out), 0), |record| record.key.0 += 5);

    let (made, found) = saved(&damaged);
    assert!(made.losses.iter().any(|loss| loss.kind == LossKind::Edges), "{:?}", made.losses);
    assert!(found == before, "something else is saved");

    let store = open(&damaged).unwrap();
    let error = store.store().engine().graph().merge_everything().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains("an edge from row 21 to v22, which is not there"), "{error}");
}

/// Such a run takes an edge off the number of edges and none off the lists. A transaction that deleted all it found panicked.
#[test]
fn a_number_of_edges_that_contradicts_the_list_is_an_error_of_a_transaction() {
    let directory = MemoryDirectory::new("db");
    let store = loaded(&directory);
    set_since(&store, -1);
    checkpoint(&store);
    store.close().unwrap();
    drop(store);
    let damaged = with_other_record(&directory, (lists(Direction::Out), 0), |record| {
        record.key.0 += 5;
        record.stamp = Stamp::new(record.stamp.timestamp(), Operation::Delete);
    });
    let store = open(&damaged).unwrap();
    let mut tx = store.store().begin();
    let (source, target) = (VertexId(21), VertexId(22));
    tx.delete_edge(EdgeId { source, edge_type: KNOWS, target, discriminator: 0 }).unwrap();
    let error = tx.degrees(&[source], None, Direction::Out, &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    let error = tx.count_edges_between(&[(source, target)], KNOWS, &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

/// One person's number went to another one in a commit that one group lost: it was there twice, in a unique index.
#[test]
fn a_unique_index_that_a_damaged_run_breaks_is_left_out() {
    let directory = MemoryDirectory::new("db");
    let store = open(&directory).unwrap();
    let mut people = load();
    people.vertices[0].unique_key = Some("id".to_owned());
    let made = store.load_within(u64::MAX, &people, &mut |_| Ok(()), &mut |_| ControlFlow::Continue(()));
    made.unwrap();
    let before = graph(&store);
    renumber(&store, &[(1, -1)]);
    renumber(&store, &[(GROUP_SIZE + 1, 1)]);
    checkpoint(&store);
    let after = graph(&store);
    store.close().unwrap();
    drop(store);
    let (made, found) = saved(&with_damaged_run(&directory, SegmentId::vertices(FIRST_GROUP)));
    let kinds: Vec<LossKind> = made.losses.iter().map(|loss| loss.kind).collect();
    assert_eq!(kinds, [LossKind::Vertices, LossKind::Index], "{:?}", made.losses);
    let mut expected = after;
    expected.vertices.insert(1, before.vertices[&1].clone());
    assert!(found == expected, "something else is saved");
}
