//! Community detection by label propagation: each vertex takes the most frequent label of its neighbours.
//!
//! ```text
//! label(v) = v, or what the caller gives
//! each round, all at once:
//!     label'(v) = the most frequent label among v's edges, out and in; of several, the smallest
//! ```
//!
//! A neighbour counts once for each edge: an edge both ways counts twice, and so do parallel ones. A
//! loop counts for its own vertex, at both ends. A vertex without edges keeps its label. On
//! undirected graphs it makes no difference whether an edge is there once or both ways, as long as
//! it is the same for all.
//!
//! The rounds are synchronous, so the answer doesn't depend on any order; it does depend on the
//! initial labels, which decide ties. Labels of 64 bits are replaced by their rank among all, which
//! keeps their order.
//!
//! ```text
//! first rounds    read all lists
//! later           few labels change: mark the neighbours of those, read only the lists of the marked
//! ```
//!
//! Cost: a round reads every edge once or, when few labels changed, only lists around them. Memory:
//! 16 bytes a vertex, and 12 more with initial labels.
//!
//! Source: LDBC Graphalytics 1.0 (section 2.3.4), after Raghavan, Albert, Kumara: Near linear time
//! algorithm to detect community structures (Phys. Rev. E 2007).

use crate::control::Control;
use crate::parts::{Parts, share_out};
use crate::scope::Scope;
use crate::tally::Tally;
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{PieceBuffer, Topology, Visit};
use evergraph_graph::vertex_set::VertexSet;
use evergraph_graph::view::Freeze;
use rayon::prelude::*;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// What may be chosen about label propagation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CdlpParameters {
    /// Rounds; fewer are run only if one changes nothing.
    pub iterations: u32,
    /// The first label of each vertex id below the topology's bound; `None` for the ids themselves.
    /// Labels out of scope are not looked at, and the highest `u64` isn't one.
    pub labels: Option<Vec<u64>>,
}

impl Default for CdlpParameters {
    /// 10 rounds from the vertex ids.
    fn default() -> Self {
        Self { iterations: 10, labels: None }
    }
}

/// The label of each vertex; those with the same one are a community.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cdlp {
    labels: Vec<u64>,
    communities: u64,
    iterations: u32,
}

impl Cdlp {
    /// In [`Cdlp::labels`]: the id isn't in scope.
    pub const OUT_OF_SCOPE: u64 = u64::MAX;

    /// The label of `vertex`; `None` if `vertex` isn't in scope.
    #[must_use]
    pub fn label(&self, vertex: VertexId) -> Option<u64> {
        self.labels.get(vertex.0 as usize).copied().filter(|label| *label != Self::OUT_OF_SCOPE)
    }

    /// A label for each vertex id below the topology's bound.
    #[must_use]
    pub fn labels(&self) -> &[u64] {
        &self.labels
    }

    /// How many different labels there are.
    #[must_use]
    pub fn communities(&self) -> u64 {
        self.communities
    }

    /// Rounds that were run: those that were asked for, unless one changed no label.
    #[must_use]
    pub fn iterations(&self) -> u32 {
        self.iterations
    }
}

/// Label propagation on the part of `view` in `scope`: freezes both sides. Memory comes from the
/// budget of `view`.
///
/// # Errors
/// Those of [`cdlp`], and of [`Freeze::freeze`].
pub fn run<V: Freeze>(
    view: &V,
    scope: &Scope,
    parameters: &CdlpParameters,
    control: &Control<'_>,
) -> Result<Cdlp> {
    let topology = scope.freeze(view, Direction::Both, None, control)?;
    cdlp(&topology, parameters, &control.on_budget(view.budget()))
}

