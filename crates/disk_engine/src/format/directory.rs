//! Directory: how many items each vertex group gained in a file, by subject.
//!
//! ```text
//! count, then for each (subject, group) with records in the file, ascending, varints:
//!     subject      - the subject before; of the first, the subject
//!     group        - the group before; the group itself where the subject changes
//!     difference   Inserts - Deletes, zigzag: 2 n, or -2 n - 1 if negative
//! ```
//!
//! The group is that of a vertex, or of the vertex that has a list. An index has one row, of group 0.
//! Sums over files are counts of the graph, exact for vertices and edges. In an index the later record
//! stays alone, so that its sums are estimates.

use crate::format::subject::Subject;
use evergraph_graph::bytes::{Decoded, Reader, put_varint};
use evergraph_graph::id::GroupId;

/// What a file changed in one group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirectoryRow {
    /// What the records are about.
    pub subject: Subject,
    /// Their vertices' group.
    pub group: GroupId,
    /// Inserts less deletes.
    pub difference: i64,
}

/// The directory of `rows`. Cost: some 10 ns a row.
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
        (subject, next_group) = (row.subject.number(), row.group.0 + 1);
    }
    out
}

/// Reads a directory. Cost: some 10 ns a row; memory of at most eight times the bytes.
///
/// # Errors
/// If the bytes are not a directory whose rows ascend.
pub fn decode_directory(bytes: &[u8]) -> Decoded<Vec<DirectoryRow>> {
    let mut reader = Reader::new(bytes);
    let count = reader.count(3)?;
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
        rows.push(DirectoryRow { subject, group: GroupId(before + distance), difference });
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
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn any_rows() -> impl Strategy<Value = Vec<DirectoryRow>> {
        let subject = prop_oneof![0u32..9, (1u32 << 24)..(1 << 24) + 3, Just(u32::MAX)];
        let group = prop_oneof![0u32..9, 0..GroupId::END, Just(GroupId::END - 1)];
        let difference = prop_oneof![-9i64..9, any::<i64>()];
        proptest::collection::btree_map((subject, group), difference, 0..40).prop_map(
            |rows: BTreeMap<_, _>| {
                let row = |((subject, group), difference)| DirectoryRow {
                    subject: Subject::from_number(subject).unwrap(),
                    group: GroupId(group),
                    difference,
                };
                rows.into_iter().map(row).collect()
            },
        )
    }

    proptest! {
        #[test]
        fn a_directory_reads_back_and_no_cut_of_it_does(rows in any_rows()) {
            let bytes = encode_directory(&rows);
            prop_assert_eq!(decode_directory(&bytes), Ok(rows));
            for cut in 0..bytes.len() {
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
