//! Store errors: a partition that has no room is asked again, and one whose store fails is out of use alone.

use crate::fuse::Fuse;
use crate::machine::{Crash, Machine, ToyNode, same};
use crate::script::{NODE, Script, first_state};
use evergraph_cluster::node::apply::SaveError;
use evergraph_cluster::node::apply_error::ApplyError;
use evergraph_cluster::node::kept_partition::PartitionEvent;
use evergraph_cluster::node::node_loop::NodeEvent;
use evergraph_cluster::planted::{Bug, with};
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::PartitionId;
use std::time::Duration;

/// Messages of a script; a checkpoint comes after each third.
const MESSAGES: usize = 30;

/// A script is applied though there is no room for one of its steps at first: whichever that is.
///
/// # Errors
/// What is wrong then.
fn every_step_without_room() -> Result<usize, String> {
    let script = Script::new(11, MESSAGES);
    let steps = Machine::new(11).run(&script, &[])?.steps;
    let mut stalls = 0;
    for step in 0..steps {
        let run = Machine::new(11).run(&script, &[Crash::Full(step)]);
        stalls += run.map_err(|wrong| format!("step {step}: {wrong}"))?.stalls;
    }
    Ok(stalls)
}

#[test]
fn a_partition_that_had_no_room_for_a_while_has_what_follows_from_the_log() {
    let stalls = every_step_without_room().unwrap();
    assert!(stalls > 10, "{stalls} stalls");
    let wrong = with(Bug::StalledRestForgotten, every_step_without_room).unwrap_err();
    assert!(wrong.contains("differs"), "{wrong}");
}

/// What the operator heard of partitions.
fn heard(events: &[NodeEvent]) -> Vec<&PartitionEvent> {
    let of_partitions = events.iter().filter_map(|event| match event {
        NodeEvent::Partition(event) => Some(event),
        _ => None,
    });
    of_partitions.collect()
}

/// A node, one of whose partitions finds no room for a commit, so many times, and its log of one script.
fn stalled(script: &Script, times: u32) -> (Machine, ToyNode, Fuse, Vec<NodeEvent>) {
    let (mut machine, fuse) = (Machine::new(12), Fuse::full(1, times));
    let (partition, _) = first_state().tables().placement().kept_by(NODE).next().unwrap();
    machine.fuses.insert(partition, fuse.clone());
    let mut node = machine.start(&Fuse::new(None)).unwrap();
    script.messages.iter().for_each(|bytes| machine.append(bytes));
    let mut events = Vec::new();
    for _ in 0..1000 {
        if node.applier().is_stalled() {
            return (machine, node, fuse, events);
        }
        machine.tick(&mut node, &mut events).unwrap();
    }
    panic!("a script has some commits");
}

#[test]
fn a_stalled_node_reads_no_further_and_does_all_else() {
    let script = Script::new(12, MESSAGES);
    let (mut machine, mut node, _, mut events) = stalled(&script, 8);
    let PartitionEvent::Stalled { partition, cause } = heard(&events)[0].clone() else {
        panic!("{events:?}")
    };
    assert_eq!(cause.kind(), ErrorKind::Limit);
    let at = node.applier().state().seen();
    assert!(node.next_step_at().unwrap() <= machine.now + Duration::from_millis(10));
    let end = node.ask_for_end();
    while node.applier().is_stalled() {
        assert_eq!(node.applier().state().seen(), at, "it reads on");
        assert!(node.proved(partition).is_none(), "it lacks a commit");
        machine.tick(&mut node, &mut events).unwrap();
    }
    let is_end = |event: &NodeEvent| matches!(event, NodeEvent::End { id, .. } if *id == end);
    assert!(events.iter().any(is_end), "the log said where it ends");
    let events = [events, machine.read_all(&mut node).unwrap()].concat();
    match heard(&events)[..] {
        [PartitionEvent::Stalled { .. }, PartitionEvent::Resumed { partition: resumed }] => {
            assert_eq!(*resumed, partition);
        }
        ref others => panic!("{others:?}"),
    }
    same(&mut node, &script).unwrap();
}

