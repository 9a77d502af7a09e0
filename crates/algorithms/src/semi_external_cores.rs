//! Semi-external cores: core numbers in memory for vertices alone, by passes over the lists.
//!
//! ```text
//! bound(v)     no less than the core number; at first the degree
//! support(v)   neighbours u with bound(u) >= bound(v), exact from the first visit of v on, before it zero
//!
//! pass after pass, each v with support(v) < bound(v), by id:
//!     bound(v) = the highest k such that k neighbours u have bound(u) >= k, and no higher than before
//!     support(v) is counted anew
//!     each neighbour u with new bound(v) < bound(u) <= old bound(v):   support(u) -= 1
//! core(v) = bound(v), when no vertex lacks support
//! ```
//!
//! A vertex is visited again only if its bound is certain to fall. Few are after some passes, and a topology reads their
//! lists alone.
//!
//! The reading is that of `undirected`, whose lists of both sides are too large where this is used. Here a list is gathered
//! when it is visited; marks keep each neighbour from being counted twice.
//!
//! Cost: a pass for the degrees, one over all lists, and some over ever fewer; one thread. Memory: 8 bytes and a bit a
//! vertex, and 8 bytes for each neighbour of the longest list.
//!
//! Source: Wen, Qin, Zhang, Lin, Yu: I/O Efficient Core Graph Decomposition at Web Scale (ICDE 2016), algorithm 5
//! (`SemiCore*`). Differs: the vertices of a part are asked for together; supports of vertices that are not yet visited
//! stay zero.

use crate::control::Control;
use crate::parts::Parts;
use crate::vertex_marks::VertexMarks;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{PieceBuffer, Topology, Visit};

const PHASE: &str = "kcore, out of core";

/// The core number of each vertex id below the topology's bound; zero out of scope.
///
/// # Errors
/// `invalid` if `topology` hasn't both sides; `limit` if the state doesn't fit into the budget; `cancelled`; errors of
/// reading.
pub(crate) fn core_numbers<T: Topology>(topology: &T, control: &Control<'_>) -> Result<Vec<u32>> {
    control.report(PHASE, 0.0);
    let bound = topology.bound();
    let state_bytes = u64::from(bound) * 2 * size_of::<u32>() as u64 + VertexMarks::bytes(bound);
    let _state = control.reserve_bytes("bounds and supports of k-cores", state_bytes)?;
    let parts = Parts::of(topology);
    let mut bounds = vec![0; bound as usize];
    parts.map(control, parts.split(&mut bounds), |range, bounds, _| {
        topology.degrees(Direction::Both, range, bounds)
    })?;
    // No list has a neighbour twice.
    let longest = u64::from(bounds.iter().copied().max().unwrap_or(0).min(bound));
    let _list = control.reserve_bytes("the longest list of k-cores", (2 * longest + 1) * 4)?;
    let mut refinement = Refinement::of(bounds);
    let (mut frontier, mut buffer) = (Vec::new(), PieceBuffer::default());
    let (count, mut settled) = (refinement.lacking.max(1) as f64, 0.0_f64);
    while refinement.lacking > 0 {
        for range in parts.ranges() {
            control.check()?;
            frontier.clear();
            frontier
                .extend(topology.vertices().range(range).filter(|vertex| refinement.lacks_support(*vertex)));
            if !frontier.is_empty() {
                refinement.visit(topology, &frontier, &mut buffer)?;
                // What fell may lack support again: the fraction waits for it.
                settled = settled.max(1.0 - refinement.lacking as f64 / count);
                control.report(PHASE, settled);
            }
        }
    }
    Ok(refinement.bounds)
}

/// Bounds on their way down.
struct Refinement {
    bounds: Vec<u32>,
    supports: Vec<u32>,
    /// How many vertices have less support than their bound.
    lacking: usize,
    /// The neighbours of the vertex that is visited, each once, and marked.
    list: Vec<u32>,
    marks: VertexMarks,
    /// How many neighbours have each bound, those with more than any that counts among the highest.
    counts: Vec<u32>,
}

impl Refinement {
    /// Of vertices with these degrees, of which none was visited.
    fn of(degrees: Vec<u32>) -> Self {
        Self {
            supports: vec![0; degrees.len()],
            lacking: degrees.iter().filter(|degree| **degree > 0).count(),
            list: Vec::new(),
            marks: VertexMarks::new(degrees.len() as u32),
            counts: Vec::new(),
            bounds: degrees,
        }
    }

    #[inline]
    fn lacks_support(&self, vertex: u32) -> bool {
        self.supports[vertex as usize] < self.bounds[vertex as usize]
    }

