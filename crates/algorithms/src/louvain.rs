//! Louvain: communities with more weight inside than chance would put there, level by level.
//!
//! ```text
//! modularity = sum over communities of   weight inside / all weight
//!                                      - resolution * (weights at its vertices / of all vertices)^2
//!
//! each level    move vertices between communities while modularity grows       local_moving
//!               communities become the vertices of the next level              coarse
//! until a level brings less than the tolerance
//! ```
//!
//! The reading is undirected: an edge both ways, like two parallel ones, weighs the sum. A loop is
//! inside of the community of its vertex.
//!
//! It has no seed, and the answer is the same for any number of threads. A level that made
//! modularity smaller, which moving many at once can do, is dropped.
//!
//! A community may be disconnected, which is rare: `leiden` keeps communities connected and finds better
//! ones, in more time.
//!
//! Cost: the first level reads all lists a few times, and those of vertices whose neighbours moved a
//! few more; later levels are small. Memory: 40 bytes a vertex, 8 more for each thread, and 24 for
//! each pair of neighbouring communities of the first level.
//!
//! Source: Blondel, Guillaume, Lambiotte, Lefebvre: Fast unfolding of communities in large networks
//! (J. Stat. Mech. 2008); the resolution is that of Reichardt and Bornholdt (2006).

use crate::coarse::CoarseGraph;
use crate::control::Control;
use crate::labels::Labels;
use crate::level::{self, Level};
use crate::local_moving::{Choice, LocalMoving};
use crate::partition::{NOWHERE, Partition, name_by_smallest, renumber, singletons};
use crate::scope::Scope;
use crate::turns::{self, Turns};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Topology, Weight};
use evergraph_graph::view::Freeze;

/// What may be chosen about Louvain.
#[derive(Clone, PartialEq, Debug)]
pub struct LouvainParameters {
    /// How much chance counts: above 1 for more and smaller communities, below for fewer and larger
    /// ones. Finite and not negative.
    pub resolution: f64,
    /// The last level is the first that raises modularity by no more than this: finite and not
    /// negative.
    pub tolerance: f64,
}

impl Default for LouvainParameters {
    /// Resolution 1, tolerance 1e-7.
    fn default() -> Self {
        Self { resolution: 1.0, tolerance: 1e-7 }
    }
}

impl LouvainParameters {
    fn check(&self) -> Result<()> {
        for (name, value) in [("resolution", self.resolution), ("tolerance", self.tolerance)] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(Error::invalid(format!(
                    "{name} is {value}, but must be finite and not negative"
                )));
            }
        }
        Ok(())
    }
}

/// The community of each vertex, named by its smallest vertex.
#[derive(Clone, PartialEq, Debug)]
pub struct Louvain {
    /// A community is named by its smallest vertex.
    pub labels: Labels,
    /// How many communities there are.
    pub communities: u64,
    /// The modularity of these communities; at most 1. Zero if there is no weight at all.
    pub modularity: f64,
    /// How many levels brought something.
    pub levels: u32,
}

/// The communities of the part of `view` in `scope`, by `weight` if there is one: freezes both
/// sides. Memory comes from the budget of `view`.
///
/// # Errors
/// Those of [`louvain`], and of [`Freeze::freeze`].
pub fn run<V: Freeze>(
    view: &V,
    scope: &Scope,
    weight: Option<&Weight>,
    parameters: &LouvainParameters,
    control: &Control<'_>,
) -> Result<Louvain> {
    parameters.check()?;
    let topology = scope.freeze(view, Direction::Both, weight.cloned(), control)?;
    louvain(&topology, parameters, &control.on_budget(view.budget()))
}

/// The communities of `topology`, which must hold both sides. If it has weights, they count.
///
/// # Errors
/// `invalid` for a parameter out of range, a weight that is negative or not finite (the text names
/// the ends of its edge), or a side that wasn't frozen; `limit` if the state doesn't fit into the
/// budget; `cancelled`; errors of reading.
pub fn louvain<T: Topology>(
    topology: &T,
    parameters: &LouvainParameters,
    control: &Control<'_>,
) -> Result<Louvain> {
    parameters.check()?;
    control.check()?;
    let _state = control.reserve("communities and their volumes", topology.bound(), STATE_BYTES)?;
    control.report(PHASE, 0.0);
    let vertices = topology.vertices();
    let mut levels = Levels { numbers: singletons(vertices), modularity: f64::NEG_INFINITY, count: 0 };
    let mut coarse = levels.add(topology, Direction::Both, parameters, control)?;
    while let Some(finer) = coarse {
        control.report(PHASE, 1.0 - f64::from(finer.bound()) / vertices.len() as f64);
        coarse = levels.add(&finer, Direction::Out, parameters, control)?;
    }
    control.report(PHASE, 1.0);
    Ok(levels.answer())
}

