//! Tables: vertices, edges, neighbours and properties of a view as Arrow tables.
//!
//! A table is one batch: each property is one array, so that NumPy sees it without a copy. Its memory is reserved before
//! it is taken, and stays reserved until Python frees the table: rows are counted beforehand, values as they are read.

use crate::arrow_out::TableBuilder;
use crate::long_call::{ProgressWatch, fraction};
use crate::names;
use crate::reserved::{GrowingReservation, TableMemory};
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{RecordBatch, UInt16Array, UInt64Array};
use evergraph::graph::catalogue::{Catalogue, Owner};
use evergraph::graph::column::{Column, ColumnData};
use evergraph::graph::id::KeyId;
use evergraph::graph::value::ValueType;
use evergraph::graph::view::{EdgeCursor, NeighborBatch, NeighborCursor, VertexCursor};
use evergraph::{Direction, EdgeId, Freeze, GraphView, Result, Value, VertexId};
use rayon::prelude::*;

/// Rows that are asked for at once.
pub const BATCH: usize = 1 << 16;

/// The same of values that have memory of their own, which is counted after each batch.
const VALUES_BATCH: usize = 1 << 12;

/// Bytes of an edge in a table, without properties: ends, type and discriminator.
const EDGE_ROW_BYTES: usize = 2 * size_of::<u64>() + size_of::<i32>() + size_of::<u16>();

/// Bytes of a neighbour while it is read: its row, itself and the edge.
const NEIGHBOR_BYTES: usize = size_of::<u32>() + size_of::<VertexId>() + size_of::<EdgeId>();

/// What refusals name.
const VERTICES: &str = "a table of vertices";
const EDGES: &str = "a table of edges";
const NEIGHBORS: &str = "a table of neighbors";

/// The same of a vertex: its number and its label.
const VERTEX_ROW_BYTES: usize = size_of::<u64>() + size_of::<i32>();

/// The keys `names`; all that one of `owners` has, if no names are given.
fn keys(catalogue: &Catalogue, owners: &[Owner], names: Option<&[String]>) -> Result<Vec<KeyId>> {
    if let Some(names) = names {
        return names.iter().map(|name| names::key(catalogue, name)).collect();
    }
    let mut keys: Vec<KeyId> =
        owners.iter().flat_map(|owner| catalogue.properties_of(*owner)).map(|(key, _)| key).collect();
    keys.sort_unstable();
    keys.dedup();
    Ok(keys)
}

/// The type of `key` if all of `owners` that have it agree.
fn type_of(catalogue: &Catalogue, owners: &[Owner], key: KeyId) -> ValueType {
    let mut types = owners.iter().filter_map(|owner| catalogue.property_type(*owner, key));
    let first = types.next().unwrap_or(ValueType::Any);
    if types.all(|other| other == first) { first } else { ValueType::Any }
}

/// Bytes of `count` things of `each` bytes.
fn bytes(count: usize, each: usize) -> u64 {
    (count as u64).saturating_mul(each as u64)
}

/// Bytes of what values own, from row `from` on.
fn heap_bytes(column: &Column, from: usize) -> u64 {
    match &column.data {
        ColumnData::Values(rows) => {
            rows[from..].iter().flatten().map(|value| value.heap_bytes() as u64).sum()
        }
        _ => 0,
    }
}

/// Adds the property `name` of `items` to `table`, as `read` gives it for some of them.
///
/// # Errors
/// `limit` if it doesn't fit into `memory`; errors of reading and of [`TableBuilder::push_column`]; `cancelled`.
fn push_property<T>(
    table: &mut TableBuilder,
    memory: &mut TableMemory<'_>,
    name: &str,
    value_type: ValueType,
    items: &[T],
    watch: &ProgressWatch,
    mut read: impl FnMut(&[T], &mut Column) -> Result<()>,
) -> Result<()> {
    let rows = items.len();
    let mut column = Column::new(value_type);
    let mut in_hand = GrowingReservation::default();
    in_hand.reach(bytes(rows, slot_bytes(&column)), memory)?;
    match &mut column.data {
        ColumnData::Integers(values) => values.reserve_exact(rows),
        ColumnData::Floats(values) => values.reserve_exact(rows),
        ColumnData::Values(values) => values.reserve_exact(rows),
    }
    let (mut next, mut heap) = (0, 0);
    while next < rows {
        watch.cancel.check()?;
        let batch = if matches!(column.data, ColumnData::Values(_)) { VALUES_BATCH } else { BATCH };
        let end = rows.min(next + batch);
        read(&items[next..end], &mut column)?;
        heap += heap_bytes(&column, next);
        in_hand.reach(bytes(rows, slot_bytes(&column)) + heap, memory)?;
        next = end;
    }
    // Of values, their places, and texts once more: they are gathered in a buffer that doubles.
    let (of_row, made, meanwhile) = match &column.data {
        ColumnData::Values(_) => (2 * size_of::<u64>(), heap, bytes(rows, size_of::<&()>()) + heap),
        _ => (size_of::<u64>() + 1, 0, 0),
    };
    memory.keep(bytes(rows, of_row) + made)?;
    let _meanwhile = memory.take(meanwhile)?;
    table.push_column(name, &column)
}

