//! Nodes: one that crashes at every step has what follows from the log, as one that applied it in one go.
//!
//! ```text
//! script    messages of two other nodes, of every kind of record           what follows from them, in one go
//! machine   a node on the log in memory, with partitions and a directory   crashes, starts anew, makes checkpoints, trims
//! ```
//!
//! The power fails before each step that a partition takes, and at each change of the node's directory, of which any part may
//! reach the disk. Checkpoints are made in steps, with messages between them, and the log is trimmed whenever it may be. Then the
//! node starts from its checkpoint and goes on. In the end certifier, tables and partitions are
//! byte for byte those of the script, and are so again after one more start. So they are if there is no room for a step at first
//! (`store_errors`), or a disk is full while a checkpoint is written. Which process of a node may write, if there are two, is in `joining`;
//! what a node knows of a log that was restored from an older copy, in `restored_log`.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod ends;
mod fuse;
mod joining;
mod lost_records;
mod machine;
mod node_log;
mod restored_log;
mod script;
#[path = "../simulation/mod.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod simulation;
mod store_errors;
mod toy_partition;

use evergraph_cluster::digest::{LogDigest, SeenLog};
use evergraph_cluster::log::memory::OpenStreams;
use evergraph_cluster::log::reader::ReadError;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::apply_error::ApplyError;
use evergraph_cluster::node::node_error::NodeError;
use evergraph_cluster::node::node_loop::NodeEvent;
use evergraph_cluster::node::replicated_state::RecordResult;
use evergraph_cluster::planted::{Bug, with};
use evergraph_cluster::record::body::{NewName, Record, RecordBody};
use evergraph_cluster::record::message::{Message, MessageBuilder};
use evergraph_cluster::record_id::{Author, NodeId};
use evergraph_cluster::seeded::{OneIn, SeededChance};
use evergraph_cluster::tables::cluster_tables::TableAnswer;
use evergraph_graph::id::{LabelId, PartitionId};
use fuse::Fuse;
use machine::{CHANGES_OF_A_CHECKPOINT, Crash, Machine, Outcome, ToyNode, own, random, spread};
use script::{NODE, Script};
use simulation::seeds::Seeds;
use simulation::tally::Counted as _;
use simulation::trace::assert_repeats;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use toy_partition::{ToyFile, ToyPartition};

/// Messages of the script that is played with each crash.
const MESSAGES: usize = 45;

/// Changes of the node's directory in a run without crashes.
fn changes(calm: Outcome) -> u64 {
    CHANGES_OF_A_CHECKPOINT * calm.checkpoints as u64
}

/// Every crash of that script.
fn crashes(calm: Outcome) -> impl Iterator<Item = Crash> {
    (0..calm.steps).map(Crash::InPartition).chain((1..=changes(calm)).map(Crash::OnDisk))
}

/// A message of a barrier, by an author who has read `seen`.
fn barrier(number: u64, seen: &SeenLog) -> Arc<[u8]> {
    let mut builder = MessageBuilder::new(Author { node: NodeId(0), incarnation: 7 });
    assert!(builder.push(&Record { number, body: RecordBody::Barrier }));
    builder.finish(seen).into()
}

#[test]
fn a_node_that_crashes_at_any_step_has_what_follows_from_the_log() {
    let script = Script::new(1, MESSAGES);
    let calm = Machine::new(1).run(&script, &[], spread).unwrap();
    assert!(calm.steps > 45 && calm.checkpoints == 5, "{calm:?}");
    for (seed, crash) in (2..).zip(crashes(calm)) {
        let run = Machine::new(seed).run(&script, &[crash], spread);
        let outcome = run.unwrap_or_else(|wrong| panic!("{crash:?}: {wrong}"));
        assert_eq!(outcome.crashes, 1, "{crash:?}");
    }
}

