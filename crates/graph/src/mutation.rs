//! One change of a graph: the only form in which changes travel.
//!
//! A client's transaction, the log, a replica's feed and the cluster's stream all carry these.
//! They are *resolved*: ids and discriminators are explicit, a deleted vertex is preceded by each
//! of its deleted edges, and an insert says that nothing was there, so that replaying them never
//! has to read what is stored.
//!
//! ```text
//! BYTE  CHANGE                 THEN
//!    1  insert vertex          vertex:u32 label:u16 properties
//!    2  delete vertex          vertex:u32
//!    3  set vertex properties  vertex:u32 properties
//!    4  insert edge            edge properties
//!    5  replace edge           edge properties
//!    6  delete edge            edge
//!    7  set edge properties    edge properties
//!   16  add label              id:u16 name
//!   17  add edge type          id:u16 simple:u8 name
//!   18  add key                id:u16 name
//!   19  define property        owner:u8 (0 label, 1 edge type) id:u16 key:u16 value_type:u8
//!   20  add unique index       label:u16 key:u16
//!   21  join                   edge_type:u16 source:u16 target:u16
//!   22  add index              index unique:u8
//!   23  drop index             index
//!   24  order newest first     edge_type:u16 key:u16
//!   25  add meta key           id:u16 of:u16
//!   26  leave index            subject:u32 value_bytes item
//!   27  note                   name set:u8 (0 removed, 1 set), then its bytes if set
//!
//! edge        source:u32 edge_type:u16 target:u32 discriminator:varint
//! index       owner:u8 (0 label, 1 edge type) id:u16 key:u16 kind:u8 (0 hash, 1 ordered)
//! properties  count:varint, then key:u16 and a value, or the byte 0 for a removal
//! name        length:varint UTF-8
//! value_bytes length:varint (1 to 64), then the order bytes of a value (see `value::order_bytes`)
//! item        kind:u8 (0 vertex, 1 edge), then vertex:u32 or edge
//! bytes       length:varint (at most 16 MiB), then the bytes; the name of a note has 1 to 255
//! ```
//!
//! Numbers are little-endian; a varint is LEB128. A unique hash index of a label is always written as 20,
//! so that there is one form of each change; 22 is every other index.
//!
//! 26 is written only for an engine that keeps its indexes in files (required feature `index_entries` of its manifest):
//! the value that leaves is an old one, which replay could not read any more. Subjects are that engine's own
//! numbers; an engine that keeps no indexes skips the change.
//!
//! 27 is written only into a database whose manifest names the required feature `notes`. No engine sees it.

use crate::bytes::{Decoded, Reader, put_bytes, put_varint};
use crate::id::{EdgeId, KeyId, LabelId, TypeId, VertexId};
use crate::index::{IndexDefinition, IndexId, IndexKind};
use crate::index_entry::{ItemId, LeavingEntry};
use crate::note::{NOTE_BYTES_MAX, NOTE_NAME_BYTES_MAX, NoteChange};
use crate::owner::Owner;
use crate::properties::Properties;
use crate::schema_change::SchemaChange;
use crate::value::Value;
use crate::value::ValueType;
use crate::value::order_bytes::value_bytes::ValueBytes;

