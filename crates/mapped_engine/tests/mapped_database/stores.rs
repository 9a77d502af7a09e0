//! Whole stores: loads, backups, checks, salvage, and opening again.

use crate::support::{Graph, files};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::load::{EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph_graph::packed_column::{PackedColumn, PackedColumnBuilder};
use evergraph_graph::transaction::{Isolation, Transaction as _};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView as _;
use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph_mapped_engine::files::section::Section;
use evergraph_storage::bulk::load::LoadProgress;
use evergraph_storage::checkpoint::check::check_files;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::engine::Engine;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::salvage::salvaged::Salvaged;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

pub fn open(directory: &MemoryDirectory) -> Result<OpenStore<MappedEngine>> {
    OpenStore::open(Arc::new(directory.clone()), &OpenOptions::default())
}

fn packed(values: Range<u32>) -> Option<PackedColumn> {
    let mut column = PackedColumnBuilder::default();
    values.for_each(|value| column.push_i64(i64::from(value)));
    column.finish()
}

pub const PEOPLE: u32 = 9000;

/// Three groups of people who know each other in a ring, one of them all the others.
pub fn load() -> Load {
    let ranges = || (0..PEOPLE).step_by(999).map(|from| from..PEOPLE.min(from + 999));
    let vertices = ranges().map(|rows| VertexBlock { rows: rows.len(), columns: vec![packed(rows)] });
    let people = VertexTable::new("Person", vec![("id".into(), ValueType::I64)], vertices.collect());
    let ring = ranges().map(|rows| EdgeBlock {
        columns: vec![packed(rows.clone())],
        ..EdgeBlock::bare(rows.map(|from| (from, (from + 1) % PEOPLE)))
    });
    let star = EdgeBlock { columns: vec![None], ..EdgeBlock::bare((1..PEOPLE).map(|to| (0, to))) };
    let since = vec![("since".into(), ValueType::I64)];
    let knows = EdgeTable::new("KNOWS", 0, 0, since, ring.chain([star]).collect());
    Load { vertices: vec![people], edges: vec![knows] }
}

pub fn graph(open: &OpenStore<MappedEngine>) -> Graph {
    let store = open.store();
    let (engine, at) = (store.engine(), store.timeline().published());
    let pin = engine.pin(at);
    Graph::of(&engine.view(&pin, at))
}

pub fn go_on(_: &str, _: u64, _: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

pub fn loaded(directory: &MemoryDirectory) -> OpenStore<MappedEngine> {
    let store = open(directory).unwrap();
    let made = store.load_within(u64::MAX, &load(), &mut |_| Ok(()), &mut |_| ControlFlow::Continue(()));
    made.unwrap();
    store
}

#[test]
fn a_load_is_there_after_a_power_cut_and_passes_the_check() {
    let directory = MemoryDirectory::new("db");
    let store = loaded(&directory);
    let before = graph(&store);
    assert_eq!(before.vertices.len(), PEOPLE as usize);
    assert!(store.check(&mut go_on).unwrap().is_healthy());
    let again = open(&directory.power_cut()).unwrap();
    assert_eq!(graph(&again), before);
    let report = again.check(&mut go_on).unwrap();
    assert!(report.is_healthy(), "{:?}", report.findings);
    // A second one, over groups that are there and new ones.
    let made = again.load_within(u64::MAX, &load(), &mut |_| Ok(()), &mut |_| ControlFlow::Continue(()));
    made.unwrap();
    assert_eq!(graph(&again).vertices.len(), 2 * PEOPLE as usize);
    assert!(again.check(&mut go_on).unwrap().is_healthy());
    again.close().unwrap();
}

/// Cancelled before bodies are written, cancelled when all of them are, and refused for a value that two of its rows share.
#[test]
fn a_load_that_is_not_installed_leaves_no_file() {
    let directory = MemoryDirectory::new("db");
    let store = open(&directory).unwrap();
    let before = files(&directory);
    let twice = vec![VertexBlock { rows: 9, columns: vec![packed(0..9)] }; 2];
    let people = VertexTable::new("Person", vec![("id".into(), ValueType::I64)], twice).unique_key("id");
    let ambiguous = Load { vertices: vec![people], edges: Vec::new() };
    let whole = load();
    for (load, steps_max, kind) in [
        (&whole, 0, ErrorKind::Cancelled),
        (&whole, 2, ErrorKind::Cancelled),
        (&ambiguous, usize::MAX, ErrorKind::Invalid),
    ] {
        let (mut steps, mut has_files) = (0, false);
        let mut building = |_: LoadProgress| {
            has_files = files(&directory) != before;
            if steps == steps_max {
                return Err(Error::new(ErrorKind::Cancelled, "enough"));
            }
            steps += 1;
            Ok(())
        };
        let made = store.load_within(u64::MAX, load, &mut building, &mut |_| ControlFlow::Continue(()));
        assert_eq!(made.unwrap_err().kind(), kind);
        assert_eq!(has_files, steps > 0, "bodies are written when the last step is told");
        assert_eq!(files(&directory), before, "{kind:?} after {steps} steps");
    }
    let made = store.load_within(u64::MAX, &whole, &mut |_| Ok(()), &mut |_| ControlFlow::Continue(()));
    made.unwrap();
    assert!(store.check(&mut go_on).unwrap().is_healthy());
}

#[test]
fn a_backup_beside_commits_is_a_database() {
    let directory = MemoryDirectory::new("db");
    let store = loaded(&directory);
    let before = graph(&store);
    let target = MemoryDirectory::new("copy");
    store.backup(&target, &mut |_| ControlFlow::Continue(())).unwrap();
    let copy = open(&target).unwrap();
    assert_eq!(graph(&copy), before);
    assert!(copy.check(&mut go_on).unwrap().is_healthy());
}

#[test]
fn a_closed_store_opens_with_what_was_committed_and_nothing_is_left_of_merges() {
    let directory = MemoryDirectory::new("db");
    let store = loaded(&directory);
    for round in 0..30_i64 {
        let run = store.store().retrying(Isolation::default(), |mut tx| {
            let (label, edge_type, key) = (tx.label("Person")?, tx.edge_type("KNOWS")?, tx.key("id")?);
            let vertex = tx.add_vertex(label, &[(key, Value::I64(-round))])?;
            tx.add_edge(VertexId(0), edge_type, vertex, &[])?;
            tx.set_vertex_property(VertexId(round as u32), key, Some(Value::I64(round)))?;
            tx.commit()
        });
        run.unwrap();
        if round % 10 == 0 {
            store.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
        }
    }
    let before = graph(&store);
    store.close().unwrap();
    drop(store);
    let again = open(&directory).unwrap();
    assert_eq!(graph(&again), before);
    assert!(again.check(&mut go_on).unwrap().is_healthy());
}

/// The next writer's `live` has the same name: what this one would store there is another one's.
#[test]
fn a_commit_after_closing_opens_no_region_of_the_next_writer_s_live() {
    let directory = MemoryDirectory::new("db");
    let first = loaded(&directory);
    let open_bytes = || first.store().engine().graph().live().words().open_bytes();
    let mut writing = first.store().begin();
    let key = writing.key("story").unwrap();
    for vertex in 0..64 {
        let story = Value::from("once ".repeat(20_000));
        writing.set_vertex_property(VertexId(vertex), key, Some(story)).unwrap();
    }
    first.close().unwrap();
    let next = open(&directory).unwrap();
    let before = open_bytes();
    let error = writing.commit().unwrap_err();
    assert!(error.to_string().contains("the database is closed"), "{error}");
    assert_eq!(open_bytes(), before);
    next.close().unwrap();
}

/// What is saved of a database, and the new one.
pub fn salvage(damaged: &MemoryDirectory) -> (Salvaged, OpenStore<MappedEngine>) {
    let target = MemoryDirectory::new("saved");
    let new: Arc<dyn Directory> = Arc::new(target.clone());
    let made = evergraph_storage::open::salvage::<MappedEngine>(damaged, &new, &mut go_on);
    (made.unwrap(), open(&target).unwrap())
}

/// The name of an array file.
pub fn array_file(number: u64) -> String {
    format!("array-{number:016x}")
}

/// A copy of a database with eight bytes of an array file replaced.
pub fn damaged_at(directory: &MemoryDirectory, file: u64, offset: u64) -> MemoryDirectory {
    let damaged = directory.power_cut();
    let file = damaged.open(&array_file(file), OpenMode::ReadWrite).unwrap();
    file.write_at(&[0xee; 8], offset).unwrap();
    file.sync_data().unwrap();
    damaged
}

#[test]
fn salvage_saves_what_verifies_and_names_what_does_not() {
    let directory = MemoryDirectory::new("db");
    let store = loaded(&directory);
    let before = graph(&store);
    store.close().unwrap();
    drop(store);
    let manifest = Manifest::read(&directory, MappedEngine::opens).unwrap();
    let section = Section::of(&directory, &manifest).unwrap();
    let (whole, saved) = salvage(&directory.power_cut());
    assert!(whole.losses.is_empty(), "{:?}", whole.losses);
    assert_eq!(graph(&saved), before);
    assert!(saved.check(&mut go_on).unwrap().is_healthy());

    // A column of vertices: this property alone.
    let column = section.segments[0].columns[0].place;
    let (made, saved) = salvage(&damaged_at(&directory, column.file, column.offset + 90));
    assert_eq!(made.losses.len(), 1, "{:?}", made.losses);
    assert!(made.losses[0].property.as_deref().is_some_and(|name| name.contains("id")), "{:?}", made.losses);
    let after = graph(&saved);
    assert_eq!(after.edges, before.edges);
    assert!(after.vertices.values().filter(|values| values.is_empty()).count() == 4096);

    // Lists of one side: the other one has them.
    let incoming = section
        .segments
        .iter()
        .find(|segment| segment.id.type_and_side().is_some_and(|(_, side)| side == Direction::In));
    let place = incoming.unwrap().body.unwrap();
    let (made, saved) = salvage(&damaged_at(&directory, place.file, place.offset + 90));
    assert!(made.losses.iter().all(|loss| !loss.is_missing()), "{:?}", made.losses);
    assert_eq!(graph(&saved), before);
}

#[test]
fn a_check_and_a_salvage_can_be_cancelled_at_every_question_and_leave_nothing() {
    let directory = MemoryDirectory::new("db");
    let store = open(&directory).unwrap();
    for round in 0..20_i64 {
        let run = store.store().retrying(Isolation::default(), |mut tx| {
            let (label, edge_type, key) = (tx.label("Person")?, tx.edge_type("KNOWS")?, tx.key("id")?);
            let vertex = tx.add_vertex(label, &[(key, Value::I64(round))])?;
            tx.add_edge(vertex, edge_type, vertex, &[])?;
            tx.commit()
        });
        run.unwrap();
        if round == 10 {
            store.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
        }
    }
    store.close().unwrap();
    drop(store);
    let before = directory.list().unwrap();
    let stop_after = |mut left: u32| {
        move |_: &str, _: u64, _: u64| {
            if left == 0 {
                return ControlFlow::Break(());
            }
            left -= 1;
            ControlFlow::Continue(())
        }
    };
    let (mut checks, mut salvages) = (0, 0);
    let report = loop {
        match check_files::<MappedEngine>(&directory, &mut stop_after(checks)) {
            Ok(report) => break report,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}"),
        }
        checks += 1;
    };
    assert!(report.is_healthy(), "{:?}", report.findings);
    let saved = loop {
        let target = MemoryDirectory::new("saved");
        let new: Arc<dyn Directory> = Arc::new(target.clone());
        let made =
            evergraph_storage::open::salvage::<MappedEngine>(&directory, &new, &mut stop_after(salvages));
        match made {
            Ok(saved) => break saved,
            Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}"),
        }
        assert!(target.list().unwrap().iter().all(|name| name == "lock"), "{:?}", target.list());
        salvages += 1;
    };
    assert!(saved.is_complete() && checks > 0 && salvages > 0, "{checks}, {salvages}: {saved:?}");
    assert_eq!(directory.list().unwrap(), before);
}

