//! Edges that are rows: removes those that end or move first, and adds those that begin once all vertices are there.

use crate::apply::attempt::{Attempt, Cells, EdgeBase};
use crate::apply::batches::{BATCH_ROWS, EdgeBatch};
use crate::apply::error::ApplyResult;
use crate::apply::schema::EdgeSchema;
use crate::mapping::plan::EdgePlan;
use crate::row_note::WaitingEdge;
use crate::translate::row_change::CellChange;
use crate::translate::rules::{EDGE_END_CELLS, RuleNumber, RulePlan};
use evergraph_graph::id::EdgeId;
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::{EdgeCursor, GraphView as _};

/// Edges that are looked at at once where all of a type are.
const SCANNED_EDGES: usize = 4096;

/// A row that becomes a new edge: its key and its object, by their places.
struct NewEdgeRow {
    number: usize,
    object: usize,
}

impl Attempt<'_> {
    /// Removes the edges of rows that are gone or have other ends now, and lets rows that changed wait no longer.
    pub(super) fn unlink_edges(&mut self, cells: Cells<'_>) -> ApplyResult<()> {
        for (touched, fold) in self.folds() {
            if !matches!(self.schema.rules.rule(fold.rule), RulePlan::Edge(_)) {
                continue;
            }
            if fold.is_truncated {
                self.delete_all(fold.rule)?;
            }
            for (number, key) in fold.keys.iter().enumerate() {
                match self.states[touched].edges[number] {
                    None => continue,
                    Some(EdgeBase::Waiting) => {
                        self.rows.stop_waiting(self.graph, fold.rule, &key.key)?;
                    }
                    Some(EdgeBase::Edge(edge)) => {
                        let object = fold.shown(key);
                        if let Some(object) = object
                            && self.has_same_ends(fold.rule, edge, touched, object, cells)?
                        {
                            continue;
                        }
                        self.delete_edge_of(fold.rule, edge)?;
                    }
                }
                self.states[touched].edges[number] = None;
            }
        }
        Ok(())
    }

    fn has_same_ends(
        &mut self,
        rule: RuleNumber,
        edge: EdgeId,
        touched: usize,
        object: usize,
        cells: Cells<'_>,
    ) -> ApplyResult<bool> {
        let schema = self.schema.edge(rule);
        if schema.key.is_none() {
            return Ok(true);
        }
        for (cell, end, vertex) in [(0, schema.start, edge.source), (1, schema.end, edge.target)] {
            if let CellChange::Value(key) = cells.get(touched, object, cell)
                && self.find(end.rule, key)? != Some(vertex)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn delete_edge_of(&mut self, rule: RuleNumber, edge: EdgeId) -> ApplyResult<()> {
        let schema = self.schema.edge(rule);
        self.graph.delete_edge(edge)?;
        self.figures.edges_deleted += 1;
        self.loosen(schema.start, edge.source);
        self.loosen(schema.end, edge.target);
        Ok(())
    }

    /// Removes all edges of a rule, and its rows that wait.
    fn delete_all(&mut self, rule: RuleNumber) -> ApplyResult<()> {
        for key in self.rows.waiting_of(rule) {
            self.rows.stop_waiting(self.graph, rule, &key)?;
        }
        let schema = self.schema.edge(rule);
        let start = Some(self.schema.vertex(schema.start.rule).label);
        let end = Some(self.schema.vertex(schema.end.rule).label);
        let (mut cursor, mut edges) = (EdgeCursor::default(), Vec::new());
        let (mut vertices, mut labels) = (Vec::new(), Vec::new());
        while !cursor.done {
            edges.clear();
            self.graph.scan_edges(Some(&[schema.edge_type]), &mut cursor, SCANNED_EDGES, &mut edges)?;
            vertices.clear();
            vertices.extend(edges.iter().flat_map(|edge| [edge.source, edge.target]));
            labels.clear();
            self.graph.labels(&vertices, &mut labels)?;
            for (edge, labels) in edges.iter().zip(labels.chunks_exact(2)) {
                if *labels == [start, end] {
                    self.delete_edge_of(rule, *edge)?;
                }
            }
        }
        Ok(())
    }

    /// Makes and changes the edges of rows.
    pub(super) fn write_edges(&mut self, cells: Cells<'_>) -> ApplyResult<()> {
        for (touched, fold) in self.folds() {
            let RulePlan::Edge(plan) = self.schema.rules.rule(fold.rule) else { continue };
            let schema = self.schema.edge(fold.rule);
            let mut new = Vec::new();
            for (number, key) in fold.keys.iter().enumerate() {
                let Some(object) = fold.shown(key) else { continue };
                // One whose end is gone went with it.
                if let Some(EdgeBase::Edge(edge)) = self.states[touched].edges[number]
                    && (self.figures.vertices_deleted == 0 || self.has_edge(edge)?)
                {
                    self.change_edge(schema, edge, touched, object, cells)?;
                    continue;
                }
                new.push(NewEdgeRow { number, object });
            }
            for rows in new.chunks(BATCH_ROWS) {
                self.add_rows(plan, touched, rows, cells)?;
            }
        }
        Ok(())
    }

    /// Makes the edges of rows of one rule, or lets them wait.
    fn add_rows(
        &mut self,
        plan: &EdgePlan,
        touched: usize,
        rows: &[NewEdgeRow],
        cells: Cells<'_>,
    ) -> ApplyResult<()> {
        let fold = &self.fold.touched()[touched];
        let schema = self.schema.edge(fold.rule);
        let cell = |row: &NewEdgeRow, cell| cells.get(touched, row.object, cell).value();
        let (mut starts, mut ends) = (vec![None; rows.len()], vec![None; rows.len()]);
        if schema.key.is_none() {
            starts = self.find_ends(schema.start.rule, rows.iter().map(|row| cell(row, 0)))?;
            ends = self.find_ends(schema.end.rule, rows.iter().map(|row| cell(row, 1)))?;
        }
        let mut batch = EdgeBatch::default();
        for ((row, start), end) in rows.iter().zip(starts).zip(ends) {
            let properties = (0..schema.properties.len()).map(|number| cell(row, EDGE_END_CELLS + number));
            if let (Some(start), Some(end)) = (start, end) {
                let properties = schema.properties.iter().zip(properties);
                batch.push(start, end, properties.filter_map(|(key, value)| Some((*key, value?.clone()))));
                continue;
            }
            let (Some(start), Some(end)) = (cell(row, 0).cloned(), cell(row, 1).cloned()) else {
                unreachable!("an edge that is shown has both ends, and what was kept was read")
            };
            let properties = properties.map(Option::<&Value>::cloned).collect();
            let key = schema.key.map(|_| fold.keys[row.number].key.first.clone());
            self.place_edge(fold.rule, WaitingEdge { rule: plan.rule, key, start, end, properties })?;
        }
        self.put_edges(schema.edge_type, &batch)
    }

    fn change_edge(
        &mut self,
        schema: &EdgeSchema,
        edge: EdgeId,
        touched: usize,
        object: usize,
        cells: Cells<'_>,
    ) -> ApplyResult<()> {
        let values = (0..schema.properties.len())
            .map(|property| cells.get(touched, object, EDGE_END_CELLS + property));
        self.set_edge_properties(edge, &schema.properties, values)
    }
}
