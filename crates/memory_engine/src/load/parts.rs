//! Parts: groups whose edges of one type are built together, to bound the memory.
//!
//! ```text
//! edges a group   5  0  2  9  1          parts, 8 edges each   [0 2]  [3]  [4]
//! ```
//!
//! A part has whole groups: one that has more edges than fit is a part of its own.

use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{GROUP_SIZE, GroupId, VertexId};

/// What a group costs while it is built, however few edges it has: a number a row.
const GROUP_BYTES: u64 = GROUP_SIZE as u64 * 4;
/// In place of a slot of a group that isn't in the part.
const ABSENT: u32 = u32::MAX;

/// Some groups and how many edges they have.
#[derive(Debug)]
pub struct Part {
    /// Ascending.
    groups: Vec<GroupId>,
    /// Where each group from the first on stands in `groups`.
    slots: Vec<u32>,
    edges: usize,
}

impl Part {
    fn new(groups: Vec<GroupId>, edges: u64) -> Self {
        let length = groups.last().map_or(0, |last| last.0 - groups[0].0 + 1);
        let mut slots = vec![ABSENT; length as usize];
        for (slot, group) in groups.iter().enumerate() {
            slots[(group.0 - groups[0].0) as usize] = slot as u32;
        }
        Self { groups, slots, edges: edges as usize }
    }

    /// The groups, ascending.
    #[must_use]
    pub fn groups(&self) -> &[GroupId] {
        &self.groups
    }

    /// How many edges their vertices have together; below 2^32.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.edges
    }

    /// How many vertices have a place.
    #[must_use]
    pub fn places(&self) -> usize {
        self.groups.len() * GROUP_SIZE as usize
    }

    /// Where the vertex stands among those of the part, by group, then row; `None` if it isn't one.
    #[must_use]
    #[inline]
    pub fn place(&self, vertex: VertexId) -> Option<usize> {
        let group = vertex.group().0.checked_sub(self.groups.first()?.0)?;
        match self.slots.get(group as usize) {
            None | Some(&ABSENT) => None,
            Some(slot) => Some(*slot as usize * GROUP_SIZE as usize + usize::from(vertex.row())),
        }
    }
}

/// Cuts the groups that have edges into parts that take `memory_bytes` at most, if each edge takes
/// `edge_bytes`. `edges` counts them by group.
///
/// # Errors
/// `limit` if one group has 2^32 edges.
pub fn cut(edges: &[u64], edge_bytes: u64, memory_bytes: u64) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let (mut groups, mut in_part, mut bytes) = (Vec::new(), 0u64, 0u64);
    for (group, count) in (0..).map(GroupId).zip(edges.iter().copied()).filter(|(_, count)| *count > 0) {
        if u32::try_from(count).is_err() {
            let text =
                format!("{count} edges of one type at one group of 4,096 vertices; at most 2^32 - 1 fit");
            return Err(Error::new(ErrorKind::Limit, text));
        }
        let more = GROUP_BYTES.saturating_add(count.saturating_mul(edge_bytes));
        if !groups.is_empty()
            && (bytes.saturating_add(more) > memory_bytes || u32::try_from(in_part + count).is_err())
        {
            parts.push(Part::new(std::mem::take(&mut groups), in_part));
            (in_part, bytes) = (0, 0);
        }
        groups.push(group);
        in_part += count;
        bytes = bytes.saturating_add(more);
    }
    if !groups.is_empty() {
        parts.push(Part::new(groups, in_part));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(parts: &[Part]) -> Vec<Vec<u32>> {
        parts.iter().map(|part| part.groups().iter().map(|group| group.0).collect()).collect()
    }

    #[test]
    fn groups_share_a_part_while_they_fit() {
        let edges = [5, 0, 2, 9, 1];
        let parts = cut(&edges, 100, 2 * GROUP_BYTES + 1000).unwrap();
        assert_eq!(groups(&parts), [vec![0, 2], vec![3, 4]]);
        assert_eq!((parts[0].edges(), parts[1].edges()), (7, 10));
        assert_eq!(groups(&cut(&edges, 100, 1).unwrap()), [[0], [2], [3], [4]]);
        assert_eq!(groups(&cut(&edges, 100, u64::MAX).unwrap()), [[0, 2, 3, 4]]);
        assert!(cut(&[0, 0], 1, 1).unwrap().is_empty());
        assert_eq!(cut(&[1 << 32], 1, 1).unwrap_err().kind(), ErrorKind::Limit);
        assert_eq!(cut(&[(1 << 32) - 1, 1], 0, u64::MAX).unwrap().len(), 2);
    }

    #[test]
    fn a_vertex_has_a_place_in_its_groups_part_only() {
        let parts = cut(&[5, 0, 2, 9], 0, 2 * GROUP_BYTES).unwrap();
        let place = |part: usize, group, row| parts[part].place(VertexId::new(GroupId(group), row));
        assert_eq!((place(0, 0, 7), place(0, 2, 7)), (Some(7), Some(4103)));
        assert_eq!((place(0, 1, 7), place(0, 3, 7), place(0, 9, 0)), (None, None, None));
        assert_eq!((place(1, 2, 0), place(1, 3, 1)), (None, Some(1)));
    }
}
