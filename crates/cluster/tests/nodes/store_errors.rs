//! Store errors: a partition that has no room is asked again, and one whose store fails is out of use alone.

use crate::barrier;
use crate::fuse::Fuse;
use crate::machine::{Crash, Machine, ToyNode, random, same};
use crate::script::{NODE, Script, first_state};
use evergraph_cluster::node::apply::HELD_BYTES_MAX;
use evergraph_cluster::node::apply_error::ApplyError;
use evergraph_cluster::node::checkpoint_steps::SaveError;
use evergraph_cluster::node::kept_partition::PartitionEvent;
use evergraph_cluster::node::node_loop::NodeEvent;
use evergraph_cluster::planted::{Bug, with};
use evergraph_graph::error::ErrorKind;
use evergraph_graph::id::PartitionId;
use std::time::Duration;

/// Messages of a script.
const MESSAGES: usize = 30;

/// A script is applied though there is no room for one of its steps at first: whichever that is.
///
/// # Errors
/// What is wrong then.
fn every_step_without_room() -> Result<(usize, usize), String> {
    let script = Script::new(11, MESSAGES);
    let steps = Machine::new(11).run(&script, &[], random)?.steps;
    let (mut stalls, mut failures) = (0, 0);
    for step in 0..steps {
        let run = Machine::new(11).run(&script, &[Crash::Full(step)], random);
        let outcome = run.map_err(|wrong| format!("step {step}: {wrong}"))?;
        stalls += outcome.stalls;
        failures += outcome.failures;
    }
    Ok((stalls, failures))
}

