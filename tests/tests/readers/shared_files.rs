//! The files that processes share: they are there while the database is open, and no longer.

use crate::history::{checkpoint, graph_at, open_writer, write};
use crate::model::dump;
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::reader::{OpenReader, open_reader, processes};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::view::{GraphView as _, VertexCursor};
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::open::{OpenOptions, OpenStore};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

fn disk(place: &tempfile::TempDir) -> Arc<dyn Directory> {
    Arc::new(DiskDirectory::open(place.path()).unwrap())
}

fn open(directory: &Arc<dyn Directory>) -> Result<OpenReader> {
    open_reader(Arc::clone(directory), &OpenOptions::default())
}

/// Those of the files that are shared.
fn shared(directory: &Arc<dyn Directory>) -> Vec<String> {
    let names = directory.list().unwrap().into_iter();
    names.filter(|name| name == "live" || name.starts_with("reader-")).collect()
}

fn check(reader: &OpenReader) -> Timestamp {
    let snapshot = reader.store().snapshot();
    assert!(dump(&snapshot, 7) == graph_at(snapshot.timestamp()), "it is not its commits");
    snapshot.timestamp()
}

#[test]
fn they_are_gone_when_the_last_process_has_ended() {
    let place = tempfile::tempdir().unwrap();
    let directory = disk(&place);
    let writer = open_writer(&directory);
    write(&writer, 20);
    let reader = open(&directory).unwrap();
    assert_eq!(shared(&directory), ["live", "reader-0"]);
    drop(reader);
    assert_eq!(shared(&directory), ["live"]);
    // What a process left that was killed.
    directory.create("reader-5").unwrap();
    writer.close().unwrap();
    assert_eq!(shared(&directory), ["reader-63"], "the store still reads, and says so");
    drop(writer);
    assert!(shared(&directory).is_empty());
    // Nobody writes.
    let reader = open(&directory).unwrap();
    assert!(shared(&directory).is_empty(), "it has no snapshot");
    let snapshot = reader.store().snapshot();
    assert_eq!((check(&reader), shared(&directory)), (Timestamp(20), vec!["reader-0".to_owned()]));
    drop(snapshot);
    assert!(shared(&directory).is_empty());
    drop(reader);
    assert!(shared(&directory).is_empty());
}

#[test]
fn whoever_still_reads_keeps_its_own_and_joins_the_next_writer() {
    let place = tempfile::tempdir().unwrap();
    let directory = disk(&place);
    let writer = open_writer(&directory);
    write(&writer, 20);
    let reader = open(&directory).unwrap();
    let old = reader.store().snapshot();
    writer.close().unwrap();
    drop(writer);
    assert_eq!(shared(&directory), ["reader-0"]);
    assert_eq!(check(&reader), Timestamp(20));
    let next = open_writer(&directory);
    write(&next, 20);
    checkpoint(&next);
    assert_eq!(check(&reader), Timestamp(40));
    assert!(dump(&old, 7) == graph_at(Timestamp(20)), "its files were written over");
    drop(old);
    next.close().unwrap();
    drop((next, reader));
    assert!(shared(&directory).is_empty());
}

#[test]
fn a_closed_reader_is_not_listed_while_its_handle_lives() {
    let place = tempfile::tempdir().unwrap();
    let directory = disk(&place);
    let writer = open_writer(&directory);
    write(&writer, 20);
    let joined = open(&directory).unwrap();
    check(&joined);
    joined.close();
    assert!(processes(&directory).unwrap().readers.is_empty());
    writer.close().unwrap();
    drop(writer);
    let by_itself = open(&directory).unwrap();
    check(&by_itself);
    assert!(processes(&directory).unwrap().readers.is_empty(), "it holds nothing back");
    let snapshot = by_itself.store().snapshot();
    assert_eq!(processes(&directory).unwrap().readers.len(), 1);
    by_itself.close();
    assert_eq!(processes(&directory).unwrap().readers.len(), 1);
    drop(snapshot);
    assert!(processes(&directory).unwrap().readers.is_empty());
    assert!(shared(&directory).is_empty());
    drop((joined, by_itself));
}

#[test]
fn no_copy_has_them() {
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
    let writer = open_writer(&directory);
    write(&writer, 20);
    let reader = open(&directory).unwrap();
    let [copy, converted] =
        ["copy", "converted"].map(|name| Arc::new(MemoryDirectory::new(name)) as Arc<dyn Directory>);
    writer.backup(&*copy, &mut |_| ControlFlow::Continue(())).unwrap();
    writer.convert::<AnyEngine>("mapped", &converted, &mut |_, _, _| ControlFlow::Continue(())).unwrap();
    for made in [copy, converted] {
        assert!(shared(&made).is_empty(), "{:?}", shared(&made));
        check(&open(&made).unwrap());
    }
    drop(reader);
}

