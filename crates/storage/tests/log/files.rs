//! Log files come and go: roll-over, long frames, pruning, statistics, closing.

use std::sync::Arc;
use std::time::Duration;

use evergraph_storage::io::dax::{DaxDirectory, Emulation};
use evergraph_storage::io::directory::{Directory, OpenMode};
use evergraph_storage::io::memory::{CrashOutcome, MemoryDirectory};
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::io::write_unit::WriteUnit;
use evergraph_storage::log::error::LogError;
use evergraph_storage::log::file::file_name;
use evergraph_storage::log::frame::{FRAME_HEADER_BYTES, payload_crc};
use evergraph_storage::log::options::{Durability, LogOptions};
use evergraph_storage::log::recovery::{Replay, recover};
use evergraph_storage::log::writer::{Log, LogStatistics};

use crate::support::{append, commit, log_files, open, payload, read, small_files, stepped, timestamps};

#[test]
fn a_log_goes_on_over_many_small_files_and_openings() {
    let directory = MemoryDirectory::new("db");
    let mut ts = 0;
    for opening in 0..6 {
        let log = open(&directory, small_files(Durability::Sync)).unwrap();
        for _ in 0..30 {
            ts += 1;
            commit(&log, ts).unwrap();
        }
        if opening % 2 == 0 {
            log.close().unwrap();
            assert!(matches!(log.reserve(0), Err(LogError::Closed)));
        }
    }
    assert!(log_files(&directory).len() > 30);
    assert_eq!(timestamps(&directory.power_cut()), (1..=ts).collect::<Vec<_>>());
    let (_, found) = read(&directory, Replay { after_ts: 100, need_ts: ts, ..Replay::default() }).unwrap();
    assert_eq!(found, (101..=ts).collect::<Vec<_>>());
}

#[test]
fn a_log_goes_on_where_the_unit_is_another() {
    let mut directory = MemoryDirectory::new("db");
    let mut ts = 0;
    for unit in [WriteUnit::LINE, WriteUnit::PAGE, WriteUnit::LINE, WriteUnit::LINE, WriteUnit::PAGE] {
        directory = directory.power_cut().with_unit(unit);
        let log = open(&directory, LogOptions::default()).unwrap();
        let mut expected = log.statistics().batch_bytes;
        for _ in 0..9 {
            ts += 1;
            commit(&log, ts).unwrap();
            expected += unit.round_up((FRAME_HEADER_BYTES + payload(ts).len()) as u64);
        }
        assert_eq!(log.statistics().batch_bytes, expected, "whole units a commit");
        log.close().unwrap();
        let replay = Replay { need_ts: ts, ..Replay::default() };
        let (_, found) = read(&directory.power_cut(), replay).unwrap();
        assert_eq!(found, (1..=ts).collect::<Vec<_>>(), "{unit:?}");
    }
    assert_eq!(log_files(&directory).len(), 4, "the one that a like unit follows is continued");
}

#[test]
fn a_log_on_emulated_persistent_memory_is_found_again() {
    let place = tempfile::tempdir().unwrap();
    let directory: Arc<dyn Directory> = match DaxDirectory::open(place.path(), Emulation::Demanded) {
        Ok(directory) => Arc::new(directory),
        // A processor without the instructions, which the error names.
        Err(error) => return assert_eq!(error.kind(), std::io::ErrorKind::Unsupported, "{error}"),
    };
    for opening in 0..4 {
        let (recovered, found) = read(&*directory, Replay::default()).unwrap();
        assert_eq!(found, (1..=opening * 20).collect::<Vec<_>>());
        let (options, random) = (small_files(Durability::Sync), Box::new(SplitMix64::new(1)));
        let log = Log::open(Arc::clone(&directory), recovered, options, random).unwrap();
        for ts in opening * 20 + 1..=(opening + 1) * 20 {
            commit(&log, ts).unwrap();
        }
        if opening % 2 == 0 {
            log.close().unwrap();
        }
    }
}

#[test]
fn a_frame_longer_than_a_log_file_gets_a_file_of_its_own_size() {
    let directory = MemoryDirectory::new("db");
    let log = open(&directory, small_files(Durability::Sync)).unwrap();
    let long = vec![7; 300_000];
    let mut expected = Vec::new();
    for ts in 1..=6 {
        let payload = if ts % 2 == 0 { &long[..] } else { &b"short"[..] };
        let space = log.reserve(payload.len()).unwrap();
        log.append(space, ts, payload, payload_crc(payload));
        log.acknowledge(ts).unwrap();
        expected.push((ts, payload.len()));
    }
    let mut found = Vec::new();
    recover(&directory.power_cut(), Replay::default(), |ts, payload| {
        found.push((ts, payload.len()));
        Ok::<_, LogError>(())
    })
    .unwrap();
    assert_eq!(found, expected);
    assert!(matches!(log.reserve((1 << 30) + 1), Err(LogError::TooLarge { .. })));
}

