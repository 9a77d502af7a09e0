//! Gather: sums over the values of a vertex's neighbours, the inner loop of kernels that pull, round after round.
//!
//! A sum is made by one thread in the order of the list, so that it is the same for any number of
//! threads. Sums are in double precision, whatever the values are kept in.

use crate::control::Control;
use evergraph_graph::error::Result;
use evergraph_graph::id::Direction;
use evergraph_graph::topology::Topology;

/// The copy of the lists costs about as much as two rounds, and saves more than half of each if there are several types.
const ROUNDS_WORTH_A_COPY: u32 = 5;
/// An algorithm that may end early is not about to if it has not after so many rounds.
const ROUNDS_BEFORE_A_COPY: u32 = 2;

/// The lists of a topology for rounds that visit all of one direction: copied into one place as soon as that is worth it.
pub(crate) struct RoundLists<'a, T> {
    topology: &'a T,
    direction: Direction,
    /// In how many rounds they are copied.
    copied_at: u32,
    coalesced: Option<T>,
}

/// The lists for one round.
pub(crate) struct RoundVisits<'a, T> {
    pub(crate) topology: &'a T,
    /// What to visit, one after the other, to visit all lists: topologies visit one side faster than two at a time, but coalesced
    /// lists have no sides.
    pub(crate) directions: &'static [Direction],
}

impl<'a, T: Topology> RoundLists<'a, T> {
    pub(crate) fn new(topology: &'a T, direction: Direction, may_end_early: bool) -> Self {
        let copied_at = if may_end_early { ROUNDS_BEFORE_A_COPY } else { 0 };
        Self { topology, direction, copied_at, coalesced: None }
    }

    /// The lists for the round after `done` rounds, of at most `rounds`.
    ///
    /// # Errors
    /// As [`Topology::coalesced`].
    pub(crate) fn after(
        &mut self,
        done: u32,
        rounds: u32,
        control: &Control<'_>,
    ) -> Result<RoundVisits<'_, T>> {
        if done == self.copied_at && rounds - done >= ROUNDS_WORTH_A_COPY {
            self.coalesced = self.topology.coalesced(self.direction, control.budget(), control.cancel())?;
        }
        Ok(match &self.coalesced {
            Some(coalesced) if self.direction == Direction::Both => {
                RoundVisits { topology: coalesced, directions: &[Direction::Both] }
            }
            coalesced => {
                let topology = coalesced.as_ref().unwrap_or(self.topology);
                RoundVisits { topology, directions: self.direction.sides() }
            }
        })
    }
}

/// From this many vertex ids on, 8 bytes a vertex exceed a core's own cache, and values in single precision are faster.
pub(crate) const ROUNDING_BOUND_MIN: u32 = 128 * 1024;

/// The sum of the `values` of `neighbors`.
#[inline]
pub(crate) fn sum_of<V: Copy + Into<f64>>(values: &[V], neighbors: &[u32]) -> f64 {
    let mut sum = 0.0;
    for neighbor in neighbors {
        sum += values[*neighbor as usize].into();
    }
    sum
}

/// The sum of the `values` of `neighbors`, each times its weight; there is one for each.
#[inline]
pub(crate) fn weighted_sum_of<V: Copy + Into<f64>>(values: &[V], neighbors: &[u32], weights: &[f64]) -> f64 {
    neighbors.iter().zip(weights).map(|(neighbor, weight)| values[*neighbor as usize].into() * weight).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::Graph;
    use evergraph_graph::topology::{Piece, PieceBuffer, Turn};

    /// The neighbours of vertex 0 in the round after `done` of so many, and whether the lists are a copy.
    fn round(lists: &mut RoundLists<'_, impl Topology>, done: u32, rounds: u32) -> (Vec<u32>, bool) {
        let visits = lists.after(done, rounds, &Control::default()).unwrap();
        let mut found = Vec::new();
        for direction in visits.directions {
            let add = |_: u32, piece: Piece<'_>, _: Turn| found.extend_from_slice(piece.neighbors);
            visits.topology.visit_pieces(*direction, 0..1, &mut PieceBuffer::default(), add).unwrap();
        }
        found.sort_unstable();
        (found, lists.coalesced.is_some())
    }

    #[test]
    fn each_neighbour_is_visited_once_whether_lists_are_coalesced_or_not() {
        // Parallel edges, edges there and back, and one from a vertex to itself, which both sides have.
        let graph = Graph::new(4, &[(0, 1), (0, 1), (1, 0), (0, 0), (2, 0), (0, 3)]);
        for (direction, want) in [
            (Direction::Out, vec![0, 1, 1, 3]),
            (Direction::In, vec![0, 1, 2]),
            (Direction::Both, vec![0, 0, 1, 1, 1, 2, 3]),
        ] {
            let (csr, pieced) = (graph.csr(Direction::Both), graph.pieced(Direction::Both));
            let mut lists = RoundLists::new(&csr, direction, false);
            assert_eq!(round(&mut lists, 0, 10), (want.clone(), false), "an array, {direction:?}");
            let mut lists = RoundLists::new(&pieced, direction, false);
            assert_eq!(round(&mut lists, 0, ROUNDS_WORTH_A_COPY - 1), (want.clone(), false), "{direction:?}");
            assert_eq!(round(&mut lists, 0, ROUNDS_WORTH_A_COPY), (want.clone(), true), "{direction:?}");
            let mut lists = RoundLists::new(&pieced, direction, true);
            for done in 0..4 {
                let expected = (want.clone(), done >= ROUNDS_BEFORE_A_COPY);
                assert_eq!(round(&mut lists, done, 10), expected, "{direction:?} after {done}");
            }
        }
    }

    #[test]
    fn short_and_long_lists_have_the_sum_of_their_values() {
        let values: Vec<f64> = (0..200).map(f64::from).collect();
        let narrow: Vec<f32> = (0..200_u16).map(f32::from).collect();
        for length in [0, 1, 32, 101, 200] {
            let list: Vec<u32> = (0..length).rev().collect();
            let want: u32 = list.iter().sum();
            assert_eq!(sum_of(&values, &list), f64::from(want));
            assert_eq!(sum_of(&narrow, &list), f64::from(want));
            assert_eq!(weighted_sum_of(&values, &list, &vec![0.5; list.len()]), f64::from(want) / 2.0);
        }
    }
}
