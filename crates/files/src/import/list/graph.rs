//! List graph: combines lists of vertices and edges, and turns ids into rows.
//!
//! Two worlds
//! - *Closed*: vertex lists or a range of ids say which vertices there are, in which order. An edge
//!   to another one is a bad row.
//! - *Open*: there are the vertices that edges mention, in the order of their ids, whatever the
//!   order of the lines.
//!
//! The external id is kept as property `id`: a `long`, or a `bigint` where ids above 2^63-1 occur
//! (which then rules out negative ones: 64 bits hold either).

use crate::import::assembly::vertices::in_database;
use crate::import::bad_row::Fault;
use crate::import::context::Context;
use crate::import::declared_types::DeclaredTypes;
use crate::import::existing_graph::{ExistingGraph, ExistingVertices, OwnerByName};
use crate::import::faults::{FaultRules, Faults};
use crate::import::field::cell::{CellColumn, CellType, Cells};
use crate::import::identity::InsertOutcome;
use crate::import::list::file::ListFile;
use crate::import::list::id_runs::{IdOrder, SpilledRuns};
use crate::import::list::line::{LineFormat, LineRows};
use crate::import::list::list_ids::ListIds;
use crate::import::list::reader::EdgeListFile;
use crate::import::policy::{OnDuplicate, OnUnknown, PolicyCounts};
use crate::import::row_origins::RowOrigins;
use crate::import::staging::spill::Staging;
use crate::import::staging::stage::{StagedEdges, StagedVertices, Typing};
use crate::import::staging::undirected::UndirectedEdges;
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::load::Load;
use evergraph_graph::value::{Value, ValueType};
use evergraph_storage::io::machine_memory::available_bytes;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Memory that a declared vertex takes while it is imported and loaded, about.
const DECLARED_BYTES: u64 = 32;

/// The key of the property that keeps a vertex's id.
pub(super) const ID_KEY: &str = "id";

/// A graph made of lists.
pub struct EdgeListGraph {
    /// Those in memory: all, or those that came after others went into a run.
    pub(super) ids: ListIds,
    /// Those of an open world that memory doesn't hold.
    pub(super) runs: Option<SpilledRuns>,
    /// What ids may take in memory, in bytes, and pairs of vertices beside them.
    pub(super) id_bytes_max: u64,
    pub(super) is_closed: bool,
    pub(super) signs: IdSigns,
    places: RowOrigins,
    /// What vertex lists say, beside ids: these come last, when it is known of which type they are.
    pub(super) vertices: StagedVertices,
    pub(super) edges: Vec<StagedEdges>,
    pub(super) staging: Arc<Staging>,
    declared: DeclaredTypes,
    /// Edges of files without direction, by index in `edges`.
    pub(super) undirected: UndirectedEdges<usize, u32>,
    settled: PolicyCounts,
}

impl EdgeListGraph {
    /// An empty graph of vertices of `label`, but for the vertices that the options declare by a range.
    ///
    /// # Errors
    /// `invalid` or `limit` if the range is empty or has too many vertices.
    pub fn new(label: &str, context: &Context<'_>) -> Result<Self> {
        let (options, staging) = (context.options, &context.staging);
        let mut vertices = StagedVertices::new(label, Some(ID_KEY), staging);
        vertices.stage.set_property(ID_KEY, ValueType::I64);
        let mut graph = Self {
            ids: ListIds::default(),
            runs: None,
            id_bytes_max: options.memory_shares().ids,
            is_closed: false,
            signs: IdSigns::default(),
            places: RowOrigins::default(),
            vertices,
            edges: Vec::new(),
            staging: Arc::clone(staging),
            declared: DeclaredTypes::new(Arc::clone(&context.known)),
            undirected: UndirectedEdges::default(),
            settled: PolicyCounts::default(),
        };
        let Some(range) = options.lists.vertices.clone() else { return Ok(graph) };
        if range.is_empty() {
            return Err(Error::invalid(format!(
                "vertices {}..{}: the first id must be below the second one, which is excluded",
                range.start, range.end
            )));
        }
        if range.start < 0 {
            graph.signs.negative = Some(RANGE.to_owned());
        }
        graph.declare_range(range, RANGE)?;
        Ok(graph)
    }

