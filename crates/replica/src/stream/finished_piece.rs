//! `FinishedPiece`: what an open transaction kept of one of its pieces, when it commits.

use std::ops::Range;
use std::sync::Arc;

use crate::pgoutput::relation::Relation;
use crate::stream::stored_messages::StoredMessages;

/// A description of a table, as it came.
#[derive(Clone, Debug)]
pub struct Description {
    /// The table.
    pub relation: Arc<Relation>,
    /// Descriptions are counted as they come: a higher number is newer.
    pub arrival: u64,
}

/// Descriptions that hold from here on, then messages.
#[derive(Debug, Default)]
pub struct FinishedPiece {
    /// The descriptions that were not rolled back.
    pub descriptions: Vec<Description>,
    /// The messages, with those that were rolled back.
    pub messages: StoredMessages,
    /// Those that were rolled back, by their numbers: in order, and apart from each other.
    pub dropped: Vec<Range<usize>>,
}

impl FinishedPiece {
    /// Whether a message is left.
    #[must_use]
    pub fn has_messages(&self) -> bool {
        self.dropped.iter().map(ExactSizeIterator::len).sum::<usize>() < self.messages.len()
    }
}
