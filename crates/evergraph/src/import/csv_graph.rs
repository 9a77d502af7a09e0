//! CSV graph: files of vertices and of edges put together, ids turned into rows.
//!
//! ```text
//! person.csv  :ID(Person)             space Person    id 17 ──> entry 0 ──> row 0 of label Person
//! knows.csv   :START_ID(Person) ──────────^  17
//! ```
//!
//! A space may hold vertices of several labels; a run says from which entry on its vertices belong to
//! which label. Edges are gathered by their type and the labels that they join.

use crate::import::cell::{CellColumn, CellType};
use crate::import::context::Context;
use crate::import::csv_file::OpenCsv;
use crate::import::csv_records::CsvRecords;
use crate::import::csv_rows::{CsvRows, IdCells, RowFormat, string_at};
use crate::import::declared::Declared;
use crate::import::faults::{Fault, FaultCollector, Faults};
use crate::import::header::{Header, Meaning};
use crate::import::identity::{Inserted, IntegerIds, StringIds};
use crate::import::options::IdType;
use crate::import::pipeline;
use crate::import::places::Places;
use crate::import::stage::{StagedEdges, StagedVertices};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::load::Load;
use evergraph_graph::value::ValueType;
use std::collections::{HashMap, HashSet};

/// A graph made of CSV files. All files of vertices come before those of edges.
#[derive(Default)]
pub struct CsvGraph {
    spaces: Vec<Space>,
    vertices: Vec<StagedVertices>,
    /// The space of each table's ids, and the file that said so first.
    table_spaces: Vec<(usize, String)>,
    edges: Vec<StagedEdges>,
    /// Index in `edges` by type, source label and target label.
    edge_tables: HashMap<(String, usize, usize), usize>,
    declared: Declared,
}

/// Ids that are unique among each other.
struct Space {
    name: String,
    /// The file that spoke of it first.
    file: String,
    ids: Ids,
    /// Sorted by entry: whose rows the entries from there on are.
    runs: Vec<Run>,
    places: Places,
}

#[derive(Clone, Copy)]
struct Run {
    entry: u32,
    table: usize,
    row: u32,
}

enum Ids {
    Integers(IntegerIds),
    Strings(StringIds),
}

/// Rows of one block that go to one table.
#[derive(Default)]
struct Group {
    rows: Vec<u32>,
    sources: Vec<u32>,
    targets: Vec<u32>,
}

impl CsvGraph {
    /// Adds the vertices of a file.
    ///
    /// # Errors
    /// As reading; `invalid` if the header disagrees with that of another file; a bad row, if it
    /// stops the import: an id given twice is one.
    pub fn read_nodes(&mut self, file: OpenCsv, context: &mut Context<'_>) -> Result<()> {
        let OpenCsv { records, header, name, null, .. } = file;
        let file = records.name().to_owned();
        let id = header.fields.iter().enumerate().find_map(|(column, field)| match &field.meaning {
            Meaning::Id { key, space, id_type } => Some((column, key.clone(), space.clone(), *id_type)),
            _ => None,
        });
        let Some((id_column, key, space_name, id_type)) = id else {
            return Err(Error::invalid(format!("{file}: header: there is no :ID")));
        };
        let id_name = header.fields[id_column].text.clone();
        let id_type = id_type.unwrap_or(context.options.id_type);
        let space = self.space(&space_name, id_type, &file)?;
        self.spaces[space].places.enter(&file);
        let mut declared_tables = HashSet::new();
        let has_labels = header.position(|meaning| *meaning == Meaning::Label).is_some();
        let only_table = if has_labels {
            None
        } else {
            let table = self.vertex_table(&name, key.as_deref(), space, &file)?;
            self.declare_vertices(table, &header, id_type, &file)?;
            Some(table)
        };
        let null = null.map(String::into_bytes);
        let format = RowFormat { header, id_types: vec![id_type], default_name: name, null };
        let rules = context.faults.rules();
        read_batches(records, &format, context, |mut rows, collector| {
            let tables = match (&rows.names, only_table) {
                (_, Some(table)) => vec![table],
                (names, None) => {
                    let names = names.iter().flat_map(|names| &names.names);
                    let tables: Result<Vec<usize>> =
                        names.map(|label| self.vertex_table(label, key.as_deref(), space, &file)).collect();
                    tables?
                }
            };
            for table in &tables {
                if only_table.is_none() && declared_tables.insert(*table) {
                    self.declare_vertices(*table, &format.header, id_type, &file)?;
                }
            }
            let mut duplicates = Faults::new(rules);
            let groups =
                self.place_vertices(space, &rows, &tables, (id_column, &id_name), &mut duplicates, &file)?;
            rows.faults.join(duplicates);
            collector.add(&file, 0, rows.faults)?;
            if let Some(key) = &key {
                rows.columns.insert(0, (key.clone(), rows.ids[0].to_column()));
            }
            let mut placed = 0;
            let mut columns = rows.columns;
            for (table, rows_of_table) in groups {
                let added = take_rows(&mut columns, &rows_of_table, rows.lines.len());
                self.vertices[table]
                    .push(rows_of_table.len(), added)
                    .map_err(|why| Error::invalid(format!("{file}: {why}")))?;
                placed += rows_of_table.len() as u64;
            }
            Ok(placed)
        })
    }

