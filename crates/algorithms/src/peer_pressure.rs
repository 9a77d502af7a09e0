//! Peer pressure: clusters by vote, each vertex joining the one that most of what points at it is in.
//!
//! ```text
//! cluster(v) = v
//! each round, all at once:
//!     votes(c)    = sum of strength(u) over edges u -> v with cluster(u) = c,  and strength(v) for cluster(v)
//!     cluster'(v) = the cluster with the most votes; of several, the smallest; v itself if nobody has any
//! ```
//!
//! A vertex votes with its strength, which never changes, once for each edge. The rounds end with one that changes
//! nothing; on some graphs clusters swing for ever, hence a bound.
//!
//! Cost: a round reads every edge once. Memory: 8 bytes a vertex, and what the caller's strengths are. The answer is
//! the same for any number of threads; votes that are as good as equal may fall otherwise between topologies that
//! hold the same lists in other pieces, since sums then run in another order.
//!
//! Source: Apache TinkerPop's `PeerPressureVertexProgram`. Differs: of equal votes the smallest id counts, not the
//! id whose text comes first. Beside [`cdlp`](crate::cdlp), edges count one way and a vertex has a vote itself.

use crate::control::Control;
use crate::given;
use crate::parts::Parts;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::topology::{Topology, Visit};

/// What may be chosen about peer pressure.
#[derive(Clone, PartialEq, Debug)]
pub struct PeerPressureParameters {
    /// Rounds; fewer are run if one changes nothing.
    pub iterations: u32,
    /// Along which edges votes go: `Out` from source to target, `In` against them, `Both` ways.
    pub direction: Direction,
    /// The strength of each vertex id below the topology's bound, not negative; `None` for 1 each. Those out of scope
    /// are not looked at.
    pub strengths: Option<Vec<f64>>,
}

impl Default for PeerPressureParameters {
    /// 30 rounds from source to target, all with strength 1.
    fn default() -> Self {
        Self { iterations: 30, direction: Direction::Out, strengths: None }
    }
}

/// The cluster of each vertex, named by a vertex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerPressure {
    clusters: Vec<u32>,
    iterations: u32,
}

impl PeerPressure {
    /// The cluster of `vertex`; `None` if `vertex` isn't in scope.
    #[must_use]
    pub fn cluster(&self, vertex: VertexId) -> Option<VertexId> {
        let cluster = self.clusters.get(vertex.0 as usize).copied();
        cluster.filter(|cluster| *cluster != OUT_OF_SCOPE).map(VertexId)
    }

    /// Rounds that were run: those that were asked for, unless one changed no cluster.
    #[must_use]
    pub fn iterations(&self) -> u32 {
        self.iterations
    }
}

/// Peer pressure on `topology`, which must hold the lists against the direction of the votes.
///
/// # Errors
/// `invalid` for strengths that aren't one for each id, not negative and finite, and for a side that wasn't frozen;
/// `limit` if the state doesn't fit into the budget; `cancelled`; errors of reading.
pub fn peer_pressure<T: Topology>(
    topology: &T,
    parameters: &PeerPressureParameters,
    control: &Control<'_>,
) -> Result<PeerPressure> {
    control.check()?;
    let (bound, vertices) = (topology.bound(), topology.vertices());
    if let Some(strengths) = &parameters.strengths {
        given::check(strengths, "strength", topology)?;
    }
    let _state = control.reserve("clusters of peers", bound, 2 * size_of::<u32>())?;
    control.report(PHASE, 0.0);
    let parts = Parts::of(topology);
    let own = |vertex: u32| if vertices.contains(vertex) { vertex } else { OUT_OF_SCOPE };
    let mut clusters: Vec<u32> = (0..bound).map(own).collect();
    let mut next = clusters.clone();
    let mut iterations = 0;
    while iterations < parameters.iterations {
        let changed = round(topology, parameters, &parts, control, &clusters, &mut next)?;
        std::mem::swap(&mut clusters, &mut next);
        iterations += 1;
        control.report(PHASE, f64::from(iterations) / f64::from(parameters.iterations));
        if !changed {
            break;
        }
    }
    control.report(PHASE, 1.0);
    Ok(PeerPressure { clusters, iterations })
}

const PHASE: &str = "peer pressure";

/// In place of the cluster of a vertex that has none.
const OUT_OF_SCOPE: u32 = u32::MAX;

/// One round, into `next`; whether it changed anything.
fn round<T: Topology>(
    topology: &T,
    parameters: &PeerPressureParameters,
    parts: &Parts,
    control: &Control<'_>,
    clusters: &[u32],
    next: &mut [u32],
) -> Result<bool> {
    let strength = |vertex: u32| parameters.strengths.as_ref().map_or(1.0, |all| all[vertex as usize]);
    let changed = parts.map(control, parts.split(next), |range, next, buffer| {
        // Whom nobody points at has its own vote alone.
        let mut changed = false;
        let mut settle = |vertex: u32, votes: &mut Vec<(u32, f64)>| {
            votes.push((clusters[vertex as usize], strength(vertex)));
            let cluster = strongest(votes).unwrap_or(vertex);
            changed |= cluster != clusters[vertex as usize];
            next[(vertex - range.start) as usize] = cluster;
            votes.clear();
        };
        let (mut votes, mut voted): (Vec<(u32, f64)>, Option<u32>) = (Vec::new(), None);
        let mut unvoted = topology.vertices().range(range.clone());
        topology.visit(parameters.direction.reversed(), range.clone(), buffer, |vertex, piece| {
            if !topology.vertices().contains(vertex) {
                return Visit::NextVertex;
            }
            if voted != Some(vertex) {
                if let Some(before) = voted.replace(vertex) {
                    settle(before, &mut votes);
                }
                let skipped = unvoted.by_ref().take_while(|other| *other != vertex);
                skipped.for_each(|other| settle(other, &mut Vec::new()));
            }
            let known =
                piece.neighbors.iter().map(|neighbor| (clusters[*neighbor as usize], strength(*neighbor)));
            votes.extend(known.filter(|(cluster, _)| *cluster != OUT_OF_SCOPE));
            Visit::Continue
        })?;
        if let Some(last) = voted {
            settle(last, &mut votes);
        }
        unvoted.for_each(|other| settle(other, &mut Vec::new()));
        Ok(changed)
    })?;
    Ok(changed.contains(&true))
}