    /// Adds the vertices of a vertex list. All lists of vertices come before those of edges.
    ///
    /// # Errors
    /// As reading; a bad row, if it stops the import: an id given twice is one.
    pub fn read_vertices(&mut self, list: &ListFile, context: &mut Context<'_>) -> Result<()> {
        let list = EdgeListFile::open(list, context)?;
        let file = list.name.clone();
        self.is_closed = true;
        self.places.enter(&file);
        declare(&mut self.declared, OwnerByName::Label(&self.vertices.label), &list)?;
        let (rules, on_duplicate) = (context.faults.rules(), context.options.ids.on_duplicate);
        let all_known = Arc::clone(&context.known);
        let known = self.vertices.known(&all_known);
        list.read(context, |format, mut rows, first_line, collector| {
            self.signs.note(&file, first_line, &rows)?;
            let mut added = 0;
            let mut keep = Vec::with_capacity(rows.sources.len());
            let mut duplicates = Faults::new(rules);
            let mut texts = rows.texts();
            for (&id, line) in rows.sources.iter().zip(rows.row_lines()) {
                if let Some(known) = &known
                    && known.find(&self.signs.value(id))?.is_some()
                {
                    keep.push(false);
                    if on_duplicate == OnDuplicate::First {
                        self.settled.duplicates += 1;
                    } else {
                        duplicates.push(line, || {
                            let why = in_database(&self.signs.show(id));
                            Fault::of_column(0, "id", why, texts.get(line))
                        });
                    }
                    continue;
                }
                let inserted = self.ids.insert(id);
                keep.push(matches!(inserted, InsertOutcome::New(_)));
                match inserted {
                    InsertOutcome::New(row) => {
                        added += 1;
                        self.places.push(row, first_line + line);
                    }
                    // Nothing but the id: whichever counts, it is the same.
                    InsertOutcome::Known(_) if on_duplicate == OnDuplicate::Last && rows.columns.is_empty() => {
                        self.settled.duplicates += 1;
                    }
                    InsertOutcome::Known(_) if on_duplicate == OnDuplicate::Last => {
                        let id = self.signs.show(id);
                        return Err(Error::invalid(format!(
                            "{file}:{}: vertex {id} is there already: that the last one counts is for CSV files; \
                             in lists of vertices with columns the first one can",
                            first_line + line
                        )));
                    }
                    InsertOutcome::Known(_) if on_duplicate == OnDuplicate::First => self.settled.duplicates += 1,
                    InsertOutcome::Known(row) => duplicates.push(line, || {
                        let other = self.places.find(row).unwrap_or_else(|| RANGE.to_owned());
                        let id = self.signs.show(id);
                        let why = format!("vertex {id} is there already, from {other}");
                        Fault::of_column(0, "id", why, texts.get(line))
                    }),
                    InsertOutcome::Full => return Err(too_many_vertices(&file)),
                }
            }
            let columns = finish_columns(format, std::mem::take(&mut rows.columns), &keep);
            rows.faults.join(duplicates);
            collector.add(&file, first_line, rows.faults)?;
            self.vertices.push(added, columns, Typing::Declared).map_err(|error| error.context(&file))?;
            self.keep_ids_within_memory(&file)?;
            Ok(added as u64)
        })
    }

