//! Parts: groups whose edges of one type are built together, to bound the memory.
//!
//! ```text
//! edges a group   5  0  2  9  1          parts, 8 edges each   [0 2]  [3]  [4]
//! ```
//!
//! A part has whole groups: one that has more edges than fit is a part of its own.

use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{GROUP_SIZE, GroupId};

/// What a group costs while it is built, however few edges it has: a number a row.
const GROUP_BYTES: u64 = GROUP_SIZE as u64 * 4;

/// Some groups and how many edges they have.
#[derive(Debug)]
pub struct Part {
    /// Ascending.
    groups: Vec<GroupId>,
    edges: usize,
}

impl Part {
    pub(super) fn new(groups: Vec<GroupId>, edges: usize) -> Self {
        Self { groups, edges }
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
            parts.push(Part::new(std::mem::take(&mut groups), in_part as usize));
            (in_part, bytes) = (0, 0);
        }
        groups.push(group);
        in_part += count;
        bytes = bytes.saturating_add(more);
    }
    if !groups.is_empty() {
        parts.push(Part::new(groups, in_part as usize));
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
}
