//! Triangles: their number at each vertex, and in total.
//!
//! A triangle is three vertices with an edge, in any direction, between each two. The reading is
//! simple and undirected: parallel edges and edges both ways count once, loops never.
//!
//! `degree_order` says how they are found, each of them once.
//!
//! Cost: for each edge, the neighbours of its one end that have a higher degree still: at most
//! edges^1.5 in all. Memory: 4 bytes an edge and 44 a vertex, and 4 a vertex for each thread; 8 bytes
//! an edge and 28 a vertex, none for threads, if no vertex has many edges. Where the budget refuses that and the topology
//! has scratch space, `chunked_triangles` finds the same.
//!
//! Source: Chiba, Nishizeki: Arboricity and Subgraph Listing Algorithms (SIAM J. Comput. 1985); by
//! degree order as in Latapy: Main-memory triangle computations (2008).

use crate::chunked_triangles::ChunkedCount;
use crate::control::Control;
use crate::degree_order::DegreeOrder;
use crate::scope::Scope;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::Topology;
use evergraph_graph::view::Freeze;

/// The triangles of each vertex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Triangles {
    counts: Vec<u64>,
    total: u64,
}

impl Triangles {
    /// Triangles that `vertex` is a corner of; zero out of scope.
    #[must_use]
    pub fn count(&self, vertex: VertexId) -> u64 {
        self.counts.get(vertex.0 as usize).copied().unwrap_or(0)
    }

    /// A count for each vertex id below the topology's bound; zero out of scope.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Triangles in the graph: a third of the sum of the counts.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }
}

/// The triangles in the part of `view` in `scope`: freezes both sides. Memory comes from the budget
/// of `view`.
///
/// # Errors
/// Those of [`triangles`], and of [`Freeze::freeze`].
pub fn run<V: Freeze>(view: &V, scope: &Scope, control: &Control<'_>) -> Result<Triangles> {
    let topology = scope.freeze(view, Direction::Both, None, control)?;
    triangles(&topology, &control.on_budget(view.budget()))
}

/// The triangles in `topology`, which must hold both sides.
///
/// # Errors
/// `invalid` for a side that wasn't frozen; `limit` if the state doesn't fit into the budget, or lists that it refuses don't
/// fit on the disk; `cancelled`; errors of reading, and of temporary files.
pub fn triangles<T: Topology>(topology: &T, control: &Control<'_>) -> Result<Triangles> {
    control.check()?;
    control.report(PHASE, 0.0);
    let _state = control.reserve("counts of triangles", topology.bound(), size_of::<u64>())?;
    let counts = match (in_memory(topology, control), topology.scratch()) {
        (Err(error), Some(scratch)) if error.kind() == ErrorKind::Limit => {
            ChunkedCount::new(scratch, false, CHUNKED_PHASES).run(topology, &[], control)?
        }
        (counts, _) => counts?,
    };
    control.report(PHASE, 1.0);
    let total = counts.iter().sum::<u64>() / 3;
    Ok(Triangles { counts, total })
}

fn in_memory<T: Topology>(topology: &T, control: &Control<'_>) -> Result<Vec<u64>> {
    let order = DegreeOrder::new(topology, false, control)?;
    Ok(order.by_vertex(order.triangles(PHASE, control)?, topology.bound()))
}

const PHASE: &str = "triangles";
const CHUNKED_PHASES: [&str; 2] = ["triangles, out of core: lists", "triangles, out of core: counts"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_graph, assert_stops, large_graph, same_for_any_threads};
    use crate::view::FrozenOnly;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The definition: all sets of three vertices in which each two are neighbours.
    fn counts_by_definition(graph: &Graph) -> Vec<u64> {
        let edges: BTreeSet<_> = graph.arcs(Direction::Both).iter().map(|arc| (arc.0, arc.1)).collect();
        let mut counts = vec![0; graph.vertices.bound() as usize];
        for (first, second) in edges.iter().copied().filter(|edge| edge.0 < edge.1) {
            for third in second + 1..graph.vertices.bound() {
                if edges.contains(&(second, third)) && edges.contains(&(first, third)) {
                    [first, second, third].iter().for_each(|corner| counts[*corner as usize] += 1);
                }
            }
        }
        counts
    }

    fn count(graph: &Graph) -> Triangles {
        let control = Control::default();
        let found = triangles(&graph.csr(Direction::Both), &control).unwrap();
        assert_eq!(triangles(&graph.pieced(Direction::Both), &control).unwrap(), found);
        found
    }

    proptest! {
        #[test]
        fn counts_are_those_of_the_definition(graph in any_graph()) {
            let (found, want) = (count(&graph), counts_by_definition(&graph));
            prop_assert_eq!(found.total() * 3, want.iter().sum::<u64>());
            prop_assert_eq!(found.counts(), want);
        }
    }

    #[test]
    fn a_clique_has_all_triples() {
        let edges: Vec<_> = (0..60).flat_map(|low| (low + 1..60).map(move |high| (high, low))).collect();
        let found = count(&Graph::new(61, &edges));
        assert_eq!(found.total(), 60 * 59 * 58 / 6);
        assert_eq!((found.count(VertexId(7)), found.count(VertexId(60))), (59 * 58 / 2, 0));
    }

    #[test]
    fn parallel_edges_loops_and_both_ways_make_no_more_triangles() {
        let edges = [(0, 1), (1, 0), (0, 1), (1, 2), (2, 0), (2, 2), (0, 0), (2, 3)];
        assert_eq!(count(&Graph::new(4, &edges)).counts(), [1, 1, 1, 0]);
        assert_eq!(count(&Graph::new(4, &edges).without(&[1])).total(), 0);
        assert_eq!(count(&Graph::new(0, &[])).total(), 0);
    }

    #[test]
    fn counts_are_the_same_for_any_number_of_threads_and_in_pieces() {
        let graph = large_graph();
        let csr = graph.csr(Direction::Both);
        let found = same_for_any_threads(|| triangles(&csr, &Control::default()).unwrap());
        assert!(found.total() > 10_000, "{} are too few to tell", found.total());
        assert!(found == triangles(&graph.pieced(Direction::Both), &Control::default()).unwrap());
    }

    #[test]
    fn it_stops_when_asked_to() {
        let csr = large_graph().csr(Direction::Both);
        assert_stops(|control| triangles(&csr, control));
    }

    #[test]
    fn a_view_is_frozen_both_ways_and_its_budget_is_asked() {
        let (graph, scope) = (Graph::new(3, &[(1, 0), (1, 2), (2, 0)]), Scope::default());
        let view = FrozenOnly::new(graph.clone(), 1000);
        assert_eq!(run(&view, &scope, &Control::default()).unwrap().counts(), [1, 1, 1]);
        assert_eq!(view.asked(), scope.projection(Direction::Both, None, None));
        let error = run(&FrozenOnly::new(graph, 3 * 8), &scope, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