#[test]
fn a_partition_that_had_no_room_for_a_while_has_what_follows_from_the_log() {
    let (stalls, failures) = every_step_without_room().unwrap();
    assert!(stalls > 10 && failures > 10, "{stalls} stalls, {failures} checkpoints that failed");
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

/// A node, the store of one of whose partitions was to fail at a step of its own.
struct BrokenStore {
    machine: Machine,
    node: ToyNode,
    broken: PartitionId,
    events: Vec<NodeEvent>,
    /// Whether it has failed.
    has_failed: bool,
    /// Whether it still answers.
    answers: bool,
}

/// The node applies a script meanwhile, and everything but that partition has what follows from it. Checkpoints wait for the
/// partition as long as not so many bytes came since the last one.
fn failed_store(step: u64, held_bytes_max: u64) -> BrokenStore {
    let script = Script::new(13, MESSAGES);
    let mut machine = Machine::new(13);
    machine.held_bytes_max = held_bytes_max;
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
                Err(
                    SaveError::Failed { partition }
                    | SaveError::Held { partition, .. }
                    | SaveError::Store(ApplyError::Store { partition, .. }),
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
    let is_failure = |event: &&&PartitionEvent| matches!(event, PartitionEvent::Failed { .. });
    let told = heard(&events).iter().filter(is_failure).count();
    assert_eq!(told, failed.len(), "each is told once: {events:?}");
    let has_failed = failed == [broken];
    assert!(has_failed || failed.is_empty(), "{failed:?}");
    BrokenStore { machine, node, broken, events, has_failed, answers }
}

#[test]
fn a_partition_whose_store_fails_is_out_of_use_and_the_node_goes_on() {
    let failures = (0..40).filter(|step| {
        let BrokenStore { has_failed, answers, .. } = failed_store(*step, HELD_BYTES_MAX);
        assert!(answers != has_failed, "step {step}: it has failed: {has_failed}, answers: {answers}");
        has_failed
    });
    let failures = failures.count();
    assert!(failures > 10, "{failures} stores failed");
    let BrokenStore { has_failed, answers, .. } =
        with(Bug::FailedPartitionAnswers, || failed_store(0, HELD_BYTES_MAX));
    assert!(has_failed && answers, "nothing else finds it");
}

/// Stores fail, at any step; then the disk is mended, and the node starts anew. How many had failed.
///
/// # Errors
/// Why it does not start.
fn started_after_failures() -> Result<usize, String> {
    let script = Script::new(13, MESSAGES);
    let mut failures = 0;
    for step in 0..40 {
        let BrokenStore { mut machine, mut node, broken, has_failed, .. } =
            failed_store(step, HELD_BYTES_MAX);
        if !has_failed {
            continue;
        }
        failures += 1;
        // It goes on and on, and what it needs is still there.
        let _ = machine.checkpoint(&mut node, None);
        machine.trim(&node);
        drop(node);
        machine.cut_power();
        machine.fuses.remove(&broken);
        let mut node = machine.start(&Fuse::new(None))?;
        machine.read_all(&mut node).map_err(|error| error.to_string())?;
        assert_eq!(node.applier().failed().count(), 0);
        same(&mut node, &script)?;
        machine.checkpoint(&mut node, None).map_err(|error| error.to_string())?;
    }
    Ok(failures)
}

#[test]
fn a_partition_that_has_failed_catches_up_after_the_next_start_however_many_checkpoints_were_due() {
    let failures = started_after_failures().unwrap();
    assert!(failures > 10, "{failures} stores failed");
    let wrong = with(Bug::LostCopyNotHeld, started_after_failures).unwrap_err();
    assert!(wrong.contains("copied from another"), "{wrong}");
}

#[test]
fn the_log_is_kept_for_a_partition_that_has_failed_up_to_a_bound() {
    let (mut failures, sound) = (0, Fuse::new(None));
    for step in 0..40 {
        let BrokenStore { mut machine, mut node, broken, mut events, has_failed, .. } =
            failed_store(step, 8000);
        if !has_failed {
            continue;
        }
        failures += 1;
        for number in 1..=200 {
            machine.append(&barrier(number, &node.applier().state().seen()));
        }
        events.extend(machine.read_all(&mut node).unwrap());
        let needed_from = node.applier().needed_from();
        machine.checkpoint(&mut node, None).unwrap();
        assert!(node.applier().needed_from() > needed_from, "nothing of the log is kept for it");
        machine.trim(&node);
        machine.tick(&mut node, &mut events).unwrap();
        let is_lost = |event: &&&PartitionEvent| matches!(event, PartitionEvent::Lost { partition } if *partition == broken);
        assert_eq!(heard(&events).iter().filter(is_lost).count(), 1, "it is told once: {events:?}");
        // The next one does not wait again.
        machine.append(&barrier(201, &node.applier().state().seen()));
        machine.read_all(&mut node).unwrap();
        machine.checkpoint(&mut node, None).unwrap();
        // It is taken away, and must be copied.
        node.give_up(broken).unwrap();
        assert!(node.proved(broken).is_none());
        drop(node);
        machine.cut_power();
        let refused = machine.start(&sound).unwrap_err();
        assert!(refused.contains("copied from another"), "{refused}");
    }
    assert!(failures > 10, "{failures} stores failed");
}

#[test]
fn checkpoints_wait_for_a_partition_that_was_left_out_at_the_start() {
    let script = Script::new(13, MESSAGES);
    let (mut machine, sound) = (Machine::new(13), Fuse::new(None));
    let mut node = machine.start(&sound).unwrap();
    script.messages[..9].iter().for_each(|bytes| machine.append(bytes));
    machine.read_all(&mut node).unwrap();
    machine.checkpoint(&mut node, None).unwrap();
    drop(node);
    let left_out = first_state().tables().placement().kept_by(NODE).next().unwrap().0;
    machine.left_out = Some(left_out);
    let mut node = machine.start(&sound).unwrap();
    script.messages[9..].iter().for_each(|bytes| machine.append(bytes));
    machine.read_all(&mut node).unwrap();
    let refused = machine.checkpoint(&mut node, None);
    assert!(
        matches!(refused, Err(SaveError::Held { partition, .. }) if partition == left_out),
        "{refused:?}"
    );
    machine.trim(&node);
    drop(node);
    machine.left_out = None;
    let mut node = machine.start(&sound).unwrap();
    machine.read_all(&mut node).unwrap();
    same(&mut node, &script).unwrap();
    assert!(node.proved(left_out).is_some());
    machine.checkpoint(&mut node, None).unwrap();
}