/// One resolved change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mutation {
    /// A vertex that was not there.
    InsertVertex {
        /// Its id: new.
        vertex: VertexId,
        /// The label of its group.
        label: LabelId,
        /// Its properties.
        properties: Properties,
    },
    /// A vertex that was there and has no edges any more.
    DeleteVertex {
        /// Which one.
        vertex: VertexId,
    },
    /// Properties of a vertex that is there.
    SetVertexProperties {
        /// Which one.
        vertex: VertexId,
        /// What changes.
        properties: Properties,
    },
    /// An edge that was not there.
    InsertEdge {
        /// Its identity.
        edge: EdgeId,
        /// Its properties.
        properties: Properties,
    },
    /// All properties of an edge that was there: those not named are removed.
    ReplaceEdge {
        /// Its identity.
        edge: EdgeId,
        /// Its properties from now on.
        properties: Properties,
    },
    /// An edge that was there.
    DeleteEdge {
        /// Its identity.
        edge: EdgeId,
    },
    /// Properties of an edge that is there.
    SetEdgeProperties {
        /// Its identity.
        edge: EdgeId,
        /// What changes.
        properties: Properties,
    },
    /// A change of the catalogue.
    Schema(SchemaChange),
    /// An entry that was in an index in files. Engines that keep no indexes skip it.
    LeaveIndex(Box<LeavingEntry>),
    /// A note that is set or removed. It is no part of the graph: the front keeps it.
    Note(NoteChange),
}

// Commits hold many; what is rare and long is boxed.
const _: () = assert!(size_of::<Mutation>() <= 40);

mod code {
    pub const INSERT_VERTEX: u8 = 1;
    pub const DELETE_VERTEX: u8 = 2;
    pub const SET_VERTEX: u8 = 3;
    pub const INSERT_EDGE: u8 = 4;
    pub const REPLACE_EDGE: u8 = 5;
    pub const DELETE_EDGE: u8 = 6;
    pub const SET_EDGE: u8 = 7;
    pub const ADD_LABEL: u8 = 16;
    pub const ADD_EDGE_TYPE: u8 = 17;
    pub const ADD_KEY: u8 = 18;
    pub const DEFINE_PROPERTY: u8 = 19;
    pub const ADD_UNIQUE_INDEX: u8 = 20;
    pub const JOIN: u8 = 21;
    pub const ADD_INDEX: u8 = 22;
    pub const DROP_INDEX: u8 = 23;
    pub const ORDER_NEWEST_FIRST: u8 = 24;
    pub const ADD_META_KEY: u8 = 25;
    pub const LEAVE_INDEX: u8 = 26;
    pub const NOTE: u8 = 27;
}

/// In place of a value's type code: the property is removed.
const REMOVED: u8 = 0;
/// Kinds of items.
const VERTEX_ITEM: u8 = 0;
const EDGE_ITEM: u8 = 1;

impl Mutation {
    /// Appends the stable binary form.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::InsertVertex { vertex, label, properties } => {
                out.push(code::INSERT_VERTEX);
                out.extend_from_slice(&vertex.0.to_le_bytes());
                out.extend_from_slice(&label.0.to_le_bytes());
                put_properties(out, properties);
            }
            Self::DeleteVertex { vertex } => {
                out.push(code::DELETE_VERTEX);
                out.extend_from_slice(&vertex.0.to_le_bytes());
            }
            Self::SetVertexProperties { vertex, properties } => {
                out.push(code::SET_VERTEX);
                out.extend_from_slice(&vertex.0.to_le_bytes());
                put_properties(out, properties);
            }
            Self::InsertEdge { edge, properties } => {
                put_edge(out, code::INSERT_EDGE, edge);
                put_properties(out, properties);
            }
            Self::ReplaceEdge { edge, properties } => {
                put_edge(out, code::REPLACE_EDGE, edge);
                put_properties(out, properties);
            }
            Self::DeleteEdge { edge } => put_edge(out, code::DELETE_EDGE, edge),
            Self::SetEdgeProperties { edge, properties } => {
                put_edge(out, code::SET_EDGE, edge);
                put_properties(out, properties);
            }
            Self::Schema(change) => put_schema(out, change),
            Self::LeaveIndex(entry) => put_leaving(out, entry),
            Self::Note(change) => put_note(out, change),
        }
    }

    /// Reads one change.
    ///
    /// # Errors
    /// If the bytes are not the stable form of a change.
    pub fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        let start = reader.clone();
        let found = reader.u8()?;
        Ok(match found {
            code::INSERT_VERTEX => {
                let vertex = VertexId(reader.u32()?);
                let label = LabelId(reader.u16()?);
                Self::InsertVertex { vertex, label, properties: take_properties(reader)? }
            }
            code::DELETE_VERTEX => Self::DeleteVertex { vertex: VertexId(reader.u32()?) },
            code::SET_VERTEX => {
                let vertex = VertexId(reader.u32()?);
                Self::SetVertexProperties { vertex, properties: take_properties(reader)? }
            }
            code::INSERT_EDGE => {
                Self::InsertEdge { edge: take_edge(reader)?, properties: take_properties(reader)? }
            }
            code::REPLACE_EDGE => {
                Self::ReplaceEdge { edge: take_edge(reader)?, properties: take_properties(reader)? }
            }
            code::DELETE_EDGE => Self::DeleteEdge { edge: take_edge(reader)? },
            code::SET_EDGE => {
                Self::SetEdgeProperties { edge: take_edge(reader)?, properties: take_properties(reader)? }
            }
            code::ADD_LABEL..=code::ADD_META_KEY => Self::Schema(take_schema(found, reader)?),
            code::LEAVE_INDEX => Self::LeaveIndex(Box::new(take_leaving(reader)?)),
            code::NOTE => Self::Note(take_note(reader)?),
            _ => return Err(start.error(format!("a kind of change expected, found {found}"))),
        })
    }
}

