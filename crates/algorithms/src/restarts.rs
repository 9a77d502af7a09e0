//! Restarts: the vertices at which a random walk begins again.

use evergraph_graph::topology::Topology;
use std::ops::Range;

/// Where the walk begins again, with equal chances.
pub(crate) struct Restarts {
    /// Ids of these vertices: ascending ranges, apart from each other. Those out of scope don't count.
    ranges: Vec<Range<u32>>,
    count: u64,
}

impl Restarts {
    /// At every vertex of `topology`.
    pub(crate) fn anywhere<T: Topology>(topology: &T) -> Self {
        Self { ranges: std::iter::once(0..topology.bound()).collect(), count: topology.vertices().len() }
    }

    /// At these `sources`, which ascend and are in scope.
    pub(crate) fn at(sources: &[u32]) -> Self {
        let runs = sources.chunk_by(|one, next| one + 1 == *next);
        let ranges = runs.map(|run| run[0]..run[0] + run.len() as u32).collect();
        Self { ranges, count: sources.len() as u64 }
    }

    /// How many vertices these are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// `part`, cut where the walk stops or starts to begin again: each piece, with whether it does there.
    pub(crate) fn cut(&self, part: Range<u32>) -> impl Iterator<Item = (Range<u32>, bool)> + '_ {
        let first = self.ranges.partition_point(|range| range.end <= part.start);
        let mut within =
            self.ranges[first..].iter().map(move |range| range.start.max(part.start)..range.end).peekable();
        let mut start = part.start;
        std::iter::from_fn(move || {
            if start == part.end {
                return None;
            }
            let range = within.peek().map_or(part.end..part.end, Range::clone);
            let begins_here = range.start == start;
            let end =
                if begins_here { within.next().map_or(part.end, |range| range.end) } else { range.start };
            let piece = start..end.min(part.end);
            start = piece.end;
            Some((piece, begins_here))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_cut_where_the_walk_begins_again() {
        let cut = |sources: &[u32], part| Restarts::at(sources).cut(part).collect::<Vec<_>>();
        assert_eq!(
            cut(&[3, 4, 7], 0..10),
            [(0..3, false), (3..5, true), (5..7, false), (7..8, true), (8..10, false)]
        );
        assert_eq!(cut(&[3, 4, 7], 4..8), [(4..5, true), (5..7, false), (7..8, true)]);
        assert_eq!(cut(&[3, 4, 7], 5..7), [(5..7, false)]);
        assert_eq!(cut(&[3, 4, 7], 8..9), [(8..9, false)]);
        assert_eq!(cut(&[3, 4, 5, 6], 4..6), [(4..6, true)]);
        assert_eq!(cut(&[], 0..2), [(0..2, false)]);
        assert_eq!(cut(&[1], 2..2), []);
    }
}
