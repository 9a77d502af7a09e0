//! A frontier: the vertices that a search visits next, ascending and without duplicates.
//!
//! Threads find its vertices in any order. Engines read lists fastest in one sweep, so a frontier
//! is put into order before it is visited: a small one is sorted, a large one goes through a bitmap
//! and costs a few nanoseconds a vertex, whatever its order was.

/// From one in this many vertices on, a bitmap beats sorting: measured break-even lies between one
/// in 128 and one in 512 for 2^17 to 2^23 vertices; at one in 8 a bitmap takes a seventh of the time.
const SPARSITY: usize = 128;

/// Puts frontiers into order. Memory: one bit a vertex, kept from frontier to frontier.
#[derive(Debug)]
pub(crate) struct Ordering {
    /// All zero between calls.
    words: Vec<u64>,
}

impl Ordering {
    /// For vertices below `bound`.
    pub(crate) fn new(bound: u32) -> Self {
        Self { words: vec![0; (bound as usize).div_ceil(64)] }
    }

    /// Sorts `vertices` and removes duplicates.
    pub(crate) fn order(&mut self, vertices: &mut Vec<u32>) {
        if vertices.len() < self.words.len() * 64 / SPARSITY {
            vertices.sort_unstable();
            vertices.dedup();
            return;
        }
        for vertex in vertices.drain(..) {
            self.words[vertex as usize / 64] |= 1 << (vertex % 64);
        }
        for (base, word) in (0..).step_by(64).zip(&mut self.words) {
            push_members(base, std::mem::take(word), vertices);
        }
    }
}

/// Appends the vertices whose bits are set in `word`, which begins at vertex `base`.
#[inline]
pub(crate) fn push_members(base: u32, mut word: u64, vertices: &mut Vec<u32>) {
    while word != 0 {
        vertices.push(base + word.trailing_zeros());
        word &= word - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn an_ordered_frontier_holds_each_vertex_once_ascending(
            frontiers in proptest::collection::vec(proptest::collection::vec(0u32..1000, 0..100), 1..5),
        ) {
            let mut ordering = Ordering::new(1000);
            for mut frontier in frontiers {
                let want: Vec<u32> = frontier.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
                ordering.order(&mut frontier);
                prop_assert_eq!(frontier, want);
            }
        }
    }
}