#[test]
fn a_refused_opening_leaves_none() {
    let whole = MemoryDirectory::new("db");
    let writer = open_writer(&(Arc::new(whole.clone()) as Arc<dyn Directory>));
    write(&writer, 20);
    writer.close().unwrap();
    drop(writer);
    let refused = |directory: &Arc<dyn Directory>| -> Error {
        OpenStore::<AnyEngine>::open(Arc::clone(directory), &OpenOptions::default())
            .err()
            .expect("it can't be opened")
    };
    let failing = Arc::new(FailingDirectory::new(Arc::new(whole.power_cut())));
    let directory: Arc<dyn Directory> = Arc::<FailingDirectory>::clone(&failing);
    for (operation, name, kind) in [
        (Operation::Allocate, "live", ErrorKind::Limit),
        // As on a network file system.
        (Operation::Map, "live", ErrorKind::Io),
        (Operation::Lock, "reader-", ErrorKind::Io),
        // While the log is replayed.
        (Operation::Read, "log-", ErrorKind::Io),
    ] {
        let cause = match kind {
            ErrorKind::Limit => std::io::ErrorKind::StorageFull,
            _ => std::io::ErrorKind::Other,
        };
        failing.plan(Fault::new(operation, name, cause));
        let error = refused(&directory);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(shared(&directory).is_empty(), "{operation:?} of {name}: {:?}", shared(&directory));
    }
    let log = directory.list().unwrap().into_iter().find(|name| name.starts_with("log-")).unwrap();
    directory.open(&log, OpenMode::ReadWrite).unwrap().write_at(&[0x55; 64], 0).unwrap();
    assert_eq!(refused(&directory).kind(), ErrorKind::Corrupt);
    assert!(shared(&directory).is_empty());
}

/// Whoever opens the database to read it finds a whole `live`, or none, whatever the writer is at.
#[test]
fn readers_come_and_go_while_writers_do() {
    let place = tempfile::tempdir().unwrap();
    let directory = disk(&place);
    let writer = open_writer(&directory);
    write(&writer, 10);
    drop(writer);
    let running = Arc::new(());
    let watched = Arc::downgrade(&running);
    std::thread::scope(|scope| {
        // Dropped at the end, also where an assertion of the writer fails: that ends the readers' loops.
        let _running = running;
        for _ in 0..2 {
            let (directory, watched) = (disk(&place), &watched);
            scope.spawn(move || {
                let mut newest = Timestamp::ZERO;
                while watched.strong_count() > 0 {
                    match open(&directory) {
                        Ok(reader) => {
                            let seen = check(&reader);
                            assert!(seen >= newest, "{seen} after {newest}");
                            newest = seen;
                        }
                        Err(error) => assert_eq!(error.kind(), ErrorKind::Busy, "{error}"),
                    }
                }
            });
        }
        for _ in 0..20 {
            let writer = open_writer(&directory);
            write(&writer, 10);
            checkpoint(&writer);
            writer.close().unwrap();
        }
    });
    assert!(shared(&directory).is_empty(), "{:?}", shared(&directory));
}

/// Bytes of array files and of the log, and how many array files there are.
fn stored(directory: &Arc<dyn Directory>) -> (u64, usize) {
    let names = directory.list().unwrap();
    let is_array = |name: &&String| name.starts_with("array-");
    let bytes_of = |name: &String| directory.open(name, OpenMode::Read).unwrap().len().unwrap();
    let bytes =
        names.iter().filter(|name| name.starts_with("array-") || name.starts_with("log-")).map(bytes_of);
    (bytes.sum(), names.iter().filter(is_array).count())
}

