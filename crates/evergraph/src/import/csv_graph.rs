//! CSV graph: files of vertices and of edges put together, ids turned into rows.
//!
//! ```text
//! person.csv  :ID(Person)             space Person    id 17 ──> entry 0 ──> row 0 of label Person
//! knows.csv   :START_ID(Person) ──────────^  17
//! ```
//!
//! A space may hold vertices of several labels. Edges are gathered by their type and the labels that
//! they join. Where a vertex came twice and the last one counts, the rows before are dead: they keep
//! their numbers until all vertices are there, and go before the first edge.

use crate::import::cell::{CellColumn, CellType};
use crate::import::context::Context;
use crate::import::csv_file::OpenCsv;
use crate::import::csv_records::CsvRecords;
use crate::import::csv_rows::{CsvRows, RowFormat};
use crate::import::csv_space::{Place, Space};
use crate::import::declared::Declared;
use crate::import::faults::{Fault, FaultCollector, Faults};
use crate::import::header::{Header, Meaning};
use crate::import::identity::Inserted;
use crate::import::options::IdType;
use crate::import::pipeline;
use crate::import::policy::{OnDuplicate, OnUnknown, Settled};
use crate::import::stage::{StagedEdges, StagedVertices};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::load::Load;
use evergraph_graph::value::ValueType;
use std::collections::{HashMap, HashSet};

/// The property that keeps the ids of vertices of which no file but those of edges speaks.
const CREATED_KEY: &str = "id";

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
    /// Rows of vertices that a later one replaced.
    dead: HashSet<Place>,
    /// By edge type, for files without direction: the pairs of vertices that have an edge.
    pairs: HashMap<String, HashSet<[Place; 2]>>,
    settled: Settled,
}

