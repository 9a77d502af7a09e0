//! Level: a graph whose vertices are about to be divided by modularity: the strength of each, and the
//! weights between it and communities.
//!
//! ```text
//! modularity = sum over communities of   weight inside / all weight
//!                                      - resolution * (weights at its vertices / of all vertices)^2
//!
//! strength(v)     the weights at v, summed; a loop is in there as often as it is visited
//! total           all strengths, summed: twice the weight of all edges
//! gain of v in C  weight(v, C) - share(v) * volume(C without v),   share(v) = resolution * strength(v) / total
//! ```
//!
//! The gain is against v being alone, in units of weight: modularity grows by twice of it over the
//! total. Sums run in the order of lists, so that they are the same for any number of threads.

use crate::array_tally::ArrayTally;
use crate::control::Control;
use crate::partition::NOWHERE;
use crate::parts::{Parts, share_out};
use crate::turns::Turns;
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Piece, PieceBuffer, Topology, Visit};
use std::sync::Mutex;

/// A graph and what modularity needs to know of it.
pub(crate) struct Level<'a, T> {
    topology: &'a T,
    /// In which direction each edge is seen from both its ends.
    direction: Direction,
    resolution: f64,
    turns: Turns,
    control: &'a Control<'a>,
    strengths: Vec<f64>,
    total: f64,
    /// One for each thread that ever summed, cleared, while it isn't summing.
    tallies: Mutex<Vec<ArrayTally>>,
    _tallies_memory: Reservation,
}

/// Bytes for each vertex, which the caller reserves.
pub(crate) const BYTES: usize = size_of::<f64>();

/// Gains within this part of the strength are none: rounding errors would move vertices to and fro.
pub(crate) const GAIN_MIN: f64 = 1e-10;

/// Edges in what one task reads, about.
const CHUNK_EDGES: u64 = 8 * 1024;

impl<'a, T: Topology> Level<'a, T> {
    /// Reads all lists once. Needs [`BYTES`], and reserves 8 bytes a vertex for each thread. `direction` is the one in
    /// which each edge is seen from both its ends.
    ///
    /// # Errors
    /// `invalid` for a weight that is negative or not finite, and for a side that wasn't frozen;
    /// `limit` if the budget refuses; `cancelled`; errors of reading.
    pub(crate) fn new(
        topology: &'a T,
        direction: Direction,
        resolution: f64,
        turns: Turns,
        control: &'a Control<'a>,
    ) -> Result<Self> {
        let bound = topology.bound();
        let threads = rayon::current_num_threads();
        let tallies_memory =
            control.reserve("weights between a vertex and communities", bound, threads * size_of::<f64>())?;
        let mut strengths = vec![0.0; bound as usize];
        let parts = Parts::of(topology);
        parts.map(control, parts.split(&mut strengths), |range, strengths, buffer| {
            let mut bad = None;
            topology.visit(direction, range.clone(), buffer, |vertex, piece| {
                if piece.weights.is_empty() {
                    strengths[(vertex - range.start) as usize] += piece.neighbors.len() as f64;
                    return Visit::Continue;
                }
                for (neighbor, weight) in piece.neighbors.iter().zip(piece.weights) {
                    if !(*weight >= 0.0 && weight.is_finite()) {
                        bad = Some((vertex, *neighbor, *weight));
                        return Visit::Stop;
                    }
                    strengths[(vertex - range.start) as usize] += weight;
                }
                Visit::Continue
            })?;
            let Some((vertex, neighbor, weight)) = bad else { return Ok(()) };
            Err(Error::invalid(format!(
                "an edge between {vertex} and {neighbor} has the weight {weight}, but weights must be \
                 finite and not negative"
            )))
        })?;
        let total = strengths.iter().sum();
        Ok(Self {
            topology,
            direction,
            resolution,
            turns,
            control,
            strengths,
            total,
            tallies: Mutex::default(),
            _tallies_memory: tallies_memory,
        })
    }