/// Label propagation on `topology`, which must hold both sides.
///
/// # Errors
/// `invalid` if there are initial labels but not one for each id below the bound, if one of them is
/// the highest `u64`, and for a side that wasn't frozen; `limit` if the state doesn't fit into the
/// budget; `cancelled`; errors of reading.
pub fn cdlp<T: Topology>(topology: &T, parameters: &CdlpParameters, control: &Control<'_>) -> Result<Cdlp> {
    control.check()?;
    let (bound, vertices) = (topology.bound(), topology.vertices());
    let names =
        parameters.labels.as_deref().map(|labels| Names::new(labels, vertices, control)).transpose()?;
    let _state = control.reserve("labels of communities", bound, 2 * size_of::<u32>() + size_of::<u64>())?;
    control.report(PHASE, 0.0);
    let parts = Parts::of_words(topology);
    let first = |vertex: u32| match &names {
        _ if !vertices.contains(vertex) => OUT_OF_SCOPE,
        Some(names) => names.ranks[vertex as usize],
        None => vertex,
    };
    let labels: Vec<u32> = (0..bound).map(first).collect();
    let mut propagation =
        Propagation { topology, parts, control, next: labels.clone(), labels, marked: None };
    let mut iterations = 0;
    while iterations < parameters.iterations {
        let changed = propagation.round()?;
        iterations += 1;
        control.report(PHASE, f64::from(iterations) / f64::from(parameters.iterations));
        if changed.is_empty() {
            break;
        }
        if iterations < parameters.iterations {
            propagation.mark(changed)?;
        }
    }
    control.report(PHASE, 1.0);
    Ok(answer(&propagation.labels, names.as_ref(), iterations))
}

const PHASE: &str = "cdlp";

/// In place of the label of a vertex that has none.
const OUT_OF_SCOPE: u32 = u32::MAX;

/// Lists this long or shorter are counted by sorting them. Any length from 4 to 32 measured the same.
const SHORT_LIST: usize = 16;

/// Only lists around changed labels are read if fewer than one in this many vertices have changed.
const FEW: u64 = 16;

/// Labels by their rank among all that are there.
struct Names {
    /// The rank of each vertex' label; anything out of scope.
    ranks: Vec<u32>,
    /// The labels by rank, ascending, each once.
    names: Vec<u64>,
    _memory: Reservation,
}

impl Names {
    fn new(labels: &[u64], vertices: &VertexSet, control: &Control<'_>) -> Result<Self> {
        let bound = vertices.bound();
        if labels.len() != bound as usize {
            let found = labels.len();
            return Err(Error::invalid(format!("{found} initial labels for vertex ids below {bound}")));
        }
        let memory = control.reserve("initial labels", bound, size_of::<u32>() + size_of::<u64>())?;
        let mut names: Vec<u64> = vertices.iter().map(|vertex| labels[vertex as usize]).collect();
        names.par_sort_unstable();
        names.dedup();
        if names.last() == Some(&Cdlp::OUT_OF_SCOPE) {
            return Err(Error::invalid(format!("{} can't be an initial label", Cdlp::OUT_OF_SCOPE)));
        }
        let rank = |label: &u64| names.partition_point(|name| name < label) as u32;
        let ranks = labels.par_iter().map(rank).collect();
        Ok(Self { ranks, names, _memory: memory })
    }
}

/// Gives labels their names back and counts the different ones.
fn answer(labels: &[u32], names: Option<&Names>, iterations: u32) -> Cdlp {
    let mut seen = VertexSet::empty(labels.len() as u32);
    let name = |label: &u32| {
        if *label == OUT_OF_SCOPE {
            return Cdlp::OUT_OF_SCOPE;
        }
        seen.insert(*label);
        names.map_or(u64::from(*label), |names| names.names[*label as usize])
    };
    let labels = labels.iter().map(name).collect();
    Cdlp { labels, communities: seen.len(), iterations }
}

struct Propagation<'a, T> {
    topology: &'a T,
    /// Cut at multiples of 64, since a part reads its own words of the marked.
    parts: Parts,
    control: &'a Control<'a>,
    labels: Vec<u32>,
    /// The labels of the next round; between two rounds the same as `labels` wherever no list is
    /// read in the next one.
    next: Vec<u32>,
    /// Whose lists must be read in the next round; `None` for all.
    marked: Option<VertexSet>,
}

