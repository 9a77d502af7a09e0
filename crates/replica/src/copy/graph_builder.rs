//! Graph builder: batches of rows become the tables of a load, by an import's assembly; and what edges without an end leave.
//!
//! ```text
//! batch of vertices ──> id space of the label ──> table of the label
//! batch of edges    ──> waits until all vertices are there, beyond the memory for rows in a file
//!                   ──> ends looked up ──┬──> table of (type, label, label)
//!                                        ├──> missing, wait: a note, or the property that the row's vertex has already
//!                                        ├──> missing, create: a vertex, and a note that it has no row
//!                                        └──> missing, stop: an error
//! ```

use crate::copy::missing_ends::MissingEnds;
use crate::copy::options::CopyOptions;
use crate::copy::passes::{CopyPass, EdgeEnd, EdgeRule, EdgeSource, kept_cells};
use crate::copy::row_batch::{as_id, id_type_of};
use crate::mapping::plan::{Plan, VertexPlan};
use crate::row_note::{CreatedVertex, NOTES_OF_RULE_MAX, WaitingEdge};
use evergraph_files::import::assembly::batch::{Batch, Columns, EndEntries, Ends, IdPart};
use evergraph_files::import::assembly::edges::EdgeRule as AssemblyRule;
use evergraph_files::import::assembly::graph::Assembly;
use evergraph_files::import::assembly::id_column::IdColumn;
use evergraph_files::import::assembly::space::kind_of;
use evergraph_files::import::assembly::waiting_edges::WaitingEdges;
use evergraph_files::import::existing_graph::ExistingGraph;
use evergraph_files::import::faults::{FaultCollector, FaultRules, OnBadRow};
use evergraph_files::import::identity::VACANT;
use evergraph_files::import::mapping::table::MissingEnd;
use evergraph_files::import::options::ImportOptions;
use evergraph_files::import::policy::PolicyCounts;
use evergraph_files::import::staging::spill::{Slot, Staging};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::load::{EdgeBlock, EdgeTable, Load};
use evergraph_graph::value::{Value, ValueType};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Puts a graph together.
pub struct GraphBuilder<'p> {
    plan: &'p Plan,
    missing: MissingEnds,
    /// What the database has already.
    known: Arc<ExistingGraph>,
    assembly: Assembly,
    staging: Arc<Staging>,
    /// The space and the table of each label.
    labels: HashMap<&'p str, (usize, usize)>,
    rules: FaultRules,
    /// The edges that come, by read.
    edges: Vec<Vec<ComingEdges<'p>>>,
    has_all_vertices: bool,
    /// Whether all vertices are there that edges create.
    has_all_created: bool,
    /// Whether edges are stored as soon as their ends are there.
    is_eager: bool,
    waiting_bytes_max: u64,
    notes: Notes,
    /// Edges that were left out for a missing end, by the place of the rule in the mapping.
    missing_edges: BTreeMap<usize, u64>,
}

/// Edges of one source.
struct ComingEdges<'p> {
    source: EdgeSource<'p>,
    /// Whether they find vertices that others create: those come first.
    is_late: bool,
    /// Those that came before all vertices were there.
    early: Vec<Slot<Batch<Ends>>>,
    /// Those whose ends are looked up together.
    waiting: WaitingEdges<()>,
}

/// What a builder made.
#[derive(Debug)]
pub struct BuiltGraph {
    /// The graph.
    pub load: Load,
    /// Notes of edges that wait and of vertices that were created, by name.
    pub notes: BTreeMap<String, Vec<u8>>,
    /// Edges that were left out, or wait, since an end is missing, by the place of the rule in the mapping.
    pub missing_edges: BTreeMap<usize, u64>,
    /// Vertices that were created for edges.
    pub created: PolicyCounts,
    /// Bytes that went through a temporary file.
    pub spilled_bytes: u64,
}

