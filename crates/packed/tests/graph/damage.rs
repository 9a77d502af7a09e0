//! Damaged words of persistent memory: an error or another graph, never a panic.

use evergraph_graph::error::ErrorKind;
use evergraph_graph::split_mix::mix;
use evergraph_graph::topology::Topology as _;
use evergraph_packed::ablation::{Ablation, TakenSlot, UndoKind};
use evergraph_packed::graph::PackedGraph;
use evergraph_packed::memory::region::{Domain, Memory as _, Region as _};
use evergraph_packed::memory::simulated::SimulatedMemory;
use evergraph_packed::options::Options;
use evergraph_packed::recovery::Reopening;
use evergraph_storage::sync::Mutex;
use std::sync::Arc;

/// What a power cut left during a rebalance and, without section logs, a shift; and what a shutdown left.
fn images(ablation: Ablation) -> Vec<SimulatedMemory> {
    let options = Options { vertices: 12, edges: 30, log_records: 9, undo_bytes: 128, ablation };
    let images = Arc::new(Mutex::new(Vec::new()));
    let found = Arc::clone(&images);
    let memory = SimulatedMemory::new(Domain::Adr);
    let graph = PackedGraph::create(memory.clone(), &options).unwrap();
    for at in 0..40 {
        graph.insert_edge(at % 5, at % 12).unwrap();
    }
    graph.delete_edge(2, 2).unwrap();
    memory.observe(move |memory| memory.for_each_image(2, 1, |image| found.lock().push(image)));
    graph.rebalance_section_of(1).unwrap();
    if ablation.taken_slot == TakenSlot::Shifted {
        while graph.place_of(0).unwrap().gaps > 0 {
            graph.insert_edge(0, 1).unwrap();
        }
        let shifts = graph.statistics().shifts;
        graph.insert_edge(0, 1).unwrap();
        assert_eq!(graph.statistics().shifts, shifts + 1);
    }
    memory.ignore();
    for at in 0..7 {
        graph.insert_edge(at % 2, at % 12).unwrap();
    }
    graph.shutdown().unwrap();
    let mut images = std::mem::take(&mut *images.lock());
    memory.for_each_image(1, 1, |image| images.push(image));
    images
}

/// Opens and reads everything, and inserts; errors are fine.
fn use_all(memory: SimulatedMemory, reopening: Reopening) -> Result<(), evergraph_graph::error::Error> {
    let (graph, _) = PackedGraph::open(memory, reopening)?;
    let view = graph.consistent_view();
    (0..view.bound()).try_for_each(|vertex| view.neighbors(vertex).map(drop))?;
    drop(view);
    (0..30).try_for_each(|at| graph.insert_edge(at % 3, at % 7))?;
    graph.delete_edge(1, 2)?;
    graph.shutdown()
}

/// Memory of its own with what `image` holds, in which nothing is pending.
fn copy_of(image: &SimulatedMemory) -> SimulatedMemory {
    let mut copies = Vec::new();
    image.for_each_image(1, 0, |copy| copies.push(copy));
    copies.pop().unwrap()
}

/// Damages a word of a copy of one of `images`, for each seed; how many of the copies were refused.
fn refused(images: &[SimulatedMemory], seeds: u64) -> u64 {
    let mut refused = 0;
    for seed in 0..seeds {
        let random = |number: u64| mix(seed << 8 | number) as usize;
        let image = copy_of(&images[random(1) % images.len()]);
        let numbers = image.numbers().unwrap();
        let number = numbers[random(2) % numbers.len()];
        let region = image.open(number).unwrap();
        let word = random(3) % region.words();
        let old = region.load(word);
        let new = match random(4) % 5 {
            0 => old ^ 1 << (random(5) % 64),
            1 => 0,
            2 => u64::MAX,
            3 => old.wrapping_add(1),
            _ => random(6) as u64,
        };
        image.damage(number, word, new);
        let reopening = [Reopening::Saved, Reopening::Scan][random(7) % 2];
        if let Err(error) = use_all(image, reopening) {
            let kinds = [ErrorKind::Corrupt, ErrorKind::Invalid, ErrorKind::NotFound];
            assert!(kinds.contains(&error.kind()), "{error}");
            refused += 1;
        }
    }
    refused
}

#[test]
fn a_damaged_word_is_an_error_or_another_graph_and_never_a_panic() {
    let journal = Ablation { undo: UndoKind::Journal, ..Ablation::NONE };
    for (ablation, seeds) in [(Ablation::NONE, 1500), (journal, 500), (Ablation::ALL, 500)] {
        let images = images(ablation);
        assert!(images.len() > 8, "images of a rebalance");
        let refused = refused(&images, seeds);
        assert!(refused > seeds / 15, "{refused} of {seeds} were refused with {ablation:?}");
    }
}
