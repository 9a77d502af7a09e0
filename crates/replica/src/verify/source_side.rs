//! Source side: the vertices and edges that rows are, as entities; and which ends of edges the source has.

use crate::copy::passes::{CopyPass, EdgeEnd, EdgeRule};
use crate::copy::row_batch::as_id;
use crate::copy::table_readers::{RowCollector, UnusableRow};
use crate::pgoutput::relation::Oid;
use crate::pgoutput::tuple::Cell;
use crate::translate::row_change::{CellChange, RowChanges, RowContent, RowEvent};
use crate::translate::rules::{EDGE_END_CELLS, RulePlan, link_cells};
use crate::translate::translator::Translator;
use crate::verify::consumer::EntityConsumer;
use crate::verify::entity::{Entity, hash_of_key};
use crate::verify::subject::{EdgeIdentityParts, EdgeSubject, VertexSubject};
use evergraph::Snapshot;
use evergraph_files::import::mapping::table::MissingEnd;
use evergraph_graph::error::Result;
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView as _;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// Makes what keeps entities of the subject of this number; `None` if it is not wanted.
pub type MakeConsumer<'a, K> = &'a (dyn Fn(usize) -> Option<K> + Sync);

/// How the vertices of a label differ, by hashes of keys.
#[derive(Clone, Debug, Default)]
pub struct VertexDifferences {
    /// Those that the source has and the graph lacks.
    pub missing: HashSet<u64>,
    /// Those that the graph has and the source lacks.
    pub extra: HashSet<u64>,
}

/// Which vertices the source has: those of the graph, but for differences that are known.
pub struct SourceVertices<'a> {
    /// The graph.
    pub snapshot: &'a Snapshot,
    /// The differences by label.
    pub differences: HashMap<&'a str, VertexDifferences>,
}

impl SourceVertices<'_> {
    /// Whether the source has the vertex that an end names.
    fn has(&self, end: &EdgeEnd<'_>, key: &Value) -> Result<bool> {
        if end.is_promised {
            return Ok(true);
        }
        if let Some(differences) = self.differences.get(end.label) {
            let hash = hash_of_key(&as_id(key));
            if differences.missing.contains(&hash) {
                return Ok(true);
            }
            if differences.extra.contains(&hash) {
                return Ok(false);
            }
        }
        let catalogue = self.snapshot.catalogue();
        let (Some(label), Some(property)) = (catalogue.label(end.label), catalogue.key(&end.key.property))
        else {
            return Ok(false);
        };
        let mut found = Vec::with_capacity(1);
        self.snapshot.look_up(label, property, std::slice::from_ref(key), &mut found)?;
        Ok(found.first().is_some_and(Option::is_some))
    }
}

/// Gathers the vertices of one table.
pub struct VertexCollector<'a, K> {
    rows: TableRows,
    subjects: &'a [VertexSubject<'a>],
    /// The number of the first subject.
    first: usize,
    make: MakeConsumer<'a, K>,
    consumers: Vec<Option<K>>,
}

/// Gathers the edges of one table.
pub struct EdgeCollector<'a, K> {
    rows: TableRows,
    subjects: &'a [EdgeSubject<'a>],
    /// The number of the first subject.
    first: usize,
    /// Of each rule, the index of its first subject.
    first_of: Vec<usize>,
    vertices: &'a SourceVertices<'a>,
    make: MakeConsumer<'a, K>,
    consumers: Vec<Option<K>>,
}

struct TableRows {
    translator: Translator,
    table: Oid,
    first_rule: usize,
    changes: RowChanges,
}

impl TableRows {
    fn new(pass: &CopyPass, read: usize) -> Self {
        let table = pass.reads[read].table;
        let (_, rules) = pass.rules().of_table(table).expect("a read is of a table of its pass");
        let translator = pass.translator.clone();
        Self { translator, table, first_rule: rules.start, changes: RowChanges::new() }
    }

    fn read(&mut self, cells: &[Cell<'_>]) -> std::result::Result<(), UnusableRow> {
        self.changes.clear();
        Ok(self.translator.insert(self.table, cells, &mut self.changes)?)
    }
}

fn consumers<K>(make: MakeConsumer<'_, K>, first: usize, count: usize) -> Vec<Option<K>> {
    (first..first + count).map(make).collect()
}

impl<'a, K: EntityConsumer> VertexCollector<'a, K> {
    /// Nothing yet of the read `read`, whose subjects are `subjects`, numbered from `first` on.
    #[must_use]
    pub fn new(
        (pass, read): (&CopyPass, usize),
        subjects: &'a [VertexSubject<'a>],
        first: usize,
        make: MakeConsumer<'a, K>,
    ) -> Self {
        let consumers = consumers(make, first, subjects.len());
        Self { rows: TableRows::new(pass, read), subjects, first, make, consumers }
    }
}

