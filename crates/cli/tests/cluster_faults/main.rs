//! A cluster as real processes, three nodes on three members of etcd or servers of NATS, which are killed, stopped, cut off from each other
//! and put back to an older state while clients write: what was acknowledged is there, what was refused is not, and all nodes say the same.
//!
//! ```text
//! site         the processes, and proxies between them (tests/src/cut_network.rs)
//! log_members  the processes that keep the log, of either engine
//! clock        the wall clock of a node, which jumps
//! faults       what happens, from a seed
//! caller       a client, which remembers what it was told
//! workloads    what clients do: bank, lists, claims of a unique value, edges against deletes
//! readers      what others ask meanwhile: hops over the whole graph, whose stages travel
//! observed     the whole graph, as one node answers
//! judge        whether that is what clients were told
//! cycles       a fault under clients, again and again
//! settling     commits whose outcome was unknown
//! restored     a log that was restored from an older copy
//! ```
//!
//! EVERGRAPH_FAULT_CYCLES sets the number of faults (50), EVERGRAPH_FAULT_SEED which, EVERGRAPH_FAULT_PAUSE how many seconds somebody is
//! stopped or cut off at most (3), EVERGRAPH_FAULT_LOG what keeps the log (`etcd`; or `nats`), EVERGRAPH_FAULT_MEMBERS how many members of
//! that there are (3).
//!
//! Without the program `etcd`, or `nats-server`, the tests say that they were skipped; with `CI` set they fail.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod caller;
mod clock;
#[path = "../../../../tests/src/cut_network.rs"]
mod cut_network;
mod cycles;
#[path = "../../../../tests/src/etcd.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod etcd;
mod faults;
#[path = "../../../../tests/src/folders.rs"]
mod folders;
#[path = "../../../../tests/src/free_ports.rs"]
mod free_ports;
#[path = "../../../../tests/src/guarded_process.rs"]
mod guarded_process;
mod judge;
#[path = "../../../../tests/src/list_history.rs"]
mod list_history;
mod log_members;
#[path = "../../../../tests/src/nats.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod nats;
mod observed;
mod readers;
mod restored;
mod settling;
mod site;
#[path = "../../../../tests/src/skips.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod skips;
mod workloads;

use crate::cycles::{Cycles, explain};
use crate::site::Site;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Among so many faults some break a query off.
const FAULTS_MANY: u64 = 20;

/// The number that an environment variable has, if it is set.
fn number(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is `{text}`, no number")))
}

#[test]
fn whatever_fails_everything_acknowledged_is_there_and_all_nodes_agree() {
    let count = number("EVERGRAPH_FAULT_CYCLES").unwrap_or(50);
    let pause_max = Duration::from_secs(number("EVERGRAPH_FAULT_PAUSE").unwrap_or(3));
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = number("EVERGRAPH_FAULT_SEED").unwrap_or(clock.as_nanos() as u64);
    let Some(site) = Site::start(number("EVERGRAPH_FAULT_MEMBERS").unwrap_or(3) as usize, 2) else { return };
    println!("EVERGRAPH_FAULT_SEED={seed}, a log on {}", site.engine().name());
    let mut cycles = Cycles::begin(site, seed);
    let mut wrong = Vec::new();
    for cycle in 1..=count {
        let (fault, began) = (cycles.choose(pause_max), Instant::now());
        let before = cycles.judge.counts.acknowledged;
        wrong = cycles.run(&fault);
        let acknowledged = cycles.judge.counts.acknowledged - before;
        println!(
            "cycle {cycle}: {fault}; {acknowledged} acknowledged, {:.1} s",
            began.elapsed().as_secs_f64()
        );
        if !wrong.is_empty() {
            println!("cycle {cycle} of EVERGRAPH_FAULT_SEED={seed}:\n{}", explain(&mut cycles.site, &wrong));
            break;
        }
    }
    let counts = cycles.judge.counts;
    println!(
        "{} refused; {} lost their answer, {} of these are there; {} were unknown and settled, {} of these are there",
        counts.refused, counts.lost, counts.lost_found, counts.settled, counts.settled_found
    );
    if let Some(longest) = cycles.node_starts.iter().max() {
        let sum: Duration = cycles.node_starts.iter().sum();
        println!(
            "starts of nodes took {:?} on average, {longest:?} at most",
            sum / cycles.node_starts.len() as u32
        );
    }
    let (reads, later) = (cycles.reads.counted(), cycles.later_reads.counted());
    println!(
        "{} answers over hops beside faults and {} after them; stages read {} edges; {} queries failed: {:?}",
        reads.answers(),
        later.answers(),
        reads.edges_read,
        reads.failed,
        reads.errors
    );
    println!(
        "{} commits acknowledged, {} found, {} kills, {} differences",
        counts.acknowledged,
        counts.found,
        cycles.kills,
        wrong.len()
    );
    assert!(wrong.is_empty(), "EVERGRAPH_FAULT_SEED={seed} finds differences: see above");
    assert!(counts.acknowledged > 10 * count, "hardly anything was written: {counts:?}");
    assert!(reads.roads > 10 * count && reads.people > 2 * count, "hardly anything was read: {reads:?}");
    assert!(reads.edges_read > 5 * reads.roads, "hardly any query travelled: {reads:?}");
    assert!(count < FAULTS_MANY || reads.failed > 0, "no query met a fault: {reads:?}");
    let open = cycles.open_queries();
    assert!(open.is_ok(), "{}", explain(&mut cycles.site, &[open.unwrap_err()]));
}