/// One end of the edges of a file.
#[derive(Clone, Copy)]
struct End {
    /// Index among the file's columns of ids.
    ids: usize,
    /// Index among all its columns.
    column: usize,
    /// Index of the space where the ids are looked up.
    space: usize,
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
        let (rules, on_duplicate) = (context.faults.rules(), context.options.on_duplicate);
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
            let id = NodeIds { space, column: id_column, name: &id_name, on_duplicate };
            let groups = self.place_vertices(id, &rows, &tables, &mut duplicates, &file)?;
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
        let OpenCsv { records, header, name, null, undirected } = file;
        let file = records.name().to_owned();
        self.drop_dead_rows();
        let on_unknown = context.options.on_unknown;
        let (mut start, mut end) = (None, None);
        let mut id_types = Vec::with_capacity(2);
        for (column, field) in header.fields.iter().enumerate() {
            let (Meaning::StartId(named) | Meaning::EndId(named)) = &field.meaning else { continue };
            let space = match (self.find_space(&named.space), on_unknown) {
                (Some(space), _) => space,
                (None, OnUnknown::Create) => {
                    self.space(&named.space, named.id_type.unwrap_or(context.options.id_type), &file)?
                }
                (None, _) => return Err(self.unknown_space(&file, column, &field.text, &named.space)),
            };
            if let Some(id_type) = named.id_type {
                self.check_id_type(space, id_type, &file)?;
            }
            let is_start = matches!(field.meaning, Meaning::StartId(_));
            let found = End { ids: id_types.len(), column, space };
            id_types.push(self.spaces[space].id_type());
            if is_start { start = Some(found) } else { end = Some(found) }
        }
        let (Some(start), Some(end)) = (start, end) else {
            return Err(Error::invalid(format!("{file}: header: :START_ID and :END_ID are wanted")));
        };
        let ends = [start, end];
        let nameless = context.options.vertex_label.clone();
        let mut declared_types = HashSet::new();
        let format =
            RowFormat { header, id_types, default_name: name.clone(), null: null.map(String::into_bytes) };
        let rules = context.faults.rules();
        read_batches(records, &format, context, |mut rows, collector| {
            let types = rows.names.as_ref().map_or_else(|| vec![name.clone()], |names| names.names.clone());
            for edge_type in &types {
                if declared_types.insert(edge_type.clone()) {
                    self.declare(&format!("type {edge_type}"), &format.header, &file)?;
                }
            }
            if on_unknown == OnUnknown::Create {
                for end in ends {
                    self.create_unknown(end, &rows, &nameless, &file)?;
                }
            }
            let mut unknown = Faults::new(rules);
            let mut groups = self.place_edges(&ends, &rows, &format.header, &mut unknown);
            if on_unknown == OnUnknown::Skip {
                self.settled.unknown += unknown.count();
            } else {
                rows.faults.join(unknown);
            }
            collector.add(&file, 0, rows.faults)?;
            if undirected {
                groups.iter_mut().for_each(|group| self.drop_repeated_pairs(&types, group));
            }
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

    /// Moves the graph into `load`, which must be empty, and tells what was settled.
    #[must_use]
    pub fn finish(mut self, load: &mut Load) -> Settled {
        self.drop_dead_rows();
        load.vertices = self.vertices.into_iter().map(StagedVertices::finish).collect();
        load.edges = self.edges.into_iter().map(StagedEdges::finish).collect();
        self.settled
    }

    /// Finds the rows of new vertices and groups them by table, in order of appearance.
    fn place_vertices(
        &mut self,
        id: NodeIds<'_>,
        rows: &CsvRows,
        tables: &[usize],
        duplicates: &mut Faults,
        file: &str,
    ) -> Result<Vec<(usize, Vec<u32>)>> {
        let space = &mut self.spaces[id.space];
        let mut groups: Vec<(usize, Vec<u32>)> = tables.iter().map(|table| (*table, Vec::new())).collect();
        for row in 0..rows.lines.len() {
            let (table, group) =
                &mut groups[rows.names.as_ref().map_or(0, |names| names.codes[row] as usize)];
            let table_row = self.vertices[*table].stage.rows() + group.len() as u64;
            let place = Place { table: *table, row: table_row as u32 };
            match space.insert(&rows.ids[0], row) {
                // Dead rows are counted as well, so there may be more of them than ids.
                Inserted::Full => return Err(too_many_vertices(file, space)),
                _ if table_row >= u64::from(u32::MAX) => return Err(too_many_vertices(file, space)),
                Inserted::New(entry) => {
                    space.places.push(entry, rows.lines[row]);
                    space.set_place(entry, place);
                }
                Inserted::Known(entry) if id.on_duplicate == OnDuplicate::Fail => {
                    duplicates.push(rows.lines[row], || {
                        let other = space.places.find(entry).unwrap_or_default();
                        let shown = rows.ids[0].show(row);
                        let why =
                            format!("vertex {shown} of {} is there already, from {other}", space.title());
                        Fault::of_column(id.column, id.name, why, &rows.text(row))
                    });
                    continue;
                }
                Inserted::Known(_) if id.on_duplicate == OnDuplicate::First => {
                    self.settled.duplicates += 1;
                    continue;
                }
                Inserted::Known(entry) => {
                    self.settled.duplicates += 1;
                    self.dead.insert(space.place_of(entry));
                    space.move_to(entry, place);
                }
            }
            group.push(row as u32);
        }
        groups.retain(|(_, rows)| !rows.is_empty());
        Ok(groups)
    }

    /// Looks the ends of edges up and groups edges by type and labels, in order of appearance.
    #[allow(clippy::type_complexity, reason = "a list of groups by their three parts, used once")]
    fn place_edges(
        &self,
        ends: &[End; 2],
        rows: &CsvRows,
        header: &Header,
        unknown: &mut Faults,
    ) -> Vec<((usize, usize, usize), Group)> {
        let mut groups: Vec<((usize, usize, usize), Group)> = Vec::new();
        let mut group_at: HashMap<(usize, usize, usize), usize> = HashMap::new();
        let mut last = 0;
        for row in 0..rows.lines.len() {
            let found = ends.map(|end| self.spaces[end.space].find(&rows.ids[end.ids], row));
            let [Some(source), Some(target)] = found else {
                unknown.push(rows.lines[row], || {
                    let End { ids, column, space } = if found[0].is_none() { ends[0] } else { ends[1] };
                    let (id, space) = (rows.ids[ids].show(row), self.spaces[space].title());
                    let why = format!("there is no vertex {id} in {space}");
                    Fault::of_column(column, &header.fields[column].text, why, &rows.text(row))
                });
                continue;
            };
            let type_code = rows.names.as_ref().map_or(0, |names| names.codes[row] as usize);
            let joins = (type_code, source.table, target.table);
            if groups.get(last).is_none_or(|(other, _)| *other != joins) {
                last = *group_at.entry(joins).or_insert_with(|| {
                    groups.push((joins, Group::default()));
                    groups.len() - 1
                });
            }
            let group = &mut groups[last].1;
            group.rows.push(row as u32);
            group.sources.push(source.row);
            group.targets.push(target.row);
        }
        groups
    }

    /// The table where vertices of `space` are created: that of its only label. A space without
    /// vertices gets one with its own name, or `nameless` if it has none.
    fn created_table(&mut self, space: usize, nameless: &str, file: &str) -> Result<usize> {
        let name = self.spaces[space].name.clone();
        let tables: Vec<usize> =
            (0..self.vertices.len()).filter(|table| self.table_spaces[*table].0 == space).collect();
        match tables[..] {
            [table] => Ok(table),
            [] => {
                let label = if name.is_empty() { nameless } else { &name };
                self.vertex_table(label, Some(CREATED_KEY), space, file)
            }
            _ => tables.iter().copied().find(|table| self.vertices[*table].label == name).ok_or_else(|| {
                let labels: Vec<&str> =
                    tables.iter().map(|table| self.vertices[*table].label.as_str()).collect();
                Error::invalid(format!(
                    "{file}: vertices that aren't there can't be created: {} has those of {}, and nothing tells \
                     which label they are of",
                    self.spaces[space].title(),
                    labels.join(", ")
                ))
            }),
        }
    }

    /// Creates the vertices at one end of edges that aren't there.
    fn create_unknown(&mut self, end: End, rows: &CsvRows, nameless: &str, file: &str) -> Result<()> {
        let ids = &rows.ids[end.ids];
        let is_unknown = |row: &usize| self.spaces[end.space].find(ids, *row).is_none();
        let unknown: Vec<usize> = (0..rows.lines.len()).filter(is_unknown).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let table = self.created_table(end.space, nameless, file)?;
        let space = &mut self.spaces[end.space];
        let mut created: Vec<u32> = Vec::new();
        for row in unknown {
            let table_row = self.vertices[table].stage.rows() + created.len() as u64;
            match space.insert(ids, row) {
                // By a row before.
                Inserted::Known(_) => {}
                Inserted::New(entry) if table_row < u64::from(u32::MAX) => {
                    space.set_place(entry, Place { table, row: table_row as u32 });
                    created.push(row as u32);
                }
                Inserted::New(_) | Inserted::Full => return Err(too_many_vertices(file, space)),
            }
        }
        let staged = &mut self.vertices[table];
        self.settled.add_created(&staged.label, created.len() as u64);
        let mut columns = Vec::new();
        if let Some(key) = &staged.unique_key {
            let mut ids = vec![(key.clone(), ids.to_column())];
            columns = take_rows(&mut ids, &created, rows.lines.len());
        }
        staged.push(created.len(), columns).map_err(|why| Error::invalid(format!("{file}: {why}")))
    }

    /// Leaves out the edges of a group whose pair of vertices has one already.
    fn drop_repeated_pairs(&mut self, types: &[String], (joins, group): &mut ((usize, usize, usize), Group)) {
        let (type_code, source_table, target_table) = *joins;
        let pairs = self.pairs.entry(types[type_code].clone()).or_default();
        let mut keep = group.sources.iter().zip(&group.targets).map(|(source, target)| {
            let source = Place { table: source_table, row: *source };
            let target = Place { table: target_table, row: *target };
            let is_forwards = (source.table, source.row) <= (target.table, target.row);
            pairs.insert(if is_forwards { [source, target] } else { [target, source] })
        });
        let keep: Vec<bool> = keep.by_ref().collect();
        self.settled.repeated_pairs += keep.iter().filter(|keep| !**keep).count() as u64;
        for rows in [&mut group.rows, &mut group.sources, &mut group.targets] {
            let mut kept = keep.iter();
            rows.retain(|_| *kept.next().expect("one entry an edge"));
        }
    }

    /// Takes the rows out that later ones replaced; everything behind them moves up.
    fn drop_dead_rows(&mut self) {
        if self.dead.is_empty() {
            return;
        }
        let mut dead: Vec<Vec<u32>> = vec![Vec::new(); self.vertices.len()];
        self.dead.drain().for_each(|place| dead[place.table].push(place.row));
        for (staged, rows) in self.vertices.iter_mut().zip(&mut dead) {
            rows.sort_unstable();
            staged.stage.remove_rows(rows);
        }
        self.spaces.iter_mut().for_each(|space| space.renumber(&dead));
    }

    fn find_space(&self, name: &str) -> Option<usize> {
        self.spaces.iter().position(|space| space.name == name)
    }

    fn space(&mut self, name: &str, id_type: IdType, file: &str) -> Result<usize> {
        if let Some(index) = self.find_space(name) {
            self.check_id_type(index, id_type, file)?;
            return Ok(index);
        }
        self.spaces.push(Space::new(name, id_type, file));
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

/// The column of ids of a file of vertices.
#[derive(Clone, Copy)]
struct NodeIds<'a> {
    space: usize,
    column: usize,
    name: &'a str,
    on_duplicate: OnDuplicate,
}

fn too_many_vertices(file: &str, space: &Space) -> Error {
    let text = format!("{file}: more than 4,294,967,295 vertices in {}", space.title());
    Error::new(ErrorKind::Limit, text)
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
