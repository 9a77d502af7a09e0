//! `Attempt`: writes one transaction of the source into one transaction of the graph; after a conflict another attempt begins.

use crate::apply::error::ApplyResult;
use crate::apply::fold::TransactionFold;
use crate::apply::kept_rows::KeptRows;
use crate::apply::orphan::Orphan;
use crate::apply::rule_fold::RuleFold;
use crate::apply::schema::{EndSchema, GraphSchema, IfMissing, LinkSchema};
use crate::row_note::WaitingEdge;
use crate::translate::pause::{Halt, RESYNC, Recovery};
use crate::translate::row_change::{CellChange, RowKey};
use crate::translate::rules::RuleNumber;
use evergraph::transaction::TransactionById;
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::id::{Direction, EdgeId, KeyId, VertexId};
use evergraph_graph::look_up::{MatchCursor, Matches};
use evergraph_graph::properties::PropertyChange;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::{GraphView as _, NeighborBatch, NeighborCursor};
use evergraph_storage::snapshot::holders::FoundVertex;
use std::collections::HashMap;
use std::slice::from_ref;
use std::time::{Duration, Instant};

/// Neighbours of a vertex that are looked at at once.
pub(super) const NEIGHBORS: usize = 4096;

/// What a transaction changed in the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AppliedFigures {
    /// Vertices that are new, those that stand in for rows among them.
    pub vertices_added: u64,
    /// Vertices with other properties than before.
    pub vertices_changed: u64,
    /// Vertices that are gone.
    pub vertices_deleted: u64,
    /// Edges that are new.
    pub edges_added: u64,
    /// Edges with other properties than before.
    pub edges_changed: u64,
    /// Edges that are gone.
    pub edges_deleted: u64,
}

/// How long the steps of a transaction took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ApplyTimes {
    /// Finding what the graph has of its rows.
    pub look_up: Duration,
    /// Writing vertices, and removing edges that end.
    pub vertices: Duration,
    /// Finding the ends of edges, and writing these.
    pub edges: Duration,
    /// The commit.
    pub commit: Duration,
}

/// One transaction of the source on its way into one of the graph.
pub(super) struct Attempt<'a> {
    pub(super) graph: &'a mut TransactionById,
    pub(super) schema: &'a GraphSchema,
    pub(super) fold: &'a TransactionFold,
    pub(super) rows: &'a mut KeptRows,
    pub(super) figures: AppliedFigures,
    /// What the graph has of the keys of each rule that was touched.
    pub(super) states: Vec<RuleState>,
    /// Links that are to be made once all vertices are there.
    pub(super) links: Vec<PendingLink>,
    /// Links that stay, and whose properties may change.
    pub(super) same_links: Vec<SameLink>,
    /// What lost its end with a vertex.
    pub(super) orphans: Vec<Orphan>,
    /// Whether all rows of the transaction have their edges.
    pub(super) is_written: bool,
    /// Vertices that are new, by rule.
    pub(super) appeared: Vec<AppearedVertex>,
    /// Vertices that lost an edge that may be what they were created for.
    pub(super) loosened: Vec<(RuleNumber, VertexId)>,
    pub(super) found: Vec<Option<VertexId>>,
    batch: NeighborBatch,
    /// Changes of one vertex.
    pub(super) changes: Vec<PropertyChange>,
}

/// What the graph has of the keys of one rule: an entry a key.
#[derive(Default)]
pub(super) struct RuleState {
    pub(super) vertices: Vec<Option<VertexId>>,
    /// The first of these with their properties; those of the others are read when they are needed.
    pub(super) found: Vec<Option<FoundVertex>>,
    pub(super) edges: Vec<Option<EdgeBase>>,
}

/// Where the row of an edge is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EdgeBase {
    Edge(EdgeId),
    Waiting,
}

/// A foreign key of a row that is to be made an edge.
pub(super) struct PendingLink {
    pub(super) touched: usize,
    pub(super) object: usize,
    pub(super) link: usize,
    pub(super) vertex: VertexId,
}

/// A foreign key whose edge stays.
pub(super) struct SameLink {
    pub(super) link: PendingLink,
    pub(super) edge: EdgeId,
}

