//! Local clustering coefficient: the share of possible edges between the neighbours of a vertex that exist.
//!
//! ```text
//! N(v) = all neighbours of v, out or in, without v itself;  d = |N(v)|
//!
//! directed     lcc(v) = edges (u, w) with u and w in N(v)  /  d (d - 1)
//! undirected   lcc(v) = pairs {u, w} of N(v) with an edge  /  d (d - 1) / 2        zero if d < 2
//! ```
//!
//! Parallel edges count once, and loops never. On a graph with every edge both ways the two readings
//! are the same.
//!
//! Both come from the triangles of `degree_order`, each found once: a directed one adds to each of
//! its corners the number of edges, one or two, opposite to it.
//!
//! Cost: as for triangles. Memory: 4 bytes an edge (5 if directed) and 56 a vertex, and 4 a vertex
//! for each thread. Without them as for triangles: in chunks, out of core.
//!
//! Source: the definition of LDBC Graphalytics 1.0 (section 2.3.5), after Watts and Strogatz 1998.
//! Differs: by triangles, not by intersecting the lists of all pairs of neighbours.

use crate::chunked_triangles::ChunkedCount;
use crate::control::Control;
use crate::degree_order::DegreeOrder;
use crate::scope::Scope;
use evergraph_graph::error::{ErrorKind, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::Topology;
use evergraph_graph::view::Freeze;
use std::sync::atomic::AtomicU32;

/// What may be chosen about clustering coefficients.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LccParameters {
    /// Whether an edge one way is half of what may connect two neighbours, or all of it.
    pub directed: bool,
}

impl Default for LccParameters {
    /// Directed, as the edges are.
    fn default() -> Self {
        Self { directed: true }
    }
}

/// The clustering coefficient of each vertex.
#[derive(Clone, PartialEq, Debug)]
pub struct Lcc {
    /// From 0 to 1 for each vertex id below the topology's bound; zero with fewer than two
    /// neighbours, and out of scope.
    pub coefficients: Vec<f64>,
    /// The mean over all vertices in scope; zero without any.
    pub mean: f64,
}

impl Lcc {
    /// The coefficient of `vertex`; `None` above the bound.
    #[must_use]
    pub fn coefficient(&self, vertex: VertexId) -> Option<f64> {
        self.coefficients.get(vertex.0 as usize).copied()
    }
}

/// The clustering coefficients in the part of `view` in `scope`: freezes both sides. Memory comes
/// from the budget of `view`.
///
/// # Errors
/// Those of [`lcc`], and of [`Freeze::freeze`].
pub fn run<V: Freeze>(
    view: &V,
    scope: &Scope,
    parameters: &LccParameters,
    control: &Control<'_>,
) -> Result<Lcc> {
    let topology = scope.freeze(view, Direction::Both, None, control)?;
    lcc(&topology, parameters, &control.on_budget(view.budget()))
}

/// The clustering coefficients in `topology`, which must hold both sides.
///
/// # Errors
/// `invalid` for a side that wasn't frozen; `limit` if the state doesn't fit into the budget, or lists that it refuses don't
/// fit on the disk; `cancelled`; errors of reading, and of temporary files.
pub fn lcc<T: Topology>(topology: &T, parameters: &LccParameters, control: &Control<'_>) -> Result<Lcc> {
    control.check()?;
    control.report(PHASE, 0.0);
    // Coefficients, degrees, and what is counted.
    let bytes = size_of::<f64>() + size_of::<u32>() + size_of::<u64>();
    let _state = control.reserve("clustering coefficients", topology.bound(), bytes)?;
    let coefficients = match (in_memory(topology, parameters, control), topology.scratch()) {
        (Err(error), Some(scratch)) if error.kind() == ErrorKind::Limit => {
            let degrees: Vec<AtomicU32> = (0..topology.bound()).map(|_| AtomicU32::new(0)).collect();
            let count = ChunkedCount::new(scratch, parameters.directed, CHUNKED_PHASES);
            let connected = count.run(topology, &degrees, control)?;
            coefficients(degrees.into_iter().map(AtomicU32::into_inner), connected, parameters)
        }
        (coefficients, _) => coefficients?,
    };
    let count = topology.vertices().len();
    let mean = if count == 0 { 0.0 } else { coefficients.iter().sum::<f64>() / count as f64 };
    control.report(PHASE, 1.0);
    Ok(Lcc { coefficients, mean })
}

/// The coefficient of each vertex id.
fn in_memory<T: Topology>(
    topology: &T,
    parameters: &LccParameters,
    control: &Control<'_>,
) -> Result<Vec<f64>> {
    let order = DegreeOrder::new(topology, parameters.directed, control)?;
    let degrees = order.degrees(control)?;
    let connected = if parameters.directed {
        order.opposite_arcs(PHASE, control)?
    } else {
        order.triangles(PHASE, control)?
    };
    Ok(order.by_vertex(coefficients(degrees.into_iter(), connected, parameters), topology.bound()))
}