    /// Adds the edges of an edge list.
    ///
    /// # Errors
    /// As reading; a bad row, if it stops the import: in a closed world, an unknown end is one.
    pub fn read_edges(&mut self, list: &ListFile, context: &mut Context<'_>) -> Result<()> {
        let edge_type = list.rule.edge_type.as_deref().unwrap_or(&context.options.lists.edge_type);
        let undirected = list.rule.undirected;
        let list = EdgeListFile::open(list, context)?;
        let file = list.name.clone();
        if let Some(header) = &list.header {
            let last = i64::try_from(header.vertices_count).unwrap_or(i64::MAX - 1);
            self.declare_range(1..last + 1, &format!("{file}:{}", header.lines))?;
        }
        declare(&mut self.declared, OwnerByName::EdgeType(edge_type), &list)?;
        let declared = match &list.header {
            Some(header) => {
                format!("among the {} that line {} announces", header.vertices_count, header.lines)
            }
            None => format!("in the vertex lists or {RANGE}"),
        };
        let table = self.edge_table(edge_type);
        let (rules, on_unknown) = (context.faults.rules(), context.options.ids.on_unknown);
        let all_known = Arc::clone(&context.known);
        let known = self.vertices.known(&all_known);
        list.read(context, |format, mut rows, first_line, collector| {
            self.signs.note(&file, first_line, &rows)?;
            let mut ends = if self.is_closed && on_unknown != OnUnknown::Create {
                self.find_ends(&rows, &file, known.as_ref(), &declared, rules)?
            } else {
                self.insert_ends(&rows, &file, known.as_ref(), rules)?
            };
            if undirected && let Some(pairs) = self.undirected.pairs(table) {
                self.settled.repeated_pairs += ends.drop_repeated(pairs, rows.sources.len());
            }
            let columns = finish_columns(format, std::mem::take(&mut rows.columns), &ends.keep);
            if on_unknown == OnUnknown::Skip {
                self.settled.unknown += ends.unknown.count();
            } else {
                rows.faults.join(ends.unknown);
            }
            collector.add(&file, first_line, rows.faults)?;
            let (added, first) = (ends.sources.len() as u64, self.edges[table].stage.rows());
            self.edges[table]
                .push(ends.sources, ends.targets, columns, Typing::Declared)
                .map_err(|error| error.context(&file))?;
            if undirected {
                self.undirected.note(table, first..first + added);
            }
            self.keep_ids_within_memory(&file)?;
            Ok(added)
        })
    }

    /// Moves the graph into `load`, on the threads of the current pool, and tells what was settled.
    ///
    /// # Errors
    /// `invalid` if `load` has the label already; `limit` if ids or pairs of vertices are too many; what reading the database
    /// and temporary files meets; `cancelled`.
    pub fn finish(
        mut self,
        known: &ExistingGraph,
        load: &mut Load,
        cancel: &CancelFlag,
    ) -> Result<PolicyCounts> {
        let label = &self.vertices.label;
        if load.vertex_table(label).is_some() {
            return Err(Error::invalid(format!(
                "label {label} comes from CSV files and from edge lists: give the edge lists another label"
            )));
        }
        self.number(known, cancel)?;
        let undirected = std::mem::take(&mut self.undirected);
        self.settled.repeated_pairs += undirected.drop_repeated(&mut self.edges, &self.staging, cancel)?;
        let label = load.vertices.len();
        load.vertices.push(self.vertices.finish());
        for mut table in self.edges {
            (table.source_label, table.target_label) = (label, label);
            load.edges.push(table.finish());
        }
        Ok(self.settled)
    }

    fn edge_table(&mut self, edge_type: &str) -> usize {
        if let Some(index) = self.edges.iter().position(|table| table.edge_type == edge_type) {
            return index;
        }
        // `finish` knows which label it is.
        self.edges.push(StagedEdges::new(edge_type, 0, 0, &self.staging));
        self.edges.len() - 1
    }

    fn insert_ends(
        &mut self,
        rows: &LineRows,
        file: &str,
        known: Option<&ExistingVertices<'_>>,
        rules: FaultRules,
    ) -> Result<Ends> {
        let mut created = 0;
        let mut insert = |id: u64| match self.ids.insert(id) {
            InsertOutcome::New(row) => {
                let is_created = self.is_closed
                    && match known {
                        Some(known) => known.find(&self.signs.value(id))?.is_none(),
                        None => true,
                    };
                created += u64::from(is_created);
                Ok(row)
            }
            InsertOutcome::Known(row) => Ok(row),
            InsertOutcome::Full => Err(too_many_vertices(file)),
        };
        let mut ends = Ends::with_capacity(rows.sources.len(), rules);
        for (&source, &target) in rows.sources.iter().zip(&rows.targets) {
            ends.sources.push(insert(source)?);
            ends.targets.push(insert(target)?);
        }
        if self.is_closed {
            self.settled.add_created(&self.vertices.label, created);
        }
        Ok(ends)
    }

