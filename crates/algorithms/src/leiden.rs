//! Leiden: connected communities with more weight inside than chance would put there.
//!
//! ```text
//! each level    move vertices between communities while modularity grows       local_moving
//!               each community comes apart into parts that surely belong       refinement
//!               together
//!               parts become the vertices of the next level, where they        coarse
//!               begin in their communities
//! until every vertex of a level is a community of its own; then once more from there
//! ```
//!
//! `level` defines modularity. The reading is undirected: an edge both ways, like two parallel ones,
//! weighs the sum. A loop is inside of the community of its vertex.
//!
//! Communities are connected, since they are vertices of the last level: parts of parts, each of which
//! is connected. What it has over Louvain: there a vertex that held its community together may move
//! away, and the rest never comes apart again; here communities are made anew from their parts. The
//! communities that are found have a higher modularity too.
//!
//! The answer is the same for any number of threads; there is no seed. An iteration that found nothing
//! better is dropped.
//!
//! Cost: about twice that of Louvain for the first iteration, less for each other. Memory: 60 bytes a
//! vertex, 8 more for each thread, and 24 for each pair of neighbouring parts of the first level.
//!
//! Source: Traag, Waltman, van Eck: From Louvain to Leiden: guaranteeing well-connected communities
//! (Scientific Reports 2019). Differs: `local_moving` and `refinement` work in turns, in parallel, and
//! draw nothing at random.

use crate::coarse::CoarseGraph;
use crate::control::Control;
use crate::labels::Labels;
use crate::level::{self, Level};
use crate::local_moving::{Choice, LocalMoving};
use crate::move_schedule::MoveSchedule;
use crate::partition::{NOWHERE, Partition, name_by_smallest, renumber, singletons};
use crate::range::RealRange;
use crate::range::WholeRange;
use crate::refinement::{self, Refinement};
use crate::scope::Scope;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Topology, Weight};
use evergraph_graph::view::Freeze;

/// What may be chosen about Leiden.
#[derive(Clone, PartialEq, Debug)]
pub struct LeidenParameters {
    /// How much chance counts: above 1 for more and smaller communities, below for fewer and larger
    /// ones. Finite and not negative.
    pub resolution: f64,
    /// Iterations at most: at least 1. Each begins with the communities of the one before, and lets
    /// vertices choose in another order. Where communities are weak, more of them find better ones.
    pub iterations: u32,
    /// The last iteration is the first that raises modularity by no more than this: finite and not
    /// negative.
    pub tolerance: f64,
}

impl Default for LeidenParameters {
    /// Resolution 1, at most 3 iterations, tolerance 1e-7.
    fn default() -> Self {
        Self { resolution: 1.0, iterations: 3, tolerance: 1e-7 }
    }
}

impl LeidenParameters {
    fn check(&self) -> Result<()> {
        RealRange::FiniteFromZero.check("resolution", self.resolution)?;
        RealRange::FiniteFromZero.check("tolerance", self.tolerance)?;
        WholeRange::FROM_ONE.check("iterations", self.iterations.into()).map(drop)
    }
}

/// The community of each vertex, named by its smallest vertex.
#[derive(Clone, PartialEq, Debug)]
pub struct Leiden {
    /// A community is named by its smallest vertex, and is connected.
    pub labels: Labels,
    /// How many communities there are.
    pub communities: u64,
    /// The modularity of these communities; at most 1. Zero if there is no weight at all.
    pub modularity: f64,
    /// Iterations that were run, the last one included if it was dropped.
    pub iterations: u32,
}

/// The communities of the part of `view` in `scope`, by `weight` if there is one: freezes both
/// sides. Memory comes from the budget of `view`.
///
/// # Errors
/// Those of [`leiden`], and of [`Freeze::freeze`].
pub fn run<V: Freeze>(
    view: &V,
    scope: &Scope,
    weight: Option<&Weight>,
    parameters: &LeidenParameters,
    control: &Control<'_>,
) -> Result<Leiden> {
    parameters.check()?;
    let topology = scope.freeze(view, Direction::Both, weight.cloned(), control)?;
    leiden(&topology, parameters, &control.on_budget(view.budget()))
}

