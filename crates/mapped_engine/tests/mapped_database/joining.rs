//! Other processes: when they may join, which `live` they join, and what the writer leaves to those who read by themselves.

use crate::stores::{PEOPLE, load, open};
use crate::support::{Database, LABEL};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{GroupId, LabelId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::{Isolation, Transaction as _};
use evergraph_mapped_engine::claimed_slots::{ClaimedSlots, reader_file};
use evergraph_mapped_engine::durable::opening::open_database;
use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph_mapped_engine::engine::options::MappedOptions;
use evergraph_mapped_engine::extents::table::ExtentOptions;
use evergraph_mapped_engine::live::{Live, WriterPresence};
use evergraph_mapped_engine::live_file::LiveFile;
use evergraph_mapped_engine::shared_catalogue::CatalogueReader;
use evergraph_mapped_engine::words::SharedWords;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::durable_engine::DurableEngine;
use evergraph_storage::engine::Engine;
use evergraph_storage::io::clock::ManualClock;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::memory_budget::MemoryBudget;
use evergraph_storage::timeline::clock::{Readable, Timeline};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Joins as another process does.
fn join(directory: &MemoryDirectory) -> Result<Arc<Live>> {
    let (file, head) = LiveFile::open(Arc::new(directory.clone()))?;
    let words = Arc::new(SharedWords::new(Arc::new(file), head.sizes));
    let live = Live::join(words, head.opening, WriterPresence::Present(Some(std::process::id())))?;
    Ok(Arc::new(live))
}

fn claim(live: &Arc<Live>, directory: &MemoryDirectory) -> Result<ClaimedSlots> {
    let (clock, directory) =
        (Arc::new(ManualClock::new(0)), Arc::new(directory.clone()) as Arc<dyn Directory>);
    ClaimedSlots::claim(Arc::clone(live), &directory, std::process::id(), clock)
}

fn busy(result: Result<Arc<Live>>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    error.to_string()
}

#[test]
fn nobody_joins_before_the_log_is_replayed_and_names_are_known() {
    let directory = MemoryDirectory::new("db");
    let shared: Arc<dyn Directory> = Arc::new(directory.clone());
    let manifest = Manifest::empty(MappedEngine::NAME, MappedEngine::empty_section(MappedEngine::NAME));
    let timeline = Arc::new(Timeline::new(Timestamp::ZERO, Readable::Published));
    let options = (MappedOptions::default(), ExtentOptions::default());
    let budget = Arc::new(MemoryBudget::new(u64::MAX));
    let engine = open_database(&shared, &manifest, &timeline, options, &budget).unwrap().engine;
    assert!(busy(join(&directory)).contains("is opening"));
    let insert = |row: u32| Mutation::InsertVertex {
        vertex: VertexId(row),
        label: LABEL,
        properties: Properties::EMPTY,
    };
    let replayed: Vec<_> = (1..=3).map(|at| (Timestamp(at), insert(at as u32))).collect();
    engine.replay(&replayed).unwrap();
    timeline.publish(Timestamp(3), &mut timeline.latch());
    // Merges go as far as what is readable, also now.
    engine.graph().merge_everything().unwrap();
    assert!(busy(join(&directory)).contains("is opening"));
    let mut catalogue = Catalogue::default();
    catalogue.apply(&SchemaChange::AddLabel { id: LabelId(0), name: "Person".into() });
    engine.catalogue_changed(Timestamp(3), &Arc::new(catalogue));
    assert!(join(&directory).is_err());
    engine.readable_grew();
    let joined = join(&directory).unwrap();
    assert_eq!(joined.readable(), Timestamp(3));
    assert_eq!(CatalogueReader::default().newest(&joined).unwrap().labels().count(), 1);
    engine.close();
    engine.readable_grew();
    assert!(busy(join(&directory)).contains("closed"));
}

#[test]
fn whoever_joined_a_live_claims_no_slots_when_it_was_made_anew() {
    let directory = MemoryDirectory::new("db");
    let first = open(&directory).unwrap();
    let joined = join(&directory).unwrap();
    drop(claim(&joined, &directory).unwrap());
    first.close().unwrap();
    drop(first);
    let next = open(&directory).unwrap();
    let error = claim(&joined, &directory).unwrap_err();
    assert!(error.kind() == ErrorKind::Busy && error.to_string().contains("meanwhile"), "{error}");
    let joined = join(&directory).unwrap();
    assert!(claim(&joined, &directory).is_ok());
    next.close().unwrap();
}

#[test]
fn the_log_stays_while_a_reader_of_an_earlier_writer_holds_its_lock() {
    let directory = MemoryDirectory::new("db");
    let insert = |row: u32| Mutation::InsertVertex {
        vertex: VertexId(row),
        label: LABEL,
        properties: Properties::EMPTY,
    };
    let commit = |database: &Database, rows: std::ops::Range<u32>| {
        for row in rows {
            database.append(&[insert(row)]).unwrap();
        }
    };
    let open = || Database::open(Arc::new(directory.clone()), Durability::Sync).unwrap();
    let logs = || directory.list().unwrap().into_iter().filter(|name| name.starts_with("log-")).count();
    let database = open();
    commit(&database, 0..2000);
    database.engine.close();
    drop(database);
    // It recovers by itself: there is no array file yet, only the log.
    let reader = directory.lock_exclusive(&reader_file(0)).unwrap();
    let database = open();
    assert!(database.engine.checkpointer().extents().is_reuse_forbidden());
    commit(&database, 2000..3000);
    let before = logs();
    assert!(before > 1);
    let made = database.checkpoint().unwrap();
    assert_eq!((made.log_bytes_freed, logs()), (0, before));
    drop(reader);
    let made = database.checkpoint().unwrap();
    assert!(made.log_bytes_freed > 0 && logs() < before);
}

#[test]
fn a_load_that_is_given_up_leaves_nothing_in_live_or_in_the_manifest() {
    let directory = MemoryDirectory::new("db");
    let store = open(&directory).unwrap();
    let run = store.store().retrying(Isolation::default(), |mut tx| {
        let label = tx.label("Person")?;
        tx.add_vertex(label, &[])?;
        tx.commit()
    });
    run.unwrap();
    store.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
    let engine = store.store().engine();
    engine.graph().reclaim();
    let all = || {
        let graph = engine.graph();
        let extents = graph.extents().statistics();
        let used = extents.file_bytes - extents.free_bytes;
        (
            engine.group_count(),
            graph.live().group_end(),
            graph.arena().used_bytes(),
            graph.bodies().count(),
            used,
        )
    };
    let before = all();
    // At different moments.
    for failing in [0, 1, 2] {
        let mut told = 0;
        let mut give_up = |_: evergraph_storage::bulk::load::LoadProgress| {
            told += 1;
            if told > failing { Err(Error::new(ErrorKind::Cancelled, "enough")) } else { Ok(()) }
        };
        let made = store.load_within(u64::MAX, &load(), &mut give_up, &mut |_| ControlFlow::Continue(()));
        assert_eq!(made.unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(all(), before, "given up when it told of progress {failing} times");
        assert!(!engine.has_group(GroupId(1)));
    }
    store.checkpoint(&mut |_| ControlFlow::Continue(())).unwrap();
    let manifest = Manifest::read(&directory, MappedEngine::opens).unwrap();
    assert_eq!(manifest.groups.len(), 1);
    let made = store.load_within(u64::MAX, &load(), &mut |_| Ok(()), &mut |_| ControlFlow::Continue(()));
    made.unwrap();
    assert_eq!(engine.graph().live().group_end(), engine.group_count());
    let pin = engine.pin(store.store().timeline().published());
    let loaded = crate::support::Graph::of(&engine.view(&pin, store.store().timeline().published()));
    assert_eq!(loaded.vertices.len(), 1 + PEOPLE as usize);
}