const PHASE: &str = "louvain";

/// Bytes for each vertex: strengths, the partition, places in turns; numbers of communities, and what
/// they are renumbered with.
const STATE_BYTES: usize = level::BYTES + Partition::BYTES + turns::BYTES + 3 * size_of::<u32>();

/// What the levels so far have found.
struct Levels {
    /// The number of each vertex' community among the vertices of the present level.
    numbers: Vec<u32>,
    /// Of these communities; below all numbers before the first level.
    modularity: f64,
    count: u32,
}

impl Levels {
    /// Runs one level on `graph`, whose vertices are the communities so far. Returns the graph of
    /// the next one, unless this was the last.
    fn add<T: Topology>(
        &mut self,
        graph: &T,
        direction: Direction,
        parameters: &LouvainParameters,
        control: &Control<'_>,
    ) -> Result<Option<CoarseGraph>> {
        let level = Level::new(graph, direction, parameters.resolution, Turns::new(0), control)?;
        let total = level.total();
        if total == 0.0 {
            self.modularity = 0.0;
            return Ok(None);
        }
        let moving = LocalMoving::new(&level, singletons(graph.vertices()), Choice::Neighbors);
        let mut communities = moving.run()?.into_communities();
        drop(level);
        let count = renumber(&mut communities);
        let coarse = CoarseGraph::new(graph, direction, &communities, count, control)?;
        let modularity = coarse.modularity(parameters.resolution, total);
        let first = self.count == 0;
        if !first && modularity <= self.modularity {
            return Ok(None);
        }
        let last = !first && modularity - self.modularity <= parameters.tolerance;
        let merged = u64::from(count) < graph.vertices().len();
        for number in self.numbers.iter_mut().filter(|number| **number != NOWHERE) {
            *number = communities[*number as usize];
        }
        self.modularity = modularity;
        self.count += u32::from(merged);
        Ok((merged && !last).then_some(coarse))
    }