/// The cluster with the most votes, of several the smallest; `None` if no vote has any strength.
fn strongest(votes: &mut [(u32, f64)]) -> Option<u32> {
    // Stable: the votes of one cluster are added up in the order of the list.
    votes.sort_by_key(|(cluster, _)| *cluster);
    let (mut best, mut most) = (None, 0.0);
    for run in votes.chunk_by(|left, right| left.0 == right.0) {
        let sum: f64 = run.iter().map(|(_, strength)| strength).sum();
        if sum > most {
            (best, most) = (Some(run[0].0), sum);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_direction, any_graph, assert_stops, large_graph, same_for_any_threads};
    use evergraph_graph::error::ErrorKind;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The definition, with a map for each vertex. Strengths are whole, so that sums are exact in any order.
    fn by_maps(graph: &Graph, parameters: &PeerPressureParameters) -> Vec<Option<u32>> {
        let arcs = graph.arcs(parameters.direction);
        let strength = |vertex: u32| parameters.strengths.as_ref().map_or(1.0, |all| all[vertex as usize]);
        let mut clusters: Vec<u32> = (0..graph.vertices.bound()).collect();
        for _ in 0..parameters.iterations {
            let mut votes: Vec<BTreeMap<u32, f64>> = Vec::new();
            votes
                .extend((0..).zip(&clusters).map(|(id, cluster)| BTreeMap::from([(*cluster, strength(id))])));
            for (source, target, _) in &arcs {
                *votes[*target as usize].entry(clusters[*source as usize]).or_default() += strength(*source);
            }
            for ((id, cluster), votes) in (0..).zip(&mut clusters).zip(votes) {
                let most = votes.values().copied().fold(0.0, f64::max);
                let first = votes.into_iter().find(|(_, strength)| *strength == most && most > 0.0);
                *cluster = first.map_or(id, |(first, _)| first);
            }
        }
        let known = |id: u32| graph.vertices.contains(id).then(|| clusters[id as usize]);
        (0..graph.vertices.bound()).map(known).collect()
    }

    fn clusters(graph: &Graph, parameters: &PeerPressureParameters) -> Vec<Option<u32>> {
        let control = Control::default();
        let found = peer_pressure(&graph.csr(Direction::Both), parameters, &control).unwrap();
        assert_eq!(peer_pressure(&graph.pieced(Direction::Both), parameters, &control).unwrap(), found);
        (0..graph.vertices.bound()).map(|id| found.cluster(VertexId(id)).map(|cluster| cluster.0)).collect()
    }

    proptest! {
        #[test]
        fn clusters_are_those_of_the_definition(
            graph in any_graph(), direction in any_direction(), iterations in 0_u32..8, salt in 1_u32..,
        ) {
            let parameters = PeerPressureParameters { iterations, direction, strengths: None };
            prop_assert_eq!(clusters(&graph, &parameters), by_maps(&graph, &parameters));
            let strengths = (0..graph.vertices.bound()).map(|id| f64::from(id.wrapping_mul(salt) >> 30));
            let parameters = PeerPressureParameters { strengths: Some(strengths.collect()), ..parameters };
            prop_assert_eq!(clusters(&graph, &parameters), by_maps(&graph, &parameters));
        }
    }

    #[test]
    fn a_vertex_joins_who_points_at_it_most_and_the_smallest_of_equals() {
        // 3 hears 1 and 2, which hear 0: all of 0's cluster by the second round.
        let graph = Graph::new(5, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
        let one = PeerPressureParameters { iterations: 1, ..Default::default() };
        assert_eq!(clusters(&graph, &one), [0, 0, 0, 1, 4].map(Some));
        assert_eq!(clusters(&graph, &PeerPressureParameters::default()), [0, 0, 0, 0, 4].map(Some));
    }

    #[test]
    fn clusters_are_the_same_for_any_number_of_threads() {
        let (csr, parameters) = (large_graph().csr(Direction::Both), PeerPressureParameters::default());
        same_for_any_threads(|| peer_pressure(&csr, &parameters, &Control::default()).unwrap());
    }

    #[test]
    fn rounds_end_when_nothing_changes() {
        let csr = Graph::new(3, &[(0, 1)]).csr(Direction::Both);
        let found = peer_pressure(&csr, &PeerPressureParameters::default(), &Control::default()).unwrap();
        assert_eq!(found.iterations(), 2);
    }

    #[test]
    fn bad_strengths_are_named() {
        let csr = Graph::new(1, &[]).csr(Direction::Both);
        let check = |strengths: Vec<f64>| {
            let parameters = PeerPressureParameters { strengths: Some(strengths), ..Default::default() };
            let error = peer_pressure(&csr, &parameters, &Control::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            error.to_string()
        };
        assert_eq!(check(vec![]), "found 0 numbers (strength) for vertex ids below 1");
        assert!(check(vec![f64::NAN]).starts_with("the strength of vertex 0 is NaN"));
    }

    #[test]
    fn it_stops_when_asked_to() {
        let csr = large_graph().csr(Direction::Both);
        assert_stops(|control| peer_pressure(&csr, &PeerPressureParameters::default(), control));
    }
}
