//! Topological order: every vertex after those that it depends on, or a cycle that makes this impossible.
//!
//! ```text
//! 3 ──> 1 ──> 0        order 3 1 0 2
//! │     └───> 2        (after 1 both 0 and 2 are free: the lower first)
//! └───────────┘
//! ```
//!
//! Definition. An order in which every edge's source comes before its target. Of all such orders this
//! is the one that takes the lowest vertex number whenever it has the choice. If the edges form a
//! cycle there is no order, and one cycle is the answer: found by walking back from the lowest vertex
//! that is left, each time to the lowest vertex before it.
//!
//! Cost: every list once, and a heap's log(vertices) for each vertex; a cycle costs another pass. Memory:
//! 12 bytes a vertex. One thread: the order is a chain of decisions.
//!
//! Source: Kahn, Topological sorting of large networks (CACM 1962).

use crate::control::Control;
use crate::scope::{Scope, covers};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{PieceBuffer, Topology, Visit};
use evergraph_graph::view::Freeze;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What may be chosen about an order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopologicalOrderParameters {
    /// `Out`: sources before targets. `In`: targets before sources, as where an edge says "needs".
    pub direction: Direction,
}

impl Default for TopologicalOrderParameters {
    /// Sources before targets.
    fn default() -> Self {
        Self { direction: Direction::Out }
    }
}

impl TopologicalOrderParameters {
    fn check(&self) -> Result<()> {
        if self.direction == Direction::Both {
            return Err(Error::invalid("direction is Both, but an order goes Out or In"));
        }
        Ok(())
    }
}

/// An order, or why there is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TopologicalOrder {
    /// Every vertex in scope, in order.
    Order(Vec<u32>),
    /// The vertices of a cycle, each with an edge to the next in the chosen direction, and the last one
    /// to the first, which has the lowest number. One vertex is a loop.
    Cycle(Vec<u32>),
}

/// The order of the part of `view` in `scope`: freezes the side that the direction names. Memory comes
/// from the budget of `view`.
///
/// # Errors
/// Those of [`topological_order`], and of [`Scope::freeze`].
pub fn run<V: Freeze>(
    view: &V,
    scope: &Scope,
    parameters: &TopologicalOrderParameters,
    control: &Control<'_>,
) -> Result<TopologicalOrder> {
    parameters.check()?;
    let topology = scope.freeze(view, parameters.direction, None, control)?;
    topological_order(&topology, parameters, &control.on_budget(view.budget()))
}

/// The order of `topology`, which must hold the lists in the chosen direction.
///
/// # Errors
/// `invalid` for a parameter out of range or a side that wasn't frozen; `limit` if the state doesn't
/// fit into the budget; `cancelled`; errors of reading. A cycle is an answer, not an error.
pub fn topological_order<T: Topology>(
    topology: &T,
    parameters: &TopologicalOrderParameters,
    control: &Control<'_>,
) -> Result<TopologicalOrder> {
    parameters.check()?;
    control.check()?;
    let (bound, vertices) = (topology.bound(), topology.vertices());
    let _state = control.reserve("edges left, free vertices and the order", bound, 3 * size_of::<u32>())?;
    control.report(PHASE, 0.0);
    let mut before = edges_towards(topology, parameters.direction, control)?;
    let is_free = |vertex: &u32| before[*vertex as usize] == 0;
    let mut free: BinaryHeap<Reverse<u32>> = vertices.iter().filter(is_free).map(Reverse).collect();
    let mut order = Vec::with_capacity(vertices.len() as usize);
    let mut buffer = PieceBuffer::default();
    while let Some(Reverse(vertex)) = free.pop() {
        order.push(vertex);
        topology.visit_each(parameters.direction, &[vertex], &mut buffer, |_, piece| {
            for neighbor in piece.neighbors {
                let left = &mut before[*neighbor as usize];
                *left -= 1;
                if *left == 0 {
                    free.push(Reverse(*neighbor));
                }
            }
            Visit::Continue
        })?;
        if order.len().is_multiple_of(CHECK_EVERY) {
            control.check()?;
            control.report(PHASE, order.len() as f64 / vertices.len() as f64);
        }
    }
    let answer = if order.len() as u64 == vertices.len() {
        TopologicalOrder::Order(order)
    } else {
        TopologicalOrder::Cycle(a_cycle(topology, parameters.direction, before, control)?)
    };
    control.report(PHASE, 1.0);
    Ok(answer)
}

