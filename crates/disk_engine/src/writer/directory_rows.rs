//! Directory rows: Inserts minus Deletes of each (subject, group) that has records in a file, while it is written.
//!
//! Rows of zero stay: of a stamped file a reader in the past counts the records itself, and must know that there are
//! some. The merge's `GroupCounts` leaves them out.

use crate::format::directory::DirectoryRow;
use crate::format::subject::Subject;
use evergraph_graph::id::GroupId;

/// The rows of a file so far, ascending.
#[derive(Debug, Default)]
pub(super) struct DirectoryRows {
    rows: Vec<DirectoryRow>,
}

impl DirectoryRows {
    /// Counts records of a group, which come in key order. Cost: a comparison; 16 bytes of memory a group.
    #[inline]
    pub(super) fn add(&mut self, subject: Subject, group: GroupId, difference: i64) {
        match self.rows.last_mut() {
            Some(last) if (last.subject, last.group) == (subject, group) => last.difference += difference,
            _ => self.rows.push(DirectoryRow { subject, group, difference }),
        }
    }

    /// All rows.
    pub(super) fn into_rows(self) -> Vec<DirectoryRow> {
        self.rows
    }
}
