//! Sequence order: whether a message of a consumer is the next one of the stream.

use crate::log_position::LogPosition;
use crate::planted::{Bug, planted};

/// How far a stream was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SequenceOrder {
    next: LogPosition,
}

/// Where a message lies that came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrival {
    /// It was given already, or lies before where the stream began.
    Earlier,
    /// None is missing before it.
    Next,
    /// Those from `first` up to it did not come.
    BehindGap {
        /// The first of them.
        first: LogPosition,
    },
}

impl SequenceOrder {
    /// Nothing was given yet; `first` comes next.
    pub(super) fn new(first: LogPosition) -> Self {
        Self { next: first }
    }

    /// The number of the message that comes next.
    pub(super) fn next(self) -> LogPosition {
        self.next
    }

    /// Takes the number of a message that came. If none is missing before it, it counts as given.
    pub(super) fn take(&mut self, position: LogPosition) -> Arrival {
        if position < self.next {
            return Arrival::Earlier;
        }
        if position > self.next && !planted(Bug::SequenceGapIgnored) {
            return Arrival::BehindGap { first: self.next };
        }
        self.next = position.next();
        Arrival::Next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::assert_found;

    #[test]
    fn every_message_is_given_once_and_none_is_left_out() {
        let mut order = SequenceOrder::new(LogPosition(5));
        let arrivals = [4, 5, 5, 6].map(|position| order.take(LogPosition(position)));
        assert_eq!(arrivals, [Arrival::Earlier, Arrival::Next, Arrival::Earlier, Arrival::Next]);
        let gap = Arrival::BehindGap { first: LogPosition(7) };
        assert_eq!(order.take(LogPosition(9)), gap, "a gap is given over");
        assert_eq!((order.take(LogPosition(8)), order.next()), (gap, LogPosition(7)));
    }

    #[test]
    fn planted_bugs_are_found() {
        let given = every_message_is_given_once_and_none_is_left_out;
        assert_found(Bug::SequenceGapIgnored, given, "a gap is given over");
    }
}
