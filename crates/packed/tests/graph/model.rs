//! Random changes beside plain lists: views stay, and the graph is the same however it is opened again.

use crate::adjacency::Adjacency;
use evergraph_packed::ablation::{Ablation, Placement, TakenSlot, UndoKind};
use evergraph_packed::graph::PackedGraph;
use evergraph_packed::memory::heap::HeapMemory;
use evergraph_packed::memory::region::Domain;
use evergraph_packed::options::Options;
use evergraph_packed::recovery::{Found, Reopening};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Change {
    /// Of vertices by their share of all.
    Insert(u16, u16),
    Delete(u16, u16),
    Vertices(u8),
    View,
    Rebalance(u16),
}

/// How a phase ends.
#[derive(Clone, Copy, Debug)]
enum End {
    ShutDown,
    ShutDownAndScan,
    /// Nothing is saved.
    Dropped,
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        12 => (any::<u16>(), any::<u16>()).prop_map(|(source, target)| Change::Insert(source, target)),
        // Some lists get most of the edges.
        12 => (0u16..3, any::<u16>()).prop_map(|(source, target)| Change::Insert(source * 9000, target)),
        4 => (any::<u16>(), any::<u16>()).prop_map(|(source, target)| Change::Delete(source, target)),
        1 => (1u8..4).prop_map(Change::Vertices),
        1 => Just(Change::View),
        1 => any::<u16>().prop_map(Change::Rebalance),
    ]
}

fn any_phase() -> impl Strategy<Value = (Vec<Change>, End)> {
    let end = prop_oneof![Just(End::ShutDown), Just(End::ShutDownAndScan), Just(End::Dropped)];
    (proptest::collection::vec(any_change(), 0..250), end)
}

/// Mostly with every component.
fn any_ablation() -> impl Strategy<Value = Ablation> {
    let any =
        (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(is_shifted, has_journal, is_in_file)| {
            Ablation {
                taken_slot: if is_shifted { TakenSlot::Shifted } else { TakenSlot::Logged },
                undo: if has_journal { UndoKind::Journal } else { UndoKind::Slots },
                placement: if is_in_file { Placement::File } else { Placement::Memory },
            }
        });
    prop_oneof![3 => Just(Ablation::NONE), 2 => any]
}

fn any_options() -> impl Strategy<Value = Options> {
    (0u32..20, 0u64..60, prop_oneof![2u32..12, Just(170)], 1u32..5, any_ablation()).prop_map(
        |(vertices, edges, log_records, lines, ablation)| Options {
            vertices,
            edges,
            log_records,
            undo_bytes: lines * 64,
            ablation,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn a_packed_graph_is_what_plain_lists_are_and_its_views_stay(
        options in any_options(), phases in proptest::collection::vec(any_phase(), 1..4), is_eadr in any::<bool>(),
    ) {
        let memory = HeapMemory::new(if is_eadr { Domain::Eadr } else { Domain::Adr });
        let mut graph = PackedGraph::create(memory.clone(), &options).unwrap();
        let mut expected = Adjacency::with_vertices(options.vertices);
        for (changes, end) in phases {
            let mut views = Vec::new();
            for change in changes {
                let count = expected.0.len() as u32;
                let vertex = |share: u16| ((u64::from(share) * u64::from(count)) >> 16) as u32;
                match change {
                    Change::Vertices(more) => {
                        graph.insert_vertex(count + u32::from(more) - 1).unwrap();
                        expected.0.resize((count + u32::from(more)) as usize, Vec::new());
                    }
                    Change::View => views.push((graph.consistent_view(), expected.clone())),
                    _ if count == 0 => {}
                    Change::Insert(source, target) => {
                        graph.insert_edge(vertex(source), vertex(target)).unwrap();
                        expected.insert(vertex(source), vertex(target));
                    }
                    Change::Delete(source, target) => {
                        let source = vertex(source);
                        // Mostly of an edge that is there.
                        let list = &expected.0[source as usize];
                        let target = list.get(usize::from(target) % 50).copied().unwrap_or(vertex(target));
                        let was_there = expected.delete(source, target);
                        prop_assert_eq!(graph.delete_edge(source, target).unwrap(), was_there);
                    }
                    Change::Rebalance(share) => graph.rebalance_section_of(vertex(share)).unwrap(),
                }
            }
            prop_assert_eq!(Adjacency::of(&graph), expected.clone());
            for (view, lists) in views {
                prop_assert_eq!(Adjacency::of_view(&view), lists, "a view stays");
            }
            let statistics = graph.statistics();
            prop_assert!(!is_eadr || statistics.traffic.bytes_written_back() == 0);
            // In later phases, too: what is replaced is kept in the root.
            match options.ablation.taken_slot {
                TakenSlot::Logged => prop_assert_eq!(statistics.shifts, 0),
                TakenSlot::Shifted => prop_assert_eq!(statistics.inserted_into_logs, 0),
            }
            let (reopening, found) = match end {
                End::ShutDown => (Reopening::Saved, Found::ShutDown),
                End::ShutDownAndScan => (Reopening::Scan, Found::Scanned),
                End::Dropped => (Reopening::Saved, Found::Scanned),
            };
            if matches!(end, End::Dropped) { drop(graph) } else { graph.shutdown().unwrap() }
            let opened = PackedGraph::open(memory.clone(), reopening).unwrap();
            graph = opened.0;
            prop_assert_eq!(opened.1, found);
            prop_assert_eq!(Adjacency::of(&graph), expected.clone());
            let reopened = graph.statistics();
            prop_assert_eq!((reopened.used_slots, reopened.slots), (statistics.used_slots, statistics.slots));
        }
    }
}
