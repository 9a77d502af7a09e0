//! K-hop neighbourhood: the vertices within k edges of some sources, on a view without freezing.
//!
//! ```text
//! sources 0 ── level 1 ── level 2 ── ... ── level k        the nearest first, until there are enough
//! ```
//!
//! Definition. A vertex' distance is the number of edges on a shortest path from the nearest source;
//! those with a distance of at most `depth` are found, sources included. If a limit cuts the answer,
//! all nearer vertices are in it; which of the last level are depends on the order of lists alone, so
//! that it is the same for the same graph.
//!
//! Cost: the edges of the vertices nearer than `depth`; with filters one look at each vertex met.
//! Nothing is frozen. Memory: 8 bytes a vertex found, and 512 for each 4,096 ids in a row of which one is found. One thread.
//!
//! Source: breadth-first search, level by level.

use crate::control::Control;
use crate::live::Live;
use crate::scope::Scope;
use crate::seen::Seen;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::view::GraphView;
use std::ops::ControlFlow;

/// What may be chosen about a neighbourhood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KHopParameters {
    /// Along which edges it goes: `Out` from source to target, `In` against them, `Both` ways.
    pub direction: Direction,
    /// The farthest, in edges.
    pub depth: u32,
    /// The most vertices, sources included: at least 1.
    pub limit: usize,
}

impl Default for KHopParameters {
    /// From source to target, two edges far, without limit.
    fn default() -> Self {
        Self { direction: Direction::Out, depth: 2, limit: usize::MAX }
    }
}

impl KHopParameters {
    fn check(&self) -> Result<()> {
        if self.limit == 0 {
            return Err(Error::invalid("limit is 0, but must be at least 1"));
        }
        Ok(())
    }
}

/// The vertices around some sources.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KHop {
    /// By distance, then by id.
    pub vertices: Vec<VertexId>,
    /// Where the vertices of each distance end in `vertices`: sources first. The levels that there
    /// are, at most one more than `depth`.
    pub level_ends: Vec<usize>,
    /// Whether all vertices in reach were found: the limit left none out.
    pub complete: bool,
}

impl KHop {
    /// The vertices with their distances, in order.
    pub fn iter(&self) -> impl Iterator<Item = (VertexId, u32)> + '_ {
        let mut distance = 0;
        self.vertices.iter().enumerate().map(move |(at, vertex)| {
            // No level is empty, so that one step is enough.
            distance += u32::from(self.level_ends[distance as usize] <= at);
            (*vertex, distance)
        })
    }
}

/// The vertices around `sources` in the part of `view` in `scope`. A source named twice counts once.
///
/// # Errors
/// `not_found` if a source isn't in scope; `invalid` for a parameter out of range or no source;
/// `limit` if what was found doesn't fit into the budget of `control`; `cancelled`; errors
/// of reading.
pub fn k_hop<V: GraphView + ?Sized>(
    view: &V,
    scope: &Scope,
    sources: &[VertexId],
    parameters: &KHopParameters,
    control: &Control<'_>,
) -> Result<KHop> {
    parameters.check()?;
    control.check()?;
    let KHopParameters { direction, depth, limit } = *parameters;
    if sources.is_empty() {
        return Err(Error::invalid("a neighbourhood needs at least one source"));
    }
    control.report(PHASE, 0.0);
    let mut live = Live::new(view, scope, None, control);
    // The answer and a frontier of plain ids besides.
    let mut seen = Seen::new(control, "the neighbourhood", 2 * size_of::<u32>());
    let mut level = Vec::with_capacity(sources.len());
    let mut complete = true;
    for source in sources {
        let source = live.member(*source, "source")?;
        if !seen.has(source) {
            if level.len() == limit {
                complete = false;
                break;
            }
            seen.insert(source)?;
            level.push(source);
        }
    }
    let (mut vertices, mut level_ends) = (Vec::new(), Vec::new());
    while !level.is_empty() {
        // Engines read lists fastest in one sweep.
        level.sort_unstable();
        vertices.extend(level.iter().copied().map(VertexId));
        level_ends.push(vertices.len());
        let mut next = Vec::new();
        if complete && level_ends.len() <= depth as usize {
            live.hops(direction, &level, |hop| {
                if !seen.has(hop.to) {
                    if vertices.len() + next.len() == limit {
                        complete = false;
                        return Ok(ControlFlow::Break(()));
                    }
                    seen.insert(hop.to)?;
                    next.push(hop.to);
                }
                Ok(ControlFlow::Continue(()))
            })?;
        }
        level = next;
        control.report(PHASE, (level_ends.len() as f64 / (f64::from(depth) + 1.0)).min(0.999));
    }
    control.report(PHASE, 1.0);
    Ok(KHop { vertices, level_ends, complete })
}

