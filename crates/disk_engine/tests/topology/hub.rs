//! A hub whose list is longer than every buffer, budgets, and files that contradict each other.

use crate::edges::{visited, visited_each};
use crate::history::{Action, History, TYPES};
use crate::naive_file::NaiveFile;
use evergraph_disk_engine::memory_graph::graph::MemoryGraph;
use evergraph_disk_engine::memory_graph::promises::Promises;
use evergraph_disk_engine::memory_graph::sorted_commit::SortedCommit;
use evergraph_disk_engine::topology::disk_topology::DiskTopology;
use evergraph_disk_engine::tree_state::SourceHandle;
use evergraph_graph::budget::{Budget, Unlimited};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, VertexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::topology::{Projection, Topology, Weight};
use evergraph_storage::engine::FreezeRequest;
use evergraph_storage::memory_budget::MemoryBudget;
use std::sync::Arc;

const HUB: VertexId = VertexId(1);

fn edge(target: u32, discriminator: u16) -> EdgeId {
    EdgeId { source: HUB, edge_type: TYPES[0], target: VertexId(target), discriminator }
}

pub fn graph(commits: &[(u64, Vec<Mutation>)]) -> SourceHandle<NaiveFile> {
    let graph = MemoryGraph::open(1 << 22, &Promises::new()).unwrap();
    for (timestamp, mutations) in commits {
        let commit = SortedCommit::new(mutations).unwrap();
        let prepared = graph.prepare(commit, Vec::new()).unwrap();
        drop(graph.append(Timestamp(*timestamp), prepared));
    }
    SourceHandle::Graph(Arc::new(graph))
}

/// One commit that makes the groups known, so that everything else may be written by hand.
pub fn small_history() -> History {
    let action = |target| Action {
        choice: 5,
        source: HUB.0,
        target,
        edge_type: 0,
        discriminator: 0,
        properties: [None, None],
    };
    History::new(&[vec![action(2), action(4096)]])
}

fn freeze(
    sources: Vec<SourceHandle<NaiveFile>>,
    timestamp: u64,
    projection: &Projection,
    budget: &Arc<dyn Budget>,
) -> Result<DiskTopology<NaiveFile>> {
    let history = small_history();
    let (groups, catalogue) = (history.groups(), history.catalogue());
    let cancel = CancelFlag::default();
    let request = FreezeRequest { catalogue: &catalogue, projection, budget, cancel: &cancel };
    DiskTopology::freeze(sources, Timestamp(timestamp), &groups, &request, None)
}

#[test]
fn a_list_longer_than_every_buffer_is_visited_whole() {
    let label = |vertex| crate::history::label_of(vertex);
    let vertex = |vertex: u32| Mutation::InsertVertex {
        vertex: VertexId(vertex),
        label: label(vertex),
        properties: Properties::EMPTY,
    };
    let ends: Vec<u32> = (0..4096).chain(4096..8192).collect();
    let insert = |target, discriminator| Mutation::InsertEdge {
        edge: edge(target, discriminator),
        properties: Properties::EMPTY,
    };
    let first = ends.iter().map(|target| vertex(*target)).chain(ends.iter().map(|target| insert(*target, 0)));
    let second = ends.iter().step_by(2).map(|target| insert(*target, 7));
    let third = ends.iter().step_by(3).map(|target| Mutation::DeleteEdge { edge: edge(*target, 0) });
    let older = graph(&[(1, first.collect()), (2, second.collect())]);
    let newer = graph(&[(3, third.collect())]);
    let budget: Arc<dyn Budget> = Arc::new(Unlimited);
    let weight = Some(Weight { key: crate::history::KEYS[0], missing: Some(2.0) });
    for weight in [None, weight] {
        let bits = weight.as_ref().map_or(0, |_| 2.0_f64.to_bits());
        let projection = Projection { weight, ..Projection::all(Direction::Both) };
        let topology = freeze(vec![newer.clone(), older.clone()], 3, &projection, &budget).unwrap();
        let wanted = |timestamp: u64| {
            let mut wanted = Vec::new();
            for (at, target) in ends.iter().enumerate() {
                if timestamp < 3 || at % 3 != 0 {
                    wanted.push((*target, bits));
                }
                if at % 2 == 0 {
                    wanted.push((*target, bits));
                }
            }
            wanted
        };
        assert_eq!(topology.edge_count(), wanted(3).len() as u64);
        let found = visited(&topology, Direction::Out, &[0..topology.bound()]).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[&HUB.0], wanted(3));
        assert_eq!(visited_each(&topology, Direction::Out, &[HUB.0]).unwrap()[&HUB.0], wanted(3));
        let earlier = freeze(vec![newer.clone(), older.clone()], 2, &projection, &budget).unwrap();
        assert_eq!(visited_each(&earlier, Direction::Out, &[HUB.0]).unwrap()[&HUB.0], wanted(2));
        let sources = visited(&earlier, Direction::In, &[4095..4098]).unwrap();
        assert_eq!(sources[&4096], [(HUB.0, bits); 2]);
        // The first two groups have most of the work.
        assert!((3000..5200).contains(&topology.cuts(2)[1]), "{:?}", topology.cuts(2));
    }
}

#[test]
fn what_a_topology_holds_is_reserved_by_name_until_it_is_dropped() {
    let history = small_history();
    let sources = || vec![graph(&[(1, history.commits[0].clone())])];
    let memory = MemoryBudget::new(1 << 20);
    let budget: Arc<dyn Budget> = Arc::new(memory.clone());
    let topology = freeze(sources(), 1, &Projection::all(Direction::Out), &budget).unwrap();
    let names: Vec<_> = memory.reservations().into_iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names, ["edges of vertex groups", "records of memory graphs", "the set of vertices"]);
    assert_eq!(topology.edge_count(), 2);
    drop(topology);
    assert_eq!(memory.used_bytes(), 0);
    let budget: Arc<dyn Budget> = Arc::new(MemoryBudget::new(1000));
    let error = freeze(sources(), 1, &Projection::all(Direction::Out), &budget).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn a_source_that_is_missing_is_damage_and_no_wrong_answer() {
    let set = Mutation::SetEdgeProperties {
        edge: edge(2, 0),
        properties: Properties::new(vec![(crate::history::KEYS[0], None)]),
    };
    let inserts = small_history().commits[0].clone();
    let budget: Arc<dyn Budget> = Arc::new(Unlimited);
    let freeze = |sources, timestamp| freeze(sources, timestamp, &Projection::all(Direction::Out), &budget);
    // A change of what nobody inserted.
    let vertex = inserts[0].clone();
    let topology = freeze(vec![graph(&[(1, vec![vertex, set])])], 1).unwrap();
    let error = visited(&topology, Direction::Out, &[0..10]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    // The same edges twice.
    let twice = vec![graph(&[(2, inserts.clone())]), graph(&[(1, inserts.clone())])];
    assert_eq!(freeze(twice, 2).unwrap_err().kind(), ErrorKind::Corrupt);
    // Fewer than none.
    let delete = Mutation::DeleteEdge { edge: edge(2, 0) };
    let error = freeze(vec![graph(&[(1, vec![delete])])], 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}
