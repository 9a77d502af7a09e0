//! Lost records: the log acknowledges what a node writes, and is restored from a copy without it before the node has read it.
//!
//! The node has seen nothing that the log does not have, so it goes on, and must not wait for ever.

use crate::machine::Machine;
use crate::node_log::NodeLog;
use evergraph_cluster::log::memory::EndAnswers;
use evergraph_cluster::node::node_loop::NodeEvent;
use evergraph_cluster::planted::{Bug, with};
use std::ops::Range;

/// Ticks that are far longer than a node waits for a record.
const TICKS: usize = 500;

/// A node joins, and asks for the end of a log that does not tell it. The messages of these numbers that it appends are
/// acknowledged and lost.
///
/// # Errors
/// What is wrong.
fn joined_and_asked(lost: Range<usize>) -> Result<(), String> {
    let mut machine = Machine::new(3);
    machine.log.set_end_answers(EndAnswers::BarrierNeeded);
    let (log, forgotten) = NodeLog::forgetting(machine.log.connect(), lost.clone());
    let mut node = machine.join(log)?;
    let asked = [node.ask_for_end(), node.ask_for_end()];
    let (mut events, mut answered) = (Vec::new(), Vec::new());
    for _ in 0..TICKS {
        machine.tick(&mut node, &mut events).map_err(|error| error.to_string())?;
        answered.extend(events.drain(..).filter_map(|event| match event {
            NodeEvent::End { id, result: Ok(_) } => Some(id),
            _ => None,
        }));
        if answered == asked {
            assert_eq!(forgotten.borrow().len(), lost.len(), "all are lost that should be");
            return Ok(());
        }
    }
    Err(format!("where the log ends is asked by {asked:?}, and said to {answered:?}"))
}

/// Two records by which a node asks to join are acknowledged and lost, and the first comes after all.
///
/// # Errors
/// What is wrong.
fn joined_late() -> Result<(), String> {
    let mut machine = Machine::new(4);
    let (log, forgotten) = NodeLog::forgetting(machine.log.connect(), 0..2);
    let mut node = machine.begin(log)?;
    let mut events = Vec::new();
    for _ in 0..TICKS {
        machine.tick(&mut node, &mut events).map_err(|error| error.to_string())?;
        if forgotten.borrow().len() == 2 {
            machine.append(&forgotten.borrow()[0]);
            break;
        }
    }
    for _ in 0..TICKS {
        machine.tick(&mut node, &mut events).map_err(|error| error.to_string())?;
        if node.is_member() {
            return Ok(());
        }
    }
    Err("the node does not join".to_owned())
}

/// All barriers of a node are acknowledged and do not come. The first one comes late, while the second one is under way, and then that
/// one. Two questions were asked before the first, and one before the second.
///
/// # Errors
/// What is wrong.
fn asked_and_answered_late() -> Result<(), String> {
    let mut machine = Machine::new(5);
    machine.log.set_end_answers(EndAnswers::BarrierNeeded);
    let (log, forgotten) = NodeLog::forgetting(machine.log.connect(), 1..usize::MAX);
    let mut node = machine.join(log)?;
    let mut asked = vec![node.ask_for_end(), node.ask_for_end()];
    let (mut events, mut answered) = (Vec::new(), Vec::new());
    for (come, answers) in [(1, 2), (2, 3)] {
        for _ in 0..TICKS {
            machine.tick(&mut node, &mut events).map_err(|error| error.to_string())?;
            if asked.len() == 2 && forgotten.borrow().len() == 1 {
                asked.push(node.ask_for_end());
            }
            if forgotten.borrow().len() >= 2 {
                break;
            }
        }
        machine.append(&forgotten.borrow()[come - 1]);
        // Far less than until there is another barrier.
        for _ in 0..30 {
            machine.tick(&mut node, &mut events).map_err(|error| error.to_string())?;
        }
        answered.extend(events.drain(..).filter_map(|event| match event {
            NodeEvent::End { id, result: Ok(_) } => Some(id),
            _ => None,
        }));
        if answered != asked[..answers] {
            return Err(format!("barrier {come} of {asked:?} has come, and answered are {answered:?}"));
        }
    }
    assert_eq!(forgotten.borrow().len(), 2, "there are no others");
    Ok(())
}

#[test]
fn what_the_log_has_taken_and_lost_is_written_again() {
    // Nothing, the records by which it joins, or the barriers.
    for lost in [0..0, 0..3, 1..3] {
        joined_and_asked(lost.clone()).unwrap_or_else(|wrong| panic!("{lost:?}: {wrong}"));
    }
}

#[test]
fn an_earlier_record_by_which_a_node_joins_counts_if_it_comes_after_all() {
    joined_late().unwrap();
}

#[test]
fn an_earlier_barrier_answers_its_questions_if_it_comes_after_all() {
    asked_and_answered_late().unwrap();
}

#[test]
fn planted_bugs_of_lost_records_are_found() {
    for (lost, message) in [(0..1, "does not join"), (1..2, "and said to []")] {
        let wrong = with(Bug::LostRecordAwaited, || joined_and_asked(lost)).unwrap_err();
        assert!(wrong.contains(message), "{wrong}");
    }
    let wrong = with(Bug::LateBarrierForgotten, asked_and_answered_late).unwrap_err();
    assert!(wrong.contains("barrier 1 of") && wrong.ends_with("answered are []"), "{wrong}");
}
