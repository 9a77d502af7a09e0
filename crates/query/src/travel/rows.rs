//! Rows: what travels from stage to stage, as bytes.
//!
//! ```text
//! rows      kind:u8  0 vertices   count:varint, then each as its distance to the one before:varint; they ascend
//!                    1 items      count:varint, then each
//!           bulks:u8 0 one each   1 each:varint, at least 1
//! item      as `item_form.rs` has it
//! ```
//!
//! A row that is at a vertex and stands for one takes 1 to 5 bytes, and for several up to 10 more: within 16 bytes. A count is
//! compared with the bytes that follow before memory is taken for it.

use crate::batch::Batch;
use crate::batch::column::{Column, Data};
use crate::travel::item_form::{put_item, take_item};
use crate::value::item::Item;
use evergraph_graph::bytes::{DecodeError, Decoded, Reader, put_varint};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::travel::{EncodedRows, MESSAGE_ROWS_MAX};

mod kind {
    pub const VERTICES: u8 = 0;
    pub const ITEMS: u8 = 1;
}

/// Rows at `vertices`, which ascend, with how many each stands for.
///
/// # Panics
/// If there are more than [`MESSAGE_ROWS_MAX`], or they do not ascend.
#[must_use]
pub fn of_vertices(rows: &[(VertexId, u64)]) -> EncodedRows {
    assert!(rows.len() <= MESSAGE_ROWS_MAX, "a message has {} rows", rows.len());
    let mut bytes = Vec::with_capacity(16 + 4 * rows.len());
    bytes.push(kind::VERTICES);
    put_varint(&mut bytes, rows.len() as u64);
    let mut before = 0;
    for (vertex, _) in rows {
        assert!(vertex.0 >= before, "rows ascend");
        put_varint(&mut bytes, u64::from(vertex.0 - before));
        before = vertex.0;
    }
    put_bulks(&mut bytes, rows.iter().map(|(_, bulk)| *bulk));
    EncodedRows { count: rows.len() as u32, bytes }
}

/// Rows at any items, with how many each stands for.
///
/// # Errors
/// `busy` for an item that has no form here: whoever can read by itself does.
///
/// # Panics
/// If there are more than [`MESSAGE_ROWS_MAX`].
pub fn of_items(rows: &[(Item, u64)]) -> Result<EncodedRows> {
    assert!(rows.len() <= MESSAGE_ROWS_MAX, "a message has {} rows", rows.len());
    let mut bytes = vec![kind::ITEMS];
    put_varint(&mut bytes, rows.len() as u64);
    for (item, _) in rows {
        if !put_item(&mut bytes, item) {
            let text = format!("{} does not travel between nodes", item.kind());
            return Err(Error::new(ErrorKind::Busy, text));
        }
    }
    put_bulks(&mut bytes, rows.iter().map(|(_, bulk)| *bulk));
    Ok(EncodedRows { count: rows.len() as u32, bytes })
}

fn put_bulks(out: &mut Vec<u8>, bulks: impl Iterator<Item = u64> + Clone) {
    let several = bulks.clone().any(|bulk| bulk != 1);
    out.push(u8::from(several));
    if several {
        bulks.for_each(|bulk| put_varint(out, bulk));
    }
}

/// Reads rows.
///
/// # Errors
/// If there is something else, or more rows than travel together.
pub fn decode(bytes: &[u8]) -> Decoded<Batch> {
    let mut reader = Reader::new(bytes);
    let start = reader.clone();
    let current = match reader.u8()? {
        kind::VERTICES => take_vertices(&mut reader)?,
        kind::ITEMS => take_items(&mut reader)?,
        found => return Err(start.error(format!("a kind of rows expected, found {found}"))),
    };
    let rows = current.len();
    let start = reader.clone();
    let bulk = match reader.u8()? {
        0 => None,
        1 => Some(take_bulks(&mut reader, rows)?),
        found => return Err(start.error(format!("whether rows stand for several expected, found {found}"))),
    };
    if !reader.is_empty() {
        return Err(reader.error(format!("the end expected, {} bytes left", reader.remaining())));
    }
    let mut batch = Batch::new(current, vec![0; rows]);
    batch.bulk = bulk;
    Ok(batch)
}

fn take_count(reader: &mut Reader<'_>) -> Decoded<usize> {
    let start = reader.clone();
    let count = reader.count(1)?;
    if count > MESSAGE_ROWS_MAX {
        return Err(start.error(format!("at most {MESSAGE_ROWS_MAX} rows expected, found {count}")));
    }
    Ok(count)
}

fn take_vertices(reader: &mut Reader<'_>) -> Decoded<Column> {
    let count = take_count(reader)?;
    let (mut vertices, mut before) = (Vec::with_capacity(count), 0_u32);
    for _ in 0..count {
        let start = reader.clone();
        let vertex = u64::from(before).checked_add(reader.varint()?).and_then(|sum| u32::try_from(sum).ok());
        before = vertex.ok_or_else(|| start.error("a vertex expected"))?;
        vertices.push(VertexId(before));
    }
    Ok(Column::new(Data::Vertices(vertices)))
}

