//! Buckets: the edges of a part by runs of its groups, small enough for a thread to sort each in its cache.
//!
//! ```text
//! edges of a part, in order      a b c d e f g h
//! buckets                        [a d g]  [b c]  [e f h]      each in order, and sorted by a thread alone
//! ```
//!
//! Source: the partitioning of radix joins (Manegold, Boncz, Kersten, TKDE 2002): a write to one of a few hundred places
//! hits the cache, one to any of a million lists doesn't.

use crate::load::parts::Part;
use evergraph_graph::id::{GROUP_SIZE, GroupId, VertexId};
use std::ops::Range;

/// Edges of a bucket, but for a group that has more: their order and lists take three megabytes.
const BUCKET_EDGES: usize = 256 * 1024;
/// About how many buckets a part has: with many more, writes to them miss the cache.
const BUCKETS: usize = 256;

/// The buckets of a part.
#[derive(Debug)]
pub struct Buckets {
    parts: Vec<Part>,
    first: GroupId,
    /// For each group from the first on: its bucket, and the place of its first row there.
    groups: Vec<Option<(u32, u32)>>,
}

impl Buckets {
    /// Those of `part`, whose groups have these `edges`, counted for all groups.
    #[must_use]
    pub fn of(part: &Part, edges: &[u64]) -> Self {
        Self::of_size(part, edges, BUCKET_EDGES.max(part.edges().div_ceil(BUCKETS)))
    }

    /// As [`Buckets::of`], with about `size` edges each.
    pub(super) fn of_size(part: &Part, edges: &[u64], size: usize) -> Self {
        let first = part.groups().first().copied().unwrap_or(GroupId(0));
        let length = part.groups().last().map_or(0, |last| last.0 - first.0 + 1);
        let (mut parts, mut groups) = (Vec::new(), vec![None; length as usize]);
        let mut rest = part.groups();
        while !rest.is_empty() {
            let mut in_bucket = 0;
            let fits = |group: &&GroupId| {
                in_bucket += edges[group.0 as usize] as usize;
                in_bucket <= size
            };
            let count = rest.iter().take_while(fits).count().max(1);
            let (own, others) = rest.split_at(count);
            for (at, group) in (0..).zip(own) {
                groups[(group.0 - first.0) as usize] = Some((parts.len() as u32, at * GROUP_SIZE));
            }
            let own_edges = own.iter().map(|group| edges[group.0 as usize] as usize).sum();
            parts.push(Part::new(own.to_vec(), own_edges));
            rest = others;
        }
        Self { parts, first, groups }
    }

    /// The groups of each bucket: they ascend within it, and from bucket to bucket.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The bucket of `vertex`, and its place there, by group, then row; `None` if it isn't in the part.
    #[must_use]
    #[inline]
    pub fn place(&self, vertex: VertexId) -> Option<(usize, u32)> {
        let group = vertex.group().0.checked_sub(self.first.0)?;
        let (bucket, first) = (*self.groups.get(group as usize)?)?;
        Some((bucket as usize, first + u32::from(vertex.row())))
    }
}

/// Items in runs that are about even, a few for each of `threads`.
pub(super) fn runs(items: usize, threads: usize) -> impl Iterator<Item = Range<usize>> {
    let length = items.div_ceil(4 * threads).max(1);
    (0..items).step_by(length).map(move |from| from..items.min(from + length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::parts::cut;

    fn groups(buckets: &Buckets) -> Vec<Vec<u32>> {
        buckets.parts().iter().map(|part| part.groups().iter().map(|group| group.0).collect()).collect()
    }

    #[test]
    fn groups_share_a_bucket_while_they_fit() {
        let edges = [5, 0, 2, 9, 1];
        let part = &cut(&edges, 0, u64::MAX).unwrap()[0];
        for (size, want) in [
            (1, vec![vec![0], vec![2], vec![3], vec![4]]),
            (7, vec![vec![0, 2], vec![3], vec![4]]),
            (10, vec![vec![0, 2], vec![3, 4]]),
            (17, vec![vec![0, 2, 3, 4]]),
        ] {
            let buckets = Buckets::of_size(part, &edges, size);
            assert_eq!(groups(&buckets), want);
            assert_eq!(buckets.parts().iter().map(Part::edges).sum::<usize>(), 17);
        }
        assert_eq!(groups(&Buckets::of(part, &edges)), [[0, 2, 3, 4]]);
    }

    #[test]
    fn a_vertex_has_a_place_in_its_groups_bucket_only() {
        let edges = [0, 5, 0, 2, 9, 1];
        let part = &cut(&edges[..5], 0, u64::MAX).unwrap()[0];
        let buckets = Buckets::of_size(part, &edges, 7);
        let place = |group, row| buckets.place(VertexId::new(GroupId(group), row));
        assert_eq!((place(1, 7), place(3, 7), place(4, 0)), (Some((0, 7)), Some((0, 4103)), Some((1, 0))));
        assert_eq!((place(0, 1), place(2, 1), place(5, 0), place(9, 0)), (None, None, None, None));
    }

    #[test]
    fn runs_have_every_item_once() {
        for (items, threads) in [(0, 2), (1, 2), (7, 1), (8, 2), (1001, 3)] {
            let all: Vec<usize> = runs(items, threads).flatten().collect();
            assert_eq!(all, (0..items).collect::<Vec<_>>());
            assert!(runs(items, threads).count() <= 4 * threads);
        }
    }
}