fn put_leaving(out: &mut Vec<u8>, entry: &LeavingEntry) {
    out.push(code::LEAVE_INDEX);
    out.extend_from_slice(&entry.subject.to_le_bytes());
    put_bytes(out, entry.value.as_slice());
    match &entry.item {
        ItemId::Vertex(vertex) => {
            out.push(VERTEX_ITEM);
            out.extend_from_slice(&vertex.0.to_le_bytes());
        }
        ItemId::Edge(edge) => put_edge(out, EDGE_ITEM, edge),
    }
}

fn take_leaving(reader: &mut Reader<'_>) -> Decoded<LeavingEntry> {
    let subject = reader.u32()?;
    let start = reader.clone();
    // Whether they are a value's doesn't matter: they name an entry.
    let value = ValueBytes::from_stored(reader.bytes()?).map_err(|error| start.error(error.expected))?;
    let start = reader.clone();
    let item = match reader.u8()? {
        VERTEX_ITEM => ItemId::Vertex(VertexId(reader.u32()?)),
        EDGE_ITEM => ItemId::Edge(take_edge(reader)?),
        found => return Err(start.error(format!("a kind of item expected, found {found}"))),
    };
    Ok(LeavingEntry { subject, value, item })
}

fn put_note(out: &mut Vec<u8>, change: &NoteChange) {
    out.push(code::NOTE);
    put_bytes(out, change.name.as_bytes());
    out.push(u8::from(change.bytes.is_some()));
    if let Some(bytes) = &change.bytes {
        put_bytes(out, bytes);
    }
}

fn take_note(reader: &mut Reader<'_>) -> Decoded<NoteChange> {
    let name = take_note_name(reader)?;
    let bytes = if take_flag(reader)? { Some(take_note_bytes(reader)?.into()) } else { None };
    Ok(NoteChange { name: name.into(), bytes })
}

/// The name of a note: 1 to 255 bytes of UTF-8.
///
/// # Errors
/// If it is not.
pub fn take_note_name<'a>(reader: &mut Reader<'a>) -> Decoded<&'a str> {
    let start = reader.clone();
    let name = reader.text()?;
    if (1..=NOTE_NAME_BYTES_MAX).contains(&name.len()) {
        return Ok(name);
    }
    Err(start.error(format!("a note's name of 1 to {NOTE_NAME_BYTES_MAX} bytes expected")))
}

