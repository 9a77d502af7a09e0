//! Graph: reads Parquet files of vertices and of edges into an assembly, a row group at a time.
//!
//! Faults name rows where those of texts name lines: `knows.parquet:17` is the 17th row.

use crate::import::assembly::batch::{Batch, Columns, Ends, IdPart, Names, RejectedRow};
use crate::import::assembly::edges::EdgeRule;
use crate::import::assembly::graph::Assembly;
use crate::import::assembly::id_column::IdColumn;
use crate::import::assembly::waiting_edges::WaitingEdges;
use crate::import::bad_row::Fault;
use crate::import::bytes::source::BytesRead;
use crate::import::context::Context;
use crate::import::csv::header::{ColumnRole, EndSpace};
use crate::import::faults::{FaultCollector, FaultRules, Faults};
use crate::import::field::cell::{CellColumn, CellType};
use crate::import::id_type::IdType;
use crate::import::parquet::cells::{ids, property, texts, value_at};
use crate::import::parquet::file::{OpenParquet, ParquetColumn};
use crate::import::pipeline;
use arrow_array::RecordBatch;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::shortened::Shortened;
use evergraph_graph::value::{Value, ValueType};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// Rows of a batch, at most.
const BATCH_ROWS: usize = 1 << 15;

/// Bytes of a row, about: tests ask for small blocks.
const ROW_BYTES: usize = 32;

/// Units of a thread that are in memory at once: the pipeline's three rounds of two.
const UNITS_OF_THREAD: u64 = 6;

/// What is parsed at once.
enum Unit {
    /// A row group, which whoever parses it reads.
    Group(usize),
    /// Rows, and how many come before them.
    Batch(RecordBatch, u64),
}

/// Reads row groups that are too large for memory one after the other, batch by batch.
struct Batches<'a> {
    file: &'a OpenParquet,
    /// Rows before each group.
    rows_before: &'a [u64],
    bytes: &'a BytesRead,
    /// Rows of a batch.
    rows: usize,
    groups: Range<usize>,
    /// The group that is read, and the rows before the next batch.
    open: Option<(usize, ParquetRecordBatchReader, u64)>,
}

impl Batches<'_> {
    fn next(&mut self) -> Result<Option<Unit>> {
        loop {
            if let Some((group, reader, first)) = &mut self.open {
                if let Some(batch) = self.file.next_batch(reader)? {
                    let before = *first;
                    *first += batch.num_rows() as u64;
                    return Ok(Some(Unit::Batch(batch, before)));
                }
                self.bytes.add(self.file.group_bytes(*group));
                self.open = None;
            }
            let Some(group) = self.groups.next() else { return Ok(None) };
            self.open = Some((group, self.file.read_group(group, self.rows)?, self.rows_before[group]));
        }
    }
}

/// Some rows of a file.
struct Rows {
    lines: Vec<u64>,
    /// The columns of ids, in the file's order.
    ids: Vec<IdColumn>,
    names: Names,
    columns: Vec<(String, CellColumn)>,
    faults: Faults,
}

/// Adds the vertices of `file` to `assembly`.
///
/// # Errors
/// As reading; `invalid` if the schema disagrees with what another file says; a bad row, if it stops
/// the import.
pub fn read_nodes(assembly: &mut Assembly, file: &OpenParquet, context: &mut Context<'_>) -> Result<()> {
    let id = file.columns.iter().find_map(|column| match &column.meaning {
        ColumnRole::Id { key, space, .. } => Some((column, key.clone(), space)),
        _ => None,
    });
    let Some((id_column, key, space)) = id else {
        return Err(Error::invalid(format!("{}: there is no :ID", file.name)));
    };
    let id_type = id_type(id_column);
    let space = assembly.enter_space(space, Some(id_type), &file.name)?;
    if !file.columns.iter().any(|column| column.meaning == ColumnRole::Label) {
        // The label is there even if the file has no rows.
        let table =
            assembly.vertex_table(&file.default_name, key.as_deref(), Some(id_type), space, &file.name)?;
        assembly.declare_vertices(table, id_type, properties(file), &file.name)?;
    }
    let mut declared = HashSet::new();
    read_groups(file, &[id_type], context, |rows, collector| {
        let Some(rows) = rows else { return Ok(0) };
        let Rows { lines, mut ids, names, columns, mut faults } = rows;
        let mut tables = Vec::with_capacity(names.names.len());
        for label in &names.names {
            let table = assembly.vertex_table(label, key.as_deref(), Some(id_type), space, &file.name)?;
            if declared.insert(table) {
                assembly.declare_vertices(table, id_type, properties(file), &file.name)?;
            }
            tables.push(table);
        }
        let ids = ids.pop().expect("a file of vertices has a column of ids");
        let batch = Batch { lines, ids, names, columns: Columns::Shared(columns) };
        let (placed, rejected) =
            assembly.place_vertices(&file.name, (space, tables), &batch, collector.rules())?;
        faults.join(rejected.map(|RejectedRow { row, part, why }| {
            let text = batch.ids.show(row);
            match part {
                IdPart::Row => Fault::of_row(why, text.as_bytes()),
                _ => Fault::of_column(id_column.index, &id_column.text, why, text.as_bytes()),
            }
        }));
        collector.add(&file.name, 0, faults)?;
        assembly.store_vertices(&file.name, &placed, batch)
    })
}

