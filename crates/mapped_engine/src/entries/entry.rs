//! Entry: a value and an item of an index, as bytes that sort as the entries of the index lie.
//!
//! ```text
//! hash               hash of the value's order bytes:4 | item | value's order bytes
//! ordered, newest    value's order bytes | item
//!
//! item      4 bytes of a vertex or 12 of an edge (graph::index_entry)
//! key       the first 8 bytes, big-endian: what the record of an entry is sorted by
//! ```
//!
//! So the records of one value in a hash index are found by their keys, and those behind an item as well. In the order of
//! values, keys tell entries apart whose first 8 bytes differ; the others are told apart by reading them.
//!
//! The hash is stored: neither its form nor its key may change. It need not withstand who chooses values: those of one hash are
//! compared.

use evergraph_graph::catalogue::Owner;
use evergraph_graph::index::{IndexId, IndexKind};
use evergraph_graph::index_entry::{EDGE_ITEM_BYTES, ItemId, VERTEX_ITEM_BYTES};
use evergraph_graph::value::order_bytes::hash::SipHash128;
use evergraph_graph::value::order_bytes::lengths::LONG_BYTES;
use evergraph_storage::record::RecordKey;

/// Bytes of the hash in front of an entry.
const HASH_BYTES: usize = 4;
/// The most bytes of an entry.
pub const ENTRY_BYTES_MAX: usize = HASH_BYTES + EDGE_ITEM_BYTES + LONG_BYTES;
/// "Evergraph index", in two halves.
const KEY: (u64, u64) = (u64::from_le_bytes(*b"Evergrap"), u64::from_le_bytes(*b"h index "));

/// How the entries of one index are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryForm {
    is_hashed: bool,
    item_bytes: usize,
}

impl EntryForm {
    /// That of an index.
    #[must_use]
    pub fn of(index: IndexId) -> Self {
        let item_bytes = match index.owner {
            Owner::Label(_) => VERTEX_ITEM_BYTES,
            Owner::EdgeType(_) => EDGE_ITEM_BYTES,
        };
        Self { is_hashed: index.kind == IndexKind::Hash, item_bytes }
    }

    /// Whether entries lie by the hash of their values.
    #[must_use]
    pub fn is_hashed(self) -> bool {
        self.is_hashed
    }

    /// The entry of `item` with a value of these order bytes.
    #[must_use]
    pub fn entry(self, value: &[u8], item: ItemId) -> Vec<u8> {
        let mut entry = self.start(value);
        item.put_order_bytes(&mut entry);
        if self.is_hashed {
            entry.extend_from_slice(value);
        }
        entry
    }

    /// What all entries of a value begin with, and those of no other value but by chance.
    #[must_use]
    pub fn start(self, value: &[u8]) -> Vec<u8> {
        let mut start = Vec::with_capacity(ENTRY_BYTES_MAX);
        if self.is_hashed {
            start.extend_from_slice(&hash(value));
        } else {
            start.extend_from_slice(value);
        }
        start
    }

    /// What an entry that was made so begins with: [`EntryForm::start`] of its value.
    #[must_use]
    #[inline]
    pub fn start_of(self, entry: &[u8]) -> &[u8] {
        let bytes = if self.is_hashed { HASH_BYTES } else { entry.len().saturating_sub(self.item_bytes) };
        &entry[..bytes.min(entry.len())]
    }

    /// The order bytes of the value, and the item.
    ///
    /// # Errors
    /// If these bytes are no entry of such an index.
    #[inline]
    pub fn split(self, entry: &[u8]) -> Result<(&[u8], ItemId), String> {
        let parts = match self.is_hashed {
            true => entry.get(HASH_BYTES..).and_then(|rest| rest.split_at_checked(self.item_bytes)),
            false => {
                let value = entry.len().checked_sub(self.item_bytes);
                value.map(|value| entry.split_at(value)).map(|(value, item)| (item, value))
            }
        };
        let is_value = |value: &[u8]| (1..=LONG_BYTES).contains(&value.len());
        let parts = parts.filter(|(_, value)| is_value(value));
        let found = parts.and_then(|(item, value)| Some((value, ItemId::from_order_bytes(item)?)));
        found.ok_or_else(|| format!("an entry of a value and an item expected, found {} bytes", entry.len()))
    }