/// What a note says: at most 16 MiB.
///
/// # Errors
/// If it is more.
pub fn take_note_bytes<'a>(reader: &mut Reader<'a>) -> Decoded<&'a [u8]> {
    let start = reader.clone();
    let bytes = reader.bytes()?;
    if bytes.len() <= NOTE_BYTES_MAX {
        return Ok(bytes);
    }
    Err(start.error(format!("a note of at most {NOTE_BYTES_MAX} bytes expected")))
}

/// Appends `first`, a code or a kind, then the edge.
fn put_edge(out: &mut Vec<u8>, first: u8, edge: &EdgeId) {
    // In one piece: each one costs a look at the room that is left.
    let mut ends = [first; 11];
    ends[1..5].copy_from_slice(&edge.source.0.to_le_bytes());
    ends[5..7].copy_from_slice(&edge.edge_type.0.to_le_bytes());
    ends[7..11].copy_from_slice(&edge.target.0.to_le_bytes());
    out.extend_from_slice(&ends);
    put_varint(out, u64::from(edge.discriminator));
}

fn take_edge(reader: &mut Reader<'_>) -> Decoded<EdgeId> {
    let source = VertexId(reader.u32()?);
    let edge_type = TypeId(reader.u16()?);
    let target = VertexId(reader.u32()?);
    let start = reader.clone();
    let discriminator = u16::try_from(reader.varint()?)
        .map_err(|_| start.error("a discriminator of at most 16 bits expected"))?;
    Ok(EdgeId { source, edge_type, target, discriminator })
}

/// Appends the form of properties in the log.
pub fn put_properties(out: &mut Vec<u8>, properties: &Properties) {
    let changes = properties.as_slice();
    put_varint(out, changes.len() as u64);
    for (key, value) in changes {
        out.extend_from_slice(&key.0.to_le_bytes());
        match value {
            Some(value) => value.encode(out),
            None => out.push(REMOVED),
        }
    }
}

/// Reads what [`put_properties`] wrote.
///
/// # Errors
/// If there is something else.
pub fn take_properties(reader: &mut Reader<'_>) -> Decoded<Properties> {
    let count = reader.count(3)?;
    let mut changes: Vec<(KeyId, Option<Value>)> = Vec::with_capacity(count);
    for _ in 0..count {
        let start = reader.clone();
        let key = KeyId(reader.u16()?);
        if changes.last().is_some_and(|last| last.0 >= key) {
            return Err(start.error("property keys in ascending order expected"));
        }
        let mut ahead = reader.clone();
        let value = if ahead.u8()? == REMOVED {
            *reader = ahead;
            None
        } else {
            Some(Value::decode(reader)?)
        };
        changes.push((key, value));
    }
    Ok(Properties::new(changes))
}

fn put_schema(out: &mut Vec<u8>, change: &SchemaChange) {
    let mut head = |code: u8, ids: &[u16]| {
        out.push(code);
        ids.iter().for_each(|id| out.extend_from_slice(&id.to_le_bytes()));
    };
    match change {
        SchemaChange::AddLabel { id, name } => {
            head(code::ADD_LABEL, &[id.0]);
            put_bytes(out, name.as_bytes());
        }
        SchemaChange::AddEdgeType { id, name, simple } => {
            head(code::ADD_EDGE_TYPE, &[id.0]);
            out.push(u8::from(*simple));
            put_bytes(out, name.as_bytes());
        }
        SchemaChange::AddKey { id, name } => {
            head(code::ADD_KEY, &[id.0]);
            put_bytes(out, name.as_bytes());
        }
        SchemaChange::AddMetaKey { id, of } => head(code::ADD_META_KEY, &[id.0, of.0]),
        SchemaChange::DefineProperty { owner, key, value_type } => {
            out.push(code::DEFINE_PROPERTY);
            put_property(out, *owner, *key);
            out.push(value_type.code());
        }
        SchemaChange::AddIndex(IndexDefinition {
            id: IndexId { owner: Owner::Label(label), key, kind: IndexKind::Hash },
            unique: true,
        }) => head(code::ADD_UNIQUE_INDEX, &[label.0, key.0]),
        SchemaChange::AddIndex(IndexDefinition { id, unique }) => {
            put_index(out, code::ADD_INDEX, id);
            out.push(u8::from(*unique));
        }
        SchemaChange::DropIndex(id) => put_index(out, code::DROP_INDEX, id),
        SchemaChange::OrderNewestFirst { edge_type, key } => {
            head(code::ORDER_NEWEST_FIRST, &[edge_type.0, key.0]);
        }
        SchemaChange::Join { edge_type, source, target } => {
            head(code::JOIN, &[edge_type.0, source.0, target.0]);
        }
    }
}