/// Bytes of a row of `column`, without what its value owns.
fn slot_bytes(column: &Column) -> usize {
    match &column.data {
        ColumnData::Integers(_) => size_of::<Option<i64>>(),
        ColumnData::Floats(_) => size_of::<Option<f64>>(),
        ColumnData::Values(_) => size_of::<Option<Value>>(),
    }
}

/// Adds the property `key` of `vertices`, whose labels are among `owners`, to `table` as `name`.
///
/// # Errors
/// `limit` if it doesn't fit into `memory`; errors of reading; `cancelled`.
#[expect(clippy::too_many_arguments, reason = "what is read, and where it goes")]
pub fn push_vertex_property(
    table: &mut TableBuilder,
    memory: &mut TableMemory<'_>,
    name: &str,
    view: &impl GraphView,
    owners: &[Owner],
    vertices: &[VertexId],
    key: KeyId,
    watch: &ProgressWatch,
) -> Result<()> {
    let value_type = type_of(&view.catalogue(), owners, key);
    let read = |batch: &[VertexId], column: &mut Column| view.vertex_properties(batch, key, column);
    push_property(table, memory, name, value_type, vertices, watch, read)
}

/// All labels of `catalogue` that `labels` names, or all.
///
/// # Errors
/// `not_found` for a name that there isn't.
pub fn label_owners(catalogue: &Catalogue, labels: &[String]) -> Result<Vec<Owner>> {
    Ok(match names::labels(catalogue, labels)? {
        Some(labels) => labels.into_iter().map(Owner::Label).collect(),
        None => catalogue.labels().map(|(label, _)| Owner::Label(label)).collect(),
    })
}

/// Numbers of vertices as an array.
#[must_use]
pub fn numbers(vertices: &[VertexId]) -> UInt64Array {
    vertices.par_iter().with_min_len(BATCH).map(|vertex| u64::from(vertex.0)).collect::<Vec<_>>().into()
}

/// `vertex`, `label`, and a column a property.
///
/// # Errors
/// `not_found` for names that there aren't; errors of reading; `cancelled`.
pub fn vertices(
    view: &impl Freeze,
    labels: &[String],
    properties: Option<&[String]>,
    watch: &ProgressWatch,
) -> Result<RecordBatch> {
    let catalogue = view.names()?;
    let wanted = names::labels(&catalogue, labels)?;
    let memory = TableMemory::new(view.budget(), VERTICES);
    let is_wanted = |label| wanted.as_ref().is_none_or(|wanted| wanted.contains(label));
    let counts = view.statistics()?.vertices;
    let count: u64 = counts.iter().filter(|(label, _)| is_wanted(label)).map(|(_, count)| count).sum();
    let count = usize::try_from(count).expect("vertices have numbers of 32 bits");
    let _scanned = memory.take(bytes(count, size_of::<VertexId>()))?;
    let (mut cursor, mut found) = (VertexCursor::default(), Vec::with_capacity(count));
    while !cursor.done {
        watch.cancel.check()?;
        view.scan_vertices(wanted.as_deref(), &mut cursor, BATCH, &mut found)?;
    }
    let owners = label_owners(&catalogue, labels)?;
    of_vertices(view, &found, &owners, properties, watch)
}

/// The same of the vertices given, in their order; one that isn't there has nulls.
///
/// # Errors
/// As [`vertices`].
pub fn of_vertices(
    view: &impl Freeze,
    vertices: &[VertexId],
    owners: &[Owner],
    properties: Option<&[String]>,
    watch: &ProgressWatch,
) -> Result<RecordBatch> {
    let catalogue = view.catalogue();
    let mut table = TableBuilder::default();
    let mut memory = TableMemory::new(view.budget(), VERTICES);
    memory.keep(bytes(vertices.len(), VERTEX_ROW_BYTES))?;
    table.push("vertex", numbers(vertices));
    let mut names = dictionary(vertices.len());
    let mut labels = Vec::with_capacity(BATCH);
    for batch in vertices.chunks(BATCH) {
        watch.cancel.check()?;
        labels.clear();
        view.labels(batch, &mut labels)?;
        for label in &labels {
            names.append_option(label.map(|label| catalogue.label_name(label)));
        }
    }
    table.push("label", names.finish());
    let keys = keys(&catalogue, owners, properties)?;
    for (at, key) in keys.iter().enumerate() {
        let name = catalogue.key_name(*key);
        watch.tell("read", fraction(at as u64, keys.len() as u64), || name.to_string());
        push_vertex_property(&mut table, &mut memory, &name, view, owners, vertices, *key, watch)?;
    }
    table.hold(memory);
    table.finish()
}