    /// As [`EntryForm::split`], and compares the hash of the value with the one that is stored: by another one, no look-up would find
    /// the entry.
    ///
    /// # Errors
    /// As [`EntryForm::split`]; if another hash is stored.
    pub fn check(self, entry: &[u8]) -> Result<(&[u8], ItemId), String> {
        let (value, item) = self.split(entry)?;
        if self.is_hashed && entry[..HASH_BYTES] != hash(value) {
            return Err(format!("the hash of its value expected in the entry of {item:?}"));
        }
        Ok((value, item))
    }
}

/// The hash of a value's order bytes.
fn hash(value: &[u8]) -> [u8; HASH_BYTES] {
    let mut hash = SipHash128::keyed(KEY);
    hash.update(value);
    let bytes = hash.finish();
    std::array::from_fn(|at| bytes[at])
}

/// The key of an entry's record: it ascends with the bytes of entries.
#[must_use]
#[inline]
pub fn key_of(entry: &[u8]) -> RecordKey {
    let mut key = [0; 8];
    let bytes = entry.len().min(8);
    key[..bytes].copy_from_slice(&entry[..bytes]);
    RecordKey(u64::from_be_bytes(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
    use evergraph_graph::value::Value;
    use evergraph_graph::value::order_bytes::value_bytes::ValueBytes;

    fn form(owner: Owner, kind: IndexKind) -> EntryForm {
        EntryForm::of(IndexId { owner, key: KeyId(1), kind })
    }

    #[test]
    fn an_entry_tells_its_value_and_item_and_sorts_by_them() {
        let (label, edge_type) = (Owner::Label(LabelId(2)), Owner::EdgeType(TypeId(3)));
        let edge = |source| {
            ItemId::Edge(EdgeId {
                source: VertexId(source),
                edge_type: TypeId(3),
                target: VertexId(7),
                discriminator: 1,
            })
        };
        let vertex = |id| ItemId::Vertex(VertexId(id));
        let long = "a long text ".repeat(9);
        for (form, items) in [
            (form(label, IndexKind::Ordered), [vertex(3), vertex(300)]),
            (form(label, IndexKind::Hash), [vertex(3), vertex(300)]),
            (form(edge_type, IndexKind::Ordered), [edge(3), edge(300)]),
            (form(edge_type, IndexKind::Hash), [edge(3), edge(300)]),
        ] {
            let values = [Value::from(1_i64), Value::from(2_i64), Value::from("a"), Value::from(&*long)];
            let mut entries = Vec::new();
            for value in &values {
                let bytes = ValueBytes::of(value);
                for item in items {
                    let entry = form.entry(bytes.as_slice(), item);
                    assert!(
                        entry.len() <= ENTRY_BYTES_MAX && entry.starts_with(&form.start(bytes.as_slice()))
                    );
                    assert_eq!(form.split(&entry), Ok((bytes.as_slice(), item)));
                    assert_eq!(form.start_of(&entry), form.start(bytes.as_slice()));
                    assert_eq!(form.check(&entry), Ok((bytes.as_slice(), item)));
                    entries.push(entry);
                }
            }
            assert!(form.is_hashed() || entries.is_sorted());
            assert!(entries.chunks(2).all(|pair| pair[0] < pair[1]), "by item");
            entries.sort();
            assert!(entries.is_sorted_by_key(|entry| key_of(entry)));
            assert!(form.split(&entries[0][..4]).is_err() && form.split(&[]).is_err());
            if form.is_hashed() {
                entries[0][0] ^= 1;
                assert!(form.check(&entries[0]).unwrap_err().contains("hash"));
            }
        }
    }
}
