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

use crate::machine::{Machine, Tally};
use crate::script::Script;
use evergraph_cluster::planted::{Bug, with};

/// Messages of a script.
const MESSAGES: usize = 45;
/// Lives in which a disk fails, at most.
const FAULTS: usize = 5;

/// Runs one seed: what happened, or what is wrong.
fn run(seed: u64) -> Result<(Tally, script::Tally), String> {
    let script = Script::new(seed, MESSAGES);
    let mut machine = Machine::new(seed, &script);
    let faults = (0..FAULTS).map(|_| machine.any_fault()).collect();
    machine.run(faults).map_err(|wrong| format!("seed {seed}: {wrong}"))?;
    Ok((machine.tally, script.tally))
}

#[test]
fn partitions_in_stores_show_what_follows_from_the_log_whatever_fails() {
    let (mut tally, mut scripts) = (Tally::default(), script::Tally::default());
    for seed in 0..40 {
        let (of_seed, of_script) = run(seed).unwrap();
        tally.disk_failures += of_seed.disk_failures;
        tally.cuts += of_seed.cuts;
        tally.ahead += of_seed.ahead;
        tally.begun += of_seed.begun;
        tally.compared += of_seed.compared;
        tally.refused += of_seed.refused;
        tally.store_checkpoints += of_seed.store_checkpoints;
        scripts.commits += of_script.commits;
        scripts.refused += of_script.refused;
        scripts.doubles += of_script.doubles;
        scripts.divided_edges += of_script.divided_edges;
        scripts.deleted_vertices += of_script.deleted_vertices;
    }
    let happened = tally.disk_failures > 30 && tally.cuts > 10 && tally.ahead > 20 && tally.begun > 0;
    assert!(happened && tally.refused > 20 && tally.store_checkpoints > 10, "{tally:?}");
    assert!(tally.compared > 5000, "{tally:?}");
    let written = scripts.commits > 500 && scripts.refused > 20 && scripts.doubles > 20;
    assert!(written && scripts.divided_edges > 50 && scripts.deleted_vertices > 20, "{scripts:?}");
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
