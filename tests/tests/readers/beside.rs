//! What a reader sees in the course of time: commits, names, groups, the end of a writer, and the next one.

use crate::history::{check_look_ups, checkpoint, commit, graph_at, open_writer, write};
use crate::model::dump;
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::reader::{OpenReader, open_reader, processes};
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{Direction, GroupId, VertexId};
use evergraph_graph::index::IndexKind;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::{Projection, Topology as _};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::{Freeze as _, GraphView as _, VertexCursor};
use evergraph_mapped_engine::durable::opening::open_to_read;
use evergraph_mapped_engine::engine::options::MappedOptions;
use evergraph_mapped_engine::files::section::{NamedIndexes, Section};
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::durable_engine::DurableEngine as _;
use evergraph_storage::indexing::{IndexRequest, OwnerName};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::memory::{CrashOutcome, MemoryDirectory};
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::recovered_graph::{RecoveredFiles, recover_to_read};
use evergraph_storage::snapshot::handle::Snapshot;
use evergraph_storage::timeline::clock::{Readable, Timeline};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn memory() -> Arc<dyn Directory> {
    Arc::new(MemoryDirectory::new("db"))
}

fn open(directory: &Arc<dyn Directory>) -> OpenReader {
    open_reader(Arc::clone(directory), &OpenOptions::default()).unwrap()
}

/// That a snapshot is its commits, by every way of asking, its frozen lists among them.
fn check(snapshot: &Snapshot<AnyEngine>) {
    let expected = graph_at(snapshot.timestamp());
    assert!(dump(snapshot, 7) == expected, "snapshot {} is not its commits", snapshot.timestamp());
    check_look_ups(snapshot, &expected);
    let frozen = snapshot.freeze(&Projection::all(Direction::Both)).unwrap();
    assert_eq!(frozen.edge_count(), expected.edges.len() as u64);
}

/// A frozen graph's degrees, which are in its lists.
fn degrees(frozen: &<Snapshot<AnyEngine> as evergraph_graph::view::Freeze>::Topology) -> u64 {
    let mut degrees = vec![0; frozen.bound() as usize];
    frozen.degrees(Direction::Both, 0..frozen.bound(), &mut degrees).unwrap();
    degrees.iter().map(|degree| u64::from(*degree)).sum()
}

fn is_reuse_forbidden(open: &OpenStore<AnyEngine>) -> bool {
    let AnyEngine::Mapped(engine) = &**open.store().engine() else { unreachable!("it was opened so") };
    engine.checkpointer().extents().is_reuse_forbidden()
}

#[test]
fn commits_names_and_groups_are_seen_as_they_come() {
    let place = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Directory> = Arc::new(DiskDirectory::open(place.path()).unwrap());
    for directory in [memory(), disk] {
        let writer = open_writer(&directory);
        let reader = open(&directory);
        assert_eq!(reader.store().catalogue().names_count(), 0);
        let mut kept = vec![reader.store().snapshot()];
        for round in 0..20 {
            write(&writer, 13);
            if round % 5 == 4 {
                checkpoint(&writer);
            }
            let snapshot = reader.store().snapshot();
            assert_eq!(snapshot.timestamp(), writer.store().timeline().published());
            check(&snapshot);
            kept.push(snapshot);
        }
        // 260 commits: six labels more, each with a group.
        let names = reader.store().catalogue();
        let indexes = reader.store().indexes();
        assert!(indexes.len() == 1 && indexes[0].entries >= 30, "{indexes:?}");
        assert!(names.label("City6").is_some(), "a reader lacks names of its commits");
        assert_eq!(names.label("City7"), None);
        kept.iter().for_each(check);
        let numbers = reader.store().statistics();
        assert_eq!((numbers.readers, numbers.engine.groups), (21, 7));
        assert!(numbers.engine.segments > 7 && numbers.engine.topology_bytes > 0);
        drop(kept);
        reader.close();
        writer.close().unwrap();
    }
}

