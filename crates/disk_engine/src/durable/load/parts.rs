//! Parts: runs of groups whose edges of one type are sorted in memory together.
//!
//! ```text
//! edges a group   5  0  2  9  1          parts, 8 edges each   [0 2]  [3]  [4]
//! ```
//!
//! A part has whole groups: one that has more edges than fit is a part of its own. There are at most
//! [`PARTS_MAX`] parts, because each has a bucket of spilled edges: where the memory is too small for so few,
//! a part takes more.

use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{GROUP_SIZE, GroupId, VertexId};

/// The most parts of one side of one type.
pub(super) const PARTS_MAX: usize = 256;
/// What a group costs while it is sorted, however few edges it has: a number a row.
const GROUP_BYTES: u64 = GROUP_SIZE as u64 * 4;

/// Some groups and how many edges they have.
#[derive(Debug)]
pub(super) struct Part {
    /// Ascending.
    groups: Vec<GroupId>,
    edges: usize,
}

impl Part {
    /// The groups, ascending.
    pub(super) fn groups(&self) -> &[GroupId] {
        &self.groups
    }

    /// How many edges their vertices have together; below 2^32.
    pub(super) fn edges(&self) -> usize {
        self.edges
    }

    /// How many vertices have a place.
    pub(super) fn places(&self) -> usize {
        self.groups.len() * GROUP_SIZE as usize
    }
}

/// The parts of one side of one type, and which vertex is where.
#[derive(Debug)]
pub(super) struct Parts {
    parts: Vec<Part>,
    /// By group: its part, and the place of its first row there.
    places: Vec<(u32, u32)>,
}

/// The part of a group without edges.
const NO_PART: u32 = u32::MAX;

impl Parts {
    /// Cuts the groups that have edges into parts that take `memory_bytes`, if each edge takes `edge_bytes`.
    /// `edges` counts them by group.
    ///
    /// # Errors
    /// `limit` if one group has 2^32 edges.
    pub(super) fn cut(edges: &[u64], edge_bytes: u64, memory_bytes: u64) -> Result<Self> {
        let bytes_of = |count: u64| GROUP_BYTES.saturating_add(count.saturating_mul(edge_bytes));
        let counted = || (0..).map(GroupId).zip(edges.iter().copied()).filter(|(_, count)| *count > 0);
        let total = counted().map(|(_, count)| bytes_of(count)).fold(0, u64::saturating_add);
        // Two neighbouring parts together exceed the limit.
        let limit = memory_bytes.max(total.div_ceil(PARTS_MAX as u64 / 2));
        let mut parts: Vec<Part> = Vec::new();
        let mut places = vec![(NO_PART, 0); edges.len()];
        let mut bytes = 0u64;
        for (group, count) in counted() {
            let count = u32::try_from(count).map_err(|_| {
                let text =
                    format!("{count} edges of one type at one group of 4,096 vertices; at most 2^32 - 1 fit");
                Error::new(ErrorKind::Limit, text)
            })? as usize;
            let more = bytes_of(count as u64);
            let fits = |part: &Part| {
                bytes.saturating_add(more) <= limit && u32::try_from(part.edges + count).is_ok()
            };
            if !parts.last().is_some_and(fits) {
                parts.push(Part { groups: Vec::new(), edges: 0 });
                bytes = 0;
            }
            let number = parts.len() as u32 - 1;
            let part = parts.last_mut().expect("pushed above");
            places[group.0 as usize] = (number, part.places() as u32);
            part.groups.push(group);
            part.edges += count;
            bytes = bytes.saturating_add(more);
        }
        Ok(Self { parts, places })
    }

    /// The parts, ascending by group.
    pub(super) fn as_slice(&self) -> &[Part] {
        &self.parts
    }

    /// The part of `vertex`, whose group has edges.
    ///
    /// # Panics
    /// If it has none.
    #[inline]
    pub(super) fn part_of(&self, vertex: VertexId) -> usize {
        let part = self.places[vertex.group().0 as usize].0;
        assert!(part != NO_PART, "groups with edges have a part");
        part as usize
    }

    /// The place of `vertex` in its part, by group, then row.
    #[inline]
    pub(super) fn place(&self, vertex: VertexId) -> usize {
        self.places[vertex.group().0 as usize].1 as usize + usize::from(vertex.row())
    }
}

/// Turns how many edges each place has into where its list begins, with one more for the end.
pub(super) fn starts(mut counts: Vec<u32>) -> Vec<u32> {
    let mut sum = 0;
    for count in &mut counts {
        sum += std::mem::replace(count, sum);
    }
    counts.push(sum);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(parts: &Parts) -> Vec<Vec<u32>> {
        parts.as_slice().iter().map(|part| part.groups().iter().map(|group| group.0).collect()).collect()
    }

    #[test]
    fn groups_share_a_part_while_they_fit() {
        let edges = [5, 0, 2, 9, 1];
        let parts = Parts::cut(&edges, 100, 2 * GROUP_BYTES + 1000).unwrap();
        assert_eq!(groups(&parts), [vec![0, 2], vec![3, 4]]);
        assert_eq!((parts.as_slice()[0].edges(), parts.as_slice()[1].edges()), (7, 10));
        assert_eq!(groups(&Parts::cut(&edges, 100, 1).unwrap()), [[0], [2], [3], [4]]);
        assert_eq!(groups(&Parts::cut(&edges, 100, u64::MAX).unwrap()), [[0, 2, 3, 4]]);
        assert!(Parts::cut(&[0, 0], 1, 1).unwrap().as_slice().is_empty());
        assert_eq!(Parts::cut(&[1 << 32], 1, 1).unwrap_err().kind(), ErrorKind::Limit);
        assert_eq!(Parts::cut(&[(1 << 32) - 1, 1], 0, u64::MAX).unwrap().as_slice().len(), 2);
    }

    #[test]
    fn vertices_have_places_by_group_and_row() {
        let parts = Parts::cut(&[5, 0, 2, 9, 1], 100, 2 * GROUP_BYTES + 1000).unwrap();
        let place = |group, row| {
            let vertex = VertexId::new(GroupId(group), row);
            (parts.part_of(vertex), parts.place(vertex))
        };
        assert_eq!(
            [place(0, 7), place(2, 7), place(3, 0), place(4, 9)],
            [(0, 7), (0, 4103), (1, 0), (1, 4105)]
        );
    }

    #[test]
    fn there_are_never_more_parts_than_buckets() {
        for count in [1, 255, 256, 257, 5000] {
            let edges: Vec<u64> = (0..count).map(|at| 1 + at % 3).collect();
            let parts = Parts::cut(&edges, 8, 0).unwrap();
            assert!(parts.as_slice().len() <= PARTS_MAX, "{count}");
            assert_eq!(
                parts.as_slice().iter().map(|part| part.edges() as u64).sum::<u64>(),
                edges.iter().sum()
            );
        }
    }
}
