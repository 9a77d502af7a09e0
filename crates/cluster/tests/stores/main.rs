//! Stores: a node whose partitions lie in real stores shows what follows from the log, whatever its power does.
//!
//! ```text
//! script    transactions that fit a graph, from a seed           the graph after each message, said naively
//! machine   a node, a store of the memory engine for each        disks fail at any change, the power fails between two steps;
//!           partition, each on its own disk                      merges, checkpoints of stores, horizons, in between
//! ```
//!
//! At each of the newest messages that is not older than its horizon a partition shows its part of the graph, and finds it by
//! its index; what it has published and the log that it notes are of one message, in every life and after every start.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod adapter;
mod machine;
mod script;
#[path = "../../../memory_engine/tests/partitions/shown.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod shown;
#[path = "../simulation/mod.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod simulation;

use crate::machine::{Machine, Tally};
use crate::script::Script;
use crate::simulation::seeds::Seeds;
use crate::simulation::tally::tally;
use crate::simulation::trace::assert_repeats;
use evergraph_cluster::planted::{Bug, with};

/// Messages of a script.
const MESSAGES: usize = 45;
/// Lives in which a disk fails, at most.
const FAULTS: usize = 5;

tally! {
    /// What happened on a machine, and in its script.
    struct Played {
        tally: Tally,
        script: script::Tally,
    }
}

/// Runs one seed: what happened, or what is wrong.
fn run(seed: u64) -> Result<Played, String> {
    let script = Script::new(seed, MESSAGES);
    let mut machine = Machine::new(seed, &script);
    let faults = (0..FAULTS).map(|_| machine.any_fault()).collect();
    machine.run(faults)?;
    Ok(Played { tally: machine.tally, script: script.tally })
}

#[test]
fn partitions_in_stores_show_what_follows_from_the_log_whatever_fails() {
    let seeds = Seeds::of_environment(200);
    let Played { tally, script } = seeds.play(run);
    println!("{seeds:?}: {tally:?}, {script:?}");
    if seeds.are_many() {
        let happened = tally.disk_failures > 120 && tally.cuts > 40 && tally.ahead > 80 && tally.begun > 0;
        assert!(happened && tally.refused > 80 && tally.store_checkpoints > 40, "{tally:?}");
        assert!(tally.compared > 20_000, "{tally:?}");
        let written = script.commits > 2000 && script.refused > 80 && script.doubles > 80;
        assert!(written && script.divided_edges > 200 && script.deleted_vertices > 80, "{script:?}");
    }
}

#[test]
fn a_seed_does_the_same_to_all_disks_again() {
    assert_repeats(|seed| run(seed).unwrap().tally.trace);
}

#[test]
fn planted_bugs_of_stores_are_found() {
    for (bug, message) in [
        (Bug::NoteOfMessageBefore, "and notes"),
        (Bug::PartitionNotSynced, "its node has applied"),
        (Bug::SchemaKeptFromPartitions, "knows other names"),
    ] {
        match with(bug, || (0..40).find_map(|seed| run(seed).err())) {
            Some(wrong) => assert!(wrong.contains(message), "{bug:?} is found otherwise: {wrong}"),
            None => panic!("no run shows {bug:?}"),
        }
    }
}