/// A script of a seed, and a node that crashes up to five times while it applies that.
fn crashes_again_and_again(seed: u64) -> Result<Outcome, String> {
    let mut chance = SeededChance::new(seed);
    let script = Script::new(seed, 20 + chance.below(30) as usize);
    let crash = |_| match chance.happens(OneIn(3)) {
        true => Crash::OnDisk(1 + chance.below(20)),
        false => Crash::InPartition(chance.below(80)),
    };
    let plan: Vec<_> = (0..5).map(crash).collect();
    Machine::new(seed).run(&script, &plan, random)
}

#[test]
fn so_has_one_that_crashes_again_and_again() {
    let seeds = Seeds::of_environment(200);
    let outcome = seeds.play(crashes_again_and_again);
    println!("{seeds:?}: {outcome:?}");
    if seeds.are_many() {
        assert!(outcome.crashes > 200 && outcome.checkpoints > 1000, "{outcome:?}");
    }
}

#[test]
fn what_a_seed_does_to_a_node_it_does_again() {
    assert_repeats(|seed| crashes_again_and_again(seed).unwrap().trace);
}

#[test]
fn a_node_whose_disk_is_full_goes_on_without_a_checkpoint_and_makes_a_later_one() {
    let script = Script::new(1, MESSAGES);
    let calm = Machine::new(1).run(&script, &[], spread).unwrap();
    for nth in 1..=changes(calm) {
        let run = Machine::new(nth).run(&script, &[Crash::DiskFull(nth)], spread);
        let outcome = run.unwrap_or_else(|wrong| panic!("change {nth}: {wrong}"));
        assert_eq!((outcome.failures, outcome.crashes), (1, 0), "change {nth}");
        assert!(outcome.checkpoints >= calm.checkpoints - 1, "change {nth}: {outcome:?}");
    }
}

#[test]
fn scripts_have_records_of_every_kind() {
    let mut kinds = script::Tally::default();
    (0..20).for_each(|seed| kinds += Script::new(seed, 50).tally);
    assert_eq!(kinds.missing(&[]), [""; 0], "{kinds:?}");
}

#[test]
fn planted_bugs_of_nodes_are_found() {
    let scripts = [1, 2, 3, 4].map(|seed| {
        let script = Script::new(seed, MESSAGES);
        let calm = Machine::new(1).run(&script, &[], spread).unwrap();
        (script, calm)
    });
    for (bug, message) in [
        (Bug::StateSavedFirst, "copied from another"),
        (Bug::PartitionSavedBehind, "copied from another"),
        (Bug::NeededFromBegun, "this node needs it from"),
        (Bug::NeededFromOfEnd, "this node needs it from"),
        (Bug::GroupsNotSaved, "what follows from the log differs"),
        (Bug::PartitionAheadInstalled, "is installed already"),
        (Bug::PublishedFirst, "is installed already"),
        (Bug::SchemaKeptFromPartitions, "of 4 differs"),
    ] {
        let mut runs = scripts.iter().flat_map(|(script, calm)| {
            let plans = std::iter::once(Vec::new()).chain(crashes(*calm).map(|crash| vec![crash]));
            plans.map(|plan| Machine::new(1).run(script, &plan, spread))
        });
        match with(bug, || runs.find_map(Result::err)) {
            Some(wrong) => assert!(wrong.contains(message), "{bug:?} is found otherwise: {wrong}"),
            None => panic!("no crash shows {bug:?}"),
        }
    }
}

/// A node that has made a checkpoint behind the first six messages of `script`, and its machine.
fn checkpointed(script: &Script) -> (Machine, ToyNode) {
    let mut machine = Machine::new(3);
    let mut node = machine.start(&Fuse::new(None)).unwrap();
    script.messages[..6].iter().for_each(|bytes| machine.append(bytes));
    machine.read_all(&mut node).unwrap();
    machine.checkpoint(&mut node, None).unwrap();
    (machine, node)
}

