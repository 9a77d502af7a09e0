//! Extents: written, read in place, opened again, given back; full disks, failures and damage.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

use evergraph_graph::timestamp::Timestamp;
use evergraph_mapped_engine::extents::array_file::file_name;
use evergraph_mapped_engine::extents::header::{ExtentHeader, ExtentKind, ExtentPlace, HEADER_BYTES};
use evergraph_mapped_engine::extents::stored_extent::StoredExtent;
use evergraph_mapped_engine::extents::table::{ExtentOptions, Extents, Reuse};
use evergraph_storage::checkpoint::error::CheckpointError;
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::write_unit::WriteUnit;
use std::io::ErrorKind;
use std::sync::Arc;

const SMALL: ExtentOptions = ExtentOptions { first_file_bytes: 16 << 10, file_bytes_max: 64 << 10 };

fn header(segment: u64) -> ExtentHeader {
    ExtentHeader { kind: ExtentKind::Body, segment, base: Timestamp(segment * 10) }
}

/// The payload of a segment.
fn payload(segment: u64, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at as u64 * 7 + segment) as u8).collect()
}

fn open(
    directory: &Arc<dyn Directory>,
    named: &[&StoredExtent],
    reuse: Reuse,
) -> Result<(Extents, Vec<StoredExtent>), CheckpointError> {
    let named = named.iter().map(|extent| (extent.place(), extent.header()));
    Extents::open(Arc::clone(directory), SMALL, named, reuse)
}

fn empty(directory: &Arc<dyn Directory>) -> Extents {
    open(directory, &[], Reuse::Allowed).unwrap().0
}

/// A directory of the system, and two in memory.
fn directories() -> Vec<(Option<tempfile::TempDir>, Arc<dyn Directory>)> {
    let place = tempfile::tempdir().unwrap();
    let disk: Arc<dyn Directory> = Arc::new(DiskDirectory::open(place.path()).unwrap());
    let memory = |unit| -> Arc<dyn Directory> { Arc::new(MemoryDirectory::new("db").with_unit(unit)) };
    vec![(Some(place), disk), (None, memory(WriteUnit::PAGE)), (None, memory(WriteUnit::LINE))]
}

/// The next file would be twice as large as the one before: a disk that has half of that is enough.
#[test]
fn a_disk_without_room_for_a_large_file_gets_a_smaller_one() {
    let memory = MemoryDirectory::new("db");
    let failing = FailingDirectory::new(Arc::new(memory.clone()));
    let directory: Arc<dyn Directory> = Arc::new(failing.clone());
    let extents = empty(&directory);
    let full = || Fault::new(Operation::Allocate, "array-", ErrorKind::StorageFull);
    failing.plan(full());
    failing.plan(full().nth(2));
    let first = extents.write(header(1), &payload(1, 100)).unwrap();
    let lengths = || {
        let names = memory.list().unwrap();
        let length = |name: &String| memory.open(name, OpenMode::Read).unwrap().len().unwrap();
        names.iter().filter(|name| name.starts_with("array-")).map(length).collect::<Vec<_>>()
    };
    assert_eq!(lengths(), [4096], "a quarter, and nothing of what was tried before");
    let second = extents.write(header(2), &payload(2, 100)).unwrap();
    assert_eq!(lengths(), [4096, 16 << 10], "with room again the next one has the size that was due");
    failing.plan(full().lasting());
    let error = extents.write(header(3), &payload(3, 40_000)).unwrap_err();
    assert!(error.to_string().contains("array-"), "{error}");
    assert_eq!(lengths().len(), 2);
    assert_eq!((first.payload().unwrap().len(), second.payload().unwrap().len()), (100, 100));
}

