//! Joining: of the processes that take themselves for one node one writes at a time, and no two records have one id.
//!
//! ```text
//! one directory ──copy──> process a: 1.1, nonce a   one of the two joins, the other stops, and has written nothing else
//!                         process b: 1.1, nonce b
//! that of the one that stopped ──> process c: 1.2   joins; the first is fenced, and stops
//! ```

use crate::machine::ToyNode;
use crate::node_log::NodeLog;
use crate::script::{NODE, first_state};
use crate::simulation::seeds::Seeds;
use evergraph_cluster::certification::outcome::Refusal;
use evergraph_cluster::log::memory::{LogFaults, MemoryLog};
use evergraph_cluster::log::packer::PackerLimits;
use evergraph_cluster::log::reader::ReadMessage;
use evergraph_cluster::log::shared_log::{AppendId, LogMessage, SharedLog};
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::apply::Applier;
use evergraph_cluster::node::incarnation::{NodeStart, count_start, skip_to};
use evergraph_cluster::node::node_error::{NodeError, NodePushError};
use evergraph_cluster::node::node_loop::{NodeEvent, NodeLoop};
use evergraph_cluster::node::replicated_state::RecordResult;
use evergraph_cluster::planted::{Bug, with};
use evergraph_cluster::record::body::{NewName, Record, RecordBody};
use evergraph_cluster::record::message::{Message, MessageBuilder};
use evergraph_cluster::record_id::{Author, NodeId, RecordId};
use evergraph_cluster::seeded::OneIn;
use evergraph_cluster::tables::cluster_tables::TableAnswer;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::io::random::SplitMix64;
use std::collections::BTreeMap;
use std::time::Duration;

/// Rounds in which each process asks for a name and takes a step.
const ROUNDS: usize = 200;
const ROUND: Duration = Duration::from_millis(5);

/// A process, which takes itself for a node.
struct Process {
    directory: MemoryDirectory,
    start: NodeStart,
    node: ToyNode,
    asked: u32,
    /// What it learned of its records.
    learned: BTreeMap<RecordId, RecordResult>,
    stopped: Option<NodeError>,
}

impl Process {
    fn start(directory: MemoryDirectory, log: &MemoryLog, random: &mut SplitMix64) -> Self {
        let start = count_start(&directory, NODE, random).unwrap();
        let (applier, client) = (Applier::new(first_state()), NodeLog::writing(log.connect()));
        let node = NodeLoop::new(start, "node-1:2".into(), PackerLimits::default(), applier, client);
        Self { directory, start, node, asked: 0, learned: BTreeMap::new(), stopped: None }
    }

    fn step(&mut self, now: Duration) {
        if self.stopped.is_some() {
            return;
        }
        self.asked += 1;
        let name = NewName::Label(format!("{} of {}", self.asked, self.start.nonce).into());
        match self.node.push(RecordBody::Name { name, touches: Vec::new() }, now) {
            Ok(_) | Err(NodePushError::Joining | NodePushError::Packer(_)) => {}
            Err(error) => panic!("{error}"),
        }
        let mut events = Vec::new();
        self.stopped = self.node.step(now, &mut events).err();
        for event in events {
            let NodeEvent::Applied(applied) = event else { continue };
            let own = applied.records.into_iter().filter(|record| record.id.author == self.start.author);
            for record in own {
                self.learned.entry(record.id).or_insert(record.result);
            }
        }
    }
}

fn run(log: &MemoryLog, now: &mut Duration, processes: &mut [Process]) {
    for _ in 0..ROUNDS {
        *now += ROUND;
        log.advance_to(*now);
        processes.iter_mut().for_each(|process| process.step(*now));
    }
}

/// Whether no two records in the log have one id, no record of a process counts after another one has taken its place, and
/// everybody learned of its records what follows from the log.
///
/// Returns the records that did not count.
///
/// # Errors
/// What is wrong.
fn check_log(log: &MemoryLog, processes: &[Process]) -> Result<u32, String> {
    let (mut state, mut fenced) = (first_state(), 0);
    let (mut first, mut results) = (BTreeMap::new(), BTreeMap::new());
    for LogMessage { position, bytes } in log.messages() {
        let message = Message::decode(&bytes).map_err(|error| error.to_string())?;
        for record in &message.records {
            let id = RecordId { author: message.author, number: record.number };
            if *first.entry(id).or_insert_with(|| record.clone()) != *record {
                return Err(format!("two records are {id}"));
            }
        }
        let newest = state.tables().members().incarnation(NODE);
        let is_replaced = newest > Some(message.author.incarnation);
        for record in state.apply(ReadMessage { position, message, bytes }).records {
            match record.result {
                RecordResult::Refused(Refusal::Fenced) => fenced += 1,
                RecordResult::Table(TableAnswer::Name(_)) if is_replaced => {
                    return Err(format!("{} counts, though its process was replaced", record.id));
                }
                _ => {}
            }
            results.entry(record.id).or_insert(record.result);
        }
    }
    for (id, learned) in processes.iter().flat_map(|process| &process.learned) {
        if results.get(id) != Some(learned) {
            return Err(format!("of {id} its author learned {learned:?}"));
        }
    }
    Ok(fenced)
}