#[test]
fn salvage_refuses_a_file_that_it_may_not_read() {
    let directory = MemoryDirectory::new("db");
    loaded(&directory).close().unwrap();
    let damaged = FailingDirectory::new(Arc::new(directory.power_cut()));
    let target = MemoryDirectory::new("saved");
    let made = |damaged: &FailingDirectory| {
        let target: Arc<dyn Directory> = Arc::new(target.clone());
        evergraph_storage::open::salvage::<MappedEngine>(damaged, &target, &mut go_on)
    };
    damaged.plan(Fault::new(Operation::Open, "array-", std::io::ErrorKind::PermissionDenied).lasting());
    let error = made(&damaged).unwrap_err();
    assert!(error.kind() == ErrorKind::Io && error.to_string().contains("db/array-"), "{error}");
    assert!(target.list().unwrap().iter().all(|name| name == "lock"), "{:?}", target.list());
    // What is gone is damage.
    let damaged = FailingDirectory::new(Arc::new(directory.power_cut()));
    damaged.plan(Fault::new(Operation::Open, "array-", std::io::ErrorKind::NotFound).lasting());
    assert!(!made(&damaged).unwrap().is_complete());
}

#[test]
fn an_array_file_that_is_a_link_is_refused_with_what_to_do() {
    let place = tempfile::tempdir().unwrap();
    let directory: Arc<dyn Directory> = Arc::new(DiskDirectory::open(place.path()).unwrap());
    let open = || OpenStore::<MappedEngine>::open(Arc::clone(&directory), &OpenOptions::default());
    let store = open().unwrap();
    let made = store.load_within(u64::MAX, &load(), &mut |_| Ok(()), &mut |_| ControlFlow::Continue(()));
    made.unwrap();
    store.close().unwrap();
    drop(store);
    let name = directory.list().unwrap().into_iter().find(|name| name.starts_with("array-")).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let moved = elsewhere.path().join("moved");
    std::fs::copy(place.path().join(&name), &moved).unwrap();
    directory.remove(&name).unwrap();
    std::os::unix::fs::symlink(&moved, place.path().join(&name)).unwrap();
    let error = open().err().expect("it is a link");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    let text = error.to_string();
    assert!(
        text.contains(&name)
            && text.contains("is a link to a file")
            && text.contains("move the whole folder"),
        "{text}"
    );
    assert!(!place.path().join("live").exists());
    // It is where it was again.
    directory.remove(&name).unwrap();
    std::fs::copy(&moved, place.path().join(&name)).unwrap();
    assert!(open().unwrap().check(&mut go_on).unwrap().is_healthy());
}