    /// Names each community by its smallest vertex.
    fn answer(self) -> Louvain {
        let mut labels = self.numbers;
        name_by_smallest(&mut labels);
        let labels = Labels::new(labels);
        let communities = labels.parts();
        Louvain { labels, communities, modularity: self.modularity, levels: self.count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_graph, assert_stops, karate, large_graph, planted, same_for_any_threads};
    use crate::view::FrozenOnly;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::id::KeyId;
    use evergraph_graph::id::VertexId;
    use proptest::prelude::*;

    const NONE: u32 = Labels::OUT_OF_SCOPE;

    fn find(graph: &Graph, parameters: &LouvainParameters) -> Louvain {
        let control = Control::default();
        let found = louvain(&graph.csr(Direction::Both), parameters, &control).unwrap();
        let pieced = louvain(&graph.pieced(Direction::Both), parameters, &control).unwrap();
        // Sums of these weights are exact, in whatever order.
        assert_eq!(pieced, found);
        found
    }

    proptest! {
        #[test]
        fn the_modularity_is_that_of_the_definition_and_no_merge_of_two_improves_it(
            graph in any_graph(), resolution in prop::sample::select(vec![0.5, 1.0, 2.0]),
        ) {
            let parameters = LouvainParameters { resolution, ..Default::default() };
            let found = find(&graph, &parameters);
            let modularity = |labels: &[u32]| graph.modularity(labels, resolution);
            prop_assert!((found.modularity - modularity(found.labels.as_slice())).abs() < 1e-9);
            let alone: Vec<u32> = (0..graph.vertices.bound()).collect();
            prop_assert!(found.modularity >= modularity(&alone) - 1e-9);
            for (vertex, label) in (0..).zip(found.labels.as_slice()) {
                if *label == NONE {
                    prop_assert!(!graph.vertices.contains(vertex));
                } else {
                    prop_assert!(*label <= vertex && found.labels.as_slice()[*label as usize] == *label);
                }
            }
            let own = (0..).zip(found.labels.as_slice()).filter(|(vertex, label)| *vertex == **label).count();
            prop_assert_eq!(found.communities, own as u64);
        }
    }

    #[test]
    fn the_karate_club_has_four_communities_as_good_as_those_of_networkx() {
        let found = find(&karate(), &LouvainParameters::default());
        // NetworkX finds from 0.4151 to 0.4198, which is the highest there is, by its seed.
        assert_eq!(found.communities, 4, "{:?}", found.labels.as_slice());
        assert!((0.415..0.4198).contains(&found.modularity), "{}", found.modularity);
        assert!(found.levels >= 2);
    }

    #[test]
    fn a_ring_of_cliques_has_the_cliques_for_communities() {
        let mut edges = Vec::new();
        for clique in 0..30 {
            edges.extend(
                (0..5).flat_map(|one| (0..one).map(move |other| (5 * clique + one, 5 * clique + other))),
            );
            edges.push((5 * clique, (5 * clique + 8) % 150));
        }
        let parameters = LouvainParameters { resolution: 2.0, ..Default::default() };
        let found = find(&Graph::new(150, &edges), &parameters);
        assert!((0..).zip(found.labels.as_slice()).all(|(vertex, label)| *label == vertex / 5 * 5));
        assert_eq!(found.communities, 30);
    }

    #[test]
    fn planted_communities_of_a_large_graph_are_found() {
        let found = find(&planted(40_000, 400, 400_000), &LouvainParameters::default());
        let right =
            (0..).zip(found.labels.as_slice()).filter(|(vertex, label)| **label == vertex % 400).count();
        assert!(right > 39_000, "{right}");
        assert!(found.modularity > 0.89, "{}", found.modularity);
    }

    #[test]
    fn weights_decide_and_zeros_bind_nobody() {
        let ring = [(0, 1), (1, 2), (2, 3), (3, 0)];
        let weighted = |weights: [f64; 4]| Graph { weights: weights.to_vec(), ..Graph::new(4, &ring) };
        let parameters = LouvainParameters::default();
        assert_eq!(find(&weighted([9.0, 1.0, 9.0, 1.0]), &parameters).labels.as_slice(), [0, 0, 2, 2]);
        assert_eq!(find(&weighted([1.0, 9.0, 1.0, 9.0]), &parameters).labels.as_slice(), [0, 1, 1, 0]);
        let nothing = find(&weighted([0.0; 4]), &parameters);
        assert_eq!(
            (nothing.labels.as_slice(), nothing.modularity, nothing.levels),
            (&[0, 1, 2, 3][..], 0.0, 0)
        );
    }

    #[test]
    fn holes_loops_and_graphs_without_edges_have_communities() {
        let parameters = LouvainParameters::default();
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
        let parameters = LouvainParameters::default();
        let found = same_for_any_threads(|| louvain(&csr, &parameters, &Control::default()).unwrap());
        assert!(found.modularity > 0.0 && found.levels > 1);
    }

    #[test]
    fn bad_weights_and_parameters_are_refused() {
        let refused = |graph: &Graph, resolution, tolerance| {
            let parameters = LouvainParameters { resolution, tolerance };
            let error = louvain(&graph.csr(Direction::Both), &parameters, &Control::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            error.to_string()
        };
        let mut graph = Graph::new(4, &[(3, 1)]);
        assert!(refused(&graph, f64::NAN, 0.0).starts_with("resolution is NaN"));
        assert!(refused(&graph, 1.0, -1.0).starts_with("tolerance is -1"));
        for weight in [-1.0, f64::NAN, f64::INFINITY] {
            graph.weights[0] = weight;
            assert!(refused(&graph, 1.0, 0.0).starts_with("an edge between 1 and 3 has the weight"));
        }
    }

    #[test]
    fn it_stops_when_asked_to() {
        let csr = large_graph().csr(Direction::Both);
        assert_stops(|control| louvain(&csr, &LouvainParameters::default(), control));
    }

    #[test]
    fn a_view_is_frozen_both_ways_and_its_budget_is_asked() {
        let (graph, scope) = (Graph::new(3, &[(0, 1), (1, 2)]), Scope::default());
        let parameters = LouvainParameters::default();
        let weight = Weight { key: KeyId(3), missing: Some(1.0) };
        for weight in [None, Some(weight)] {
            let view = FrozenOnly::new(graph.clone(), 3 * 40);
            run(&view, &scope, weight.as_ref(), &parameters, &Control::default()).unwrap();
            assert_eq!(view.asked(), scope.projection(Direction::Both, weight, None));
        }
        let poor = FrozenOnly::new(graph, 3 * 40 - 1);
        let error = run(&poor, &scope, None, &parameters, &Control::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
    }
}
