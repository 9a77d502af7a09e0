//! Power cuts here, breaks and crashes there, at random: nothing is lost, nothing is doubled, and what the source was told is never
//! ahead of what survives.

use crate::cut_source::Cut;
use crate::graph::position;
use crate::scenario::{Faults, Scenario, follow_until_cut, open};
use crate::shop::below;
use evergraph::{Database, Durability};
use evergraph_replica::follow::replica::Replica;
use evergraph_replica::lsn::Lsn;
use evergraph_replica::metrics::EarlyStep;
use evergraph_storage::io::memory::{CrashOutcome, MemoryDirectory};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What ends a wait that a test does not expect to end.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Histories of this test; `EVERGRAPH_REPLICA_HISTORIES` says another number.
const HISTORIES: u64 = 162;
/// Power cuts of this test, at least.
const CUTS: u64 = 2000;
/// The history with the number n has `CUTS_MIN + n % CUTS_RANGE` power cuts: the last life, to the end of the script, takes longer
/// than many that are cut.
const CUTS_MIN: u64 = 4;
const CUTS_RANGE: u64 = 18;
/// Until so many times as many histories were played, a load is awaited that changed vertices.
const HISTORIES_FACTOR_MAX: u64 = 5;
/// Histories at a time: they wait more than they compute.
const THREADS: usize = 4;
/// How long a replica lives at most until power is cut, in microseconds.
const LIFE_US_MAX: u64 = 14_000;
/// Between two looks of a reader, which takes the processor from the replica.
const LOOK_EVERY: Duration = Duration::from_micros(100);
/// Transactions of one history: most of its lives end before them.
const TRANSACTIONS: u64 = 60;

/// Power cuts of so many histories, at least, at whichever number a run begins: those of whole rounds of numbers. No test has to
/// count them: each history ends with an error, or has all of its cuts.
const fn cuts_of(histories: u64) -> u64 {
    histories / CUTS_RANGE * (CUTS_RANGE * CUTS_MIN + CUTS_RANGE * (CUTS_RANGE - 1) / 2)
}

const _: () = assert!(cuts_of(HISTORIES) >= CUTS, "too few histories");

fn histories() -> u64 {
    match std::env::var("EVERGRAPH_REPLICA_HISTORIES") {
        Ok(text) => text.parse().expect("EVERGRAPH_REPLICA_HISTORIES is a number"),
        Err(_) => HISTORIES,
    }
}

/// What became of unsynced bytes.
fn crash(directory: &MemoryDirectory, random: &mut u64) -> MemoryDirectory {
    match below(random, 3) {
        0 => directory.power_cut(),
        _ => directory.crash(|_| match below(random, 3) {
            0 => CrashOutcome::Lost,
            1 => CrashOutcome::Torn(below(random, 512) as usize),
            _ => CrashOutcome::Kept,
        }),
    }
}

/// What came of histories.
#[derive(Default)]
struct Tally {
    histories: AtomicU64,
    power_cuts: AtomicU64,
    /// Power cuts before the source had sent all.
    early_cuts: AtomicU64,
    /// Bulk loads that changed properties of vertices that were there.
    changing_loads: AtomicU64,
}

impl Tally {
    fn count_loads(&self, replica: &Replica) {
        let (_, count) = replica.metrics().early_transactions()[EarlyStep::Changed as usize];
        self.changing_loads.fetch_add(count, Ordering::Relaxed);
    }
}

/// One history: lives that end with a power cut, until a last one that follows to the end.
fn play(seed: u64, tally: &Tally) {
    let mut random = seed;
    let scenario = Scenario::new(&mut random, TRANSACTIONS, Faults::Random);
    let mut directory = MemoryDirectory::new("replica");
    let cuts = CUTS_MIN + seed % CUTS_RANGE;
    for life in 0.. {
        let durability = match below(&mut random, 4) {
            0 => Durability::Sync,
            1 => Durability::None,
            _ => Durability::Interval(Duration::from_millis(1 + below(&mut random, 10))),
        };
        let database = open(&directory, durability);
        check_survival(&scenario, &database, scenario.confirmed(), seed);
        let cut = Cut::default();
        let replica = follow_until_cut(&database, &scenario, &cut).unwrap();
        if life == cuts {
            follow_to_the_end(&scenario, &replica, seed);
            let began = Instant::now();
            while scenario.confirmed() < scenario.end() {
                let status = replica.status();
                assert!(began.elapsed() < WAIT_MAX, "history {seed}: the end is not confirmed: {status:?}");
                std::thread::sleep(Duration::from_millis(1));
            }
            tally.count_loads(&replica);
            replica.stop().unwrap();
            database.close().unwrap();
            break;
        }
        let (began, time) = (Instant::now(), Duration::from_micros(below(&mut random, LIFE_US_MAX)));
        for look in 0.. {
            if began.elapsed() >= time {
                break;
            }
            scenario.check(&database.snapshot());
            // One epoch at each look, in turn.
            let epochs = replica.epochs();
            if let Some(epoch) = epochs.get(look % epochs.len().max(1))
                && let Some(snapshot) = replica.open_epoch(epoch.number)
            {
                assert_eq!(scenario.check(&snapshot), epoch.position.end);
            }
            std::thread::sleep(LOOK_EVERY);
        }
        directory = cut.off(|| crash(&directory, &mut random));
        tally.power_cuts.fetch_add(1, Ordering::Relaxed);
        tally.early_cuts.fetch_add(u64::from(scenario.source.steps_left() > 0), Ordering::Relaxed);
        tally.count_loads(&replica);
        drop(replica);
    }
}