/// `source`, `target`, `type`, `discriminator`, and a column a property.
///
/// # Errors
/// As [`vertices`].
pub fn edges(
    view: &impl Freeze,
    types: &[String],
    properties: Option<&[String]>,
    watch: &ProgressWatch,
) -> Result<RecordBatch> {
    let wanted = names::edge_types(&*view.names()?, types)?;
    let mut memory = TableMemory::new(view.budget(), EDGES);
    let is_wanted = |edge_type| wanted.as_ref().is_none_or(|wanted| wanted.contains(edge_type));
    let counts = view.statistics()?.edges;
    let count: u64 =
        counts.iter().filter(|(edge_type, _)| is_wanted(edge_type)).map(|(_, count)| count).sum();
    let _scanned = memory.take(count.saturating_mul(size_of::<EdgeId>() as u64))?;
    // Refused before they are read.
    drop(memory.take(count.saturating_mul(EDGE_ROW_BYTES as u64))?);
    let (mut cursor, mut found) = (EdgeCursor::default(), Vec::with_capacity(count as usize));
    while !cursor.done {
        watch.cancel.check()?;
        watch.tell("read", None, || format!("{} edges", found.len()));
        view.scan_edges(wanted.as_deref(), &mut cursor, BATCH, &mut found)?;
    }
    let mut table = TableBuilder::default();
    push_edges(view, &mut table, &mut memory, types, &found, properties, watch)?;
    table.hold(memory);
    table.finish()
}

/// A column of names for so many rows.
fn dictionary(rows: usize) -> StringDictionaryBuilder<Int32Type> {
    // As many names and bytes of them as without this.
    StringDictionaryBuilder::with_capacity(rows, 1024, 1024)
}

fn push_edges(
    view: &impl GraphView,
    table: &mut TableBuilder,
    memory: &mut TableMemory<'_>,
    types: &[String],
    edges: &[EdgeId],
    properties: Option<&[String]>,
    watch: &ProgressWatch,
) -> Result<()> {
    let catalogue = view.catalogue();
    memory.keep(bytes(edges.len(), EDGE_ROW_BYTES))?;
    let number =
        |of: fn(&EdgeId) -> VertexId| edges.iter().map(|edge| u64::from(of(edge).0)).collect::<Vec<_>>();
    table.push("source", UInt64Array::from(number(|edge| edge.source)));
    table.push("target", UInt64Array::from(number(|edge| edge.target)));
    let mut names = dictionary(edges.len());
    for edge in edges {
        names.append_value(catalogue.edge_type_name(edge.edge_type));
    }
    table.push("type", names.finish());
    let discriminators: Vec<u16> = edges.iter().map(|edge| edge.discriminator).collect();
    table.push("discriminator", UInt16Array::from(discriminators));
    let owners: Vec<Owner> = match names::edge_types(&catalogue, types)? {
        Some(types) => types.into_iter().map(Owner::EdgeType).collect(),
        None => catalogue.edge_types().map(|(edge_type, _)| Owner::EdgeType(edge_type)).collect(),
    };
    for key in keys(&catalogue, &owners, properties)? {
        let (name, value_type) = (catalogue.key_name(key), type_of(&catalogue, &owners, key));
        let read = |batch: &[EdgeId], column: &mut Column| view.edge_properties(batch, key, column);
        push_property(table, memory, &name, value_type, edges, watch, read)?;
    }
    Ok(())
}

/// `vertex` and `neighbor`, and the edge between them as in [`edges`].
///
/// # Errors
/// As [`vertices`].
pub fn neighbors(
    view: &impl Freeze,
    of: &[VertexId],
    types: &[String],
    direction: Direction,
    properties: Option<&[String]>,
    watch: &ProgressWatch,
) -> Result<RecordBatch> {
    let wanted = names::edge_types(&*view.names()?, types)?;
    let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
    let mut memory = TableMemory::new(view.budget(), NEIGHBORS);
    let mut in_hand = GrowingReservation::default();
    while !cursor.done {
        watch.cancel.check()?;
        // The columns double when they grow.
        let room = batch.len().saturating_mul(2).max(batch.len() + BATCH);
        in_hand.reach(bytes(room, NEIGHBOR_BYTES), &memory)?;
        view.neighbors(of, wanted.as_deref(), direction, &mut cursor, BATCH, &mut batch)?;
    }
    let mut table = TableBuilder::default();
    memory.keep(bytes(batch.len(), 2 * size_of::<u64>()))?;
    let _rows = memory.take(bytes(batch.len(), size_of::<VertexId>()))?;
    let rows: Vec<VertexId> = batch.rows.iter().map(|row| of[*row as usize]).collect();
    table.push("vertex", numbers(&rows));
    table.push("neighbor", numbers(&batch.neighbors));
    push_edges(view, &mut table, &mut memory, types, &batch.edges, properties, watch)?;
    table.hold(memory);
    table.finish()
}