/// Two processes start from copies of one directory, in either order; the one that could not join starts again.
///
/// # Errors
/// What is wrong.
fn two_processes(seed: u64) -> Result<u32, String> {
    let often = OneIn(4);
    let delay_max = Duration::from_millis(20);
    let faults =
        LogFaults { delay_max, doubled: often, unanswered: often, lag: often, ..LogFaults::default() };
    let (log, mut random, mut now) = (MemoryLog::new(seed, faults), SplitMix64::new(seed), Duration::ZERO);
    let directory = MemoryDirectory::new("node");
    count_start(&directory, NODE, &mut random).unwrap();
    let copy = directory.power_cut();
    let mut processes = Vec::from([directory, copy].map(|it| Process::start(it, &log, &mut random)));
    assert_eq!(processes[0].start.author, processes[1].start.author);
    if seed.is_multiple_of(2) {
        processes.reverse();
    }

    run(&log, &mut now, &mut processes);
    let joined: Vec<_> = (0..2).filter(|at| processes[*at].node.is_member()).collect();
    let [winner] = joined[..] else { return Err(format!("{} processes have joined", joined.len())) };
    let known = match &processes[1 - winner].stopped {
        Some(NodeError::NotJoined { known, .. }) => *known,
        other => return Err(format!("the other process goes on: {other:?}")),
    };
    check_log(&log, &processes)?;

    let directory = processes[1 - winner].directory.power_cut();
    skip_to(&directory, known).unwrap();
    processes.push(Process::start(directory, &log, &mut random));
    run(&log, &mut now, &mut processes);
    let fenced = check_log(&log, &processes)?;
    if !processes[2].node.is_member() {
        return Err(format!("the next start does not join: {:?}", processes[2].stopped));
    }
    match &processes[winner].stopped {
        Some(NodeError::Replaced { known: 2, .. }) => {}
        other => return Err(format!("the first process goes on: {other:?}")),
    }
    let pushed = processes[winner].node.push(RecordBody::Barrier, now);
    assert_eq!(pushed, Err(NodePushError::Stopped));
    assert!(processes[winner].learned.len() > ROUNDS / 4, "it has written");
    Ok(fenced)
}

#[test]
fn of_two_processes_from_copies_of_one_directory_one_writes_until_the_other_starts_again() {
    let seeds = Seeds::of_environment(200);
    let fenced = seeds.play(two_processes);
    assert!(fenced > 0 || !seeds.are_many(), "no record was under way when its process was replaced");
}

#[test]
fn planted_bugs_of_joining_are_found() {
    for (bug, message) in [
        (Bug::PushedBeforeJoined, "two records are"),
        (Bug::IncarnationTwice, "processes have joined"),
        (Bug::ZombieAccepted, "was replaced"),
    ] {
        let wrong = with(bug, || (0..20).find_map(|seed| two_processes(seed).err()));
        match wrong {
            Some(wrong) => assert!(wrong.contains(message), "{bug:?} is found otherwise: {wrong}"),
            None => panic!("no seed shows {bug:?}"),
        }
    }
}

#[test]
fn a_start_from_an_old_copy_writes_nothing_and_the_next_one_joins() {
    let (log, mut random) = (MemoryLog::new(1, LogFaults::default()), SplitMix64::new(1));
    let (directory, mut now) = (MemoryDirectory::new("node"), Duration::ZERO);
    let old = directory.power_cut();
    let mut first = Process::start(directory.clone(), &log, &mut random);
    run(&log, &mut now, std::slice::from_mut(&mut first));
    let mut second = Process::start(directory, &log, &mut random);
    run(&log, &mut now, std::slice::from_mut(&mut second));
    assert!(first.learned.len() > ROUNDS / 2 && second.node.is_member());

    let messages = log.messages().len();
    let mut of_copy = Process::start(old, &log, &mut random);
    run(&log, &mut now, std::slice::from_mut(&mut of_copy));
    let author = Author { node: NODE, incarnation: 0 };
    match of_copy.stopped {
        Some(NodeError::NotJoined { author: found, known: 1 }) => assert_eq!(found, author),
        other => panic!("{other:?}"),
    }
    assert_eq!(log.messages().len(), messages, "it asked for nothing");
    skip_to(&of_copy.directory, 1).unwrap();
    let mut next = Process::start(of_copy.directory, &log, &mut random);
    run(&log, &mut now, std::slice::from_mut(&mut next));
    assert!(next.node.is_member() && next.start.author.incarnation == 2);
}

