//! Bulk: tables of vertices and edges into the database, by a load or inside a transaction.
//!
//! ```text
//! load          millions of rows a second; one commit, made durable by a checkpoint; others cannot commit
//! transaction   up to a million rows; seen by its own reads, taken back with it
//! ```
//!
//! The ends of edges are numbers of vertices, or values of a unique key of a label, which are looked up.

use crate::arrow_in::{Columns, columns};
use crate::names;
use crate::work::{Watch, fraction};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, RecordBatch};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, SchemaRef};
use evergraph::database::ImportProgress;
use evergraph::graph::catalogue::Owner;
use evergraph::graph::id::{KeyId, LabelId};
use evergraph::graph::load::{EdgeBlock, EdgeTable, Load, VertexBlock, VertexTable};
use evergraph::graph::packed_column::PackedColumn;
use evergraph::graph::transaction::{NewEdge, Transaction as _};
use evergraph::graph::vertex_set::VertexSet;
use evergraph::{Database, Error, ErrorKind, GraphView, Result, Value, VertexId};
use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use std::collections::BTreeMap;

/// Rows whose ends are looked up at once.
const BATCH: usize = 1 << 16;

/// A table from Python.
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl<'py> FromPyObject<'_, 'py> for Table {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (batches, schema) = object.extract::<PyTable>()?.into_inner();
        Ok(Self { schema, batches })
    }
}

/// Which column names an end of edges, and, if it holds keys of vertices, of which label and property.
#[derive(Debug, FromPyObject)]
pub struct EndColumn(String, Option<(String, String)>);

/// Edges as a table with two columns of ends.
#[derive(FromPyObject)]
pub struct EdgeColumns(Table, EndColumn, EndColumn);

/// Loads `table` as new vertices of `label`; the first one's number, and how many.
///
/// # Errors
/// Those of [`Database::load`]; `invalid` for columns that no property can be.
pub fn load_vertices(
    database: &Database,
    label: &str,
    table: &Table,
    unique_key: Option<String>,
    watch: &Watch,
) -> Result<(u64, u64)> {
    let catalogue = database.store().catalogue();
    let owner = catalogue.label(label).map(Owner::Label);
    let Columns { properties, blocks } = columns(&catalogue, owner, &table.schema, &table.batches, &[])?;
    let blocks = blocks.into_iter().map(|(rows, columns)| VertexBlock { rows, columns }).collect();
    let mut vertices = VertexTable::new(label, properties, blocks);
    if let Some(key) = unique_key {
        check_unique_key(&vertices, &key)?;
        vertices = vertices.unique_key(key);
    }
    let rows = vertices.rows;
    let load = Load { vertices: vec![vertices], edges: Vec::new() };
    let loaded = database.load(&load, &|now| told(watch, now), &watch.cancel)?;
    Ok((loaded.first_vertices[0].0.into(), rows))
}

/// A load wants a value of the unique key in each row.
fn check_unique_key(table: &VertexTable, key: &str) -> Result<()> {
    let column = table.column(key)?;
    let rows = table.rows as usize;
    let missing = (0..rows).find(|row| !column.as_ref().is_some_and(|column| column.has(*row)));
    match missing {
        None => Ok(()),
        Some(row) => {
            Err(Error::invalid(format!("row {row} has no {key}, the unique key of {}", table.label)))
        }
    }
}

/// Loads `edges` between vertices that are there; how many.
///
/// # Errors
/// Those of [`Database::load`]; `not_found`, naming the row, for an end that isn't there.
pub fn load_edges(database: &Database, edge_type: &str, edges: &EdgeColumns, watch: &Watch) -> Result<u64> {
    let snapshot = database.snapshot();
    let rows = Rows::read(&snapshot, edge_type, edges, watch)?;
    let total = rows.sources.len() as u64;
    let load = rows.into_load(&snapshot, edge_type, watch)?;
    drop(snapshot);
    database.load(&load, &|now| told(watch, now), &watch.cancel)?;
    Ok(total)
}