/// Writers that come and go made an array file each, and kept all logs, for a process that only had the database open.
#[test]
fn who_has_no_snapshot_holds_nothing_back() {
    // Who opened it while nobody wrote; who joined a writer that closed it, and has ended a snapshot since.
    for case in ["by itself", "ended since"] {
        let place = tempfile::tempdir().unwrap();
        let directory = disk(&place);
        let first = open_writer(&directory);
        write(&first, 40);
        checkpoint(&first);
        let joined = (case != "by itself").then(|| open(&directory).unwrap());
        let snapshot = joined.as_ref().map(|reader| reader.store().snapshot());
        first.close().unwrap();
        drop((first, snapshot));
        let reader = joined.unwrap_or_else(|| open(&directory).unwrap());
        let cycle = || {
            let writer = open_writer(&directory);
            write(&writer, 16);
            checkpoint(&writer);
            writer.close().unwrap();
        };
        (0..3).for_each(|_| cycle());
        let before = stored(&directory);
        (0..12).for_each(|_| cycle());
        let after = stored(&directory);
        let is_bounded = after.0 <= before.0 * 2 && after.1 <= before.1 + 1;
        assert!(
            is_bounded,
            "{case}: an idle reader holds files back: {before:?} bytes and files became {after:?}"
        );
        assert_eq!(check(&reader), Timestamp(40 + 15 * 16), "{case}");
        // With a snapshot it is kept.
        let held = reader.store().snapshot();
        (0..3).for_each(|_| cycle());
        assert!(dump(&held, 7) == graph_at(held.timestamp()), "its files were written over");
        drop(held);
        assert_eq!(check(&reader), Timestamp(40 + 18 * 16), "{case}");
    }
}

/// Open files and mappings of this process below `place`, where the system tells.
fn open_below(place: &Path) -> usize {
    let files = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let files = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    let mappings = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let below = mappings.lines().filter(|line| line.contains(place.to_str().unwrap()));
    below.count() + files.filter(|file| file.starts_with(place)).count()
}

/// With files and locks of the system. Nine of them at a time read, beside commits and merges.
#[test]
fn a_thousand_readers_that_come_and_go_leave_nothing() {
    let place = tempfile::tempdir().unwrap();
    let directory = disk(&place);
    let writer = open_writer(&directory);
    write(&writer, 20);
    let before = open_below(place.path());
    let mut reading = VecDeque::new();
    for round in 0..1000 {
        if round % 50 == 49 {
            write(&writer, 8);
        }
        let reader = open(&directory).unwrap();
        let snapshot = reader.store().snapshot();
        assert_eq!(snapshot.timestamp(), writer.store().timeline().published());
        reading.push_back((reader, snapshot));
        if reading.len() > 8 {
            let (reader, snapshot) = reading.pop_front().unwrap();
            // Every other one ends before its snapshot does.
            let reader = (round % 2 == 0).then_some(reader);
            if round % 20 == 0 {
                assert!(dump(&snapshot, 7) == graph_at(snapshot.timestamp()), "it is not its commits");
            }
            drop((snapshot, reader));
        }
    }
    let listed = processes(&directory).unwrap().readers;
    assert_eq!(listed.len(), 8);
    assert!(listed.iter().all(|reader| reader.claim < 9 && reader.snapshots == 1), "{listed:?}");
    drop(reading);
    assert!(processes(&directory).unwrap().readers.is_empty());
    assert_eq!(shared(&directory), ["live"]);
    // The writer has more by now: some files and regions, not one a reader.
    let left = open_below(place.path());
    assert!(left < before + 100, "{before} files and mappings have become {left}");
    check(&open(&directory).unwrap());
    writer.close().unwrap();
    drop(writer);
    assert!(shared(&directory).is_empty());
}

/// As a resync of a replica does it, beside processes that read.
#[test]
fn who_reads_learns_that_another_database_is_in_the_place_of_this_one() {
    let place = tempfile::tempdir().unwrap();
    let [path, moved] = ["shop.eg", "shop.eg.old"].map(|name| place.path().join(name));
    let directory: Arc<dyn Directory> = Arc::new(DiskDirectory::open_or_create(&path).unwrap());
    let writer = open_writer(&directory);
    write(&writer, 20);
    let reader = open(&directory).unwrap();
    writer.close().unwrap();
    drop(writer);
    std::fs::rename(&path, &moved).unwrap();
    assert_eq!(check(&reader), Timestamp(20), "it is read where it is");
    let other: Arc<dyn Directory> = Arc::new(DiskDirectory::open_or_create(&path).unwrap());
    let writer = open_writer(&other);
    write(&writer, 30);
    let snapshot = reader.store().snapshot();
    let error = snapshot.scan_vertices(None, &mut VertexCursor::default(), 10, &mut Vec::new()).unwrap_err();
    assert!(
        error.kind() == ErrorKind::Invalid && error.to_string().contains("another database by now"),
        "{error}"
    );
    drop(snapshot);
    assert_eq!(check(&open(&other).unwrap()), Timestamp(30));
}
