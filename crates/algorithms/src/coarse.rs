//! A coarse graph: communities as vertices, with the summed weights between them.
//!
//! ```text
//!   a - b   c          (a b) ---3--- (c d)          each edge is in the lists of both ends;
//!   | x |   |    ->    |_1x2_|       |_1x2_|        what is inside is a loop of twice its weight
//!   d ...   d
//! ```
//!
//! Its lists are one side, out, sorted, and symmetric: to see each edge from both its ends, visit
//! `Out` alone. So the sum of a vertex' weights is the sum of those of its members, level by level.
//!
//! Cost: one visit of all lists of the finer graph, and a small table for each community. Memory:
//! 12 bytes for each pair of neighbouring communities, twice while it is built, and 8 a community.

use crate::control::Control;
use crate::level::for_each_weight;
use crate::partition::NOWHERE;
use crate::parts::share_out_with;
use crate::tally::Tally;
use evergraph_graph::budget::Reservation;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::topology::{Piece, PieceBuffer, Topology, Visit};
use evergraph_graph::vertex_set::VertexSet;
use std::ops::Range;

/// Weighted lists of communities.
pub(crate) struct CoarseGraph {
    vertices: VertexSet,
    /// Where each list begins; one more than there are.
    offsets: Vec<u64>,
    neighbors: Vec<u32>,
    weights: Vec<f64>,
    _memory: Reservation,
}

/// Fine vertices in what one task visits, at least, if there are so many.
const CHUNK_MEMBERS: usize = 512;

/// The lists of some communities, and the memory that they take.
struct Built {
    lengths: Vec<u32>,
    neighbors: Vec<u32>,
    weights: Vec<f64>,
    _memory: Reservation,
}

impl CoarseGraph {
    /// The graph of `count` communities, given for each vertex of `topology` ([`NOWHERE`] out of
    /// scope). `direction` is the one in which each edge is seen from both its ends.
    ///
    /// # Errors
    /// `limit` if it doesn't fit into the budget; `cancelled`; errors of reading.
    pub(crate) fn new<T: Topology>(
        topology: &T,
        direction: Direction,
        communities: &[u32],
        count: u32,
        control: &Control<'_>,
    ) -> Result<Self> {
        let members = Members::new(communities, count, control)?;
        let chunks = share_out_with(
            control,
            members.chunks().into_iter(),
            || (Tally::new(), PieceBuffer::default()),
            |chunk, (tally, buffer)| {
                let mut lists = (Vec::with_capacity(chunk.len()), Vec::new(), Vec::new());
                for community in chunk {
                    // A sum may have as many addends as the community has edges.
                    tally.clear(0);
                    topology.visit_each(direction, members.of(community), buffer, |_, piece| {
                        add_piece(tally, communities, &piece);
                        Visit::Continue
                    })?;
                    let mut sums: Vec<(u32, f64)> = tally.iter().collect();
                    sums.sort_unstable_by_key(|(neighbor, _)| *neighbor);
                    lists.0.push(sums.len() as u32);
                    lists.1.extend(sums.iter().map(|(neighbor, _)| neighbor));
                    lists.2.extend(sums.iter().map(|(_, weight)| weight));
                }
                let (lengths, neighbors, weights) = lists;
                let memory = reserve_lists(control, neighbors.len())?;
                Ok(Built { lengths, neighbors, weights, _memory: memory })
            },
        )?;
        let edges: usize = chunks.iter().map(|built| built.neighbors.len()).sum();
        let mut coarse = Self {
            vertices: VertexSet::full(count),
            _memory: reserve_lists(control, edges + count as usize)?,
            offsets: Vec::with_capacity(count as usize + 1),
            neighbors: Vec::with_capacity(edges),
            weights: Vec::with_capacity(edges),
        };
        coarse.offsets.push(0);
        let mut end = 0;
        for built in chunks {
            for length in built.lengths {
                end += u64::from(length);
                coarse.offsets.push(end);
            }
            coarse.neighbors.extend(built.neighbors);
            coarse.weights.extend(built.weights);
        }
        Ok(coarse)
    }

