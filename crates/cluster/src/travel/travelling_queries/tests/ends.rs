//! Ends: what is left of a query that has ended, wherever messages of it still are, and who hears that one is refused.

use super::*;
use crate::log_position::LogPosition;
use evergraph_storage::io::clock::SystemClock;
use evergraph_storage::sync::thread::spawn;
use std::thread::yield_now;

/// What a node has for others.
fn messages_of(world: &World, node: usize) -> Vec<(NodeId, TravelMessage)> {
    let log = ReadableLog { applied: &world.log, horizon: LogPosition::START };
    let queries = &world.nodes[node];
    queries.step(world.clock.now(), TakenFrames::All, &log, &world.tables);
    std::iter::from_fn(|| queries.next_message().map(|(to, message, _)| (to, message))).collect()
}

fn take(world: &World, node: usize, message: TravelMessage) {
    let log = ReadableLog { applied: &world.log, horizon: LogPosition::START };
    world.nodes[node].take(world.clock.now(), NodeId(0), message, &log);
}

/// A query with first rows for each node, and what its asker has for node 1: that it begins, and rows.
fn begun(world: &mut World) -> (TravelId, TravelMessage, TravelMessage) {
    let id = world.begin(2, &[0, 1, 2], MUCH, LONG);
    let to_one = messages_of(world, 0).into_iter().filter(|(to, _)| *to == NodeId(1));
    let to_one: Vec<_> = to_one.map(|(_, message)| message).collect();
    let find = |is: fn(&TravelMessage) -> bool| to_one.iter().find(|message| is(message)).unwrap().clone();
    let begin = find(|message| matches!(message, TravelMessage::Begin(_)));
    (id, begin, find(|message| matches!(message, TravelMessage::Rows(_))))
}

#[test]
fn what_is_open_is_counted_where_it_was_asked_and_where_it_runs() {
    let mut world = World::new(1, Faults::default(), TravelOptions::default());
    assert_eq!(world.nodes[0].open(), OpenTravels::default());
    let (id, begin, _) = begun(&mut world);
    take(&world, 1, begin);
    let open = |node: usize| world.nodes[node].open();
    assert_eq!(open(0), OpenTravels { asked: 1, running: 1 });
    assert_eq!(open(1), OpenTravels { asked: 0, running: 1 });
    assert_eq!(open(2), OpenTravels::default());
    world.nodes[0].end(id);
    assert_eq!(open(0), OpenTravels::default());
}

/// The network may turn them round.
#[test]
fn what_comes_behind_the_end_of_a_query_begins_and_keeps_nothing() {
    let mut world = World::new(2, Faults::default(), TravelOptions::default());
    let (id, begin, rows) = begun(&mut world);
    take(&world, 1, TravelMessage::End(id));
    take(&world, 1, rows);
    {
        let state = world.nodes[1].shared.state.lock();
        assert_eq!((state.early.len(), state.early_bytes), (0, 0), "rows are kept that nobody takes");
    }
    take(&world, 1, begin);
    assert_eq!(world.nodes[1].open(), OpenTravels::default(), "nobody ends it any more");
    let told = messages_of(&world, 1);
    let has_failed = |(to, message): &(NodeId, TravelMessage)| {
        *to == NodeId(0) && matches!(message, TravelMessage::Failed { id: failed, .. } if *failed == id)
    };
    assert!(told.len() == 1 && told.iter().all(has_failed), "its asker, should it still wait: {told:?}");
}

#[test]
fn rows_that_wait_to_be_sent_are_dropped_with_their_query() {
    let mut world = World::new(3, Faults::default(), TravelOptions::default());
    let id = world.begin(2, &[0, 1, 2], MUCH, LONG);
    world.nodes[0].end(id);
    let told = messages_of(&world, 0);
    let rows = told.iter().filter(|(_, message)| matches!(message, TravelMessage::Rows(_)));
    assert_eq!(rows.count(), 0, "{told:?}");
    let ends = told.iter().filter(|(_, message)| matches!(message, TravelMessage::End(_)));
    assert_eq!(ends.count(), 2, "{told:?}");
}

/// Whoever asked waited for as long as the query may take.
#[test]
fn a_query_that_is_refused_wakes_whoever_asked() {
    // Nobody has joined, so nobody serves a partition.
    let world = World::new(4, Faults::default(), TravelOptions::default());
    let program = TravelProgram {
        bytes: vec![1],
        stages: 1,
        start: TravelStart::Everywhere,
        memory_bytes: MUCH,
        time: LONG,
    };
    let id = world.nodes[0].ask(SeenLog::START, program).unwrap();
    let (clock, looks) = (SystemClock::new(), Arc::<AtomicU64>::default());
    let (waiting, counted) = (world.nodes[0].clone(), Arc::clone(&looks));
    let waiting = spawn("asks", move || {
        let found = waiting.wait(Duration::from_secs(60), |_, state| {
            counted.fetch_add(1, Ordering::Relaxed);
            state.routes(id)
        });
        let refused = found.expect("it was refused").unwrap_err();
        assert!(refused.to_string().contains("no node serves partition 0"), "{refused}");
    });
    let (waiting, began) = (waiting.unwrap(), clock.now());
    // It has the lock from its look to its wait.
    while looks.load(Ordering::Relaxed) == 0 {
        yield_now();
    }
    messages_of(&world, 0);
    waiting.join().unwrap();
    let took = clock.now().saturating_sub(began);
    assert!(took < Duration::from_secs(30), "nobody was woken: {took:?}");
}