/// As when a process that writes is killed again and again beside processes that read, which have not joined the next one yet.
#[test]
fn an_opening_that_must_not_reuse_files_makes_one_for_what_is_stored_and_not_a_larger_one_each_time() {
    let memory = MemoryDirectory::new("db");
    let directory: Arc<dyn Directory> = Arc::new(memory.clone());
    let mut stored = empty(&directory).write(header(1), &payload(1, 12_000)).unwrap();
    let length = |extent: &StoredExtent| {
        memory.open(&file_name(extent.place().file), OpenMode::Read).unwrap().len().unwrap()
    };
    for opening in 2..12 {
        let (extents, _) = open(&directory, &[&stored], Reuse::Forbidden).unwrap();
        stored = extents.write(header(opening), &payload(opening, 12_000)).unwrap();
        extents.sync().unwrap();
        assert_eq!((stored.place().file, length(&stored)), (opening, SMALL.first_file_bytes));
    }
    // With as much as two of the first size the next file is a larger one.
    let (extents, _) = open(&directory, &[&stored], Reuse::Forbidden).unwrap();
    let next = extents.write(header(12), &payload(12, 30_000)).unwrap();
    extents.sync().unwrap();
    let (extents, _) = open(&directory, &[&stored, &next], Reuse::Forbidden).unwrap();
    let last = extents.write(header(13), &payload(13, 100)).unwrap();
    assert_eq!(length(&last), SMALL.file_bytes_max);
}

#[test]
fn extents_are_read_in_place_and_found_again() {
    for (_place, directory) in directories() {
        let extents = empty(&directory);
        let lengths = [0, 1, 3000, 4032, 4033, 20_000, 100_000];
        let write = |(segment, length): (u64, &usize)| {
            extents.write(header(segment), &payload(segment, *length)).unwrap()
        };
        let stored: Vec<StoredExtent> = (1..).zip(&lengths).map(write).collect();
        let check = |stored: &[StoredExtent]| {
            for ((segment, length), extent) in (1..).zip(&lengths).zip(stored) {
                assert!(extent.payload().unwrap() == payload(segment, *length), "segment {segment}");
                assert_eq!(extent.header(), header(segment));
            }
        };
        check(&stored);
        assert!(stored.iter().all(|extent| !extent.is_durable()));
        extents.sync().unwrap();
        assert!(stored.iter().all(StoredExtent::is_durable));
        // 16, 32 and 64 KiB, and one for the longest.
        assert!(extents.statistics().files_count <= 4, "{:?}", extents.statistics());

        let named: Vec<&StoredExtent> = stored.iter().collect();
        let (again, found) = open(&directory, &named, Reuse::Allowed).unwrap();
        check(&found);
        assert!(found.iter().all(StoredExtent::is_durable));
        assert_eq!(again.statistics(), extents.statistics());
    }
}

#[test]
fn bytes_are_written_again_when_the_last_who_needs_them_is_gone() {
    for (_place, directory) in directories() {
        let extents = empty(&directory);
        let first = Arc::new(extents.write(header(1), &payload(1, 9000)).unwrap());
        let place = first.place();
        let (live, checkpoint, snapshot) = (Arc::clone(&first), Arc::clone(&first), first);
        let mut others = Vec::new();
        for (segment, holder) in (2..).zip([live, checkpoint]) {
            drop(holder);
            let other = extents.write(header(segment), &payload(segment, 9000)).unwrap();
            assert!(other.place() != place && snapshot.payload().unwrap() == payload(1, 9000));
            others.push(other);
        }
        drop(snapshot);
        let next = extents.write(header(4), &payload(4, 9000)).unwrap();
        assert_eq!(next.place(), place, "the shortest free range of the oldest file");
        assert_eq!(next.payload().unwrap(), payload(4, 9000));
        assert_eq!(others[0].payload().unwrap(), payload(2, 9000));
    }
}