    /// The modularity of the finer graph if these are its communities: how much more weight is
    /// inside of them than chance would put there. `total` is the sum of all weights, which must
    /// not be zero.
    pub(crate) fn modularity(&self, resolution: f64, total: f64) -> f64 {
        let of_community = |community: u32| {
            let list = self.list(community);
            let volume: f64 = self.weights[list.clone()].iter().sum();
            let inside = self.neighbors[list.clone()].binary_search(&community);
            let inside = inside.map_or(0.0, |at| self.weights[list.start + at]);
            inside / total - resolution * (volume / total) * (volume / total)
        };
        (0..self.bound()).map(of_community).sum()
    }

    fn list(&self, vertex: u32) -> Range<usize> {
        self.offsets[vertex as usize] as usize..self.offsets[vertex as usize + 1] as usize
    }
}

fn reserve_lists(control: &Control<'_>, edges: usize) -> Result<Reservation> {
    let bytes = edges * (size_of::<u32>() + size_of::<f64>());
    control.reserve_bytes("a graph of communities", bytes as u64)
}

/// Adds the weights of a piece to the sums of its neighbours' communities.
#[inline]
fn add_piece(tally: &mut Tally<f64>, communities: &[u32], piece: &Piece<'_>) {
    for_each_weight(piece, |neighbor, weight| {
        let community = communities[neighbor as usize];
        if community != NOWHERE {
            tally.add(community, weight);
        }
    });
}

/// The members of each community, ascending.
struct Members {
    vertices: Vec<u32>,
    /// Where those of each community begin; one more than there are.
    starts: Vec<u32>,
    _memory: Reservation,
}

impl Members {
    fn new(communities: &[u32], count: u32, control: &Control<'_>) -> Result<Self> {
        let numbers = communities.len() + 2 * (count as usize + 1);
        let memory = control.reserve_bytes("members of communities", (numbers * size_of::<u32>()) as u64)?;
        let mut starts = vec![0; count as usize + 1];
        let somewhere = || communities.iter().zip(0..).filter(|(community, _)| **community != NOWHERE);
        somewhere().for_each(|(community, _)| starts[*community as usize + 1] += 1);
        for community in 0..count as usize {
            starts[community + 1] += starts[community];
        }
        let mut next = starts.clone();
        let mut vertices = vec![0; starts[count as usize] as usize];
        for (community, vertex) in somewhere() {
            let place = &mut next[*community as usize];
            vertices[*place as usize] = vertex;
            *place += 1;
        }
        Ok(Self { vertices, starts, _memory: memory })
    }

    fn of(&self, community: u32) -> &[u32] {
        let community = community as usize;
        &self.vertices[self.starts[community] as usize..self.starts[community + 1] as usize]
    }

    /// Ranges of communities with enough members each.
    fn chunks(&self) -> Vec<Range<u32>> {
        let mut chunks = Vec::new();
        let (count, mut start) = (self.starts.len() as u32 - 1, 0);
        for end in 1..=count {
            let members = self.starts[end as usize] - self.starts[start as usize];
            if members as usize >= CHUNK_MEMBERS || end == count {
                chunks.push(start..end);
                start = end;
            }
        }
        chunks
    }
}

impl Topology for CoarseGraph {
    fn bound(&self) -> u32 {
        self.vertices.bound()
    }

    fn vertices(&self) -> &VertexSet {
        &self.vertices
    }

    fn direction(&self) -> Direction {
        Direction::Out
    }

    fn edge_count(&self) -> u64 {
        self.neighbors.len() as u64
    }

    fn degrees(&self, direction: Direction, range: Range<u32>, degrees: &mut [u32]) -> Result<()> {
        only_out(direction)?;
        for (vertex, degree) in range.zip(degrees) {
            *degree = self.list(vertex).len() as u32;
        }
        Ok(())
    }