/// A node makes its partitions durable and crashes before it has saved the rest; the log loses the newest messages, and others
/// take their places. The node starts again.
fn started_on_a_log_that_lost_what_its_partitions_hold() -> ToyNode {
    let script = Script::new(3, 12);
    let (mut machine, mut node) = checkpointed(&script);
    script.messages[6..].iter().for_each(|bytes| machine.append(bytes));
    machine.read_all(&mut node).unwrap();
    machine.checkpoint(&mut node, Some(1)).unwrap_err();
    machine.cut_power();
    machine.log.lose_suffix(4, OpenStreams::BreakOff);
    (1..=6).for_each(|number| machine.append(&barrier(number, &SeenLog::START)));
    let mut node = machine.start(&Fuse::new(None)).unwrap();
    machine.read_all(&mut node).unwrap();
    node
}

#[test]
fn a_partition_that_holds_what_the_log_lost_is_not_read() {
    let mut node = started_on_a_log_that_lost_what_its_partitions_hold();
    let kept: Vec<_> = node.applier().kept().collect();
    let failed: Vec<_> = node.applier().failed().map(|(partition, _)| partition).collect();
    assert_eq!(failed, kept);
    for (_, error) in node.applier().failed() {
        let ApplyError::OtherLog { installed, .. } = error else { panic!("{error:?}") };
        assert_eq!(*installed, LogPosition(12));
    }
    assert!(kept.into_iter().all(|partition| node.proved(partition).is_none()));
    let unproved = with(Bug::PartitionUnproved, started_on_a_log_that_lost_what_its_partitions_hold);
    assert_eq!(unproved.applier().failed().count(), 0, "nothing else finds it");
}

/// A node without partitions gets a copy of one from a node that has applied more. Whether both pieces of the log have commits
/// for it, those before the copy ends and those after.
fn copied(seed: u64) -> bool {
    let script = Script::new(seed, 18);
    let (mut machine, fuse) = (Machine::new(seed), Fuse::new(None));
    let mut first = machine.start(&fuse).unwrap();
    let mut late = machine.start_empty();
    let partition = first.applier().kept().next().unwrap();
    script.messages[..6].iter().for_each(|bytes| machine.append(bytes));
    machine.read_all(&mut first).unwrap();
    machine.read_all(&mut late).unwrap();
    let old = machine.copy(&mut first, partition, &fuse);
    script.messages[6..12].iter().for_each(|bytes| machine.append(bytes));
    machine.read_all(&mut first).unwrap();
    late.keep(partition, machine.copy(&mut first, partition, &fuse)).unwrap();
    assert!(late.proved(partition).is_none(), "it is ahead");
    let again = late.keep(partition, machine.copy(&mut first, partition, &fuse));
    assert!(matches!(again, Err(ApplyError::Kept { .. })), "{again:?}");
    machine.read_all(&mut late).unwrap();
    let at_the_copy = late.proved(partition).unwrap().history();
    assert_eq!(at_the_copy, first.proved(partition).unwrap().history());
    script.messages[12..].iter().for_each(|bytes| machine.append(bytes));
    machine.read_all(&mut late).unwrap();
    let history = late.give_up(partition).unwrap().history();
    assert_eq!(history, script.histories[&partition]);
    // What ends before the node's own state is of no use: the log between may be gone.
    let behind = late.keep(partition, old);
    assert!(matches!(behind, Err(ApplyError::Behind { .. })), "{behind:?}");
    history.len() > at_the_copy.len() && !at_the_copy.is_empty()
}

#[test]
fn a_copy_of_another_node_is_proved_where_it_ends_and_goes_on_from_there() {
    let whole = (0..10).filter(|seed| copied(*seed)).count();
    assert!(whole > 0, "no copy had commits before and after its end");
}

#[test]
fn a_partition_of_another_log_is_refused_at_once_where_the_node_has_applied_as_much() {
    let script = Script::new(5, 6);
    let (mut machine, fuse) = (Machine::new(5), Fuse::new(None));
    let mut node = machine.start(&fuse).unwrap();
    script.messages.iter().for_each(|bytes| machine.append(bytes));
    machine.read_all(&mut node).unwrap();
    let partition = node.applier().kept().next().unwrap();
    node.give_up(partition).unwrap();
    let mut file = ToyFile::default();
    file.forge(SeenLog { digest: LogDigest([9; 16]), ..script.seen });
    let other = ToyPartition::open(own(partition), &Rc::new(RefCell::new(file)), &fuse);
    let refused = node.keep(partition, other);
    assert!(matches!(refused, Err(ApplyError::OtherLog { .. })), "{refused:?}");
}

