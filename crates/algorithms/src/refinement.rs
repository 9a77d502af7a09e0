//! Refinement: the parts of each community that surely belong together. What Leiden has and Louvain
//! doesn't.
//!
//! ```text
//! community     a--b  c--d     every vertex is a part of its own at first
//!               | /    \ |     a part that is still one vertex joins the part of its community that
//!               e------- f     gains most, unless it gains nothing
//! parts         {a b e}  {c d f}
//! ```
//!
//! - Only a vertex that is alone in its part moves, and only to a part that it has an edge to. A part
//!   that has two members never loses one. So parts are connected.
//! - Both, vertex and part, must be well connected with the rest of their community: by more weight
//!   than chance would put there.
//! - No merge makes modularity smaller; so each part could be cut apart step by step only at a loss.
//!
//! Vertices choose in turns, as in local moving. When a turn has chosen, they join one after the
//! other; who finds that it was joined meanwhile stays, and who finds its part gone, or no longer a
//! gain, chooses again. The first of them always finds what it chose, so that this ends.
//!
//! Cost: one visit of all lists to see how well vertices are connected, one to choose, and one of the
//! lists of those that joined.
//!
//! Source: Traag, Waltman, van Eck: From Louvain to Leiden: guaranteeing well-connected communities
//! (Scientific Reports 2019), algorithm A.2. Differs: the part that gains most is taken, where the
//! paper draws one with a probability that grows with its gain (theta 0); vertices are visited by
//! turns instead of at random. How well a part is connected is what it was when its turn began.

use crate::array_tally::ArrayTally;
use crate::level::{GAIN_MIN, Level, for_each_weight};
use crate::partition::{NOWHERE, Partition, singletons};
use crate::parts::Parts;
use crate::turns;
use evergraph_graph::error::Result;
use evergraph_graph::topology::{PieceBuffer, Topology, Visit};

/// Communities on their way to parts.
pub(crate) struct Refinement<'a, T> {
    level: &'a Level<'a, T>,
    /// What is refined.
    partition: &'a Partition,
    /// Each part goes by the vertex that was alone in it when it was joined, and has that vertex.
    parts: Partition,
    /// The weight between each part and the rest of its community.
    cuts: Vec<f64>,
}

/// A vertex that wants to join a part.
#[derive(Clone, Copy, Debug)]
struct Merge {
    vertex: u32,
    part: u32,
    /// The weight between the two.
    weight: f64,
}

/// Bytes for each vertex, which the caller reserves: parts, cuts, places in turns.
pub(crate) const BYTES: usize = Partition::BYTES + size_of::<f64>() + turns::BYTES;

impl<'a, T: Topology> Refinement<'a, T> {
    /// Every vertex is a part of its own.
    ///
    /// # Errors
    /// `cancelled`; errors of reading.
    pub(crate) fn new(level: &'a Level<'a, T>, partition: &'a Partition) -> Result<Self> {
        let topology = level.topology();
        let mut cuts = vec![0.0; topology.bound() as usize];
        let slices = Parts::of(topology);
        slices.map(level.control(), slices.split(&mut cuts), |range, cuts, buffer| {
            topology.visit(level.direction(), range.clone(), buffer, |vertex, piece| {
                let (community, cut) =
                    (partition.community(vertex), &mut cuts[(vertex - range.start) as usize]);
                for_each_weight(&piece, |neighbor, weight| {
                    if neighbor != vertex && partition.community(neighbor) == community {
                        *cut += weight;
                    }
                });
                Visit::Continue
            })
        })?;
        let parts = Partition::new(singletons(topology.vertices()), level.strengths());
        Ok(Self { level, partition, parts, cuts })
    }

    /// The part of each vertex, which goes by one of its members.
    ///
    /// # Errors
    /// `cancelled`; errors of reading.
    pub(crate) fn run(mut self) -> Result<Vec<u32>> {
        self.merge()?;
        Ok(self.parts.into_communities())
    }

    /// Lets every vertex choose that is well connected.
    fn merge(&mut self) -> Result<()> {
        // Who has no edge within its community has nobody to join.
        let is_candidate =
            |vertex: &u32| self.cuts[*vertex as usize] > 0.0 && self.is_well_connected(*vertex);
        let candidates = self.level.topology().vertices().iter().filter(is_candidate);
        for mut turn in self.level.turns().share_out(candidates) {
            loop {
                turn.retain(|vertex| self.is_alone(*vertex));
                if turn.is_empty() {
                    break;
                }
                let merges = self.level.share_out(&turn, |chunk, buffer| self.choose(chunk, buffer))?;
                turn = self.join(&merges.concat())?;
            }
        }
        Ok(())
    }

    /// Whether `vertex` is still a part of its own.
    fn is_alone(&self, vertex: u32) -> bool {
        self.parts.community(vertex) == vertex && self.parts.size(vertex) == 1
    }