impl<T: Topology> Propagation<'_, T> {
    /// One round; the vertices whose label it changed, ascending.
    fn round(&mut self) -> Result<Vec<u32>> {
        let (topology, labels, marked) = (self.topology, &self.labels[..], self.marked.as_ref());
        let changed =
            self.parts.map(self.control, self.parts.split(&mut self.next), |range, next, buffer| {
                let start = range.start;
                let mut changed = Vec::new();
                let mut count = Count::new(labels, |vertex: u32, label| {
                    next[(vertex - start) as usize] = label;
                    if labels[vertex as usize] != label {
                        changed.push(vertex);
                    }
                });
                match marked {
                    None => topology.visit(Direction::Both, range, buffer, |vertex, piece| {
                        count.take(vertex, piece.neighbors);
                        Visit::Continue
                    })?,
                    Some(marked) => {
                        let vertices: Vec<u32> = marked.range(range).collect();
                        topology.visit_each(Direction::Both, &vertices, buffer, |vertex, piece| {
                            count.take(vertex, piece.neighbors);
                            Visit::Continue
                        })?;
                    }
                }
                count.finish();
                Ok(changed)
            })?;
        std::mem::swap(&mut self.labels, &mut self.next);
        Ok(changed.concat())
    }

    /// Chooses whose lists the next round reads, after one that changed the labels of `changed`.
    fn mark(&mut self, changed: Vec<u32>) -> Result<()> {
        // Whoever is not read next must find its own label there.
        for vertex in &changed {
            self.next[*vertex as usize] = self.labels[*vertex as usize];
        }
        if changed.len() as u64 > self.topology.vertices().len() / FEW {
            self.marked = None;
            return Ok(());
        }
        // Relaxed: bits of a set that is read when all are in it.
        let words: Vec<AtomicU64> =
            self.topology.vertices().words().iter().map(|_| AtomicU64::new(0)).collect();
        let mark = |chunk: &[u32], buffer: &mut PieceBuffer| {
            self.topology.visit_each(Direction::Both, chunk, buffer, |_, piece| {
                for neighbor in piece.neighbors {
                    let (word, bit) = (&words[*neighbor as usize / 64], 1 << (neighbor % 64));
                    if word.load(Relaxed) & bit == 0 {
                        word.fetch_or(bit, Relaxed);
                    }
                }
                Visit::Continue
            })
        };
        share_out(self.control, changed.chunks(CHANGED_CHUNK), mark)?;
        let words = words.into_iter().zip(self.topology.vertices().words());
        // A list may lead out of scope.
        let words = words.map(|(word, scope)| word.into_inner() & scope).collect();
        self.marked = Some(VertexSet::from_words(words, self.topology.bound()));
        Ok(())
    }
}

/// Changed vertices whose neighbours one task marks.
const CHANGED_CHUNK: usize = 256;

/// Counts the labels of one vertex after the other, whose lists come in pieces.
struct Count<'a, F> {
    labels: &'a [u32],
    vertex: u32,
    /// The labels of the neighbours of `vertex` that came so far.
    list: Vec<u32>,
    tally: Tally<u32>,
    /// Told the most frequent label of each vertex that has any neighbour.
    found: F,
}

impl<'a, F: FnMut(u32, u32)> Count<'a, F> {
    fn new(labels: &'a [u32], found: F) -> Self {
        Self { labels, vertex: 0, list: Vec::new(), tally: Tally::new(), found }
    }

    #[inline]
    fn take(&mut self, vertex: u32, neighbors: &[u32]) {
        if self.vertex != vertex {
            self.finish();
            self.vertex = vertex;
        }
        self.list.extend(neighbors.iter().map(|neighbor| self.labels[*neighbor as usize]));
    }

