//! Net: what the records of one key come to, from the oldest to the newest (the table is in [`super`]).

use crate::format::operation::RecordOperation;
use crate::merge::merged_run::{LaterSet, Origin};
use evergraph_storage::planted::{Bug, planted};

/// Two records that exclude each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct InexactPair {
    pub(super) before: RecordOperation,
    pub(super) later: RecordOperation,
}

/// What `before` and the record `later` come to.
#[inline]
fn net_operation(
    before: Option<RecordOperation>,
    later: RecordOperation,
) -> Result<Option<RecordOperation>, InexactPair> {
    use RecordOperation::{Delete, Insert, Replace, Set};
    let Some(before) = before else { return Ok(Some(later)) };
    Ok(match (before, later) {
        (Insert, Delete) => None,
        (Insert, Replace | Set) => Some(Insert),
        (Delete, Insert) if planted(Bug::ReplaceKeptAsInsert) => Some(Insert),
        (Delete, Insert) => Some(Replace),
        (Replace, Set) => Some(Replace),
        (Replace | Set, Delete | Replace) | (Set, Set) => Some(later),
        (Insert | Replace | Set, Insert) | (Delete, Delete | Replace | Set) => {
            return Err(InexactPair { before, later });
        }
    })
}

/// The records of one key that were seen so far.
#[derive(Debug)]
pub(super) struct Net {
    /// What they come to.
    pub(super) operation: Option<RecordOperation>,
    /// The record that the properties begin with. Sets behind it lie in the list of the caller.
    pub(super) base: Origin,
    sets_start: usize,
}

impl Net {
    /// No records yet; the Sets of this key will begin in the caller's list at `sets_start`.
    #[inline]
    pub(super) fn new(sets_start: usize) -> Self {
        Self { operation: None, base: Origin { source: 0, rank: 0 }, sets_start }
    }

    /// Goes on with a record, and notes it in `sets`, as one of the output's record `record`, if it is a Set on
    /// top of others.
    ///
    /// # Errors
    /// If it cannot follow those before.
    #[inline]
    pub(super) fn apply(
        &mut self,
        later: RecordOperation,
        origin: Origin,
        record: usize,
        sets: &mut Vec<LaterSet>,
    ) -> Result<(), InexactPair> {
        let is_first = self.operation.is_none();
        self.operation = net_operation(self.operation, later)?;
        if later == RecordOperation::Set && !is_first {
            sets.push(LaterSet { record, origin });
        } else {
            sets.truncate(self.sets_start);
            self.base = origin;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use RecordOperation::{Delete, Insert, Replace, Set};

    fn net(operations: &[RecordOperation]) -> Result<Option<RecordOperation>, InexactPair> {
        operations.iter().try_fold(None, |before, later| net_operation(before, *later))
    }

    #[test]
    fn an_insert_and_the_delete_after_it_are_nothing() {
        assert_eq!(net(&[Insert, Delete]), Ok(None));
        assert_eq!(net(&[Insert, Set, Replace, Delete]), Ok(None));
        assert_eq!(net(&[Insert, Delete, Insert, Set]), Ok(Some(Insert)));
    }

    #[test]
    fn a_delete_and_the_insert_after_it_are_a_replace() {
        assert_eq!(net(&[Delete, Insert]), Ok(Some(Replace)));
        assert_eq!(net(&[Set, Delete, Insert, Set]), Ok(Some(Replace)));
        assert_eq!(net(&[Delete, Insert, Delete]), Ok(Some(Delete)));
    }

    #[test]
    fn a_replace_of_what_was_inserted_above_is_an_insert() {
        assert_eq!(net(&[Insert, Replace]), Ok(Some(Insert)));
        assert_eq!(net(&[Replace, Set]), Ok(Some(Replace)));
        assert_eq!(net(&[Set, Replace]), Ok(Some(Replace)));
    }

    #[test]
    fn records_that_exclude_each_other_are_an_error() {
        for pair in [[Insert, Insert], [Replace, Insert], [Set, Insert], [Delete, Delete], [Delete, Set]] {
            assert_eq!(net(&pair), Err(InexactPair { before: pair[0], later: pair[1] }));
        }
    }

    #[test]
    fn the_table_is_associative_and_keeps_differences() {
        let all = [Insert, Delete, Replace, Set];
        let join = |left: Option<RecordOperation>, right: Option<RecordOperation>| match right {
            None => Ok(left),
            Some(right) => net_operation(left, right),
        };
        for code in 0..64_usize {
            let [a, b, c] = [code / 16, code / 4 % 4, code % 4].map(|at| all[at]);
            let Ok(whole) = net(&[a, b, c]) else { continue };
            let Ok(end) = net(&[b, c]) else { continue };
            assert_eq!(join(Some(a), end), Ok(whole), "{a:?} {b:?} {c:?}");
            let difference = whole.map_or(0, RecordOperation::difference);
            assert_eq!(difference, a.difference() + b.difference() + c.difference());
        }
    }

    #[test]
    fn properties_begin_with_the_last_record_that_had_all_of_them() {
        let origin = |rank| Origin { source: 0, rank };
        let mut sets = vec![LaterSet { record: 0, origin: origin(99) }];
        let mut net = Net::new(1);
        for (rank, operation) in [(1, Set), (2, Set), (3, Replace), (4, Set), (5, Set)] {
            net.apply(operation, origin(rank), 7, &mut sets).unwrap();
        }
        assert_eq!((net.operation, net.base.rank), (Some(Replace), 3));
        let found: Vec<_> = sets.iter().map(|set| (set.record, set.origin.rank)).collect();
        assert_eq!(found, [(0, 99), (7, 4), (7, 5)]);
    }
}
