//! Indexes as segments: look-ups say what a scan says, to every snapshot that is held, beside commits, merges, checkpoints and
//! power cuts; an opening builds nothing and reads no property; damage is found.

use crate::stores::open;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::{IndexId, IndexKind, IndexStatistics};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::look_up::{MatchCursor, Matches, OrderedMatches, RangeCursor, ValueRange};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::{EdgeCursor, GraphView, VertexCursor};
use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph_mapped_engine::entries::entry::EntryForm;
use evergraph_mapped_engine::files::section::{NamedIndexes, NamedSegment, Section};
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::engine::Engine;
use evergraph_storage::index::changes::{IndexChanges, KeptEntry};
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::{Random, SplitMix64};
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::snapshot::handle::Snapshot;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

pub type Opened = OpenStore<MappedEngine>;

pub const AGE: IndexRequest<'static> =
    IndexRequest { owner: OwnerName::Label("Person"), key: "age", kind: IndexKind::Ordered, unique: false };
pub const NAME: IndexRequest<'static> =
    IndexRequest { owner: OwnerName::Label("Person"), key: "name", kind: IndexKind::Hash, unique: false };
const TITLE: IndexRequest<'static> =
    IndexRequest { owner: OwnerName::Label("Person"), key: "name", kind: IndexKind::Ordered, unique: false };
pub const WEIGHT: IndexRequest<'static> =
    IndexRequest { owner: OwnerName::EdgeType("KNOWS"), key: "weight", kind: IndexKind::Hash, unique: false };
