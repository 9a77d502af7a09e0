//! Bulk: adds tables of vertices and edges, by a bulk load or inside a transaction.
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
use rayon::prelude::*;
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
        let named = Named::of(view, &sources, &targets, watch)?;
        let mut at = 0;
        let placed: Vec<_> = blocks
            .into_iter()
            .map(|(rows, columns)| {
                at += rows;
                (at - rows..at, columns)
            })
            .collect();
        let by_pair = placed.into_par_iter().map(|(range, columns)| {
            watch.cancel.check()?;
            Ok(named.blocks(&sources[range.clone()], &targets[range], columns))
        });
        let mut edges: BTreeMap<(usize, usize), Vec<EdgeBlock>> = BTreeMap::new();
        for (pair, block) in by_pair.collect::<Result<Vec<_>>>()?.into_iter().flatten() {
            edges.entry(pair).or_default().push(block);
        }
        let edges = edges.into_iter().map(|((source, target), blocks)| {
            EdgeTable::new(edge_type, source, target, properties.clone(), blocks)
        });
        let edges = edges.collect();
        let catalogue = view.catalogue();
        let vertices = named.labels.into_iter().zip(named.existing).map(|(label, existing)| {
            let mut table = VertexTable::new(&*catalogue.label_name(label), Vec::new(), Vec::new());
            table.existing = existing;
            table
        });
        Ok(Load { vertices: vertices.collect(), edges })
    }
}

/// The vertices that edges begin or end at, each once.
struct Named {
    /// Their labels; the place of one here stands for it.
    labels: Vec<LabelId>,
    /// Those of each label, ascending.
    existing: Vec<Vec<VertexId>>,
    /// By vertex, the number that stands for it in the edges of a load: from above, in the order of `existing`.
    numbers: Vec<u32>,
    /// By vertex, the place of its label; empty if there is one label only.
    places: Vec<u32>,
}

impl Named {
    fn of(view: &impl GraphView, sources: &[VertexId], targets: &[VertexId], watch: &Watch) -> Result<Self> {
        let most = |ends: &[VertexId]| ends.par_iter().with_min_len(BATCH).max().copied();
        let mut found = Vec::with_capacity(BATCH);
        for (ends, end) in [(sources, "source"), (targets, "target")] {
            // Before memory is taken for all up to it.
            view.labels(most(ends).as_slice(), &mut found)?;
            if found.iter().any(Option::is_none) {
                return Err(not_there(view, ends, end)?);
            }
            found.clear();
        }
        let bound = most(sources).max(most(targets)).map_or(0, |most| most.0 + 1);
        let set = |ends: &[VertexId]| {
            let mut set = VertexSet::empty(bound);
            ends.iter().for_each(|vertex| _ = set.insert(vertex.0));
            set
        };
        let (of_sources, of_targets) = rayon::join(|| set(sources), || set(targets));
        let words = of_sources.words().iter().zip(of_targets.words()).map(|(one, other)| one | other);
        let all: Vec<VertexId> = VertexSet::from_words(words.collect(), bound).iter().map(VertexId).collect();
        let (mut labels, mut existing): (Vec<LabelId>, Vec<Vec<VertexId>>) = Default::default();
        let (mut numbers, mut places) = (vec![0; bound as usize], vec![0; bound as usize]);
        for batch in all.chunks(BATCH) {
            watch.cancel.check()?;
            found.clear();
            view.labels(batch, &mut found)?;
            for (vertex, label) in batch.iter().zip(&found) {
                let Some(label) = label else {
                    let (ends, end) = match of_sources.contains(vertex.0) {
                        true => (sources, "source"),
                        false => (targets, "target"),
                    };
                    return Err(not_there(view, ends, end)?);
                };
                let place = labels.iter().position(|known| known == label).unwrap_or_else(|| {
                    labels.push(*label);
                    existing.push(Vec::new());
                    labels.len() - 1
                });
                numbers[vertex.0 as usize] = u32::MAX - existing[place].len() as u32;
                places[vertex.0 as usize] = place as u32;
                existing[place].push(*vertex);
            }
        }
        if labels.len() == 1 {
            places = Vec::new();
        }
        Ok(Self { labels, existing, numbers, places })
    }

    /// Edges from `sources` to `targets`, with `columns`, as a block for each pair of labels.
    fn blocks(
        &self,
        sources: &[VertexId],
        targets: &[VertexId],
        columns: Vec<Option<PackedColumn>>,
    ) -> Vec<((usize, usize), EdgeBlock)> {
        let number = |vertex: &VertexId| self.numbers[vertex.0 as usize];
        let numbered = |ends: &[VertexId]| ends.iter().map(number).collect();
        let all = |columns| EdgeBlock { sources: numbered(sources), targets: numbered(targets), columns };
        if self.places.is_empty() {
            return vec![((0, 0), all(columns))];
        }
        let place = |vertex: &VertexId| self.places[vertex.0 as usize] as usize;
        let mut by_pair: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (row, (source, target)) in sources.iter().zip(targets).enumerate() {
            by_pair.entry((place(source), place(target))).or_default().push(row);
        }
        if by_pair.len() == 1 {
            return by_pair.into_keys().zip([all(columns)]).collect();
        }
        let block = |(pair, rows): (_, Vec<usize>)| {
            let of = |ends: &[VertexId]| rows.iter().map(|row| number(&ends[*row])).collect();
            let select = |column: &Option<PackedColumn>| column.as_ref()?.select(rows.iter().copied());
            let columns = columns.iter().map(select).collect();
            (pair, EdgeBlock { sources: of(sources), targets: of(targets), columns })
        };
        by_pair.into_iter().map(block).collect()
    }
}

/// The error about the first of `vertices` that isn't there.
fn not_there(view: &impl GraphView, vertices: &[VertexId], end: &str) -> Result<Error> {
    let (mut row, mut labels) = (0, Vec::with_capacity(BATCH));
    for batch in vertices.chunks(BATCH) {
        labels.clear();
        view.labels(batch, &mut labels)?;
        if let Some(at) = labels.iter().position(Option::is_none) {
            row += at;
            break;
        }
        row += batch.len();
    }
    let vertex = vertices[row].0;
    Ok(Error::new(ErrorKind::NotFound, format!("row {row}: the {end} vertex {vertex} isn't there")))
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
                "column {name:?}: expected vertex ids, found {}; to use keys, name their label and property",
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
        let values = numbers.values();
        let numbers = values.par_iter().with_min_len(BATCH);
        if let Some(at) = numbers.clone().position_first(|number| *number > u64::from(u32::MAX)) {
            let (row, number) = (found.len() + at, values[at]);
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("row {row}: no vertex has the number {number}"),
            ));
        }
        found.par_extend(numbers.map(|number| VertexId(*number as u32)));
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
