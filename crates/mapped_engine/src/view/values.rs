//! Values: one property of many vertices or edges, read from columns a range at a time.
//!
//! Rows that records on top of the body speak of are marked first, and read one by one; the others are copied from the column.

use crate::body_store::stored_column::StoredColumn;
use crate::version::ALL_KEYS;
use crate::view::layer::Layer;
use crate::view::list;
use evergraph_graph::column::ValueSink;
use evergraph_graph::error::Result;
use evergraph_graph::id::{EdgeId, KeyId, VertexId};
use evergraph_graph::value::Value;
use evergraph_storage::record::RecordKey;
use evergraph_storage::view::GroupBits;
use std::ops::Range;

/// Of so many records for each item asked for, marking their rows costs more than looking among them each time.
const RECORDS_AN_ITEM: usize = 8;

/// The rows that records on top of a body speak of; every row, if too few items are asked for to look at all records.
fn marked(layer: &Layer<'_>, items: usize) -> Result<GroupBits> {
    if layer.record_count()? > RECORDS_AN_ITEM * items {
        return Ok([u64::MAX; 64]);
    }
    let mut rows = [0; 64];
    for (key, _) in layer.stamps(&ALL_KEYS)? {
        rows[usize::from(key.row()) / 64 % 64] |= 1 << (key.row() % 64);
    }
    Ok(rows)
}

fn has(rows: &GroupBits, row: u16) -> bool {
    rows[usize::from(row) / 64] >> (row % 64) & 1 == 1
}

/// Hands over the values of a stretch of the column.
fn put(column: Option<&StoredColumn>, stretch: Range<usize>, values: &mut dyn ValueSink) -> Result<()> {
    match column {
        Some(column) => column.put(stretch, values),
        None => {
            values.put_stored(None, stretch);
            Ok(())
        }
    }
}

/// The value of one vertex.
///
/// # Errors
/// `corrupt` if the body or `live` is damaged.
pub fn of_vertex(layer: &Layer<'_>, vertex: VertexId, key: KeyId) -> Result<Option<Value>> {
    let row = vertex.row();
    list::property(layer, RecordKey::vertex(row), key, || Ok(Some(usize::from(row))))
}

/// Appends the values of `vertices`, which lie in one group.
///
/// # Errors
/// As [`of_vertex`].
pub fn of_vertices(
    layer: &Layer<'_>,
    vertices: &[VertexId],
    key: KeyId,
    values: &mut dyn ValueSink,
) -> Result<()> {
    if let [vertex] = vertices {
        values.put(of_vertex(layer, *vertex, key)?);
        return Ok(());
    }
    let (marked, stored) = (marked(layer, vertices.len())?, layer.body().column(key).map(|column| &**column));
    let follows =
        |a: &VertexId, b: &VertexId| a.0 + 1 == b.0 && !has(&marked, a.row()) && !has(&marked, b.row());
    for stretch in vertices.chunk_by(follows) {
        let first = stretch[0].row();
        if has(&marked, first) {
            values.put(of_vertex(layer, stretch[0], key)?);
        } else {
            put(stored, usize::from(first)..usize::from(first) + stretch.len(), values)?;
        }
    }
    Ok(())
}

/// The value of one edge, in a layer that has its row.
///
/// # Errors
/// As [`of_vertex`].
pub fn of_edge(layer: &Layer<'_>, edge: RecordKey, key: KeyId) -> Result<Option<Value>> {
    list::property(layer, edge, key, || Ok(layer.body().edges()?.find(edge)))
}

/// Appends the values of `edges`, of one type and in a layer that has their rows.
///
/// # Errors
/// As [`of_vertex`].
pub fn of_edges(layer: &Layer<'_>, edges: &[EdgeId], key: KeyId, values: &mut dyn ValueSink) -> Result<()> {
    if let [edge] = edges {
        values.put(of_edge(layer, RecordKey::of_edge(edge), key)?);
        return Ok(());
    }
    let lists = layer.body().edges()?;
    let (marked, stored) = (marked(layer, edges.len())?, layer.body().column(key).map(|column| &**column));
    // The stretch of the column that comes next, and where the row's list lies.
    let (mut stretch, mut row, mut list) = (0..0, None, 0..0);
    for edge in edges {
        let record = RecordKey::of_edge(edge);
        if has(&marked, record.row()) {
            put(stored, std::mem::take(&mut stretch), values)?;
            values.put(of_edge(layer, record, key)?);
            continue;
        }
        if row != Some(record.row()) {
            (row, list) = (Some(record.row()), lists.range(record.row()));
        }
        // Who asks for a list asks in its order: no search then.
        let next = stretch.end.max(list.start);
        let at = if next < list.end && lists.is_at(record, next) { Some(next) } else { lists.find(record) };
        match at {
            Some(at) if at == stretch.end => stretch.end += 1,
            Some(at) => put(stored, std::mem::replace(&mut stretch, at..at + 1), values)?,
            None => {
                put(stored, std::mem::take(&mut stretch), values)?;
                values.put(None);
            }
        }
    }
    put(stored, stretch, values)
}
