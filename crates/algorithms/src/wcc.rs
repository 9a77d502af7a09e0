//! Weakly connected components: vertices connected when edges are followed in both directions. Afforest.
//!
//! ```text
//! label[v] = v
//! sample   link every vertex with its first two neighbours        most of the largest component
//! guess    the label that most of 1,024 vertices have             is joined by now
//! finish   link along all other edges, but not of vertices that   so most edges are never read
//!          have that label
//! compress label[v] = root of v
//! ```
//!
//! Links form trees that point to smaller ids, so the root of a component is its smallest vertex:
//! that is its label, whatever the order of the links.
//!
//! Why both sides are needed to skip: an edge from a skipped vertex to another one is seen only by
//! the other. If the lists are symmetric, the out side shows it; else the in side must be frozen
//! too. With one side that isn't symmetric, nothing is skipped: right, but slower. For the same reason a vertex that is
//! found to be connected with the guessed component leaves its other edges unread: their other ends are in it, or read them.
//!
//! Cost: between two edges a vertex and all edges, read at random in 4 bytes a vertex. Memory:
//! 4 bytes a vertex.
//!
//! Source: Sutton, Ben-Nun, Barak: Optimizing Parallel Graph Connectivity Computation via Subgraph
//! Sampling (IPDPS 2018). Differs: the first neighbours are linked in one visit instead of one
//! visit each, since here a visit may decode a list.

use crate::control::Control;
use crate::labels::Labels;
use crate::parts::Parts;
use crate::scope::Scope;
use crate::writers::Writers;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Topology, Visit};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_graph::view::Freeze;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// What may be chosen about components.
#[derive(Clone, PartialEq, Debug)]
pub struct WccParameters {
    /// How many neighbours of each vertex are linked before the largest component is guessed.
    pub sampled_neighbors: u32,
    /// The caller knows that every edge is in the lists of both its ends, so that out lists alone
    /// let the largest component be skipped. If it isn't so, components come apart.
    pub symmetric: bool,
}

impl Default for WccParameters {
    /// Two neighbours, as in the paper; nothing is known about symmetry.
    fn default() -> Self {
        Self { sampled_neighbors: 2, symmetric: false }
    }
}

/// The component of each vertex, named by its smallest vertex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wcc {
    /// A component is named by its smallest vertex.
    pub labels: Labels,
    /// How many components there are.
    pub components: u64,
}

/// The components of the part of `view` in `scope`: freezes both sides. Memory comes from the
/// budget of `view`.
///
/// # Errors
/// Those of [`wcc`], and of [`Freeze::freeze`].
pub fn run<V: Freeze>(
    view: &V,
    scope: &Scope,
    parameters: &WccParameters,
    control: &Control<'_>,
) -> Result<Wcc> {
    let topology = scope.freeze(view, Direction::Both, None, control)?;
    wcc(&topology, parameters, &control.on_budget(view.budget()))
}