#[test]
fn files_without_extents_go_and_what_nothing_names_goes_at_opening() {
    let memory = MemoryDirectory::new("db");
    let directory: Arc<dyn Directory> = Arc::new(memory.clone());
    let extents = empty(&directory);
    let stored: Vec<_> =
        (1..=4).map(|segment| extents.write(header(segment), &payload(segment, 12_000)).unwrap()).collect();
    assert_eq!(directory.list().unwrap(), [1, 2, 3].map(file_name));
    let [first, second, third, last] = stored.try_into().unwrap();
    assert_eq!(extents.remove_empty_files().unwrap(), 0);
    drop(first);
    assert_eq!(extents.remove_empty_files().unwrap(), 1);
    drop((third, last));
    assert_eq!(extents.remove_empty_files().unwrap(), 0, "the newest stays");
    assert_eq!(directory.list().unwrap(), [2, 3].map(file_name));
    extents.sync().unwrap();

    let (_, found) = open(&directory, &[&second], Reuse::Allowed).unwrap();
    assert_eq!(found[0].payload().unwrap(), payload(2, 12_000));
    assert_eq!(directory.list().unwrap(), [file_name(2)]);
}

/// What a load does that is given up, beside a merge that goes on.
#[test]
fn new_files_go_with_the_last_extent_in_them_and_the_next_one_is_as_if_they_had_never_been() {
    let memory = MemoryDirectory::new("db");
    let directory: Arc<dyn Directory> = Arc::new(memory.clone());
    let extents = empty(&directory);
    let write = |segment| extents.write(header(segment), &payload(segment, 12_000)).unwrap();
    let before = write(1);
    let first = extents.next_number();
    let (load, merge) = ([2, 3, 4].map(write), write(5));
    assert_eq!(directory.list().unwrap(), [1, 2, 3].map(file_name));
    assert_eq!(extents.remove_empty_files_from(first).unwrap(), 0);
    drop(load);
    assert_eq!(extents.remove_empty_files_from(first).unwrap(), 1);
    assert_eq!(directory.list().unwrap(), [1, 3].map(file_name));
    assert_eq!(merge.payload().unwrap(), payload(5, 12_000));
    drop(merge);
    assert_eq!(extents.remove_empty_files_from(first).unwrap(), 1, "the newest goes, too");
    assert_eq!(directory.list().unwrap(), [file_name(1)]);
    let next = write(6);
    let bytes = memory.open(&file_name(4), OpenMode::Read).unwrap().len().unwrap();
    assert_eq!((next.place().file, bytes), (4, 32 << 10), "a number of its own, and the second size");
    drop((before, next));
    assert_eq!(extents.remove_empty_files_from(first).unwrap(), 1);
    assert_eq!(directory.list().unwrap(), [file_name(1)], "it was there before");
}

#[test]
fn what_readers_of_a_dead_writer_may_need_is_neither_written_nor_removed() {
    let memory = MemoryDirectory::new("db");
    let directory: Arc<dyn Directory> = Arc::new(memory.clone());
    let writer = empty(&directory);
    let kept = writer.write(header(1), &payload(1, 5000)).unwrap();
    let unnamed: Vec<_> =
        (2..=6).map(|segment| writer.write(header(segment), &payload(segment, 5000)).unwrap()).collect();
    writer.sync().unwrap();
    let before = directory.list().unwrap();

    let (extents, _found) = open(&directory, &[&kept], Reuse::Forbidden).unwrap();
    // The heap form panics if one of these is written while it is read.
    let fresh: Vec<_> =
        (7..=9).map(|segment| extents.write(header(segment), &payload(segment, 5000)).unwrap()).collect();
    let newest_before = unnamed.iter().map(|extent| extent.place().file).max().unwrap();
    assert!(fresh.iter().all(|extent| extent.place().file > newest_before));
    assert!(before.iter().all(|name| directory.exists(name).unwrap()));
    for (segment, extent) in (2..).zip(&unnamed) {
        assert_eq!(extent.payload().unwrap(), payload(segment, 5000));
    }
    drop((unnamed, writer));
    extents.allow_reuse().unwrap();
    assert!(!directory.exists(&file_name(newest_before)).unwrap(), "it has no extent that is named");
    let reused = extents.write(header(10), &payload(10, 4000)).unwrap();
    assert_eq!(reused.place().file, kept.place().file);
}

