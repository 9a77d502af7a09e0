//! What only this engine promises of its files: a checkpoint costs what was committed, opening reads no body, damage is named
//! when it is touched.

use crate::hubs::{edge, with_a_hub};
use crate::indexes;
use crate::support::{Database, LABEL};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::ErrorKind as GraphErrorKind;
use evergraph_graph::id::{EdgeId, GroupId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::index::IndexKind;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_mapped_engine::checkpoint::contract::{CheckpointSegments, MergeStep};
use evergraph_mapped_engine::durable::opening::open_database;
use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph_mapped_engine::engine::options::MappedOptions;
use evergraph_mapped_engine::extents::array_file::file_name;
use evergraph_mapped_engine::extents::header::HEADER_BYTES;
use evergraph_mapped_engine::extents::table::ExtentOptions;
use evergraph_mapped_engine::files::section::Section;
use evergraph_mapped_engine::words::RegionSizes;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::checkpoint::report::Report;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::engine::Engine;
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::timeline::clock::{Readable, Timeline};
use evergraph_storage::view::View;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

fn open(directory: &MemoryDirectory) -> Database {
    Database::open(Arc::new(directory.clone()), Durability::None).unwrap()
}

/// Vertices of a group, each with a text.
fn people(group: u32) -> Vec<Mutation> {
    let insert = |row| Mutation::InsertVertex {
        vertex: VertexId(group * 4096 + row),
        label: LABEL,
        properties: Properties::new(vec![(KeyId(0), Some(Value::from(format!("person {row}"))))]),
    };
    (0..4000).map(insert).collect()
}

fn section(directory: &MemoryDirectory) -> Section {
    Section::of(directory, &Manifest::read(directory, MappedEngine::opens).unwrap()).unwrap()
}

fn go_on(_: &str, _: u64, _: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// What the check of the files that `manifest` names finds.
fn problems(directory: &MemoryDirectory, manifest: &Manifest) -> Vec<String> {
    let mut report = Report::default();
    MappedEngine::check_files(directory, manifest, &mut report, &mut go_on).unwrap();
    report.findings.into_iter().map(|found| found.problem).collect()
}

#[test]
fn a_checkpoint_writes_the_records_that_no_file_holds_and_nothing_else() {
    let directory = MemoryDirectory::new("db");
    let database = open(&directory);
    for group in 0..3 {
        database.append(&people(group)).unwrap();
    }
    database.engine.merge_everything();
    let all = database.checkpoint().unwrap();
    assert_eq!((all.bytes_written, all.bodies_written), (0, 3), "{all:?}");
    let rename = |text: &str| Mutation::SetVertexProperties {
        vertex: VertexId(7),
        properties: Properties::new(vec![(KeyId(0), Some(Value::from(text)))]),
    };
    for text in ["one", "another", "the last one"] {
        database.append(&[rename(text)]).unwrap();
        let made = database.checkpoint().unwrap();
        assert!(made.bytes_written > 0 && made.bytes_written < 100, "{made:?}");
        assert_eq!(made.bodies_written, 0);
        let reopened = open(&directory.power_cut());
        assert_eq!(reopened.model(), database.model());
    }
    assert_eq!(database.checkpoint().unwrap().bytes_written, 0);
    assert_eq!(section(&directory).segments.iter().map(|segment| segment.runs.len()).sum::<usize>(), 3);
}

/// What a merge took while the checkpoint was made is in the log as well, which goes as far as the bodies.
#[test]
fn commits_that_a_body_has_before_its_checkpoint_covers_them_are_there_once() {
    let directory = MemoryDirectory::new("db");
    let database = open(&directory);
    database.append(&people(0)[..4]).unwrap();
    let insert = |target| Mutation::InsertEdge { edge: edge(0, target), properties: Properties::EMPTY };
    database.append(&[insert(1)]).unwrap();
    let mut is_first = true;
    let made = database.checkpoint_with(&mut |_| {
        if std::mem::take(&mut is_first) {
            database.append(&[insert(2), insert(3)]).unwrap();
            database.engine.merge_everything();
        }
        ControlFlow::Continue(())
    });
    let made = made.unwrap();
    assert!(made.need > made.covered_through, "{made:?}");
    let reopened = Database::open(Arc::new(directory.power_cut()), Durability::None)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(reopened.graph(), database.model());
}

/// Each change of a text replaces one: what replay merged away makes room for what follows.
#[test]
fn an_opening_takes_room_for_the_graph_and_not_for_its_log() {
    const ROUNDS: usize = 100;
    const TEXT_BYTES: usize = 500;
    let directory = MemoryDirectory::new("db");
    let database = Database::open(Arc::new(directory.clone()), Durability::Sync).unwrap();
    let people = &people(0)[..100];
    database.append(people).unwrap();
    for round in 0..ROUNDS {
        let text = Value::from(format!("{round:TEXT_BYTES$}"));
        let set = |row| Mutation::SetVertexProperties {
            vertex: VertexId(row),
            properties: Properties::new(vec![(KeyId(0), Some(text.clone()))]),
        };
        database.append(&(0..people.len() as u32).map(set).collect::<Vec<_>>()).unwrap();
    }
    database.log.wait_durable(database.published().0).unwrap();
    let reopened = open(&directory.power_cut());
    assert_eq!(reopened.graph(), database.model());
    let (used, logged) = (reopened.engine.graph().arena().used_bytes(), ROUNDS * people.len() * TEXT_BYTES);
    assert!(used < logged as u64 / 5, "{used} bytes of live are in use for a log of {logged}");
}

/// Row by row, each tail that fills would sort the newest run anew, into a block that nobody reserved.
#[test]
fn a_commit_beside_a_hub_takes_the_room_of_its_records() {
    const ROWS: u32 = 2000;
    let directory = MemoryDirectory::new("db");
    let database = with_a_hub(&directory);
    database.engine.merge_everything();
    assert_eq!(database.engine.statistics().hubs, 1);
    let insert =
        |source, target| Mutation::InsertEdge { edge: edge(source, target), properties: Properties::EMPTY };
    let to = |targets: std::ops::Range<u32>| -> Vec<Mutation> {
        (100..100 + ROWS)
            .flat_map(|source| targets.clone().map(move |target| insert(source, target)))
            .collect()
    };
    // Runs that are there.
    for target in 0..6 {
        database.append(&to(target..target + 1)).unwrap();
    }
    let used = || database.engine.graph().arena().used_bytes();
    let before = used();
    database.append(&to(6..16)).unwrap();
    let (taken, records) = (used() - before, u64::from(ROWS) * 10 * 2);
    assert!(taken < records * 100, "{taken} bytes of live for {records} records");
    assert_eq!(database.graph(), database.model());
}

#[test]
fn a_damaged_body_is_an_error_of_those_who_read_it_and_of_nobody_else() {
    let directory = MemoryDirectory::new("db");
    let database = open(&directory);
    database.append(&people(0)).unwrap();
    database.append(&people(1)).unwrap();
    database.engine.merge_everything();
    database.checkpoint().unwrap();
    let section = section(&directory);
    let place = section.segments[1].body.unwrap();
    let image = directory.power_cut();
    let file = image.open(&format!("array-{:016x}", place.file), OpenMode::ReadWrite).unwrap();
    file.write_at(&[0x12], place.offset + 100).unwrap();
    file.sync_data().unwrap();
    drop(file);
    let engine = {
        use evergraph_storage::durable_engine::OpenContext;
        use evergraph_storage::io::environment::Background;
        let manifest = Manifest::read(&image, MappedEngine::opens).unwrap();
        let timeline = Arc::new(Timeline::new(manifest.covered_through, Readable::Published));
        let directory: Arc<dyn Directory> = Arc::new(image.clone());
        let opening = OpenContext {
            directory: &directory,
            manifest: &manifest,
            timeline: &timeline,
            background: Background::Stepped,
            io_threads: 1,
            compaction_threads: 1,
            budget: &Arc::new(MemoryBudget::new(u64::MAX)),
            live_bytes_max: u64::MAX,
        };
        MappedEngine::open(&opening).unwrap().engine
    };
    let at = database.published();
    let pin = engine.pin(at);
    let view = engine.view(&pin, at);
    assert_eq!(view.vertex_property(VertexId(7), KeyId(0)).unwrap(), Some(Value::from("person 7")));
    assert!(view.live(GroupId(0)).is_ok());
    let error = view.live(GroupId(1)).unwrap_err();
    assert!(error.to_string().contains("array-"), "{error}");
    let found = problems(&image, &Manifest::read(&image, MappedEngine::opens).unwrap());
    assert!(found.iter().any(|problem| problem.contains("array-")), "{found:?}");
}

/// After a failed sync the system may bring back what lay there before: whoever reads then is told, and the next checkpoint lets
/// all read another copy.
#[test]
fn a_body_that_a_failed_sync_lost_is_never_read_unverified_and_moves() {
    let memory = MemoryDirectory::new("db");
    let failing = FailingDirectory::new(Arc::new(memory.clone()));
    let database = Database::open(Arc::new(failing.clone()), Durability::None).unwrap();
    for group in 0..2 {
        database.append(&people(group)).unwrap();
    }
    database.engine.merge_everything();
    let places = || {
        let mut places = Vec::new();
        database.engine.graph().groups().for_each_segment(|segment| {
            places.push(segment.version().body);
            true
        });
        places
    };
    let before = places();
    failing.plan(Fault::new(Operation::Sync, "array-", ErrorKind::Other));
    assert!(database.checkpoint().is_err());
    assert_eq!(places(), before);
    database.checkpoint().unwrap();
    assert!(places().iter().zip(&before).all(|(now, before)| now.extent != before.extent), "{before:?}");
    database.engine.graph().reclaim();
    assert_eq!(database.graph(), database.model());
    assert_eq!(open(&memory.power_cut()).model(), database.model());
}

/// A frozen graph outlives its snapshot, and reads in place.
#[test]
fn a_closed_engine_leaves_its_extents_to_those_who_read_them() {
    let directory = MemoryDirectory::new("db");
    let database = open(&directory);
    database.append(&people(0)).unwrap();
    database.engine.merge_everything();
    database.checkpoint().unwrap();
    // Somebody has a body that no manifest will name.
    let held = {
        let segment = database.engine.graph().groups().get(GroupId(0)).unwrap().segments()[0].1.clone();
        database.engine.graph().body_of(&segment).unwrap()
    };
    let bytes = held.extent().unwrap().payload().unwrap().to_vec();
    database.append(&[Mutation::DeleteVertex { vertex: VertexId(5) }]).unwrap();
    database.engine.merge_everything();
    database.checkpoint().unwrap();
    let model = database.model();
    database.engine.close();
    drop(database);
    let next = open(&directory);
    assert!(next.engine.checkpointer().extents().is_reuse_forbidden());
    for vertex in 10..30 {
        next.append(&[Mutation::DeleteVertex { vertex: VertexId(vertex) }]).unwrap();
        next.engine.merge_everything();
        next.checkpoint().unwrap();
    }
    // The memory directory panics when bytes are written that an extent reads.
    assert_eq!(held.extent().unwrap().payload().unwrap(), bytes);
    assert_eq!(next.graph().vertices.len() + 20, model.vertices.len());
    drop(held);
    next.checkpoint().unwrap();
    assert!(!next.engine.checkpointer().extents().is_reuse_forbidden());
}

/// A commit on an engine alone.
fn commit(engine: &MappedEngine, timeline: &Timeline, mutations: &[Mutation]) {
    let prepared = engine.prepare(mutations, &IndexChanges::NONE, Duration::ZERO).unwrap();
    let mut latch = timeline.latch();
    let timestamp = timeline.published().next();
    let unused = engine.append(timestamp, prepared);
    timeline.publish(timestamp, &mut latch);
    drop(latch);
    drop(unused);
}

/// Merges go up to R, and that stays below names that can't be shown.
#[test]
fn a_load_is_told_why_nothing_can_be_merged() {
    let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published));
    let region_sizes = RegionSizes::new(14, 14).unwrap();
    let options = MappedOptions { region_sizes, slots: 16, ..MappedOptions::default() };
    let engine = MappedEngine::in_memory(Arc::clone(&timeline), options).unwrap();
    engine.open_group(GroupId(0), LABEL);
    let mut names = Catalogue::default();
    for label in 0..20_000 {
        let name = format!("label {label}").into();
        names.apply(&SchemaChange::AddLabel { id: LabelId(label), name });
    }
    engine.catalogue_changed(Timestamp(1), &Arc::new(names));
    commit(&engine, &timeline, &people(0)[..100]);
    let segment = engine.graph().groups().get(GroupId(0)).unwrap().segments()[0].1.clone();
    let error = engine.graph().settle_segment(&segment).unwrap_err();
    assert!(error.kind() == GraphErrorKind::Invalid && error.to_string().contains("a block of"), "{error}");
    // A checkpoint doesn't wait for it either.
    let graph = &**engine.graph();
    assert_eq!(CheckpointSegments::merge(graph, &segment).unwrap(), MergeStep::Nothing);
    assert_eq!(segment.records(), 100);
}

