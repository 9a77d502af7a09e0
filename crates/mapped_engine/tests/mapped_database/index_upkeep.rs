//! Upkeep of indexes: what builds take of memory and leave when they end, when segments are merged, and which damage is found.

use crate::indexes::{AGE, NAME, Opened, check, create, damage, look_up, opened, options, people, section};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::index::IndexKind;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph_mapped_engine::extents::header::{BLOCK_BYTES, HEADER_BYTES};
use evergraph_mapped_engine::segment::LiveSegment;
use evergraph_storage::checkpoint::report::Report;
use evergraph_storage::durable_engine::DurableEngine as _;
use evergraph_storage::engine::Engine as _;
use evergraph_storage::indexing::IndexProgress;
use evergraph_storage::io::directory::{Directory as _, OpenMode};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::sync::atomic::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;

fn segment_of(store: &Opened, number: u32) -> Arc<LiveSegment> {
    let mut found = None;
    store.store().engine().graph().groups().for_each_segment(|segment| {
        if segment.index_number() == Some(number) {
            found = Some(Arc::clone(segment));
        }
        found.is_none()
    });
    found.expect("the index has a segment")
}

fn set_ages(store: &Opened, rows: std::ops::Range<u32>, age: i64) {
    let set = store.store().transact(|tx| {
        let key = tx.key("age")?;
        rows.clone().try_for_each(|row| tx.set_vertex_property(VertexId(row), key, Some(Value::I64(age))))
    });
    set.unwrap();
}

/// What the progress of a build says when all of its scan is done: first before its body is there, then before its commit.
fn at_the_end(mut each: impl FnMut(u32) -> Result<()>) -> impl FnMut(IndexProgress) -> Result<()> {
    let mut calls = 0;
    move |done| {
        if done.groups_done < done.groups_count {
            return Ok(());
        }
        calls += 1;
        each(calls)
    }
}

#[test]
fn a_build_that_is_given_up_is_emptied_when_there_is_nothing_else_to_do() {
    let directory = MemoryDirectory::new("db");
    let store = opened(&directory);
    let added = store.store().transact(|tx| {
        let (label, age) = (tx.label("Person")?, tx.key("age")?);
        (0..200).try_for_each(|row| tx.add_vertex(label, &[(age, Value::I64(row % 9))]).map(drop))
    });
    added.unwrap();
    for last in [1, 2] {
        let given_up = store.store().create_index(
            &AGE,
            &mut at_the_end(|call| match call == last {
                true => Err(Error::new(ErrorKind::Cancelled, "enough")),
                false => Ok(()),
            }),
        );
        assert_eq!(given_up.unwrap_err().kind(), ErrorKind::Cancelled);
        let (segment, graph) = (segment_of(&store, last), store.store().engine().graph());
        assert_eq!(segment.items(), if last == 1 { 0 } else { 200 }, "the second had its body");
        graph.merge_everything().unwrap();
        assert!(!graph.is_merge_due(&segment), "nobody comes to it again and again");
        set_ages(&store, 0..1, i64::from(last) + 20);
        (0..4).for_each(|_| graph.step_merges(true));
        assert_eq!((segment.items(), segment.records()), (0, 0), "an idle moment is enough");
    }
    create(&store, &AGE);
    check(&store.store().snapshot());
}