#[test]
fn a_full_disk_is_a_limit_that_heals() {
    let failing = FailingDirectory::new(Arc::new(MemoryDirectory::new("db")));
    let directory: Arc<dyn Directory> = Arc::new(failing.clone());
    let extents = empty(&directory);
    failing.plan(Fault::new(Operation::Allocate, "array-", ErrorKind::StorageFull).lasting());
    let error = evergraph_graph::error::Error::from(extents.write(header(1), &[1]).unwrap_err());
    failing.heal();
    assert_eq!(error.kind(), evergraph_graph::error::ErrorKind::Limit);
    assert!(error.to_string().contains("array-"), "{error}");
    assert_eq!(directory.list().unwrap(), [""; 0]);
    assert_eq!(extents.write(header(1), &[1]).unwrap().payload().unwrap(), [1]);
}

#[test]
fn after_a_failed_write_its_bytes_rest_until_the_next_opening() {
    let failing = FailingDirectory::new(Arc::new(MemoryDirectory::new("db")));
    let directory: Arc<dyn Directory> = Arc::new(failing.clone());
    let extents = empty(&directory);
    failing.plan(Fault::new(Operation::Write, "array-", ErrorKind::Other));
    let error = extents.write(header(1), &[1]).unwrap_err();
    assert!(error.to_string().contains("array-0000000000000001 at byte 0"), "{error}");
    let second = extents.write(header(2), &[2]).unwrap();
    assert_eq!(second.place().offset, 4096, "the bytes of a failed write rest");
    drop(second);
    assert_eq!(extents.write(header(3), &[3]).unwrap().place().offset, 4096);
    extents.sync().unwrap();
    let named = extents.write(header(4), &[4]).unwrap();
    extents.sync().unwrap();
    let (again, _found) = open(&directory, &[&named], Reuse::Allowed).unwrap();
    assert_eq!(again.write(header(5), &[5]).unwrap().place().offset, 0);
}

#[test]
fn after_a_failed_sync_new_extents_go_elsewhere_and_old_ones_are_never_durable() {
    let failing = FailingDirectory::new(Arc::new(MemoryDirectory::new("db")));
    let directory: Arc<dyn Directory> = Arc::new(failing.clone());
    let extents = empty(&directory);
    let first = extents.write(header(1), &[1]).unwrap();
    extents.sync().unwrap();
    let second = extents.write(header(2), &[2]).unwrap();
    failing.plan(Fault::new(Operation::Sync, "array-", ErrorKind::Other));
    assert!(extents.sync().unwrap_err().to_string().starts_with("sync "));
    let third = extents.write(header(3), &[3]).unwrap();
    assert_eq!(
        (second.place().file, third.place().file),
        (1, 2),
        "a file whose sync failed is written no more"
    );
    extents.sync().unwrap();
    let durable = [&first, &second, &third].map(StoredExtent::is_durable);
    assert_eq!(durable, [true, false, true], "what a failed sync left is never durable");
    assert_eq!(second.payload().unwrap(), [2], "it is read all the same");
}

