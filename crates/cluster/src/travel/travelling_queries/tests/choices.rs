//! Choices: which nodes run a query after one of them has started again.

use super::*;
use crate::planted::{Bug, assert_found};
use evergraph_graph::travel::LostNode;

/// Where a query would run.
fn chosen(world: &World) -> Vec<Author> {
    let state = world.nodes[0].shared.state.lock();
    let ChosenPlaces { mut places, .. } = state.places(world.clock.now(), &world.tables).unwrap();
    places.sort();
    places
}

/// The log says that a start of a node has joined.
fn join(world: &mut World, start: Author) {
    let joins = RecordBody::Join { address: format!("{}:0", start.node.0).into() };
    world.tables.apply(RecordId { author: start, number: 1 }, Timestamp(9), joins);
}

#[test]
fn a_node_that_has_started_again_does_not_take_part() {
    let mut world = World::new(11, Faults::default(), TravelOptions::default());
    world.tables = joined(2);
    assert_eq!(chosen(&world), [author(0), author(1), author(2)]);
    let id = world.begin(3, &[1, 2, 3, 4], MUCH, LONG);
    let again = world.start_again(2);
    let error = world.run(id).unwrap_err();
    assert!(error.to_string().contains("node 2 has started again"), "{error}");
    assert_eq!(error.cause::<LostNode>(), Some(&LostNode { node: 2 }));
    world.nodes[0].end(id);
    world.settle();
    // The log has not said yet that it joins again.
    assert_eq!(chosen(&world), [author(0), author(1)], "others are chosen");
    join(&mut world, again);
    assert_eq!(chosen(&world), [author(0), author(1), again]);
}

/// Its folder is new, so that it counts its starts from the one that the log knows.
#[test]
fn a_machine_in_the_place_of_one_whose_last_starts_did_not_join_takes_part() {
    let mut world = World::new(17, Faults::default(), TravelOptions::default());
    world.tables = joined(2);
    let id = world.begin(3, &[1, 2, 3, 4], MUCH, LONG);
    (0..3).for_each(|_| {
        world.start_again(2);
    });
    let error = world.run(id).unwrap_err();
    assert!(error.to_string().contains("node 2 has started again"), "{error}");
    world.nodes[0].end(id);
    world.settle();
    assert_eq!(chosen(&world), [author(0), author(1)]);
    let machine = Author { node: NodeId(2), incarnation: author(2).incarnation + 1 };
    join(&mut world, machine);
    let with_machine = [author(0), author(1), machine];
    assert_eq!(chosen(&world), with_machine, "it is the newest start that has joined");
}

#[test]
fn a_node_that_has_started_again_and_is_the_only_choice_is_not_lost() {
    let mut world = World::new(16, Faults::default(), TravelOptions::default());
    world.tables = joined(1);
    world.start_again(2);
    let mut fails = || {
        let program = TravelProgram {
            bytes: vec![3],
            stages: 3,
            start: TravelStart::Everywhere,
            memory_bytes: MUCH,
            time: LONG,
        };
        let id = world.nodes[0].ask(SeenLog::START, program).unwrap();
        let error = world.run(id).unwrap_err();
        assert!(error.to_string().contains("node 2 has started again"), "{error}");
        world.nodes[0].end(id);
        world.settle();
        error.cause::<LostNode>().map(|lost| lost.node)
    };
    assert_eq!(fails(), Some(2), "nobody knew it");
    // The log has not said yet that it joins again, and no other has its partitions.
    assert_eq!(fails(), None, "a second run would choose it again");
}

#[test]
fn a_planted_loss_of_the_only_choice_is_found() {
    let test = a_node_that_has_started_again_and_is_the_only_choice_is_not_lost;
    assert_found(Bug::LastResortLost, test, "a second run would choose it again");
}

#[test]
fn planted_choices_are_found() {
    let again = a_node_that_has_started_again_does_not_take_part;
    assert_found(Bug::StartedAgainChosen, again, "others are chosen");
    let machine = a_machine_in_the_place_of_one_whose_last_starts_did_not_join_takes_part;
    assert_found(Bug::UnjoinedStartAwaited, machine, "it is the newest start that has joined");
}
