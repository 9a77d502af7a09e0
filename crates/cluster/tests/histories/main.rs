//! Histories of the cluster's protocol: nodes, a log, clients and faults from a seed, beside a judge.
//!
//! A history is 250 to 550 random steps of three nodes and three partitions, two copies of each. Transactions at both
//! levels read and write a dozen vertices, some in parts, some several in a message. Messages are late, doubled, lost;
//! nodes crash and return from their checkpoints; the log is trimmed; partitions are copied; clients without an answer
//! cancel elsewhere and run again. In one history of eight the log loses messages that it acknowledged.
//!
//! ```text
//! simulated here    coordinators, nodes, partitions, the log          coordinator, steps, node, world, events
//! code of the crate hashes, records, messages, digests, certification
//!                   in one history of four also packers, readers and the log in memory                driver
//! judge             replays the log with nothing of either            judge, keys
//! ```
//!
//! Three histories of four have a log of their own: a message may come at any event, however late, so that a few hundred events
//! reach what takes the crate's log, with a clock and time limits, many more; and faults of nodes that read the log wrongly are
//! planted in its readers. A history of the crate's log costs about as much: its readers hash 16 messages again in a second of
//! its clock, and those of the own log 4 with each message.
//!
//! `EVERGRAPH_CLUSTER_SEEDS` and `EVERGRAPH_CLUSTER_SEED` say which histories are played ([`simulation::seeds`]; `make
//! cluster-histories`), `EVERGRAPH_CLUSTER_SEARCH` how many to find a bug (3,000).
//!
//! Source: the model of the cluster's protocol, whose histories and faults these are.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod chance;
mod coordinator;
mod driver;
mod events;
mod fault;
mod graph;
mod judge;
mod keys;
mod node;
mod run;
mod saved_state;
#[path = "../simulation/mod.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod simulation;
mod steps;
mod tally;
mod world;

use evergraph_cluster::planted::{Bug, with};
use fault::Fault;
use simulation::seeds::{Seeds, number};
use simulation::tally::{Counted as _, tally};
use simulation::trace::assert_repeats;
use tally::Tally;
use world::{LogKind, World};

/// Histories that `make test` plays, those that CI plays, and those of a log that loses what it acknowledged.
const HISTORIES: u64 = 10_000;
const HISTORIES_IN_CI: u64 = 100_000;
const LOSSY_HISTORIES: u64 = 200;

tally! {
    /// What happened in histories, and in those of them that have the crate's log.
    struct Both {
        all: Tally,
        of_crate: Tally,
    }
}

fn play(seed: u64, fault: Fault, needs_loss: bool, log: LogKind) -> Result<Tally, String> {
    World::new(seed, fault, needs_loss, log).run(250 + (seed % 4) as usize * 100)
}

/// One history of four has the crate's log, whatever its length.
fn log_of(seed: u64) -> LogKind {
    if (seed / 4).is_multiple_of(4) { LogKind::Crate } else { LogKind::Own }
}

#[test]
fn every_history_is_serialisable_whole_and_what_its_clients_were_told() {
    let is_ci = std::env::var_os("CI").is_some();
    let seeds = Seeds::of_environment(if is_ci { HISTORIES_IN_CI } else { HISTORIES });
    let Both { all, of_crate } = seeds.play(|seed| {
        let log = log_of(seed);
        let all = play(seed, Fault::None, false, log).map_err(|wrong| format!("({log:?}) {wrong}"))?;
        Ok(Both { all, of_crate: if log == LogKind::Crate { all } else { Tally::default() } })
    });
    println!("{seeds:?}: {all:?}\nof them with the crate's log: {of_crate:?}");
    if seeds.are_many() {
        assert!(of_crate.committed > of_crate.begun / 20, "hardly anything commits: {of_crate:?}");
        assert!(of_crate.doubled > 0 && of_crate.conflicts > 0, "something never happened: {of_crate:?}");
        // Of a log that loses nothing.
        let never = all.missing(&["stops", "refused", "alarms", "undecided"]);
        assert_eq!(never, [""; 0], "something never happened: {all:?}");
        assert!(all.committed > all.begun / 20, "hardly anything commits: {all:?}");
    }
}

#[test]
fn nodes_that_read_another_log_than_there_is_find_out_or_say_so() {
    let seeds = Seeds::of_environment(LOSSY_HISTORIES);
    let all = seeds.play(|seed| play(seed, Fault::None, true, LogKind::Crate));
    println!("{seeds:?}: {all:?}");
    if seeds.are_many() {
        let is_complete = all.lost_suffixes > all.begun / 120 && all.stops > 0 && all.alarms > 0;
        assert!(is_complete, "something never happened: {all:?}");
        assert!(all.undecided * 8 < all.lost_suffixes, "nodes forget too early: {all:?}");
    }
}

#[test]
fn a_history_of_a_seed_is_the_same_again() {
    for log in [LogKind::Own, LogKind::Crate] {
        assert_repeats(|seed| play(seed, Fault::None, seed % 2 == 0, log).unwrap().trace);
    }
}

/// The first history that shows what is wrong.
fn found(play: impl Fn(u64) -> Result<Tally, String>) -> Option<(u64, String)> {
    (1..=number("EVERGRAPH_CLUSTER_SEARCH", 3000))
        .find_map(|seed| play(seed).err().map(|wrong| (seed, wrong)))
}

#[test]
fn every_planted_bug_is_found_by_a_history() {
    let mut missed = Vec::new();
    for bug in Bug::OF_DECISIONS {
        let needs_loss = bug == Bug::OtherLogAccepted;
        match with(bug, || found(|seed| play(seed, Fault::None, needs_loss, LogKind::Own))) {
            Some((seed, wrong)) => println!("{bug:?}: history {seed}: {wrong}"),
            None => missed.push(bug),
        }
    }
    assert!(missed.is_empty(), "no history shows {missed:?}");
}

#[test]
fn every_fault_of_a_node_or_a_coordinator_is_found_by_a_history() {
    let mut missed = Vec::new();
    for fault in Fault::ALL {
        match found(|seed| play(seed, fault, fault.needs_loss(), LogKind::Own)) {
            Some((seed, wrong)) => println!("{fault:?}: history {seed}: {wrong}"),
            None => missed.push(fault),
        }
    }
    assert!(missed.is_empty(), "no history shows {missed:?}");
}