    /// Adds the edges of a file.
    ///
    /// # Errors
    /// As reading; `invalid` if the header names an id space without vertices or disagrees with that
    /// of another file; a bad row, if it stops the import: an unknown end is one.
    pub fn read_relationships(&mut self, file: OpenCsv, context: &mut Context<'_>) -> Result<()> {
        let OpenCsv { records, header, name, null, .. } = file;
        let file = records.name().to_owned();
        let mut end_columns = Vec::with_capacity(2);
        for (column, field) in header.fields.iter().enumerate() {
            let (Meaning::StartId(end) | Meaning::EndId(end)) = &field.meaning else { continue };
            let space = self
                .find_space(&end.space)
                .ok_or_else(|| self.unknown_space(&file, column, &field.text, &end.space))?;
            if let Some(id_type) = end.id_type {
                self.check_id_type(space, id_type, &file)?;
            }
            end_columns.push((column, space, matches!(field.meaning, Meaning::StartId(_))));
        }
        let [first, second] = end_columns[..] else {
            return Err(Error::invalid(format!("{file}: header: :START_ID and :END_ID are wanted")));
        };
        let mut declared_types = HashSet::new();
        let id_types = [first, second].iter().map(|(_, space, _)| self.spaces[*space].id_type()).collect();
        let format =
            RowFormat { header, id_types, default_name: name.clone(), null: null.map(String::into_bytes) };
        // The ids lie from left to right; whichever is the start comes first from here on.
        let ends = if first.2 { [(0, first), (1, second)] } else { [(1, second), (0, first)] };
        let rules = context.faults.rules();
        read_batches(records, &format, context, |mut rows, collector| {
            let types = rows.names.as_ref().map_or_else(|| vec![name.clone()], |names| names.names.clone());
            for edge_type in &types {
                if declared_types.insert(edge_type.clone()) {
                    self.declare(&format!("type {edge_type}"), &format.header, &file)?;
                }
            }
            let mut unknown = Faults::new(rules);
            let groups = self.place_edges(&ends, &rows, &format.header, &mut unknown);
            rows.faults.join(unknown);
            collector.add(&file, 0, rows.faults)?;
            let mut columns = rows.columns;
            let mut placed = 0;
            for ((type_code, source, target), group) in groups {
                let added = take_rows(&mut columns, &group.rows, rows.lines.len());
                let table = self.edge_table(&types[type_code], source, target);
                self.edges[table]
                    .push(group.sources, group.targets, added)
                    .map_err(|why| Error::invalid(format!("{file}: {why}")))?;
                placed += group.rows.len() as u64;
            }
            Ok(placed)
        })
    }

    /// Moves the graph into `load`, which must be empty.
    pub fn finish(self, load: &mut Load) {
        load.vertices = self.vertices.into_iter().map(StagedVertices::finish).collect();
        load.edges = self.edges.into_iter().map(StagedEdges::finish).collect();
    }

    /// Finds the rows of new vertices and groups them by table, in order of appearance.
    fn place_vertices(
        &mut self,
        space: usize,
        rows: &CsvRows,
        tables: &[usize],
        (id_column, id_name): (usize, &str),
        duplicates: &mut Faults,
        file: &str,
    ) -> Result<Vec<(usize, Vec<u32>)>> {
        let space = &mut self.spaces[space];
        let mut groups: Vec<(usize, Vec<u32>)> = tables.iter().map(|table| (*table, Vec::new())).collect();
        for row in 0..rows.lines.len() {
            let entry = match space.insert(&rows.ids[0], row) {
                Inserted::New(entry) => entry,
                Inserted::Known(entry) => {
                    duplicates.push(rows.lines[row], || {
                        let other = space.places.find(entry).unwrap_or_default();
                        let id = rows.ids[0].show(row);
                        let why = format!("vertex {id} of {} is there already, from {other}", space.title());
                        Fault::of_column(id_column, id_name, why, &rows.text(row))
                    });
                    continue;
                }
                Inserted::Full => {
                    let text = format!("{file}: more than 4,294,967,295 vertices in {}", space.title());
                    return Err(Error::new(ErrorKind::Limit, text));
                }
            };
            space.places.push(entry, rows.lines[row]);
            let (table, group) =
                &mut groups[rows.names.as_ref().map_or(0, |names| names.codes[row] as usize)];
            // Below the number of entries, which fits.
            let table_row = self.vertices[*table].stage.rows() as u32 + group.len() as u32;
            space.note_run(entry, *table, table_row);
            group.push(row as u32);
        }
        groups.retain(|(_, rows)| !rows.is_empty());
        Ok(groups)
    }