    /// The ends of `rows`, all of which must be there; `declared` says where.
    fn find_ends(
        &mut self,
        rows: &LineRows,
        file: &str,
        known: Option<&ExistingVertices<'_>>,
        declared: &str,
        rules: FaultRules,
    ) -> Result<Ends> {
        let mut ends = Ends::with_capacity(rows.sources.len(), rules);
        let mut texts = rows.texts();
        for (row, (&source, &target)) in rows.sources.iter().zip(&rows.targets).enumerate() {
            let (known_source, known_target) =
                (self.find_end(source, file, known)?, self.find_end(target, file, known)?);
            if let (Some(known_source), Some(known_target)) = (known_source, known_target) {
                ends.sources.push(known_source);
                ends.targets.push(known_target);
                continue;
            }
            ends.keep.resize(rows.sources.len(), true);
            ends.keep[row] = false;
            let line = rows.line_of(row);
            ends.unknown.push(line, || {
                let (column, name, id) =
                    if known_source.is_none() { (0, "source", source) } else { (1, "target", target) };
                let id = self.signs.show(id);
                let why = format!("there is no vertex {id} {declared}");
                Fault::of_column(column, name, why, texts.get(line))
            });
        }
        Ok(ends)
    }

    /// The row of a vertex that the lists or the database have. The latter get rows after all others.
    fn find_end(&mut self, id: u64, file: &str, known: Option<&ExistingVertices<'_>>) -> Result<Option<u32>> {
        let row = self.ids.get(id);
        let (None, Some(known)) = (row, known) else { return Ok(row) };
        if known.find(&self.signs.value(id))?.is_none() {
            return Ok(None);
        }
        let InsertOutcome::New(row) = self.ids.insert(id) else { return Err(too_many_vertices(file)) };
        Ok(Some(row))
    }