#[test]
fn what_waits_for_a_build_makes_no_merge_due_and_no_commit_wait() {
    let directory = MemoryDirectory::new("db");
    people(&directory, 1000);
    // Without threads: one that merges beside the counts would change them.
    let store = opened(&directory);
    store.store().drop_index(AGE.owner, AGE.key, None).unwrap();
    store.store().engine().merge_everything();
    let mut seen = 0;
    let built = store.store().create_index(
        &AGE,
        &mut at_the_end(|call| {
            let graph = store.store().engine().graph();
            let segment = segment_of(&store, 3);
            if call == 1 {
                set_ages(&store, 0..900, 700);
                // What leaves and what enters.
                assert_eq!(segment.records(), 1800);
                assert!(!graph.is_merge_due(&segment), "nobody may merge it yet");
                let all = graph.counters().records.load(Ordering::Relaxed);
                assert_eq!(graph.records_waiting(), all - 1800);
                graph.merge_everything().unwrap();
                assert_eq!((segment.items(), segment.records()), (0, 1800));
            } else {
                assert_eq!((segment.items(), segment.records()), (1000, 1800));
                let all = graph.counters().records.load(Ordering::Relaxed);
                assert_eq!(graph.records_waiting(), all);
            }
            seen = call;
            Ok(())
        }),
    );
    built.unwrap();
    assert_eq!(seen, 2);
    check(&store.store().snapshot());
    store.store().engine().merge_everything();
    assert_eq!((segment_of(&store, 3).items(), segment_of(&store, 3).records()), (1000, 0));
    check(&store.store().snapshot());
}

#[test]
fn an_idle_database_writes_an_index_anew_for_a_sixty_fourth_of_it_alone() {
    let directory = MemoryDirectory::new("db");
    people(&directory, 1280);
    let store = opened(&directory);
    let graph = Arc::clone(store.store().engine().graph());
    let idle = || (0..6).for_each(|_| graph.step_merges(true));
    let ages = segment_of(&store, 2);
    set_ages(&store, 0..5, -1);
    idle();
    assert_eq!((ages.items(), ages.records()), (1280, 10), "a few records stay on top of an index");
    set_ages(&store, 5..12, -1);
    idle();
    assert_eq!((ages.items(), ages.records()), (1280, 0));
    check(&store.store().snapshot());
}

/// The drop queues the index before its commit is readable, and a database that always has something to merge is never idle.
#[test]
fn a_dropped_index_is_emptied_beside_steady_writes() {
    let directory = MemoryDirectory::new("db");
    people(&directory, 300);
    let store = opened(&directory);
    let (engine, graph) = (store.store().engine(), store.store().engine().graph());
    let (names, ages) = (segment_of(&store, 1), segment_of(&store, 2));
    let id = store.store().catalogue().indexes().find(|index| index.id.kind == IndexKind::Hash).unwrap().id;
    {
        let _latch = store.store().timeline().latch();
        engine.drop_index(id);
    }
    graph.step_merges(false);
    assert_eq!(names.items(), 300, "snapshots from before the drop look up in it");
    for age in 0..64 {
        set_ages(&store, 0..1, 100 + age);
        graph.settle_segment(&ages).unwrap();
    }
    (0..3).for_each(|_| graph.step_merges(false));
    assert_eq!((names.items(), names.records()), (0, 0));
}

/// Each try to merge a damaged index fails. It is tried for ever, and was in the way of idle merges.
#[test]
fn an_index_that_cannot_be_merged_stops_no_idle_merge_of_others() {
    let directory = MemoryDirectory::new("db");
    people(&directory, 1000);
    let (_, named) = section(&directory);
    let ages = named.segments.iter().find(|segment| segment.id.index_number() == Some(2));
    damage(&directory, ages.unwrap(), false);
    let store = opened(&directory);
    let graph = store.store().engine().graph();
    let records_of_people = || {
        let mut records = 0;
        graph.groups().for_each_segment(|segment| {
            records += if segment.index_number().is_none() { segment.records() } else { 0 };
            true
        });
        records
    };
    set_ages(&store, 0..600, 300);
    (0..4).for_each(|_| graph.step_merges(false));
    assert!(graph.is_merge_due(&segment_of(&store, 2)), "what failed is due still");
    set_ages(&store, 0..5, 301);
    assert!(records_of_people() >= 5);
    (0..4).for_each(|_| graph.step_merges(true));
    assert_eq!(records_of_people(), 0);
    assert_eq!(segment_of(&store, 2).records(), 1210);
    let error = graph.merge_everything().unwrap_err();
    assert!(error.kind() == ErrorKind::Corrupt && error.to_string().contains("array-"), "{error}");
}

