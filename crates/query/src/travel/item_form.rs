//! Item form: items of programs and rows, as bytes.
//!
//! ```text
//! item   0 null, 1 value in the form of files, 2 vertex:u32, 3 edge: source:u32 type:u16 target:u32 discriminator:u16
//! ```

use crate::value::item::Item;
use evergraph_graph::bytes::{Decoded, Reader};
use evergraph_graph::id::{EdgeId, TypeId, VertexId};
use evergraph_graph::value::Value;

mod item_kind {
    pub const NULL: u8 = 0;
    pub const VALUE: u8 = 1;
    pub const VERTEX: u8 = 2;
    pub const EDGE: u8 = 3;
}

/// Appends an item; whether it has a form here.
pub(super) fn put_item(out: &mut Vec<u8>, item: &Item) -> bool {
    match item {
        Item::Null => out.push(item_kind::NULL),
        Item::Value(value) => {
            out.push(item_kind::VALUE);
            value.encode(out);
        }
        Item::Vertex(vertex) => {
            out.push(item_kind::VERTEX);
            out.extend_from_slice(&vertex.0.to_le_bytes());
        }
        Item::Edge(edge) => {
            out.push(item_kind::EDGE);
            out.extend_from_slice(&edge.source.0.to_le_bytes());
            out.extend_from_slice(&edge.edge_type.0.to_le_bytes());
            out.extend_from_slice(&edge.target.0.to_le_bytes());
            out.extend_from_slice(&edge.discriminator.to_le_bytes());
        }
        _ => return false,
    }
    true
}

/// Reads what [`put_item`] wrote.
pub(super) fn take_item(reader: &mut Reader<'_>) -> Decoded<Item> {
    let start = reader.clone();
    Ok(match reader.u8()? {
        item_kind::NULL => Item::Null,
        item_kind::VALUE => Item::Value(Value::decode(reader)?),
        item_kind::VERTEX => Item::Vertex(VertexId(reader.u32()?)),
        item_kind::EDGE => Item::Edge(EdgeId {
            source: VertexId(reader.u32()?),
            edge_type: TypeId(reader.u16()?),
            target: VertexId(reader.u32()?),
            discriminator: reader.u16()?,
        }),
        found => return Err(start.error(format!("a kind of item expected, found {found}"))),
    })
}
