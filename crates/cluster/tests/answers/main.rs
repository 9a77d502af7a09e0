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
mod toy_partition;
mod workers;
mod world;

use evergraph_cluster::planted::{Bug, with};
use world::{Tally, Trouble, World};

/// Plays so many worlds; what happened in all of them.
///
/// # Errors
/// What is wrong in the first one in which something is.
fn play(trouble: Trouble, seeds: u64) -> Result<Tally, String> {
    let mut all = Tally::default();
    for seed in 0..seeds {
        let tally = World::new(seed, trouble).run().map_err(|wrong| format!("seed {seed}: {wrong}"))?;
        all.answered += tally.answered;
        all.too_old += tally.too_old;
        all.not_answered += tally.not_answered;
        all.slow += tally.slow;
        all.starts += tally.starts;
        all.commits += tally.commits;
    }
    println!("{trouble:?}: {all:?}");
    Ok(all)
}

#[test]
fn while_all_nodes_are_heard_every_question_is_answered_as_of_its_snapshot() {
    let tally = play(Trouble::None, 12).unwrap();
    assert!(tally.answered > 1000 && tally.commits > 1000, "{tally:?}");
}

#[test]
fn nodes_that_are_cut_off_stand_still_or_start_again_never_make_an_answer_wrong() {
    let tally = play(Trouble::All, 30).unwrap();
    assert!(tally.answered > 1000 && tally.too_old > 10 && tally.not_answered > 0, "{tally:?}");
    assert!(tally.starts > 100, "{tally:?}");
}

#[test]
fn the_loss_of_a_node_costs_a_moment_and_no_answer() {
    let tally = play(Trouble::Loss, 8).unwrap();
    assert!(tally.answered > 500 && tally.slow * 10 < tally.answered, "{tally:?}");
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
        match with(bug, || play(trouble, 40)) {
            Ok(tally) => panic!("{bug:?} is not found: {tally:?}"),
            Err(wrong) => {
                let is_expected = messages.iter().any(|message| wrong.contains(*message));
                assert!(is_expected, "{bug:?} is found otherwise: {wrong}");
            }
        }
    }
}
