//! Vertices: deletes those whose rows are gone, with all their edges, and gives the others what their rows have.

use crate::apply::attempt::{AppearedVertex, Attempt, Cells, PendingLink};
use crate::apply::error::ApplyResult;
use crate::apply::rule_fold::RuleFold;
use crate::apply::schema::VertexSchema;
use crate::mapping::plan::VertexPlan;
use crate::translate::row_change::CellChange;
use crate::translate::rules::{RulePlan, link_cells};
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::view::{GraphView as _, VertexCursor};
use evergraph_storage::snapshot::holders::FoundVertex;
use std::collections::HashSet;

/// Vertices that are looked at at once where all of a label are.
const SCANNED_VERTICES: usize = 4096;

impl Attempt<'_> {
    /// Deletes the vertices whose rows are gone.
    pub(super) fn delete_vertices(&mut self) -> ApplyResult<()> {
        // Rows that refer come after those that they refer to, mostly: deleted first, they leave no orphans.
        for (touched, fold) in self.folds().rev() {
            if !matches!(self.schema.rules.rule(fold.rule), RulePlan::Vertex(_)) {
                continue;
            }
            if fold.is_truncated {
                self.delete_truncated(touched, fold)?;
                continue;
            }
            for (number, key) in fold.keys.iter().enumerate() {
                let Some(vertex) = self.states[touched].vertices[number] else { continue };
                let is_gone = key.is_touched
                    && fold.shown(key).is_none()
                    && !self.rows.is_created(fold.rule, &key.key.first);
                if is_gone {
                    self.let_go(fold.rule, &key.key.first, vertex)?;
                }
            }
        }
        Ok(())
    }

    /// Deletes all vertices of a rule but those that have rows again, and those that edges created.
    fn delete_truncated(&mut self, touched: usize, fold: &RuleFold) -> ApplyResult<()> {
        let label = self.schema.vertex(fold.rule).label;
        let (mut cursor, mut vertices) = (VertexCursor::default(), Vec::new());
        while !cursor.done {
            self.graph.scan_vertices(Some(&[label]), &mut cursor, SCANNED_VERTICES, &mut vertices)?;
        }
        let staying: HashSet<VertexId> = self.states[touched].vertices.iter().copied().flatten().collect();
        for vertex in vertices.into_iter().filter(|vertex| !staying.contains(vertex)) {
            let key = self.key_of(fold.rule, vertex)?;
            if !self.rows.is_created(fold.rule, &key) {
                self.let_go(fold.rule, &key, vertex)?;
            }
        }
        Ok(())
    }

    /// Makes and changes the vertices of rows.
    pub(super) fn write_vertices(&mut self, cells: Cells<'_>) -> ApplyResult<()> {
        for (touched, fold) in self.folds() {
            let RulePlan::Vertex(plan) = self.schema.rules.rule(fold.rule) else { continue };
            let schema = self.schema.vertex(fold.rule);
            for (number, key) in fold.keys.iter().enumerate() {
                let Some(object) = fold.shown(key) else { continue };
                let values = VertexCells { plan, schema, touched, object, cells };
                let key = &key.key.first;
                if let Some(vertex) = self.states[touched].vertices[number] {
                    if self.rows.is_created(fold.rule, key) {
                        self.rows.set_created(self.graph, fold.rule, key, false)?;
                    }
                    let found = self.states[touched].found.get_mut(number).and_then(Option::take);
                    self.change_vertex(vertex, found, values)?;
                    continue;
                }
                let mut properties = Vec::with_capacity(1 + schema.properties.len());
                properties.push((schema.key, key.clone()));
                values.visit(&mut |key, cell| {
                    properties.extend(cell.value().map(|value| (key, value.clone())));
                    Ok(())
                })?;
                let added = self.graph.add_vertex(schema.label, &properties);
                let vertex = added.map_err(|error| self.refused(fold.rule, error))?;
                self.figures.vertices_added += 1;
                self.states[touched].vertices[number] = Some(vertex);
                self.appeared.push(AppearedVertex { rule: fold.rule, key: key.clone(), vertex });
                for (number, link) in schema.links.iter().enumerate() {
                    if cells.get(touched, object, link_cells(plan, number).start).value().is_some() {
                        self.count_waiting(link, 1);
                        self.links.push(PendingLink { touched, object, link: number, vertex });
                    }
                }
            }
        }
        Ok(())
    }

    /// Sets and removes the properties that differ from those of the vertex, which was perhaps read before.
    fn change_vertex(
        &mut self,
        vertex: VertexId,
        found: Option<FoundVertex>,
        values: VertexCells<'_>,
    ) -> ApplyResult<()> {
        let read = match &found {
            Some(_) => Vec::new(),
            None => self.graph.vertex_property_map(vertex)?,
        };
        let current = found.as_ref().map_or(&read[..], FoundVertex::properties);
        let mut changes = std::mem::take(&mut self.changes);
        values.visit(&mut |key, cell| {
            let old = current.iter().find(|(known, _)| *known == key).map(|(_, value)| value);
            if !matches!(cell, CellChange::Kept) && old != cell.value() {
                if old.is_some() != cell.value().is_some()
                    && let Some(link) = values.schema.links.iter().find(|link| link.keeps_end_in(key))
                {
                    self.count_waiting(link, if old.is_some() { -1 } else { 1 });
                }
                changes.push((key, cell.value().cloned()));
            }
            Ok(())
        })?;
        if !changes.is_empty() {
            match &found {
                Some(found) => self.graph.set_found_properties(found, &mut changes)?,
                None => self.graph.set_vertex_properties(vertex, &mut changes)?,
            }
            self.figures.vertices_changed += 1;
        }
        self.changes = changes;
        Ok(())
    }
}

/// The cells of a row that become properties of its vertex.
#[derive(Clone, Copy)]
struct VertexCells<'c> {
    plan: &'c VertexPlan,
    schema: &'c VertexSchema,
    touched: usize,
    object: usize,
    cells: Cells<'c>,
}

impl VertexCells<'_> {
    /// Visits them all, with those that it keeps for edges that wait.
    fn visit(self, visit: &mut dyn FnMut(KeyId, &CellChange) -> ApplyResult<()>) -> ApplyResult<()> {
        let cell = |number| self.cells.get(self.touched, self.object, number);
        for (number, key) in self.schema.properties.iter().enumerate() {
            visit(*key, cell(number))?;
        }
        for (number, link) in self.schema.links.iter().enumerate() {
            let Some((key, properties)) = &link.waiting else { continue };
            let first = link_cells(self.plan, number).start;
            for (place, key) in std::iter::once(key).chain(properties).enumerate() {
                visit(*key, cell(first + place))?;
            }
        }
        Ok(())
    }
}
