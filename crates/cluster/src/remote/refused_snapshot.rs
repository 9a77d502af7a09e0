//! Refused snapshot: one that could not begin. Each of its reads says why, so that beginning need not fail.

use crate::remote::partition_view::PartitionView;
use crate::remote::remote_snapshot::{GraphMap, RemoteLimits, RemoteSnapshot};
use crate::remote::view_asking::{OwnWork, PartitionAsker};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{GroupId, LabelId, PartitionId};
use evergraph_graph::index::IndexId;
use evergraph_graph::partition::PartitionCount;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::travel::Travels;
use evergraph_graph::value::Value;
use std::sync::Arc;

/// A snapshot of nothing, whose reads fail as `error` says.
#[must_use]
pub fn refused_snapshot(error: &Error) -> RemoteSnapshot {
    let asker = Arc::new(RefusedAsker { kind: error.kind(), text: error.to_string() });
    RemoteSnapshot::new(Timestamp::ZERO, Arc::new(OneGroup), asker, RemoteLimits::default()).refusing(error)
}

struct RefusedAsker {
    kind: ErrorKind,
    text: String,
}

impl PartitionAsker for RefusedAsker {
    fn ask_beside(&self, _: Vec<(PartitionId, Vec<u8>)>, _: OwnWork<'_>) -> Result<Vec<Vec<u8>>> {
        Err(Error::new(self.kind, self.text.clone()))
    }

    fn travels(&self) -> Option<Arc<dyn Travels>> {
        None
    }

    fn own_view(&self, _: PartitionId) -> Option<Arc<dyn PartitionView>> {
        None
    }

    fn keeps_all(&self) -> bool {
        false
    }
}

/// The map of a graph that can't be read: one group, so that whoever reads all groups is told why there is none.
struct OneGroup;

impl GraphMap for OneGroup {
    fn partitions(&self) -> PartitionCount {
        PartitionCount::new(1).expect("one partition is not too many")
    }

    fn group_count(&self) -> u32 {
        1
    }

    fn group_label(&self, _: GroupId) -> Option<LabelId> {
        None
    }

    fn partition_of_value(&self, _: IndexId, _: &Value) -> Option<PartitionId> {
        None
    }
}