#[test]
fn a_commit_that_finds_five_runs_in_order_is_not_held_up() {
    let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published));
    let options = MappedOptions { records_worth_a_merge: 1 << 30, ..MappedOptions::default() };
    let engine = MappedEngine::in_memory(Arc::clone(&timeline), options).unwrap();
    engine.open_group(GroupId(0), LABEL);
    let edge = |number: u32| {
        let (source, target) = (VertexId(number / 4096), VertexId(number % 4096));
        let edge = EdgeId { source, edge_type: TypeId(0), target, discriminator: 0 };
        Mutation::InsertEdge { edge, properties: Properties::EMPTY }
    };
    let mut from = 0;
    for count in [30_000, 7000, 1700, 400, 100] {
        commit(&engine, &timeline, &(from..from + count).map(edge).collect::<Vec<_>>());
        from += count;
    }
    let segment = engine.graph().groups().get(GroupId(0)).unwrap().segments()[0].1.clone();
    assert_eq!(segment.run_sizes(), [30_000, 7000, 1700, 400, 100]);
    let before = engine.statistics().stalls;
    commit(&engine, &timeline, &[edge(from)]);
    assert_eq!(engine.statistics().stalls, before);
}

#[test]
fn a_check_compares_how_many_items_bodies_have_with_the_manifest() {
    let directory = MemoryDirectory::new("db");
    let database = open(&directory);
    database.append(&people(0)).unwrap();
    database.append(&[Mutation::DeleteVertex { vertex: VertexId(5) }]).unwrap();
    database.engine.merge_everything();
    database.checkpoint().unwrap();
    let mut manifest = Manifest::read(&directory, MappedEngine::opens).unwrap();
    assert!(problems(&directory, &manifest).is_empty());
    let mut section = section(&directory);
    assert_eq!(section.segments[0].items, 3999);
    section.segments[0].items = 4000;
    section.put_into(&mut manifest).unwrap();
    let found = problems(&directory, &manifest);
    assert!(found.len() == 1 && found[0].contains("4000 items expected"), "{found:?}");
}

