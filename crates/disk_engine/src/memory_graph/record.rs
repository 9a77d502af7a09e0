//! Record: one timestamped change of a vertex or of an edge.
//!
//! Records are exact: Insert only where nothing was, Delete, Replace and Set only where something was, and at most
//! one for a key and timestamp. So a degree is a sum of inserts and deletes, and the newest record of a key decides
//! whether its item exists.
//!
//! Source: invariant I2 of core-protocol.

use crate::format::operation::RecordOperation;
use crate::format::tree_key::ItemKey;
use evergraph_graph::id::KeyId;
use evergraph_graph::properties::Properties;
use evergraph_graph::timestamp::Timestamp;

/// A record of a commit that has no timestamp yet.
#[derive(Clone, PartialEq, Debug)]
pub struct PendingRecord {
    /// The item in its list.
    pub item: ItemKey,
    /// What happens to it.
    pub operation: RecordOperation,
    /// The properties that the record carries.
    pub payload: Properties,
}

/// A record in a memory graph.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GraphRecord<'g> {
    /// The item in its list.
    pub item: ItemKey,
    /// When it was committed.
    pub timestamp: Timestamp,
    /// What was done.
    pub operation: RecordOperation,
    /// The properties that the record carries.
    pub payload: &'g Properties,
}

impl GraphRecord<'_> {
    /// Whether the record adds or removes its item.
    #[must_use]
    #[inline]
    pub const fn changes_membership(&self) -> bool {
        self.operation.difference() != 0
    }

    /// Whether the value of `property` may differ since this record.
    #[must_use]
    pub fn changes_property(&self, property: KeyId) -> bool {
        self.operation != RecordOperation::Set || self.payload.get(property).is_some()
    }
}

/// The payload of records without properties.
pub static NO_PROPERTIES: Properties = Properties::EMPTY;