    /// Visits the vertices of `frontier`, which ascend and lack support, and settles each.
    fn visit<T: Topology>(&mut self, topology: &T, frontier: &[u32], buffer: &mut PieceBuffer) -> Result<()> {
        let (vertices, mut next) = (topology.vertices(), 0);
        topology.visit_each(Direction::Both, frontier, buffer, |vertex, piece| {
            // Those without edges are passed over.
            while frontier[next] < vertex {
                self.settle(frontier[next]);
                next += 1;
            }
            for neighbor in piece.neighbors {
                if *neighbor != vertex && vertices.contains(*neighbor) && self.marks.mark(*neighbor) {
                    self.list.push(*neighbor);
                }
            }
            Visit::Continue
        })?;
        frontier[next..].iter().for_each(|vertex| self.settle(*vertex));
        Ok(())
    }

    /// Brings the bound of `vertex`, whose neighbours were gathered, down to what they support.
    fn settle(&mut self, vertex: u32) {
        let Self { bounds, supports, lacking, list, marks, counts } = self;
        let old = bounds[vertex as usize];
        let highest = old.min(list.len() as u32);
        counts.clear();
        counts.resize(highest as usize + 1, 0);
        for neighbor in &*list {
            counts[bounds[*neighbor as usize].min(highest) as usize] += 1;
        }
        let (mut new, mut support) = (highest, counts[highest as usize]);
        while support < new {
            new -= 1;
            support += counts[new as usize];
        }
        (bounds[vertex as usize], supports[vertex as usize]) = (new, support);
        *lacking -= 1;
        for neighbor in list.drain(..) {
            marks.clear(neighbor);
            let (bound, support) = (bounds[neighbor as usize], &mut supports[neighbor as usize]);
            if bound > new && bound <= old {
                *lacking += usize::from(*support == bound);
                // Zero before the first visit, which counts.
                *support = support.saturating_sub(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_graph, assert_stops, large_graph};
    use crate::kcore::kcore;
    use crate::view::Limit;
    use evergraph_graph::error::ErrorKind;
    use proptest::prelude::*;

    /// The core numbers by peeling in memory, zero out of scope.
    fn peeled(graph: &Graph) -> Vec<u32> {
        let found = kcore(&graph.csr(Direction::Both), &Control::default()).unwrap();
        let core = |vertex: u32| found.core(evergraph_graph::id::VertexId(vertex)).unwrap_or(0);
        (0..graph.vertices.bound()).map(core).collect()
    }

    fn check(graph: &Graph) {
        let (control, want) = (Control::default(), peeled(graph));
        assert_eq!(core_numbers(&graph.csr(Direction::Both), &control).unwrap(), want);
        assert_eq!(core_numbers(&graph.pieced(Direction::Both), &control).unwrap(), want);
    }

    proptest! {
        #[test]
        fn cores_by_passes_are_those_of_peeling(graph in any_graph()) {
            check(&graph);
        }
    }

    #[test]
    fn cores_of_a_large_graph_with_hubs_are_those_of_peeling() {
        check(&large_graph());
    }

    #[test]
    fn parallel_edges_loops_and_edges_both_ways_count_once() {
        let edges = [(0, 1), (1, 0), (0, 1), (1, 1), (1, 1), (2, 2), (0, 3), (3, 0)];
        let cores = |graph: &Graph| core_numbers(&graph.csr(Direction::Both), &Control::default()).unwrap();
        assert_eq!(cores(&Graph::new(5, &edges)), [1, 1, 0, 1, 0]);
        assert_eq!(cores(&Graph::new(5, &edges).without(&[0])), [0; 5]);
        assert_eq!(cores(&Graph::new(0, &[])), []);
    }

    #[test]
    fn it_stops_when_asked_to() {
        let csr = large_graph().csr(Direction::Both);
        assert_stops(|control| {
            control.check()?;
            core_numbers(&csr, control)
        });
    }

    #[test]
    fn memory_is_by_the_vertex_and_by_the_longest_list() {
        let hub: Vec<_> = (1..200).map(|leaf| (0, leaf)).collect();
        let csr = Graph::new(200, &hub).csr(Direction::Both);
        let run = |bytes| core_numbers(&csr, &Control::new(&Limit(bytes)));
        assert_eq!(run(200 * 8 + 4 * 8).unwrap()[0], 1);
        assert_eq!(run(200 * 8 + 4 * 8 - 1).unwrap_err().kind(), ErrorKind::Limit);
        let both_ways: Vec<_> = (0..40).flat_map(|low| (0..40).map(move |high| (low, high))).collect();
        let dense = Graph::new(40, &both_ways).csr(Direction::Both);
        let error = core_numbers(&dense, &Control::new(&Limit(40 * 8 + 8 - 1))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert_eq!(core_numbers(&dense, &Control::new(&Limit(40 * 8 + 8))).unwrap(), [39; 40]);
    }
}
