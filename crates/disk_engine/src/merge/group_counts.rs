//! Group counts: Inserts minus Deletes of each group in the records of one file, for its directory.
//!
//! Records are exact, so the number of items of a group is the sum over all files. Groups whose difference is zero
//! are left out.

use crate::format::directory::INDEX_GROUP;
use crate::format::operation::RecordOperation;
use crate::format::subject::Subject;
use crate::merge::merged_run::MergedRun;
use evergraph_graph::id::{GroupId, VertexId};

/// The difference that a file makes to a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupCount {
    /// The subject.
    pub subject: Subject,
    /// The group of the vertices, or of those that have the lists; 0 of an index.
    pub group: GroupId,
    /// Inserts minus Deletes.
    pub difference: i64,
}

/// Counts the records of a file, which come in key order.
#[derive(Debug, Default)]
pub struct GroupCounts {
    /// Ascending; the last may be zero still.
    counts: Vec<GroupCount>,
}

impl GroupCounts {
    /// Counts the records of a run.
    ///
    /// Cost: one pass over its operations; for vertices, over all its records.
    pub fn add_run(&mut self, run: &MergedRun<'_>) {
        let subject = run.list.subject;
        if subject != Subject::VERTICES {
            return self.add(subject, run.list.vertex.group(), sum(run.operations, run.neighbors.len()));
        }
        let mut start = 0;
        for group in run.neighbors.chunk_by(|left, right| VertexId(*left).group() == VertexId(*right).group())
        {
            let operations = run.operations.get(start..start + group.len()).unwrap_or_default();
            self.add(subject, VertexId(group[0]).group(), sum(operations, group.len()));
            start += group.len();
        }
    }

    /// Counts one entry of an index.
    pub fn add_entry(&mut self, subject: Subject, operation: RecordOperation) {
        self.add(subject, INDEX_GROUP, operation.difference());
    }

    /// What was counted, ascending by subject and group; from here on it counts the next file.
    #[must_use]
    pub fn take(&mut self) -> Vec<GroupCount> {
        self.drop_zero();
        std::mem::take(&mut self.counts)
    }

    fn add(&mut self, subject: Subject, group: GroupId, difference: i64) {
        match self.counts.last_mut() {
            Some(last) if (last.subject, last.group) == (subject, group) => last.difference += difference,
            last => {
                debug_assert!(last.is_none_or(|last| (last.subject, last.group) < (subject, group)));
                self.drop_zero();
                self.counts.push(GroupCount { subject, group, difference });
            }
        }
    }

    fn drop_zero(&mut self) {
        self.counts.pop_if(|last| last.difference == 0);
    }
}

/// The difference of `count` records; no operations means that all are Inserts.
fn sum(operations: &[RecordOperation], count: usize) -> i64 {
    match operations {
        [] => count as i64,
        operations => operations.iter().map(|one| one.difference()).sum(),
    }
}