/// Its own numbers, and one index more or less, beside snapshots that are kept: each look-up is what its snapshot has.
#[test]
fn an_index_that_is_dropped_and_built_again_answers_to_each_snapshot_what_it_sees() {
    let directory = memory();
    let (writer, reader) = (open_writer(&directory), open(&directory));
    let index = IndexRequest {
        owner: OwnerName::Label("Person"),
        key: "value",
        kind: IndexKind::Hash,
        unique: false,
    };
    let store = writer.store();
    let change = |from: u16, value: i64| {
        let changed = store.transact(|tx| {
            let key = tx.key("value")?;
            for row in from..from + 40 {
                let value = (row % 9 != 0).then_some(Value::I64((value + i64::from(row % 2)) % 7));
                tx.set_vertex_property(VertexId::new(GroupId(0), row), key, value)?;
            }
            Ok(())
        });
        changed.unwrap();
    };
    let added = store.transact(|tx| {
        let (label, key) = (tx.label("Person")?, tx.key("value")?);
        (0..80).try_for_each(|_| tx.add_vertex(label, &[(key, Value::I64(0))]).map(drop))
    });
    added.unwrap();
    let mut kept = Vec::new();
    for round in 0..12_i64 {
        store.create_index(&index, &mut |_| Ok(())).unwrap();
        kept.extend([reader.store().snapshot(), store.snapshot()]);
        change((round as u16 % 3) * 20, round);
        if round % 2 == 0 {
            store.engine().merge_everything();
        }
        kept.push(reader.store().snapshot());
        if round % 3 == 0 {
            checkpoint(&writer);
        }
        store.drop_index(index.owner, index.key, None).unwrap();
        store.engine().merge_everything();
        change(10, round + 1);
        kept.iter().for_each(|snapshot| check_look_ups(snapshot, &dump(snapshot, 7)));
    }
    assert!(reader.store().snapshot().catalogue().indexes().next().is_none());
}

/// As a database has it that was written before entries were segments: the writer fills the index, in a `live` that a snapshot from
/// before doesn't read.
#[test]
fn a_snapshot_from_before_an_index_was_filled_reads_everything() {
    let directory = memory();
    let writer = open_writer(&directory);
    write(&writer, 30);
    checkpoint(&writer);
    writer.close().unwrap();
    let mut manifest = Manifest::read(&*directory, AnyEngine::opens).unwrap();
    let mut section = Section::of(&*directory, &manifest).unwrap();
    assert_eq!(section.indexes.indexes.len(), 1);
    section.indexes = NamedIndexes::default();
    section.segments.retain(|segment| segment.id.index_number().is_none());
    section.put_into(&mut manifest).unwrap();
    manifest.write(&*directory, || Ok(())).unwrap();
    let reader = open(&directory);
    let (before, transaction) = (reader.store().snapshot(), reader.store().begin());
    check(&before);
    assert!(reader.store().indexes().is_empty());
    let writer = open_writer(&directory);
    let after = reader.store().snapshot();
    assert_eq!((before.timestamp(), reader.store().indexes().len()), (after.timestamp(), 1));
    check(&after);
    check(&before);
    check_look_ups(&transaction, &graph_at(before.timestamp()));
    write(&writer, 10);
    check(&reader.store().snapshot());
    check(&before);
    check_look_ups(&transaction, &graph_at(before.timestamp()));
}

#[test]
fn more_snapshots_than_slots_are_all_right() {
    let directory = memory();
    let (writer, reader) = (open_writer(&directory), open(&directory));
    let mut kept = Vec::new();
    for _ in 0..40 {
        write(&writer, 9);
        kept.push(reader.store().snapshot());
    }
    kept.iter().for_each(check);
    writer.close().unwrap();
    kept.iter().for_each(check);
}

#[test]
fn a_frozen_graph_keeps_what_it_lies_in() {
    let directory = memory();
    let writer = open_writer(&directory);
    write(&writer, 50);
    let reader = open(&directory);
    let snapshot = reader.store().snapshot();
    let frozen = snapshot.freeze(&Projection::all(Direction::Both)).unwrap();
    let before = degrees(&frozen);
    drop(snapshot);
    // The memory directory panics when bytes are written that are read.
    write(&writer, 200);
    checkpoint(&writer);
    assert_eq!(degrees(&frozen), before);
    let slots = || processes(&directory).unwrap().readers.iter().map(|reader| reader.snapshots).sum::<u32>();
    assert_eq!(slots(), 1);
    drop(frozen);
    assert_eq!(slots(), 0);
    writer.close().unwrap();
}

/// Each snapshot of a reader opens bodies anew; lists within labels are those of the bodies nevertheless. Of more bodies than were
/// remembered, each was forgotten before the next snapshot came to it.
#[test]
fn what_one_snapshot_made_for_labels_serves_the_next_but_for_what_was_merged_since() {
    for types_count in [1, 1100] {
        check_lists_within_labels(types_count);
    }
}