/// A process begins; while it reads what it has missed, another one joins as the same node, from a copy of its directory. The first
/// one starts once more by itself, behind the number of the other.
///
/// # Errors
/// What is wrong.
fn overtaken(starts_before: u32) -> Result<(), String> {
    let (log, mut random) = (MemoryLog::new(1, LogFaults::default()), SplitMix64::new(1));
    let (directory, mut now) = (MemoryDirectory::new("node"), Duration::ZERO);
    let mut before = Process::start(directory.clone(), &log, &mut random);
    run(&log, &mut now, std::slice::from_mut(&mut before));
    let (first, second) = (directory.power_cut(), directory.power_cut());
    let began_at = log.messages().last().unwrap().position;
    let mut other = Process::start(second, &log, &mut random);
    run(&log, &mut now, std::slice::from_mut(&mut other));

    // However often it starts, and whatever its number is.
    for _ in 0..starts_before {
        count_start(&first, NODE, &mut random).unwrap();
    }
    let mut older = Process::start(first, &log, &mut random);
    older.node = older.node.having_begun_at(began_at, None);
    let mut both = [other, older];
    run(&log, &mut now, &mut both);
    let [other, older] = both;
    match &older.stopped {
        Some(error @ NodeError::Overtaken { known: 1, .. }) => {
            let said = error.to_string();
            assert!(said.contains("that one goes on, and this one ends"), "{said}");
        }
        stopped => return Err(format!("the older one does not yield: {stopped:?}")),
    }
    if other.stopped.is_some() || !other.node.is_member() {
        return Err(format!("the younger one has ended: {:?}", other.stopped));
    }
    // Whoever begins later takes its place, as ever.
    let mut later = Process::start(older.directory, &log, &mut random);
    later.node = later.node.having_begun_at(log.messages().last().unwrap().position, None);
    run(&log, &mut now, std::slice::from_mut(&mut later));
    if later.start.author.incarnation > 1 && !later.node.is_member() {
        return Err(format!("a later one does not join: {:?}", later.stopped));
    }
    Ok(())
}

#[test]
fn a_start_does_not_take_the_place_of_a_process_that_joined_after_it_began() {
    for starts_before in [0, 1, 5] {
        overtaken(starts_before).unwrap();
    }
    let wrong = with(Bug::YoungerFenced, || overtaken(5)).unwrap_err();
    assert!(wrong.contains("does not yield"), "{wrong}");
}

#[test]
fn a_process_that_starts_once_more_does_not_yield_to_itself() {
    let (log, mut random) = (MemoryLog::new(1, LogFaults::default()), SplitMix64::new(1));
    let (directory, mut now) = (MemoryDirectory::new("node"), Duration::ZERO);
    // It has joined, and learned nothing of that.
    let mut first = Process::start(directory.clone(), &log, &mut random);
    run(&log, &mut now, std::slice::from_mut(&mut first));
    assert!(first.node.is_member());
    for (earlier, joins) in [(Some(first.start), true), (None, false)] {
        let mut again = Process::start(directory.power_cut(), &log, &mut random);
        again.node = again.node.having_begun_at(LogPosition::START, earlier);
        run(&log, &mut now, std::slice::from_mut(&mut again));
        assert_eq!(again.node.is_member(), joins, "{:?}", again.stopped);
    }
}

#[test]
fn a_node_that_left_stops() {
    let log = MemoryLog::new(1, LogFaults::default());
    let start = NodeStart { author: Author { node: NodeId(9), incarnation: 0 }, nonce: 9 };
    let (applier, client) = (Applier::new(first_state()), NodeLog::writing(log.connect()));
    let mut node: ToyNode = NodeLoop::new(start, "node-9:1".into(), PackerLimits::default(), applier, client);
    let (mut now, mut events) = (Duration::ZERO, Vec::new());
    for _ in 0..9 {
        now += ROUND;
        log.advance_to(now);
        node.step(now, &mut events).unwrap();
    }
    assert!(events.iter().any(|event| matches!(event, NodeEvent::Joined)));
    assert_eq!(node.applier().state().tables().members().address(NodeId(9)), Some("node-9:1"));

    // Node 0 takes it out of the cluster.
    let mut builder = MessageBuilder::new(Author { node: NodeId(0), incarnation: 0 });
    assert!(builder.push(&Record { number: 1, body: RecordBody::Leave { node: NodeId(9) } }));
    log.connect().append(AppendId(1), builder.finish(&node.applier().state().seen()).into());
    let stopped = node.step(now + ROUND, &mut events);
    assert!(matches!(stopped, Err(NodeError::Left)), "{stopped:?}");
    assert!(matches!(node.step(now + 2 * ROUND, &mut events), Err(NodeError::Stopped)));
    assert_eq!(node.next_step_at(), None);
}