/// The components of `topology`. Either side alone gives the right answer; both sides, or symmetric
/// lists, give it sooner.
///
/// # Errors
/// `limit` if 4 bytes a vertex don't fit into the budget; `cancelled`; errors of reading.
pub fn wcc<T: Topology>(topology: &T, parameters: &WccParameters, control: &Control<'_>) -> Result<Wcc> {
    control.check()?;
    let _state = control.reserve("wcc labels", topology.bound(), size_of::<u32>())?;
    control.report(PHASE, 0.0);
    let forest = Forest::new(topology);
    let parts = Parts::of(topology);
    let direction = topology.direction();
    let skipping = parameters.symmetric || direction == Direction::Both;
    // The first neighbours come from one side, so that the other's lists are not touched for them.
    let sampled_side = direction.sides()[0];
    let sampled = if skipping { parameters.sampled_neighbors as usize } else { 0 };

    if sampled > 0 {
        parts.map_ranges(control, |range, buffer| {
            let mut place = ListPosition::default();
            let mut links = forest.links();
            topology.visit(sampled_side, range, buffer, |vertex, piece| {
                let before = place.advance(vertex, piece.neighbors.len());
                let wanted = piece.neighbors.len().min(sampled - before);
                piece.neighbors[..wanted].iter().for_each(|neighbor| links.add(vertex, *neighbor));
                if before + wanted == sampled { Visit::NextVertex } else { Visit::Continue }
            })?;
            links.finish();
            Ok(())
        })?;
        forest.compress(&parts, control)?;
    }
    control.report(PHASE, 0.5);
    let largest = if sampled > 0 { forest.frequent_label() } else { None };
    parts.map_ranges(control, |range, buffer| {
        let mut rest = forest.vertices_outside(range, largest);
        if let ([_, other_side], Some(_), true) = (direction.sides(), largest, forest.ahead) {
            // One neighbour of the other side connects most of those that have none on the first.
            let mut links = forest.links();
            topology.visit_each(*other_side, &rest, buffer, |vertex, piece| {
                let Some(neighbor) = piece.neighbors.first() else { return Visit::Continue };
                links.add(vertex, *neighbor);
                Visit::NextVertex
            })?;
            links.finish();
            forest.keep_outside(&mut rest, largest);
        }
        for side in direction.sides() {
            // The first of the first side are linked already.
            let linked = if *side == sampled_side { sampled } else { 0 };
            let mut place = ListPosition::default();
            topology.visit_each(*side, &rest, buffer, |vertex, piece| {
                let before = place.advance(vertex, piece.neighbors.len());
                let linked = linked.saturating_sub(before).min(piece.neighbors.len());
                let joined = forest.link_until(vertex, &piece.neighbors[linked..], largest);
                if joined { Visit::NextVertex } else { Visit::Continue }
            })?;
            forest.keep_outside(&mut rest, largest);
        }
        Ok(())
    })?;
    let components = forest.compress(&parts, control)?;
    control.report(PHASE, 1.0);
    Ok(Wcc { labels: forest.into_labels(), components })
}

const PHASE: &str = "wcc";

/// Vertices whose labels are looked at to guess the largest component.
const LABELS_SAMPLED: usize = 1024;

/// Edges whose labels are read before they are linked: enough for a processor to wait for many at a time, and few enough
/// for the labels to be much the same when they are used.
const LINKS_AHEAD: usize = 32;

/// Edges a vertex from which on labels are read ahead. With fewer the neighbours of a vertex are often near, as on roads:
/// their labels are at hand, and most edges join something.
const DEGREE_AHEAD: u64 = 8;

/// How many neighbours of the present vertex a visitor has seen.
#[derive(Default)]
struct ListPosition {
    vertex: Option<u32>,
    seen: usize,
}

impl ListPosition {
    /// Moves over a piece of `length` neighbours; how many of `vertex` came before it.
    #[inline]
    fn advance(&mut self, vertex: u32, length: usize) -> usize {
        if self.vertex != Some(vertex) {
            *self = Self { vertex: Some(vertex), seen: 0 };
        }
        let before = self.seen;
        self.seen += length;
        before
    }
}

/// Trees of vertices that are known to be connected.
///
/// Concurrency: any number of threads link at once, as in the paper. A label only ever decreases,
/// and only the compare-and-exchange of a root joins two trees. Relaxed: a label publishes nothing
/// but itself, an old one merely makes a link walk further, and rayon orders the phases.
struct Forest<'a> {
    scope: &'a VertexSet,
    labels: Vec<AtomicU32>,
    writers: Writers,
    /// Whether labels are read ahead of sampled links.
    ahead: bool,
}

impl<'a> Forest<'a> {
    /// Each vertex is a tree.
    fn new<T: Topology>(topology: &'a T) -> Self {
        let ahead = topology.edge_count() >= DEGREE_AHEAD * topology.vertices().len();
        let labels = (0..topology.bound()).map(AtomicU32::new).collect();
        Self { scope: topology.vertices(), labels, writers: Writers::of_pool(), ahead }
    }

    #[inline]
    fn label(&self, vertex: u32) -> u32 {
        self.labels[vertex as usize].load(Relaxed)
    }