    /// Whether there is at least as much weight between `part` and the rest of its community as chance
    /// would put there.
    fn is_well_connected(&self, part: u32) -> bool {
        let community = self.partition.community(part);
        let volume = self.parts.volume(part);
        let rest = self.partition.volume(community) - volume;
        self.cuts[part as usize] - self.level.share(volume) * rest >= -GAIN_MIN * volume
    }

    /// What modularity gains if `vertex` joins `part`, to which it has `weight`; none if it loses.
    fn gain(&self, vertex: u32, part: u32, weight: f64) -> Option<f64> {
        let strength = self.level.strengths()[vertex as usize];
        let gain = weight - self.level.share(strength) * self.parts.volume(part);
        (gain >= -GAIN_MIN * strength).then_some(gain)
    }

    /// What those of `vertices` that gain by it would join.
    fn choose(&self, vertices: &[u32], buffer: &mut PieceBuffer) -> Result<Vec<Merge>> {
        let mut merges = Vec::new();
        self.weights_to_parts(vertices, buffer, |vertex, tally| merges.extend(self.best(vertex, tally)))?;
        Ok(merges)
    }

    /// The part that `vertex` gains most by, of several the lowest; the tally says how strongly it is
    /// connected with each.
    fn best(&self, vertex: u32, tally: &ArrayTally) -> Option<Merge> {
        let mut best: Option<(f64, Merge)> = None;
        // An edge that weighs nothing binds nobody.
        for (part, weight) in tally.iter().filter(|(_, weight)| *weight > 0.0) {
            let Some(gain) = self.gain(vertex, part, weight) else { continue };
            let better = best.is_none_or(|(most, merge)| gain > most || gain == most && part < merge.part);
            if better && self.is_well_connected(part) {
                best = Some((gain, Merge { vertex, part, weight }));
            }
        }
        best.map(|(_, merge)| merge)
    }

    /// Carries out those of `merges` that are still what was chosen; the vertices that must choose again.
    fn join(&mut self, merges: &[Merge]) -> Result<Vec<u32>> {
        let (mut joined, mut again) = (Vec::new(), Vec::new());
        for merge in merges {
            let Merge { vertex, part, weight } = *merge;
            if !self.is_alone(vertex) {
                // Another one has joined it.
                continue;
            }
            if self.parts.community(part) == part && self.gain(vertex, part, weight).is_some() {
                self.parts.join(vertex, self.level.strengths()[vertex as usize], part);
                joined.push(*merge);
            } else {
                again.push(vertex);
            }
        }
        // What is within a part now, be it by an edge between two that joined it together, is no
        // longer cut.
        let movers: Vec<u32> = joined.iter().map(|merge| merge.vertex).collect();
        let inside = self.level.share_out(&movers, |chunk, buffer| {
            let mut inside = Vec::with_capacity(chunk.len());
            self.weights_to_parts(chunk, buffer, |vertex, tally| {
                inside.push(tally.get(self.parts.community(vertex)));
            })?;
            Ok(inside)
        })?;
        for (Merge { vertex, part, weight }, inside) in joined.into_iter().zip(inside.concat()) {
            self.cuts[part as usize] += self.cuts[vertex as usize] - weight - inside;
        }
        Ok(again)
    }

