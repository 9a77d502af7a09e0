//! Many clients at once: each is durable when it is told so, and they share syncs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::error::LogError;
use evergraph_storage::log::frame::payload_crc;
use evergraph_storage::log::options::{Durability, DurableListener, LogOptions};
use evergraph_storage::log::recovery::Replay;
use evergraph_storage::log::writer::Log;
use evergraph_storage::sync::Mutex;

use crate::support::{append, open, payload, read, small_files, stepped, timestamps};

/// The commit latch of a front: timestamps in the order of appends.
struct Front {
    log: Log,
    latch: Mutex<u64>,
}

impl Front {
    fn new(directory: &(impl Directory + Clone + 'static), options: LogOptions) -> Self {
        let log = open(directory, options).unwrap();
        let latch = Mutex::new(log.durable());
        Self { log, latch }
    }

    fn commit(&self) -> Result<u64, LogError> {
        let ts = self.append()?;
        self.log.acknowledge(ts)?;
        Ok(ts)
    }

    fn append(&self) -> Result<u64, LogError> {
        let longest = 6000;
        let space = self.log.reserve(longest)?;
        let ts = {
            let mut published = self.latch.lock();
            let ts = *published + 1;
            let payload = payload(ts);
            self.log.append(space, ts, &payload, payload_crc(&payload));
            *published = ts;
            ts
        };
        Ok(ts)
    }
}

#[test]
fn each_of_many_clients_is_durable_when_told_so() {
    let directory = MemoryDirectory::new("db");
    let front = Front::new(&directory, small_files(Durability::Sync));
    let acknowledged = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let ts = front.commit().unwrap();
                    assert!(front.log.durable() >= ts);
                    acknowledged.fetch_max(ts, Ordering::SeqCst);
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..40 {
                let need_ts = acknowledged.load(Ordering::SeqCst);
                let image = directory.power_cut();
                let (recovered, found) =
                    read(&image, Replay { after_ts: 0, need_ts, ..Replay::default() }).unwrap();
                assert_eq!(found, (1..=recovered.last_ts).collect::<Vec<_>>());
            }
        });
    });
    assert_eq!(acknowledged.load(Ordering::SeqCst), 1600);
    assert_eq!(timestamps(&directory.power_cut()).len(), 1600);
    front.log.close().unwrap();
}

#[test]
fn commits_that_hold_no_thread_are_durable_when_called_back_and_share_syncs() {
    let directory = MemoryDirectory::new("db");
    let front = Arc::new(Front::new(&directory, LogOptions::default()));
    front.commit().unwrap();
    let before = front.log.statistics().syncs_count;
    let (sender, receiver) = channel();
    let call_back = |ts: u64| {
        let (sender, callers) = (sender.clone(), Arc::downgrade(&front));
        let done = move |outcome: Result<(), LogError>| {
            let durable = callers.upgrade().map_or(u64::MAX, |front| front.log.durable());
            sender.send((ts, durable, outcome.is_ok())).unwrap();
        };
        front.log.when_acknowledged(ts, Box::new(done));
    };
    let appended: Vec<u64> = (0..100).map(|_| front.append().unwrap()).collect();
    appended.iter().rev().for_each(|ts| call_back(*ts));
    for _ in &appended {
        let (ts, durable, is_ok) = receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(is_ok && durable >= ts);
    }
    assert_eq!(front.log.statistics().syncs_count - before, 1);
    // What is durable already is called at once, by the caller.
    call_back(1);
    assert!(receiver.try_recv().unwrap().2);
    // Many clients, of whom one in two waits.
    std::thread::scope(|scope| {
        for client in 0..8 {
            let (front, call_back) = (&front, call_back);
            scope.spawn(move || {
                for _ in 0..50 {
                    match client % 2 {
                        0 => drop(front.commit().unwrap()),
                        _ => call_back(front.append().unwrap()),
                    }
                }
            });
        }
    });
    front.log.close().unwrap();
    assert_eq!(receiver.try_iter().filter(|(ts, durable, is_ok)| *is_ok && durable >= ts).count(), 200);
    assert_eq!(timestamps(&directory.power_cut()).len(), 501);
}

/// What a [`DurableListener`] does, once, with the log that calls it.
struct Listener<F> {
    log: OnceLock<Weak<Log>>,
    on_growth: F,
}

impl<F> std::fmt::Debug for Listener<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").finish_non_exhaustive()
    }
}

impl<F: Fn(&Log) + Send + Sync> DurableListener for Listener<F> {
    fn durable_grew(&self) {
        if let Some(log) = self.log.get().and_then(Weak::upgrade) {
            (self.on_growth)(&log);
        }
    }
}

