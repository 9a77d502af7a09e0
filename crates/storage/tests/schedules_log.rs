//! Schedules of the log: committers hand over the lead, under every interleaving that shuttle finds.
//!
//! Run with `RUSTFLAGS="--cfg shuttle" cargo test -p evergraph-storage --test schedules_log
//! --target-dir target/shuttle`. A failure prints the schedule that replays it.
#![cfg(shuttle)]
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use evergraph_storage::io::directory::Directory;
use evergraph_storage::io::error::Operation;
use evergraph_storage::io::failing::{FailingDirectory, Fault};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::SplitMix64;
use evergraph_storage::log::error::LogError;
use evergraph_storage::log::frame::payload_crc;
use evergraph_storage::log::options::{Durability, LogOptions};
use evergraph_storage::log::recovery::{Replay, recover};
use evergraph_storage::log::writer::Log;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use evergraph_storage::sync::thread;
use evergraph_storage::sync::{Mutex, schedules};

/// Priority schedules find more than random ones; each test runs both.
fn check(test: fn()) {
    shuttle::check_pct(test, schedules(3_000), 3);
    shuttle::check_random(test, schedules(3_000));
}

/// A log with two commits a file, and the latch of its front.
struct Front {
    log: Log,
    latch: Mutex<u64>,
    /// The greatest durable timestamp that anybody saw.
    seen: AtomicU64,
    disk: MemoryDirectory,
}

impl Front {
    fn new(disk: &MemoryDirectory, directory: Arc<dyn Directory>, durability: Durability) -> Arc<Self> {
        let options = LogOptions {
            durability,
            first_file_bytes: 12288,
            log_file_bytes: 12288,
            ..LogOptions::default()
        };
        let recovered = recover(&*directory, Replay::default(), |_, _| Ok::<_, LogError>(())).unwrap();
        let log = Log::open(directory, recovered, options, Box::new(SplitMix64::new(1))).unwrap();
        Arc::new(Self { log, latch: Mutex::new(0), seen: AtomicU64::new(0), disk: disk.clone() })
    }

    fn commit(&self) -> Result<u64, LogError> {
        let ts = self.append()?;
        self.log.acknowledge(ts)?;
        Ok(ts)
    }

    /// Commits, and counts in `told` that it was told so: 1 if it was durable then, 1,000 if not, 1,000,000 for an error.
    fn commit_by_callback(&self, told: &Arc<AtomicU64>) -> Result<u64, LogError> {
        let ts = self.append()?;
        let (told, disk) = (Arc::clone(told), self.disk.clone());
        let done = move |outcome: Result<(), LogError>| {
            let on_disk = || {
                let mut found = 0;
                let replay = Replay::default();
                recover(&disk.power_cut(), replay, |ts, _| Ok::<_, LogError>(found = ts)).unwrap();
                found
            };
            let weight = match outcome {
                Ok(()) if on_disk() >= ts => 1,
                Ok(()) => 1_000,
                Err(_) => 1_000_000,
            };
            told.fetch_add(weight, Ordering::SeqCst);
        };
        self.log.when_acknowledged(ts, Box::new(done));
        Ok(ts)
    }

    fn append(&self) -> Result<u64, LogError> {
        let space = self.log.reserve(8)?;
        let ts = {
            let mut published = self.latch.lock();
            *published += 1;
            let payload = published.to_le_bytes();
            self.log.append(space, *published, &payload, payload_crc(&payload));
            *published
        };
        Ok(ts)
    }

    /// What is on the disk now is a prefix of the commits and reaches to `need_ts`.
    fn check_disk(&self, need_ts: u64) {
        let mut found = 0_u64;
        recover(
            &self.disk.power_cut(),
            Replay { after_ts: 0, need_ts, ..Replay::default() },
            |ts, payload| {
                found += 1;
                assert_eq!((ts, payload), (found, &found.to_le_bytes()[..]));
                Ok::<_, LogError>(())
            },
        )
        .unwrap();
    }

    fn check_durable(&self, ts: u64) {
        let before = self.seen.load(Ordering::SeqCst);
        let durable = self.log.durable();
        assert!(durable >= ts && durable >= before, "durable {durable}, seen {before}, own commit {ts}");
        self.seen.fetch_max(durable, Ordering::SeqCst);
        self.check_disk(durable);
    }
}