    /// Declares the vertices of `range`, as `place` says.
    ///
    /// # Errors
    /// `limit` for more than a label can have, or than this process has memory for: a line of a few bytes
    /// may announce them; for ids of edges before that are in a file already.
    fn declare_range(&mut self, range: Range<i64>, place: &str) -> Result<()> {
        let count = range.end.abs_diff(range.start);
        let count = u32::try_from(count).ok().filter(|count| *count != u32::MAX);
        let count = count.ok_or_else(|| too_many_vertices(place))?;
        let (needed, available) = (u64::from(count) * DECLARED_BYTES, available_bytes());
        if needed > available {
            let text = format!(
                "{place}: {count} vertices are announced, whose ids take {} MiB; this process can have {} MiB",
                needed >> 20,
                available >> 20
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
        if self.runs.is_some() {
            let what = "vertices are announced after edge lists without such a line, whose ids take more memory than there is";
            return Err(self.no_memory(place, what));
        }
        self.is_closed = true;
        self.ids.announce(range.start, count).map_err(|()| too_many_vertices(place))?;
        self.keep_ids_within_memory(place)
    }
}

/// An id without sign, as a value.
pub(super) fn big(id: u64) -> Value {
    Value::parse(&id.to_string(), ValueType::BigInteger).expect("digits make a big integer")
}

/// How errors call vertices that `ListOptions::vertices` declares.
const RANGE: &str = "the range of vertices";

/// Rows of the ends of a block's edges.
struct Ends {
    sources: Vec<u32>,
    targets: Vec<u32>,
    /// Which of the block's rows are edges; empty if all are.
    keep: Vec<bool>,
    unknown: Faults,
}

impl Ends {
    fn with_capacity(rows: usize, rules: FaultRules) -> Self {
        Self {
            sources: Vec::with_capacity(rows),
            targets: Vec::with_capacity(rows),
            keep: Vec::new(),
            unknown: Faults::new(rules),
        }
    }
}

impl Ends {
    /// Leaves out the edges whose pair of vertices is among `pairs`, of the `rows` of a block that are
    /// edges; how many these were.
    fn drop_repeated(&mut self, pairs: &mut HashSet<(u32, u32)>, rows: usize) -> u64 {
        self.keep.resize(rows, true);
        let mut dropped = 0;
        let (mut sources, mut targets) = (Vec::new(), Vec::new());
        let mut ends = self.sources.iter().zip(&self.targets);
        for keep in self.keep.iter_mut().filter(|keep| **keep) {
            let (source, target) = ends.next().expect("an edge for each row that is kept");
            if pairs.insert((*source.min(target), *source.max(target))) {
                sources.push(*source);
                targets.push(*target);
            } else {
                *keep = false;
                dropped += 1;
            }
        }
        (self.sources, self.targets) = (sources, targets);
        dropped
    }
}

/// Where ids were first seen that need one or the other reading of 64 bits.
#[derive(Default)]
pub(super) struct IdSigns {
    negative: Option<String>,
    beyond: Option<String>,
}

impl IdSigns {
    fn note(&mut self, file: &str, first_line: u64, rows: &LineRows) -> Result<()> {
        let place = |row: usize| format!("{file}:{}", first_line + rows.line_of(row));
        for (seen, row) in [(&mut self.negative, rows.negative), (&mut self.beyond, rows.beyond)] {
            if let (None, Some(row)) = (&seen, row) {
                *seen = Some(place(row));
            }
        }
        match (&self.negative, &self.beyond) {
            (Some(negative), Some(beyond)) => Err(Error::invalid(format!(
                "{beyond}: an id above 2^63-1, and {negative} has a negative one: ids of 64 bits are \
                 with sign or without"
            ))),
            _ => Ok(()),
        }
    }

    /// `id` as the database would have it.
    pub(super) fn value(&self, id: u64) -> Value {
        match i64::try_from(id) {
            Err(_) if self.beyond.is_some() => big(id),
            _ => Value::I64(id.cast_signed()),
        }
    }

    /// In which order ids ascend.
    pub(super) fn order(&self) -> IdOrder {
        if self.beyond.is_none() { IdOrder::Signed } else { IdOrder::Unsigned }
    }

    /// Of which type the property is that keeps ids.
    pub(super) fn value_type(&self) -> ValueType {
        if self.beyond.is_none() { ValueType::I64 } else { ValueType::BigInteger }
    }

    fn show(&self, id: u64) -> String {
        if self.beyond.is_some() { id.to_string() } else { id.cast_signed().to_string() }
    }
}

/// The columns of a block by key, without the rows that `keep` leaves out (if it leaves out any).
fn finish_columns(format: &LineFormat, cells: Vec<Cells>, keep: &[bool]) -> Vec<(String, CellColumn)> {
    let keys = format.columns.iter().flatten().map(|(key, _): &(String, CellType)| key.clone());
    let all_kept = keep.iter().all(|keep| *keep);
    keys.zip(cells)
        .map(|(key, mut cells)| {
            if !all_kept {
                cells.retain(keep);
            }
            (key, cells.finish())
        })
        .collect()
}

/// Notes the types of the columns of `list`, which are properties of `owner`.
fn declare(declared: &mut DeclaredTypes, owner: OwnerByName<'_>, list: &EdgeListFile) -> Result<()> {
    for (key, cell_type) in list.format.columns.iter().flatten() {
        if key == ID_KEY && list.format.ids == 1 {
            return Err(in_file(&list.name, "column id keeps the ids of vertices: give it another name"));
        }
        declared.declare(owner, key, *cell_type, &list.name)?;
    }
    Ok(())
}

/// The error of `what`, for whose vertices there is no row left.
pub(super) fn too_many_vertices(what: &str) -> Error {
    Error::new(ErrorKind::Limit, format!("{what}: more than 4,294,967,295 vertices of one label"))
}

fn in_file(file: &str, why: &str) -> Error {
    Error::invalid(format!("{file}: {why}"))
}