    /// Looks the ends of edges up and groups edges by type and labels, in order of appearance.
    #[allow(clippy::type_complexity, reason = "a list of groups by their three parts, used once")]
    fn place_edges(
        &self,
        ends: &[(usize, (usize, usize, bool)); 2],
        rows: &CsvRows,
        header: &Header,
        unknown: &mut Faults,
    ) -> Vec<((usize, usize, usize), Group)> {
        let mut groups: Vec<((usize, usize, usize), Group)> = Vec::new();
        let mut group_at: HashMap<(usize, usize, usize), usize> = HashMap::new();
        let mut last = 0;
        for row in 0..rows.lines.len() {
            let found = ends.map(|(ids, (_, space, _))| self.spaces[space].find(&rows.ids[ids], row));
            let [Some((source_table, source)), Some((target_table, target))] = found else {
                unknown.push(rows.lines[row], || {
                    let (ids, (column, space, _)) = if found[0].is_none() { ends[0] } else { ends[1] };
                    let (id, space) = (rows.ids[ids].show(row), self.spaces[space].title());
                    let why = format!("there is no vertex {id} in {space}");
                    Fault::of_column(column, &header.fields[column].text, why, &rows.text(row))
                });
                continue;
            };
            let type_code = rows.names.as_ref().map_or(0, |names| names.codes[row] as usize);
            let joins = (type_code, source_table, target_table);
            if groups.get(last).is_none_or(|(other, _)| *other != joins) {
                last = *group_at.entry(joins).or_insert_with(|| {
                    groups.push((joins, Group::default()));
                    groups.len() - 1
                });
            }
            let group = &mut groups[last].1;
            group.rows.push(row as u32);
            group.sources.push(source);
            group.targets.push(target);
        }
        groups
    }

    fn find_space(&self, name: &str) -> Option<usize> {
        self.spaces.iter().position(|space| space.name == name)
    }

    fn space(&mut self, name: &str, id_type: IdType, file: &str) -> Result<usize> {
        if let Some(index) = self.find_space(name) {
            self.check_id_type(index, id_type, file)?;
            return Ok(index);
        }
        self.spaces.push(Space {
            name: name.to_owned(),
            file: file.to_owned(),
            ids: match id_type {
                IdType::Integer => Ids::Integers(IntegerIds::new()),
                IdType::String => Ids::Strings(StringIds::new()),
            },
            runs: Vec::new(),
            places: Places::default(),
        });
        Ok(self.spaces.len() - 1)
    }