#[test]
fn a_stall_is_left_alone_longer_and_longer() {
    let script = Script::new(12, MESSAGES);
    let (mut machine, mut node, fuse, mut events) = stalled(&script, u32::MAX);
    let (mut asked_at, mut waits) = (machine.now, Vec::new());
    for _ in 0..5000 {
        let before = fuse.refused();
        machine.now += Duration::from_millis(1);
        machine.log.advance_to(machine.now);
        node.step(machine.now, &mut events).unwrap();
        if fuse.refused() > before {
            waits.push((machine.now - asked_at).as_millis());
            asked_at = machine.now;
        }
    }
    assert_eq!(waits, [10, 20, 40, 80, 160, 320, 640, 1000, 1000, 1000]);
    assert_eq!(heard(&events).len(), 1, "it is told once: {events:?}");
}

/// A node that is stalled cannot make a checkpoint: it would say that its partition has what it has not.
fn checkpoint_of_a_stalled_node() -> Result<(), SaveError> {
    let script = Script::new(12, MESSAGES);
    let (machine, mut node, _, _) = stalled(&script, u32::MAX);
    machine.checkpoint(&mut node, None)
}

#[test]
fn a_stalled_node_makes_no_checkpoint_and_goes_on_after_a_crash() {
    let saved = checkpoint_of_a_stalled_node();
    assert!(matches!(saved, Err(SaveError::Stalled { .. })), "{saved:?}");
    assert!(with(Bug::StalledStateSaved, checkpoint_of_a_stalled_node).is_ok());

    let script = Script::new(12, MESSAGES);
    let (mut machine, mut node, fuse, _) = stalled(&script, u32::MAX);
    machine.checkpoint(&mut node, None).unwrap_err();
    drop(node);
    machine.cut_power();
    fuse.mend();
    let mut node = machine.start(&fuse).unwrap();
    machine.read_all(&mut node).unwrap();
    same(&mut node, &script).unwrap();
}

/// The store of one partition fails at a step of its own. Says what became of it, and whether it still answers.
fn failed_store(step: u64) -> (Vec<PartitionId>, bool) {
    let script = Script::new(13, MESSAGES);
    let mut machine = Machine::new(13);
    let sound = Fuse::new(None);
    let mut node = machine.start(&sound).unwrap();
    let broken = node.applier().kept().next().unwrap();
    drop(node);
    machine.fuses.insert(broken, Fuse::new(Some(step)));
    node = machine.start(&sound).unwrap();
    let mut events = Vec::new();
    for (number, bytes) in script.messages.iter().enumerate() {
        machine.append(bytes);
        events.extend(machine.read_all(&mut node).unwrap());
        if (number + 1).is_multiple_of(3) {
            match machine.checkpoint(&mut node, None) {
                Ok(()) => machine.trim(&node),
                // The next one goes on without it.
                Err(
                    SaveError::Failed { partition } | SaveError::Store(ApplyError::Store { partition, .. }),
                ) => {
                    assert_eq!(partition, broken);
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
    let answers = node.proved(broken).is_some();
    machine.tick(&mut node, &mut events).unwrap();
    same(&mut node, &script).unwrap();
    let failed: Vec<_> = node.applier().failed().map(|(partition, _)| partition).collect();
    assert_eq!(heard(&events).len(), failed.len(), "each is told once: {events:?}");
    if failed == [broken] {
        // Nothing of the log is kept for it: it is taken away, and must be copied.
        machine.checkpoint(&mut node, None).unwrap();
        machine.trim(&node);
        node.give_up(broken).unwrap();
        assert!(node.proved(broken).is_none());
        drop(node);
        machine.cut_power();
        let refused = machine.start(&sound).unwrap_err();
        assert!(refused.contains("copy it again"), "{refused}");
    }
    (failed, answers)
}

#[test]
fn a_partition_whose_store_fails_is_out_of_use_and_the_node_goes_on() {
    let mut failures = 0;
    for step in 0..40 {
        let (failed, answers) = failed_store(step);
        assert!(
            failed.len() <= 1 && answers == failed.is_empty(),
            "step {step}: {failed:?} answers: {answers}"
        );
        failures += failed.len();
    }
    assert!(failures > 10, "{failures} stores failed");
    let (failed, answers) = with(Bug::FailedPartitionAnswers, || failed_store(0));
    assert!(failed.len() == 1 && answers, "nothing else finds it");
}
