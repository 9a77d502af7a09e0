//! Group directory: a file's directory in memory, by subject and group: which vertices and lists have records.
//!
//! ```text
//! subject ──> its first row ──> row: groups mostly follow each other, so the place is the distance from the first
//! ```
//!
//! What it answers takes no page read: whether a vertex is alive, which vertices of a group are, that a list isn't
//! there. About a bit a vertex and subject, where most vertices of a group have records.
//!
//! Source: disk-engine, section 5 (Live bits). Differs: they are the directory's, file by file, in place of one set of
//! bits for all files that each new set would change; a file's are written once and never change, so that a pin has
//! those of its own files (rules D1 to D3).

use crate::format::directory::DirectoryRow;
use crate::format::subject::Subject;
use crate::format::tree_key::ListId;
use evergraph_graph::id::{GroupId, VertexId};

/// What the newest record of a vertex in a file says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum VertexState {
    /// The file has none.
    Unknown,
    /// It is alive.
    Alive,
    /// It was deleted.
    Deleted,
}

/// The directory of an open file.
#[derive(Debug)]
pub(super) struct GroupDirectory {
    /// Ascending by subject and group.
    rows: Box<[DirectoryRow]>,
    /// The first row of each subject, ascending.
    subjects: Box<[(Subject, usize)]>,
}

impl GroupDirectory {
    /// Of rows that ascend. Cost: a pass over them.
    pub(super) fn new(rows: Vec<DirectoryRow>) -> Self {
        let is_first = |at: &usize| *at == 0 || rows[*at - 1].subject != rows[*at].subject;
        let subjects = (0..rows.len()).filter(is_first).map(|at| (rows[at].subject, at)).collect();
        Self { rows: rows.into(), subjects }
    }

    /// All rows.
    pub(super) fn rows(&self) -> &[DirectoryRow] {
        &self.rows
    }

    /// The row of a subject in a group. Cost: a few loads; a binary search where groups are missing.
    #[inline]
    pub(super) fn row(&self, subject: Subject, group: GroupId) -> Option<&DirectoryRow> {
        let at = self.subjects.binary_search_by_key(&subject, |(subject, _)| *subject).ok()?;
        let end = self.subjects.get(at + 1).map_or(self.rows.len(), |(_, first)| *first);
        let rows = &self.rows[self.subjects[at].1..end];
        // Groups are distinct, so none lies behind the place that it has if all follow each other.
        let guess = group.0.checked_sub(rows.first()?.group.0)? as usize;
        match rows.get(guess) {
            Some(row) if row.group == group => Some(row),
            _ => {
                let before = &rows[..guess.min(rows.len())];
                Some(&before[before.binary_search_by_key(&group, |row| row.group).ok()?])
            }
        }
    }

    /// Whether there are records of a list, or of a vertex.
    #[inline]
    pub(super) fn has_list(&self, list: ListId) -> bool {
        let row = self.row(list.subject, list.vertex.group());
        row.is_some_and(|row| row.rows.contains(list.vertex.row()))
    }

    /// What the newest record of a vertex says.
    #[inline]
    pub(super) fn vertex(&self, vertex: VertexId) -> VertexState {
        match self.row(Subject::VERTICES, vertex.group()) {
            Some(row) if row.rows.contains(vertex.row()) => match row.deleted.contains(vertex.row()) {
                true => VertexState::Deleted,
                false => VertexState::Alive,
            },
            _ => VertexState::Unknown,
        }
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        let sets = self.rows.iter().map(|row| row.rows.heap_bytes() + row.deleted.heap_bytes());
        size_of_val(&*self.rows) + size_of_val(&*self.subjects) + sets.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::directory::DirectoryBuilder;
    use crate::format::operation::RecordOperation;
    use crate::format::subject::EdgeSide;
    use evergraph_graph::id::TypeId;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_row_is_found_and_no_other(
            groups in proptest::collection::btree_set((0..3_u16, prop_oneof![0..12_u32, 40..43_u32]), 0..24),
        ) {
            let subject = |edge_type| Subject::edges(TypeId(edge_type), EdgeSide::Out);
            let mut builder = DirectoryBuilder::default();
            for (edge_type, group) in &groups {
                builder.add_list(subject(*edge_type), VertexId::new(GroupId(*group), 9), 1);
            }
            let directory = GroupDirectory::new(builder.into_rows());
            for edge_type in 0..4 {
                for group in (0..44).map(GroupId) {
                    let is_there = groups.contains(&(edge_type, group.0));
                    let found = directory.row(subject(edge_type), group);
                    prop_assert_eq!(found.map(|row| row.group), is_there.then_some(group));
                    let list = |row| ListId { subject: subject(edge_type), vertex: VertexId::new(group, row) };
                    prop_assert_eq!((directory.has_list(list(9)), directory.has_list(list(8))), (is_there, false));
                }
            }
        }
    }

    #[test]
    fn the_newest_record_of_a_vertex_counts() {
        let mut builder = DirectoryBuilder::default();
        let deleted = BTreeSet::from([3, 5]);
        for vertex in 2..7 {
            if deleted.contains(&vertex) {
                builder.add_vertex(VertexId(vertex), RecordOperation::Delete);
            }
            builder.add_vertex(VertexId(vertex), RecordOperation::Insert);
        }
        let directory = GroupDirectory::new(builder.into_rows());
        for vertex in 0..9 {
            let expected = match vertex {
                3 | 5 => VertexState::Deleted,
                2..7 => VertexState::Alive,
                _ => VertexState::Unknown,
            };
            assert_eq!(directory.vertex(VertexId(vertex)), expected, "{vertex}");
        }
    }
}
