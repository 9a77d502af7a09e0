//! Kept cells: what PostgreSQL did not send of a row, since an update left it alone, as the graph has it.
//!
//! A vertex that keeps its key keeps such properties without being read. All else is read before anything is written: another
//! row may be about to get the key under which the values are.

use crate::apply::attempt::{Attempt, EdgeBase, KeptCells};
use crate::apply::error::ApplyResult;
use crate::apply::rule_fold::{RowObject, RuleFold};
use crate::mapping::plan::{PropertyPlan, VertexPlan};
use crate::planted::{Bug, planted};
use crate::translate::pause::Halt;
use crate::translate::row_change::CellChange;
use crate::translate::rules::{EDGE_END_CELLS, RuleNumber, RulePlan, link_cells};
use evergraph_graph::id::VertexId;

impl Attempt<'_> {
    /// Reads the cells that rows keep and that are needed.
    pub(super) fn read_kept_cells(&mut self) -> ApplyResult<KeptCells> {
        let mut kept = KeptCells::new();
        for (touched, fold) in self.folds() {
            for (number, object) in fold.objects.iter().enumerate().filter(|(_, object)| object.keeps()) {
                let width = self.schema.rules.width(fold.rule);
                let is_kept = |cell: &usize| *self.fold.cell(fold, object, *cell) == CellChange::Kept;
                let cells: Vec<usize> = (0..width).filter(is_kept).collect();
                if cells.is_empty() {
                    continue;
                }
                let read = match planted(Bug::UnchangedAsAbsent) {
                    true => cells.into_iter().map(|cell| (cell, CellChange::Null)).collect(),
                    false => self.read_cells(touched, fold, object, &cells)?,
                };
                kept.insert((touched, number), read);
            }
        }
        Ok(kept)
    }

    fn read_cells(
        &mut self,
        touched: usize,
        fold: &RuleFold,
        object: &RowObject,
        cells: &[usize],
    ) -> ApplyResult<Vec<(usize, CellChange)>> {
        let rules = &self.schema.rules;
        let unsent_cell = |cell: usize, needed_for: &str| {
            Halt::unsent(rules.table(fold.rule), column(rules.rule(fold.rule), cell), needed_for)
        };
        let unsent = |needed_for: &str| unsent_cell(cells[0], needed_for);
        if object.is_partly_unknown {
            return Err(unsent("a row that was left out by a condition before").into());
        }
        let Some(origin) = object.origin() else {
            return Err(unsent("a row that is new").into());
        };
        let key = &fold.keys[origin].key;
        match self.schema.rules.rule(fold.rule) {
            RulePlan::Vertex(plan) => {
                let vertex = self.states[touched].vertices[origin];
                let vertex = vertex.filter(|_| !self.rows.is_created(fold.rule, &key.first));
                let Some(vertex) = vertex else { return Err(unsent("a row that enters the graph").into()) };
                let is_same = origin == object.key();
                let has_end = |number| {
                    *self.fold.cell(fold, object, link_cells(plan, number).start) != CellChange::Null
                };
                let has_ends: Vec<bool> = (0..plan.edges.len()).map(has_end).collect();
                let read = self.read_vertex_cells(fold.rule, plan, vertex, is_same, cells, &has_ends)?;
                match read.iter().find(|(_, value)| *value == CellChange::Kept) {
                    Some((cell, _)) => Err(unsent_cell(*cell, "an edge whose end was null").into()),
                    None => Ok(read),
                }
            }
            RulePlan::Edge(_) => {
                let values = match self.states[touched].edges[origin] {
                    None => return Err(unsent("a row that enters the graph").into()),
                    Some(EdgeBase::Waiting) => {
                        let edge = self.rows.waiting(fold.rule, key).expect("it was found waiting").clone();
                        [vec![Some(edge.start), Some(edge.end)], edge.properties].concat()
                    }
                    Some(EdgeBase::Edge(edge)) => {
                        let schema = self.schema.edge(fold.rule);
                        let start = self.key_of(schema.start.rule, edge.source)?;
                        let end = self.key_of(schema.end.rule, edge.target)?;
                        [vec![Some(start), Some(end)], self.edge_values(edge, &schema.properties)?].concat()
                    }
                };
                Ok(cells.iter().map(|cell| (*cell, CellChange::of(values[*cell].clone()))).collect())
            }
        }
    }

    /// The cells of a row that has a vertex. Those that nothing here has are [`CellChange::Kept`].
    fn read_vertex_cells(
        &mut self,
        rule: RuleNumber,
        plan: &VertexPlan,
        vertex: VertexId,
        is_same: bool,
        cells: &[usize],
        has_ends: &[bool],
    ) -> ApplyResult<Vec<(usize, CellChange)>> {
        let schema = self.schema.vertex(rule);
        let mut read = Vec::new();
        for cell in cells.iter().copied().filter(|cell| *cell < schema.properties.len()) {
            if !is_same {
                read.push((cell, CellChange::of(self.property(vertex, schema.properties[cell])?)));
            }
        }
        for (number, link) in schema.links.iter().enumerate() {
            let range = link_cells(plan, number);
            let wanted: Vec<usize> = cells.iter().copied().filter(|cell| range.contains(cell)).collect();
            let keeps_end = wanted.first() == Some(&range.start);
            if wanted.is_empty() || is_same && keeps_end {
                continue;
            }
            let current = self.current_link(vertex, link)?;
            let had_end = match &link.waiting {
                Some((key, _)) => self.property(vertex, *key)?.is_some(),
                None => current.is_some(),
            };
            for cell in wanted {
                let place = cell - range.start;
                if !had_end && place > 0 {
                    let value = match has_ends[number] {
                        true => {
                            self.own_value(rule, plan, vertex, &plan.edges[number].properties[place - 1])?
                        }
                        false => CellChange::Null,
                    };
                    read.push((cell, value));
                    continue;
                }
                let value = match (place, &link.waiting, current) {
                    (0, Some((key, _)), _) => self.property(vertex, *key)?,
                    (0, None, Some((_, other))) => Some(self.key_of(link.end.rule, other)?),
                    (_, Some((_, properties)), _) => self.property(vertex, properties[place - 1])?,
                    (_, None, Some((edge, _))) => {
                        self.edge_values(edge, &link.properties[place - 1..place])?.pop().flatten()
                    }
                    (_, None, None) => None,
                };
                read.push((cell, CellChange::of(value)));
            }
        }
        Ok(read)
    }

    /// The value of a property of an edge that was not there, since its end was null: the vertex may have the same column.
    fn own_value(
        &self,
        rule: RuleNumber,
        plan: &VertexPlan,
        vertex: VertexId,
        property: &PropertyPlan,
    ) -> ApplyResult<CellChange> {
        let is_same = |own: &PropertyPlan| own.column == property.column && own.form == property.form;
        match plan.properties.iter().position(is_same) {
            Some(own) => Ok(CellChange::of(self.property(vertex, self.schema.vertex(rule).properties[own])?)),
            None => Ok(CellChange::Kept),
        }
    }
}

/// The column that a cell comes from.
fn column(rule: RulePlan<'_>, cell: usize) -> Option<usize> {
    match rule {
        RulePlan::Vertex(plan) => {
            if let Some(property) = plan.properties.get(cell) {
                return Some(property.column);
            }
            plan.edges.iter().enumerate().find_map(|(number, edge)| {
                let range = link_cells(plan, number);
                match cell.checked_sub(range.start).filter(|_| range.contains(&cell))? {
                    0 => edge.end.key.columns.first().map(|column| column.column),
                    place => Some(edge.properties[place - 1].column),
                }
            })
        }
        RulePlan::Edge(plan) => match cell {
            0 => plan.start.key.columns.first().map(|column| column.column),
            1 => plan.end.key.columns.first().map(|column| column.column),
            _ => Some(plan.properties[cell - EDGE_END_CELLS].column),
        },
    }
}