#[test]
fn a_node_reads_the_newest_messages_again_and_says_what_it_found_before_it_stops() {
    let script = Script::new(7, 20);
    let mut machine = Machine::new(7);
    script.messages.iter().for_each(|bytes| machine.append(bytes));
    let mut node = machine.start_and_join().unwrap();
    let newest = node.applier().state().seen().position;
    machine.log.lose_suffix(2, OpenStreams::GoOn);
    (1..=2).for_each(|number| machine.append(&barrier(number, &SeenLog::START)));
    let mut events = Vec::new();
    let stopped = (0..300).find_map(|_| machine.tick(&mut node, &mut events).err());
    assert!(matches!(stopped, Some(NodeError::Read(ReadError::LogChanged { .. }))), "{stopped:?}");
    assert_eq!(node.next_step_at(), None);
    let last = machine.log.messages().pop().unwrap();
    let said = Message::decode(&last.bytes).unwrap();
    assert_eq!((said.author.node, said.seen.position.next()), (NODE, newest), "the first that differs");
}

#[test]
fn an_author_of_another_log_is_answered_by_a_barrier() {
    let script = Script::new(7, 5);
    let mut machine = Machine::new(7);
    script.messages.iter().for_each(|bytes| machine.append(bytes));
    let mut node = machine.start_and_join().unwrap();
    let other = SeenLog { position: LogPosition(4), digest: LogDigest([1; 16]) };
    machine.append(&barrier(1, &other));
    let mut events = machine.read_all(&mut node).unwrap();
    for _ in 0..99 {
        machine.tick(&mut node, &mut events).unwrap();
    }
    let alarms = events.iter().filter(|event| matches!(event, NodeEvent::Alarm(_))).count();
    assert_eq!(alarms, 1);
    let answered = events.iter().filter(|event| matches!(event, NodeEvent::Appended(_))).count();
    assert_eq!(answered, 1);
    let last = Message::decode(&machine.log.messages().pop().unwrap().bytes).unwrap();
    let bodies: Vec<_> = last.records.into_iter().map(|record| record.body).collect();
    assert_eq!((last.author.node, bodies), (NODE, vec![RecordBody::Barrier]));
}

#[test]
fn an_author_learns_what_became_of_its_records_by_applying_them() {
    let mut machine = Machine::new(8);
    let mut node = machine.start_and_join().unwrap();
    let name = RecordBody::Name { name: NewName::Label("Person".into()), touches: Vec::new() };
    let (label, partition) = (LabelId(0), PartitionId(2));
    let rows = || RecordBody::Rows { label, partition, touches: Vec::new() };
    let asked: Vec<_> =
        [name, rows(), rows()].into_iter().map(|body| node.push(body, machine.now).unwrap()).collect();
    let end = node.ask_for_end();
    let mut events = Vec::new();
    for _ in 0..99 {
        machine.tick(&mut node, &mut events).unwrap();
    }
    let applied = events.iter().filter_map(|event| match event {
        NodeEvent::Applied(applied) => Some(&applied.records),
        _ => None,
    });
    let records: Vec<_> = applied.flatten().collect();
    assert_eq!(records.iter().map(|record| record.id).collect::<Vec<_>>(), asked);
    let given = |at: usize| match records[at].result {
        RecordResult::Table(TableAnswer::Rows(Ok(range))) => range,
        other => panic!("{other:?}"),
    };
    assert_eq!((given(1).first, given(2).first), (0, 256));
    let ends = events.iter().filter(|event| matches!(event, NodeEvent::End { id, .. } if *id == end));
    assert_eq!(ends.count(), 1);
}
