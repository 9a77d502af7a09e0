//! Damaged words of persistent memory: an error or another graph, never a panic.

use evergraph_graph::error::ErrorKind;
use evergraph_graph::split_mix::mix;
use evergraph_graph::topology::Topology as _;
use evergraph_packed::ablation::Ablation;
use evergraph_packed::graph::PackedGraph;
use evergraph_packed::memory::region::{Domain, Memory as _, Region as _};
use evergraph_packed::memory::simulated::SimulatedMemory;
use evergraph_packed::options::Options;
use evergraph_packed::recovery::Reopening;
use evergraph_storage::sync::Mutex;
use std::sync::Arc;

const OPTIONS: Options =
    Options { vertices: 12, edges: 30, log_records: 9, undo_bytes: 128, ablation: Ablation::NONE };

/// What a power cut left during a rebalance, and what a shutdown left.
fn images() -> Vec<SimulatedMemory> {
    let images = Arc::new(Mutex::new(Vec::new()));
    let found = Arc::clone(&images);
    let memory = SimulatedMemory::new(Domain::Adr);
    let graph = PackedGraph::create(memory.clone(), &OPTIONS).unwrap();
    for at in 0..40 {
        graph.insert_edge(at % 5, at % 12).unwrap();
    }
    graph.delete_edge(2, 2).unwrap();
    memory.observe(move |memory| memory.for_each_image(2, 1, |image| found.lock().push(image)));
    graph.rebalance_section_of(1).unwrap();
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

#[test]
fn a_damaged_word_is_an_error_or_another_graph_and_never_a_panic() {
    let count = images().len();
    assert!(count > 8, "images of a rebalance");
    let mut refused = 0;
    for seed in 0..1500u64 {
        let random = |number: u64| mix(seed << 8 | number) as usize;
        // Fresh ones: what is used is changed.
        let image = images().swap_remove(random(1) % count);
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
    assert!(refused > 100, "{refused} were refused");
}