fn take_schema(found: u8, reader: &mut Reader<'_>) -> Decoded<SchemaChange> {
    let start = reader.clone();
    Ok(match found {
        code::ADD_LABEL => SchemaChange::AddLabel { id: LabelId(reader.u16()?), name: reader.text()?.into() },
        code::ADD_EDGE_TYPE => {
            let id = TypeId(reader.u16()?);
            let simple = take_flag(reader)?;
            SchemaChange::AddEdgeType { id, name: reader.text()?.into(), simple }
        }
        code::ADD_KEY => SchemaChange::AddKey { id: KeyId(reader.u16()?), name: reader.text()?.into() },
        code::ADD_META_KEY => SchemaChange::AddMetaKey { id: KeyId(reader.u16()?), of: KeyId(reader.u16()?) },
        code::DEFINE_PROPERTY => {
            let (owner, key) = take_property(reader)?;
            let found = reader.u8()?;
            let value_type = ValueType::from_code(found)
                .ok_or_else(|| start.error(format!("a value type expected, found {found}")))?;
            SchemaChange::DefineProperty { owner, key, value_type }
        }
        code::ADD_UNIQUE_INDEX => {
            let owner = Owner::Label(LabelId(reader.u16()?));
            let id = IndexId { owner, key: KeyId(reader.u16()?), kind: IndexKind::Hash };
            SchemaChange::AddIndex(IndexDefinition { id, unique: true })
        }
        code::ADD_INDEX => {
            let start = reader.clone();
            let (id, unique) = (take_index_id(reader)?, take_flag(reader)?);
            if unique && matches!(id, IndexId { owner: Owner::Label(_), kind: IndexKind::Hash, .. }) {
                return Err(start.error("an index other than a unique hash index of a label expected"));
            }
            SchemaChange::AddIndex(IndexDefinition { id, unique })
        }
        code::DROP_INDEX => SchemaChange::DropIndex(take_index_id(reader)?),
        code::ORDER_NEWEST_FIRST => {
            SchemaChange::OrderNewestFirst { edge_type: TypeId(reader.u16()?), key: KeyId(reader.u16()?) }
        }
        code::JOIN => SchemaChange::Join {
            edge_type: TypeId(reader.u16()?),
            source: LabelId(reader.u16()?),
            target: LabelId(reader.u16()?),
        },
        _ => return Err(start.error(format!("a change of the catalogue expected, found {found}"))),
    })
}

fn put_property(out: &mut Vec<u8>, owner: Owner, key: KeyId) {
    let (kind, id) = match owner {
        Owner::Label(label) => (0, label.0),
        Owner::EdgeType(edge_type) => (1, edge_type.0),
    };
    out.push(kind);
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(&key.0.to_le_bytes());
}

fn take_property(reader: &mut Reader<'_>) -> Decoded<(Owner, KeyId)> {
    let of_edges = take_flag(reader)?;
    let id = reader.u16()?;
    let owner = if of_edges { Owner::EdgeType(TypeId(id)) } else { Owner::Label(LabelId(id)) };
    Ok((owner, KeyId(reader.u16()?)))
}

fn put_index(out: &mut Vec<u8>, code: u8, id: &IndexId) {
    out.push(code);
    put_index_id(out, id);
}