/// Adds `table` as vertices of `label` within a transaction; their numbers.
///
/// # Errors
/// Those of adding each.
pub fn add_vertices(
    transaction: &mut evergraph::Transaction,
    label: &str,
    table: &Table,
    watch: &Watch,
) -> Result<Vec<u64>> {
    let by_id = transaction.by_id();
    let label = by_id.label(label)?;
    let owner = Some(Owner::Label(label));
    let Columns { properties, blocks } =
        columns(&by_id.catalogue(), owner, &table.schema, &table.batches, &[])?;
    let keys = properties.iter().map(|(name, _)| by_id.key(name)).collect::<Result<Vec<_>>>()?;
    let mut numbers = Vec::new();
    for (rows, columns) in &blocks {
        watch.cancel.check()?;
        for row in 0..*rows {
            numbers.push(by_id.add_vertex(label, &row_of(&keys, columns, row))?.0.into());
        }
    }
    Ok(numbers)
}

/// Adds edges within a transaction, beside parallel ones, or puts them; how many.
///
/// # Errors
/// Those of adding each; `not_found`, naming the row, for an end that isn't there.
pub fn write_edges(
    transaction: &mut evergraph::Transaction,
    edge_type: &str,
    edges: &EdgeColumns,
    put: bool,
    watch: &Watch,
) -> Result<u64> {
    let Rows { sources, targets, columns } = Rows::read(transaction.by_id_ref(), edge_type, edges, watch)?;
    let by_id = transaction.by_id();
    let edge_type = by_id.edge_type(edge_type)?;
    let keys = columns.properties.iter().map(|(name, _)| by_id.key(name)).collect::<Result<Vec<_>>>()?;
    let mut at = 0;
    for (rows, columns) in &columns.blocks {
        watch.cancel.check()?;
        let properties: Vec<_> = (0..*rows).map(|row| row_of(&keys, columns, row)).collect();
        let ends = sources[at..at + rows].iter().zip(&targets[at..at + rows]);
        let new: Vec<NewEdge<'_>> = ends
            .zip(&properties)
            .map(|((source, target), properties)| NewEdge { source: *source, target: *target, properties })
            .collect();
        if put {
            by_id.put_edges(edge_type, &new)?;
        } else {
            for edge in new {
                by_id.add_edge(edge.source, edge_type, edge.target, edge.properties)?;
            }
        }
        at += rows;
    }
    Ok(at as u64)
}

fn row_of(keys: &[KeyId], columns: &[Option<PackedColumn>], row: usize) -> Vec<(KeyId, Value)> {
    let one = |(key, column): (&KeyId, &Option<PackedColumn>)| Some((*key, column.as_ref()?.get(row)?));
    keys.iter().zip(columns).filter_map(one).collect()
}

/// Edges whose ends are known.
struct Rows {
    sources: Vec<VertexId>,
    targets: Vec<VertexId>,
    columns: Columns,
}

impl Rows {
    fn read(view: &impl GraphView, edge_type: &str, edges: &EdgeColumns, watch: &Watch) -> Result<Self> {
        let EdgeColumns(table, source, target) = edges;
        let catalogue = view.catalogue();
        watch.tell("read", None, String::new);
        let sources = ends(view, table, source, watch)?;
        let targets = ends(view, table, target, watch)?;
        let owner = catalogue.edge_type(edge_type).map(Owner::EdgeType);
        let left_out = [source.0.as_str(), target.0.as_str()];
        let columns = columns(&catalogue, owner, &table.schema, &table.batches, &left_out)?;
        Ok(Self { sources, targets, columns })
    }