/// What a power cut left has everything that the source was told of.
fn check_survival(scenario: &Scenario, database: &Database, confirmed: Lsn, seed: u64) {
    let snapshot = database.snapshot();
    match position(&snapshot) {
        None => {
            assert_eq!(confirmed, Lsn::ZERO, "history {seed}: the copy is lost, and something was confirmed")
        }
        Some(position) => {
            let end = scenario.check(&snapshot);
            assert!(
                end >= confirmed,
                "history {seed}: {confirmed} was confirmed, and {end} survived: {position:?}"
            );
        }
    }
}

fn follow_to_the_end(scenario: &Scenario, replica: &Replica, seed: u64) {
    let began = Instant::now();
    loop {
        match replica.wait(scenario.end(), Duration::from_millis(100)) {
            Ok(true) => break,
            Ok(false) => assert!(began.elapsed() < WAIT_MAX, "history {seed}: {:?}", replica.status()),
            Err(error) => panic!("history {seed}: {error}"),
        }
        scenario.check(&replica.database().snapshot());
    }
    // The same transaction may come again; nothing follows the last one.
    let end = scenario.check(&replica.database().snapshot());
    assert!(end >= scenario.end(), "history {seed}: {end}");
}

/// posthog#64719: a position in the middle of a transaction was confirmed. `ConfirmInTransaction` is that bug, planted.
#[test]
fn power_cuts_lose_and_double_nothing_and_confirm_nothing_early() {
    let first = 1 + match std::env::var("EVERGRAPH_REPLICA_SEED") {
        Ok(text) => text.parse::<u64>().expect("EVERGRAPH_REPLICA_SEED is a number") - 1,
        Err(_) => 0,
    };
    let (next, end, tally) = (AtomicU64::new(first), first + histories(), Tally::default());
    let is_whole = histories() >= HISTORIES;
    let is_enough = |seed: u64| {
        let is_met = !is_whole || tally.changing_loads.load(Ordering::Relaxed) > 0;
        seed >= end && (is_met || seed >= first + HISTORIES_FACTOR_MAX * histories())
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if is_enough(seed) {
                        return;
                    }
                    play(seed, &tally);
                    tally.histories.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let [played, power_cuts, early_cuts, changing_loads] =
        [tally.histories, tally.power_cuts, tally.early_cuts, tally.changing_loads]
            .map(AtomicU64::into_inner);
    println!(
        "{power_cuts} power cuts in {played} histories, {early_cuts} of them before the source had sent all, {changing_loads} loads \
         that changed vertices"
    );
    assert!(changing_loads > 0 || !is_whole, "no load changed vertices that were there");
    // Once the source has sent all, a cut meets syncs and confirmations alone.
    assert!(3 * early_cuts > power_cuts || !is_whole, "few power cuts in the middle of a script");
}

#[test]
fn a_power_cut_during_the_copy_leaves_a_slot_at_most_and_the_next_start_takes_that() {
    for seed in 1..=30 {
        let mut random = seed;
        let scenario = Scenario::new(&mut random, 5, Faults::None);
        let directory = MemoryDirectory::new("replica");
        let database = open(&directory, Durability::Interval(Duration::from_millis(1)));
        let cut = Cut::default();
        let image = std::thread::scope(|scope| {
            let started = scope.spawn(|| follow_until_cut(&database, &scenario, &cut));
            std::thread::sleep(Duration::from_micros(below(&mut random, 6000)));
            let image = cut.off(|| crash(&directory, &mut random));
            // Either way: what it does comes too late.
            drop(started.join().unwrap());
            image
        });
        let database = open(&image, Durability::Interval(Duration::from_millis(1)));
        check_survival(&scenario, &database, scenario.confirmed(), seed);
        let replica = match follow_until_cut(&database, &scenario, &Cut::default()) {
            Ok(replica) => replica,
            Err(error) => panic!("history {seed}: {error}"),
        };
        follow_to_the_end(&scenario, &replica, seed);
        replica.stop().unwrap();
    }
}