const ALL: [IndexRequest<'static>; 4] = [AGE, NAME, TITLE, WEIGHT];

fn go_on(_: &str, _: u64, _: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

pub fn checkpoint(store: &Opened) {
    store.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
}

pub fn create(store: &Opened, request: &IndexRequest<'_>) {
    store.store().create_index(request, &mut |_| Ok(())).unwrap();
}

/// Texts that begin alike, some of them too long to be stored whole.
fn name(random: &mut SplitMix64) -> Value {
    match random.next_u64() % 5 {
        0 => Value::from(format!("{}{}", "x".repeat(70), random.next_u64() % 3)),
        number => Value::from(format!("customer {number}")),
    }
}

/// Commits a change of one or two people, or of an edge.
fn commit(store: &Opened, random: &mut SplitMix64) {
    let committed = store.store().transact(|tx| {
        let (label, edge_type) = (tx.label("Person")?, tx.edge_type("KNOWS")?);
        let (age, title, weight) = (tx.key("age")?, tx.key("name")?, tx.key("weight")?);
        let (mut people, mut cursor) = (Vec::new(), VertexCursor::default());
        tx.scan_vertices(Some(&[label]), &mut cursor, usize::MAX, &mut people)?;
        let any = |random: &mut SplitMix64| people.get((random.next_u64() % 40) as usize).copied();
        match random.next_u64() % 8 {
            0..=2 => {
                let aged = (age, Value::I64((random.next_u64() % 300) as i64 - 100));
                let person = tx.add_vertex(label, &[aged, (title, name(random))])?;
                if let Some(other) = any(random) {
                    tx.add_edge(person, edge_type, other, &[(weight, Value::I64(1))])?;
                }
            }
            3 => {
                if let Some(person) = any(random).filter(|_| people.len() > 6) {
                    tx.delete_vertex(person)?;
                }
            }
            4 => {
                let (mut edges, mut cursor) = (Vec::new(), EdgeCursor::default());
                tx.scan_edges(Some(&[edge_type]), &mut cursor, usize::MAX, &mut edges)?;
                if let Some(edge) = edges.get((random.next_u64() % 20) as usize) {
                    let heavier =
                        (random.next_u64() % 4).checked_sub(1).map(|weight| Value::I64(weight as i64));
                    tx.set_edge_property(*edge, weight, heavier)?;
                }
            }
            _ => {
                if let Some(person) = any(random) {
                    let aged = (random.next_u64() % 5).checked_sub(1).map(|age| Value::I64(age as i64));
                    tx.set_vertex_property(person, age, aged)?;
                    tx.set_vertex_property(person, title, Some(name(random)))?;
                }
            }
        }
        Ok(())
    });
    committed.unwrap();
}

fn scanned_people(view: &impl GraphView, key: KeyId) -> Vec<(Value, VertexId)> {
    let Some(label) = view.catalogue().label("Person") else { return Vec::new() };
    let (mut people, mut cursor) = (Vec::new(), VertexCursor::default());
    view.scan_vertices(Some(&[label]), &mut cursor, usize::MAX, &mut people).unwrap();
    let mut all = Vec::new();
    for person in people {
        let values = view.vertex_property_map(person).unwrap().into_iter();
        all.extend(values.filter(|(of, _)| *of == key).map(|(_, value)| (value, person)));
    }
    all.sort();
    all
}

fn scanned_edges(view: &impl GraphView, key: KeyId) -> Vec<(Value, EdgeId)> {
    let Some(edge_type) = view.catalogue().edge_type("KNOWS") else { return Vec::new() };
    let (mut edges, mut cursor) = (Vec::new(), EdgeCursor::default());
    view.scan_edges(Some(&[edge_type]), &mut cursor, usize::MAX, &mut edges).unwrap();
    let mut all = Vec::new();
    for edge in edges {
        let values = view.edge_property_map(edge).unwrap().into_iter();
        all.extend(values.filter(|(of, _)| *of == key).map(|(_, value)| (value, edge)));
    }
    all.sort();
    all
}

fn found<I: Copy + Ord>(
    scanned: &[(Value, I)],
    mut look_up: impl FnMut(&[Value], &mut MatchCursor<I>, &mut Matches<I>) -> Result<()>,
) {
    let mut values: Vec<Value> = scanned.iter().map(|(value, _)| value.clone()).collect();
    values.dedup();
    values.push(Value::from("nobody"));
    let (mut found, mut cursor) = (Matches::default(), MatchCursor::default());
    while !cursor.done {
        look_up(&values, &mut cursor, &mut found).unwrap();
    }
    let mut pairs: Vec<(Value, I)> = found
        .rows
        .iter()
        .zip(&found.items)
        .map(|(row, item)| (values[*row as usize].clone(), *item))
        .collect();
    pairs.sort();
    assert!(pairs == scanned, "{} found, {} scanned", pairs.len(), scanned.len());
}

/// Compares what the indexes say with what reading everything says.
pub fn check(view: &impl GraphView) {
    let catalogue = view.catalogue();
    for definition in catalogue.indexes() {
        let (key, kind) = (definition.id.key, definition.id.kind);
        if let Some(edge_type) = catalogue.edge_type("KNOWS").filter(|_| catalogue.key("weight") == Some(key))
        {
            let scanned = scanned_edges(view, key);
            found(&scanned, |values, cursor, found| {
                view.look_up_edges(edge_type, key, values, cursor, 3, found)
            });
            continue;
        }
        let label = catalogue.label("Person").unwrap();
        let scanned = scanned_people(view, key);
        found(&scanned, |values, cursor, found| view.look_up_vertices(label, key, values, cursor, 3, found));
        for descending in [false, true] {
            if kind != IndexKind::Ordered {
                continue;
            }
            let (mut ranked, mut cursor) = (OrderedMatches::default(), RangeCursor::default());
            let range = ValueRange { descending, ..ValueRange::ALL };
            while !cursor.done {
                view.range_vertices(label, key, &range, &mut cursor, 7, &mut ranked).unwrap();
            }
            let mut pairs: Vec<_> = ranked.values.into_iter().zip(ranked.items).collect();
            if descending {
                pairs.reverse();
            }
            assert!(pairs == scanned, "{} in the range, {} scanned", pairs.len(), scanned.len());
        }
    }
}

fn merge(store: &Opened, random: &mut SplitMix64) {
    crate::tested::merge_one(store.store().engine(), random.next_u64());
}

pub fn options() -> OpenOptions {
    OpenOptions {
        environment: Environment::simulated(7),
        durability: Durability::Sync,
        ..OpenOptions::default()
    }
}

pub fn opened(directory: &MemoryDirectory) -> Opened {
    OpenStore::open(Arc::new(directory.clone()), &options()).unwrap()
}

#[test]
fn look_ups_say_what_a_scan_says_to_every_snapshot_beside_merges_checkpoints_and_power_cuts() {
    for seed in 0..6 {
        let mut random = SplitMix64::new(seed);
        let mut directory = MemoryDirectory::new("db");
        let mut store = opened(&directory);
        let mut held: Vec<Snapshot<MappedEngine>> = Vec::new();
        for step in 0..400 {
            match random.next_u64() % 40 {
                0 => create(&store, &ALL[(random.next_u64() % 4) as usize]),
                1 => {
                    let IndexRequest { owner, key, kind, .. } = ALL[(random.next_u64() % 4) as usize];
                    let dropped = store.store().drop_index(owner, key, Some(kind));
                    assert!(dropped.map_or_else(|error| error.kind() == ErrorKind::NotFound, |_| true));
                }
                2..=4 => checkpoint(&store),
                5..=12 => merge(&store, &mut random),
                13 => held.push(store.store().snapshot()),
                14 => held.truncate(1),
                15 => {
                    held.clear();
                    let cut = directory.power_cut();
                    drop(store);
                    directory = cut;
                    store = opened(&directory);
                }
                _ => commit(&store, &mut random),
            }
            if step % 20 == 0 {
                check(&store.store().snapshot());
                held.iter().for_each(check);
                let report = store.check(&mut go_on).unwrap();
                assert!(report.is_healthy(), "seed {seed}, step {step}: {:?}", report.findings);
            }
        }
        held.clear();
        check(&opened(&directory.power_cut()).store().snapshot());
    }
}

pub fn section(directory: &MemoryDirectory) -> (Manifest, Section) {
    let manifest = Manifest::read(directory, MappedEngine::opens).unwrap();
    let section = Section::of(directory, &manifest).unwrap();
    (manifest, section)
}

/// So many people, numbered by name and age, with indexes on both; closed, with nothing left in the log.
pub fn people(directory: &MemoryDirectory, count: i64) {
    // Without threads: nothing is left out of a merge because another one is at it.
    let store = opened(directory);
    create(&store, &IndexRequest { unique: true, ..NAME });
    create(&store, &AGE);
    let added = store.store().transact(|tx| {
        let (label, age, name) = (tx.label("Person")?, tx.key("age")?, tx.key("name")?);
        for number in 0..count {
            let named = (name, Value::from(format!("person {number}")));
            tx.add_vertex(label, &[(age, Value::I64(number % 90)), named])?;
        }
        Ok(())
    });
    added.unwrap();
    store.store().engine().merge_everything();
    checkpoint(&store);
    store.close().unwrap();
}

pub fn look_up(view: &impl GraphView, value: &Value) -> Result<Vec<VertexId>> {
    let catalogue = view.catalogue();
    let (label, key) = (catalogue.label("Person").unwrap(), catalogue.key("name").unwrap());
    let (mut found, mut cursor) = (Matches::default(), MatchCursor::default());
    view.look_up_vertices(label, key, std::slice::from_ref(value), &mut cursor, 10, &mut found)?;
    Ok(found.items)
}

/// Makes bytes of an extent others.
pub fn damage(directory: &MemoryDirectory, segment: &NamedSegment, of_columns: bool) {
    let body = segment.body.filter(|_| !of_columns);
    let columns = segment.columns.iter().filter(|_| of_columns).map(|column| column.place);
    for place in body.into_iter().chain(columns) {
        let file = directory.open(&format!("array-{:016x}", place.file), OpenMode::ReadWrite).unwrap();
        file.write_at(&[0xee; 8], place.offset + 96).unwrap();
        file.sync_data().unwrap();
    }
}

/// What reads a property finds damage, so that who looks up without an error has read none. The body of the names is written in
/// parts of 256 KiB, and a look-up compares it with its checksums.
#[test]
fn an_opening_builds_nothing_and_a_look_up_reads_no_property() {
    let directory = MemoryDirectory::new("db");
    people(&directory, 12_000);
    let (_, named) = section(&directory);
    assert_eq!(named.indexes.indexes.len(), 2);
    let names = named.segments.iter().find(|segment| segment.id.index_number() == Some(1));
    let names_bytes = names.and_then(|segment| segment.body).unwrap().payload_bytes;
    assert!(names_bytes > 256 << 10, "{names_bytes} bytes are one part");
    named.segments.iter().for_each(|segment| damage(&directory, segment, true));
    let store = open(&directory).unwrap();
    let snapshot = store.store().snapshot();
    assert_eq!(look_up(&snapshot, &Value::from("person 8123")).unwrap(), [VertexId(8123)]);
    assert!(look_up(&snapshot, &Value::from("nobody")).unwrap().is_empty());
    let error = snapshot.vertex_property_map(VertexId(8123)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let statistics = store.store().indexes();
    assert!(statistics.iter().all(|index| index.entries == 12_000), "{statistics:?}");
    drop(snapshot);
    // A unique value is looked for by its index alone as well.
    let taken = store.store().transact(|tx| {
        let (label, name) = (tx.label("Person")?, tx.key("name")?);
        tx.add_vertex(label, &[(name, Value::from("person 77"))])
    });
    assert!(taken.unwrap_err().to_string().contains("is unique, and v77 already has"));
}

#[test]
fn a_damaged_index_is_named_by_who_looks_up_and_by_the_check_and_salvage_builds_it_anew() {
    let directory = MemoryDirectory::new("db");
    people(&directory, 3000);
    let (_, named) = section(&directory);
    let of_indexes = named.segments.iter().filter(|segment| segment.id.index_number().is_some());
    of_indexes.for_each(|segment| damage(&directory, segment, false));
    let store = open(&directory).unwrap();
    // Sizes are told without a look at the entries.
    let sizes = store.store().indexes();
    assert!(sizes.iter().all(|index| index.entries == 3000 && index.file_bytes > 3000), "{sizes:?}");
    let error = look_up(&store.store().snapshot(), &Value::from("person 8")).unwrap_err();
    assert!(error.kind() == ErrorKind::Corrupt && error.to_string().contains("array-"), "{error}");
    drop(store);
    let (manifest, _) = section(&directory);
    let mut report = evergraph_storage::checkpoint::report::Report::default();
    MappedEngine::check_files(&directory, &manifest, &mut report, &mut go_on).unwrap();
    let findings = format!("{:?}", report.findings);
    for index in ["hash index on Person.name", "ordered index on Person.age"] {
        assert!(findings.contains(&format!("the entries of the {index}")), "{findings}");
    }
    let target = MemoryDirectory::new("saved");
    let saved: Arc<dyn Directory> = Arc::new(target.clone());
    let made = evergraph_storage::open::salvage::<MappedEngine>(&directory, &saved, &mut go_on).unwrap();
    assert!(made.losses.iter().all(|loss| !loss.is_missing()), "{:?}", made.losses);
    let store = open(&target).unwrap();
    assert_eq!(look_up(&store.store().snapshot(), &Value::from("person 8")).unwrap(), [VertexId(8)]);
    check(&store.store().snapshot());
}

/// Entries that no commit brought, and one that is missing.
#[test]
fn the_check_finds_an_entry_that_is_wrong() {
    for is_missing in [false, true] {
        let directory = MemoryDirectory::new("db");
        people(&directory, 100);
        let options = OpenOptions { durability: Durability::None, ..options() };
        let store = OpenStore::<MappedEngine>::open(Arc::new(directory.clone()), &options).unwrap();
        let (engine, timeline) = (store.store().engine(), store.store().timeline());
        for kind in [IndexKind::Hash, IndexKind::Ordered] {
            let of_kind = store.store().catalogue().indexes().find(|index| index.id.kind == kind);
            let id: IndexId = of_kind.unwrap().id;
            let value = match (kind, is_missing) {
                (IndexKind::Hash, false) => Value::from("somebody else"),
                (IndexKind::Hash, true) => Value::from("person 8"),
                (_, false) => Value::I64(1000),
                (_, true) => Value::I64(8),
            };
            let entry = KeptEntry { index: id, value, item: ItemId::Vertex(VertexId(8)) };
            let mut changes = IndexChanges::NONE;
            if is_missing {
                changes.leaving.push(entry)
            } else {
                changes.entering.push(entry)
            }
            let prepared = engine.prepare(&[], &changes, Duration::ZERO).unwrap();
            let mut latch = timeline.latch();
            let at = timeline.published().next();
            drop(engine.append(at, prepared));
            timeline.publish(at, &mut latch);
        }
        let findings = format!("{:?}", store.check(&mut go_on).unwrap().findings);
        let of = |index: &str| findings.contains(index);
        assert!(of("hash index on Person.name") && of("ordered index on Person.age"), "{findings}");
    }
}

/// As a database has it that was written before index entries were segments, and one that another engine's was converted to.
#[test]
fn indexes_that_no_manifest_names_are_built_once() {
    let directory = MemoryDirectory::new("db");
    people(&directory, 500);
    let (mut manifest, mut named) = section(&directory);
    named.indexes = NamedIndexes::default();
    named.segments.retain(|segment| segment.id.index_number().is_none());
    named.put_into(&mut manifest).unwrap();
    assert_eq!(manifest.engine_section.bytes[0], 1, "the format without indexes");
    manifest.write(&directory, || Ok(())).unwrap();
    let store = open(&directory).unwrap();
    check(&store.store().snapshot());
    checkpoint(&store);
    store.close().unwrap();
    drop(store);
    assert_eq!(section(&directory).1.indexes.indexes.len(), 2);
    let store = open(&directory).unwrap();
    check(&store.store().snapshot());
    assert!(store.check(&mut go_on).unwrap().is_healthy());
}

#[test]
fn what_an_index_has_beside_its_files_is_counted_once() {
    let directory = MemoryDirectory::new("db");
    people(&directory, 3000);
    let store = open(&directory).unwrap();
    let sums = || {
        let sizes = store.store().indexes();
        let sum = |of: fn(&IndexStatistics) -> u64| sizes.iter().map(of).sum::<u64>();
        (sum(|index| index.bytes), sum(|index| index.engine_bytes), sum(|index| index.file_bytes))
    };
    assert_eq!((sums().0, sums().1), (0, 0));
    let added = store.store().transact(|tx| {
        let (label, name) = (tx.label("Person")?, tx.key("name")?);
        tx.add_vertex(label, &[(name, Value::from("nobody"))])
    });
    added.unwrap();
    let (bytes, engine_bytes, file_bytes) = sums();
    let statistics = store.store().statistics();
    assert!(engine_bytes > 0 && bytes >= engine_bytes, "{bytes} bytes, {engine_bytes} of the engine");
    assert_eq!(statistics.index_bytes, bytes - engine_bytes, "`live` has the others");
    assert_eq!(statistics.index_file_bytes, file_bytes);
}

#[test]
fn a_dropped_index_gives_its_space_back() {
    let directory = MemoryDirectory::new("db");
    people(&directory, 3000);
    let store = open(&directory).unwrap();
    let held = store.store().snapshot();
    store.store().drop_index(NAME.owner, NAME.key, None).unwrap();
    store.store().engine().merge_everything();
    assert_eq!(look_up(&held, &Value::from("person 8")).unwrap(), [VertexId(8)], "by reading everything");
    drop(held);
    checkpoint(&store);
    store.store().engine().merge_everything();
    let mut dropped = None;
    store.store().engine().graph().groups().for_each_segment(|segment| {
        if segment.index_number() == Some(1) {
            dropped = Some((segment.items(), segment.records(), segment.past_versions().0));
        }
        true
    });
    assert_eq!(dropped, Some((0, 0, 0)));
    let (_, named) = section(&directory);
    assert_eq!(named.indexes.indexes.iter().map(|index| index.1).collect::<Vec<_>>(), [2]);
    assert_eq!(named.indexes.next, 3);
    create(&store, &NAME);
    check(&store.store().snapshot());
    checkpoint(&store);
    assert_eq!(section(&directory).1.indexes.next, 4, "no number twice");
}

/// The thread that merges may come to an index between the moment when its number goes and the one when its drop is readable.
#[test]
fn an_index_that_is_dropped_answers_until_its_drop_is_readable() {
    let directory = MemoryDirectory::new("db");
    people(&directory, 300);
    let store = opened(&directory);
    let add = || {
        let added = store.store().transact(|tx| {
            let label = tx.label("Person")?;
            tx.add_vertex(label, &[])
        });
        added.unwrap();
    };
    // Newer than the index' body.
    add();
    let held = store.store().snapshot();
    let id = store.store().catalogue().indexes().find(|index| index.id.kind == IndexKind::Hash).unwrap().id;
    let engine = store.store().engine();
    {
        let _latch = store.store().timeline().latch();
        engine.drop_index(id);
    }
    engine.merge_everything();
    assert_eq!(
        look_up(&held, &Value::from("person 8")).unwrap(),
        [VertexId(8)],
        "an index was emptied early"
    );
    // As soon as it is, nothing is left.
    add();
    engine.merge_everything();
    assert_eq!(look_up(&held, &Value::from("person 8")).unwrap(), [VertexId(8)], "the past is kept");
    let items = |number: u32| {
        let mut items = None;
        engine.graph().groups().for_each_segment(|segment| {
            items = items.or((segment.index_number() == Some(number)).then(|| segment.items()));
            true
        });
        items
    };
    assert_eq!((items(1), items(2)), (Some(0), Some(300)));
}

/// A checkpoint covers commits that the log has without what left the index, which was built later and is named nonetheless.
#[test]
fn commits_from_before_a_scan_that_found_nothing_enter_nothing_when_they_are_replayed() {
    let directory = MemoryDirectory::new("db");
    let store = opened(&directory);
    create(&store, &AGE);
    let person = |of: &str, value: Value| {
        store.store().transact(|tx| {
            let (label, key) = (tx.label("Person")?, tx.key(of)?);
            tx.add_vertex(label, &[(key, value.clone())])
        })
    };
    person("age", Value::I64(1)).unwrap();
    let mut is_built = false;
    let made = store.checkpoint(&mut |_| {
        if !std::mem::replace(&mut is_built, true) {
            let late = person("name", Value::from("late")).unwrap();
            store.store().transact(|tx| tx.delete_vertex(late)).unwrap();
            create(&store, &NAME);
        }
        ControlFlow::Continue(())
    });
    made.unwrap();
    assert!(is_built, "a checkpoint tells how far it is");
    assert_eq!(section(&directory).1.indexes.indexes.len(), 2, "the case that is meant");
    let again = opened(&directory.power_cut());
    assert!(look_up(&again.store().snapshot(), &Value::from("late")).unwrap().is_empty());
    let report = again.check(&mut go_on).unwrap();
    assert!(report.is_healthy(), "{:?}", report.findings);
}

/// Two transactions that give the same unique value, with merges and a checkpoint in between: one of them is refused.
#[test]
fn one_of_two_transactions_gets_a_unique_value_whatever_is_merged_beside_them() {
    let directory = MemoryDirectory::new("db");
    people(&directory, 50);
    for round in 0..24 {
        let store = opened(&directory);
        let value = Value::from(format!("new {round}"));
        let add = |tx: &mut evergraph_storage::transaction::handle::Transaction<MappedEngine>| {
            let (label, name) = (tx.label("Person")?, tx.key("name")?);
            tx.add_vertex(label, &[(name, value.clone())])
        };
        let (mut first, mut second) = (store.store().begin(), store.store().begin());
        add(&mut first).unwrap();
        let own = add(&mut second);
        first.commit().unwrap();
        if round & 1 != 0 {
            store.store().engine().merge_everything();
        }
        if round & 2 != 0 {
            checkpoint(&store);
        }
        let refused = own.and_then(|_| second.commit().map(drop)).unwrap_err();
        assert!([ErrorKind::Conflict, ErrorKind::Invalid].contains(&refused.kind()), "{refused}");
        let third = store.store().transact(add);
        assert!(third.unwrap_err().to_string().contains("is unique"), "round {round}");
        // The holder gives it up, and another one gets it.
        let holder = look_up(&store.store().snapshot(), &value).unwrap();
        assert_eq!(holder.len(), 1);
        store.store().transact(|tx| tx.delete_vertex(holder[0])).unwrap();
        if round & 4 != 0 {
            store.store().engine().merge_everything();
        }
        store.store().transact(add).unwrap();
        assert_eq!(look_up(&store.store().snapshot(), &value).unwrap().len(), 1);
        assert!(store.check(&mut go_on).unwrap().is_healthy());
    }
}

#[test]
fn entries_have_the_form_of_their_index() {
    use evergraph_graph::catalogue::Owner;
    let id = |owner, kind| IndexId { owner, key: KeyId(0), kind };
    let of_vertices = EntryForm::of(id(Owner::Label(LabelId(0)), IndexKind::Hash));
    let of_edges = EntryForm::of(id(Owner::EdgeType(TypeId(0)), IndexKind::Newest));
    assert!(of_vertices.is_hashed() && !of_edges.is_hashed() && of_vertices != of_edges);
}