fn take_items(reader: &mut Reader<'_>) -> Decoded<Column> {
    let count = take_count(reader)?;
    // An item takes more memory than bytes: no more is reserved than a few.
    let mut items = Vec::with_capacity(count.min(1024));
    for _ in 0..count {
        items.push(take_item(reader)?);
    }
    let edges = items.iter().map(Item::as_edge).collect::<Option<Vec<_>>>();
    Ok(match edges {
        Some(edges) if !edges.is_empty() => Column::new(Data::Edges(edges)),
        _ => Column::of_items(items),
    })
}

fn take_bulks(reader: &mut Reader<'_>, rows: usize) -> Decoded<Vec<u64>> {
    let mut bulks = Vec::with_capacity(rows);
    for _ in 0..rows {
        let start = reader.clone();
        let bulk = reader.varint()?;
        if bulk == 0 {
            return Err(start.error("a row that stands for one at least expected"));
        }
        bulks.push(bulk);
    }
    Ok(bulks)
}

/// The error of rows that came from elsewhere and are none.
#[cold]
#[must_use]
pub fn unreadable(error: &DecodeError) -> Error {
    Error::new(ErrorKind::Io, format!("rows of another node expected: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::{EdgeId, TypeId};
    use evergraph_graph::value::strategy::any_value;
    use proptest::prelude::*;

    fn shown(batch: &Batch) -> Vec<(Item, u64)> {
        batch.current.items().enumerate().map(|(row, item)| (item, batch.bulk(row))).collect()
    }

    #[test]
    fn a_row_at_a_vertex_takes_16_bytes_at_most_and_few_as_a_rule() {
        let far: Vec<_> = (0..100).map(|row| (VertexId(row * 42_000_000), u64::MAX)).collect();
        assert!(of_vertices(&far).bytes.len() <= 16 * far.len(), "{}", of_vertices(&far).bytes.len());
        let near: Vec<_> = (0..MESSAGE_ROWS_MAX as u32).map(|row| (VertexId(row * 3), 1)).collect();
        assert!(of_vertices(&near).bytes.len() <= near.len() + 16);
    }

    #[test]
    fn what_is_no_rows_is_refused() {
        for (bytes, expected) in [
            (&[][..], "bytes expected"),
            (&[2, 0, 0], "a kind of rows"),
            (&[0, 5, 1, 0], "5"),
            (&[0, 1, 255, 255, 255, 255, 255, 1, 0], "a vertex expected"),
            (&[0, 1, 7, 2], "whether rows stand for several"),
            (&[0, 1, 7, 1, 0], "one at least"),
            (&[0, 1, 7, 0, 9], "the end expected"),
            (&[1, 1, 9, 0], "a kind of item"),
        ] {
            let error = decode(bytes).unwrap_err().to_string();
            assert!(error.contains(expected), "{bytes:?}: {error}");
        }
        let mut many = vec![kind::VERTICES];
        put_varint(&mut many, MESSAGE_ROWS_MAX as u64 + 1);
        many.resize(many.len() + MESSAGE_ROWS_MAX + 1, 0);
        assert!(decode(&many).unwrap_err().to_string().contains("at most 65536 rows"));
        assert_eq!(
            of_items(&[(Item::Token(crate::value::item::Token::Id), 1)]).unwrap_err().kind(),
            ErrorKind::Busy
        );
    }

    proptest! {
        #[test]
        fn rows_read_back(mut vertices in prop::collection::vec((any::<u32>(), 1..=u64::MAX), 0..40),
                          values in prop::collection::vec((any_value(), 1..9_u64), 0..20)) {
            vertices.sort_unstable();
            let rows: Vec<_> = vertices.into_iter().map(|(vertex, bulk)| (VertexId(vertex), bulk)).collect();
            let read = decode(&of_vertices(&rows).bytes).unwrap();
            let expected: Vec<_> = rows.iter().map(|(vertex, bulk)| (Item::Vertex(*vertex), *bulk)).collect();
            prop_assert_eq!(format!("{:?}", shown(&read)), format!("{expected:?}"));
            let edge = EdgeId { source: VertexId(7), edge_type: TypeId(2), target: VertexId(9), discriminator: 3 };
            let mut rows: Vec<_> = values.into_iter().map(|(value, bulk)| (Item::Value(value), bulk)).collect();
            rows.extend([(Item::Null, 1), (Item::Edge(edge), 2), (Item::Vertex(VertexId(5)), 1)]);
            let read = decode(&of_items(&rows).unwrap().bytes).unwrap();
            prop_assert_eq!(format!("{:?}", shown(&read)), format!("{rows:?}"));
        }
    }
}