    /// Tells what the present vertex found.
    fn finish(&mut self) {
        if !self.list.is_empty()
            && let Some(label) = self.most_frequent()
        {
            (self.found)(self.vertex, label);
        }
        self.list.clear();
    }

    /// The most frequent label in the list, the smallest if there are several; `None` for a list without labels.
    fn most_frequent(&mut self) -> Option<u32> {
        let (mut best, mut most) = (OUT_OF_SCOPE, 0);
        if self.list.len() <= SHORT_LIST {
            self.list.sort_unstable();
            // Ascending, so the first of equals is the smallest; those without a label are last.
            for run in self.list.chunk_by(|left, right| left == right) {
                if run.len() > most && run[0] != OUT_OF_SCOPE {
                    (best, most) = (run[0], run.len());
                }
            }
        } else {
            self.tally.clear(self.list.len());
            for label in self.list.iter().copied().filter(|label| *label != OUT_OF_SCOPE) {
                // A label that ends up most frequent comes to the highest count once.
                let count = self.tally.add(label, 1) as usize;
                if count > most || count == most && label < best {
                    (best, most) = (label, count);
                }
            }
        }
        (most > 0).then_some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_graph, assert_stops, large_graph, same_for_any_threads};
    use crate::view::FrozenOnly;
    use evergraph_graph::error::ErrorKind;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const NONE: u64 = Cdlp::OUT_OF_SCOPE;

    /// The definition, with a map for each vertex.
    fn labels_by_maps(graph: &Graph, iterations: u32, first: &[u64]) -> Vec<u64> {
        let arcs = graph.arcs(Direction::Both);
        let mut labels = first.to_vec();
        (0..)
            .zip(&mut labels)
            .filter(|(id, _)| !graph.vertices.contains(*id))
            .for_each(|(_, label)| *label = NONE);
        for _ in 0..iterations {
            let mut counts = vec![BTreeMap::new(); labels.len()];
            for (source, target, _) in &arcs {
                *counts[*source as usize].entry(labels[*target as usize]).or_insert(0) += 1;
            }
            for (label, counts) in labels.iter_mut().zip(counts) {
                // Of equals, the last one wins: the smallest, if they descend.
                if let Some((most, _)) = counts.into_iter().rev().max_by_key(|(_, count)| *count) {
                    *label = most;
                }
            }
        }
        labels
    }

    fn ids(graph: &Graph) -> Vec<u64> {
        (0..u64::from(graph.vertices.bound())).collect()
    }

    fn propagate(graph: &Graph, parameters: &CdlpParameters) -> Cdlp {
        let control = Control::default();
        let found = cdlp(&graph.csr(Direction::Both), parameters, &control).unwrap();
        assert_eq!(cdlp(&graph.pieced(Direction::Both), parameters, &control).unwrap(), found);
        found
    }

    proptest! {
        #[test]
        fn labels_are_those_of_the_definition(graph in any_graph(), iterations in 0_u32..12, salt in 1_u64..) {
            let parameters = CdlpParameters { iterations, labels: None };
            prop_assert_eq!(propagate(&graph, &parameters).labels, labels_by_maps(&graph, iterations, &ids(&graph)));
            // Labels in any order, of which some are the same.
            let first: Vec<u64> = ids(&graph).iter().map(|id| id.wrapping_mul(salt) >> 3).collect();
            let parameters = CdlpParameters { iterations, labels: Some(first.clone()) };
            prop_assert_eq!(propagate(&graph, &parameters).labels, labels_by_maps(&graph, iterations, &first));
        }
    }

    #[test]
    fn many_rounds_in_which_ever_fewer_labels_change_have_the_labels_of_the_definition() {
        let graph = large_graph();
        let (mut done, mut want) = (0, ids(&graph));
        for iterations in [1, 2, 5, 15] {
            let parameters = CdlpParameters { iterations, labels: None };
            want = labels_by_maps(&graph, iterations - done, &want);
            done = iterations;
            assert!(propagate(&graph, &parameters).labels() == want);
        }
    }