    /// The graph.
    pub(crate) fn topology(&self) -> &'a T {
        self.topology
    }

    /// In which direction each edge is seen from both its ends.
    pub(crate) fn direction(&self) -> Direction {
        self.direction
    }

    /// Who chooses with whom.
    pub(crate) fn turns(&self) -> Turns {
        self.turns
    }

    /// Who stops it, watches it, gives it memory.
    pub(crate) fn control(&self) -> &'a Control<'a> {
        self.control
    }

    /// The strength of each vertex; zero out of scope.
    #[inline]
    pub(crate) fn strengths(&self) -> &[f64] {
        &self.strengths
    }

    /// All strengths, summed: twice the weight of all edges.
    pub(crate) fn total(&self) -> f64 {
        self.total
    }

    /// What chance gives to vertices of this strength, or volume, for each unit of another volume.
    #[inline]
    pub(crate) fn share(&self, strength: f64) -> f64 {
        self.resolution * strength / self.total
    }

    /// Runs `work` on chunks of `vertices`, in parallel if there is more than one; the answers come in
    /// their order.
    ///
    /// # Errors
    /// As [`share_out`].
    pub(crate) fn share_out<A: Send>(
        &self,
        vertices: &[u32],
        work: impl Fn(&[u32], &mut PieceBuffer) -> Result<A> + Sync,
    ) -> Result<Vec<A>> {
        let degree = self.topology.edge_count() * self.direction.sides().len() as u64
            / self.topology.vertices().len().max(1);
        let chunk = (CHUNK_EDGES / (degree + 1)).clamp(8, 1024) as usize;
        if vertices.len() <= chunk {
            self.control.check()?;
            return Ok(vec![work(vertices, &mut PieceBuffer::default())?]);
        }
        share_out(self.control, vertices.chunks(chunk), work)
    }

    /// Tells `found` of each of `vertices`, which ascend, how strongly it is connected with each
    /// community. `community_of` says in which one a neighbour of a vertex counts, or [`NOWHERE`]. A
    /// vertex without edges may be left out; a loop never counts, since it goes wherever its vertex
    /// goes.
    ///
    /// # Errors
    /// Errors of reading.
    #[inline]
    pub(crate) fn weights_to_communities(
        &self,
        vertices: &[u32],
        buffer: &mut PieceBuffer,
        community_of: impl Fn(u32, u32) -> u32,
        mut found: impl FnMut(u32, &ArrayTally),
    ) -> Result<()> {
        let unused = self.tallies.lock().expect("a tally is taken and given back without a panic").pop();
        let mut tally = unused.unwrap_or_else(|| ArrayTally::new(self.topology.bound()));
        // The present vertex, whose list may come in pieces.
        let mut current = NOWHERE;
        let mut finish = |vertex: u32, tally: &mut ArrayTally| {
            found(vertex, tally);
            tally.clear();
        };
        self.topology.visit_each(self.direction, vertices, buffer, |vertex, piece| {
            if vertex != current {
                if current != NOWHERE {
                    finish(current, &mut tally);
                }
                current = vertex;
            }
            for_each_weight(&piece, |neighbor, weight| {
                let community = community_of(vertex, neighbor);
                if neighbor != vertex && community != NOWHERE {
                    tally.add(community, weight);
                }
            });
            Visit::Continue
        })?;
        if current != NOWHERE {
            finish(current, &mut tally);
        }
        self.tallies.lock().expect("a tally is taken and given back without a panic").push(tally);
        Ok(())
    }
}

/// Tells `see` each neighbour in `piece` with its weight, which is 1 if there are no weights.
#[inline]
pub(crate) fn for_each_weight(piece: &Piece<'_>, mut see: impl FnMut(u32, f64)) {
    if piece.weights.is_empty() {
        piece.neighbors.iter().for_each(|neighbor| see(*neighbor, 1.0));
    } else {
        piece.neighbors.iter().zip(piece.weights).for_each(|(neighbor, weight)| see(*neighbor, *weight));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::any_graph;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn strengths_and_weights_to_communities_are_sums_over_the_edges(
            graph in any_graph(), count in 1_u32..20,
        ) {
            let control = Control::default();
            let pieced = graph.pieced(Direction::Both);
            let level = Level::new(&pieced, Direction::Both, 1.0, Turns::new(0), &control).unwrap();
            let mut strengths = vec![0.0; graph.vertices.bound() as usize];
            let mut weights: BTreeMap<u32, BTreeMap<u32, f64>> = BTreeMap::new();
            // Weights of a few binary digits: sums are exact in any order.
            for (source, target, weight) in graph.arcs(Direction::Both) {
                strengths[source as usize] += weight;
                if source != target && weight > 0.0 {
                    let sums = weights.entry(source).or_default();
                    *sums.entry(target % count).or_insert(0.0) += weight;
                }
            }
            prop_assert_eq!(level.strengths(), &strengths[..]);
            prop_assert_eq!(level.total(), strengths.iter().sum::<f64>());
            let vertices: Vec<u32> = graph.vertices.iter().collect();
            let found = level.share_out(&vertices, |chunk, buffer| {
                let mut found = Vec::new();
                level.weights_to_communities(chunk, buffer, |_, neighbor| neighbor % count, |vertex, tally| {
                    let sums: BTreeMap<u32, f64> = tally.iter().filter(|(_, sum)| *sum > 0.0).collect();
                    found.push((vertex, sums));
                })?;
                Ok(found)
            });
            let found = found.unwrap().concat().into_iter().filter(|(_, sums)| !sums.is_empty());
            prop_assert_eq!(found.collect::<BTreeMap<_, _>>(), weights);
        }
    }
}
