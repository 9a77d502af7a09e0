//! Lists: one vertex' edges at one timestamp, from body and records.

use crate::segment::version::Layer;
use evergraph_bodies::edge_body::EdgeBody;
use evergraph_bodies::net::{Effect, changed, effect_of, nets, value_of, values};
use evergraph_graph::id::{EdgeId, KeyId, VertexId};
use evergraph_graph::look_up::OrderedMatches;
use evergraph_graph::newest::{NewestEdges, Overlay, Stamped};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use evergraph_storage::record::{RecordKey, RecordRef};
use evergraph_storage::view::GroupBits;
use std::ops::{ControlFlow, RangeInclusive};

/// Calls `edge` with (neighbour, discriminator) of each edge of `row`, sorted, of those behind `after`, until it
/// breaks. `layer` is where the row's edges are: its group's, or its hub's.
///
/// Cost: what comes before `after` costs two binary searches, and a look at each record of the tail.
pub fn for_each_edge(
    layer: &Layer<EdgeBody>,
    row: u16,
    timestamp: Timestamp,
    after: Option<RecordKey>,
    mut edge: impl FnMut(u32, u16) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let body = &layer.body;
    let (range, keys) = match after {
        None => (body.range(row), RecordKey::whole_row(row)),
        Some(after) => (body.lists().range_after(after), after.rest_of_row()),
    };
    let records = layer.records(&keys, timestamp);
    let changes = nets(records.into_iter()).map(|net| (net.key, net.effect != Effect::Absent));
    body.lists().for_each_after(range, changes, &mut edge)
}

/// Appends the first `limit` edges that are `asked` for behind `after`, the newest first; false, and nothing is
/// appended, if the body's orders are by another property.
///
/// Cost: what is appended, and a look at each record on top of the row; see [`EdgeBody::newest`] for the first
/// read.
pub fn append_newest(
    layer: &Layer<EdgeBody>,
    asked: &NewestEdges,
    after: Option<&Stamped>,
    timestamp: Timestamp,
    limit: usize,
    ranked: &mut OrderedMatches<EdgeId>,
) -> bool {
    let records = layer.records(&RecordKey::whole_row(asked.source.row()), timestamp);
    append_newest_of(&layer.body, &records, asked, after, limit, ranked)
}

/// As [`append_newest`], told the records of the row that the reader sees.
pub fn append_newest_of(
    body: &EdgeBody,
    records: &[RecordRef<'_>],
    asked: &NewestEdges,
    after: Option<&Stamped>,
    limit: usize,
    ranked: &mut OrderedMatches<EdgeId>,
) -> bool {
    let Some(stored) = body.newest(asked, after) else { return false };
    let mut overlay = Overlay::new(asked, after);
    for (key, value) in values(records.iter().copied(), asked.key) {
        overlay.change(asked.edge(VertexId(key.neighbor()), key.discriminator()), value);
    }
    overlay.lay_over(stored, limit, ranked);
    true
}

/// As [`append_newest`] where the body alone has the answer; the places of those edges in it, `None` if its orders are by
/// another property.
pub fn append_newest_stored(
    body: &EdgeBody,
    asked: &NewestEdges,
    after: Option<&Stamped>,
    limit: usize,
    ranked: &mut OrderedMatches<EdgeId>,
) -> Option<Vec<usize>> {
    let mut places = Vec::new();
    for (value, at) in body.newest_places(asked, after)?.take(limit) {
        ranked.values.push(value);
        ranked.items.push(asked.edge(VertexId(body.neighbors()[at]), body.discriminator(at)));
        places.push(at);
    }
    Some(places)
}

/// How many edges `row` has.
#[must_use]
pub fn degree(layer: &Layer<EdgeBody>, row: u16, timestamp: Timestamp) -> u64 {
    changed_count(layer, &RecordKey::whole_row(row), layer.body.range(row).len(), timestamp)
}

/// How many edges all rows of the layer have, hubs not counted.
#[must_use]
pub fn edge_count(layer: &Layer<EdgeBody>, timestamp: Timestamp) -> u64 {
    let visible = |stamp: evergraph_storage::record::Stamp| stamp.timestamp().visible_at(timestamp);
    let records = layer.aside.records().chain(layer.run.iter()).chain(layer.tail.iter());
    let difference: i64 =
        records.filter(|record| visible(record.stamp)).map(|record| record.stamp.difference()).sum();
    let count = layer.body.neighbors().len() as i64 + difference;
    u64::try_from(count).expect("records are exact: never more deletes than edges")
}

/// Marks the rows that the body, a record or a hub tells of: no other row has edges.
pub fn mark_rows(layer: &Layer<EdgeBody>, rows: &mut GroupBits) {
    let mut mark = |row: u16| rows[usize::from(row) / 64] |= 1 << (row % 64);
    layer.body.for_each_row(|row, _| mark(row));
    let records = layer.aside.records().chain(layer.run.iter()).chain(layer.tail.iter());
    records.for_each(|record| mark(record.key.row()));
    layer.hubs.iter().for_each(|hub| mark(hub.row));
}

/// How many edges lead from `row` to `neighbor`.
#[must_use]
pub fn parallel_count(layer: &Layer<EdgeBody>, row: u16, neighbor: u32, timestamp: Timestamp) -> u32 {
    let stored = layer.body.lists().parallel(row, neighbor).len();
    let count = changed_count(layer, &RecordKey::parallel(row, neighbor), stored, timestamp);
    u32::try_from(count).expect("a pair has at most 65,536 edges")
}

/// `stored` edges of these keys in the body come to so many with the records on top.
fn changed_count(
    layer: &Layer<EdgeBody>,
    keys: &RangeInclusive<RecordKey>,
    stored: usize,
    timestamp: Timestamp,
) -> u64 {
    u64::try_from(stored as i64 + layer.difference(keys, timestamp))
        .expect("records are exact: never more deletes than edges")
}

/// One property of an edge.
#[must_use]
pub fn property(layer: &Layer<EdgeBody>, edge: RecordKey, key: KeyId, timestamp: Timestamp) -> Option<Value> {
    match value_of(layer.newest_first(edge, timestamp), key) {
        Some(value) => value.cloned(),
        None => layer.body.column(key)?.get(layer.body.find(edge)?),
    }
}

/// All properties of an edge, by key; `None` if the edge isn't there.
#[must_use]
pub fn properties(
    layer: &Layer<EdgeBody>,
    edge: RecordKey,
    timestamp: Timestamp,
) -> Option<Vec<(KeyId, Value)>> {
    let stored = || Some(layer.body.properties(layer.body.find(edge)?).collect::<Vec<_>>());
    match effect_of(layer.newest_first(edge, timestamp)) {
        None => stored(),
        Some(Effect::Absent) => None,
        Some(Effect::Present(all)) => Some(changed(Vec::new(), all.as_slice())),
        Some(Effect::Changed(changes)) => Some(changed(stored()?, changes.as_slice())),
    }
}