fn spawn(front: &Arc<Front>, body: impl FnOnce(&Front) + Send + 'static) -> thread::JoinHandle<()> {
    let front = front.clone();
    thread::spawn("client", move || body(&front)).unwrap()
}

#[test]
fn committers_that_hand_over_the_lead_are_durable_when_told_so() {
    check(|| {
        let disk = MemoryDirectory::new("db");
        let front = Front::new(&disk, Arc::new(disk.clone()), Durability::Sync);
        let clients: Vec<_> = (0..3)
            .map(|_| {
                spawn(&front, |front| {
                    for _ in 0..2 {
                        let ts = front.commit().unwrap();
                        front.check_durable(ts);
                    }
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        front.log.close().unwrap();
        front.check_disk(6);
    });
}

#[test]
fn a_checkpoint_syncs_past_committers_that_do_not_wait() {
    check(|| {
        let disk = MemoryDirectory::new("db");
        let interval = Durability::Interval(Duration::from_millis(1));
        let front = Front::new(&disk, Arc::new(disk.clone()), interval);
        let committer = spawn(&front, |front| {
            for _ in 0..3 {
                front.commit().unwrap();
            }
        });
        let checkpoints: Vec<_> = (0..2)
            .map(|_| {
                spawn(&front, |front| {
                    let published = *front.latch.lock();
                    front.log.wait_durable(published).unwrap();
                    front.check_durable(published);
                })
            })
            .collect();
        committer.join().unwrap();
        checkpoints.into_iter().for_each(|checkpoint| checkpoint.join().unwrap());
        front.log.close().unwrap();
        front.check_disk(3);
    });
}

#[test]
fn everybody_learns_of_a_failed_sync_and_nobody_waits_for_ever() {
    check(|| {
        let disk = MemoryDirectory::new("db");
        let failing = FailingDirectory::new(Arc::new(disk.clone()));
        let front = Front::new(&disk, Arc::new(failing.clone()), Durability::Sync);
        let first = front.commit().unwrap();
        failing.plan(Fault::new(Operation::Write, "log-0000000000000001", ErrorKind::Other));
        let clients: Vec<_> = (0..2)
            .map(|_| {
                spawn(&front, |front| {
                    for _ in 0..2 {
                        match front.commit() {
                            Ok(ts) => front.check_durable(ts),
                            Err(LogError::Poisoned { .. } | LogError::OutcomeUnknown { .. }) => return,
                            Err(error) => panic!("{error}"),
                        }
                    }
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
        assert_eq!(front.log.durable(), first);
        assert!(front.log.close().is_err());
    });
}

#[test]
fn committers_that_hold_no_thread_are_durable_when_told_so_and_all_are_told() {
    check(|| {
        let disk = MemoryDirectory::new("db");
        let front = Front::new(&disk, Arc::new(disk.clone()), Durability::Sync);
        let told = Arc::new(AtomicU64::new(0));
        let callers: Vec<_> = (0..2)
            .map(|_| {
                let told = Arc::clone(&told);
                spawn(&front, move |front| {
                    for _ in 0..2 {
                        front.commit_by_callback(&told).unwrap();
                    }
                })
            })
            .collect();
        let waiter = spawn(&front, |front| {
            let ts = front.commit().unwrap();
            front.check_durable(ts);
        });
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        waiter.join().unwrap();
        // Closing calls all who were not called yet.
        front.log.close().unwrap();
        assert_eq!(told.load(Ordering::SeqCst), 4, "four were durable");
    });
}

#[test]
fn committers_that_hold_no_thread_learn_of_a_failed_write() {
    check(|| {
        let disk = MemoryDirectory::new("db");
        let failing = FailingDirectory::new(Arc::new(disk.clone()));
        let front = Front::new(&disk, Arc::new(failing.clone()), Durability::Sync);
        front.commit().unwrap();
        failing.plan(Fault::new(Operation::Write, "log-0000000000000001", ErrorKind::Other));
        let told = Arc::new(AtomicU64::new(0));
        let callers: Vec<_> = (0..2)
            .map(|_| {
                let told = Arc::clone(&told);
                spawn(&front, move |front| {
                    if front.commit_by_callback(&told).is_err() {
                        // Refused: the other's write failed before.
                        told.fetch_add(1_000_000, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        assert!(front.log.close().is_err());
        assert_eq!(told.load(Ordering::SeqCst), 2_000_000);
    });
}