#[derive(Debug, Default)]
struct Notes {
    notes: BTreeMap<String, Vec<u8>>,
    count: HashMap<(usize, &'static str), usize>,
}

impl<'p> GraphBuilder<'p> {
    /// An empty graph beside `known`, with a space for each label of `plan`, whose rows come as `pass` reads them.
    ///
    /// # Errors
    /// `invalid` if the database finds vertices of a label by another key.
    pub fn new(
        plan: &'p Plan,
        pass: &'p CopyPass,
        options: &CopyOptions,
        known: ExistingGraph,
    ) -> Result<Self> {
        let (shares, known) = (options.memory_shares(), Arc::new(known));
        let mut import = ImportOptions::new([]);
        import.memory = Some(options.memory_bytes);
        let staging = Arc::new(Staging::new(shares.rows, options.temporary.clone()));
        let mut assembly = Assembly::new(&import, Arc::clone(&known), Arc::clone(&staging));
        let mut labels = HashMap::new();
        for table in &plan.tables {
            let name = format!("{}.{}", table.schema, table.name);
            for vertex in &table.vertices {
                let id_type = id_type_of(vertex.key.value_type());
                let space = assembly.enter_space(&vertex.label, id_type, &name)?;
                let key = Some(&*vertex.key.property);
                let table = assembly.vertex_table(&vertex.label, key, id_type, space, &name)?;
                labels.insert(vertex.label.as_str(), (space, table));
            }
        }
        let waiting_bytes_max = shares.edges_bytes();
        let sources = (0..pass.reads.len()).flat_map(|read| pass.edge_sources(read));
        let created: HashSet<&str> = sources.flat_map(|source| source.created_labels()).collect();
        let coming = |source: EdgeSource<'p>| {
            let waiting = WaitingEdges::new(rule_of(&source, &labels), waiting_bytes_max);
            let ends = [source.start, source.end];
            let is_late = source.missing() != MissingEnd::Create
                && ends.iter().any(|end| !end.is_promised && created.contains(end.label));
            ComingEdges { source, is_late, early: Vec::new(), waiting }
        };
        let edges =
            (0..pass.reads.len()).map(|read| pass.edge_sources(read).into_iter().map(coming).collect());
        let edges = edges.collect();
        Ok(Self {
            plan,
            missing: options.missing,
            known,
            assembly,
            staging,
            labels,
            rules: FaultCollector::new(OnBadRow::Skip { at_most: None }, None).rules(),
            edges,
            has_all_vertices: false,
            has_all_created: false,
            is_eager: false,
            waiting_bytes_max,
            notes: Notes::default(),
            missing_edges: BTreeMap::new(),
        })
    }

    /// The same, which stores edges as soon as their ends are there, before it has all vertices: where rows mostly come behind
    /// those that they refer to.
    #[must_use]
    pub fn eager(self) -> Self {
        Self { is_eager: true, ..self }
    }

    /// Looks at `known` from here on: a newer state of the same database, or nothing for a while in which no row comes.
    pub fn renew_known(&mut self, known: ExistingGraph) {
        self.known = Arc::new(known);
        self.assembly.renew_known(Arc::clone(&self.known));
    }

    /// Whether a vertex of `label` with the key `key` was added. `true` also if nobody knows yet, since keys are in a file.
    #[must_use]
    pub fn may_have(&self, label: &str, value_type: ValueType, key: &Value) -> bool {
        let Some((space, _)) = self.labels.get(label) else { return false };
        let mut ids = IdColumn::new(kind_of(id_type_of(value_type)));
        ids.push_value(&as_id(key));
        self.assembly.may_have(*space, &ids, 0)
    }

    /// Adds vertices of the rule `vertex`.
    ///
    /// # Errors
    /// `invalid` for a key that came before, or that the database has; `limit` beyond 4,294,967,295 vertices of a label;
    /// what spilling meets.
    pub fn add_vertices(&mut self, table: &str, vertex: &VertexPlan, batch: Batch<IdColumn>) -> Result<()> {
        if batch.lines.is_empty() {
            return Ok(());
        }
        let (space, label) = self.labels[vertex.label.as_str()];
        let (placed, rejected) =
            self.assembly.place_vertices(table, (space, vec![label]), &batch, self.rules)?;
        if let Some(first) = rejected.first() {
            let why = match first.part {
                IdPart::Row => first.why.clone(),
                _ => format!(
                    "vertex {} is there already, {}, and a copy changes no vertex; leave such rows out by `where`",
                    batch.ids.show(first.row),
                    if self.known.is_nothing() {
                        "by a row before"
                    } else {
                        "in the database or by a row before"
                    }
                ),
            };
            return Err(Error::invalid(format!("table {table}: label {}: {why}", vertex.label)));
        }
        self.assembly.store_vertices(table, &placed, batch)?;
        Ok(())
    }