    fn check_id_type(&self, space: usize, id_type: IdType, file: &str) -> Result<()> {
        let space = &self.spaces[space];
        if space.id_type() == id_type {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "{file}: ids of {} are {} here and {} in {}; give both headers one id-type",
            space.title(),
            id_type_name(id_type),
            id_type_name(space.id_type()),
            space.file
        )))
    }

    fn unknown_space(&self, file: &str, column: usize, text: &str, space: &str) -> Error {
        let known: Vec<String> = self.spaces.iter().map(|space| format!("{:?}", space.name)).collect();
        let known = if known.is_empty() {
            "no file of vertices is imported with it".to_owned()
        } else {
            format!("there are {}", known.join(", "))
        };
        let column = column + 1;
        Error::invalid(format!(
            "{file}: header column {column} ({text:?}): no file of vertices has the id space {space:?}; {known}"
        ))
    }

    fn vertex_table(&mut self, label: &str, key: Option<&str>, space: usize, file: &str) -> Result<usize> {
        if let Some(index) = self.vertices.iter().position(|table| table.label == label) {
            let (known_space, known_file) = &self.table_spaces[index];
            let known_key = self.vertices[index].unique_key.as_deref();
            if (*known_space, known_key) == (space, key) {
                return Ok(index);
            }
            let show = |key: Option<&str>, space: usize| {
                format!("{}:ID({})", key.unwrap_or_default(), self.spaces[space].name)
            };
            return Err(Error::invalid(format!(
                "{file}: the id of label {label} is {} here and {} in {known_file}; give both one key and space",
                show(key, space),
                show(known_key, *known_space)
            )));
        }
        self.vertices.push(StagedVertices::new(label, key));
        self.table_spaces.push((space, file.to_owned()));
        Ok(self.vertices.len() - 1)
    }

    fn edge_table(&mut self, edge_type: &str, source_label: usize, target_label: usize) -> usize {
        let edges = &mut self.edges;
        *self.edge_tables.entry((edge_type.to_owned(), source_label, target_label)).or_insert_with(|| {
            edges.push(StagedEdges::new(edge_type, source_label, target_label));
            edges.len() - 1
        })
    }

    fn declare_vertices(&mut self, table: usize, header: &Header, id_type: IdType, file: &str) -> Result<()> {
        let owner = format!("label {}", self.vertices[table].label);
        if let Some(key) = self.vertices[table].unique_key.clone() {
            let cell_type = CellType::Scalar(match id_type {
                IdType::Integer => ValueType::I64,
                IdType::String => ValueType::String,
            });
            self.declared.declare(&owner, &key, cell_type, file)?;
        }
        self.declare(&owner, header, file)
    }

    fn declare(&mut self, owner: &str, header: &Header, file: &str) -> Result<()> {
        for field in &header.fields {
            if let Meaning::Property { key, cell_type } = &field.meaning {
                self.declared.declare(owner, key, *cell_type, file)?;
            }
        }
        Ok(())
    }
}

impl Space {
    fn id_type(&self) -> IdType {
        match self.ids {
            Ids::Integers(_) => IdType::Integer,
            Ids::Strings(_) => IdType::String,
        }
    }

    /// What errors call it.
    fn title(&self) -> String {
        if self.name.is_empty() {
            "the id space without a name".to_owned()
        } else {
            format!("id space {}", self.name)
        }
    }

    fn insert(&mut self, ids: &IdCells, row: usize) -> Inserted {
        match (&mut self.ids, ids) {
            (Ids::Integers(known), IdCells::Integers(ids)) => known.insert(ids[row]),
            (Ids::Strings(known), IdCells::Strings { text, ends }) => {
                known.insert(string_at(text, ends, row))
            }
            _ => unreachable!("a file's ids are read as its space has them"),
        }
    }

    /// The table and row of the vertex with the id at `row` of `ids`.
    fn find(&self, ids: &IdCells, row: usize) -> Option<(usize, u32)> {
        let entry = match (&self.ids, ids) {
            (Ids::Integers(known), IdCells::Integers(ids)) => known.get(ids[row])?,
            (Ids::Strings(known), IdCells::Strings { text, ends }) => {
                known.get(string_at(text, ends, row))?
            }
            _ => unreachable!("a file's ids are read as its space has them"),
        };
        let run = match self.runs.as_slice() {
            [run] => run,
            runs => &runs[runs.partition_point(|run| run.entry <= entry) - 1],
        };
        Some((run.table, run.row + (entry - run.entry)))
    }

    fn note_run(&mut self, entry: u32, table: usize, row: u32) {
        // In one run entries and rows grow alike.
        let continues = self
            .runs
            .last()
            .is_some_and(|run| run.table == table && row.checked_sub(run.row) == Some(entry - run.entry));
        if !continues {
            self.runs.push(Run { entry, table, row });
        }
    }
}

/// The columns' rows at `rows`; all rows are moved, not copied.
fn take_rows(columns: &mut Vec<(String, CellColumn)>, rows: &[u32], all: usize) -> Vec<(String, CellColumn)> {
    if rows.len() == all {
        return std::mem::take(columns);
    }
    let select = |cells: &CellColumn| CellColumn {
        value_type: cells.value_type,
        column: cells.column.as_ref().and_then(|all| all.select(rows.iter().map(|row| *row as usize))),
    };
    columns.iter().map(|(key, cells)| (key.clone(), select(cells))).collect()
}

fn read_batches(
    mut records: CsvRecords,
    format: &RowFormat,
    context: &mut Context<'_>,
    mut place: impl FnMut(CsvRows, &mut FaultCollector) -> Result<u64> + Send,
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
        |rows| place(rows, collector),
        |rows| {
            rows_read = rows;
            meter.tick(&name, &bytes, rows)
        },
    )?;
    context.meter.finish_file(&bytes, rows_read);
    Ok(())
}

fn id_type_name(id_type: IdType) -> &'static str {
    match id_type {
        IdType::String => "strings",
        IdType::Integer => "longs",
    }
}
