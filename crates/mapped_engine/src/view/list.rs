//! Lists: one vertex' edges at one timestamp, from body and records.

use crate::view::layer::{Layer, record_ref};
use evergraph_bodies::net::{Effect, changed, effect_of, value_of};
use evergraph_graph::error::Result;
use evergraph_graph::id::KeyId;
use evergraph_graph::value::Value;
use evergraph_storage::record::{Operation, RecordKey};
use std::ops::ControlFlow;

/// Calls `edge` with (neighbour, discriminator) of each edge of `row`, sorted, of those behind `after`, until it
/// breaks. `layer` is where the row's edges are: its group's, or its hub's.
///
/// Cost: what comes before `after` costs binary searches, and a look at each record of the tail.
///
/// # Errors
/// `corrupt` if the body or `live` is damaged.
pub fn for_each_edge(
    layer: &Layer<'_>,
    row: u16,
    after: Option<RecordKey>,
    mut edge: impl FnMut(u32, u16) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let lists = layer.body().edges()?;
    let (range, keys) = match after {
        None => (lists.range(row), RecordKey::whole_row(row)),
        Some(after) => (lists.range_after(after), after.rest_of_row()),
    };
    let stamps = layer.stamps(&keys)?;
    let of_keys = stamps.chunk_by(|a, b| a.0 == b.0).map(|of_key| of_key[of_key.len() - 1]);
    let changes = of_keys.map(|(key, last)| (key, last.operation() != Operation::Delete));
    Ok(lists.for_each_after(range, changes, &mut edge))
}

/// How many edges `row` has.
///
/// # Errors
/// As [`for_each_edge`].
pub fn degree(layer: &Layer<'_>, row: u16) -> Result<u64> {
    layer.count(&RecordKey::whole_row(row), layer.body().edges()?.range(row).len())
}

/// How many edges lead from `row` to `neighbor`.
///
/// # Errors
/// As [`for_each_edge`].
pub fn parallel_count(layer: &Layer<'_>, row: u16, neighbor: u32) -> Result<u32> {
    let stored = layer.body().edges()?.parallel(row, neighbor).len();
    let count = layer.count(&RecordKey::parallel(row, neighbor), stored)?;
    // A pair has at most 65,536 edges.
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Whether an edge is there.
///
/// # Errors
/// As [`for_each_edge`].
pub fn has_edge(layer: &Layer<'_>, edge: RecordKey) -> Result<bool> {
    layer.is_there(edge, || Ok(layer.body().edges()?.find(edge).is_some()))
}

/// One property of an item, which lies at `stored` in the body.
///
/// # Errors
/// As [`for_each_edge`].
pub fn property(
    layer: &Layer<'_>,
    item: RecordKey,
    key: KeyId,
    stored: impl FnOnce() -> Result<Option<usize>>,
) -> Result<Option<Value>> {
    let records = layer.records(&item.only())?;
    match value_of(records.iter().rev().map(record_ref), key) {
        Some(value) => Ok(value.cloned()),
        None => stored()?.map_or(Ok(None), |at| layer.body().value(at, key)),
    }
}

/// All properties of an item, by key, which lies at `stored` in the body; `None` if it isn't there.
///
/// # Errors
/// As [`for_each_edge`].
pub fn properties(
    layer: &Layer<'_>,
    item: RecordKey,
    stored: impl FnOnce() -> Result<Option<usize>>,
) -> Result<Option<Vec<(KeyId, Value)>>> {
    let records = layer.records(&item.only())?;
    let in_body = || stored()?.map(|at| layer.body().properties(at)).transpose();
    Ok(match effect_of(records.iter().rev().map(record_ref)) {
        None => in_body()?,
        Some(Effect::Absent) => None,
        Some(Effect::Present(all)) => Some(changed(Vec::new(), all.as_slice())),
        Some(Effect::Changed(changes)) => in_body()?.map(|stored| changed(stored, changes.as_slice())),
    })
}
