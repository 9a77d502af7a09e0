//! Vertex ids: what the log has given to a coordinator and nobody has used yet.
//!
//! ```text
//! take ──> some left? ── yes ──> the next one
//!             └── no ──> Rows in the log: 256 more      give_back <── a transaction that did not happen
//! ```

use crate::tables::groups::RowRange;
use evergraph_graph::id::{LabelId, PartitionId, VertexId};
use evergraph_storage::sync::Mutex;
use std::collections::{BTreeMap, VecDeque};

/// Ids that are kept of a label in a partition; of more, what comes back is not given again.
const KEPT_MAX: usize = 1 << 16;

/// Ids of one node's coordinator. It starts without: those of an earlier start are lost.
#[derive(Debug, Default)]
pub struct VertexIds {
    free: Mutex<BTreeMap<(LabelId, PartitionId), VecDeque<VertexId>>>,
}

impl VertexIds {
    /// The next id of a label in a partition, if some are left.
    pub fn take(&self, label: LabelId, partition: PartitionId) -> Option<VertexId> {
        self.free.lock().get_mut(&(label, partition))?.pop_front()
    }

    /// The log has given more.
    pub fn add(&self, label: LabelId, partition: PartitionId, range: RowRange) {
        self.free.lock().entry((label, partition)).or_default().extend(range.vertices());
    }

    /// Ids of a label that nobody has used, nor ever will.
    pub fn give_back(
        &self,
        label: LabelId,
        partition: PartitionId,
        vertices: impl Iterator<Item = VertexId>,
    ) {
        let mut free = self.free.lock();
        let of_label = free.entry((label, partition)).or_default();
        let room = KEPT_MAX.saturating_sub(of_label.len());
        of_label.extend(vertices.take(room));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::GroupId;

    #[test]
    fn an_id_is_taken_once_and_again_after_it_came_back() {
        let (ids, label, partition) = (VertexIds::default(), LabelId(1), PartitionId(2));
        assert_eq!(ids.take(label, partition), None);
        ids.add(label, partition, RowRange { group: GroupId(2), first: 4, count: 2 });
        let taken = [(); 3].map(|()| ids.take(label, partition));
        let given = [4, 5].map(|row| VertexId::new(GroupId(2), row));
        assert_eq!(taken, [Some(given[0]), Some(given[1]), None]);
        ids.give_back(label, partition, given[1..].iter().copied());
        assert_eq!((ids.take(LabelId(0), partition), ids.take(label, partition)), (None, Some(given[1])));
    }
}
