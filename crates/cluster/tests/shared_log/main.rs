//! Shared log: packers and readers of three nodes on a log with faults, beside a naive model.
//!
//! A script pushes records, lets time pass, kills nodes, takes checkpoints, trims and breaks off streams; appends are
//! delayed, refused, lost, doubled, late or without an answer. Then the faults end and everybody reads to the end:
//!
//! - what was acknowledged was read once, by every node, at its position or before; what wasn't, once at most;
//! - a record that is in the log twice is there in the same bytes, and no node had more messages under way than it may;
//! - every node read the same messages in the same order, which are those of the log, and raised no alarm.
//!
//! In the second half the log loses messages too, or is restored from a copy, and in the end a new node reads it from the
//! beginning: whoever still runs then has read what the log has, and nothing else.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod model;
mod node;
#[path = "../simulation/mod.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod simulation;
mod tally;
mod world;

use evergraph_cluster::log::memory::{LogFaults, OpenStreams};
use evergraph_cluster::planted::{Bug, with};
use evergraph_cluster::seeded::OneIn;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestCaseError, TestRng, TestRunner};
use simulation::seeds::Seeds;
use simulation::tally::Counted as _;
use simulation::trace::assert_repeats;
use std::time::Duration;
use tally::Tally;
use world::{NODES, Step, World};

/// Scripts that `make test` plays, of each of both kinds.
const SCRIPTS: u64 = 200;

fn often() -> impl Strategy<Value = OneIn> {
    prop_oneof![Just(OneIn(0)), (2..20_u32).prop_map(OneIn)]
}

fn faults() -> impl Strategy<Value = LogFaults> {
    let appends = (often(), often(), often(), often(), often());
    (0..60_u64, appends, (often(), often(), often())).prop_map(|(delay, appends, (gap, lag, cut))| {
        let (refused, lost, unanswered, late, doubled) = appends;
        let delay_max = Duration::from_millis(delay);
        LogFaults { delay_max, refused, lost, unanswered, late, doubled, gap, lag, cut }
    })
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![2 => Just(0_usize), 2 => Just(100_usize), 1 => Just(30_000_usize)];
    let push = (0..NODES, 1..12_usize, bytes);
    let time = prop_oneof![0..5_u64, 0..100_u64, 0..1500_u64];
    prop_oneof![
        10 => push.prop_map(|(node, records, bytes)| Step::Push { node, records, bytes }),
        8 => time.prop_map(|time| Step::Pass(Duration::from_millis(time))),
        4 => (0..NODES).prop_map(|node| Step::Checkpoint { node }),
        1 => (0..NODES).prop_map(|node| Step::Kill { node }),
        1 => (0..NODES).prop_map(|node| Step::AskForEnd { node }),
        2 => Just(Step::Trim),
        1 => Just(Step::Cut),
    ]
}

fn lossy_step() -> impl Strategy<Value = Step> {
    let streams = prop_oneof![Just(OpenStreams::GoOn), Just(OpenStreams::BreakOff)];
    prop_oneof![
        20 => step(),
        1 => (1..6_usize, streams).prop_map(|(messages, streams)| Step::Lose { messages, streams }),
        1 => Just(Step::Copy),
        1 => Just(Step::Restore),
    ]
}

/// The seed of a world, what goes wrong with its log, and what happens.
type Script = (u64, LogFaults, Vec<Step>);

/// The script of a seed, and who may look for a smaller one.
fn script(seed: u64, steps: impl Strategy<Value = Step>) -> (impl ValueTree<Value = Script>, TestRunner) {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), random);
    let scripts = (any::<u64>(), faults(), vec(steps, 10..80));
    (scripts.new_tree(&mut runner).unwrap(), runner)
}

fn play(seed: u64, steps: impl Strategy<Value = Step>) -> Result<Tally, String> {
    let (seed, faults, steps) = script(seed, steps).0.current();
    World::new(seed, faults).play(&steps)
}

/// Plays the scripts of all seeds. Of one that fails it shows the smallest that still does.
fn play_all<S: Strategy<Value = Step>>(steps: fn() -> S) -> Tally {
    let seeds = Seeds::of_environment(SCRIPTS);
    let tally = seeds.play(|seed| {
        play(seed, steps()).map_err(|wrong| {
            let (tree, mut runner) = script(seed, steps());
            let again = |(seed, faults, steps): Script| {
                World::new(seed, faults).play(&steps).map(drop).map_err(TestCaseError::fail)
            };
            runner.run_one(tree, again).err().map_or(wrong, |smallest| smallest.to_string())
        })
    });
    println!("{seeds:?}: {tally:?}");
    tally
}

#[test]
fn what_is_acknowledged_is_read_once_in_log_order_and_nothing_is_read_twice() {
    let tally = play_all(step);
    if Seeds::of_environment(SCRIPTS).are_many() {
        // Of a log that loses nothing.
        let never = tally.missing(&["alarms", "losses", "stopped", "ran_on"]);
        assert_eq!(never, [""; 0], "something never happened: {tally:?}");
    }
}

#[test]
fn whoever_runs_on_has_read_what_the_log_has_whatever_it_lost() {
    let tally = play_all(lossy_step);
    let everything_happened = [tally.losses, tally.stopped, tally.ran_on].iter().all(|count| *count > 0);
    assert!(everything_happened || !Seeds::of_environment(SCRIPTS).are_many(), "{tally:?}");
}

#[test]
fn the_script_of_a_seed_is_played_the_same_again() {
    assert_repeats(|seed| play(seed, lossy_step()).unwrap().trace);
}

#[test]
fn planted_bugs_of_the_packer_are_found_by_scripts() {
    for (bug, message) in [
        (Bug::RefusedAppendDropped, "its packer let it go"),
        (Bug::ResealedOnResend, "in other bytes"),
        (Bug::InFlightUnlimited, "messages are under way"),
    ] {
        let wrong = with(bug, || (1..=SCRIPTS).find_map(|seed| play(seed, step()).err()));
        match wrong {
            Some(wrong) => assert!(wrong.contains(message), "{bug:?} is found otherwise: {wrong}"),
            None => panic!("no script shows {bug:?}"),
        }
    }
}