/// The coefficients of vertices with these numbers of neighbours, of which so many arcs or pairs are connected.
fn coefficients(
    degrees: impl Iterator<Item = u32>,
    connected: Vec<u64>,
    parameters: &LccParameters,
) -> Vec<f64> {
    let worth = if parameters.directed { 1.0 } else { 2.0 };
    let coefficient = |(degree, connected): (u32, u64)| {
        let (degree, connected) = (f64::from(degree), connected as f64);
        if connected > 0.0 { worth * connected / (degree * (degree - 1.0)) } else { 0.0 }
    };
    degrees.zip(connected).map(coefficient).collect()
}

const PHASE: &str = "lcc";
const CHUNKED_PHASES: [&str; 2] = ["lcc, out of core: lists", "lcc, out of core: counts"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_graph, assert_stops, large_graph, same_for_any_threads};
    use crate::view::FrozenOnly;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The definition, pair by pair.
    fn by_definition(graph: &Graph, direction: Direction) -> Vec<f64> {
        let both: BTreeSet<_> = graph.arcs(Direction::Both).iter().map(|arc| (arc.0, arc.1)).collect();
        let edges: BTreeSet<_> = graph.arcs(direction).iter().map(|arc| (arc.0, arc.1)).collect();
        let coefficient = |vertex: u32| {
            let neighbors: Vec<u32> = (0..graph.vertices.bound())
                .filter(|other| *other != vertex && both.contains(&(vertex, *other)))
                .collect();
            let mut connected = 0;
            for first in &neighbors {
                let is_connected = |second: &&u32| first != *second && edges.contains(&(*first, **second));
                connected += neighbors.iter().filter(is_connected).count();
            }
            let pairs = neighbors.len() * neighbors.len().saturating_sub(1);
            if pairs == 0 { 0.0 } else { connected as f64 / pairs as f64 }
        };
        (0..graph.vertices.bound()).map(coefficient).collect()
    }

    fn coefficients(graph: &Graph, directed: bool) -> Lcc {
        let (parameters, control) = (LccParameters { directed }, Control::default());
        let found = lcc(&graph.csr(Direction::Both), &parameters, &control).unwrap();
        assert_eq!(lcc(&graph.pieced(Direction::Both), &parameters, &control).unwrap(), found);
        found
    }

    proptest! {
        #[test]
        fn coefficients_are_those_of_the_definition(graph in any_graph(), directed: bool) {
            let direction = if directed { Direction::Out } else { Direction::Both };
            let found = coefficients(&graph, directed);
            let want = by_definition(&graph, direction);
            let mean = want.iter().sum::<f64>() / graph.vertices.len().max(1) as f64;
            prop_assert!((found.mean - mean).abs() <= 1e-12);
            prop_assert_eq!(found.coefficients, want);
        }
    }

    #[test]
    fn an_edge_one_way_is_half_a_connection_if_directed() {
        let graph = Graph::new(4, &[(0, 1), (0, 2), (1, 2), (2, 3)]);
        assert_eq!(coefficients(&graph, true).coefficients, [0.5, 0.5, 1.0 / 6.0, 0.0]);
        let undirected = coefficients(&graph, false);
        assert_eq!(undirected.coefficients, [1.0, 1.0, 1.0 / 3.0, 0.0]);
        assert_eq!(undirected.coefficient(VertexId(2)), Some(1.0 / 3.0));
        assert_eq!(undirected.coefficient(VertexId(4)), None);
        let both_ways = Graph::new(3, &[(0, 1), (0, 2), (1, 2), (2, 1)]);
        assert_eq!(coefficients(&both_ways, true).coefficients, [1.0, 0.5, 0.5]);
    }

    #[test]
    fn graphs_of_no_and_of_one_vertex_have_coefficients() {
        assert_eq!(coefficients(&Graph::new(0, &[]), true), Lcc { coefficients: Vec::new(), mean: 0.0 });
        assert_eq!(coefficients(&Graph::new(1, &[(0, 0)]), true).coefficients, [0.0]);
    }

    #[test]
    fn coefficients_are_the_same_for_any_number_of_threads_and_in_pieces() {
        let graph = large_graph();
        let csr = graph.csr(Direction::Both);
        let parameters = LccParameters::default();
        let found = same_for_any_threads(|| lcc(&csr, &parameters, &Control::default()).unwrap());
        assert!(found == lcc(&graph.pieced(Direction::Both), &parameters, &Control::default()).unwrap());
    }

    #[test]
    fn it_stops_when_asked_to() {
        let csr = large_graph().csr(Direction::Both);
        assert_stops(|control| lcc(&csr, &LccParameters::default(), control));
    }

    #[test]
    fn a_view_is_frozen_both_ways_and_its_budget_is_asked() {
        let (graph, scope) = (Graph::new(3, &[(1, 0), (1, 2), (2, 0)]), Scope::default());
        let parameters = LccParameters { directed: false };
        let view = FrozenOnly::new(graph.clone(), 1000);
        let found = run(&view, &scope, &parameters, &Control::default()).unwrap();
        assert_eq!(found.coefficients, [1.0; 3]);
        assert_eq!(view.asked(), scope.projection(Direction::Both, None, None));
        let poor = FrozenOnly::new(graph, 3 * 20 - 1);
        assert_eq!(
            run(&poor, &scope, &parameters, &Control::default()).unwrap_err().kind(),
            ErrorKind::Limit
        );
    }
}
