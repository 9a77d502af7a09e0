//! Index changes: what one commit changes in the indexes that its engine keeps.
//!
//! ```text
//! writes, view at S ──> leaving    read before the latch: the log can name them, and replay reads no old value
//!                       entering   follows from the mutations
//! ```

use crate::index::index_item::IndexItem;
use evergraph_graph::index::IndexId;
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::value::Value;

/// An entry of an index that an engine keeps: an item and its value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct KeptEntry {
    /// The index.
    pub index: IndexId,
    /// The value, in the property's type.
    pub value: Value,
    /// The vertex or edge that has it.
    pub item: ItemId,
}

/// The entries that one commit removes from the indexes that its engine keeps, and adds to them. Those of one item
/// and index differ: what stays is in neither list.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct IndexChanges {
    /// Present at the transaction's snapshot; gone from the commit on.
    pub leaving: Vec<KeptEntry>,
    /// Present from the commit on.
    pub entering: Vec<KeptEntry>,
}

impl IndexChanges {
    /// Nothing changes.
    pub const NONE: Self = Self { leaving: Vec::new(), entering: Vec::new() };

    /// `item`, whose value was `old`, has `new` from this commit on.
    pub fn note<I: IndexItem>(&mut self, index: IndexId, item: I, old: Option<Value>, new: Option<&Value>) {
        if old.as_ref() == new {
            return;
        }
        let entry = |value| KeptEntry { index, value, item: item.item_id() };
        self.leaving.extend(old.map(entry));
        self.entering.extend(new.cloned().map(entry));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::catalogue::Owner;
    use evergraph_graph::id::{KeyId, LabelId, VertexId};
    use evergraph_graph::index::IndexKind;

    #[test]
    fn a_value_that_stays_is_no_change() {
        let index = IndexId { owner: Owner::Label(LabelId(1)), key: KeyId(2), kind: IndexKind::Hash };
        let (ada, bob, item) = (Value::from("ada"), Value::from("bob"), VertexId(7));
        let mut changes = IndexChanges::NONE;
        changes.note(index, item, Some(ada.clone()), Some(&ada));
        changes.note(index, item, None, None);
        assert_eq!(changes, IndexChanges::default());
        changes.note(index, item, Some(ada.clone()), Some(&bob));
        let entry = |value| KeptEntry { index, value, item: ItemId::Vertex(item) };
        assert_eq!(changes, IndexChanges { leaving: vec![entry(ada)], entering: vec![entry(bob)] });
    }
}
