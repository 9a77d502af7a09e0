//! Between writers: snapshots that begin while one process has closed the database and the next one opens it.

use crate::history::{open_writer, write};
use evergraph_engines::engine::AnyEngine;
use evergraph_engines::reader::open_reader;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Freshness;
use evergraph_graph::view::GraphView as _;
use evergraph_mapped_engine::reader::live_reader::LiveReader;
use evergraph_storage::io::clock::SystemClock;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::timeline::shared_readable::SharedReadable as _;
use evergraph_storage::unfinished_directory::LOCK_NAME;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

fn memory() -> Arc<dyn Directory> {
    Arc::new(MemoryDirectory::new("db"))
}

fn close(writer: OpenStore<AnyEngine>) {
    writer.close().unwrap();
    drop(writer);
}

/// What was read, and how many names there were: of labels that come with commits 40 and 80.
fn registered(reader: &LiveReader) -> (Timestamp, usize) {
    let pinned = reader.take_registered().unwrap();
    (pinned.timestamp(), pinned.names().labels().count())
}

#[test]
fn a_snapshot_that_was_prepared_early_shows_no_older_names_than_one_before_it() {
    let directory = memory();
    let first = open_writer(&directory);
    write(&first, 30);
    let reader = LiveReader::open(Arc::clone(&directory), Arc::new(SystemClock::new())).unwrap();
    close(first);
    let second = open_writer(&directory);
    let prepared = reader.prepare(Freshness::Applied).expect("what was read is closed");
    assert!(reader.prepare(Freshness::Applied).is_none(), "the second writer was joined");
    write(&second, 12);
    assert_eq!(reader.register(None), Some(Timestamp(42)));
    assert_eq!(registered(&reader), (Timestamp(42), 2));
    assert_eq!(reader.register(Some(prepared)), Some(Timestamp(30)));
    assert_eq!(registered(&reader), (Timestamp(30), 2));
    // What was prepared beside a writer before the last one is not shown any more.
    close(second);
    let third = open_writer(&directory);
    let prepared = reader.prepare(Freshness::Applied).expect("what was read is closed");
    close(third);
    let fourth = open_writer(&directory);
    write(&fourth, 40);
    drop(reader.begin().unwrap());
    assert_eq!(reader.register(Some(prepared)), None);
    assert!(reader.prepare(Freshness::Applied).is_none());
    assert_eq!(reader.register(None), Some(Timestamp(82)));
    assert_eq!(registered(&reader), (Timestamp(82), 3));
}

/// An open snapshot is no reason to take its moment for the newest.
#[test]
fn what_a_writer_committed_that_came_and_went_is_waited_for_while_the_next_one_opens() {
    for is_joined in [true, false] {
        let directory = memory();
        let first = open_writer(&directory);
        write(&first, 30);
        let open = || open_reader(Arc::clone(&directory), &OpenOptions::default()).unwrap();
        let (mut writer, reader);
        if is_joined {
            (writer, reader) = (Some(first), open());
        } else {
            close(first);
            (writer, reader) = (None, open());
        }
        let kept = reader.store().snapshot();
        if let Some(writer) = writer.take() {
            close(writer);
        }
        let lock = directory.lock_exclusive(LOCK_NAME).unwrap();
        if !is_joined {
            assert_eq!(reader.store().snapshot().timestamp(), Timestamp(30), "by the files nobody wrote");
        }
        drop(lock);
        let second = open_writer(&directory);
        write(&second, 5);
        close(second);
        let lock = directory.lock_exclusive(LOCK_NAME).unwrap();
        thread::scope(|scope| {
            let begun = scope.spawn(|| reader.store().snapshot().timestamp());
            thread::sleep(Duration::from_millis(50));
            drop(lock);
            assert_eq!(begun.join().unwrap(), Timestamp(35), "joined: {is_joined}");
        });
        assert_eq!(kept.timestamp(), Timestamp(30));
        drop(kept);
    }
}

#[test]
fn all_of_sixty_four_processes_go_on_with_the_next_writer() {
    let directory = memory();
    let first = open_writer(&directory);
    write(&first, 5);
    let open = || LiveReader::open(Arc::clone(&directory), Arc::new(SystemClock::new()));
    let readers: Vec<_> = (0..64).map(|_| open().unwrap()).collect();
    assert_eq!(open().err().as_ref().map(Error::kind), Some(ErrorKind::Limit));
    close(first);
    let second = open_writer(&directory);
    write(&second, 1);
    for reader in &readers {
        assert_eq!(reader.begin().unwrap().timestamp(), Timestamp(6));
    }
    close(second);
    let third = open_writer(&directory);
    write(&third, 1);
    for reader in &readers {
        assert_eq!(reader.begin().unwrap().timestamp(), Timestamp(7));
    }
}