    #[test]
    fn ties_go_to_the_smallest_label_and_an_edge_both_ways_counts_twice() {
        // 3 sees 0, 1 and 2 once each, and 2 once more.
        let one = CdlpParameters { iterations: 1, labels: None };
        let found = propagate(&Graph::new(4, &[(3, 0), (1, 3), (3, 2)]), &one);
        assert_eq!(found.label(VertexId(3)), Some(0));
        let found = propagate(&Graph::new(4, &[(3, 0), (1, 3), (3, 2), (2, 3)]), &one);
        assert_eq!(found.label(VertexId(3)), Some(2));
        let first = CdlpParameters { iterations: 1, labels: Some(vec![50, 40, 60, 70]) };
        let found = propagate(&Graph::new(4, &[(3, 0), (1, 3), (3, 2)]), &first);
        assert_eq!(found.labels(), [70, 70, 70, 40]);
        assert_eq!(found.communities(), 2);
    }

    #[test]
    fn it_ends_with_the_first_round_that_changes_nothing_and_swaps_for_ever_otherwise() {
        let found = propagate(&Graph::new(4, &[(0, 1), (1, 2), (2, 0)]), &CdlpParameters::default());
        assert_eq!((found.labels(), found.iterations(), found.communities()), (&[0, 0, 0, 3][..], 3, 2));
        let rounds = |iterations| CdlpParameters { iterations, labels: None };
        let pair = Graph::new(2, &[(0, 1)]);
        assert_eq!(propagate(&pair, &rounds(7)).labels(), [1, 0]);
        assert_eq!(propagate(&pair, &rounds(8)).labels(), [0, 1]);
        assert_eq!(propagate(&pair, &rounds(0)).labels(), [0, 1]);
    }

    #[test]
    fn holes_and_graphs_without_edges_have_their_own_labels() {
        let found = propagate(&Graph::new(4, &[(0, 1), (1, 2)]).without(&[1]), &CdlpParameters::default());
        assert_eq!(found.labels(), [0, NONE, 2, 3]);
        assert_eq!(
            (found.communities(), found.label(VertexId(1)), found.label(VertexId(4))),
            (3, None, None)
        );
        assert_eq!(propagate(&Graph::new(0, &[]), &CdlpParameters::default()).communities(), 0);
    }

    #[test]
    fn labels_are_the_same_for_any_number_of_threads() {
        let csr = large_graph().csr(Direction::Both);
        same_for_any_threads(|| cdlp(&csr, &CdlpParameters::default(), &Control::default()).unwrap());
    }

    #[test]
    fn bad_initial_labels_are_refused() {
        let csr = Graph::new(2, &[(0, 1)]).csr(Direction::Both);
        let refused = |labels: Vec<u64>| {
            let parameters = CdlpParameters { labels: Some(labels), ..Default::default() };
            let error = cdlp(&csr, &parameters, &Control::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            error.to_string()
        };
        assert_eq!(refused(vec![1]), "1 initial labels for vertex ids below 2");
        assert_eq!(refused(vec![1, NONE]), format!("{NONE} can't be an initial label"));
    }

    #[test]
    fn it_stops_when_asked_to() {
        let csr = large_graph().csr(Direction::Both);
        assert_stops(|control| cdlp(&csr, &CdlpParameters::default(), control));
    }

    #[test]
    fn a_view_is_frozen_both_ways_and_its_budget_is_asked() {
        let (graph, scope, parameters) =
            (Graph::new(3, &[(1, 0), (1, 2), (2, 0)]), Scope::default(), CdlpParameters::default());
        let view = FrozenOnly::new(graph.clone(), 3 * 16);
        assert_eq!(run(&view, &scope, &parameters, &Control::default()).unwrap().labels(), [0, 0, 0]);
        assert_eq!(view.asked(), scope.projection(Direction::Both, None, None));
        let poor = FrozenOnly::new(graph, 3 * 16 - 1);
        let error = run(&poor, &scope, &parameters, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
