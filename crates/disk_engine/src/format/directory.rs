//! Directory: what each vertex group gained in a file, by subject: how many items, and which rows have records.
//!
//! ```text
//! count, then for each (subject, group) with records in the file, ascending, varints:
//!     subject      - the subject before; of the first, the subject
//!     group        - the group before; the group itself where the subject changes
//!     difference   Inserts - Deletes, zigzag: 2 n, or -2 n - 1 if negative
//!     rows         those of vertices with a record, or with records in their list (a `RowSet`)
//!     deleted      those of vertices whose newest record is a Delete; of lists none
//! ```
//!
//! The group is that of a vertex, or of the vertex that has a list. An index has one row, of group 0, and no rows
//! of vertices. Directories lie in memory while their files are open: so whether a vertex is alive, and that a
//! list isn't there, is known without reading a page.
//!
//! Sums over files are counts of the graph, exact for vertices and edges. In an index the later record
//! stays alone, so that its sums are estimates.

use crate::format::operation::RecordOperation;
use crate::format::row_set::{RowSet, has_bit, set_bit};
use crate::format::subject::Subject;
use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::id::{GroupId, VertexId};
use evergraph_storage::view::GroupBits;

/// The group of the one row of an index.
pub const INDEX_GROUP: GroupId = GroupId(0);

/// What a file changed in one group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DirectoryRow {
    /// What the records are about.
    pub subject: Subject,
    /// Their vertices' group.
    pub group: GroupId,
    /// Inserts less deletes.
    pub difference: i64,
    /// The vertices that have records, or whose lists have; none in an index.
    pub rows: RowSet,
    /// Of those, the vertices whose newest record deletes them; none of lists.
    pub deleted: RowSet,
}

/// Counts the records of a file group by group, in key order.
///
/// Rows of zero stay: of a stamped file a reader in the past counts the records itself, and must know that there are
/// some. The merge's `GroupCounts` leaves them out.
#[derive(Debug)]
pub struct DirectoryBuilder {
    rows: Vec<DirectoryRow>,
    /// Of the last row, which gets its sets when the next one begins.
    with_records: GroupBits,
    deleted: GroupBits,
}

impl Default for DirectoryBuilder {
    fn default() -> Self {
        Self { rows: Vec::new(), with_records: [0; 64], deleted: [0; 64] }
    }
}

impl DirectoryBuilder {
    /// Counts a record of a vertex. Of several, the newest comes first. Cost: a few nanoseconds.
    #[inline]
    pub fn add_vertex(&mut self, vertex: VertexId, operation: RecordOperation) {
        self.count(Subject::VERTICES, vertex.group(), operation.difference());
        if operation == RecordOperation::Delete && !has_bit(&self.with_records, vertex.row()) {
            set_bit(&mut self.deleted, vertex.row());
        }
        set_bit(&mut self.with_records, vertex.row());
    }

    /// Counts records of the list of `vertex`, at least one, that come to `difference`. Cost: a few nanoseconds.
    #[inline]
    pub fn add_list(&mut self, subject: Subject, vertex: VertexId, difference: i64) {
        self.count(subject, vertex.group(), difference);
        set_bit(&mut self.with_records, vertex.row());
    }

    /// Counts a record of an index.
    #[inline]
    pub fn add_entry(&mut self, subject: Subject, difference: i64) {
        self.count(subject, INDEX_GROUP, difference);
    }

    #[inline]
    fn count(&mut self, subject: Subject, group: GroupId, difference: i64) {
        match self.rows.last_mut() {
            Some(last) if (last.subject, last.group) == (subject, group) => last.difference += difference,
            _ => {
                self.end_row();
                let (rows, deleted) = Default::default();
                self.rows.push(DirectoryRow { subject, group, difference, rows, deleted });
            }
        }
    }

    fn end_row(&mut self) {
        if let Some(last) = self.rows.last_mut() {
            last.rows = RowSet::of_bits(&self.with_records);
            last.deleted = RowSet::of_bits(&self.deleted);
            self.with_records.fill(0);
            self.deleted.fill(0);
        }
    }

    /// All rows, ascending if the records did.
    #[must_use]
    pub fn into_rows(mut self) -> Vec<DirectoryRow> {
        self.end_row();
        self.rows
    }
}

/// The directory of `rows`. Cost: some 10 ns a row, and what its sets take.
///
/// # Panics
/// If rows don't ascend by subject and group, or a group is none: the writer counts in key order.
#[must_use]
pub fn encode_directory(rows: &[DirectoryRow]) -> Vec<u8> {
    let mut out = Vec::with_capacity(10 + 4 * rows.len());
    put_varint(&mut out, rows.len() as u64);
    let (mut subject, mut next_group) = (0, 0);
    for (at, row) in rows.iter().enumerate() {
        let same = at > 0 && row.subject.number() == subject;
        assert!(row.subject.number() >= subject && row.group.0 < GroupId::END, "rows ascend");
        assert!(!same || row.group.0 >= next_group, "rows ascend");
        let before = if same { next_group - 1 } else { 0 };
        put_varint(&mut out, u64::from(row.subject.number() - subject));
        put_varint(&mut out, u64::from(row.group.0 - before));
        put_varint(&mut out, (row.difference << 1 ^ row.difference >> 63) as u64);
        row.rows.put(&mut out);
        row.deleted.put(&mut out);
        (subject, next_group) = (row.subject.number(), row.group.0 + 1);
    }
    out
}

