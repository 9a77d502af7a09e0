//! Values: one property of many vertices or edges, read from columns a range at a time.
//!
//! What is asked of one group is found once: segment, version, body and the property's column. Rows that records
//! on top of the body speak of are marked first, and read one by one; the others are copied from the column.

use crate::list;
use crate::segment::version::Layer;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::net::value_of;
use evergraph_bodies::vertex_body::VertexBody;
use evergraph_graph::column::ValueSink;
use evergraph_graph::id::{EdgeId, KeyId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::record::{RecordKey, RecordRef};
use evergraph_storage::view::GroupBits;

/// Of so many records for each item asked for, marking their rows costs more than looking among them each time.
const RECORDS_AN_ITEM: usize = 8;

/// The rows that records on top of a body speak of; every row, if too few items are asked for to look at all records.
fn marked<B>(layer: &Layer<B>, items: usize) -> GroupBits {
    if layer.record_count() > RECORDS_AN_ITEM * items {
        return [u64::MAX; 64];
    }
    let mut rows = [0; 64];
    let mut mark = |key: RecordKey| rows[usize::from(key.row()) / 64] |= 1 << (key.row() % 64);
    layer.aside.runs().flat_map(|run| run.stamps()).for_each(|(key, _)| mark(key));
    for (key, _) in layer.run.stamps().chain(layer.tail.stamps()) {
        mark(key);
    }
    rows
}

fn has(rows: &GroupBits, row: u16) -> bool {
    rows[usize::from(row) / 64] >> (row % 64) & 1 == 1
}

/// The value of one vertex.
pub fn of_vertex(
    layer: &Layer<VertexBody>,
    vertex: VertexId,
    key: KeyId,
    timestamp: Timestamp,
) -> Option<Value> {
    let row = vertex.row();
    match value_of(layer.newest_first(RecordKey::vertex(row), timestamp), key) {
        Some(value) => value.cloned(),
        None => layer.body.property(row, key),
    }
}

/// Appends the values of `vertices`, which lie in one group.
pub fn of_vertices(
    layer: &Layer<VertexBody>,
    vertices: &[VertexId],
    key: KeyId,
    timestamp: Timestamp,
    values: &mut dyn ValueSink,
) {
    if let [vertex] = vertices {
        return values.put(of_vertex(layer, *vertex, key, timestamp));
    }
    let marked = marked(layer, vertices.len());
    let stored = layer.body.column(key).map(AsRef::as_ref);
    let follows =
        |a: &VertexId, b: &VertexId| a.0 + 1 == b.0 && !has(&marked, a.row()) && !has(&marked, b.row());
    for stretch in vertices.chunk_by(follows) {
        let first = stretch[0].row();
        if has(&marked, first) {
            values.put(of_vertex(layer, stretch[0], key, timestamp));
        } else {
            values.put_stored(stored, usize::from(first)..usize::from(first) + stretch.len());
        }
    }
}

/// Appends the values of `edges`, of one type and from vertices of one group.
pub fn of_edges(
    layer: &Layer<EdgeBody>,
    edges: &[EdgeId],
    key: KeyId,
    timestamp: Timestamp,
    values: &mut dyn ValueSink,
) {
    if layer.hubs.is_empty() {
        return of_plain_edges(layer, edges, key, timestamp, values);
    }
    for of_row in edges.chunk_by(|a, b| a.source == b.source) {
        match layer.hub(of_row[0].source.row()) {
            Some(hub) => of_plain_edges(hub.load().layer_at(timestamp), of_row, key, timestamp, values),
            None => of_plain_edges(layer, of_row, key, timestamp, values),
        }
    }
}

/// Appends the values of `edges` of one vertex, told the records of its row that the reader sees, by key and time. Cost:
/// a search among these for each edge, and one in the list.
pub fn of_list(
    body: &EdgeBody,
    records: &[RecordRef<'_>],
    edges: &[EdgeId],
    key: KeyId,
    values: &mut dyn ValueSink,
) {
    let stored = body.column(key).map(AsRef::as_ref);
    for edge in edges {
        let edge = RecordKey::of_edge(edge);
        let first = records.partition_point(|record| record.key < edge);
        let count = records[first..].iter().take_while(|record| record.key == edge).count();
        match value_of(records[first..first + count].iter().rev().copied(), key) {
            Some(value) => values.put(value.cloned()),
            None => match body.find(edge) {
                Some(at) => values.put_stored(stored, at..at + 1),
                None => values.put(None),
            },
        }
    }
}

/// As [`of_edges`], of rows that have their lists in `layer` itself.
fn of_plain_edges(
    layer: &Layer<EdgeBody>,
    edges: &[EdgeId],
    key: KeyId,
    timestamp: Timestamp,
    values: &mut dyn ValueSink,
) {
    if let [edge] = edges {
        return values.put(list::property(layer, RecordKey::of_edge(edge), key, timestamp));
    }
    let body = &layer.body;
    let marked = marked(layer, edges.len());
    let stored = body.column(key).map(AsRef::as_ref);
    // The stretch of the column that comes next, and where the row's list lies.
    let (mut stretch, mut row, mut list) = (0..0, None, 0..0);
    for edge in edges {
        let record = RecordKey::of_edge(edge);
        if has(&marked, record.row()) {
            values.put_stored(stored, std::mem::take(&mut stretch));
            values.put(list::property(layer, record, key, timestamp));
            continue;
        }
        if row != Some(record.row()) {
            (row, list) = (Some(record.row()), body.range(record.row()));
        }
        // Who asks for a list asks in its order: no search then.
        let next = stretch.end.max(list.start);
        let at =
            if next < list.end && body.lists().is_at(record, next) { Some(next) } else { body.find(record) };
        match at {
            Some(at) if at == stretch.end => stretch.end += 1,
            Some(at) => values.put_stored(stored, std::mem::replace(&mut stretch, at..at + 1)),
            None => {
                values.put_stored(stored, std::mem::take(&mut stretch));
                values.put(None);
            }
        }
    }
    values.put_stored(stored, stretch);
}