/// A look-up misses an entry that has the hash of another value. Its checksum is right, and so are value and item: no check found
/// it.
#[test]
fn a_check_compares_the_hash_of_an_entry_with_its_value() {
    let directory = MemoryDirectory::new("db");
    indexes::people(&directory, 100);
    let (manifest, named) = indexes::section(&directory);
    let names = named.segments.iter().find(|segment| segment.id.index_number() == Some(1)).unwrap();
    let (place, header) = names.extents().next().unwrap();
    let file = directory.open(&file_name(place.file), OpenMode::ReadWrite).unwrap();
    let mut extent = vec![0; HEADER_BYTES + place.payload_bytes as usize];
    file.read_at(&mut extent, place.offset).unwrap();
    let mut payload = place.payload_of(&extent).to_vec();
    // Behind the count, seven starts and the length of the first entry, which stays the first.
    let hash = 8 + 7 * 8 + 1;
    payload[hash..hash + 4].fill(0);
    file.write_at(&header.encode(place, &payload), place.offset).unwrap();
    file.sync_data().unwrap();
    let expected = "the hash of its value expected";
    let found = problems(&directory, &manifest);
    assert!(found.len() == 1 && found[0].contains(expected), "{found:?}");
    // So does the check of an open database, which reads all entries.
    let error = indexes::opened(&directory).check(&mut go_on).unwrap_err();
    assert!(error.to_string().contains(expected), "{error}");
}

