//! Batches: what many rows ask of the graph in one call, and the edges that they make in one.
//!
//! A call for each row would take the view, the index and its memory anew, and read segments in the order of the rows.

use crate::apply::attempt::{Attempt, EdgeBase, RuleState};
use crate::apply::error::ApplyResult;
use crate::apply::rule_fold::{KeyFold, RuleFold};
use crate::translate::row_change::RowKey;
use crate::translate::rules::{RuleNumber, RulePlan};
use evergraph_graph::id::{EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::transaction::{NewEdge, Transaction as _};
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView as _;
use evergraph_storage::snapshot::holders::FoundVertex;
use std::ops::Range;

/// Rows that ask at once, at most: their keys are copied.
pub(super) const BATCH_ROWS: usize = 16 << 10;

/// New edges of one type.
#[derive(Default)]
pub(super) struct EdgeBatch {
    edges: Vec<(VertexId, VertexId, Range<usize>)>,
    properties: Vec<(KeyId, Value)>,
}

impl EdgeBatch {
    /// Adds an edge.
    pub(super) fn push(
        &mut self,
        start: VertexId,
        end: VertexId,
        properties: impl Iterator<Item = (KeyId, Value)>,
    ) {
        let first = self.properties.len();
        self.properties.extend(properties);
        self.edges.push((start, end, first..self.properties.len()));
    }

    /// How many edges there are.
    pub(super) fn len(&self) -> usize {
        self.edges.len()
    }
}

impl Attempt<'_> {
    /// What the graph has of the keys that a rule's rows touched.
    pub(super) fn base_of(&mut self, fold: &RuleFold) -> ApplyResult<RuleState> {
        let mut state = RuleState::default();
        match self.schema.rules.rule(fold.rule) {
            RulePlan::Vertex(_) => {
                // A row that is new finds a vertex only where edges create them, or where all rows are replaced.
                let is_asked_of_new = fold.is_truncated || self.rows.has_created(fold.rule);
                let is_asked = |key: &KeyFold| key.is_touched || is_asked_of_new && fold.shown(key).is_some();
                state.found = self.read_rows(fold, is_asked)?;
                let others = fold.keys.iter().enumerate().map(|(number, key)| {
                    let is_read = number < state.found.len() && fold.shown(key).is_some();
                    (is_asked(key) && !is_read).then_some(&key.key.first)
                });
                state.vertices = match others.clone().any(|key| key.is_some()) {
                    true => self.find_each(fold.rule, others)?,
                    false => vec![None; others.len()],
                };
                for (vertex, found) in state.vertices.iter_mut().zip(&state.found) {
                    *vertex = found.as_ref().map(FoundVertex::vertex).or(*vertex);
                }
            }
            RulePlan::Edge(_) => {
                let asked = |number: &usize| fold.keys[*number].is_touched && !fold.is_truncated;
                let asked: Vec<usize> = (0..fold.keys.len()).filter(asked).collect();
                state.edges.resize(fold.keys.len(), None);
                for numbers in asked.chunks(BATCH_ROWS) {
                    self.find_edges(fold, numbers, &mut state.edges)?;
                }
            }
        }
        Ok(state)
    }

    /// The vertices of a rule with these keys; of none no vertex.
    pub(super) fn find_each<'k>(
        &mut self,
        rule: RuleNumber,
        keys: impl ExactSizeIterator<Item = Option<&'k Value>>,
    ) -> ApplyResult<Vec<Option<VertexId>>> {
        let mut vertices = vec![None; keys.len()];
        let (mut places, mut asked) = (Vec::new(), Vec::new());
        for (place, key) in keys.enumerate() {
            let Some(key) = key else { continue };
            places.push(place);
            asked.push(key.clone());
            if asked.len() == BATCH_ROWS {
                self.find_at(rule, &mut places, &mut asked, &mut vertices)?;
            }
        }
        self.find_at(rule, &mut places, &mut asked, &mut vertices)?;
        Ok(vertices)
    }

    /// As [`Attempt::find_each`], when all vertices are written: those of the transaction's own rows are not looked up.
    pub(super) fn find_ends<'k>(
        &mut self,
        rule: RuleNumber,
        keys: impl ExactSizeIterator<Item = Option<&'k Value>> + Clone,
    ) -> ApplyResult<Vec<Option<VertexId>>> {
        let Some(place) = self.fold.place_of(rule) else { return self.find_each(rule, keys) };
        let (fold, state) = (&self.fold.touched()[place], &self.states[place]);
        let own = |key: &Value| {
            let number = fold.number_of(&RowKey::one(key.clone()))?;
            fold.shown(&fold.keys[number])?;
            state.vertices[number]
        };
        let mut vertices: Vec<Option<VertexId>> = keys.clone().map(|key| own(key?)).collect();
        if keys.clone().zip(&vertices).all(|(key, vertex)| key.is_none() || vertex.is_some()) {
            return Ok(vertices);
        }
        let others = keys.enumerate().map(|(at, key)| key.filter(|_| vertices[at].is_none()));
        let others = self.find_each(rule, others)?;
        for (vertex, other) in vertices.iter_mut().zip(others) {
            *vertex = vertex.or(other);
        }
        Ok(vertices)
    }

    /// Looks `asked` up, each for one of `places` in `vertices`, and empties both.
    fn find_at(
        &mut self,
        rule: RuleNumber,
        places: &mut Vec<usize>,
        asked: &mut Vec<Value>,
        vertices: &mut [Option<VertexId>],
    ) -> ApplyResult<()> {
        if !asked.is_empty() {
            let schema = self.schema.vertex(rule);
            self.found.clear();
            self.graph.look_up(schema.label, schema.key, asked, &mut self.found)?;
            for (place, vertex) in places.drain(..).zip(&self.found) {
                vertices[place] = *vertex;
            }
            asked.clear();
        }
        Ok(())
    }

    /// Finds where the rows of edges with the keys at `numbers` are.
    fn find_edges(
        &mut self,
        fold: &RuleFold,
        numbers: &[usize],
        found: &mut [Option<EdgeBase>],
    ) -> ApplyResult<()> {
        let schema = self.schema.edge(fold.rule);
        if schema.key.is_some() {
            for number in numbers {
                found[*number] = self.find_edge(fold.rule, &fold.keys[*number].key)?;
            }
            return Ok(());
        }
        let key = |number: &usize| &fold.keys[*number].key;
        let starts =
            self.find_each(schema.start.rule, numbers.iter().map(|number| Some(&key(number).first)))?;
        let ends =
            self.find_each(schema.end.rule, numbers.iter().map(|number| key(number).second.as_ref()))?;
        let (mut places, mut edges) = (Vec::new(), Vec::new());
        for ((number, start), end) in numbers.iter().zip(starts).zip(ends) {
            if let (Some(source), Some(target)) = (start, end) {
                places.push(*number);
                edges.push(EdgeId { source, edge_type: schema.edge_type, target, discriminator: 0 });
            }
        }
        for ((number, edge), is_there) in places.into_iter().zip(&edges).zip(self.have_edges(&edges)?) {
            found[number] = is_there.then_some(EdgeBase::Edge(*edge));
        }
        for number in numbers {
            if found[*number].is_none() {
                found[*number] = self.rows.waiting(fold.rule, key(number)).map(|_| EdgeBase::Waiting);
            }
        }
        Ok(())
    }

    /// Whether each of the edges is there.
    pub(super) fn have_edges(&self, edges: &[EdgeId]) -> ApplyResult<Vec<bool>> {
        let mut found = Vec::with_capacity(edges.len());
        if !edges.is_empty() {
            self.graph.has_edges(edges, &mut found)?;
        }
        Ok(found)
    }

    /// Makes edges of one type; of two for one edge the later counts.
    pub(super) fn put_edges(&mut self, edge_type: TypeId, batch: &EdgeBatch) -> ApplyResult<()> {
        let edge = |(source, target, properties): &(VertexId, VertexId, Range<usize>)| NewEdge {
            source: *source,
            target: *target,
            properties: &batch.properties[properties.clone()],
        };
        let edges: Vec<NewEdge<'_>> = batch.edges.iter().map(edge).collect();
        match &edges[..] {
            [] => {}
            // Without the tables that a batch is sorted by.
            [edge] => drop(self.graph.put_edge(edge.source, edge_type, edge.target, edge.properties)?),
            edges => self.graph.put_edges(edge_type, edges)?,
        }
        self.figures.edges_added += edges.len() as u64;
        Ok(())
    }
}
