//! Tables: vertices, edges, neighbours and properties of a view as Arrow tables.
//!
//! A table is one batch: each property is one array, so that NumPy sees it without a copy.

use crate::arrow_out::TableBuilder;
use crate::names;
use crate::work::{Watch, fraction};
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{RecordBatch, UInt16Array, UInt64Array};
use evergraph::graph::catalogue::{Catalogue, Owner};
use evergraph::graph::column::Column;
use evergraph::graph::id::KeyId;
use evergraph::graph::value::ValueType;
use evergraph::graph::view::{EdgeCursor, NeighborBatch, NeighborCursor, VertexCursor};
use evergraph::{Direction, EdgeId, GraphView, Result, VertexId};
use rayon::prelude::*;

/// Rows that are asked for at once.
pub const BATCH: usize = 1 << 16;

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

/// The column of `key` for `vertices`, whose labels are among `owners`.
///
/// # Errors
/// Errors of reading; `cancelled`.
pub fn vertex_column(
    view: &impl GraphView,
    owners: &[Owner],
    vertices: &[VertexId],
    key: KeyId,
    watch: &Watch,
) -> Result<Column> {
    let mut column = Column::new(type_of(&view.catalogue(), owners, key));
    for batch in vertices.chunks(BATCH) {
        watch.cancel.check()?;
        view.vertex_properties(batch, key, &mut column)?;
    }
    Ok(column)
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
    view: &impl GraphView,
    labels: &[String],
    properties: Option<&[String]>,
    watch: &Watch,
) -> Result<RecordBatch> {
    let catalogue = view.catalogue();
    let wanted = names::labels(&catalogue, labels)?;
    let (mut cursor, mut found) = (VertexCursor::default(), Vec::new());
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
    view: &impl GraphView,
    vertices: &[VertexId],
    owners: &[Owner],
    properties: Option<&[String]>,
    watch: &Watch,
) -> Result<RecordBatch> {
    let catalogue = view.catalogue();
    let mut table = TableBuilder::default();
    table.push("vertex", numbers(vertices));
    let mut names: StringDictionaryBuilder<Int32Type> = StringDictionaryBuilder::new();
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
        table.push_column(&name, &vertex_column(view, owners, vertices, *key, watch)?)?;
    }
    table.finish()
}

/// `source`, `target`, `type`, `discriminator`, and a column a property.
///
/// # Errors
/// As [`vertices`].
pub fn edges(
    view: &impl GraphView,
    types: &[String],
    properties: Option<&[String]>,
    watch: &Watch,
) -> Result<RecordBatch> {
    let wanted = names::edge_types(&view.catalogue(), types)?;
    let (mut cursor, mut found) = (EdgeCursor::default(), Vec::new());
    while !cursor.done {
        watch.cancel.check()?;
        watch.tell("read", None, || format!("{} edges", found.len()));
        view.scan_edges(wanted.as_deref(), &mut cursor, BATCH, &mut found)?;
    }
    let mut table = TableBuilder::default();
    push_edges(view, &mut table, types, &found, properties, watch)?;
    table.finish()
}

fn push_edges(
    view: &impl GraphView,
    table: &mut TableBuilder,
    types: &[String],
    edges: &[EdgeId],
    properties: Option<&[String]>,
    watch: &Watch,
) -> Result<()> {
    let catalogue = view.catalogue();
    let number =
        |of: fn(&EdgeId) -> VertexId| edges.iter().map(|edge| u64::from(of(edge).0)).collect::<Vec<_>>();
    table.push("source", UInt64Array::from(number(|edge| edge.source)));
    table.push("target", UInt64Array::from(number(|edge| edge.target)));
    let mut names: StringDictionaryBuilder<Int32Type> = StringDictionaryBuilder::new();
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
        let mut column = Column::new(type_of(&catalogue, &owners, key));
        for batch in edges.chunks(BATCH) {
            watch.cancel.check()?;
            view.edge_properties(batch, key, &mut column)?;
        }
        table.push_column(&catalogue.key_name(key), &column)?;
    }
    Ok(())
}

/// `vertex` and `neighbor`, and the edge between them as in [`edges`].
///
/// # Errors
/// As [`vertices`].
pub fn neighbors(
    view: &impl GraphView,
    of: &[VertexId],
    types: &[String],
    direction: Direction,
    properties: Option<&[String]>,
    watch: &Watch,
) -> Result<RecordBatch> {
    let wanted = names::edge_types(&view.catalogue(), types)?;
    let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
    while !cursor.done {
        watch.cancel.check()?;
        view.neighbors(of, wanted.as_deref(), direction, &mut cursor, BATCH, &mut batch)?;
    }
    let mut table = TableBuilder::default();
    let rows: Vec<VertexId> = batch.rows.iter().map(|row| of[*row as usize]).collect();
    table.push("vertex", numbers(&rows));
    table.push("neighbor", numbers(&batch.neighbors));
    push_edges(view, &mut table, types, &batch.edges, properties, watch)?;
    table.finish()
}