/// The manifest says of an ordered index that it is one of hashes.
#[test]
fn a_check_knows_how_the_entries_in_bodies_and_runs_of_an_index_are_written() {
    let directory = MemoryDirectory::new("db");
    indexes::people(&directory, 100);
    let store = indexes::opened(&directory);
    let added = store.store().transact(|tx| {
        let (label, age) = (tx.label("Person")?, tx.key("age")?);
        tx.add_vertex(label, &[(age, Value::I64(7))])
    });
    added.unwrap();
    indexes::checkpoint(&store);
    drop(store);
    let (mut manifest, mut named) = indexes::section(&directory);
    assert!(problems(&directory, &manifest).is_empty());
    let ages = named.indexes.indexes.iter_mut().find(|(id, _)| id.kind == IndexKind::Ordered);
    ages.unwrap().0.kind = IndexKind::Hash;
    named.put_into(&mut manifest).unwrap();
    let found = problems(&directory, &manifest);
    assert!(
        found.len() == 2 && found.iter().all(|problem| problem.contains("the hash index on Person.age")),
        "{found:?}"
    );
}

/// What fills memory goes into bodies, whatever the thresholds say.
#[test]
fn a_full_arena_makes_room_by_merges_and_opens_again() {
    let directory = MemoryDirectory::new("db");
    let options = MappedOptions {
        live_bytes_max: 1 << 20,
        records_worth_a_merge: 1 << 30,
        items_a_record: 1,
        ..MappedOptions::default()
    };
    let manifest = Manifest::empty(MappedEngine::NAME, MappedEngine::empty_section(MappedEngine::NAME));
    let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published));
    let directory: Arc<dyn Directory> = Arc::new(directory);
    let budget = Arc::new(MemoryBudget::new(u64::MAX));
    let opened =
        open_database(&directory, &manifest, &timeline, (options, ExtentOptions::default()), &budget)
            .unwrap();
    let engine = opened.engine;
    engine.open_group(GroupId(0), LABEL);
    let text = "x".repeat(900);
    for round in 0..4000_u32 {
        let properties = Properties::new(vec![(KeyId(0), Some(Value::from(text.clone())))]);
        let vertex = VertexId(round);
        let insert = [Mutation::InsertVertex { vertex, label: LABEL, properties }];
        let prepared = engine.prepare(&insert, &IndexChanges::NONE, Duration::ZERO).unwrap();
        let mut latch = timeline.latch();
        let timestamp = timeline.published().next();
        let unused = engine.append(timestamp, prepared);
        timeline.publish(timestamp, &mut latch);
        drop(latch);
        drop(unused);
    }
    let at = timeline.published();
    let pin = engine.pin(at);
    let live = engine.view(&pin, at).live(GroupId(0)).unwrap();
    assert_eq!(live.iter().map(|word| word.count_ones()).sum::<u32>(), 4000);
    assert!(engine.statistics().merges > 0);
}
