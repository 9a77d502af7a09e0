//! Record: what one file or the log says of an item, as bytes that sort by item and then from the newest on.
//!
//! ```text
//! key 14 | age 4 | !timestamp 8 | !mutation 4 | side 1 | operation 1 | properties
//! properties    key u16, kind 1 (0 removed, 1 lost, 2 value, 3 all lost), the value
//! ```
//!
//! The key is that of a vertex, or of an edge in its out list, whichever side says it: what both sides say stands
//! together.

use crate::durable::salvage::gaps::Age;
use crate::format::operation::RecordOperation;
use crate::format::subject::{EdgeSide, Subject, SubjectKind};
use crate::format::tree_key::{ItemKey, ListId};
use crate::stored_file::list_key;
use evergraph_graph::bytes::{Decoded, Reader};
use evergraph_graph::id::{EdgeId, KeyId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;

/// Bytes of a key.
pub(super) const KEY_BYTES: usize = 14;

/// What is known of one property.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum SavedValue {
    /// It was removed.
    Removed,
    /// What was said is damaged.
    Lost,
    /// What was said of this and every other property may be damaged; the key says nothing.
    AllLost,
    /// Its value.
    Value(Value),
}

/// Who says it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum RecordSide {
    /// The log, which speaks for both sides; a vertex; or an out list.
    Own,
    /// An in list: it has no properties, and tells of inserts and deletes alone.
    InList,
}

/// A record that was saved.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SavedRecord {
    /// How old.
    pub age: Age,
    /// Of which commit, where that is known.
    pub timestamp: Timestamp,
    /// Who says it.
    pub side: RecordSide,
    /// What.
    pub operation: RecordOperation,
    /// The properties that it carries.
    pub properties: Vec<(KeyId, SavedValue)>,
}

impl SavedRecord {
    /// Appends it as a record of `key`; `mutation` is its place in its commit.
    pub(super) fn put(&self, key: &[u8], mutation: u32, out: &mut Vec<u8>) {
        out.extend_from_slice(key);
        out.extend_from_slice(&self.age.0.to_be_bytes());
        out.extend_from_slice(&(!self.timestamp.0).to_be_bytes());
        out.extend_from_slice(&(!mutation).to_be_bytes());
        out.push(u8::from(self.side == RecordSide::InList));
        out.push(self.operation.code());
        for (key, value) in &self.properties {
            out.extend_from_slice(&key.0.to_le_bytes());
            match value {
                SavedValue::Removed => out.push(0),
                SavedValue::Lost => out.push(1),
                SavedValue::AllLost => out.push(3),
                SavedValue::Value(value) => {
                    out.push(2);
                    value.encode(out);
                }
            }
        }
    }

    /// Reads what [`SavedRecord::put`] wrote, its key apart.
    ///
    /// # Errors
    /// If the bytes are not a record's: what was spilled is not what was written.
    pub(super) fn take(bytes: &[u8]) -> Decoded<(&[u8], Self)> {
        let mut reader = Reader::new(bytes);
        let key = reader.take(KEY_BYTES)?;
        let age = Age(u32::from_be_bytes(reader.array()?));
        let timestamp = Timestamp(!u64::from_be_bytes(reader.array()?));
        reader.take(4)?;
        let side = if reader.u8()? == 0 { RecordSide::Own } else { RecordSide::InList };
        let operation = RecordOperation::from_low_bits(reader.u8()?);
        let mut properties = Vec::new();
        while !reader.is_empty() {
            let key = KeyId(reader.u16()?);
            let value = match reader.u8()? {
                0 => SavedValue::Removed,
                1 => SavedValue::Lost,
                3 => SavedValue::AllLost,
                _ => SavedValue::Value(Value::decode(&mut reader)?),
            };
            properties.push((key, value));
        }
        Ok((key, Self { age, timestamp, side, operation, properties }))
    }
}

/// The key of a vertex.
pub(super) fn vertex_key(vertex: VertexId) -> Vec<u8> {
    list_key(ListId::vertex(vertex), ItemKey::VERTEX)
}

/// The keys of an edge in its out list and in its in list.
pub(super) fn edge_keys(edge: &EdgeId) -> [Vec<u8>; 2] {
    [
        list_key(ListId::out_list(edge), ItemKey::edge(edge.target, edge.discriminator)),
        list_key(ListId::in_list(edge), ItemKey::edge(edge.source, edge.discriminator)),
    ]
}

/// What an item is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SavedItem {
    /// A vertex.
    Vertex(VertexId),
    /// An edge.
    Edge(EdgeId),
}

impl SavedItem {
    /// That of a key of a vertex or an out list.
    ///
    /// # Errors
    /// For any other.
    pub(super) fn of(key: &[u8]) -> Decoded<Self> {
        let mut reader = Reader::new(key);
        let start = reader.clone();
        let subject = u32::from_be_bytes(reader.array()?);
        let [vertex, neighbor] = [u32::from_be_bytes(reader.array()?), u32::from_be_bytes(reader.array()?)];
        let discriminator = u16::from_be_bytes(reader.array()?);
        match Subject::from_number(subject).map(Subject::kind) {
            Some(SubjectKind::Vertices) => Ok(Self::Vertex(VertexId(vertex))),
            Some(SubjectKind::Edges { edge_type, side: EdgeSide::Out }) => {
                let (source, target) = (VertexId(vertex), VertexId(neighbor));
                Ok(Self::Edge(EdgeId { source, edge_type, target, discriminator }))
            }
            _ => Err(start.error("the key of a vertex or an out list expected")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::TypeId;

    #[test]
    fn records_read_back_and_newer_ones_come_first() {
        let record = |age, timestamp, operation| SavedRecord {
            age: Age(age),
            timestamp: Timestamp(timestamp),
            side: RecordSide::Own,
            operation,
            properties: vec![
                (KeyId(1), SavedValue::Value(Value::from("a"))),
                (KeyId(2), SavedValue::Lost),
                (KeyId(9), SavedValue::Removed),
                (KeyId(0), SavedValue::AllLost),
            ],
        };
        let (source, target) = (VertexId(7), VertexId(9));
        let edge = EdgeId { source, edge_type: TypeId(3), target, discriminator: 5 };
        let [key, _] = edge_keys(&edge);
        assert_eq!(SavedItem::of(&key).unwrap(), SavedItem::Edge(edge));
        assert_eq!(SavedItem::of(&vertex_key(source)).unwrap(), SavedItem::Vertex(source));
        let records = [
            record(0, 30, RecordOperation::Set),
            record(1, 20, RecordOperation::Delete),
            record(1, 10, RecordOperation::Insert),
            record(2, 40, RecordOperation::Replace),
        ];
        let mut before = Vec::new();
        for record in records {
            let mut bytes = Vec::new();
            record.put(&key, 3, &mut bytes);
            assert!(before < bytes);
            assert_eq!(SavedRecord::take(&bytes).unwrap(), (&key[..], record));
            before = bytes;
        }
    }
}