const PHASE: &str = "k-hop";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bfs::{BfsParameters, bfs};
    use crate::graphs::{Graph, any_direction, any_graph, assert_stops};
    use crate::view::Limit;
    use crate::walkable::{LABELS, Walkable};
    use evergraph_graph::error::ErrorKind;
    use proptest::prelude::*;

    fn find(view: &Walkable, sources: &[u32], parameters: &KHopParameters) -> KHop {
        let sources: Vec<VertexId> = sources.iter().copied().map(VertexId).collect();
        k_hop(view, &Scope::default(), &sources, parameters, &Control::default()).unwrap()
    }

    fn rows(found: &KHop) -> Vec<(u32, u32)> {
        found.iter().map(|(vertex, distance)| (distance, vertex.0)).collect()
    }

    proptest! {
        #[test]
        fn distances_are_those_to_the_nearest_source(
            graph in any_graph(), direction in any_direction(),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 1..4), depth in 0_u32..6, limit in 1_usize..40,
        ) {
            prop_assume!(!graph.vertices.is_empty());
            let all: Vec<u32> = graph.vertices.iter().collect();
            let sources: Vec<u32> = picks.iter().map(|pick| *pick.get(&all)).collect();
            let topology = graph.csr(direction);
            let parameters = BfsParameters { direction, ..Default::default() };
            let levels: Vec<_> = sources
                .iter()
                .map(|source| bfs(&topology, VertexId(*source), &parameters, &Control::default()).unwrap())
                .collect();
            let nearest = |vertex: u32| levels.iter().filter_map(|bfs| bfs.level(VertexId(vertex))).min();
            let mut want: Vec<(u32, u32)> =
                all.iter().filter_map(|vertex| Some((nearest(*vertex)?, *vertex))).collect();
            want.retain(|(distance, _)| *distance <= depth);
            want.sort_unstable();

            let view = Walkable::new(graph);
            let found = find(&view, &sources, &KHopParameters { direction, depth, limit: usize::MAX });
            prop_assert!(found.complete);
            prop_assert_eq!(&rows(&found), &want);

            let cut = find(&view, &sources, &KHopParameters { direction, depth, limit });
            prop_assert_eq!(cut.complete, want.len() <= limit);
            let cut = rows(&cut);
            prop_assert_eq!(cut.len(), want.len().min(limit));
            let last = cut.last().unwrap().0;
            let nearer = |rows: &[(u32, u32)]| -> Vec<_> { rows.iter().filter(|row| row.0 < last).copied().collect() };
            prop_assert_eq!(nearer(&cut), nearer(&want));
            prop_assert!(cut.iter().all(|row| want.contains(row)));
        }
    }

    #[test]
    fn levels_come_nearest_first_in_order_of_ids() {
        let view = Walkable::new(Graph::new(7, &[(3, 6), (3, 1), (1, 0), (6, 2), (2, 5)]));
        let found = find(&view, &[3, 3], &KHopParameters::default());
        assert_eq!(rows(&found), [(0, 3), (1, 1), (1, 6), (2, 0), (2, 2)]);
        assert_eq!(found.level_ends, [1, 3, 5]);
        let alone = find(&view, &[4], &KHopParameters { depth: u32::MAX, ..Default::default() });
        assert_eq!(rows(&alone), [(0, 4)]);
    }

    #[test]
    fn what_is_out_of_scope_is_no_way() {
        let view = Walkable::new(Graph::new(6, &[(0, 1), (1, 2), (0, 4), (4, 5)]));
        let even = Scope { labels: Some(vec![LABELS[0]]), ..Scope::default() };
        let around = |source| {
            k_hop(&view, &even, &[VertexId(source)], &KHopParameters::default(), &Control::default())
        };
        assert_eq!(rows(&around(0).unwrap()), [(0, 0), (1, 4)]);
        assert_eq!(around(1).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn bad_parameters_a_small_budget_and_cancelling_end_it() {
        let view = Walkable::new(Graph::new(3, &[(0, 1), (1, 2)]));
        let run = |sources: &[VertexId], limit, control: &Control<'_>| {
            k_hop(&view, &Scope::default(), sources, &KHopParameters { limit, ..Default::default() }, control)
        };
        let all = Control::default();
        assert!(run(&[VertexId(0)], 0, &all).unwrap_err().to_string().contains("limit is 0"));
        assert!(run(&[], 9, &all).unwrap_err().to_string().contains("at least one source"));
        let poor = Limit(100);
        assert_eq!(run(&[VertexId(0)], 9, &Control::new(&poor)).unwrap_err().kind(), ErrorKind::Limit);
        assert_stops(|control| run(&[VertexId(0)], 9, control));
    }
}