/// Reads a directory. Cost: some 20 ns a row; memory of at most ten times the bytes.
///
/// # Errors
/// If the bytes are not a directory whose rows ascend.
pub fn decode_directory(bytes: &[u8]) -> Decoded<Vec<DirectoryRow>> {
    let mut reader = Reader::new(bytes);
    let count = reader.count(5)?;
    let mut rows: Vec<DirectoryRow> = Vec::with_capacity(count);
    for _ in 0..count {
        let start = reader.clone();
        let last = rows.last().map(|row| (row.subject.number(), row.group.0));
        let before = last.map_or(0, |(subject, _)| subject);
        let number = before + reader.at_most(u64::from(u32::MAX - before))? as u32;
        let subject = Subject::from_number(number)
            .ok_or_else(|| start.error(format!("a subject expected, found {number}")))?;
        let same = last.filter(|(subject, _)| *subject == number);
        let before = same.map_or(0, |(_, group)| group);
        let distance = reader.at_most(u64::from(GroupId::END - 1 - before))? as u32;
        if same.is_some() && distance == 0 {
            return Err(start.error("rows in ascending order expected"));
        }
        let zigzag = reader.varint()?;
        let difference = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        let (with_records, deleted) = (RowSet::take(&mut reader)?, RowSet::take(&mut reader)?);
        let group = GroupId(before + distance);
        rows.push(DirectoryRow { subject, group, difference, rows: with_records, deleted });
    }
    if !reader.is_empty() {
        return Err(
            reader.error(format!("the end of a directory expected, found {} more bytes", reader.remaining()))
        );
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::row_set::tests::{any_rows as any_row_set, row_set};
    use crate::format::subject::EdgeSide;
    use evergraph_graph::id::TypeId;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn any_rows() -> impl Strategy<Value = Vec<DirectoryRow>> {
        let subject = prop_oneof![0u32..9, (1u32 << 24)..(1 << 24) + 3, Just(u32::MAX)];
        let group = prop_oneof![0u32..9, 0..GroupId::END, Just(GroupId::END - 1)];
        let difference = prop_oneof![-9i64..9, any::<i64>()];
        let counted = (difference, any_row_set(), any_row_set());
        proptest::collection::btree_map((subject, group), counted, 0..20).prop_map(|rows: BTreeMap<_, _>| {
            let row = |((subject, group), (difference, rows, deleted))| DirectoryRow {
                subject: Subject::from_number(subject).unwrap(),
                group: GroupId(group),
                difference,
                rows: row_set(&rows),
                deleted: row_set(&deleted),
            };
            rows.into_iter().map(row).collect()
        })
    }

    #[test]
    fn a_builder_knows_which_vertices_are_deleted_and_which_have_lists() {
        use RecordOperation::{Delete, Insert, Replace};
        let (mut builder, out) = (DirectoryBuilder::default(), Subject::edges(TypeId(0), EdgeSide::Out));
        // Vertex 1 was deleted and inserted again, 2 inserted and deleted: newest first.
        for (vertex, operation) in [(1, Insert), (1, Delete), (2, Delete), (2, Insert), (5000, Replace)] {
            builder.add_vertex(VertexId(vertex), operation);
        }
        builder.add_list(out, VertexId(7), 3);
        builder.add_list(out, VertexId(7), -1);
        builder.add_entry(Subject::index(0).unwrap(), 4);
        let row = |subject, group, difference, rows: &[u16], deleted: &[u16]| DirectoryRow {
            subject,
            group: GroupId(group),
            difference,
            rows: row_set(&rows.iter().copied().collect()),
            deleted: row_set(&deleted.iter().copied().collect()),
        };
        let expected = [
            row(Subject::VERTICES, 0, 0, &[1, 2], &[2]),
            row(Subject::VERTICES, 1, 0, &[904], &[]),
            row(out, 0, 2, &[7], &[]),
            row(Subject::index(0).unwrap(), 0, 4, &[], &[]),
        ];
        assert_eq!(builder.into_rows(), expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_directory_reads_back_and_no_cut_of_it_does(rows in any_rows()) {
            let bytes = encode_directory(&rows);
            prop_assert_eq!(decode_directory(&bytes), Ok(rows));
            for cut in (0..bytes.len()).step_by(1 + bytes.len() / 200) {
                prop_assert!(decode_directory(&bytes[..cut]).is_err());
            }
        }

        #[test]
        fn any_bytes_are_refused_or_a_directory_that_ascends(
            rows in any_rows(), at in any::<prop::sample::Index>(), to in any::<u8>(),
            random in proptest::collection::vec(any::<u8>(), 0..99),
        ) {
            let mut bytes = encode_directory(&rows);
            let at = at.index(bytes.len());
            bytes[at] = to;
            for bytes in [bytes, random] {
                if let Ok(rows) = decode_directory(&bytes) {
                    let ascends = rows.is_sorted_by(|a, b| (a.subject, a.group.0) < (b.subject, b.group.0));
                    prop_assert!(ascends);
                    prop_assert_eq!(encode_directory(&rows), bytes);
                }
            }
        }
    }
}