impl<K: EntityConsumer> RowCollector for VertexCollector<'_, K> {
    type Block = Vec<Option<K>>;

    fn add(&mut self, cells: &[Cell<'_>]) -> std::result::Result<(), UnusableRow> {
        self.rows.read(cells)?;
        for change in self.rows.changes.changes() {
            let RowEvent::Inserted(new) = &change.event else { unreachable!("a row of COPY is new") };
            let RowContent::Shown { cells: start, .. } = new.content else { continue };
            let at = change.rule - self.rows.first_rule;
            let Some(consumer) = &mut self.consumers[at] else { continue };
            let cells = &self.rows.changes.cells()[start..];
            let properties = self.subjects[at].properties.iter();
            let properties =
                properties.filter_map(|(name, cell)| Some((*name, Cow::Borrowed(cells[*cell].value()?))));
            let identity = (as_id(&new.key.first), None);
            consumer.take(Entity { identity, ends: None, properties: properties.collect() });
        }
        Ok(())
    }

    fn take(&mut self) -> Vec<Option<K>> {
        std::mem::replace(&mut self.consumers, consumers(self.make, self.first, self.subjects.len()))
    }
}

impl<'a, K: EntityConsumer> EdgeCollector<'a, K> {
    /// As [`VertexCollector::new`], of edges, whose ends are among `vertices`.
    #[must_use]
    pub fn new(
        (pass, read): (&CopyPass, usize),
        subjects: &'a [EdgeSubject<'a>],
        first: usize,
        vertices: &'a SourceVertices<'a>,
        make: MakeConsumer<'a, K>,
    ) -> Self {
        let rows = TableRows::new(pass, read);
        let (_, rules) = pass.rules().of_table(rows.table).expect("a read is of a table of its pass");
        let mut next = 0;
        let first_of = rules
            .map(|rule| {
                let first = next;
                next += match pass.rules().rule(rule) {
                    RulePlan::Vertex(vertex) => vertex.edges.len(),
                    RulePlan::Edge(_) => 1,
                };
                first
            })
            .collect();
        let consumers = consumers(make, first, subjects.len());
        Self { rows, subjects, first, first_of, vertices, make, consumers }
    }
}

impl<K: EntityConsumer> RowCollector for EdgeCollector<'_, K> {
    type Block = Vec<Option<K>>;

    fn add(&mut self, cells: &[Cell<'_>]) -> std::result::Result<(), UnusableRow> {
        self.rows.read(cells)?;
        for change in self.rows.changes.changes() {
            let RowEvent::Inserted(new) = &change.event else { unreachable!("a row of COPY is new") };
            let RowContent::Shown { cells: start, .. } = new.content else { continue };
            let cells = &self.rows.changes.cells()[start..];
            let first = self.first_of[change.rule - self.rows.first_rule];
            let count = match self.rows.translator.rules().rule(change.rule) {
                RulePlan::Vertex(vertex) => vertex.edges.len(),
                RulePlan::Edge(_) => 1,
            };
            for at in first..first + count {
                let subject = &self.subjects[at];
                let Some(consumer) = &mut self.consumers[at] else { continue };
                let (start, end, own) = match subject.source.rule {
                    EdgeRule::ForeignKey(vertex, link) => {
                        let own = link_cells(vertex, link).start;
                        let Some(other) = cells[own].value() else { continue };
                        match subject.source.start.is_row {
                            true => (&new.key.first, other, own + 1),
                            false => (other, &new.key.first, own + 1),
                        }
                    }
                    EdgeRule::Row(_) => match &cells[..EDGE_END_CELLS] {
                        [CellChange::Value(start), CellChange::Value(end)] => (start, end, EDGE_END_CELLS),
                        other => unreachable!("an edge that is shown has both ends: {other:?}"),
                    },
                };
                let source = &subject.source;
                if source.missing() != MissingEnd::Create
                    && !(self.vertices.has(&source.start, start)? && self.vertices.has(&source.end, end)?)
                {
                    continue;
                }
                let keys = usize::from(source.key().is_some());
                // The key is what identifies the edge, and no property beside.
                let properties = subject.properties.iter().filter_map(|(name, place)| {
                    let cell = own + place.checked_sub(keys)?;
                    Some((*name, Cow::Borrowed(cells[cell].value()?)))
                });
                let identity = match subject.identity() {
                    EdgeIdentityParts::Start => (as_id(start), None),
                    EdgeIdentityParts::End => (as_id(end), None),
                    EdgeIdentityParts::Both => (as_id(start), Some(as_id(end))),
                    EdgeIdentityParts::Key => (as_id(&new.key.first), None),
                };
                let ends = Some([as_id(start), as_id(end)]);
                consumer.take(Entity { identity, ends, properties: properties.collect() });
            }
        }
        Ok(())
    }

    fn take(&mut self) -> Vec<Option<K>> {
        std::mem::replace(&mut self.consumers, consumers(self.make, self.first, self.subjects.len()))
    }
}
