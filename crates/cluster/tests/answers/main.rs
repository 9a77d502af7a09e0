//! Answers: three nodes ask each other as of any moment that somebody reads at, while the log goes on, merges follow the
//! horizons, and the network and the nodes fail.
//!
//! ```text
//! machine   a node on its log and its network; clients that begin snapshots, ask at them for a while, and write
//! workers   answer after up to seconds, from what the store holds then
//! judge     reads the log by itself: what each partition holds at the end of each message
//! ```
//!
//! Partitions forget at once what a horizon lets them merge, and whoever reads there afterwards gets a wrong value instead of an
//! error. Every answer is that of its snapshot; who is too old is told so only if somebody has merged beyond; everything ends
//! by its deadline; and when all is quiet everything is merged.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod judge;
mod machine;
#[path = "../simulation/mod.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod simulation;
mod toy_partition;
mod workers;
mod world;

use evergraph_cluster::planted::{Bug, with};
use simulation::seeds::Seeds;
use simulation::trace::assert_repeats;
use world::{Tally, Trouble, World};

/// Plays the worlds of all seeds that have this trouble. What happened in them, if they are many.
fn play(trouble: Trouble) -> Option<Tally> {
    let seeds = Seeds::of_environment(200);
    let tally = seeds.play(|seed| match Trouble::of(seed) == trouble {
        true => World::new(seed, trouble).run(),
        false => Ok(Tally::default()),
    });
    println!("{trouble:?}, {seeds:?}: {tally:?}");
    seeds.are_many().then_some(tally)
}

#[test]
fn while_all_nodes_are_heard_every_question_is_answered_as_of_its_snapshot() {
    let Some(tally) = play(Trouble::None) else { return };
    assert!(tally.answered > 3000 && tally.commits > 3000, "{tally:?}");
}

#[test]
fn nodes_that_are_cut_off_stand_still_or_start_again_never_make_an_answer_wrong() {
    let Some(tally) = play(Trouble::All) else { return };
    assert!(tally.answered > 4000 && tally.too_old > 40 && tally.not_answered > 0, "{tally:?}");
    assert!(tally.starts > 400, "{tally:?}");
}

#[test]
fn the_loss_of_a_node_costs_a_moment_and_no_answer() {
    let Some(tally) = play(Trouble::Loss) else { return };
    assert!(tally.answered > 2500 && tally.slow * 10 < tally.answered, "{tally:?}");
}

#[test]
fn a_world_of_a_seed_is_the_same_again() {
    assert_repeats(|seed| World::new(seed, Trouble::of(seed)).run().unwrap().trace);
}

#[test]
fn planted_bugs_of_answers_are_found() {
    let bugs: [(Bug, Trouble, &[&str]); 5] = [
        // Digests from before a horizon are forgotten, too.
        (Bug::HorizonGoesBack, Trouble::All, &["another state", "there is one log"]),
        (Bug::AnsweredTooSoon, Trouble::All, &["another state"]),
        (Bug::BegunBelowSaid, Trouble::None, &["though its node is heard"]),
        (Bug::SilentNodeHolds, Trouble::Loss, &["does not come to rest"]),
        (Bug::OneHolderAsked, Trouble::Loss, &["is not answered"]),
    ];
    for (bug, trouble, messages) in bugs {
        match with(bug, || (0..40).find_map(|seed| World::new(seed, trouble).run().err())) {
            None => panic!("{bug:?} is not found"),
            Some(wrong) => {
                let is_expected = messages.iter().any(|message| wrong.contains(*message));
                assert!(is_expected, "{bug:?} is found otherwise: {wrong}");
            }
        }
    }
}