/// A vertex that was not there before.
pub(super) struct AppearedVertex {
    pub(super) rule: RuleNumber,
    pub(super) key: Value,
    pub(super) vertex: VertexId,
}

/// Cells that were kept, as the graph has them: by rule and object, the cell's number and what it is.
pub(super) type KeptCells = HashMap<(usize, usize), Vec<(usize, CellChange)>>;

/// What rows are in the end.
#[derive(Clone, Copy)]
pub(super) struct Cells<'c> {
    pub(super) fold: &'c TransactionFold,
    pub(super) kept: &'c KeptCells,
}

impl<'c> Cells<'c> {
    /// The cell of an object of the rule at the place `touched`. [`CellChange::Kept`]: as the vertex under the same key has it.
    #[inline]
    pub(super) fn get(self, touched: usize, object: usize, cell: usize) -> &'c CellChange {
        if !self.kept.is_empty()
            && let Some(cells) = self.kept.get(&(touched, object))
            && let Some((_, found)) = cells.iter().find(|(number, _)| *number == cell)
        {
            return found;
        }
        let fold = &self.fold.touched()[touched];
        self.fold.cell(fold, &fold.objects[object], cell)
    }
}

impl<'a> Attempt<'a> {
    pub(super) fn new(
        graph: &'a mut TransactionById,
        schema: &'a GraphSchema,
        fold: &'a TransactionFold,
        rows: &'a mut KeptRows,
    ) -> Self {
        Self {
            graph,
            schema,
            fold,
            rows,
            figures: AppliedFigures::default(),
            states: Vec::with_capacity(fold.touched().len()),
            links: Vec::new(),
            same_links: Vec::new(),
            orphans: Vec::new(),
            is_written: false,
            appeared: Vec::new(),
            loosened: Vec::new(),
            found: Vec::new(),
            batch: NeighborBatch::default(),
            changes: Vec::new(),
        }
    }

    /// Writes all of it, in an order in which nothing is in anything's way: what ends before what begins.
    pub(super) fn run(mut self) -> ApplyResult<(AppliedFigures, ApplyTimes)> {
        let (fold, began) = (self.fold, Instant::now());
        fold.touched().iter().try_for_each(|touched| touched.check(&self.schema.rules))?;
        self.find_base()?;
        let kept = self.read_kept_cells()?;
        let cells = Cells { fold, kept: &kept };
        let found = Instant::now();
        self.unlink_edges(cells)?;
        self.unlink_links(cells)?;
        self.delete_vertices()?;
        self.write_vertices(cells)?;
        let written = Instant::now();
        self.place_orphans()?;
        self.write_links(cells)?;
        self.write_edges(cells)?;
        self.link_appeared()?;
        self.remove_unneeded()?;
        self.rows.check_links()?;
        let times = ApplyTimes {
            look_up: found - began,
            vertices: written - found,
            edges: written.elapsed(),
            commit: Duration::ZERO,
        };
        Ok((self.figures, times))
    }

    /// Finds what the graph has of the touched keys.
    fn find_base(&mut self) -> ApplyResult<()> {
        for fold in self.fold.touched() {
            let state = self.base_of(fold)?;
            self.states.push(state);
        }
        Ok(())
    }

    /// The vertex of a rule with this key.
    #[inline]
    pub(super) fn find(&mut self, rule: RuleNumber, key: &Value) -> ApplyResult<Option<VertexId>> {
        let vertex = self.schema.vertex(rule);
        self.found.clear();
        self.graph.look_up(vertex.label, vertex.key, from_ref(key), &mut self.found)?;
        Ok(self.found[0])
    }

    /// Where the row of an edge is that a property identifies, if it is anywhere.
    pub(super) fn find_edge(&mut self, rule: RuleNumber, key: &RowKey) -> ApplyResult<Option<EdgeBase>> {
        let schema = self.schema.edge(rule);
        let mut matches = Matches::default();
        if let Some(property) = schema.key {
            let (mut cursor, values) = (MatchCursor::default(), from_ref(&key.first));
            self.graph.look_up_edges(schema.edge_type, property, values, &mut cursor, 1, &mut matches)?;
        }
        Ok(match matches.items.first() {
            Some(edge) => Some(EdgeBase::Edge(*edge)),
            None => self.rows.waiting(rule, key).map(|_| EdgeBase::Waiting),
        })
    }

