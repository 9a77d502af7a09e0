//! Small rows: messages of a stage that come one by one wake no worker before the stage is complete, or there is much to do.

use super::*;
use crate::log_position::LogPosition;
use crate::planted::{Bug, assert_found};
use crate::travel::journey::StageStep;

/// Messages go to their nodes, and each node does what is due, until nothing is under way. No time passes.
fn deliver(world: &World) {
    let log = ReadableLog { applied: &world.log, horizon: LogPosition::START };
    let now = world.clock.now();
    loop {
        let mut under_way = Vec::new();
        for (from, queries) in (0..).map(NodeId).zip(&world.nodes) {
            queries.step(now, TakenFrames::All, &log, &world.tables);
            while let Some((to, message, _)) = queries.next_message() {
                under_way.push((from, to, message));
            }
        }
        if under_way.is_empty() {
            return;
        }
        for (from, to, message) in under_way {
            world.nodes[usize::from(to.0)].take(now, from, message, &log);
        }
    }
}

/// A worker of a node does all that there is to do. How many messages with rows it takes.
fn work(world: &World, node: usize) -> usize {
    let (queries, mut taken) = (&world.nodes[node], 0);
    while let Some((id, begin, work)) = queries.next_work() {
        taken += usize::from(matches!(work, StageWork::Run(_, StageStep::Take(_))));
        do_work(queries, id, &begin, work);
    }
    taken
}

/// For how many queries of each node a worker is woken.
fn with_work(world: &World) -> Vec<usize> {
    world.nodes.iter().map(|node| node.shared.state.lock().count_with_work()).collect()
}

/// Delivers and works until all results have come; `None` if they don't, while no time passes.
fn run_at_once(world: &World, id: TravelId) -> Option<u32> {
    let mut sum = 0;
    for _ in 0..200 {
        deliver(world);
        (0..world.nodes.len()).for_each(|node| {
            work(world, node);
        });
        loop {
            let arrived = world.nodes[0].wait(Duration::ZERO, |_, look| Some(look.arrived(id)));
            match arrived.unwrap().unwrap() {
                Arrived::Results(rows) => sum += decoded(&rows).iter().sum::<u32>(),
                Arrived::All => return Some(sum),
                Arrived::Nothing => break,
            }
        }
    }
    None
}

/// A query of two stages whose graph is open on all nodes, and whose first rows are to come.
fn opened(world: &mut World) -> TravelId {
    let program =
        TravelProgram { bytes: vec![2], stages: 2, start: TravelStart::Rows, memory_bytes: MUCH, time: LONG };
    let id = world.open(program);
    deliver(world);
    for node in 0..world.nodes.len() {
        assert_eq!(work(world, node), 0, "it opens the graph");
    }
    id
}

#[test]
fn small_rows_of_an_incomplete_stage_wake_no_worker_and_are_all_taken_when_it_is_complete() {
    let mut world = World::new(1, Faults::default(), TravelOptions::default());
    let (id, rows) = (opened(&mut world), Vec::from_iter(0..20));
    let asker = world.nodes[0].clone();
    for row in &rows {
        asker.send_first(id, Some((1, encoded(&[*row])))).unwrap();
    }
    deliver(&world);
    assert_eq!(with_work(&world), [0, 0, 0], "more may come");
    asker.send_first(id, None).unwrap();
    deliver(&world);
    assert_eq!(with_work(&world), [1, 1, 1]);
    assert_eq!(work(&world, 1), rows.len());
    // Its rows for itself wait as well for those of others.
    deliver(&world);
    assert_eq!(with_work(&world), [1, 0, 1]);
    assert_eq!([0, 2].map(|node| work(&world, node)), [0, 0], "they only end the first stage");
    deliver(&world);
    assert_eq!(with_work(&world), [1, 1, 1]);
    assert!((0..3).all(|node| work(&world, node) > 0));
    assert_eq!(run_at_once(&world, id), Some(expected(2, &rows)));
    asker.end(id);
    world.settle();
}

#[test]
fn many_bytes_of_rows_are_taken_before_their_stage_is_complete() {
    let mut world = World::new(2, Faults::default(), TravelOptions::default());
    let id = opened(&mut world);
    let (asker, rows) = (world.nodes[0].clone(), vec![1; 1 << 10]);
    for sent in 1..=4 {
        asker.send_first(id, Some((1, encoded(&rows)))).unwrap();
        deliver(&world);
        assert_eq!(with_work(&world), [0, usize::from(sent == 4), 0], "{sent} times 4 KiB");
    }
    assert_eq!(work(&world, 1), 1, "few are left");
    asker.send_first(id, None).unwrap();
    deliver(&world);
    assert_eq!(work(&world, 1), 3);
    asker.end(id);
    world.settle();
}

#[test]
fn rows_that_wait_wait_for_nothing_but_rows() {
    let (rows, much) = (Vec::from_iter(0..40), TravelOptions::default().inbound_bytes_max);
    // And where one message at a time has room.
    for (stages, inbound_bytes_max) in [(1, much), (2, much), (3, much), (4, much), (1, 1)] {
        let options = TravelOptions { inbound_bytes_max, ..TravelOptions::default() };
        let mut world = World::new(3, Faults::default(), options);
        let id = world.begin(stages, &rows, MUCH, LONG);
        let sum = run_at_once(&world, id);
        assert_eq!(
            sum,
            Some(expected(stages, &rows)),
            "{stages} stages, {inbound_bytes_max} bytes at a time"
        );
        world.nodes[0].end(id);
        world.settle();
    }
}

#[test]
fn a_planted_haste_is_found() {
    let test = small_rows_of_an_incomplete_stage_wake_no_worker_and_are_all_taken_when_it_is_complete;
    assert_found(Bug::RowsTakenOneByOne, test, "more may come");
}