/// Appends the identity of an index: owner, key, kind.
pub fn put_index_id(out: &mut Vec<u8>, id: &IndexId) {
    put_property(out, id.owner, id.key);
    out.push(id.kind.code());
}

/// Reads what [`put_index_id`] wrote.
///
/// # Errors
/// If it is none.
pub fn take_index_id(reader: &mut Reader<'_>) -> Decoded<IndexId> {
    let (owner, key) = take_property(reader)?;
    let start = reader.clone();
    let found = reader.u8()?;
    let kind = IndexKind::from_code(found)
        .ok_or_else(|| start.error(format!("a kind of index expected, found {found}")))?;
    Ok(IndexId { owner, key, kind })
}

fn take_flag(reader: &mut Reader<'_>) -> Decoded<bool> {
    let start = reader.clone();
    match reader.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        found => Err(start.error(format!("0 or 1 expected, found {found}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::strategy::any_value;
    use proptest::prelude::*;

    fn any_edge() -> impl Strategy<Value = EdgeId> {
        (any::<u32>(), any::<u16>(), any::<u32>(), any::<u16>()).prop_map(|(s, t, d, discriminator)| EdgeId {
            source: VertexId(s),
            edge_type: TypeId(t),
            target: VertexId(d),
            discriminator,
        })
    }

    fn any_properties() -> impl Strategy<Value = Properties> {
        proptest::collection::vec((any::<u16>(), proptest::option::of(any::<i64>())), 0..4).prop_map(|list| {
            list.into_iter().map(|(key, value)| (KeyId(key), value.map(crate::value::Value::I64))).collect()
        })
    }

    fn any_mutation() -> impl Strategy<Value = Mutation> {
        prop_oneof![
            (any::<u32>(), any::<u16>(), any_properties()).prop_map(|(v, l, properties)| {
                Mutation::InsertVertex { vertex: VertexId(v), label: LabelId(l), properties }
            }),
            any::<u32>().prop_map(|v| Mutation::DeleteVertex { vertex: VertexId(v) }),
            (any::<u32>(), any_properties()).prop_map(|(v, properties)| {
                Mutation::SetVertexProperties { vertex: VertexId(v), properties }
            }),
            (any_edge(), any_properties())
                .prop_map(|(edge, properties)| Mutation::InsertEdge { edge, properties }),
            (any_edge(), any_properties())
                .prop_map(|(edge, properties)| Mutation::ReplaceEdge { edge, properties }),
            any_edge().prop_map(|edge| Mutation::DeleteEdge { edge }),
            (any_edge(), any_properties())
                .prop_map(|(edge, properties)| Mutation::SetEdgeProperties { edge, properties }),
            (any::<u16>(), ".{0,8}", any::<bool>()).prop_map(|(id, name, simple)| {
                Mutation::Schema(SchemaChange::AddEdgeType { id: TypeId(id), name: name.into(), simple })
            }),
            (any::<u16>(), ".{0,8}").prop_map(|(id, name)| {
                Mutation::Schema(SchemaChange::AddLabel { id: LabelId(id), name: name.into() })
            }),
            (any::<u16>(), any::<u16>(), any::<bool>()).prop_map(|(id, key, of_edges)| {
                let owner = if of_edges { Owner::EdgeType(TypeId(id)) } else { Owner::Label(LabelId(id)) };
                let value_type = ValueType::I64;
                Mutation::Schema(SchemaChange::DefineProperty { owner, key: KeyId(key), value_type })
            }),
            any::<(u16, u16)>().prop_map(|(edge_type, key)| {
                let (edge_type, key) = (TypeId(edge_type), KeyId(key));
                Mutation::Schema(SchemaChange::OrderNewestFirst { edge_type, key })
            }),
            (any::<(u16, u16)>(), any::<(bool, bool, bool, bool)>()).prop_map(
                |((id, key), (of_edges, ordered, unique, dropped))| {
                    let owner =
                        if of_edges { Owner::EdgeType(TypeId(id)) } else { Owner::Label(LabelId(id)) };
                    let kind = if ordered { IndexKind::Ordered } else { IndexKind::Hash };
                    let id = IndexId { owner, key: KeyId(key), kind };
                    let add = SchemaChange::AddIndex(IndexDefinition { id, unique });
                    Mutation::Schema(if dropped { SchemaChange::DropIndex(id) } else { add })
                }
            ),
            (any::<u32>(), any_value(), any::<u32>(), proptest::option::of(any_edge())).prop_map(
                |(subject, value, vertex, edge)| {
                    let item = edge.map_or(ItemId::Vertex(VertexId(vertex)), ItemId::Edge);
                    let value = ValueBytes::of(&value);
                    Mutation::LeaveIndex(Box::new(LeavingEntry { subject, value, item }))
                }
            ),
            ("[a-zå]{1,9}", proptest::option::of(proptest::collection::vec(any::<u8>(), 0..9))).prop_map(
                |(name, bytes)| {
                    Mutation::Note(NoteChange { name: name.into(), bytes: bytes.map(Into::into) })
                }
            ),
        ]
    }

    proptest! {
        #[test]
        fn a_change_reads_back_and_no_cut_of_it_does(mutation in any_mutation()) {
            let mut bytes = Vec::new();
            mutation.encode(&mut bytes);
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(Mutation::decode(&mut reader), Ok(mutation));
            prop_assert!(reader.is_empty());
            for cut in 0..bytes.len() {
                prop_assert!(Mutation::decode(&mut Reader::new(&bytes[..cut])).is_err());
            }
        }

        #[test]
        fn any_bytes_are_a_change_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Mutation::decode(&mut Reader::new(&bytes));
        }
    }

    #[test]
    fn the_form_of_format_version_1_stays() {
        let edge = EdgeId {
            source: VertexId(1),
            edge_type: TypeId(2),
            target: VertexId(0x0403_0201),
            discriminator: 300,
        };
        let mut bytes = Vec::new();
        Mutation::DeleteEdge { edge }.encode(&mut bytes);
        assert_eq!(bytes, [6, 1, 0, 0, 0, 2, 0, 1, 2, 3, 4, 0xac, 0x02]);
        bytes.clear();
        Mutation::Schema(SchemaChange::AddKey { id: KeyId(7), name: "å".into() }).encode(&mut bytes);
        assert_eq!(bytes, [18, 7, 0, 2, 0xc3, 0xa5]);
        let on = |owner, kind| IndexId { owner, key: KeyId(7), kind };
        let add =
            |owner, kind, unique| SchemaChange::AddIndex(IndexDefinition { id: on(owner, kind), unique });
        let (label, edge_type) = (Owner::Label(LabelId(5)), Owner::EdgeType(TypeId(5)));
        for (change, wanted) in [
            (add(label, IndexKind::Hash, true), &[20, 5, 0, 7, 0][..]),
            (add(label, IndexKind::Hash, false), &[22, 0, 5, 0, 7, 0, 0, 0]),
            (add(edge_type, IndexKind::Ordered, true), &[22, 1, 5, 0, 7, 0, 1, 1]),
            (SchemaChange::DropIndex(on(label, IndexKind::Hash)), &[23, 0, 5, 0, 7, 0, 0]),
            (SchemaChange::OrderNewestFirst { edge_type: TypeId(5), key: KeyId(0x0107) }, &[24, 5, 0, 7, 1]),
            (SchemaChange::AddMetaKey { id: KeyId(0x0107), of: KeyId(5) }, &[25, 7, 1, 5, 0]),
        ] {
            bytes.clear();
            Mutation::Schema(change).encode(&mut bytes);
            assert_eq!(bytes, wanted);
        }
    }

    #[test]
    fn an_entry_that_leaves_an_index_has_the_form_of_code_26() {
        let mut bytes = Vec::new();
        let value = ValueBytes::of(&Value::from("a"));
        let mut entry =
            LeavingEntry { subject: (1 << 24) + 5, value, item: ItemId::Vertex(VertexId(0x0403_0201)) };
        Mutation::LeaveIndex(Box::new(entry.clone())).encode(&mut bytes);
        assert_eq!(bytes, [26, 5, 0, 0, 1, 4, 0x18, b'a', 0, 11, 0, 1, 2, 3, 4]);
        bytes.clear();
        let (source, target) = (VertexId(1), VertexId(3));
        entry.item = ItemId::Edge(EdgeId { source, edge_type: TypeId(2), target, discriminator: 300 });
        Mutation::LeaveIndex(Box::new(entry)).encode(&mut bytes);
        assert_eq!(
            bytes,
            [26, 5, 0, 0, 1, 4, 0x18, b'a', 0, 11, 1, 1, 0, 0, 0, 2, 0, 3, 0, 0, 0, 0xac, 0x02]
        );
    }

    #[test]
    fn an_entry_with_no_value_too_long_a_one_or_no_item_is_refused() {
        let decode = |bytes: &[u8]| Mutation::decode(&mut Reader::new(bytes)).unwrap_err();
        assert_eq!(decode(&[26, 5, 0, 0, 1, 0, 0, 1, 2, 3, 4]).offset, 5);
        let long = [&[26, 5, 0, 0, 1, 65][..], &[7; 65], &[0, 1, 2, 3, 4]].concat();
        assert!(decode(&long).expected.contains("1 to 64 order bytes"));
        assert_eq!(decode(&[26, 5, 0, 0, 1, 1, 7, 2, 1, 2, 3, 4]).offset, 7);
    }

    #[test]
    fn a_note_that_is_set_or_removed_has_the_form_of_code_27() {
        let mut bytes = Vec::new();
        let mut change = NoteChange { name: "å".into(), bytes: Some([7, 0][..].into()) };
        Mutation::Note(change.clone()).encode(&mut bytes);
        assert_eq!(bytes, [27, 2, 0xc3, 0xa5, 1, 2, 7, 0]);
        bytes.clear();
        change.bytes = None;
        Mutation::Note(change).encode(&mut bytes);
        assert_eq!(bytes, [27, 2, 0xc3, 0xa5, 0]);
    }

    #[test]
    fn a_note_without_a_name_or_with_one_too_long_or_with_too_much_in_it_is_refused() {
        let decode = |bytes: &[u8]| Mutation::decode(&mut Reader::new(bytes));
        let error = decode(&[27, 0, 0]).unwrap_err();
        assert_eq!((error.offset, error.expected.contains("1 to 255 bytes")), (1, true), "{error}");
        assert!(decode(&[&[27, 0xff, 1][..], &[b'a'; 255], &[0]].concat()).is_ok());
        assert!(decode(&[&[27, 0x80, 2][..], &[b'a'; 256], &[0]].concat()).is_err());
        assert_eq!(decode(&[27, 1, b'a', 2]).unwrap_err().offset, 3);
        let mut long = vec![27, 1, b'a', 1];
        put_bytes(&mut long, &vec![0; NOTE_BYTES_MAX + 1]);
        assert_eq!(decode(&long).unwrap_err().offset, 4);
    }

    /// The fuzzer found it: read as an index, written as 20, and so two forms of one change.
    #[test]
    fn a_unique_hash_index_of_a_label_has_one_form_only() {
        let decode = |bytes: &[u8]| Mutation::decode(&mut Reader::new(bytes));
        let error = decode(&[22, 0, 5, 0, 7, 0, 0, 1]).unwrap_err();
        assert_eq!((error.offset, error.expected.contains("unique hash index")), (1, true), "{error}");
        assert!(decode(&[20, 5, 0, 7, 0]).is_ok());
        assert!(decode(&[22, 0, 5, 0, 7, 0, 1, 1]).is_ok(), "an ordered one is no other's");
    }
}
