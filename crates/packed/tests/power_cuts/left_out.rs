//! Left out: every write-back and every fence of the array, one by one. A power cut then breaks the promise, or the step is
//! redundant and said to be.

use crate::cut::{PowerCuts, cut_creation};
use crate::options;
use evergraph_packed::ablation::Ablation;
use evergraph_packed::memory::region::Domain;
use evergraph_packed::memory::simulated::SimulatedMemory;
use evergraph_packed::memory::site::{Site, Step};
use evergraph_packed::options::Options;
use std::any::Any;
use std::collections::BTreeSet;

/// Redundant steps, and why. *Redundant* means that the history of [`play`] without the step, with [`IMAGES`] images a fence, saw no
/// harm: not a proof, for images that were not drawn are not seen.
const REDUNDANT: [(Site, Step, &str); 6] = [
    (Site::PlanActive, Step::Fence, "the first backup is fenced before anything is moved"),
    (Site::LogZeros, Step::Fence, "until the generations are fenced, recovery stores the zeros again"),
    (Site::UndoEmptied, Step::Fence, "what is put back is fenced before the slot is used"),
    (Site::UndoPutBack, Step::WriteBack, "its lines are written back when the chunk is moved again"),
    (Site::UndoPutBack, Step::Fence, "until the chunk is moved again, a slot holds what was put back"),
    (Site::CreatedArray, Step::Fence, "the root is fenced before the magic number is stored"),
];

/// Steps whose harm needs two chunks with like contents: the unit tests of `rebalance::undo` have them.
const ELSEWHERE: [(Site, Step); 1] = [(Site::UndoEmptied, Step::WriteBack)];

/// To these a graph comes without a component alone. What [`Site::Placement`] writes nobody reads.
const OF_ABLATIONS: [Site; 2] = [Site::Journal, Site::Placement];

/// What assertions about power cuts begin with.
const BROKEN: [&str; 2] = ["after a power cut", "what was recovered"];

const IMAGES: usize = 24;
const IMAGES_OF_RECOVERY: usize = 3;
/// The generation after which tags begin anew.
const LAST_GENERATION: u64 = (1 << 21) - 2;

/// Memory that takes every other step.
fn memory_without(left_out: Option<(Site, Step)>) -> SimulatedMemory {
    let memory = SimulatedMemory::new(Domain::Adr);
    if let Some((site, step)) = left_out {
        memory.leave_out(site, step);
    }
    memory
}

/// Plays a short history that comes to every step; the steps that it came to.
fn play(left_out: Option<(Site, Step)>) -> BTreeSet<(Site, Step)> {
    cut_creation(&memory_without(left_out), &options(9, 20), IMAGES);

    let memory = memory_without(left_out);
    let mut cuts = PowerCuts::on(memory.clone(), &options(6, 20), IMAGES);
    // A full log, in which one record lies in two lines, is merged; two chunks are moved.
    cuts.fill(0);
    (0..7).for_each(|at| cuts.insert(0, at % 6));
    cuts.cut_recoveries(IMAGES_OF_RECOVERY);
    cuts.insert(0, 1);
    cuts.cut_recoveries(0);
    // Two sections with records are spread at once: the second plan overwrites the first.
    for vertex in [1, 3] {
        cuts.fill(vertex);
        cuts.insert(vertex, 2);
        cuts.insert(vertex, 4);
    }
    cuts.rebalance(1);
    cuts.rebalance(3);
    // Tags begin anew in a log that has had more records of the first generation than it gets.
    cuts.set_generations(LAST_GENERATION);
    cuts.fill(2);
    cuts.insert(2, 5);
    cuts.cut_recoveries(IMAGES_OF_RECOVERY);
    cuts.rebalance(2);
    cuts.cut_recoveries(0);
    cuts.fill(2);
    (0..5).for_each(|at| cuts.insert(2, at));
    assert_eq!(cuts.graph().place_of(2).unwrap().in_log, 5, "one of the records lies in two lines");
    cuts.reopen();
    let mut source = 0;
    while cuts.graph().statistics().resizes == 0 {
        cuts.insert(source % 6, 3);
        source += 1;
    }
    cuts.insert(5, 0);
    memory.reached()
}

/// Shifts two lists, two chunks, by transactions of a journal; the steps that it came to.
fn shift(left_out: Option<(Site, Step)>) -> BTreeSet<(Site, Step)> {
    let memory = memory_without(left_out);
    let without = Options { ablation: Ablation::ALL, ..options(6, 20) };
    let mut cuts = PowerCuts::on(memory.clone(), &without, 64);
    // Neighbours differ, so that a list that is shifted twice is another one.
    (0..3).for_each(|at| cuts.insert(2, at));
    for vertex in 0..2 {
        let gaps = cuts.graph().place_of(vertex).unwrap().gaps as u32;
        (0..gaps).for_each(|at| cuts.insert(vertex, at % 6));
    }
    cuts.insert(0, 5);
    assert_eq!(cuts.shifts(), 1);
    memory.reached()
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default()
}

#[test]
fn every_write_back_and_every_fence_is_needed_or_said_not_to_be() {
    let reached = play(None);
    for site in Site::ALL.iter().filter(|site| !OF_ABLATIONS.contains(site)) {
        for step in Step::ALL {
            let left_out = (*site, step);
            assert!(reached.contains(&left_out), "the history does not come to {left_out:?}");
            if ELSEWHERE.contains(&left_out) {
                continue;
            }
            let redundant = REDUNDANT.iter().find(|(site, step, _)| (*site, *step) == left_out);
            match (std::panic::catch_unwind(|| play(Some(left_out))), redundant) {
                (Ok(_), Some(_)) => {}
                (Ok(_), None) => panic!("{left_out:?} may be left out, and no power cut shows it"),
                (Err(panic), Some((_, _, reason))) => {
                    panic!("{left_out:?} is said to be redundant ({reason}), but: {}", text(&*panic))
                }
                (Err(panic), None) => {
                    let text = text(&*panic);
                    let is_meant = BROKEN.iter().any(|broken| text.contains(broken));
                    assert!(is_meant, "without {left_out:?} something else fails: {text}");
                }
            }
        }
    }
}

#[test]
fn the_write_backs_of_a_journal_and_the_fences_of_its_entries_are_needed() {
    let reached = shift(None);
    // The others are redundant: what a fence of an entry makes durable is the transaction's number, too.
    for left_out in
        [(Site::Journal, Step::WriteBack), (Site::Backup, Step::WriteBack), (Site::Backup, Step::Fence)]
    {
        assert!(reached.contains(&left_out), "the history does not come to {left_out:?}");
        let Err(panic) = std::panic::catch_unwind(|| shift(Some(left_out))) else {
            panic!("{left_out:?} may be left out, and no power cut shows it");
        };
        let text = text(&*panic);
        let is_meant = BROKEN.iter().any(|broken| text.contains(broken));
        assert!(is_meant, "without {left_out:?} something else fails: {text}");
    }
}