    /// As a load: a table of edges for each pair of labels.
    fn into_load(self, view: &impl GraphView, edge_type: &str, watch: &Watch) -> Result<Load> {
        let Self { sources, targets, columns: Columns { properties, blocks } } = self;
        let (source_labels, targets_labels) =
            (labels_of(view, &sources, "source", watch)?, labels_of(view, &targets, "target", watch)?);
        let mut tables = Tables::default();
        for (vertices, labels) in [(&sources, &source_labels), (&targets, &targets_labels)] {
            tables.note(vertices, labels);
        }
        let numbers = tables.numbers();
        let mut edges: BTreeMap<(LabelId, LabelId), Vec<EdgeBlock>> = BTreeMap::new();
        let mut at = 0;
        for (rows, columns) in blocks {
            watch.cancel.check()?;
            let range = at..at + rows;
            at += rows;
            let pairs = source_labels[range.clone()]
                .iter()
                .copied()
                .zip(targets_labels[range.clone()].iter().copied());
            let mut by_pair: BTreeMap<(LabelId, LabelId), Vec<usize>> = BTreeMap::new();
            pairs.enumerate().for_each(|(row, pair)| by_pair.entry(pair).or_default().push(row));
            let number = |vertex: VertexId| numbers[vertex.0 as usize];
            let all_alike = by_pair.len() == 1;
            let mut columns = Some(columns);
            for (pair, rows) in by_pair {
                let of = |ends: &[VertexId]| rows.iter().map(|row| number(ends[range.start + row])).collect();
                let columns = match all_alike {
                    true => columns.take().unwrap_or_default(),
                    false => {
                        let all = columns.as_deref().unwrap_or_default().iter();
                        all.map(|column| column.as_ref()?.select(rows.iter().copied())).collect()
                    }
                };
                let block = EdgeBlock { sources: of(&sources), targets: of(&targets), columns };
                edges.entry(pair).or_default().push(block);
            }
        }
        let catalogue = view.catalogue();
        let place = |label: LabelId| tables.labels.iter().position(|known| *known == label);
        let edges = edges.into_iter().map(|((source, target), blocks)| {
            let place = |label| place(label).expect("every end's label was noted");
            EdgeTable::new(edge_type, place(source), place(target), properties.clone(), blocks)
        });
        let edges = edges.collect();
        let vertices = tables.labels.iter().zip(&tables.vertices).map(|(label, vertices)| {
            let mut table = VertexTable::new(&*catalogue.label_name(*label), Vec::new(), Vec::new());
            table.existing = vertices.iter().map(VertexId).collect();
            table
        });
        Ok(Load { vertices: vertices.collect(), edges })
    }
}

/// The vertices of each label that edges begin or end at.
#[derive(Default)]
struct Tables {
    labels: Vec<LabelId>,
    vertices: Vec<VertexSet>,
}

impl Tables {
    fn note(&mut self, vertices: &[VertexId], labels: &[LabelId]) {
        let bound = vertices.iter().map(|vertex| vertex.0).max().map_or(0, |most| most.saturating_add(1));
        let mut last = None;
        for (vertex, label) in vertices.iter().zip(labels) {
            let at = match last {
                Some((known, at)) if known == *label => at,
                _ => self.place(*label),
            };
            last = Some((*label, at));
            if vertex.0 >= self.vertices[at].bound() {
                let mut words = self.vertices[at].words().to_vec();
                words.resize((bound as usize).div_ceil(64), 0);
                self.vertices[at] = VertexSet::from_words(words, bound);
            }
            self.vertices[at].insert(vertex.0);
        }
    }

    fn place(&mut self, label: LabelId) -> usize {
        if let Some(at) = self.labels.iter().position(|known| *known == label) {
            return at;
        }
        self.labels.push(label);
        self.vertices.push(VertexSet::default());
        self.labels.len() - 1
    }

    /// By vertex, the number that stands for it in the edges of a load: from above, in the order of its set.
    fn numbers(&self) -> Vec<u32> {
        let bound = self.vertices.iter().map(|set| set.bound() as usize).max().unwrap_or(0);
        let mut numbers = vec![0; bound];
        for set in &self.vertices {
            set.iter().zip(0_u32..).for_each(|(vertex, place)| numbers[vertex as usize] = u32::MAX - place);
        }
        numbers
    }
}

fn labels_of(view: &impl GraphView, vertices: &[VertexId], end: &str, watch: &Watch) -> Result<Vec<LabelId>> {
    let (mut labels, mut found) = (Vec::with_capacity(vertices.len()), Vec::with_capacity(BATCH));
    for batch in vertices.chunks(BATCH) {
        watch.cancel.check()?;
        found.clear();
        view.labels(batch, &mut found)?;
        for (vertex, label) in batch.iter().zip(&found) {
            let Some(label) = label else {
                let row = labels.len();
                let text = format!("row {row}: the {end} vertex {} isn't there", vertex.0);
                return Err(Error::new(ErrorKind::NotFound, text));
            };
            labels.push(*label);
        }
    }
    Ok(labels)
}

/// The vertices that a column names.
fn ends(view: &impl GraphView, table: &Table, end: &EndColumn, watch: &Watch) -> Result<Vec<VertexId>> {
    let EndColumn(name, key) = end;
    let Some((at, _)) = table.schema.column_with_name(name) else {
        let known: Vec<&str> = table.schema.fields().iter().map(|field| field.name().as_str()).collect();
        let text = format!("no column is called {name:?}; there are {}", known.join(", "));
        return Err(Error::new(ErrorKind::NotFound, text));
    };
    match key {
        None => numbered(table, at),
        Some((label, key)) => looked_up(view, table, at, (label, key), watch),
    }
}