#[test]
fn space_that_was_reserved_and_not_used_is_given_back() {
    let directory = MemoryDirectory::new("db");
    let log = open(&directory, LogOptions::default()).unwrap();
    // Four times what the first file holds.
    for _ in 0..1000 {
        drop(log.reserve(4000).unwrap());
    }
    commit(&log, 1).unwrap();
    assert_eq!(log.statistics().files_count, 1);
}

#[test]
fn pruning_removes_what_a_checkpoint_covers_and_nothing_else() {
    let directory = MemoryDirectory::new("db");
    let log = open(&directory, stepped(small_files(Durability::Sync))).unwrap();
    (1..=60).for_each(|ts| commit(&log, ts).unwrap());
    let (disk_bytes, files) = (log.disk_bytes(), log_files(&directory).len());
    let freed = log.prune(40).unwrap();
    assert!(freed > 0 && log_files(&directory).len() < files);
    assert_eq!(log.disk_bytes(), disk_bytes - freed);
    let (_, found) = read(&directory, Replay { after_ts: 40, need_ts: 60, ..Replay::default() }).unwrap();
    assert_eq!(found, (41..=60).collect::<Vec<_>>());
    assert!(matches!(read(&directory, Replay::default()), Err(LogError::Missing { .. })));
    log.close().unwrap();

    // The newest file stays, even if nothing in it is needed: it says where the log ends.
    let (recovered, _) = read(&directory, Replay { after_ts: 60, need_ts: 60, ..Replay::default() }).unwrap();
    let options = small_files(Durability::Sync);
    let random = Box::new(evergraph_storage::io::random::SplitMix64::new(2));
    let log = evergraph_storage::log::writer::Log::open(
        std::sync::Arc::new(directory.clone()),
        recovered,
        options,
        random,
    )
    .unwrap();
    log.prune(60).unwrap();
    assert_eq!(log_files(&directory).len(), 1);
    assert_eq!(
        read(&directory, Replay { after_ts: 60, need_ts: 60, ..Replay::default() }).unwrap().0.last_ts,
        60
    );
    commit(&log, 61).unwrap();
    log.prune(60).unwrap();
    let (recovered, found) =
        read(&directory.power_cut(), Replay { after_ts: 60, need_ts: 61, ..Replay::default() }).unwrap();
    assert_eq!((recovered.last_ts, found), (61, vec![61]));
}

/// A removal may be lost in a power cut and a later one kept: then old files are there, with a
/// hole among them.
#[test]
fn old_files_that_came_back_do_no_harm_and_are_removed_again() {
    let directory = MemoryDirectory::new("db");
    let log = open(&directory, small_files(Durability::Sync)).unwrap();
    (1..=60).for_each(|ts| commit(&log, ts).unwrap());
    log.close().unwrap();
    let names = log_files(&directory);
    directory.remove(&names[1]).unwrap();
    let (recovered, found) =
        read(&directory, Replay { after_ts: 50, need_ts: 60, ..Replay::default() }).unwrap();
    assert_eq!(found, (51..=60).collect::<Vec<_>>());
    let random = Box::new(evergraph_storage::io::random::SplitMix64::new(2));
    let options = small_files(Durability::Sync);
    let log = evergraph_storage::log::writer::Log::open(
        std::sync::Arc::new(directory.clone()),
        recovered,
        options,
        random,
    )
    .unwrap();
    log.prune(50).unwrap();
    assert!(!directory.exists(&names[0]).unwrap());
    assert_eq!(read(&directory, Replay { after_ts: 50, need_ts: 60, ..Replay::default() }).unwrap().1, found);
}

#[test]
fn a_small_log_stays_small_and_an_opening_writes_nothing() {
    let directory = MemoryDirectory::new("db");
    for ts in 1..=3 {
        let log = open(&directory, LogOptions::default()).unwrap();
        commit(&log, ts).unwrap();
        log.close().unwrap();
        let before = directory.read_all(&file_name(1), 2 << 20).unwrap();
        open(&directory, LogOptions::default()).unwrap().close().unwrap();
        assert!(directory.read_all(&file_name(1), 2 << 20).unwrap() == before);
    }
    let log = open(&directory, LogOptions::default()).unwrap();
    assert_eq!((log.statistics().files_count, log.disk_bytes()), (1, 1 << 20));
    assert_eq!(timestamps(&directory.power_cut()), [1, 2, 3]);
}

