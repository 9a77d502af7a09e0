//! Power cuts at every store, write-back and fence, those of recovery included: the graph is as before the interrupted
//! change or as after it, and goes on from there.
//!
//! The state right before a fence holds those after every store since the fence before: see `memory::simulated`.

#![cfg(not(any(shuttle, loom)))]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

#[path = "../graph/adjacency.rs"]
mod adjacency;
mod cut;
mod left_out;

use crate::cut::{PowerCuts, cut_creation};
use evergraph_graph::split_mix::mix;
use evergraph_packed::ablation::{Ablation, TakenSlot, UndoKind};
use evergraph_packed::memory::region::Domain;
use evergraph_packed::memory::simulated::SimulatedMemory;
use evergraph_packed::options::Options;

/// Small logs and undo slots, so that a rebalance has many chunks and comes often.
fn options(vertices: u32, edges: u64) -> Options {
    Options { vertices, edges, log_records: 7, undo_bytes: 64, ablation: Ablation::NONE }
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 += 1;
        (mix(self.0) % u64::from(end)) as u32
    }
}

/// Inserts, deletes, new vertices and openings, most of them at few vertices.
fn change_at_random(cuts: &mut PowerCuts, seed: u64, changes: usize) {
    let mut random = Random(seed << 32);
    for _ in 0..changes {
        let count = cuts.lists.0.len() as u32;
        let skewed = |random: &mut Random| {
            let end = [count, 2, count, 5][random.below(4) as usize].min(count);
            random.below(end)
        };
        let (source, target) = (skewed(&mut random), random.below(count));
        match random.below(40) {
            0 | 1 => cuts.insert_vertex(),
            2 => cuts.reopen(),
            3..7 => {
                let list = &cuts.lists.0[source as usize];
                let target =
                    if list.is_empty() { target } else { list[random.below(list.len() as u32) as usize] };
                cuts.delete(source, target);
            }
            _ => cuts.insert(source, target),
        }
    }
}

/// How many random histories are played: `EVERGRAPH_PACKED_SEEDS`, or some.
fn seeds() -> u64 {
    std::env::var("EVERGRAPH_PACKED_SEEDS").map_or(16, |seeds| seeds.parse().unwrap())
}

#[test]
fn a_power_cut_leaves_the_graph_as_before_a_change_or_as_after_it() {
    let (mut count, mut rebalances) = (0, 0);
    for seed in 0..seeds() {
        let mut cuts = PowerCuts::new(Domain::Adr, &options(6, 20), 64);
        change_at_random(&mut cuts, seed, 160);
        count += cuts.count();
        rebalances += cuts.rebalances();
    }
    assert!(count > 1000 * seeds() && rebalances > seeds(), "{count} power cuts, {rebalances} rebalances");
}

#[test]
fn a_power_cut_leaves_the_graph_as_before_a_change_or_as_after_it_where_caches_survive() {
    let mut count = 0;
    for seed in 0..seeds() {
        let mut cuts = PowerCuts::new(Domain::Eadr, &options(6, 20), 16);
        change_at_random(&mut cuts, seed, 200);
        assert_eq!(cuts.graph().statistics().traffic.lines_written_back, 0);
        count += cuts.count();
    }
    assert!(count > 200 * seeds(), "{count} power cuts");
}

#[test]
fn a_power_cut_leaves_the_graph_as_before_a_change_or_as_after_it_without_a_component() {
    let shifted = Ablation { taken_slot: TakenSlot::Shifted, ..Ablation::NONE };
    let journal = Ablation { undo: UndoKind::Journal, ..Ablation::NONE };
    for ablation in [shifted, journal, Ablation::ALL] {
        let (mut count, mut shifts, mut rebalances) = (0, 0, 0);
        for seed in 0..seeds().div_ceil(8) {
            let mut cuts = PowerCuts::new(Domain::Adr, &Options { ablation, ..options(6, 20) }, 16);
            change_at_random(&mut cuts, seed, 70);
            cuts.rebalance(0);
            if ablation.taken_slot == TakenSlot::Shifted {
                cuts.fill(0);
                cuts.insert(0, 1);
            }
            count += cuts.count();
            shifts += cuts.shifts();
            rebalances += cuts.rebalances();
        }
        assert!(count > 300 && rebalances > 0, "{count} power cuts, {rebalances} rebalances");
        assert_eq!(shifts > 0, ablation.taken_slot == TakenSlot::Shifted);
    }
}

/// Lists are moved chunk by chunk, each by a transaction of a journal.
#[test]
fn a_power_cut_during_the_recovery_from_a_shift_is_recovered_from() {
    let without = Options { ablation: Ablation::ALL, ..options(9, 40) };
    let mut cuts = PowerCuts::new(Domain::Adr, &without, 12);
    (0..3).for_each(|vertex| cuts.fill(vertex));
    cuts.cut_recoveries(2);
    (0..2).for_each(|vertex| cuts.insert(vertex, 5));
    assert_eq!((cuts.shifts(), cuts.rebalances()), (2, 0));
    assert!(cuts.count_during_recovery() > 300, "{} power cuts", cuts.count_during_recovery());
}

#[test]
fn a_power_cut_during_creation_leaves_the_graph_or_room_for_it() {
    let [without, with] = cut_creation(&SimulatedMemory::new(Domain::Adr), &options(9, 20), 200);
    assert!(without > 60 && with >= 1, "{without} power cuts before the graph was there, {with} after");
}

#[test]
fn a_power_cut_while_the_array_is_replaced_leaves_the_old_one_or_the_new_one() {
    let mut cuts = PowerCuts::new(Domain::Adr, &options(3, 0), 24);
    for at in 0..90 {
        cuts.insert(at % 3, at * 2 % 3);
    }
    assert!(cuts.graph().statistics().resizes >= 3);
}

#[test]
fn a_power_cut_during_recovery_is_recovered_from() {
    let mut cuts = PowerCuts::new(Domain::Adr, &options(9, 40), 12).with_cuts_during_recovery(6);
    for at in 0..60 {
        cuts.insert(at % 2, at % 9);
    }
    assert!(cuts.rebalances() > 0);
    assert!(cuts.count_during_recovery() > 1000, "{} power cuts", cuts.count_during_recovery());
}
