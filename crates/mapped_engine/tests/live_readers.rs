//! Live readers: which slots the writer clears, and which it keeps, when their processes end or are stopped.
//!
//! The lock of a real process is that of a child: this program again, which takes the lock and waits. The words are those
//! of one process here, so the child's slot is taken in its name.

#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

use evergraph_graph::timestamp::Timestamp;
use evergraph_mapped_engine::claimed_slots::ClaimedSlots;
use evergraph_mapped_engine::dead_readers::{DeadReaders, oldest_reader};
use evergraph_mapped_engine::live::Live;
use evergraph_mapped_engine::live_head::LiveHead;
use evergraph_mapped_engine::slots::{ReaderSlot, Replacement, SlotHolder, SnapshotNeeds};
use evergraph_mapped_engine::words::{RegionSizes, SharedWords};
use evergraph_storage::io::clock::{Clock, ManualClock};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::disk::DiskDirectory;
use evergraph_storage::io::memory::MemoryDirectory;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const HOLDER: SlotHolder = SlotHolder { process: 99, begun: 12 };

fn live() -> Live {
    let sizes = RegionSizes::new(13, 13).unwrap();
    let head = LiveHead { opening: 1, process: 1, sizes, slots: 32 };
    let live = Live::create(Arc::new(SharedWords::on_heap(sizes)), head, Timestamp(5)).unwrap();
    live.open();
    live
}

fn begin(live: &Live, number: usize, holder: SlotHolder) {
    let slot = ReaderSlot::numbered(live.slot_words(), number);
    let _ = slot.begin(holder, live.era_word(), live.readable_word());
}

fn holds_back(live: &Live, era: u64) -> bool {
    let replaced = Replacement { era, base: Timestamp(1), until: Timestamp(1) };
    SnapshotNeeds::scan(live.slot_words(), &[], live.readable()).content(replaced)
}

fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds.into())
}

#[test]
fn a_process_that_is_gone_holds_nothing_back_after_a_second() {
    let (live, directory, mut dead) = (live(), MemoryDirectory::new("db"), DeadReaders::default());
    begin(&live, 17, HOLDER);
    let era = live.end_era();
    let mut clear = |millis| dead.clear(&live, &directory, era, Duration::from_millis(millis)).unwrap();
    assert!(clear(1000).is_empty() && clear(1999).is_empty());
    assert!(holds_back(&live, era), "it might be alive");
    let gone = clear(2000);
    assert!(!holds_back(&live, era), "a process that is gone holds something back");
    assert_eq!(gone, [HOLDER]);
    // The lock is free again, for the next reader.
    assert!(directory.lock_exclusive("reader-1").is_ok());
}

#[test]
fn a_process_that_is_stopped_keeps_what_it_reads() {
    let (live, directory, mut dead) = (live(), MemoryDirectory::new("db"), DeadReaders::default());
    let lock = directory.lock_exclusive("reader-0").unwrap();
    begin(&live, 0, HOLDER);
    let era = live.end_era();
    for second in 0..100 {
        let cleared = dead.clear(&live, &directory, era, seconds(second)).unwrap();
        assert!(cleared.is_empty() && holds_back(&live, era), "evicted while its lock is held");
    }
    drop(lock);
    assert_eq!(dead.clear(&live, &directory, era, seconds(101)).unwrap(), [HOLDER]);
}

#[test]
fn who_holds_nothing_back_or_comes_and_goes_is_left_alone() {
    let (live, directory, mut dead) = (live(), MemoryDirectory::new("db"), DeadReaders::default());
    let before = live.end_era();
    begin(&live, 4, HOLDER);
    // It began after what is to be freed was replaced.
    for second in 0..5 {
        assert!(dead.clear(&live, &directory, before, seconds(second)).unwrap().is_empty());
    }
    let era = live.end_era();
    for second in 0..5 {
        ReaderSlot::numbered(live.slot_words(), 4).end();
        live.end_era();
        begin(&live, 4, SlotHolder { begun: second, ..HOLDER });
        assert!(dead.clear(&live, &directory, era + 9, seconds(second)).unwrap().is_empty());
    }
    assert_eq!(oldest_reader(&live).map(|look| look.holder), Some(SlotHolder { begun: 4, ..HOLDER }));
}

/// Names the directory whose `reader-0` the child is to lock.
const CHILD: &str = "EVERGRAPH_TEST_READER";

/// No test but in a child: takes the lock, says so, and waits for its end.
#[test]
fn child_that_holds_a_lock() {
    let Ok(place) = std::env::var(CHILD) else { return };
    let directory = DiskDirectory::open(&place).unwrap();
    let _lock = directory.lock_exclusive("reader-0").unwrap();
    println!("locked");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

fn child(place: &std::path::Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_holds_a_lock", "--nocapture"])
        .env(CHILD, place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let said = output.lines().map(Result::unwrap).any(|line| line.contains("locked"));
    assert!(said, "the child has the lock");
    child
}

#[test]
fn a_real_process_keeps_its_slots_until_it_is_killed() {
    let place = tempfile::tempdir().unwrap();
    let directory = DiskDirectory::open(place.path()).unwrap();
    let (live, mut dead) = (live(), DeadReaders::default());
    let mut child = child(place.path());
    let holder = SlotHolder { process: child.id(), begun: 0 };
    begin(&live, 3, holder);
    let era = live.end_era();
    for second in 0..5 {
        assert!(dead.clear(&live, &directory, era, seconds(second)).unwrap().is_empty());
        assert!(holds_back(&live, era));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(dead.clear(&live, &directory, era, seconds(9)).unwrap(), [holder]);
    assert!(!holds_back(&live, era));
}

#[test]
fn a_thousand_readers_that_come_and_go_leave_nothing() {
    let live = Arc::new(live());
    let directory: Arc<dyn Directory> = Arc::new(MemoryDirectory::new("db"));
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(0));
    let claim = || ClaimedSlots::claim(Arc::clone(&live), &directory, std::process::id(), Arc::clone(&clock));
    let mut kept = None;
    for round in 0..1000 {
        let slots = claim().map(Arc::new).unwrap();
        let open: Vec<_> = (0..1 + round % 16).map(|_| slots.begin().unwrap()).collect();
        assert_eq!(open.iter().filter(|slot| slot.timestamp() == Timestamp(5)).count(), 1 + round % 16);
        // One stays for as long as the next one is there.
        kept = Some((slots, open));
    }
    drop(kept);
    assert!(ReaderSlot::all(live.slot_words()).all(|slot| slot.look().is_none()));
    assert!(directory.lock_exclusive("reader-0").is_ok() && directory.lock_exclusive("reader-1").is_ok());
}