/// Each opening began a log file of its own: a thousand runs that commit once left a thousand of 1 MiB.
#[test]
fn hundreds_of_openings_that_commit_once_leave_few_log_files() {
    for closes in [true, false] {
        let directory = MemoryDirectory::new("db");
        // More than the first log file holds.
        for ts in 1..=400 {
            let log = open(&directory, stepped(LogOptions::default())).unwrap();
            commit(&log, ts).unwrap();
            if closes {
                log.close().unwrap();
            } else {
                // As a process that was killed does.
                std::mem::forget(log);
            }
        }
        let log = open(&directory, stepped(LogOptions::default())).unwrap();
        let LogStatistics { files_count, disk_bytes, .. } = log.statistics();
        assert!(files_count <= 16 && disk_bytes <= 16 << 20, "{files_count} files, {disk_bytes} bytes");
        assert_eq!(timestamps(&directory.power_cut()), (1..=400).collect::<Vec<_>>());
    }
}

/// A crash can lose a batch and keep the next one. If the log went on before that one, it would pass for a
/// commit that follows.
#[test]
fn a_log_with_something_behind_its_end_goes_on_in_a_new_file() {
    let directory = MemoryDirectory::new("db");
    let options = LogOptions { spill_bytes: 1, ..stepped(small_files(Durability::None)) };
    let options = LogOptions { first_file_bytes: 6 * 4096, ..options };
    let log = open(&directory, options.clone()).unwrap();
    (1..=3).for_each(|ts| commit(&log, ts).unwrap());
    let image = directory.crash(|_| CrashOutcome::Kept);
    let bytes = image.read_all(&file_name(1), 1 << 20).unwrap();
    let batches: Vec<usize> =
        (4096..bytes.len()).step_by(4096).filter(|at| bytes[*at..].starts_with(b"EvFm")).collect();
    assert_eq!(batches.len(), 3);
    let file = image.open(&file_name(1), OpenMode::ReadWrite).unwrap();
    file.write_at(&vec![0; batches[2] - batches[1]], batches[1] as u64).unwrap();
    assert_eq!(timestamps(&image), [1]);
    let log = open(&image, options).unwrap();
    commit(&log, 2).unwrap();
    log.wait_durable(2).unwrap();
    assert_eq!(timestamps(&image.power_cut()), [1, 2]);
    assert!(image.exists(&file_name(2)).unwrap());
}

#[test]
fn an_idle_log_is_sealed_once() {
    let directory = MemoryDirectory::new("db");
    let options = LogOptions { seal_after: Duration::from_millis(5), ..LogOptions::default() };
    let log = open(&directory, options).unwrap();
    commit(&log, 1).unwrap();
    while log.statistics().batches_count < 2 {
        std::thread::yield_now();
    }
    let sealed = log.statistics();
    let slept = std::sync::mpsc::channel::<()>();
    let _ = slept.1.recv_timeout(Duration::from_millis(50));
    assert_eq!(log.statistics(), sealed, "an idle log does nothing");
    assert_eq!(sealed.frames_count, 1, "a seal is no commit");
    commit(&log, 2).unwrap();
    log.close().unwrap();
    assert_eq!(log.statistics().batches_count, 4, "sealed by closing");
    assert_eq!(timestamps(&directory.power_cut()), [1, 2]);
}

#[test]
fn the_modes_sync_when_they_say() {
    let directory = MemoryDirectory::new("db");
    let options = |durability| LogOptions { durability, ..LogOptions::default() };
    let log = open(&directory, options(Durability::None)).unwrap();
    (1..=2000).for_each(|ts| commit(&log, ts).unwrap());
    assert_eq!(log.durable(), 0);
    assert!(log.statistics().batches_count >= 1, "1 MiB was spilled");
    log.wait_durable(500).unwrap();
    assert!(log.durable() >= 500 && timestamps(&directory.power_cut()).len() >= 500);
    log.close().unwrap();
    assert_eq!(timestamps(&directory.power_cut()).len(), 2000, "closing syncs");

    let log = open(&directory, options(Durability::Interval(Duration::from_millis(5)))).unwrap();
    assert_eq!(log.durable(), 2000);
    commit(&log, 2001).unwrap();
    while log.durable() < 2001 {
        std::thread::yield_now();
    }
    assert_eq!(timestamps(&directory.power_cut()).len(), 2001);
    let frames = log.frame_bytes();
    append(&log, 2002).unwrap();
    assert_eq!(log.frame_bytes() - frames, (FRAME_HEADER_BYTES + crate::support::payload(2002).len()) as u64);
}
