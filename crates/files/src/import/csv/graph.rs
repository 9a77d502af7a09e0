//! CSV graph: reads files of vertices and of edges into an assembly.
//!
//! ```text
//! person.csv  :ID(Person)             space Person    id 17 ──> row 0 of label Person
//! knows.csv   :START_ID(Person) ──────────^  17
//! ```

use crate::import::assembly::batch::{Batch, Columns, Ends, IdPart, Names, RejectedRow};
use crate::import::assembly::edges::EdgeRule;
use crate::import::assembly::graph::Assembly;
use crate::import::assembly::space::Space;
use crate::import::assembly::waiting_edges::WaitingEdges;
use crate::import::bad_row::Fault;
use crate::import::context::Context;
use crate::import::csv::file::OpenCsv;
use crate::import::csv::header::{ColumnRole, Header};
use crate::import::csv::records::CsvRecords;
use crate::import::csv::rows::{CsvRows, LABELS_KEY, RowFormat};
use crate::import::faults::FaultCollector;
use crate::import::field::cell::CellType;
use crate::import::id_type::IdType;
use crate::import::pipeline;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::shortened::Shortened;
use std::collections::HashSet;

/// Adds the vertices of `file` to `assembly`.
///
/// # Errors
/// As reading; `invalid` if the header disagrees with that of another file; a bad row, if it stops the
/// import: an id given twice is one.
pub fn read_nodes(assembly: &mut Assembly, file: OpenCsv, context: &mut Context<'_>) -> Result<()> {
    let OpenCsv { records, header, name, null, array_delimiter, .. } = file;
    let file = records.name().to_owned();
    let id = header.fields.iter().enumerate().find_map(|(column, field)| match &field.meaning {
        ColumnRole::Id { key, space, id_type } => Some((column, key.clone(), space.clone(), *id_type)),
        _ => None,
    });
    let Some((id_column, key, space_name, id_type)) = id else {
        return Err(Error::invalid(format!("{file}: header: there is no :ID")));
    };
    let id_name = header.fields[id_column].text.clone();
    let id_type = id_type.unwrap_or(context.options.ids.id_type);
    let space = assembly.enter_space(&space_name, Some(id_type), &file)?;
    if header.position(|meaning| *meaning == ColumnRole::Label).is_none() {
        // The label is there even if the file has no rows.
        let table = assembly.vertex_table(&name, key.as_deref(), Some(id_type), space, &file)?;
        assembly.declare_vertices(table, id_type, properties(&header), &file)?;
    }
    let null = null.map(String::into_bytes);
    let format = RowFormat { header, id_types: vec![id_type], default_name: name, array_delimiter, null };
    let mut declared = HashSet::new();
    let mut all_several = 0;
    read_batches(records, &format, context, |rows, collector| {
        let Some(rows) = rows else { return Ok(0) };
        let CsvRows { lines, columns, mut ids, names, mut faults, texts, several_labels } = rows;
        all_several += several_labels;
        let names = names.unwrap_or_else(|| Names::one(&format.default_name));
        let mut tables = Vec::with_capacity(names.names.len());
        for label in &names.names {
            let table = assembly.vertex_table(label, key.as_deref(), Some(id_type), space, &file)?;
            if declared.insert(table) {
                assembly.declare_vertices(table, id_type, properties(&format.header), &file)?;
            }
            if several_labels > 0 {
                assembly.declare_vertices(table, id_type, [(LABELS_KEY, format.labels_type())], &file)?;
            }
            tables.push(table);
        }
        let ids = ids.pop().expect("a file of vertices has a column of ids");
        let batch = Batch { lines, ids, names, columns: Columns::Shared(columns) };
        let (placed, rejected) =
            assembly.place_vertices(&file, (space, tables), &batch, collector.rules())?;
        faults.join(rejected.map(|RejectedRow { row, part, why }| match part {
            IdPart::Row => Fault::of_row(why, &texts.text(row)),
            _ => Fault::of_column(id_column, &id_name, why, &texts.text(row)),
        }));
        collector.add(&file, 0, faults)?;
        assembly.store_vertices(&file, &placed, batch)
    })?;
    if all_several > 0 {
        assembly.notes.push(format!(
            "{file}: {all_several} vert{} several labels: the first one counts, property {LABELS_KEY} has all",
            if all_several == 1 { "ex has" } else { "ices have" }
        ));
    }
    Ok(())
}