    /// Says that all vertices are there: the ends of edges can be looked up.
    ///
    /// # Errors
    /// As [`GraphBuilder::add_edges`]; what reading the temporary file meets; `cancelled`.
    pub fn end_vertices(&mut self, cancel: &CancelFlag) -> Result<()> {
        self.has_all_vertices = true;
        self.add_early(false, cancel)
    }

    /// Adds edges that came too early: those that find what others create, or all others.
    fn add_early(&mut self, is_late: bool, cancel: &CancelFlag) -> Result<()> {
        let places = self.places().filter(|(read, at)| self.edges[*read][*at].is_late == is_late);
        for (read, at) in places.collect::<Vec<_>>() {
            for batch in std::mem::take(&mut self.edges[read][at].early) {
                cancel.check()?;
                let batch = batch.take(&self.staging)?;
                self.add_edges((read, at), batch)?;
            }
        }
        Ok(())
    }

    /// Adds edges of the source number `at` of the read `read`.
    ///
    /// # Errors
    /// As [`Assembly::look_up`]; `invalid` for an end that must be there and isn't; `limit` if more wait than may, or on a
    /// full disk.
    ///
    /// # Panics
    /// If there is no such source in the pass.
    pub fn add_edges(&mut self, (read, at): (usize, usize), batch: Batch<Ends>) -> Result<()> {
        if batch.lines.is_empty() {
            return Ok(());
        }
        let edges = &mut self.edges[read][at];
        let mut batch = batch;
        if self.is_eager && !self.has_all_vertices && !edges.is_late {
            match self.store_found((read, at), batch)? {
                None => return Ok(()),
                Some(early) => batch = early,
            }
        }
        let edges = &mut self.edges[read][at];
        if !self.has_all_vertices || edges.is_late && !self.has_all_created {
            edges.early.push(Slot::new(batch, &self.staging)?);
            return Ok(());
        }
        if edges.waiting.push(&self.assembly, batch, ((), 0)) {
            return self.place((read, at));
        }
        let bytes = |edges: &ComingEdges<'_>| edges.waiting.bytes();
        while self.edges.iter().flatten().map(bytes).sum::<u64>() > self.waiting_bytes_max {
            let Some(largest) = self.places().max_by_key(|(read, at)| bytes(&self.edges[*read][*at])) else {
                break;
            };
            self.place(largest)?;
        }
        Ok(())
    }

    /// Stores the edges of `batch` if all of their ends are there; gives it back otherwise.
    fn store_found(&mut self, (read, at): (usize, usize), batch: Batch<Ends>) -> Result<Option<Batch<Ends>>> {
        let source = self.edges[read][at].source;
        let (rule, table) = (rule_of(&source, &self.labels), source.table_name());
        let Some(entries) = self.assembly.look_up_early(&table, rule, &batch.ids)? else {
            return Ok(Some(batch));
        };
        let (placed, _) = self.assembly.place_edges(&table, rule, (&batch, &entries), self.rules)?;
        self.assembly.store_edges(&table, placed, batch)?;
        // Those of ends that the database has came with it.
        self.assembly.keep_ids_within_memory()?;
        Ok(None)
    }

    /// Everything was added, and [`GraphBuilder::end_vertices`] called.
    ///
    /// # Errors
    /// As [`GraphBuilder::add_edges`].
    pub fn finish(mut self, cancel: &CancelFlag) -> Result<BuiltGraph> {
        assert!(self.has_all_vertices, "edges would be left out");
        self.place_waiting()?;
        self.has_all_created = true;
        self.add_early(true, cancel)?;
        self.place_waiting()?;
        let Self { plan, missing, assembly, staging, notes, missing_edges, .. } = self;
        let mut load = Load::default();
        let created = assembly.finish(&mut load)?;
        declare(&mut load, plan, missing);
        let spilled_bytes = staging.file_bytes();
        Ok(BuiltGraph { load, notes: notes.notes, missing_edges, created, spilled_bytes })
    }