/// Edges from one person to others, all of whom are there, so many to each.
fn more_edges(from: u32, targets: Range<u32>, times: usize) -> Load {
    let mut people = VertexTable::new("Person", vec![("id".into(), ValueType::I64)], Vec::new());
    people.existing = [from].into_iter().chain(targets.clone()).map(VertexId).collect();
    let end = |at: u32| u32::MAX - at;
    let once = (0..targets.len() as u32).map(|at| (end(0), end(at + 1)));
    let edges = EdgeBlock::bare(std::iter::repeat_n(once, times).flatten());
    Load { vertices: vec![people], edges: vec![EdgeTable::new("KNOWS", 0, 0, Vec::new(), vec![edges])] }
}

#[test]
fn a_snapshot_that_begins_while_a_load_is_made_durable_keeps_what_that_replaced() {
    let directory = MemoryDirectory::new("db");
    let store = loaded(&directory);
    let before = graph(&store);
    let mut begun = None;
    let made = store.load_within(u64::MAX, &more_edges(1, 5..9, 1), &mut |_| Ok(()), &mut |_| {
        begun.get_or_insert_with(|| store.store().snapshot());
        ControlFlow::Continue(())
    });
    made.unwrap();
    let (snapshot, engine) = (begun.unwrap(), store.store().engine());
    for _ in 0..4 {
        engine.graph().reclaim();
    }
    let now = store.store().timeline().published();
    assert!(snapshot.timestamp() < now);
    let pin = engine.pin(now);
    assert!(Graph::of(&engine.view(&pin, snapshot.timestamp())) == before, "the snapshot changed");
    assert_eq!(graph(&store).edges.len(), before.edges.len() + 4);
    drop(snapshot);
    for _ in 0..4 {
        engine.graph().reclaim();
    }
    assert_eq!(engine.statistics().retained_versions, 0);
}

#[test]
fn who_deletes_a_vertex_that_a_load_made_a_hub_conflicts() {
    let directory = MemoryDirectory::new("db");
    let store = loaded(&directory);
    let mut writing = store.store().begin();
    // None of its incoming edges changes: nothing else conflicts.
    writing.delete_vertex(VertexId(0)).unwrap();
    let made = store.load_within(u64::MAX, &more_edges(0, 4096..9000, 2), &mut |_| Ok(()), &mut |_| {
        ControlFlow::Continue(())
    });
    made.unwrap();
    assert_eq!(store.store().engine().statistics().hubs, 1);
    assert_eq!(writing.commit().unwrap_err().kind(), ErrorKind::Conflict);
}