/// The same of people and cities between which there are edges of so many types.
fn check_lists_within_labels(types_count: u64) {
    let directory = memory();
    let writer = open_writer(&directory);
    let grow = || {
        let grown = writer.store().transact(|tx| {
            let (person, city) = (tx.label("Person")?, tx.label("City")?);
            let first = tx.add_vertex(person, &[])?;
            let others = [tx.add_vertex(person, &[])?, tx.add_vertex(city, &[])?];
            for number in 0..types_count {
                let edge_type = tx.edge_type(&format!("TYPE{number}"))?;
                for other in others {
                    tx.add_edge(first, edge_type, other, &[])?;
                }
            }
            Ok(())
        });
        grown.unwrap();
        writer.store().engine().merge_everything();
    };
    grow();
    let reader = open(&directory);
    let frozen = || {
        let snapshot = reader.store().snapshot();
        let person = reader.store().catalogue().label("Person").unwrap();
        let labels = Some(vec![person]);
        snapshot.freeze(&Projection { labels, ..Projection::all(Direction::Both) }).unwrap()
    };
    let kept_bytes = || {
        let reservations = reader.store().budget().reservations();
        reservations.iter().find(|(purpose, _)| **purpose == *"lists within labels").map(|(_, bytes)| *bytes)
    };
    let first = frozen();
    let kept = kept_bytes();
    assert!(kept.is_some() && first.edge_count() == types_count);
    let second = frozen();
    assert_eq!((second.edge_count(), kept_bytes()), (types_count, kept), "nothing was made twice");
    grow();
    assert_eq!((first.edge_count(), frozen().edge_count()), (types_count, 2 * types_count));
    assert_eq!(degrees(&first), degrees(&second));
    drop((first, second));
    writer.close().unwrap();
}

#[test]
fn a_reader_goes_on_when_the_writer_ends_and_joins_the_next_one_by_itself() {
    let directory = memory();
    let writer = open_writer(&directory);
    write(&writer, 100);
    let reader = open(&directory);
    let store = reader.store();
    let old = store.snapshot();
    assert_eq!(store.writer_process(), Some(std::process::id()));
    write(&writer, 60);
    writer.close().unwrap();
    drop(writer);
    assert_eq!(store.writer_process(), None);
    let last = store.snapshot();
    assert_eq!(last.timestamp(), Timestamp(160));
    check(&last);
    let next = open_writer(&directory);
    assert!(is_reuse_forbidden(&next), "a new writer overwrites what an older reader sees");
    // What was free at the end of the first writer is what its readers see.
    write(&next, 100);
    checkpoint(&next);
    let newest = store.snapshot();
    assert_eq!(newest.timestamp(), Timestamp(260), "a reader does not see what the next writer commits");
    assert_eq!(store.writer_process(), Some(std::process::id()));
    [&old, &last, &newest].into_iter().for_each(check);
    write(&next, 40);
    checkpoint(&next);
    [&old, &last, &newest].into_iter().for_each(check);
    assert!(is_reuse_forbidden(&next));
    drop((old, last));
    // It has joined, with a snapshot open, and keeps nothing of before.
    checkpoint(&next);
    assert!(!is_reuse_forbidden(&next), "who has joined keeps nothing of an earlier writer");
    write(&next, 100);
    checkpoint(&next);
    check(&newest);
    check(&store.snapshot());
    next.close().unwrap();
}

#[test]
fn what_nobody_writes_is_recovered_into_memory_and_stays_beside_the_next_writer() {
    let directory = memory();
    let writer = open_writer(&directory);
    write(&writer, 90);
    checkpoint(&writer);
    write(&writer, 30);
    // The newest commits are in the log alone.
    commit(writer.store()).unwrap();
    writer.close().unwrap();
    drop(writer);
    let before = directory.list().unwrap();
    let reader = open(&directory);
    let old = reader.store().snapshot();
    assert_eq!(old.timestamp(), Timestamp(121));
    check(&old);
    assert_eq!(directory.list().unwrap(), before, "a reader changes nothing");
    let listed = processes(&directory).unwrap();
    assert_eq!((listed.writer, listed.readers.len(), listed.readers[0].has_joined), (None, 1, false));

    let next = open_writer(&directory);
    assert!(is_reuse_forbidden(&next));
    write(&next, 100);
    checkpoint(&next);
    check(&old);
    let newest = reader.store().snapshot();
    assert_eq!(newest.timestamp(), Timestamp(221), "a reader does not see what the next writer commits");
    check(&newest);
    drop(old);
    checkpoint(&next);
    assert!(!is_reuse_forbidden(&next));
    write(&next, 50);
    check(&newest);
    next.close().unwrap();
}

