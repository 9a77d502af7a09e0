//! Ends: whoever asks where a log ends that does not tell it waits for a barrier, which all share that asked before.

use crate::barrier;
use crate::machine::Machine;
use crate::script::NODE;
use evergraph_cluster::digest::SeenLog;
use evergraph_cluster::log::memory::EndAnswers;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::node::node_loop::NodeEvent;
use evergraph_cluster::planted::{Bug, with};
use evergraph_cluster::record::body::RecordBody;
use evergraph_cluster::record::message::Message;

/// Barriers of the node in the log.
fn barriers(machine: &Machine) -> usize {
    let messages = machine.log.messages();
    let own = messages.iter().map(|message| Message::decode(&message.bytes).unwrap());
    let own = own.filter(|message| message.author.node == NODE);
    own.flat_map(|message| message.records).filter(|record| record.body == RecordBody::Barrier).count()
}

/// Asks for the end thrice, and once more after somebody else's message was acknowledged while the barrier was on its way. What is
/// wrong, if anything is.
fn asked_four_times(seed: u64) -> Result<(), String> {
    let mut machine = Machine::new(seed);
    machine.log.set_end_answers(EndAnswers::BarrierNeeded);
    let mut node = machine.start_and_join()?;
    let first: Vec<_> = (0..3).map(|_| node.ask_for_end()).collect();
    let mut events = Vec::new();
    let mut waited = 0;
    while barriers(&machine) == 0 {
        machine.tick(&mut node, &mut events).map_err(|error| error.to_string())?;
        waited += 1;
        assert!(waited < 99, "no barrier is sent");
    }
    machine.append(&barrier(1, &SeenLog::START));
    let acknowledged = machine.log.messages().last().unwrap().position;
    let last = node.ask_for_end();
    for _ in 0..99 {
        machine.tick(&mut node, &mut events).map_err(|error| error.to_string())?;
    }
    let ends: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            NodeEvent::End { id, result } => Some((*id, result.clone().unwrap())),
            _ => None,
        })
        .collect();
    assert_eq!(ends.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [first, vec![last]].concat(), "each once");
    let positions: Vec<LogPosition> = ends.into_iter().map(|(_, position)| position).collect();
    if positions[3] < acknowledged {
        return Err(format!("{} lies before {acknowledged}, which was acknowledged", positions[3]));
    }
    assert!(
        positions[0] == positions[1] && positions[1] == positions[2],
        "they share a barrier: {positions:?}"
    );
    assert_eq!(barriers(&machine), 2);
    Ok(())
}

#[test]
fn all_who_ask_share_a_barrier_and_whoever_asks_later_waits_for_the_next() {
    (1..20).for_each(|seed| asked_four_times(seed).unwrap());
}

#[test]
fn planted_bugs_of_ends_are_found() {
    let wrong = with(Bug::EarlierBarrierTaken, || asked_four_times(1)).unwrap_err();
    assert!(wrong.contains("which was acknowledged"), "{wrong}");
}
