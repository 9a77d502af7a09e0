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
mod tally;
mod world;

use evergraph_cluster::log::memory::{LogFaults, OpenStreams};
use evergraph_cluster::planted::{Bug, with};
use evergraph_cluster::seeded::OneIn;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::time::Duration;
use tally::Tally;
use world::{NODES, Step, World};

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_acknowledged_is_read_once_in_log_order_and_nothing_is_read_twice(
        seed in any::<u64>(), faults in faults(), steps in vec(step(), 10..80),
    ) {
        let played = World::new(seed, faults).play(&steps);
        prop_assert!(played.is_ok(), "{}", played.unwrap_err());
    }

    #[test]
    fn whoever_runs_on_has_read_what_the_log_has_whatever_it_lost(
        seed in any::<u64>(), faults in faults(), steps in vec(lossy_step(), 10..80),
    ) {
        let played = World::new(seed, faults).play(&steps);
        prop_assert!(played.is_ok(), "{}", played.unwrap_err());
    }
}

/// So many scripts, always the same, and what each of them says.
fn played(count: usize, steps: impl Strategy<Value = Step>) -> impl Iterator<Item = Result<Tally, String>> {
    let mut runner = TestRunner::deterministic();
    let scripts = (any::<u64>(), faults(), vec(steps, 10..80));
    (0..count).map(move |_| {
        let (seed, faults, steps) = scripts.new_tree(&mut runner).unwrap().current();
        World::new(seed, faults).play(&steps)
    })
}

/// What happens in 60 scripts.
fn tally_of(steps: impl Strategy<Value = Step>) -> Tally {
    let mut tally = Tally::default();
    played(60, steps).for_each(|script| tally.add(&script.unwrap()));
    tally
}

#[test]
fn everything_that_can_go_wrong_does() {
    let calm = tally_of(step());
    let appends = [calm.acknowledged, calm.unknown, calm.refused, calm.doubled];
    let others = [calm.full, calm.kills, calm.trims];
    assert!(appends.iter().chain(&others).all(|count| *count > 0), "{calm:?}");
    let lossy = tally_of(lossy_step());
    assert!([lossy.losses, lossy.stopped, lossy.ran_on].iter().all(|count| *count > 0), "{lossy:?}");
}

#[test]
fn planted_bugs_of_the_packer_are_found_by_scripts() {
    for (bug, message) in [
        (Bug::RefusedAppendDropped, "its packer let it go"),
        (Bug::ResealedOnResend, "in other bytes"),
        (Bug::InFlightUnlimited, "messages are under way"),
    ] {
        let wrong = with(bug, || played(200, step()).find_map(Result::err));
        match wrong {
            Some(wrong) => assert!(wrong.contains(message), "{bug:?} is found otherwise: {wrong}"),
            None => panic!("no script shows {bug:?}"),
        }
    }
}