/// The writers of two commands between two snapshots: none of them is there when the reader looks.
#[test]
fn commits_of_writers_that_come_and_go_between_two_snapshots_are_seen() {
    let place = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Directory> = Arc::new(DiskDirectory::open(place.path()).unwrap());
    for directory in [memory(), disk] {
        let first = open_writer(&directory);
        write(&first, 30);
        // One joins a writer, the other reads by itself.
        let joined = open(&directory);
        check(&joined.store().snapshot());
        first.close().unwrap();
        drop(first);
        let by_itself = open(&directory);
        let mut kept = Vec::new();
        for round in 0..8_u64 {
            let seen = Timestamp(30 + 5 * round);
            for reader in [&joined, &by_itself] {
                let snapshot = reader.store().snapshot();
                assert_eq!(snapshot.timestamp(), seen, "a reader misses what a short writer committed");
                check(&snapshot);
                assert_eq!(reader.store().snapshot().timestamp(), seen);
                // Some are held across writers, and without others the process has none.
                if round % 3 == 1 {
                    kept.push(snapshot);
                }
            }
            let writer = open_writer(&directory);
            write(&writer, 5);
            if round % 2 == 1 {
                checkpoint(&writer);
            }
            writer.close().unwrap();
            drop(writer);
            kept.iter().for_each(check);
            if round == 5 {
                kept.clear();
            }
        }
    }
}

/// The log ends where a killed writer left it, and `log_end` says nothing of its commits.
#[test]
fn commits_of_a_writer_that_was_killed_between_two_snapshots_are_seen() {
    let first = MemoryDirectory::new("db");
    let directory: Arc<dyn Directory> = Arc::new(first.clone());
    let writer = open_writer(&directory);
    write(&writer, 30);
    writer.close().unwrap();
    drop(writer);
    let mut files = RecoveredFiles::look(&*directory).unwrap();
    assert!(files.are_current(&*directory).unwrap());
    let reader = open(&directory);
    check(&reader.store().snapshot());
    let manifest = Manifest::read(&*directory, AnyEngine::opens).unwrap();
    let timeline = Arc::new(Timeline::new(manifest.covered_through, Readable::Published));
    let opened = open_to_read(&directory, &manifest, &timeline, MappedOptions::default()).unwrap();
    recover_to_read(&*directory, &manifest, (&opened.engine, &timeline), &mut files).unwrap();
    assert!(files.are_current(&*directory).unwrap());
    let writer = open_writer(&directory);
    commit(writer.store()).unwrap();
    // What is there when the process is gone: all that it wrote, nothing that it would do at its end.
    let left: Arc<dyn Directory> = Arc::new(first.crash(|_| CrashOutcome::Kept));
    assert!(!files.are_current(&*left).unwrap(), "a commit in the log alone is overlooked");
    assert_eq!(open(&left).store().snapshot().timestamp(), Timestamp(31));
    writer.close().unwrap();
    drop(writer);
    assert!(!files.are_current(&*directory).unwrap());
    assert_eq!(reader.store().snapshot().timestamp(), Timestamp(31));
}

#[test]
fn a_reader_in_an_empty_database_sees_what_comes() {
    let directory = memory();
    let writer = open_writer(&directory);
    let reader = open(&directory);
    check(&reader.store().snapshot());
    write(&writer, 1);
    check(&reader.store().snapshot());
    writer.close().unwrap();
}

#[test]
fn processes_are_told_with_their_snapshots() {
    let directory = memory();
    let writer = open_writer(&directory);
    write(&writer, 20);
    let (first, second) = (open(&directory), open(&directory));
    let snapshots = [first.store().snapshot(), first.store().snapshot()];
    write(&writer, 5);
    let later = first.store().snapshot();
    let listed = processes(&directory).unwrap();
    assert_eq!((listed.writer, listed.readable), (Some(std::process::id()), Some(Timestamp(25))));
    let told: Vec<_> = listed
        .readers
        .iter()
        .map(|reader| {
            (reader.claim, reader.has_joined, reader.snapshots, reader.oldest.map(|old| old.timestamp))
        })
        .collect();
    assert_eq!(told, [(0, true, 3, Some(Timestamp(20))), (1, true, 0, None)]);
    drop((snapshots, second));
    let listed = processes(&directory).unwrap();
    assert_eq!((listed.readers.len(), listed.readers[0].snapshots), (1, 1));
    drop((later, first));
    assert!(processes(&directory).unwrap().readers.is_empty());
    writer.close().unwrap();
}