    fn visit<F>(&self, direction: Direction, range: Range<u32>, _: &mut PieceBuffer, visitor: F) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        only_out(direction)?;
        self.visit_lists(range, visitor);
        Ok(())
    }

    fn visit_each<F>(
        &self,
        direction: Direction,
        vertices: &[u32],
        _: &mut PieceBuffer,
        visitor: F,
    ) -> Result<()>
    where
        F: FnMut(u32, Piece<'_>) -> Visit,
    {
        only_out(direction)?;
        self.visit_lists(vertices.iter().copied(), visitor);
        Ok(())
    }
}

impl CoarseGraph {
    fn visit_lists(
        &self,
        vertices: impl Iterator<Item = u32>,
        mut visitor: impl FnMut(u32, Piece<'_>) -> Visit,
    ) {
        for vertex in vertices {
            let list = self.list(vertex);
            let (neighbors, weights) = (&self.neighbors[list.clone()], &self.weights[list]);
            // A list is one piece, so going on is all there is but to stop.
            if visitor(vertex, Piece { neighbors, weights, sorted: true }) == Visit::Stop {
                return;
            }
        }
    }
}

fn only_out(direction: Direction) -> Result<()> {
    if direction == Direction::Out {
        return Ok(());
    }
    Err(Error::invalid(format!("direction {direction:?} was asked for, but a coarse graph has Out alone")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::{Graph, any_graph};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Weights = BTreeMap<(u32, u32), f64>;

    fn read(coarse: &CoarseGraph) -> Weights {
        let mut weights = Weights::new();
        coarse
            .visit(Direction::Out, 0..coarse.bound(), &mut PieceBuffer::default(), |vertex, piece| {
                assert!(piece.sorted && piece.neighbors.is_sorted_by(|left, right| left < right));
                for (neighbor, weight) in piece.neighbors.iter().zip(piece.weights) {
                    weights.insert((vertex, *neighbor), *weight);
                }
                Visit::Continue
            })
            .unwrap();
        weights
    }

    fn coarse(graph: &Graph, communities: &[u32], count: u32) -> CoarseGraph {
        let control = Control::default();
        CoarseGraph::new(&graph.csr(Direction::Both), Direction::Both, communities, count, &control).unwrap()
    }

    proptest! {
        #[test]
        fn weights_between_communities_are_summed(graph in any_graph(), count in 1_u32..40) {
            let community = |vertex| if graph.vertices.contains(vertex) { vertex % count } else { NOWHERE };
            let communities: Vec<u32> = (0..graph.vertices.bound()).map(community).collect();
            let mut want = Weights::new();
            // Weights of a few binary digits: sums are exact in any order.
            for (source, target, weight) in graph.arcs(Direction::Both) {
                *want.entry((source % count, target % count)).or_insert(0.0) += weight;
            }
            let first = coarse(&graph, &communities, count);
            prop_assert_eq!(read(&first), want.clone());

            // Contracted again, by its one symmetric side.
            let halves: Vec<u32> = (0..count).map(|community| community / 2).collect();
            let control = Control::default();
            let second =
                CoarseGraph::new(&first, Direction::Out, &halves, count.div_ceil(2), &control).unwrap();
            let mut halved = Weights::new();
            want.iter().for_each(|((one, other), weight)| {
                *halved.entry((one / 2, other / 2)).or_insert(0.0) += weight;
            });
            prop_assert_eq!(read(&second), halved);
        }
    }

    #[test]
    fn one_community_has_no_modularity_and_two_cliques_apart_have_a_half() {
        let graph = Graph::new(6, &[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]);
        assert_eq!(coarse(&graph, &[0; 6], 1).modularity(1.0, 12.0), 0.0);
        assert_eq!(coarse(&graph, &[0, 0, 0, 1, 1, 1], 2).modularity(1.0, 12.0), 0.5);
        assert_eq!(coarse(&graph, &[0, 0, 0, 1, 1, 1], 2).modularity(2.0, 12.0), 0.0);
    }
}
