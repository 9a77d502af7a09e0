//! Visible entry: what a read of an index finds in one source.

use crate::format::operation::RecordOperation;
use evergraph_graph::index_entry::ItemId;
use std::sync::Arc;

/// A pair of value and item, and what the newest record that is seen did to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VisibleEntry {
    /// The value, in bytes.
    pub value: Arc<[u8]>,
    /// The item.
    pub item: ItemId,
    /// `Insert` if the pair is in the index, `Delete` if it left, whatever older generations and files say.
    pub operation: RecordOperation,
}
