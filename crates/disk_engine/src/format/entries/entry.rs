//! Entry record: a value and an item that has it; and what separates one page of entries from the next.

use crate::format::operation::RecordOperation;
use evergraph_graph::bytes::{Decoded, Reader};
use evergraph_graph::index_entry::{EDGE_ITEM_BYTES, ItemId, VERTEX_ITEM_BYTES};
use evergraph_graph::timestamp::Timestamp;

/// The most value bytes that an entry has: longer values are shortened before they come here.
pub const VALUE_BYTES_MAX: usize = 64;

/// Whether an index finds vertices or edges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ItemKind {
    /// Vertices: 4 bytes an item.
    Vertices,
    /// Edges: 12 bytes an item.
    Edges,
}

impl ItemKind {
    /// Whether `item` is a vertex or an edge.
    #[must_use]
    #[inline]
    pub const fn of(item: &ItemId) -> Self {
        match item {
            ItemId::Vertex(_) => Self::Vertices,
            ItemId::Edge(_) => Self::Edges,
        }
    }

    /// Bytes of an item.
    #[must_use]
    #[inline]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Vertices => VERTEX_ITEM_BYTES,
            Self::Edges => EDGE_ITEM_BYTES,
        }
    }

    /// Reads the order bytes of an item.
    #[inline]
    pub(crate) fn take(self, reader: &mut Reader<'_>) -> Decoded<ItemId> {
        let start = reader.clone();
        let item = ItemId::from_order_bytes(reader.take(self.bytes())?);
        item.ok_or_else(|| start.error("an item of an index expected"))
    }
}

/// One record of an index. Ordered, but for operation and stamp, by its fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryRecord<'a> {
    /// The value, as bytes that keep the order of values.
    pub value: &'a [u8],
    /// The item that has it.
    pub item: ItemId,
    /// What was done.
    pub operation: RecordOperation,
    /// By which commit; zero in files without stamps.
    pub stamp: Timestamp,
}

impl EntryRecord<'_> {
    /// The place in the order of the index.
    #[must_use]
    #[inline]
    pub fn key(&self) -> (&[u8], ItemId) {
        (self.value, self.item)
    }
}

/// A place between two pages of entries: not below the last entry of the one, not above the first of the
/// other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Separator<'a> {
    /// The first bytes of the value.
    pub value: &'a [u8],
    /// The item, where both entries have the same value. `None` is before all items.
    pub item: Option<ItemId>,
}

impl<'a> Separator<'a> {
    /// The shortest place above `last` and not above `first`; a greater entry, or the same one with an
    /// older stamp.
    ///
    /// # Panics
    /// If `first` is below `last`.
    #[must_use]
    pub fn between(last: (&[u8], ItemId), first: (&'a [u8], ItemId)) -> Self {
        assert!(last <= first, "pages of entries ascend");
        if last.0 == first.0 {
            return Self { value: first.0, item: Some(first.1) };
        }
        let shared = last.0.iter().zip(first.0).take_while(|(a, b)| a == b).count();
        Self { value: &first.0[..shared + 1], item: None }
    }

    /// The place before all entries, for the first page of an index.
    pub const FIRST: Separator<'static> = Separator { value: &[], item: None };
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use evergraph_graph::id::{EdgeId, TypeId, VertexId};
    use proptest::prelude::*;

    pub(crate) fn any_item(kind: ItemKind) -> BoxedStrategy<ItemId> {
        let vertex = prop_oneof![0u32..9, any::<u32>()].prop_map(VertexId);
        match kind {
            ItemKind::Vertices => vertex.prop_map(ItemId::Vertex).boxed(),
            ItemKind::Edges => (vertex.clone(), 299u16..301, vertex, 0u16..3)
                .prop_map(|(source, edge_type, target, discriminator)| {
                    ItemId::Edge(EdgeId { source, edge_type: TypeId(edge_type), target, discriminator })
                })
                .boxed(),
        }
    }

    /// Value bytes that often share their beginning.
    pub(crate) fn any_value_bytes() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            proptest::collection::vec(0u8..3, 0..6),
            proptest::collection::vec(any::<u8>(), 0..=VALUE_BYTES_MAX),
            (0u8..3, 0usize..=VALUE_BYTES_MAX).prop_map(|(byte, length)| vec![byte; length]),
        ]
    }

    proptest! {
        #[test]
        fn a_separator_stands_between_its_entries(
            mut values in proptest::array::uniform2(any_value_bytes()),
            mut items in proptest::array::uniform2(any_item(ItemKind::Edges)), same in any::<bool>(),
        ) {
            if same {
                values[1] = values[0].clone();
                items.sort();
            } else {
                values.sort();
            }
            let (last, first) = ((&values[0][..], items[0]), (&values[1][..], items[1]));
            if last <= first {
                let separator = Separator::between(last, first);
                let first = Separator { value: first.0, item: Some(first.1) };
                prop_assert!(separator <= first);
                let after_last = Separator { value: last.0, item: Some(last.1) };
                prop_assert!(after_last < separator || after_last == first);
                prop_assert!(Separator::FIRST <= separator);
            }
        }

        #[test]
        fn an_item_reads_back(item in prop_oneof![any_item(ItemKind::Vertices), any_item(ItemKind::Edges)]) {
            let mut bytes = Vec::new();
            item.put_order_bytes(&mut bytes);
            prop_assert_eq!(bytes.len(), ItemKind::of(&item).bytes());
            prop_assert_eq!(ItemKind::of(&item).take(&mut Reader::new(&bytes)), Ok(item));
        }
    }
}