    fn links(&self) -> Links<'_> {
        Links { forest: self, edges: [(0, 0); LINKS_AHEAD], count: 0 }
    }

    /// Joins the trees of `vertex` and its neighbours, up to the first whose label is `largest`; whether there was one.
    #[inline]
    fn link_until(&self, vertex: u32, neighbors: &[u32], largest: Option<u32>) -> bool {
        let whole = self.scope.is_full();
        for neighbor in neighbors {
            if whole || self.scope.contains(*neighbor) {
                self.link(vertex, *neighbor);
                if Some(self.label(*neighbor)) == largest {
                    return true;
                }
            }
        }
        false
    }

    /// Joins the trees of two vertices: the higher root is hung below the lower one.
    #[inline]
    fn link(&self, one: u32, other: u32) {
        let (mut one, mut other) = (self.label(one), self.label(other));
        while one != other {
            let (low, high) = (one.min(other), one.max(other));
            let above = self.label(high);
            let joined = above == low
                || above == high && self.writers.replace(&self.labels[high as usize], high, low).is_ok();
            if joined {
                return;
            }
            one = self.label(above);
            if one != above {
                // Later walks are shorter by this step. Another thread may have led further down: this is as right.
                self.labels[high as usize].store(one, Relaxed);
            }
            other = self.label(low);
        }
    }

    /// Points every vertex to its root; returns the number of roots in scope. No link may run meanwhile.
    fn compress(&self, parts: &Parts, control: &Control<'_>) -> Result<u64> {
        let whole = self.scope.is_full();
        let roots = parts.map_ranges(control, |range, _| {
            let mut roots = 0;
            for vertex in range {
                let first = self.label(vertex);
                let mut label = first;
                while label != self.label(label) {
                    label = self.label(label);
                }
                if label != first {
                    self.labels[vertex as usize].store(label, Relaxed);
                }
                roots += u64::from(label == vertex && (whole || self.scope.contains(vertex)));
            }
            Ok(roots)
        })?;
        Ok(roots.into_iter().sum())
    }

    /// The label that most of a sample of the vertices have. Only speed depends on it, so it needn't
    /// be the most frequent of all; a scope with very few of the ids may give none.
    fn frequent_label(&self) -> Option<u32> {
        let bound = self.labels.len() as u64;
        let mut counts = HashMap::new();
        // Multiplying by an odd number of about 2^64 / golden ratio spreads ids evenly (Knuth 6.4).
        let ids = (1..=4 * LABELS_SAMPLED as u64).map(|draw| {
            ((u128::from(draw.wrapping_mul(0x9E37_79B9_7F4A_7C15)) * u128::from(bound)) >> 64) as u32
        });
        for vertex in ids.filter(|vertex| self.scope.contains(*vertex)).take(LABELS_SAMPLED) {
            *counts.entry(self.label(vertex)).or_insert(0_u32) += 1;
        }
        counts.into_iter().max_by_key(|(label, count)| (*count, *label)).map(|(label, _)| label)
    }

    /// The vertices of `range` in scope that don't have the label `largest`, ascending.
    fn vertices_outside(&self, range: Range<u32>, largest: Option<u32>) -> Vec<u32> {
        let mut outside: Vec<u32> =
            if self.scope.is_full() { range.collect() } else { self.scope.range(range).collect() };
        self.keep_outside(&mut outside, largest);
        outside
    }

    /// Keeps those of `vertices` that don't have the label `largest`.
    fn keep_outside(&self, vertices: &mut Vec<u32>, largest: Option<u32>) {
        let mut end = 0;
        for at in 0..vertices.len() {
            let vertex = vertices[at];
            // Written over by the next if it isn't kept: which are can't be foreseen.
            vertices[end] = vertex;
            end += usize::from(Some(self.label(vertex)) != largest);
        }
        vertices.truncate(end);
    }

    fn into_labels(self) -> Labels {
        let mut labels: Vec<u32> = self.labels.into_iter().map(AtomicU32::into_inner).collect();
        if !self.scope.is_full() {
            for (vertex, label) in (0..).zip(&mut labels) {
                if !self.scope.contains(vertex) {
                    *label = Labels::OUT_OF_SCOPE;
                }
            }
        }
        Labels::new(labels)
    }
}

