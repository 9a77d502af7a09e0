//! Silences: a node finds no other silent whose heartbeats wait behind frames of a third one, but does not wait for ever. Neither for a
//! query that runs, nor for one that begins.

use super::*;
use crate::travel::message::TravelId;
use evergraph_graph::travel::{TravelProgram, TravelStart};
use std::collections::BTreeSet;

/// Asks for a query, which begins in the next step.
fn ask(queries: &TravellingQueries) -> TravelId {
    let program = TravelProgram {
        bytes: vec![1],
        stages: 1,
        start: TravelStart::Everywhere,
        memory_bytes: 1 << 20,
        time: ms(60_000),
    };
    queries.ask(SeenLog::START, program).unwrap()
}

/// A query of node 0 that runs on nodes 1 and 2, too.
struct RunningQuery {
    asker: Peer,
    others: [MemoryTransport; 2],
    queries: TravellingQueries,
    id: TravelId,
}

impl RunningQuery {
    /// It begins at 0, when both others were heard of.
    fn begin() -> Self {
        let network = MemoryNetwork::new(1, NetworkFaults::default(), 100_000);
        let (mut asker, others) = (Peer::new(0, &network), [1, 2].map(|node| network.connect(NodeId(node))));
        asker.node.tables = tables_of(3);
        let queries = queries_of(&mut asker);
        let id = ask(&queries);
        let mut query = Self { asker, others, queries, id };
        (1..=2).for_each(|node| query.hears(node, 1));
        query.asker.step(0);
        query
    }

    /// So many frames come from a node.
    fn hears(&mut self, node: usize, frames: usize) {
        let (applied, oldest) = (SeenLog::START, LogPosition::START);
        let heartbeat = Frame::Heartbeat(Heartbeat { applied, oldest, needed_from: LogPosition::START });
        (0..frames).for_each(|_| self.others[node - 1].send(NodeId(0), &heartbeat).unwrap());
    }

    /// What it has failed by after a step.
    fn failed(&mut self, now: u64) -> Option<String> {
        self.asker.step(now);
        self.queries.error_of(self.id).map(|error| error.to_string())
    }
}

#[test]
fn a_node_whose_heartbeat_waits_behind_many_frames_is_not_found_silent() {
    let mut query = RunningQuery::begin();
    // The thread was held up meanwhile.
    query.hears(1, 2 * FRAMES_PER_STEP + 1);
    query.hears(2, 1);
    for now in [450, 451, 452] {
        assert_eq!(query.failed(now), None, "it has said something");
    }
    query.hears(1, 1);
    assert_eq!(query.failed(899), None);
    // It had run for 0.45 s by then.
    let lost = query.failed(904).unwrap();
    assert!(lost.contains("node 2 has said nothing for 452ms"), "{lost}");
}

#[test]
fn frames_without_end_of_one_node_do_not_hide_that_another_one_is_silent() {
    let mut query = RunningQuery::begin();
    for now in (10..400).step_by(10) {
        query.hears(1, FRAMES_PER_STEP + 1);
        assert_eq!(query.failed(now), None);
    }
    query.hears(1, FRAMES_PER_STEP + 1);
    let lost = query.failed(400).expect("it is lost behind frames of another one");
    assert!(lost.contains("node 2 has said nothing for 400ms"), "{lost}");
}

#[test]
fn a_query_begins_on_a_node_whose_heartbeat_waits_behind_many_frames() {
    let mut query = RunningQuery::begin();
    let all = BTreeSet::from([0, 1, 2].map(NodeId));
    assert_eq!(query.queries.nodes_of(query.id), all);
    query.hears(1, 2 * FRAMES_PER_STEP + 1);
    query.hears(2, 1);
    let id = ask(&query.queries);
    query.asker.step(450);
    assert_eq!(query.queries.nodes_of(id), all, "it has said something, which is not taken yet");
}

#[test]
fn a_query_begins_on_no_node_that_was_silent_before_many_frames_came() {
    let mut query = RunningQuery::begin();
    query.hears(1, 1);
    query.asker.step(450);
    query.hears(1, FRAMES_PER_STEP + 1);
    let id = ask(&query.queries);
    query.asker.step(460);
    assert_eq!(query.queries.nodes_of(id), BTreeSet::from([0, 1].map(NodeId)));
}

#[test]
fn planted_bugs_of_silences_are_found() {
    let waits = a_node_whose_heartbeat_waits_behind_many_frames_is_not_found_silent;
    assert_found(Bug::LeftFramesUnheard, waits, "it has said something");
    let begins = a_query_begins_on_a_node_whose_heartbeat_waits_behind_many_frames;
    assert_found(Bug::LeftFramesUnheard, begins, "it has said something, which is not taken yet");
    let endless = frames_without_end_of_one_node_do_not_hide_that_another_one_is_silent;
    assert_found(Bug::SilencePutOffForEver, endless, "it is lost behind frames of another one");
}