fn numbered(table: &Table, at: usize) -> Result<Vec<VertexId>> {
    let rows = table.batches.iter().map(RecordBatch::num_rows).sum();
    let mut found = Vec::with_capacity(rows);
    let name = table.schema.field(at).name();
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    for batch in &table.batches {
        let column = batch.column(at);
        if !column.data_type().is_integer() {
            let text = format!(
                "column {name:?}: numbers of vertices expected, found {}; keys of vertices need to be told of \
                 which label and property they are",
                column.data_type()
            );
            return Err(Error::invalid(text));
        }
        let numbers = cast_with_options(column, &DataType::UInt64, &strict);
        let numbers = numbers.map_err(|error| Error::invalid(format!("column {name:?}: {error}")))?;
        let numbers = numbers.as_primitive::<UInt64Type>();
        if numbers.null_count() > 0 {
            let row = found.len() + (0..numbers.len()).find(|row| numbers.is_null(*row)).unwrap_or(0);
            return Err(Error::invalid(format!("row {row}: no vertex in column {name:?}")));
        }
        for number in numbers.values() {
            let Ok(number) = u32::try_from(*number) else {
                let row = found.len();
                let text = format!("row {row}: no vertex has the number {number}");
                return Err(Error::new(ErrorKind::NotFound, text));
            };
            found.push(VertexId(number));
        }
    }
    Ok(found)
}

fn looked_up(
    view: &impl GraphView,
    table: &Table,
    at: usize,
    (label_name, key_name): (&str, &str),
    watch: &Watch,
) -> Result<Vec<VertexId>> {
    let catalogue = view.catalogue();
    let (label, key) = (names::label(&catalogue, label_name)?, names::key(&catalogue, key_name)?);
    let column_name = table.schema.field(at).name();
    // As the property that the values are looked up in, so that they are of its type.
    let (mut schema, mut batches) = (Vec::new(), Vec::with_capacity(table.batches.len()));
    schema.push(table.schema.field(at).clone().with_name(key_name));
    let schema = SchemaRef::new(arrow_schema::Schema::new(schema));
    for batch in &table.batches {
        let made = RecordBatch::try_new(schema.clone(), vec![batch.column(at).clone()]);
        batches.push(made.map_err(|error| Error::invalid(error.to_string()))?);
    }
    let values = columns(&catalogue, Some(Owner::Label(label)), &schema, &batches, &[])
        .map_err(|error| error.context(format!("column {column_name:?}")))?;
    let mut found = Vec::new();
    for (rows, columns) in &values.blocks {
        watch.cancel.check()?;
        let mut asked = Vec::with_capacity(*rows);
        for row in 0..*rows {
            let Some(value) = columns[0].as_ref().and_then(|column| column.get(row)) else {
                let row = found.len() + row;
                return Err(Error::invalid(format!("row {row}: no vertex in column {column_name:?}")));
            };
            asked.push(value);
        }
        let mut vertices = Vec::with_capacity(*rows);
        view.look_up(label, key, &asked, &mut vertices)?;
        for (vertex, value) in vertices.into_iter().zip(asked) {
            let Some(vertex) = vertex else {
                let row = found.len();
                let text = format!("row {row}: no {label_name} has the {key_name} {value}");
                return Err(Error::new(ErrorKind::NotFound, text));
            };
            found.push(vertex);
        }
    }
    Ok(found)
}

/// Tells how far a load or an import is.
pub fn told(watch: &Watch, now: &ImportProgress<'_>) {
    match now {
        ImportProgress::Reading(now) => {
            let part = now.bytes_total.and_then(|total| fraction(now.bytes_read, total));
            watch.tell("read", part, || format!("{}, {} rows", now.file, now.rows));
        }
        ImportProgress::Building(now) => {
            watch.tell("build", fraction(now.edges, now.edges_total), || format!("{} edges", now.edges));
        }
        ImportProgress::Writing(now) => {
            watch.tell("write", fraction(now.groups_done, now.groups_count), String::new);
        }
        _ => {}
    }
}