#[test]
fn damage_is_found_at_the_first_touch_by_file_and_byte_and_spares_others() {
    let memory = MemoryDirectory::new("db");
    let directory: Arc<dyn Directory> = Arc::new(memory.clone());
    let extents = empty(&directory);
    let stored = [1, 2].map(|segment| extents.write(header(segment), &payload(segment, 500)).unwrap());
    extents.sync().unwrap();
    for at in (0..HEADER_BYTES + 500).step_by(3) {
        let damaged: Arc<dyn Directory> = Arc::new(memory.crash(|_| unreachable!("all is synced")));
        let file = damaged.open(&file_name(1), OpenMode::ReadWrite).unwrap();
        let mut byte = [0];
        let offset = stored[1].place().offset + at as u64;
        file.read_at(&mut byte, offset).unwrap();
        file.write_at(&[byte[0] ^ 0x40], offset).unwrap();
        let (_, found) = open(&damaged, &[&stored[0], &stored[1]], Reuse::Allowed).unwrap();
        assert_eq!(found[0].payload().unwrap(), payload(1, 500));
        let error = found[1].payload().expect_err("damage is noticed");
        let text = error.to_string();
        let is_named =
            matches!(error, CheckpointError::Corrupt { offset, .. } if offset >= stored[1].place().offset);
        assert!(is_named && text.contains("array-0000000000000001 is corrupt at byte"), "{text}");
    }
}

#[test]
fn a_manifest_that_names_what_is_not_there_is_corrupt() {
    let memory = MemoryDirectory::new("db");
    let directory: Arc<dyn Directory> = Arc::new(memory.clone());
    let extents = empty(&directory);
    let stored = extents.write(header(1), &payload(1, 9000)).unwrap();
    extents.sync().unwrap();
    let place = stored.place();
    let refused = |directory: Arc<dyn Directory>, places: &[ExtentPlace], text: &str| {
        let named = places.iter().map(|place| (*place, header(1)));
        let error = Extents::open(directory, SMALL, named, Reuse::Allowed).unwrap_err();
        assert!(matches!(error, CheckpointError::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains(text), "{error}");
    };
    let image = || -> Arc<dyn Directory> { Arc::new(memory.power_cut()) };
    refused(
        image(),
        &[ExtentPlace { file: 7, ..place }],
        "array-0000000000000007 is corrupt at byte 0: an extent",
    );
    for beyond in [16 << 10, 8 << 10, u64::MAX - 100, !4095] {
        refused(image(), &[ExtentPlace { offset: beyond, ..place }], "beyond the end");
    }
    for payload_bytes in [20_000, u64::MAX, u64::MAX - 64] {
        refused(image(), &[ExtentPlace { payload_bytes, ..place }], "beyond the end");
    }
    refused(image(), &[ExtentPlace { offset: 100, ..place }], "at no multiple of the write unit");
    refused(image(), &[place, ExtentPlace { offset: 8192, payload_bytes: 10, ..place }], "bytes in common");
    for (length, text) in [(8 << 10, "beyond the end"), (0, "is empty")] {
        let cut = image();
        cut.open(&file_name(1), OpenMode::ReadWrite).unwrap().set_len(length).unwrap();
        refused(cut, &[place], text);
    }
}

#[test]
fn threads_write_read_and_give_back_at_once() {
    for (_place, directory) in directories() {
        let extents = Arc::new(empty(&directory));
        let threads: Vec<_> = (1..=4_u64)
            .map(|thread| {
                let extents = Arc::clone(&extents);
                evergraph_storage::sync::thread::spawn("extents", move || {
                    let mut kept = Vec::new();
                    for round in 0..60 {
                        let segment = thread * 1000 + round;
                        let length = (segment * 7919 % 9000) as usize;
                        kept.push((
                            segment,
                            extents.write(header(segment), &payload(segment, length)).unwrap(),
                        ));
                        if round % 5 == 4 {
                            kept.swap_remove(round as usize % kept.len());
                        }
                        if round % 20 == 19 {
                            extents.sync().unwrap();
                        }
                    }
                    for (segment, extent) in &kept {
                        let length = (segment * 7919 % 9000) as usize;
                        assert!(extent.payload().unwrap() == payload(*segment, length), "segment {segment}");
                    }
                })
                .unwrap()
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        let statistics = extents.statistics();
        assert_eq!(statistics.free_bytes, statistics.file_bytes, "all was given back");
    }
}