/// Adds the edges of `file` to `assembly`, which has the vertices.
///
/// # Errors
/// As reading; `invalid` if the schema names an id space without vertices or disagrees with what another
/// file says; a bad row, if it stops the import.
pub fn read_relationships(
    assembly: &mut Assembly,
    file: &OpenParquet,
    context: &mut Context<'_>,
) -> Result<()> {
    let mut end = |column: &ParquetColumn, end: &EndSpace| -> Result<(usize, IdType)> {
        let id_type = id_type(column);
        let end = EndSpace { id_type: Some(id_type), ..end.clone() };
        let text = format!("column {} ({})", column.index + 1, Shortened::new(&column.text));
        Ok((assembly.end_space(&end, id_type, &file.name, &text)?, id_type))
    };
    let (mut source, mut target, mut id_types) = (None, None, Vec::new());
    for column in &file.columns {
        let (place, space) = match &column.meaning {
            ColumnRole::StartId(space) => (&mut source, space),
            ColumnRole::EndId(space) => (&mut target, space),
            _ => continue,
        };
        let creates = space.creates;
        let (space, id_type) = end(column, space)?;
        *place = Some((id_types.len(), column, space, creates));
        id_types.push(id_type);
    }
    let (Some(source), Some(target)) = (source, target) else {
        return Err(Error::invalid(format!("{}: :START_ID and :END_ID are missing", file.name)));
    };
    let rule = EdgeRule {
        source_space: source.2,
        target_space: target.2,
        creates_sources: source.3,
        creates_targets: target.3,
        undirected: file.undirected,
    };
    let mut declared = HashSet::new();
    let mut waiting = WaitingEdges::new(rule, context.options.memory_shares().edges_bytes());
    read_groups(file, &id_types, context, |rows, collector| {
        let is_due = match rows {
            None => true,
            Some(Rows { lines, ids, names, columns, faults }) => {
                for edge_type in &names.names {
                    if declared.insert(edge_type.clone()) {
                        assembly.declare_edges(edge_type, properties(file), &file.name)?;
                    }
                }
                let [left, right]: [_; 2] = ids.try_into().expect("a file of edges has two columns of ids");
                let (sources, targets) = if source.0 == 0 { (left, right) } else { (right, left) };
                let ids = Ends { sources, targets };
                let batch = Batch { lines, ids, names, columns: Columns::Shared(columns) };
                waiting.push(assembly, batch, (faults, 0))
            }
        };
        if !is_due {
            return Ok(0);
        }
        waiting.place(assembly, |assembly, batch, entries, mut faults| {
            let (placed, rejected) =
                assembly.place_edges(&file.name, rule, (&batch, entries), collector.rules())?;
            faults.join(rejected.map(|RejectedRow { row, part, why }| {
                let (_, column, ..) = if part == IdPart::Source { source } else { target };
                let text = format!("{},{}", batch.ids.sources.show(row), batch.ids.targets.show(row));
                Fault::of_column(column.index, &column.text, why, text.as_bytes())
            }));
            collector.add(&file.name, 0, faults)?;
            assembly.store_edges(&file.name, placed, batch)
        })
    })
}

/// The properties that the schema declares.
fn properties(file: &OpenParquet) -> impl Iterator<Item = (&str, CellType)> {
    file.columns.iter().filter_map(|column| match &column.meaning {
        ColumnRole::Property { key, cell_type } => Some((key.as_str(), *cell_type)),
        _ => None,
    })
}

fn id_type(column: &ParquetColumn) -> IdType {
    column.id_type().expect("`open` refuses other columns of ids")
}