const PHASE: &str = "topological order";

/// Vertices between two looks at the cancel flag; a hub alone is more than that.
const CHECK_EVERY: usize = 4096;

/// How many edges in `direction` lead to each vertex. Counted from the lists that are there in any
/// case: those against them would double what is frozen.
fn edges_towards<T: Topology>(topology: &T, direction: Direction, control: &Control<'_>) -> Result<Vec<u32>> {
    let (bound, mut buffer) = (topology.bound(), PieceBuffer::default());
    let mut counts = vec![0_u32; bound as usize];
    if covers(topology.direction(), direction.reversed()) && covers(topology.direction(), direction) {
        topology.degrees(direction.reversed(), 0..bound, &mut counts)?;
        return Ok(counts);
    }
    for from in (0..bound).step_by(CHECK_EVERY) {
        control.check()?;
        let to = bound.min(from.saturating_add(CHECK_EVERY as u32));
        topology.visit(direction, from..to, &mut buffer, |_, piece| {
            piece.neighbors.iter().for_each(|neighbor| counts[*neighbor as usize] += 1);
            Visit::Continue
        })?;
    }
    Ok(counts)
}

/// A cycle among the vertices that have edges left `before` them: each has one from another of them.
fn a_cycle<T: Topology>(
    topology: &T,
    direction: Direction,
    before: Vec<u32>,
    control: &Control<'_>,
) -> Result<Vec<u32>> {
    let left = |vertex: u32| before[vertex as usize] > 0;
    const NOBODY: u32 = u32::MAX;
    let _state = control.reserve("the way back to a cycle", topology.bound(), size_of::<u32>())?;
    let mut back = vec![NOBODY; before.len()];
    let mut buffer = PieceBuffer::default();
    let mut lowest = None;
    for vertex in topology.vertices().iter().filter(|vertex| left(*vertex)) {
        if vertex % CHECK_EVERY as u32 == 0 {
            control.check()?;
        }
        lowest = lowest.or(Some(vertex));
        topology.visit_each(direction, &[vertex], &mut buffer, |_, piece| {
            for neighbor in piece.neighbors.iter().filter(|neighbor| left(**neighbor)) {
                let slot = &mut back[*neighbor as usize];
                // Vertices ascend, so the first is the lowest.
                if *slot == NOBODY {
                    *slot = vertex;
                }
            }
            Visit::Continue
        })?;
    }
    let mut vertex = lowest.expect("an order that isn't whole leaves vertices");
    // After as many steps as there are vertices the walk is on the cycle for good.
    for step in 0..topology.bound() {
        if step.is_multiple_of(CHECK_EVERY as u32) {
            control.check()?;
        }
        vertex = back[vertex as usize];
    }
    let start = vertex;
    let mut cycle = vec![start];
    while back[vertex as usize] != start {
        vertex = back[vertex as usize];
        cycle.push(vertex);
    }
    cycle.reverse();
    let first = (0..cycle.len()).min_by_key(|at| cycle[*at]).expect("a cycle has a vertex");
    cycle.rotate_left(first);
    Ok(cycle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_graph, assert_stops, large_graph};
    use crate::view::FrozenOnly;
    use evergraph_graph::error::ErrorKind;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn order_of(graph: &Graph, direction: Direction) -> TopologicalOrder {
        let parameters = TopologicalOrderParameters { direction };
        let run = |frozen| {
            let control = Control::default();
            let plain = topological_order(&graph.csr(frozen), &parameters, &control).unwrap();
            assert_eq!(topological_order(&graph.pieced(frozen), &parameters, &control).unwrap(), plain);
            plain
        };
        let answer = run(direction);
        assert_eq!(run(Direction::Both), answer);
        answer
    }

    /// The definition: take the lowest vertex into which no edge leads, again and again.
    fn lowest_first(graph: &Graph, direction: Direction) -> Option<Vec<u32>> {
        let mut left: BTreeSet<u32> = graph.vertices.iter().collect();
        let arcs = graph.arcs(direction);
        let mut order = Vec::new();
        while !left.is_empty() {
            let free = |vertex: &&u32| !arcs.iter().any(|arc| arc.1 == **vertex && left.contains(&arc.0));
            let next = *left.iter().find(free)?;
            left.remove(&next);
            order.push(next);
        }
        Some(order)
    }

    proptest! {
        #[test]
        fn the_lowest_free_vertex_comes_first_and_a_cycle_is_one(
            graph in any_graph(), acyclic: bool, outwards: bool,
        ) {
            let mut graph = graph;
            if acyclic {
                graph.edges.iter_mut().for_each(|edge| {
                    // By a number that isn't in order of ids, so that the order isn't trivial.
                    let place = |vertex: u32| vertex.wrapping_mul(0x9E37_79B1);
                    if place(edge.0) > place(edge.1) {
                        *edge = (edge.1, edge.0);
                    }
                });
                let vertices = &graph.vertices;
                graph.weights.truncate(graph.edges.len());
                prop_assert!(vertices.bound() > 0);
                graph.edges.iter_mut().filter(|edge| edge.0 == edge.1).for_each(|edge| *edge = (u32::MAX, 0));
                graph.edges.retain(|edge| edge.0 != u32::MAX);
                graph.weights.truncate(graph.edges.len());
            }
            let direction = if outwards { Direction::Out } else { Direction::In };
            match (order_of(&graph, direction), lowest_first(&graph, direction)) {
                (TopologicalOrder::Order(order), Some(want)) => prop_assert_eq!(order, want),
                (TopologicalOrder::Cycle(cycle), None) => {
                    let different: BTreeSet<_> = cycle.iter().collect();
                    prop_assert_eq!(different.len(), cycle.len());
                    prop_assert!(cycle.iter().all(|vertex| *vertex >= cycle[0]));
                    let arcs = graph.arcs(direction);
                    for (at, vertex) in cycle.iter().enumerate() {
                        let next = cycle[(at + 1) % cycle.len()];
                        prop_assert!(arcs.iter().any(|arc| (arc.0, arc.1) == (*vertex, next)));
                    }
                }
                (found, want) => prop_assert!(false, "{found:?}, not {want:?}"),
            }
        }
    }

    #[test]
    fn small_graphs_have_the_orders_and_cycles_of_the_caption() {
        let graph = Graph::new(5, &[(3, 1), (1, 0), (1, 2), (3, 2), (3, 2)]).without(&[4]);
        assert_eq!(order_of(&graph, Direction::Out), TopologicalOrder::Order(vec![3, 1, 0, 2]));
        assert_eq!(order_of(&graph, Direction::In), TopologicalOrder::Order(vec![0, 2, 1, 3]));
        let cycle = Graph::new(6, &[(0, 4), (4, 2), (2, 5), (5, 4), (5, 1)]);
        assert_eq!(order_of(&cycle, Direction::Out), TopologicalOrder::Cycle(vec![2, 5, 4]));
        let own = Graph::new(2, &[(1, 1), (1, 0)]);
        assert_eq!(order_of(&own, Direction::Out), TopologicalOrder::Cycle(vec![1]));
        assert_eq!(order_of(&Graph::new(0, &[]), Direction::Out), TopologicalOrder::Order(vec![]));
    }

    #[test]
    fn both_directions_are_no_order() {
        let parameters = TopologicalOrderParameters { direction: Direction::Both };
        let csr = Graph::new(1, &[]).csr(Direction::Both);
        let error = topological_order(&csr, &parameters, &Control::default()).unwrap_err();
        assert_eq!(error.to_string(), "direction is Both, but an order goes Out or In");
    }

    #[test]
    fn it_stops_when_asked_to() {
        let mut graph = large_graph();
        graph.edges.iter_mut().for_each(|edge| *edge = (edge.0.min(edge.1), edge.0.max(edge.1) + 1));
        let csr = graph.csr(Direction::Out);
        assert_stops(|control| topological_order(&csr, &TopologicalOrderParameters::default(), control));
    }

    #[test]
    fn a_view_is_frozen_one_way_and_its_budget_is_asked() {
        let (graph, scope) = (Graph::new(2, &[(1, 0)]), Scope::default());
        let view = FrozenOnly::new(graph.clone(), 2 * 12);
        let parameters = TopologicalOrderParameters::default();
        let found = run(&view, &scope, &parameters, &Control::default()).unwrap();
        assert_eq!(found, TopologicalOrder::Order(vec![1, 0]));
        assert_eq!(view.asked(), scope.projection(Direction::Out, None, None));
        let poor = FrozenOnly::new(graph, 2 * 12 - 1);
        let error = run(&poor, &scope, &parameters, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