    /// Stores all edges whose ends are looked up together.
    fn place_waiting(&mut self) -> Result<()> {
        let places = self.places().filter(|(read, at)| self.edges[*read][*at].waiting.bytes() > 0);
        places.collect::<Vec<_>>().into_iter().try_for_each(|place| self.place(place))
    }

    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let reads = self.edges.iter().enumerate();
        reads.flat_map(|(read, sources)| (0..sources.len()).map(move |at| (read, at)))
    }

    /// Looks up the ends of the edges that came of one source, and stores them.
    fn place(&mut self, (read, at): (usize, usize)) -> Result<()> {
        let source = self.edges[read][at].source;
        let (rule, table) = (rule_of(&source, &self.labels), source.table_name());
        let (plan, is_kept, rules) = (self.plan, self.missing == MissingEnds::Kept, self.rules);
        let (notes, missing_edges, known) = (&mut self.notes, &mut self.missing_edges, &self.known);
        self.edges[read][at].waiting.place(&mut self.assembly, |assembly, batch, entries, ()| {
            if is_kept {
                keep_missing(plan, known, &source, (&batch, entries), &table, notes)?;
            }
            let (placed, rejected) = assembly.place_edges(&table, rule, (&batch, entries), rules)?;
            if let Some(first) = rejected.first() {
                let is_broken = source.start.is_promised && source.end.is_promised;
                if source.missing() == MissingEnd::Stop || is_broken {
                    return Err(missing_end(&source, &table, &first.why, is_broken));
                }
                *missing_edges.entry(source.rule_place()).or_default() += rejected.count();
            }
            assembly.store_edges(&table, placed, batch)
        })?;
        Ok(())
    }
}

/// How an assembly takes the edges of `source`; `labels` says which spaces those have.
fn rule_of(source: &EdgeSource<'_>, labels: &HashMap<&str, (usize, usize)>) -> AssemblyRule {
    let creates = |end: &EdgeEnd<'_>| source.missing() == MissingEnd::Create && !end.is_promised;
    AssemblyRule {
        source_space: labels[source.start.label].0,
        target_space: labels[source.end.label].0,
        creates_sources: creates(&source.start),
        creates_targets: creates(&source.end),
        undirected: false,
    }
}

/// Notes what the database will want to know of edges of `batch` with an end that isn't there: those without an entry that
/// it doesn't know.
fn keep_missing(
    plan: &Plan,
    known: &ExistingGraph,
    source: &EdgeSource<'_>,
    (batch, entries): (&Batch<Ends>, &EndEntries),
    table: &str,
    notes: &mut Notes,
) -> Result<()> {
    let ends = [
        (&source.start, &batch.ids.sources, &entries.sources),
        (&source.end, &batch.ids.targets, &entries.targets),
    ];
    let ends =
        ends.map(|(end, ids, entries)| (end, ids, entries, known.by_key(end.label, &end.key.property)));
    for row in 0..batch.lines.len() {
        for (end, ids, entries, known) in &ends {
            if entries[row] != VACANT {
                continue;
            }
            if let Some(known) = known
                && known.find(&ids.value(row))?.is_some()
            {
                continue;
            }
            if end.is_promised {
                let why = format!("there is no vertex {} with the label {}", ids.show(row), end.label);
                return Err(missing_end(source, table, &why, true));
            }
            match (source.missing(), source.rule) {
                (MissingEnd::Create, _) => {
                    let (_, vertex) = plan.label(end.label).expect("ends are of labels of the plan");
                    let key = id_value(ids, row, end.key.value_type());
                    let created = CreatedVertex { rule: vertex.rule, key };
                    notes.add("created", created.rule, created.note_name(), created.encode(), table)?;
                }
                (MissingEnd::Wait, EdgeRule::Row(edge)) => {
                    let waiting = waiting_edge(source, edge.rule, batch, row);
                    notes.add("waiting", edge.rule, waiting.note_name(), waiting.encode(), table)?;
                    break;
                }
                // The row's vertex keeps it.
                (MissingEnd::Wait, EdgeRule::ForeignKey(..)) | (MissingEnd::Stop, _) => {}
            }
        }
    }
    Ok(())
}