/// Hands all rows to `place`, batch by batch, and then nothing, once. It returns how many it took.
///
/// Threads read a row group each. Where as many as are in hand would not fit into the memory for rows, one thread reads
/// them, a batch at a time.
fn read_groups(
    file: &OpenParquet,
    id_types: &[IdType],
    context: &mut Context<'_>,
    mut place: impl FnMut(Option<Rows>, &mut FaultCollector) -> Result<u64> + Send,
) -> Result<()> {
    let rows_before = file.group_rows();
    let bytes = BytesRead::default();
    let batch_rows = (context.block_bytes / ROW_BYTES).clamp(1, BATCH_ROWS);
    let rules = context.faults.rules();
    let (meter, collector, cancel) = (&context.meter, &mut context.faults, &context.options.cancel);
    let mut groups = 0..rows_before.len() - 1;
    let mut rows_read = 0;
    let (group_bytes, row_bytes) = file.group_and_row_bytes();
    let unit_bytes =
        context.options.memory_shares().rows / (UNITS_OF_THREAD * context.pool.current_num_threads() as u64);
    let mut batches = (group_bytes > unit_bytes).then(|| {
        let rows = (unit_bytes / row_bytes.max(1)).clamp(1, batch_rows as u64) as usize;
        let (groups, rows_before) = (groups.clone(), &rows_before[..]);
        Batches { file, rows_before, bytes: &bytes, rows, groups, open: None }
    });
    let parse = |unit: Unit| -> Result<Vec<Rows>> {
        let group = match unit {
            Unit::Group(group) => group,
            Unit::Batch(batch, first) => {
                cancel.check()?;
                return Ok(vec![parse_rows(file, id_types, &batch, first, rules)?]);
            }
        };
        let mut first = rows_before[group];
        let mut all = Vec::new();
        let mut reader = file.read_group(group, batch_rows)?;
        while let Some(batch) = file.next_batch(&mut reader)? {
            cancel.check()?;
            all.push(parse_rows(file, id_types, &batch, first, rules)?);
            first += batch.num_rows() as u64;
        }
        bytes.add(file.group_bytes(group));
        Ok(all)
    };
    pipeline::run(
        context.pool,
        || match &mut batches {
            Some(batches) => batches.next(),
            None => Ok(groups.next().map(Unit::Group)),
        },
        parse,
        |all| all?.into_iter().map(|rows| place(Some(rows), collector)).sum(),
        |rows| {
            rows_read = rows;
            meter.tick(&file.name, &bytes, rows)
        },
    )?;
    rows_read += context.pool.install(|| place(None, collector))?;
    context.meter.finish_file(&bytes, rows_read);
    Ok(())
}

/// Turns a record batch, which begins behind `first` rows, into rows of ours.
fn parse_rows(
    file: &OpenParquet,
    id_types: &[IdType],
    batch: &RecordBatch,
    first: u64,
    rules: FaultRules,
) -> Result<Rows> {
    if batch.num_columns() != file.columns.len() {
        return Err(Error::invalid(format!("{}: was written anew meanwhile", file.name)));
    }
    let mut bad: BTreeMap<usize, (usize, String)> = BTreeMap::new();
    let mut id_columns = Vec::new();
    let mut names = None;
    let mut columns = Vec::new();
    for (at, column) in file.columns.iter().enumerate() {
        let array = batch.column(at).as_ref();
        let mut note = |row: usize, why: String| {
            bad.entry(row).or_insert((at, why));
        };
        match &column.meaning {
            ColumnRole::Id { .. } | ColumnRole::StartId(_) | ColumnRole::EndId(_) => {
                let is_uuid = column.value_type == ValueType::Uuid;
                id_columns.push(ids(array, is_uuid, id_types[id_columns.len()], &mut note));
            }
            ColumnRole::Label | ColumnRole::Type => {
                let mut codes: HashMap<String, u32> = HashMap::new();
                let mut found = Names::default();
                for row in 0..array.len() {
                    let value = value_at(array, row, false).unwrap_or_else(|why| {
                        note(row, why);
                        None
                    });
                    let name = value.as_ref().and_then(Value::as_str).filter(|name| !name.is_empty());
                    let name = name.unwrap_or(&file.default_name);
                    let code = codes.get(name).copied().unwrap_or_else(|| {
                        let code = found.names.len() as u32;
                        codes.insert(name.to_owned(), code);
                        found.names.push(name.to_owned());
                        code
                    });
                    found.codes.push(code);
                }
                names = Some(found);
            }
            ColumnRole::Property { key, .. } => {
                let values = match column.cells {
                    Some(cell_type) => texts(array, cell_type, &mut note),
                    None => property(array, column.value_type, &mut note),
                };
                columns.push((key.clone(), values));
            }
            // Names of columns say no such thing: their maps stay maps.
            ColumnRole::Ignore | ColumnRole::Attributes(_) => {}
        }
    }
    let mut rows = Rows {
        lines: (0..batch.num_rows() as u64).map(|row| first + row + 1).collect(),
        ids: id_columns,
        names: names.unwrap_or_else(|| Names::one(&file.default_name)),
        columns,
        faults: Faults::new(rules),
    };
    for (row, (at, why)) in &bad {
        let column = &file.columns[*at];
        let text = rows.ids.iter().map(|ids| ids.show(*row)).collect::<Vec<_>>().join(",");
        let describe = || Fault::of_column(column.index, &column.text, why.clone(), text.as_bytes());
        rows.faults.push(rows.lines[*row], describe);
    }
    if !bad.is_empty() {
        rows.drop_rows(&bad);
    }
    Ok(rows)
}

impl Rows {
    fn drop_rows(&mut self, bad: &BTreeMap<usize, (usize, String)>) {
        let keep: Vec<bool> = (0..self.lines.len()).map(|row| !bad.contains_key(&row)).collect();
        let kept = || keep.iter().enumerate().filter(|(_, keep)| **keep).map(|(row, _)| row);
        self.lines = kept().map(|row| self.lines[row]).collect();
        self.ids.iter_mut().for_each(|ids| ids.retain(&keep));
        if !self.names.codes.is_empty() {
            self.names.codes = kept().map(|row| self.names.codes[row]).collect();
        }
        for (_, cells) in &mut self.columns {
            cells.column = cells.column.as_ref().and_then(|column| column.select(kept()));
        }
    }
}

#[cfg(test)]
mod tests;
