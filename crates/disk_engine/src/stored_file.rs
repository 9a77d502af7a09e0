//! Stored file: what a manifest says of a CSR file, and what a writer returns when it is durable.
//!
//! ```text
//! first key, last key   of the file's records, as order bytes: comparing bytes is comparing keys
//!     vertices, lists   subject 4 | vertex 4 | neighbour 4 | discriminator 2      (big-endian)
//!     index             subject 4 | value bytes | order bytes of the item, 4 or 12
//! ```
//!
//! Of a vertex, neighbour and discriminator are zero. No value's bytes begin another value's (`graph::value::order_bytes`),
//! so the item may follow directly.

use crate::format::file_head::FileStamps;
use crate::format::file_name::FileNumber;
use crate::format::subject::Subject;
use crate::format::tree_key::{ItemKey, ListId};
use evergraph_graph::index_entry::ItemId;
use evergraph_graph::timestamp::Timestamp;

/// A CSR file, as the manifest names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredFile {
    /// Its number.
    pub number: FileNumber,
    /// The level that it is in.
    pub level: u8,
    /// Whether its records have stamps.
    pub stamps: FileStamps,
    /// The oldest commit in the file.
    pub first_ts: Timestamp,
    /// The newest commit in the file.
    pub last_ts: Timestamp,
    /// The first record's key, as order bytes.
    pub first_key: Vec<u8>,
    /// The last record's key, as order bytes.
    pub last_key: Vec<u8>,
    /// The file of lists, vertices, entries and filters.
    pub topology: StoredPart,
    /// The file of properties; `None` if nothing has any.
    pub columns: Option<StoredPart>,
}

impl StoredFile {
    /// Bytes of both parts.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.topology.bytes + self.columns.map_or(0, |columns| columns.bytes)
    }
}

/// A file that a manifest names, open or not.
pub trait KeyedFile {
    /// What the manifest says of it.
    fn stored(&self) -> &StoredFile;
}

impl KeyedFile for StoredFile {
    fn stored(&self) -> &StoredFile {
        self
    }
}

/// One of the two parts of a CSR file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoredPart {
    /// Its length.
    pub bytes: u64,
    /// The checksum of its footer, which stands for all of the part but its pages.
    pub footer_crc: u32,
}

/// The order bytes of an item of a list; of a vertex itself with [`ItemKey::VERTEX`]. Cost: an allocation of 14 bytes.
#[must_use]
pub fn list_key(list: ListId, item: ItemKey) -> Vec<u8> {
    let mut key = Vec::with_capacity(14);
    key.extend_from_slice(&list.subject.number().to_be_bytes());
    key.extend_from_slice(&list.vertex.0.to_be_bytes());
    key.extend_from_slice(&item.neighbor().0.to_be_bytes());
    key.extend_from_slice(&item.discriminator().to_be_bytes());
    key
}

/// The order bytes of an entry of the index `subject`. Cost: an allocation of at most 80 bytes.
#[must_use]
pub fn entry_key(subject: Subject, value: &[u8], item: ItemId) -> Vec<u8> {
    let mut key = Vec::with_capacity(4 + value.len() + 12);
    key.extend_from_slice(&subject.number().to_be_bytes());
    key.extend_from_slice(value);
    item.put_order_bytes(&mut key);
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::subject::EdgeSide;
    use evergraph_graph::id::{EdgeId, TypeId, VertexId};
    use evergraph_graph::value::Value;
    use evergraph_graph::value::order_bytes::value_bytes::ValueBytes;
    use evergraph_graph::value::strategy::any_value;
    use proptest::prelude::*;

    fn any_number() -> impl Strategy<Value = u32> {
        prop_oneof![0..3u32, 254..258u32, any::<u32>()]
    }

    fn any_list_key() -> impl Strategy<Value = (ListId, ItemKey)> {
        (0..300u16, any::<bool>(), any_number(), any_number(), any::<u16>()).prop_map(
            |(edge_type, is_vertex, vertex, neighbor, discriminator)| match is_vertex {
                true => (ListId::vertex(VertexId(vertex)), ItemKey::VERTEX),
                false => {
                    let list = ListId::edges(VertexId(vertex), TypeId(edge_type), EdgeSide::In);
                    (list, ItemKey::edge(VertexId(neighbor), discriminator))
                }
            },
        )
    }

    fn any_entry_key() -> impl Strategy<Value = (Subject, Value, ItemId)> {
        let item = (any_number(), any_number(), any::<u16>()).prop_map(|(source, target, discriminator)| {
            let (source, target) = (VertexId(source), VertexId(target));
            ItemId::Edge(EdgeId { source, edge_type: TypeId(1), target, discriminator })
        });
        (0..300u32, any_value(), item)
            .prop_map(|(index, value, item)| (Subject::index(index).unwrap(), value, item))
    }

    proptest! {
        #[test]
        fn bytes_of_keys_sort_as_keys_of_lists_do(left in any_list_key(), right in any_list_key()) {
            prop_assert_eq!(list_key(left.0, left.1).cmp(&list_key(right.0, right.1)), left.cmp(&right));
        }

        #[test]
        fn bytes_of_keys_sort_as_entries_do(left in any_entry_key(), right in any_entry_key(), list in any_list_key()) {
            let key = |(subject, value, item): &(Subject, Value, ItemId)| {
                entry_key(*subject, ValueBytes::of(value).as_slice(), *item)
            };
            let parts = |(subject, value, item): &(Subject, Value, ItemId)| {
                (*subject, ValueBytes::of(value).as_slice().to_vec(), *item)
            };
            prop_assert_eq!(key(&left).cmp(&key(&right)), parts(&left).cmp(&parts(&right)));
            prop_assert!(list_key(list.0, list.1) < key(&left));
        }
    }
}