/// The bytes that wait for each reader, as soon as they are so. A pass that meets another, of the merge thread, stores nothing: the
/// next one does.
fn retained_when(
    writer: &OpenStore<AnyEngine>,
    directory: &Arc<dyn Directory>,
    what: &str,
    is_so: impl Fn(&[u64]) -> bool,
) -> Vec<u64> {
    let begun = Instant::now();
    loop {
        writer.store().engine().merge_everything();
        let readers = processes(directory).unwrap().readers;
        let retained: Vec<u64> = readers.iter().map(|reader| reader.retained_bytes.unwrap()).collect();
        if is_so(&retained) {
            return retained;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "{what}: {retained:?} bytes");
    }
}

#[test]
fn the_bytes_that_wait_for_a_reader_are_told_until_its_snapshot_ends() {
    let directory = memory();
    let writer = open_writer(&directory);
    write(&writer, 40);
    let (first, second) = (open(&directory), open(&directory));
    retained_when(&writer, &directory, "nothing waits", |retained| *retained == [0, 0]);
    let old = first.store().snapshot();
    write(&writer, 40);
    let before = retained_when(&writer, &directory, "something for the old one", |retained| retained[0] > 0);
    assert_eq!(before[1], 0, "something waits for a process without a snapshot");
    write(&writer, 200);
    retained_when(&writer, &directory, "more for the old one", |retained| retained[0] > before[0]);
    let later = second.store().snapshot();
    write(&writer, 40);
    // What only the later one needs, beside what both do, which counts for the older.
    retained_when(&writer, &directory, "something for both", |retained| retained[0] > 0 && retained[1] > 0);
    check(&old);
    drop(old);
    retained_when(&writer, &directory, "for the later one alone", |retained| {
        retained[0] == 0 && retained[1] > 0
    });
    check(&later);
    drop(later);
    retained_when(&writer, &directory, "nothing waits any more", |retained| *retained == [0, 0]);
    drop((first, second));
    writer.close().unwrap();
}

/// The same versions wait for both snapshots: they count twice.
#[test]
fn what_waits_for_snapshots_that_began_together_is_told_of_each_process() {
    let directory = memory();
    let writer = open_writer(&directory);
    write(&writer, 40);
    let (first, second) = (open(&directory), open(&directory));
    let begun = Instant::now();
    loop {
        retained_when(&writer, &directory, "nothing waits", |retained| *retained == [0, 0]);
        let together = [first.store().snapshot(), second.store().snapshot()];
        write(&writer, 40);
        let retained = retained_when(&writer, &directory, "something waits", |retained| retained[0] > 0);
        if retained[0] == retained[1] {
            drop(together);
            break;
        }
        // The merge thread replaced something between the two: then it counts for the older.
        assert!(begun.elapsed() < Duration::from_secs(10), "{retained:?} bytes");
    }
    writer.close().unwrap();
}

#[test]
fn a_closed_reader_says_so_and_its_snapshots_go_on() {
    let directory = memory();
    let writer = open_writer(&directory);
    write(&writer, 20);
    let reader = open(&directory);
    let snapshot = reader.store().snapshot();
    reader.close();
    reader.close();
    check(&snapshot);
    let late = reader.store().snapshot();
    let refused = |scanned: Result<()>| {
        let error = scanned.unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::Invalid, "the database is closed")
        );
    };
    refused(late.scan_vertices(None, &mut VertexCursor::default(), 10, &mut Vec::new()));
    refused(late.freeze(&Projection::all(Direction::Out)).map(drop));
    drop(snapshot);
    assert!(processes(&directory).unwrap().readers.is_empty());
    writer.close().unwrap();
}

#[test]
fn a_transaction_that_reads_does_not_write() {
    let directory = memory();
    let writer = open_writer(&directory);
    write(&writer, 20);
    let reader = open(&directory);
    let store = reader.store();
    let process = std::process::id().to_string();
    let mut transaction = store.begin();
    assert!(dump(&transaction, 9) == graph_at(Timestamp(20)));
    for error in [transaction.label("Other").unwrap_err(), store.check_writable().unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(&format!("in process {process}")), "{error}");
    }
    transaction.commit().unwrap();
    writer.close().unwrap();
    assert!(store.check_writable().unwrap_err().to_string().contains("open it to be written"));
}