/// Edges that are about to be linked.
struct Links<'a> {
    forest: &'a Forest<'a>,
    edges: [(u32, u32); LINKS_AHEAD],
    count: usize,
}

impl Links<'_> {
    #[inline]
    fn add(&mut self, vertex: u32, neighbor: u32) {
        if !self.forest.ahead {
            self.forest.link_until(vertex, &[neighbor], None);
            return;
        }
        if self.count == LINKS_AHEAD {
            self.finish();
        }
        self.edges[self.count] = (vertex, neighbor);
        self.count += 1;
    }

    /// Joins the trees of the ends of each edge that was added.
    fn finish(&mut self) {
        let edges = &self.edges[..self.count];
        let whole = self.forest.scope.is_full();
        let mut apart = [false; LINKS_AHEAD];
        // What a link does depends on the labels: read one by one, each would be waited for. Ends of the same label are
        // connected; for others the labels are read again, since a link along old ones would take longer ways.
        for (apart, (vertex, neighbor)) in apart.iter_mut().zip(edges) {
            *apart = self.forest.label(*vertex) != self.forest.label(*neighbor);
        }
        for ((vertex, neighbor), _) in edges.iter().zip(apart).filter(|(_, apart)| *apart) {
            if whole || self.forest.scope.contains(*neighbor) {
                self.forest.link(*vertex, *neighbor);
            }
        }
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_graph, assert_stops, large_graph, same_for_any_threads};
    use crate::view::FrozenOnly;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::id::VertexId;
    use proptest::prelude::*;

    const NONE: u32 = Labels::OUT_OF_SCOPE;

    /// The definition, by a plain union-find.
    fn labels_by_union_find(graph: &Graph) -> Vec<u32> {
        fn root(parents: &mut [u32], vertex: u32) -> u32 {
            let parent = parents[vertex as usize];
            if parent == vertex {
                return vertex;
            }
            let root = root(parents, parent);
            parents[vertex as usize] = root;
            root
        }
        let mut parents: Vec<u32> = (0..graph.vertices.bound()).collect();
        for (source, target, _) in graph.arcs(Direction::Out) {
            let (source, target) = (root(&mut parents, source), root(&mut parents, target));
            parents[source.max(target) as usize] = source.min(target);
        }
        let label = |vertex| if graph.vertices.contains(vertex) { root(&mut parents, vertex) } else { NONE };
        (0..graph.vertices.bound()).map(label).collect()
    }

    /// The components on every topology that gives them, with samples of any size.
    fn components(graph: &Graph) -> Wcc {
        let control = Control::default();
        let first = wcc(&graph.csr(Direction::Both), &WccParameters::default(), &control).unwrap();
        let mut doubled = graph.clone();
        doubled.edges.extend(graph.edges.iter().map(|(source, target)| (*target, *source)));
        doubled.weights.resize(doubled.edges.len(), 1.0);
        let any = [Direction::Both, Direction::Out, Direction::In]
            .map(|direction| [graph.csr(direction), graph.pieced(direction)]);
        let symmetric = [doubled.csr(Direction::Out), doubled.pieced(Direction::Out)];
        for sampled_neighbors in [0, 1, 2, 4, u32::MAX] {
            let parameters = WccParameters { sampled_neighbors, symmetric: false };
            for topology in any.iter().flatten() {
                assert_eq!(wcc(topology, &parameters, &control).unwrap(), first);
            }
            let parameters = WccParameters { sampled_neighbors, symmetric: true };
            for topology in &symmetric {
                assert_eq!(wcc(topology, &parameters, &control).unwrap(), first);
            }
        }
        first
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn labels_are_those_of_a_union_find(graph in any_graph()) {
            let (found, want) = (components(&graph), labels_by_union_find(&graph));
            let roots = want.iter().zip(0..).filter(|(label, vertex)| *label == vertex).count();
            prop_assert_eq!(found.components, roots as u64);
            prop_assert_eq!(found.labels.as_slice(), want);
        }
    }

    #[test]
    fn a_large_graph_has_the_labels_of_a_union_find() {
        let graph = large_graph();
        assert!(components(&graph).labels.as_slice() == labels_by_union_find(&graph));
    }

    #[test]
    fn labels_are_the_same_for_any_number_of_threads() {
        let csr = large_graph().csr(Direction::Both);
        same_for_any_threads(|| wcc(&csr, &WccParameters::default(), &Control::default()).unwrap());
    }

    #[test]
    fn an_edge_out_of_the_largest_component_is_seen_from_its_other_end() {
        // 0..2000 is a ring with two sampled neighbours each; the third edge of 0 leads to 2000,
        // which has no edge of its own.
        let mut edges: Vec<_> =
            (0..2000).flat_map(|at| [(at, (at + 1) % 2000), (at, (at + 2) % 2000)]).collect();
        edges.push((0, 2000));
        let found = components(&Graph::new(2001, &edges));
        assert_eq!((found.components, found.labels.of(VertexId(2000))), (1, Some(VertexId(0))));
    }

    #[test]
    fn labels_read_ahead_join_what_an_edge_joins_and_no_more() {
        let edges: Vec<_> =
            (0..3000).flat_map(|at| (1..=10).map(move |step| (at, (at + 51 * step * step) % 3000))).collect();
        let graph = Graph::new(3000, &edges);
        let csr = graph.csr(Direction::Both);
        assert!(csr.edge_count() >= DEGREE_AHEAD * csr.vertices().len());
        let found = components(&graph);
        assert!((0..).zip(found.labels.as_slice()).all(|(vertex, label)| *label == vertex % 3));
    }

    #[test]
    fn edges_that_a_vertex_leaves_unread_are_seen_from_their_other_ends() {
        // 1..=2000 is a ring with two sampled neighbours each, of 0 two loops are sampled. It joins the ring by its third
        // edge, before it comes to those to 2001 and 2002, which have no others.
        let mut edges: Vec<_> =
            (0..2000).flat_map(|at| [1, 2].map(|step| (at + 1, (at + step) % 2000 + 1))).collect();
        edges.extend([(0, 0), (0, 0), (0, 7), (0, 2001), (0, 2002)]);
        let found = components(&Graph::new(2004, &edges));
        assert_eq!(found.components, 2);
        assert!(found.labels.as_slice()[..2003].iter().all(|label| *label == 0));
    }

    #[test]
    fn a_hole_connects_nothing_and_has_no_label() {
        let found = components(&Graph::new(6, &[(4, 3), (3, 1), (1, 0), (5, 5)]).without(&[1]));
        assert_eq!(found.labels.as_slice(), [0, NONE, 2, 3, 3, 5]);
        assert_eq!(found.components, 4);
        assert_eq!((found.labels.of(VertexId(1)), found.labels.of(VertexId(6))), (None, None));
    }

    #[test]
    fn graphs_of_no_and_of_one_vertex_have_components() {
        assert_eq!(components(&Graph::new(0, &[])).components, 0);
        assert_eq!(components(&Graph::new(1, &[])).labels.as_slice(), [0]);
        assert_eq!(components(&Graph::new(1, &[]).without(&[0])).labels.as_slice(), [NONE]);
    }

    #[test]
    fn it_stops_when_asked_to() {
        let csr = large_graph().csr(Direction::Both);
        assert_stops(|control| wcc(&csr, &WccParameters::default(), control));
    }

    #[test]
    fn a_view_is_frozen_both_ways_and_its_budget_is_asked() {
        let (graph, scope, parameters) =
            (Graph::new(2, &[(1, 0)]), Scope::default(), WccParameters::default());
        let view = FrozenOnly::new(graph.clone(), 2 * 4);
        assert_eq!(run(&view, &scope, &parameters, &Control::default()).unwrap().labels.as_slice(), [0, 0]);
        assert_eq!(view.asked(), scope.projection(Direction::Both, None, None));
        let poor = FrozenOnly::new(graph, 2 * 4 - 1);
        let error = run(&poor, &scope, &parameters, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