/// A log that has commit 1 in its buffer and this listener.
fn with_listener<F: Fn(&Log) + Send + Sync + 'static>(on_growth: F) -> Arc<Log> {
    let listener = Arc::new(Listener { log: OnceLock::new(), on_growth });
    let options = LogOptions { durable_listener: Some(listener.clone()), ..LogOptions::default() };
    let log = Arc::new(open(&MemoryDirectory::new("db"), options).unwrap());
    listener.log.set(Arc::downgrade(&log)).unwrap();
    append(&log, 1).unwrap();
    log
}

/// Whoever is told that a commit is durable may tell another process, which looks at what the listener stores.
#[test]
fn no_commit_is_acknowledged_before_the_listener_has_returned() {
    let (sender, receiver) = channel();
    let has_returned = Arc::new(AtomicBool::new(false));
    let returned = Arc::clone(&has_returned);
    let log = with_listener(move |log| {
        assert_eq!(log.durable(), 1);
        let (sender, has_returned) = (sender.clone(), Arc::clone(&returned));
        let done = move |outcome: Result<(), LogError>| {
            sender.send((outcome.is_ok(), has_returned.load(Ordering::SeqCst))).unwrap();
        };
        log.when_acknowledged(1, Box::new(done));
        returned.store(true, Ordering::SeqCst);
    });
    log.acknowledge(1).unwrap();
    assert_eq!(receiver.recv_timeout(Duration::from_secs(60)).unwrap(), (true, true));
    log.close().unwrap();
}

#[test]
fn a_listener_that_panics_poisons_the_log_and_nobody_waits_for_its_leader() {
    let log = with_listener(|_| panic!("planned"));
    assert!(catch_unwind(AssertUnwindSafe(|| log.acknowledge(1))).is_err());
    assert!(log.is_poisoned());
    assert!(matches!(log.acknowledge(1), Err(LogError::OutcomeUnknown { .. })));
    assert!(log.reserve(8).is_err());
}

#[test]
fn a_callback_that_panics_or_closes_the_log_keeps_no_other_from_being_called() {
    let directory = MemoryDirectory::new("db");
    let front = Arc::new(Front::new(&directory, LogOptions::default()));
    let (sender, receiver) = channel();
    let appended: Vec<u64> = (0..4).map(|_| front.append().unwrap()).collect();
    for ts in appended {
        let (sender, mut owned) = (sender.clone(), Some(Arc::clone(&front)));
        let done = move |outcome: Result<(), LogError>| {
            sender.send(outcome.is_ok()).unwrap();
            match ts {
                1 => panic!("planned"),
                2 => owned.take().unwrap().log.close().unwrap(),
                _ => {}
            }
        };
        front.log.when_acknowledged(ts, Box::new(done));
    }
    drop(sender);
    drop(front);
    let mut called = Vec::new();
    while let Ok(is_ok) = receiver.recv_timeout(Duration::from_secs(60)) {
        called.push(is_ok);
    }
    assert_eq!(called, [true; 4]);
}

#[test]
fn every_waiting_client_learns_of_a_failed_sync() {
    for nth in [2, 5, 11] {
        let memory = MemoryDirectory::new("db");
        let failing = FailingDirectory::new(Arc::new(memory.clone()));
        let front = Front::new(&failing, stepped(LogOptions::default()));
        let first = front.commit().unwrap();
        failing.plan(Fault::new(Operation::Sync, "log-", std::io::ErrorKind::Other).nth(nth));
        let acknowledged = AtomicU64::new(first);
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    loop {
                        match front.commit() {
                            Ok(ts) => acknowledged.fetch_max(ts, Ordering::SeqCst),
                            Err(LogError::Poisoned { .. } | LogError::OutcomeUnknown { .. }) => return,
                            Err(error) => panic!("{error}"),
                        };
                    }
                });
            }
        });
        let need_ts = acknowledged.load(Ordering::SeqCst);
        assert_eq!(front.log.durable(), need_ts);
        read(&memory.power_cut(), Replay { after_ts: 0, need_ts, ..Replay::default() }).unwrap();
    }
}

#[test]
fn modes_that_do_not_wait_bound_what_is_buffered_and_keep_the_order() {
    for durability in [Durability::None, Durability::Interval(Duration::from_millis(1))] {
        let directory = MemoryDirectory::new("db");
        let options = LogOptions { spill_bytes: 10_000, ..small_files(durability) };
        let front = Front::new(&directory, options);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..200).for_each(|_| assert!(front.commit().unwrap() > 0)));
            }
        });
        assert!(front.log.statistics().batches_count > 20);
        front.log.close().unwrap();
        assert_eq!(timestamps(&directory.power_cut()).len(), 1600);
    }
}
