//! Record counts: what became of the records that a node has applied since it started, by cause.

use crate::certification::outcome::{CancelAnswer, Refusal};
use crate::node::replicated_state::RecordResult;
use crate::tables::cluster_tables::TableAnswer;

/// Records, by what became of them. Each is counted once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RecordCounts {
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions whose checks had been changed.
    pub conflicts: u64,
    /// Records that rested on what is forgotten.
    pub too_old: u64,
    /// Records whose authors had applied another log.
    pub other_log: u64,
    /// Records whose authors were no members, or not any more.
    pub fenced: u64,
    /// Transactions without all of their parts.
    pub incomplete: u64,
    /// Transactions that nobody can install.
    pub malformed: u64,
    /// Cancels of transactions that had not come, and never commit now.
    pub cancelled: u64,
    /// Cancels of transactions that were decided, or that nothing is remembered of.
    pub cancelled_late: u64,
    /// Parts that wait for their transactions.
    pub parts: u64,
    /// Parts that were not kept.
    pub parts_dropped: u64,
    /// Records that had come before.
    pub doubles: u64,
    /// Rows, names, indexes, members and places that were given or changed; barriers.
    pub tables_changed: u64,
    /// Those that a table refused.
    pub tables_refused: u64,
}

impl RecordCounts {
    /// Counts a record.
    pub fn add(&mut self, result: &RecordResult) {
        let count = match result {
            RecordResult::Committed => &mut self.committed,
            RecordResult::Refused(refusal) => match refusal {
                Refusal::TooOld { .. } => &mut self.too_old,
                Refusal::OtherLog => &mut self.other_log,
                Refusal::Fenced => &mut self.fenced,
                Refusal::Conflict { .. } => &mut self.conflicts,
                Refusal::Incomplete { .. } => &mut self.incomplete,
                Refusal::Malformed(_) => &mut self.malformed,
            },
            RecordResult::Cancel(CancelAnswer::Cancelled) => &mut self.cancelled,
            RecordResult::Cancel(CancelAnswer::Decided(_) | CancelAnswer::Unknown) => {
                &mut self.cancelled_late
            }
            RecordResult::PartKept => &mut self.parts,
            RecordResult::PartDropped => &mut self.parts_dropped,
            RecordResult::Table(answer) => match has_happened(answer) {
                true => &mut self.tables_changed,
                false => &mut self.tables_refused,
            },
            RecordResult::Double(_) => &mut self.doubles,
        };
        *count += 1;
    }

    /// Each count by its name, for metrics.
    #[must_use]
    pub fn by_outcome(&self) -> [(&'static str, u64); 14] {
        [
            ("committed", self.committed),
            ("conflict", self.conflicts),
            ("too_old", self.too_old),
            ("other_log", self.other_log),
            ("fenced", self.fenced),
            ("incomplete", self.incomplete),
            ("malformed", self.malformed),
            ("cancelled", self.cancelled),
            ("cancelled_late", self.cancelled_late),
            ("part", self.parts),
            ("part_dropped", self.parts_dropped),
            ("double", self.doubles),
            ("table_changed", self.tables_changed),
            ("table_refused", self.tables_refused),
        ]
    }
}

fn has_happened(answer: &TableAnswer) -> bool {
    match answer {
        TableAnswer::Rows(result) => result.is_ok(),
        TableAnswer::Name(result) => result.is_ok(),
        TableAnswer::Index(result) => result.is_ok(),
        TableAnswer::Member(result) => result.is_ok(),
        TableAnswer::Place(result) => result.is_ok(),
        TableAnswer::Barrier => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certification::outcome::{FailedCheck, Malformation, Outcome, PayloadProblem};
    use crate::key_hash::graph_salt::KeyHash;
    use crate::record::payload::Destination;
    use crate::tables::placement::PlaceRefusal;
    use evergraph_graph::timestamp::Timestamp;

    #[test]
    fn every_result_is_counted_once_and_under_its_own_name() {
        let (at, check) = (Timestamp(1), FailedCheck::Subject(KeyHash(1)));
        let malformed =
            Malformation { destination: Destination::EveryNode, problem: PayloadProblem::Misplaced };
        let results = [
            (RecordResult::Committed, "committed"),
            (RecordResult::Refused(Refusal::Conflict { check, changed: at }), "conflict"),
            (RecordResult::Refused(Refusal::TooOld { floor: at }), "too_old"),
            (RecordResult::Refused(Refusal::OtherLog), "other_log"),
            (RecordResult::Refused(Refusal::Fenced), "fenced"),
            (RecordResult::Refused(Refusal::Incomplete { place: 0 }), "incomplete"),
            (RecordResult::Refused(Refusal::Malformed(malformed)), "malformed"),
            (RecordResult::Cancel(CancelAnswer::Cancelled), "cancelled"),
            (RecordResult::Cancel(CancelAnswer::Decided(Outcome::Done)), "cancelled_late"),
            (RecordResult::Cancel(CancelAnswer::Unknown), "cancelled_late"),
            (RecordResult::PartKept, "part"),
            (RecordResult::PartDropped, "part_dropped"),
            (RecordResult::Double(Outcome::Conflict), "double"),
            (RecordResult::Table(TableAnswer::Barrier), "table_changed"),
            (RecordResult::Table(TableAnswer::Place(Err(PlaceRefusal::NoMember))), "table_refused"),
        ];
        let mut all = RecordCounts::default();
        for (result, name) in &results {
            let mut counts = RecordCounts::default();
            counts.add(result);
            all.add(result);
            let counted: Vec<_> = counts.by_outcome().into_iter().filter(|(_, count)| *count > 0).collect();
            assert_eq!(counted, [(*name, 1)]);
        }
        assert!(all.by_outcome().iter().all(|(_, count)| *count > 0));
    }
}