/// Adds the edges of `file` to `assembly`, which has the vertices.
///
/// # Errors
/// As reading; `invalid` if the header names an id space without vertices or disagrees with that of
/// another file; a bad row, if it stops the import: an unknown end is one.
pub fn read_relationships(assembly: &mut Assembly, file: OpenCsv, context: &mut Context<'_>) -> Result<()> {
    let OpenCsv { records, header, name, null, array_delimiter, undirected } = file;
    let file = records.name().to_owned();
    // From left to right: the column, its space, whether edges begin there.
    let mut end_columns = Vec::with_capacity(2);
    let mut id_types = Vec::with_capacity(2);
    for (column, field) in header.fields.iter().enumerate() {
        let (ColumnRole::StartId(end) | ColumnRole::EndId(end)) = &field.meaning else { continue };
        let text = format!("header column {} ({})", column + 1, Shortened::new(&field.text));
        let space = assembly.end_space(end, context.options.ids.id_type, &file, &text)?;
        end_columns.push((column, space, matches!(field.meaning, ColumnRole::StartId(_)), end.creates));
        id_types.push(end.id_type.map_or_else(|| id_type_of(&assembly.spaces()[space], &file), Ok)?);
    }
    let [first, second] = end_columns[..] else {
        return Err(Error::invalid(format!("{file}: header: :START_ID and :END_ID are missing")));
    };
    let null = null.map(String::into_bytes);
    let format = RowFormat { header, id_types, default_name: name, array_delimiter, null };
    let starts_first = first.2;
    let (source, target) = if starts_first { (first, second) } else { (second, first) };
    let rule = EdgeRule {
        source_space: source.1,
        target_space: target.1,
        creates_sources: source.3,
        creates_targets: target.3,
        undirected,
    };
    let mut declared = HashSet::new();
    let mut waiting = WaitingEdges::new(rule, context.options.memory_shares().edges_bytes());
    read_batches(records, &format, context, |rows, collector| {
        let is_due = match rows {
            None => true,
            Some(CsvRows { lines, columns, ids, names, faults, texts, .. }) => {
                let names = names.unwrap_or_else(|| Names::one(&format.default_name));
                for edge_type in &names.names {
                    if declared.insert(edge_type.clone()) {
                        assembly.declare_edges(edge_type, properties(&format.header), &file)?;
                    }
                }
                let [left, right]: [_; 2] = ids.try_into().expect("a file of edges has two columns of ids");
                let (sources, targets) = if starts_first { (left, right) } else { (right, left) };
                let ids = Ends { sources, targets };
                let batch = Batch { lines, ids, names, columns: Columns::Shared(columns) };
                let texts_bytes = texts.heap_bytes();
                waiting.push(assembly, batch, ((texts, faults), texts_bytes))
            }
        };
        if !is_due {
            return Ok(0);
        }
        waiting.place(assembly, |assembly, batch, entries, (texts, mut faults)| {
            let (placed, rejected) =
                assembly.place_edges(&file, rule, (&batch, entries), collector.rules())?;
            faults.join(rejected.map(|RejectedRow { row, part, why }| {
                let (column, ..) = if part == IdPart::Source { source } else { target };
                Fault::of_column(column, &format.header.fields[column].text, why, &texts.text(row))
            }));
            collector.add(&file, 0, faults)?;
            assembly.store_edges(&file, placed, batch)
        })
    })
}

/// The properties that a header declares.
fn properties(header: &Header) -> impl Iterator<Item = (&str, CellType)> {
    header.fields.iter().flat_map(|field| match &field.meaning {
        ColumnRole::Property { key, cell_type } => vec![(key.as_str(), *cell_type)],
        ColumnRole::Attributes(attributes) => {
            attributes.iter().map(|(key, cell_type)| (key.as_str(), *cell_type)).collect()
        }
        _ => Vec::new(),
    })
}

/// The type of ids in `space` where the header of `file` doesn't state one.
fn id_type_of(space: &Space, file: &str) -> Result<IdType> {
    let id_type = space.id_type().ok_or_else(|| {
        let title = space.title();
        Error::invalid(format!(
            "{file}: header: {title} is that of {}, which has its edges itself; edges of CSV files need vertices \
             of CSV files, of Parquet files or of the database",
            space.file
        ))
    })?;
    // One space may have ids of several widths.
    Ok(if id_type.kind() == IdType::LONG.kind() { IdType::LONG } else { id_type })
}

/// Hands all rows to `place`, batch by batch, and then nothing, once. It returns how many it took.
fn read_batches(
    mut records: CsvRecords,
    format: &RowFormat,
    context: &mut Context<'_>,
    mut place: impl FnMut(Option<CsvRows>, &mut FaultCollector) -> Result<u64> + Send,
) -> Result<()> {
    let (name, bytes) = (records.name().to_owned(), records.bytes_read());
    let (width, block_bytes) = (format.header.fields.len(), context.block_bytes);
    let rules = context.faults.rules();
    let (meter, collector) = (&context.meter, &mut context.faults);
    let mut rows_read = 0;
    pipeline::run(
        context.pool,
        || records.next_batch(width, block_bytes, rules),
        |batch| format.parse(batch, rules),
        |rows| place(Some(rows), collector),
        |rows| {
            rows_read = rows;
            meter.tick(&name, &bytes, rows)
        },
    )?;
    rows_read += context.pool.install(|| place(None, collector))?;
    context.meter.finish_file(&bytes, rows_read);
    Ok(())
}