/// The communities of `topology`, which must hold both sides. If it has weights, they count.
///
/// # Errors
/// `invalid` for a parameter out of range, a weight that is negative or not finite (the text names
/// the ends of its edge), or a side that wasn't frozen; `limit` if the state doesn't fit into the
/// budget; `cancelled`; errors of reading.
pub fn leiden<T: Topology>(
    topology: &T,
    parameters: &LeidenParameters,
    control: &Control<'_>,
) -> Result<Leiden> {
    parameters.check()?;
    control.check()?;
    let _state = control.reserve("communities, their parts and volumes", topology.bound(), STATE_BYTES)?;
    control.report(PHASE, 0.0);
    let mut best = singletons(topology.vertices());
    let mut modularity = f64::NEG_INFINITY;
    let mut iterations = 0;
    while iterations < parameters.iterations {
        let found = iterate(topology, best.clone(), parameters, iterations, control)?;
        iterations += 1;
        let gain = found.modularity - modularity;
        if gain > 0.0 {
            (best, modularity) = (found.communities, found.modularity);
        }
        if gain <= parameters.tolerance {
            break;
        }
    }
    control.report(PHASE, 1.0);
    let labels = Labels::new(best);
    Ok(Leiden { communities: labels.parts(), labels, modularity, iterations })
}

const PHASE: &str = "leiden";

/// Bytes for each vertex: what a level is made of, the communities (refining them needs more than
/// moving vertices between them), the best that were found, and the present ones.
const STATE_BYTES: usize = level::BYTES + Partition::BYTES + refinement::BYTES + 2 * size_of::<u32>();

/// What an iteration finds.
struct IterationOutcome {
    /// The community of each vertex, named by its smallest one.
    communities: Vec<u32>,
    modularity: f64,
}

/// Iteration `at`, from these `communities`.
fn iterate<T: Topology>(
    topology: &T,
    communities: Vec<u32>,
    parameters: &LeidenParameters,
    at: u32,
    control: &Control<'_>,
) -> Result<IterationOutcome> {
    let count = topology.vertices().len() as f64;
    let turns = MoveSchedule::new(at);
    let LeidenParameters { resolution, iterations, .. } = *parameters;
    let AggregatedLevel { mut parts, mut graph, mut communities, total } =
        next_level(topology, Direction::Both, communities, resolution, turns, control)?;
    loop {
        let done = f64::from(at) + 1.0 - f64::from(graph.bound()) / count;
        control.report(PHASE, done / f64::from(iterations));
        let next = next_level(&graph, Direction::Out, communities, resolution, turns, control)?;
        if next.graph.bound() == graph.bound() {
            // Every vertex is a community of its own.
            break;
        }
        for part in parts.iter_mut().filter(|part| **part != NOWHERE) {
            *part = next.parts[*part as usize];
        }
        (graph, communities) = (next.graph, next.communities);
    }
    name_by_smallest(&mut parts);
    let modularity = if total > 0.0 { graph.modularity(resolution, total) } else { 0.0 };
    Ok(IterationOutcome { communities: parts, modularity })
}

/// What a level hands to the next.
struct AggregatedLevel {
    /// The part of each vertex, numbered from zero on.
    parts: Vec<u32>,
    /// The parts as vertices.
    graph: CoarseGraph,
    /// The community that each part begins in, named by one of its parts.
    communities: Vec<u32>,
    /// All strengths, summed: the same on every level.
    total: f64,
}

