//! List record: one value of a list, with all that a page may say about it.

use crate::format::operation::RecordOperation;
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;

/// An edge, or what was done to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListRecord {
    /// The vertex that has the list.
    pub vertex: VertexId,
    /// The vertex at the other end.
    pub neighbor: VertexId,
    /// Which of parallel edges.
    pub discriminator: u16,
    /// What was done.
    pub operation: RecordOperation,
    /// By which commit; zero in files without stamps.
    pub stamp: Timestamp,
}

impl ListRecord {
    /// An edge without stamp and discriminator.
    #[must_use]
    #[inline]
    pub const fn insert(vertex: VertexId, neighbor: VertexId) -> Self {
        let (operation, stamp) = (RecordOperation::Insert, Timestamp::ZERO);
        Self { vertex, neighbor, discriminator: 0, operation, stamp }
    }

    /// Whether `next` may follow in a page: its key is greater, or the same and its stamp older.
    #[must_use]
    #[inline]
    pub fn precedes(&self, next: &Self) -> bool {
        let key = |record: &Self| (record.vertex, record.neighbor, record.discriminator);
        match key(self).cmp(&key(next)) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => self.stamp > next.stamp,
            std::cmp::Ordering::Greater => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_one_edge_stand_newest_first_and_never_twice() {
        let record = |neighbor, discriminator, stamp| ListRecord {
            discriminator,
            stamp: Timestamp(stamp),
            ..ListRecord::insert(VertexId(1), VertexId(neighbor))
        };
        assert!(record(1, 9, 0).precedes(&record(2, 0, 0)));
        assert!(record(2, 0, 0).precedes(&record(2, 1, 0)));
        assert!(record(2, 1, 5).precedes(&record(2, 1, 4)));
        assert!(!record(2, 1, 4).precedes(&record(2, 1, 4)));
        assert!(!record(2, 1, 4).precedes(&record(2, 1, 5)));
        assert!(!record(2, 1, 4).precedes(&record(2, 0, 3)));
    }
}