fn waiting_edge(source: &EdgeSource<'_>, rule: usize, batch: &Batch<Ends>, row: usize) -> WaitingEdge {
    let Columns::Shared(columns) = &batch.columns else { unreachable!("types of columns are declared") };
    let mut values =
        columns.iter().map(|(_, cells)| cells.column.as_ref().and_then(|column| column.get(row)));
    let key = source.key().and_then(|_| values.next().flatten());
    WaitingEdge {
        rule,
        key,
        start: id_value(&batch.ids.sources, row, source.start.key.value_type()),
        end: id_value(&batch.ids.targets, row, source.end.key.value_type()),
        properties: values.collect(),
    }
}

/// The key of `row`, as a value of its own type: ids of whole numbers are all as wide.
fn id_value(ids: &IdColumn, row: usize, value_type: ValueType) -> Value {
    let value = ids.value(row);
    match (id_type_of(value_type), value.as_i64()) {
        (Some(id_type), Some(number)) => id_type.of_number(number).unwrap_or(value),
        _ => value,
    }
}

#[cold]
fn missing_end(source: &EdgeSource<'_>, table: &str, why: &str, is_broken: bool) -> Error {
    let (edge_type, start, end) = (source.edge_type(), source.start.label, source.end.label);
    let remedy = if is_broken {
        "a validated foreign key promises it: does a policy of row-level security hide rows from this role? Copy as a role \
         that sees all rows (ALTER ROLE ... BYPASSRLS)"
    } else {
        "its rule says missing = \"stop\": correct the row, or say missing = \"wait\" or \"create\""
    };
    Error::invalid(format!("table {table}: edges {edge_type} from {start} to {end}: {why}; {remedy}"))
}

impl Notes {
    fn add(
        &mut self,
        kind: &'static str,
        rule: usize,
        name: String,
        bytes: Vec<u8>,
        table: &str,
    ) -> Result<()> {
        if self.notes.insert(name, bytes).is_some() {
            return Ok(());
        }
        let count = self.count.entry((rule, kind)).or_default();
        *count += 1;
        if *count <= NOTES_OF_RULE_MAX {
            return Ok(());
        }
        let what = match kind {
            "created" => "vertices would be created for edges",
            _ => "edges wait for an end that isn't there",
        };
        let text = format!(
            "table {table}: more than {NOTES_OF_RULE_MAX} {what}, by one rule: their ids are more likely wrong than late; \
             look at the rule's `space` and columns, or leave these rows out by `where`"
        );
        Err(Error::new(ErrorKind::Limit, text))
    }
}

/// Gives `load` every label, type and property of the plan, those without rows, too: a copy of empty tables declares them.
fn declare(load: &mut Load, plan: &Plan, missing: MissingEnds) {
    fn add<'a>(properties: &mut Vec<(String, ValueType)>, all: impl Iterator<Item = (&'a str, ValueType)>) {
        for (name, value_type) in all {
            if properties.iter().all(|(known, _)| known != name) {
                properties.push((name.to_owned(), value_type));
            }
        }
    }
    for table in &plan.tables {
        for vertex in &table.vertices {
            let known = load.vertices.iter_mut().find(|known| known.label == vertex.label);
            let known = &mut known.expect("each label of the plan has a table").properties;
            let own = vertex
                .properties
                .iter()
                .map(|property| (&*property.name, property.value_type(&table.columns)));
            add(known, std::iter::once((&*vertex.key.property, vertex.key.value_type())).chain(own));
            if missing == MissingEnds::Kept {
                add(known, kept_cells(table, vertex).map(|(name, value_type, _)| (name, value_type)));
            }
        }
    }
    let position = |load: &Load, label: &str| {
        load.vertices
            .iter()
            .position(|known| known.label == label)
            .expect("each label of the plan has a table")
    };
    for source in plan.tables.iter().flat_map(EdgeSource::of_table) {
        let ends = (position(load, source.start.label), position(load, source.end.label));
        let edge_type = source.edge_type();
        let at = load.edges.iter().position(|known| {
            known.edge_type == edge_type && (known.source_label, known.target_label) == ends
        });
        let at = at.unwrap_or_else(|| {
            load.edges.push(EdgeTable::new(edge_type, ends.0, ends.1, Vec::new(), Vec::<EdgeBlock>::new()));
            load.edges.len() - 1
        });
        add(&mut load.edges[at].properties, source.properties());
    }
}