    pub(super) fn has_edge(&self, edge: EdgeId) -> ApplyResult<bool> {
        let mut found = Vec::with_capacity(1);
        self.graph.has_edges(&[edge], &mut found)?;
        Ok(found[0])
    }

    pub(super) fn is_alive(&self, vertex: VertexId) -> ApplyResult<bool> {
        let mut labels = Vec::with_capacity(1);
        self.graph.labels(&[vertex], &mut labels)?;
        Ok(labels[0].is_some())
    }

    /// A property of a vertex.
    pub(super) fn property(&self, vertex: VertexId, key: KeyId) -> ApplyResult<Option<Value>> {
        let mut column = Column::new(ValueType::Any);
        self.graph.vertex_properties(&[vertex], key, &mut column)?;
        Ok(column.get(0))
    }

    /// The key of a vertex of a rule.
    pub(super) fn key_of(&self, rule: RuleNumber, vertex: VertexId) -> ApplyResult<Value> {
        let key = self.property(vertex, self.schema.vertex(rule).key)?;
        key.ok_or_else(|| {
            let name = self.schema.name(rule);
            let text = format!("the vertex {vertex} of {name} has no key: {RESYNC}");
            Error::new(ErrorKind::Corrupt, text).into()
        })
    }

    /// The properties of an edge in the order of `keys`.
    pub(super) fn edge_values(&self, edge: EdgeId, keys: &[KeyId]) -> ApplyResult<Vec<Option<Value>>> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let map = self.graph.edge_property_map(edge)?;
        let value = |key: &KeyId| map.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone());
        Ok(keys.iter().map(value).collect())
    }

    /// The edge of a foreign key of `vertex`, and its other end.
    pub(super) fn current_link(
        &mut self,
        vertex: VertexId,
        link: &LinkSchema,
    ) -> ApplyResult<Option<(EdgeId, VertexId)>> {
        let label = self.schema.vertex(link.end.rule).label;
        let mut cursor = NeighborCursor::default();
        let mut labels = Vec::new();
        while !cursor.done {
            self.batch.clear();
            let types = Some(from_ref(&link.edge_type));
            self.graph.neighbors(&[vertex], types, link.side, &mut cursor, NEIGHBORS, &mut self.batch)?;
            labels.clear();
            self.graph.labels(&self.batch.neighbors, &mut labels)?;
            if let Some(at) = labels.iter().position(|found| *found == Some(label)) {
                return Ok(Some((self.batch.edges[at], self.batch.neighbors[at])));
            }
        }
        Ok(None)
    }

    /// The end of an edge of `rule`'s row, which is called `row`; `None` if it has to wait.
    pub(super) fn end(
        &mut self,
        rule: RuleNumber,
        row: &dyn std::fmt::Display,
        end: EndSchema,
        key: &Value,
    ) -> ApplyResult<Option<VertexId>> {
        if let Some(vertex) = self.find(end.rule, key)? {
            return Ok(Some(vertex));
        }
        let halt = |why: &str, remedy: &str| {
            let (name, label) = (self.schema.name(rule), self.schema.name(end.rule));
            let cause = format!("the row {row} of {name} refers to {label} {key}, which is not there, {why}");
            Halt::new(self.schema.rules.table(rule), None, cause, remedy, Recovery::Resync)
        };
        match end.if_missing {
            IfMissing::Wait => Ok(None),
            IfMissing::Create => self.create(end.rule, key).map(Some),
            IfMissing::BrokenPromise => Err(halt("though a foreign key promises it", "").into()),
            IfMissing::Stop => {
                let remedy =
                    "mend the rows at the source, or set missing = \"wait\" or \"create\" in the rule";
                Err(halt("and its rule says missing = \"stop\"", remedy).into())
            }
        }
    }

    /// Makes a vertex that stands in for its row.
    fn create(&mut self, rule: RuleNumber, key: &Value) -> ApplyResult<VertexId> {
        let schema = self.schema.vertex(rule);
        let vertex = self.graph.add_vertex(schema.label, &[(schema.key, key.clone())])?;
        self.rows.set_created(self.graph, rule, key, true)?;
        self.figures.vertices_added += 1;
        self.appeared.push(AppearedVertex { rule, key: key.clone(), vertex });
        Ok(vertex)
    }

    /// Notes that `vertex` lost an edge for which it may have been created.
    #[inline]
    pub(super) fn loosen(&mut self, end: EndSchema, vertex: VertexId) {
        if end.if_missing == IfMissing::Create && self.rows.has_created(end.rule) {
            self.loosened.push((end.rule, vertex));
        }
    }

    /// Makes the edge of a row, or lets it wait.
    pub(super) fn place_edge(&mut self, rule: RuleNumber, edge: WaitingEdge) -> ApplyResult<()> {
        let schema = self.schema.edge(rule);
        let row = crate::apply::kept_rows::row_key(&edge);
        let start = self.end(rule, &row, schema.start, &edge.start)?;
        let end = self.end(rule, &row, schema.end, &edge.end)?;
        match (start, end) {
            (Some(start), Some(end)) => self.add_edge(rule, start, end, edge),
            _ => self.rows.wait(self.graph, rule, edge),
        }
    }

    /// Makes the edge of a row, whose ends are there.
    pub(super) fn add_edge(
        &mut self,
        rule: RuleNumber,
        start: VertexId,
        end: VertexId,
        edge: WaitingEdge,
    ) -> ApplyResult<()> {
        let schema = self.schema.edge(rule);
        let values = schema.properties.iter().zip(edge.properties);
        let mut properties: Vec<(KeyId, Value)> =
            values.filter_map(|(key, value)| Some((*key, value?))).collect();
        match (schema.key, edge.key) {
            (Some(key), Some(value)) => {
                properties.push((key, value));
                let added = self.graph.add_edge(start, schema.edge_type, end, &properties);
                added.map_err(|error| self.refused(rule, error))?;
            }
            _ => drop(self.graph.put_edge(start, schema.edge_type, end, &properties)?),
        }
        self.figures.edges_added += 1;
        Ok(())
    }

    /// What the graph refuses of a row that is new is there already: graph and source have parted.
    pub(super) fn refused(&self, rule: RuleNumber, error: Error) -> crate::apply::error::ApplyError {
        match error.kind() {
            ErrorKind::Invalid => {
                let cause = format!("a new row doesn't fit what the graph has: {error}");
                Halt::new(self.schema.rules.table(rule), None, cause, "", Recovery::ResyncParted).into()
            }
            _ => error.into(),
        }
    }

    /// Makes the edge of a foreign key.
    pub(super) fn put_link(
        &mut self,
        link: &LinkSchema,
        vertex: VertexId,
        other: VertexId,
        properties: &[(KeyId, Value)],
    ) -> ApplyResult<()> {
        let (start, end) = link_ends(link, vertex, other);
        self.graph.put_edge(start, link.edge_type, end, properties)?;
        self.figures.edges_added += 1;
        self.count_waiting(link, -1);
        Ok(())
    }

    /// Counts `more` foreign keys that wait, if those of `link` do: each has its key at the vertex, and no edge.
    #[inline]
    pub(super) fn count_waiting(&mut self, link: &LinkSchema, more: i64) {
        if link.waiting.is_some() {
            self.rows.count_links(link.rule, more);
        }
    }

    /// The folds and their places.
    pub(super) fn folds(&self) -> impl DoubleEndedIterator<Item = (usize, &'a RuleFold)> + use<'a> {
        self.fold.touched().iter().enumerate()
    }
}

/// Start and end of the edge between a row's vertex and the other end.
pub(super) fn link_ends(link: &LinkSchema, vertex: VertexId, other: VertexId) -> (VertexId, VertexId) {
    match link.side {
        Direction::In => (other, vertex),
        _ => (vertex, other),
    }
}