/// A look-up compares the blocks of an index that it touches, not all of it.
#[test]
fn damage_in_an_index_is_an_error_of_who_looks_there_and_of_the_check() {
    let directory = MemoryDirectory::new("db");
    people(&directory, 12_000);
    let (_, named) = section(&directory);
    let names = named.segments.iter().find(|segment| segment.id.index_number() == Some(1));
    let place = names.and_then(|segment| segment.body).unwrap();
    // The last block but one: a binary search for what lies in the lower half does not touch it.
    let number = place.payload_bytes / BLOCK_BYTES as u64 - 1;
    assert!(number >= 3, "{} bytes are a few blocks", place.payload_bytes);
    let block = place.offset + HEADER_BYTES as u64 + number * BLOCK_BYTES as u64;
    let file = directory.open(&format!("array-{:016x}", place.file), OpenMode::ReadWrite).unwrap();
    file.write_at(&[0xee; 8], block + 100).unwrap();
    file.sync_data().unwrap();
    let store = opened(&directory);
    let snapshot = store.store().snapshot();
    let text = format!("array-{:016x} is corrupt at byte {block}: block crc", place.file);
    let (mut found, mut refused) = (0, 0);
    for number in (0..12_000_u32).step_by(7) {
        match look_up(&snapshot, &Value::from(format!("person {number}"))) {
            Ok(items) => {
                assert_eq!(items, [VertexId(number)]);
                found += 1;
            }
            Err(error) => {
                assert!(error.kind() == ErrorKind::Corrupt && error.to_string().contains(&text), "{error}");
                refused += 1;
            }
        }
    }
    assert!(found > 300 && refused > 300, "{found} found, {refused} refused");
    drop(snapshot);
    drop(store);
    let (manifest, _) = section(&directory);
    let mut report = Report::default();
    let go_on = &mut |_: &str, _, _| ControlFlow::Continue(());
    MappedEngine::check_files(&directory, &manifest, &mut report, go_on).unwrap();
    assert!(format!("{:?}", report.findings).contains(&text), "{:?}", report.findings);
}

#[test]
fn a_build_that_the_memory_budget_has_no_room_for_is_refused_by_name_and_leaves_nothing() {
    let directory = MemoryDirectory::new("db");
    let limited = |bytes| {
        let options = OpenOptions { memory_limit_bytes: bytes, ..options() };
        OpenStore::<MappedEngine>::open(Arc::new(directory.clone()), &options)
    };
    {
        let store = limited(64 << 20).unwrap();
        let added = store.store().transact(|tx| {
            let (label, name) = (tx.label("Person")?, tx.key("name")?);
            for number in 0..20_000 {
                tx.add_vertex(label, &[(name, Value::from(format!("person {number}")))])?;
            }
            Ok(())
        });
        added.unwrap();
    }
    // 31 bytes an entry, and twice that while they come.
    let store = limited(1 << 20).unwrap();
    let error = store.store().create_index(&NAME, &mut |_| Ok(())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.to_string().contains("for index builds exceeds the memory budget of 1.0 MiB"), "{error}");
    assert!(store.store().indexes().is_empty());
    assert!(store.store().budget().reservations().is_empty(), "{:?}", store.store().budget().reservations());
    drop(store);
    let store = limited(4 << 20).unwrap();
    create(&store, &NAME);
    assert!(store.store().budget().reservations().is_empty(), "{:?}", store.store().budget().reservations());
    check(&store.store().snapshot());
    // No manifest names it, and a database that cannot be opened cannot be helped either.
    let cut = directory.power_cut();
    let options = OpenOptions { memory_limit_bytes: 1 << 20, ..options() };
    let store = OpenStore::<MappedEngine>::open(Arc::new(cut), &options).unwrap();
    assert!(store.store().budget().reservations().is_empty(), "{:?}", store.store().budget().reservations());
    check(&store.store().snapshot());
}
