//! Move schedule: the groups of vertices that choose a community at the same time.
//!
//! One by one would be sequential; all at once, neighbours would swap places for ever. In turns, few
//! neighbours choose at the same time. On a small graph a turn is one or two vertices, and the answer
//! about that of one by one.
//!
//! Source: the sub-rounds of Gottesbüren, Hamann: Deterministic Parallel Hypergraph Partitioning
//! (Euro-Par 2022).

/// Turns of a round, a power of two. More of them come nearer to one by one, and have less to do in
/// parallel.
const TURNS: usize = 64;

/// Bytes for the place of a vertex in its turn.
pub(crate) const BYTES: usize = size_of::<u32>();

/// Who chooses with whom, and who before whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MoveSchedule {
    salt: u32,
}

impl MoveSchedule {
    /// Those of number `order`; another number puts vertices into other turns.
    pub(crate) fn new(order: u32) -> Self {
        Self { salt: order.wrapping_mul(0x85EB_CA6B) }
    }

    /// The turn of `vertex`, by a hash that puts nearly all neighbouring ids into different ones (Knuth
    /// 6.4).
    #[inline]
    pub(crate) fn turn_of(self, vertex: u32) -> usize {
        ((vertex ^ self.salt).wrapping_mul(0x9E37_79B9) >> (32 - TURNS.trailing_zeros())) as usize
    }

    /// The `vertices`, which ascend, by turn, ascending in each.
    pub(crate) fn share_out(self, vertices: impl Iterator<Item = u32>) -> Vec<Vec<u32>> {
        let mut turns = vec![Vec::new(); TURNS];
        vertices.for_each(|vertex| turns[self.turn_of(vertex)].push(vertex));
        turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vertex_has_one_turn_and_nearly_all_neighbouring_ids_have_different_ones() {
        for order in [0, 1, 7] {
            let turns = MoveSchedule::new(order);
            let all = turns.share_out(0..64_000);
            assert_eq!(all.len(), TURNS);
            for (at, turn) in all.iter().enumerate() {
                assert!((900..1100).contains(&turn.len()), "turn {at} has {}", turn.len());
                assert!(turn.is_sorted() && turn.iter().all(|vertex| turns.turn_of(*vertex) == at));
            }
            let next_to = (0..64_000).filter(|vertex| turns.turn_of(*vertex) == turns.turn_of(vertex + 1));
            assert!(next_to.count() < 1000);
        }
    }

    #[test]
    fn another_order_has_other_turns() {
        let together = |order| {
            let turns = MoveSchedule::new(order);
            (0..10_000).filter(|vertex| turns.turn_of(*vertex) == turns.turn_of(0)).collect::<Vec<u32>>()
        };
        let common = together(1).iter().filter(|vertex| together(0).contains(vertex)).count();
        assert!(common < 50, "{common}");
    }
}