    /// Tells `found` how strongly each of `vertices` is connected with each part of its community.
    fn weights_to_parts(
        &self,
        vertices: &[u32],
        buffer: &mut PieceBuffer,
        found: impl FnMut(u32, &ArrayTally),
    ) -> Result<()> {
        let part_of = |vertex, neighbor| {
            let together = self.partition.community(neighbor) == self.partition.community(vertex);
            if together { self.parts.community(neighbor) } else { NOWHERE }
        };
        self.level.weights_to_communities(vertices, buffer, part_of, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::graphs::{Graph, any_graph, large_graph, same_for_any_threads};
    use crate::turns::Turns;
    use evergraph_graph::id::Direction;
    use proptest::prelude::*;

    /// The parts of `communities`, after a look at what was kept of each.
    fn parts(graph: &Graph, communities: &[u32], resolution: f64) -> Vec<u32> {
        let control = Control::default();
        let csr = graph.csr(Direction::Both);
        let level = Level::new(&csr, Direction::Both, resolution, Turns::new(0), &control).unwrap();
        let partition = Partition::new(communities.to_vec(), level.strengths());
        let mut refinement = Refinement::new(&level, &partition).unwrap();
        refinement.merge().unwrap();
        let part = |vertex: u32| refinement.parts.community(vertex);
        let mut cuts = vec![0.0; communities.len()];
        // Weights of a few binary digits: sums are exact in any order.
        for (source, target, weight) in graph.arcs(Direction::Both) {
            if communities[source as usize] == communities[target as usize] && part(source) != part(target) {
                cuts[part(source) as usize] += weight;
            }
        }
        for vertex in graph.vertices.iter().filter(|vertex| part(*vertex) == *vertex) {
            assert_eq!(refinement.cuts[vertex as usize], cuts[vertex as usize], "the cut of {vertex}");
        }
        refinement.run().unwrap()
    }

    /// How much each part gains against its vertices being alone; by definition, times half of the total.
    fn gains(graph: &Graph, parts: &[u32], resolution: f64) -> Vec<f64> {
        let arcs = graph.arcs(Direction::Both);
        let (mut strengths, mut gains) = (vec![0.0; parts.len()], vec![0.0; parts.len()]);
        for (source, target, weight) in &arcs {
            strengths[*source as usize] += weight;
            if source != target && parts[*source as usize] == parts[*target as usize] {
                gains[parts[*source as usize] as usize] += weight;
            }
        }
        let total: f64 = strengths.iter().sum();
        for one in graph.vertices.iter() {
            for other in graph.vertices.iter().filter(|other| *other != one) {
                if parts[one as usize] == parts[other as usize] && total > 0.0 {
                    gains[parts[one as usize] as usize] -=
                        resolution * strengths[one as usize] * strengths[other as usize] / total;
                }
            }
        }
        gains
    }

    proptest! {
        #[test]
        fn parts_are_connected_within_communities_and_lose_nothing(
            graph in any_graph(), count in 1_u32..10, resolution in prop::sample::select(vec![0.0, 0.5, 1.0, 2.0]),
        ) {
            let community = |vertex| if graph.vertices.contains(vertex) { vertex % count } else { NOWHERE };
            let communities: Vec<u32> = (0..graph.vertices.bound()).map(community).collect();
            let parts = parts(&graph, &communities, resolution);
            for (vertex, part) in (0..).zip(&parts) {
                if graph.vertices.contains(vertex) {
                    prop_assert_eq!(parts[*part as usize], *part);
                    prop_assert_eq!(communities[vertex as usize], communities[*part as usize]);
                } else {
                    prop_assert_eq!(*part, NOWHERE);
                }
            }
            prop_assert_eq!(graph.apart(&parts), None);
            for (part, gain) in gains(&graph, &parts, resolution).into_iter().enumerate() {
                prop_assert!(gain >= -1e-9, "part {part} gains {gain}");
            }
        }
    }

    #[test]
    fn a_community_of_two_cliques_apart_comes_apart_and_one_that_hangs_together_does_not() {
        let clique =
            |base: u32| (0..6).flat_map(move |one| (0..one).map(move |other| (base + one, base + other)));
        let cliques = Graph::new(60, &(0..10).flat_map(|at| clique(6 * at)).collect::<Vec<_>>());
        let communities: Vec<u32> = (0..60).map(|vertex| if vertex < 12 { 0 } else { vertex / 6 }).collect();
        let found = parts(&cliques, &communities, 1.0);
        for clique in found.chunks(6) {
            assert!(clique.iter().all(|part| *part == clique[0]), "{found:?}");
        }
        assert_ne!(found[0], found[6]);
    }

    #[test]
    fn of_two_that_choose_each_other_at_once_one_joins() {
        let turns = Turns::new(0);
        let together = (1..1000).find(|vertex| turns.turn_of(*vertex) == turns.turn_of(0)).unwrap();
        let found = parts(&Graph::new(1000, &[(together, 0)]), &[0; 1000], 1.0);
        assert_eq!((found[0], found[together as usize]), (together, together));
        assert!((1..1000).all(|vertex| vertex == together || found[vertex as usize] == vertex));
    }

    #[test]
    fn all_leaves_of_a_star_join_its_centre_at_once() {
        let edges: Vec<_> = (1..5000).map(|leaf| (0, leaf)).collect();
        let found = parts(&Graph::new(5000, &edges), &[0; 5000], 1.0);
        assert!(found.iter().all(|part| *part == found[0]));
    }

    #[test]
    fn parts_are_the_same_for_any_number_of_threads() {
        let graph = large_graph();
        let (csr, control) = (graph.csr(Direction::Both), Control::default());
        let community = |vertex| if graph.vertices.contains(vertex) { vertex % 7 } else { NOWHERE };
        let communities: Vec<u32> = (0..graph.vertices.bound()).map(community).collect();
        let found = same_for_any_threads(|| {
            let level = Level::new(&csr, Direction::Both, 1.0, Turns::new(0), &control).unwrap();
            let partition = Partition::new(communities.clone(), level.strengths());
            Refinement::new(&level, &partition).unwrap().run().unwrap()
        });
        assert_eq!(graph.apart(&found), None);
        let alone = (0..).zip(&found).filter(|(vertex, part)| vertex == *part).count();
        assert!(alone < 35_000, "{alone}");
    }
}