/// Runs the level of `graph` from `communities`.
fn next_level<T: Topology>(
    graph: &T,
    direction: Direction,
    communities: Vec<u32>,
    resolution: f64,
    turns: MoveSchedule,
    control: &Control<'_>,
) -> Result<AggregatedLevel> {
    let level = Level::new(graph, direction, resolution, turns, control)?;
    let partition = LocalMoving::new(&level, communities, Choice::NeighborsOrAlone).run()?;
    let mut parts = Refinement::new(&level, &partition)?.run()?;
    let total = level.total();
    drop(level);
    let count = renumber(&mut parts);
    let mut communities = vec![NOWHERE; count as usize];
    let mut first_parts = vec![NOWHERE; parts.len()];
    for vertex in graph.vertices().iter() {
        let part = parts[vertex as usize];
        let first = &mut first_parts[partition.community(vertex) as usize];
        if *first == NOWHERE {
            *first = part;
        }
        communities[part as usize] = *first;
    }
    let graph = CoarseGraph::new(graph, direction, &parts, count, control)?;
    Ok(AggregatedLevel { parts, graph, communities, total })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_graph, assert_stops, karate, large_graph, planted, same_for_any_threads};
    use crate::louvain::{LouvainParameters, louvain};
    use crate::view::FrozenOnly;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::id::{KeyId, VertexId};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const NONE: u32 = Labels::OUT_OF_SCOPE;

    fn find(graph: &Graph, parameters: &LeidenParameters) -> Leiden {
        let control = Control::default();
        let found = leiden(&graph.csr(Direction::Both), parameters, &control).unwrap();
        let pieced = leiden(&graph.pieced(Direction::Both), parameters, &control).unwrap();
        // Sums of these weights are exact, in whatever order.
        assert_eq!(pieced, found);
        assert_eq!(graph.apart(found.labels.as_slice()), None);
        found
    }

    fn louvains(graph: &Graph) -> f64 {
        let csr = graph.csr(Direction::Both);
        louvain(&csr, &LouvainParameters::default(), &Control::default()).unwrap().modularity
    }

    proptest! {
        #[test]
        fn communities_are_connected_and_their_modularity_is_that_of_the_definition(
            graph in any_graph(), resolution in prop::sample::select(vec![0.0, 0.5, 1.0, 2.0]),
            iterations in 1_u32..4,
        ) {
            let parameters = LeidenParameters { resolution, iterations, ..Default::default() };
            let found = find(&graph, &parameters);
            let modularity = |labels: &[u32]| graph.modularity(labels, resolution);
            prop_assert!((found.modularity - modularity(found.labels.as_slice())).abs() < 1e-9);
            prop_assert!(found.modularity >= modularity(&singletons(&graph.vertices)) - 1e-9);
            for (vertex, label) in (0..).zip(found.labels.as_slice()) {
                if *label == NONE {
                    prop_assert!(!graph.vertices.contains(vertex));
                } else {
                    prop_assert!(*label <= vertex && found.labels.as_slice()[*label as usize] == *label);
                }
            }
            prop_assert_eq!(found.communities, found.labels.parts());
        }

        #[test]
        fn no_community_gains_by_joining_another_and_no_vertex_by_leaving(graph in any_graph()) {
            let parameters = LeidenParameters { iterations: 100, tolerance: 0.0, ..Default::default() };
            let found = find(&graph, &parameters);
            let label = |vertex: u32| found.labels.as_slice()[vertex as usize];
            let (mut strengths, mut volumes) = (BTreeMap::new(), BTreeMap::new());
            let (mut inside, mut between) = (BTreeMap::new(), BTreeMap::new());
            for (source, target, weight) in graph.arcs(Direction::Both) {
                *strengths.entry(source).or_insert(0.0) += weight;
                *volumes.entry(label(source)).or_insert(0.0) += weight;
                if label(source) != label(target) {
                    *between.entry((label(source), label(target))).or_insert(0.0) += weight;
                } else if source != target {
                    *inside.entry(source).or_insert(0.0) += weight;
                }
            }
            let total: f64 = strengths.values().sum();
            if total == 0.0 {
                // Nobody is bound to anybody, and nothing can be gained.
                prop_assert_eq!(found.communities, graph.vertices.len());
                return Ok(());
            }
            for ((one, other), weight) in between {
                prop_assert!(weight - volumes[&one] * volumes[&other] / total <= 1e-9, "{one} and {other}");
            }
            for (vertex, strength) in strengths.into_iter().filter(|(_, strength)| *strength > 0.0) {
                let weight = inside.get(&vertex).copied().unwrap_or(0.0);
                let others = volumes[&label(vertex)] - strength;
                prop_assert!(weight - strength * others / total >= -1e-9, "{vertex}");
            }
        }
    }

    #[test]
    fn the_karate_club_has_the_communities_of_the_highest_modularity_there_is() {
        let found = find(&karate(), &LeidenParameters::default());
        assert_eq!(found.communities, 4, "{:?}", found.labels.as_slice());
        // Brandes et al., On Modularity Clustering (2008): 0.4198 is the maximum.
        assert!((found.modularity - 0.419_789_6).abs() < 1e-6, "{}", found.modularity);
    }

    #[test]
    fn modularity_is_never_below_that_of_louvain() {
        // The larger planted communities are in the test that finds them.
        for graph in [karate(), planted(1000, 10, 10_000)] {
            let (found, louvain) = (find(&graph, &LeidenParameters::default()), louvains(&graph));
            assert!(found.modularity >= louvain, "{}, Louvain {louvain}", found.modularity);
        }
        // In pieces, this one takes as long as all others.
        let graph = large_graph();
        let csr = graph.csr(Direction::Both);
        let found = leiden(&csr, &LeidenParameters::default(), &Control::default()).unwrap();
        assert_eq!(graph.apart(found.labels.as_slice()), None);
        let louvain = louvains(&graph);
        assert!(found.modularity >= louvain, "{}, Louvain {louvain}", found.modularity);
    }

    #[test]
    fn a_bridge_that_leaves_its_community_takes_it_apart() {
        // After figure 2 of the paper: 0 holds 1 to 3 and 4 to 6 together until it moves to 7 to 10,
        // which are tied to it more strongly.
        let edges = [
            (0, 1),
            (0, 4),
            (1, 2),
            (2, 3),
            (3, 1),
            (4, 5),
            (5, 6),
            (6, 4),
            (0, 7),
            (0, 8),
            (0, 9),
            (0, 10),
            (7, 8),
            (8, 9),
            (9, 10),
            (10, 7),
        ];
        let found = find(&Graph::new(11, &edges), &LeidenParameters::default());
        assert_eq!(found.labels.as_slice(), [0, 1, 1, 1, 4, 4, 4, 0, 0, 0, 0]);
    }

    #[test]
    fn where_louvain_leaves_a_community_in_two_parts_leiden_does_not() {
        let sources = [
            0, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11, 12, 12, 13, 14, 15, 15, 15, 16, 16, 16, 16, 16,
            17, 18, 18, 19, 19, 19, 20, 21, 21, 23, 24, 24, 24, 26, 28, 29, 30, 30, 31, 33, 33, 33, 35, 35,
            37, 38, 39, 41, 47, 49,
        ];
        let targets = [
            13, 27, 47, 11, 5, 28, 27, 7, 21, 48, 34, 20, 33, 43, 33, 28, 29, 53, 48, 18, 28, 43, 18, 19, 21,
            29, 36, 37, 28, 35, 23, 39, 46, 43, 25, 42, 46, 27, 33, 34, 45, 36, 53, 35, 41, 38, 46, 47, 52,
            36, 40, 40, 48, 43, 44, 49, 51,
        ];
        let edges: Vec<_> = sources.into_iter().zip(targets).collect();
        let graph = Graph::new(54, &edges);
        let csr = graph.csr(Direction::Both);
        let louvain = louvain(&csr, &LouvainParameters::default(), &Control::default()).unwrap();
        assert!(graph.apart(louvain.labels.as_slice()).is_some());
        let found = find(&graph, &LeidenParameters::default());
        assert!(found.modularity > louvain.modularity);
    }

    #[test]
    fn planted_communities_of_a_large_graph_are_found() {
        let graph = planted(20_000, 200, 200_000);
        let found = find(&graph, &LeidenParameters::default());
        let right =
            (0..).zip(found.labels.as_slice()).filter(|(vertex, label)| **label == vertex % 200).count();
        assert!(right > 19_500, "{right}");
        assert!(found.modularity > 0.89, "{}", found.modularity);
        assert!(found.modularity >= louvains(&graph));
    }

    #[test]
    fn weights_decide_and_zeros_bind_nobody() {
        let ring = [(0, 1), (1, 2), (2, 3), (3, 0)];
        let weighted = |weights: [f64; 4]| Graph { weights: weights.to_vec(), ..Graph::new(4, &ring) };
        let parameters = LeidenParameters::default();
        assert_eq!(find(&weighted([9.0, 1.0, 9.0, 1.0]), &parameters).labels.as_slice(), [0, 0, 2, 2]);
        assert_eq!(find(&weighted([1.0, 9.0, 1.0, 9.0]), &parameters).labels.as_slice(), [0, 1, 1, 0]);
        let nothing = find(&weighted([0.0; 4]), &parameters);
        assert_eq!((nothing.labels.as_slice(), nothing.modularity), (&[0, 1, 2, 3][..], 0.0));
    }

    #[test]
    fn holes_loops_and_graphs_without_edges_have_communities() {
        let parameters = LeidenParameters::default();
        let found =
            find(&Graph::new(5, &[(0, 2), (2, 2), (1, 3), (3, 1), (4, 4)]).without(&[1]), &parameters);
        assert_eq!(found.labels.as_slice(), [0, NONE, 0, 3, 4]);
        assert_eq!((found.labels.of(VertexId(2)), found.labels.of(VertexId(1))), (Some(VertexId(0)), None));
        assert_eq!(find(&Graph::new(0, &[]), &parameters).communities, 0);
        assert_eq!(find(&Graph::new(2, &[]), &parameters).labels.as_slice(), [0, 1]);
    }

    #[test]
    fn communities_are_bit_for_bit_the_same_for_any_number_of_threads() {
        let csr = large_graph().csr(Direction::Both);
        let parameters = LeidenParameters::default();
        let found = same_for_any_threads(|| leiden(&csr, &parameters, &Control::default()).unwrap());
        assert!(found.modularity > 0.0 && found.iterations > 1);
    }

    #[test]
    fn bad_weights_and_parameters_are_refused() {
        let refused = |graph: &Graph, parameters: LeidenParameters| {
            let error = leiden(&graph.csr(Direction::Both), &parameters, &Control::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            error.to_string()
        };
        let default = LeidenParameters::default;
        let mut graph = Graph::new(4, &[(3, 1)]);
        let error = refused(&graph, LeidenParameters { resolution: f64::NAN, ..default() });
        assert!(error.starts_with("resolution is NaN"), "{error}");
        let error = refused(&graph, LeidenParameters { tolerance: -1.0, ..default() });
        assert!(error.starts_with("tolerance is -1"), "{error}");
        let error = refused(&graph, LeidenParameters { iterations: 0, ..default() });
        assert_eq!(error, "iterations is 0, but must be at least 1");
        for weight in [-1.0, f64::NAN, f64::INFINITY] {
            graph.weights[0] = weight;
            assert!(refused(&graph, default()).starts_with("an edge between 1 and 3 has the weight"));
        }
    }

    #[test]
    fn it_stops_when_asked_to() {
        let csr = large_graph().csr(Direction::Both);
        assert_stops(|control| leiden(&csr, &LeidenParameters::default(), control));
    }

    #[test]
    fn a_view_is_frozen_both_ways_and_its_budget_is_asked() {
        let (graph, scope) = (Graph::new(3, &[(0, 1), (1, 2)]), Scope::default());
        let parameters = LeidenParameters::default();
        let weight = Weight { key: KeyId(3), missing: Some(1.0) };
        for weight in [None, Some(weight)] {
            let view = FrozenOnly::new(graph.clone(), 3 * 60);
            run(&view, &scope, weight.as_ref(), &parameters, &Control::default()).unwrap();
            assert_eq!(view.asked(), scope.projection(Direction::Both, weight, None));
        }
        let poor = FrozenOnly::new(graph, 3 * 60 - 1);
        let error = run(&poor, &scope, None, &parameters, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
