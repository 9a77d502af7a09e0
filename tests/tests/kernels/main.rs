//! Kernels on the disk engine's and the mapped engine's lists beside the memory engine's: the same graph, the same answers.
//!
//! Graphs are random, with deletes, parallel edges and weights that change; they lie in levels, in L0 files and in
//! memory. Projections choose labels, types and edges by a filter. A kernel's state is reserved and given back, a set
//! flag stops it, and damage is an error that names the file. Where the budget refuses lists of edges, the kernels that keep
//! some answer the same out of core.
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by where it panics")]

mod kernels;
mod out_of_core;
mod stores;

use crate::kernels::answers;
use crate::stores::{Same, any_changes, disk_engine, lists};
use evergraph_algorithms::control::Control;
use evergraph_algorithms::pagerank::{PageRankParameters, pagerank};
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_engines::kind::EngineKind;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::ErrorKind;
use evergraph_graph::filter::{Comparison, Condition, Filter};
use evergraph_graph::id::{Direction, EdgeId, KeyId, LabelId, TypeId};
use evergraph_graph::topology::{PieceBuffer, Projection, Topology as _, Visit, Weight};
use evergraph_graph::value::Value;
use evergraph_graph::view::{EdgeCursor, Freeze as _, GraphView};
use evergraph_storage::durable_engine::DurableEngine as _;
use proptest::prelude::*;
use std::sync::Arc;

/// What is frozen: everything, parts of it, and in sides alone, whose weights lie in out lists.
fn projections(same: &Same) -> Vec<Projection> {
    let weight = Some(Weight { key: same.weight, missing: Some(0.5) });
    let at_least = Condition::Compare(Comparison::GreaterOrEqual, Value::F64(1.0));
    vec![
        Projection { weight: weight.clone(), ..Projection::all(Direction::Both) },
        Projection { weight: weight.clone(), ..Projection::all(Direction::In) },
        Projection { labels: Some(vec![LabelId(0)]), ..Projection::all(Direction::Both) },
        Projection {
            types: Some(vec![TypeId(1)]),
            edges: vec![Filter { key: same.weight, condition: at_least }],
            weight,
            ..Projection::all(Direction::Both)
        },
    ]
}

/// All edges and their values, read one by one. Engines number parallel edges as they like.
fn edges(view: &impl GraphView) -> Vec<(EdgeId, Vec<(KeyId, Value)>)> {
    let mut edges = Vec::new();
    view.scan_edges(None, &mut EdgeCursor::default(), usize::MAX, &mut edges).unwrap();
    let values = |edge: EdgeId| view.edge_property_map(edge).unwrap();
    let mut edges: Vec<_> =
        edges.into_iter().map(|edge| (EdgeId { discriminator: 0, ..edge }, values(edge))).collect();
    edges.sort();
    edges
}

/// Whether two answers are the same but for the order in which numbers were added up.
fn agree(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let words = |text: &str| -> Vec<String> {
        text.split(['[', ']', '(', ')', ',', ' '])
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let is_near = |(one, other): (&String, &String)| match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => one == other || (one - other).abs() <= 1e-12 * one.abs().max(1.0),
        _ => one == other,
    };
    let (one, other) = (words(one), words(other));
    one.len() == other.len() && one.iter().zip(&other).all(is_near)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn every_kernel_answers_as_on_the_memory_engine(changes in any_changes()) {
        let same = Same::new(&changes);
        let wanted = edges(&same.memory.store().snapshot());
        prop_assert_eq!(&wanted, &edges(&same.disk.store().snapshot()));
        prop_assert_eq!(&wanted, &edges(&same.mapped.store().snapshot()));
        for projection in projections(&same) {
            let before = same.disk.store().budget().used_bytes();
            let (memory, disk) = (same.memory.store().snapshot(), same.disk.store().snapshot());
            let expected = answers(&lists(memory.freeze(&projection).unwrap()), memory.budget());
            let found = answers(&lists(disk.freeze(&projection).unwrap()), disk.budget());
            prop_assert_eq!(expected.len(), found.len());
            for ((kernel, expected), (_, found)) in expected.iter().zip(&found) {
                prop_assert!(agree(expected, found), "{kernel} of {projection:?}: {expected}, {found}");
            }
            let mapped = same.mapped.store().snapshot();
            let found = answers(&lists(mapped.freeze(&projection).unwrap()), mapped.budget());
            prop_assert_eq!(expected.len(), found.len());
            for ((kernel, expected), (_, found)) in expected.iter().zip(&found) {
                prop_assert!(agree(expected, found), "mapped: {kernel} of {projection:?}: {expected}, {found}");
            }
            drop((memory, disk, mapped));
            let kept = |(purpose, _): &(Arc<str>, u64)| **purpose == *"lists within labels";
            prop_assert!(same.mapped.store().budget().reservations().iter().all(kept));
            let cached = |same: &Same| disk_engine(&same.disk).page_reader().statistics().bytes;
            prop_assert!(same.disk.store().budget().used_bytes() - cached(&same) <= before);
        }
    }
}

#[test]
fn a_set_flag_stops_a_kernel() {
    let same = Same::new(&stores::fixed_changes());
    for open in [&same.memory, &same.disk, &same.mapped] {
        let snapshot = open.store().snapshot();
        let lists = lists(snapshot.freeze(&Projection::all(Direction::Both)).unwrap());
        let flag = CancelFlag::default();
        flag.cancel();
        let control = Control::new(snapshot.budget()).with_cancel(&flag);
        let error = pagerank(&lists, &PageRankParameters::default(), &control).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
}

#[test]
fn a_damaged_page_is_an_error_of_the_visit_that_names_file_and_offset() {
    let same = Same::new(&stores::fixed_changes());
    let directory = same.directory.clone();
    drop(same);
    // The first page of every file of lists begins at 4,096.
    let names = evergraph_storage::io::directory::Directory::list(&directory).unwrap();
    let mut damaged = 0;
    for name in names.iter().filter(|name| DiskEngine::is_file(name) && name.starts_with("csr-")) {
        stores::flip_bits_of_pages(&directory, name);
        damaged += 1;
    }
    assert!(damaged > 0);
    let open = stores::open(EngineKind::Disk, directory);
    let error = open.and_then(|open| {
        let lists = open.store().snapshot().freeze(&Projection::all(Direction::Out))?;
        lists.visit(Direction::Out, 0..lists.bound(), &mut PieceBuffer::default(), |_, _| Visit::Continue)
    });
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains("csr-") && error.to_string().contains("at byte "), "{error}");
}
