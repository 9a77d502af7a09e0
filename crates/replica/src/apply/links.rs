//! Links: the edges of foreign keys, which belong to the vertex of their row.

use crate::apply::attempt::{Attempt, Cells, PendingLink, SameLink, link_ends};
use crate::apply::error::ApplyResult;
use crate::apply::schema::LinkSchema;
use crate::translate::row_change::CellChange;
use crate::translate::rules::{RulePlan, link_cells};
use evergraph_graph::id::{EdgeId, KeyId, VertexId};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::GraphView as _;

impl<'a> Attempt<'a> {
    /// Removes the edges of foreign keys that refer to something else now, and notes which are to be made.
    pub(super) fn unlink_links(&mut self, cells: Cells<'_>) -> ApplyResult<()> {
        for (touched, fold) in self.folds() {
            let RulePlan::Vertex(plan) = self.schema.rules.rule(fold.rule) else { continue };
            let schema = self.schema.vertex(fold.rule);
            if schema.links.is_empty() {
                continue;
            }
            for (number, key) in fold.keys.iter().enumerate() {
                let Some(vertex) = self.states[touched].vertices[number] else { continue };
                let Some(object) = fold.shown(key) else { continue };
                for (link, end) in schema.links.iter().enumerate() {
                    let pending = PendingLink { touched, object, link, vertex };
                    self.unlink(end, pending, cells.get(touched, object, link_cells(plan, link).start))?;
                }
            }
        }
        Ok(())
    }

    fn unlink(&mut self, link: &LinkSchema, pending: PendingLink, end: &CellChange) -> ApplyResult<()> {
        let current = self.current_link(pending.vertex, link)?;
        let wanted = match end {
            CellChange::Kept => {
                if let Some((edge, _)) = current.filter(|_| !link.properties.is_empty()) {
                    self.same_links.push(SameLink { link: pending, edge });
                }
                return Ok(());
            }
            CellChange::Null => None,
            CellChange::Value(key) => Some(self.find(link.end.rule, key)?),
        };
        if let (Some((edge, other)), Some(Some(wanted))) = (current, wanted)
            && other == wanted
        {
            if !link.properties.is_empty() {
                self.same_links.push(SameLink { link: pending, edge });
            }
            return Ok(());
        }
        if let Some((edge, other)) = current {
            self.graph.delete_edge(edge)?;
            self.figures.edges_deleted += 1;
            self.loosen(link.end, other);
        }
        if wanted.is_some() {
            self.links.push(pending);
        }
        Ok(())
    }

    /// Makes the edges of foreign keys, and changes the properties of those that stay.
    pub(super) fn write_links(&mut self, cells: Cells<'_>) -> ApplyResult<()> {
        for SameLink { link: pending, edge } in std::mem::take(&mut self.same_links) {
            let (link, first) = self.link_of(&pending);
            let edge = match self.has_edge(edge)? {
                true => Some(edge),
                // It went with its end, which was perhaps created again.
                false => self.current_link(pending.vertex, link)?.map(|(edge, _)| edge),
            };
            let Some(edge) = edge else {
                self.links.push(pending);
                continue;
            };
            let count = link.properties.len();
            let values = (1..=count).map(|cell| cells.get(pending.touched, pending.object, first + cell));
            self.set_edge_properties(edge, &link.properties, values)?;
        }
        for pending in std::mem::take(&mut self.links) {
            let (link, first) = self.link_of(&pending);
            let CellChange::Value(key) = cells.get(pending.touched, pending.object, first) else { continue };
            let fold = &self.fold.touched()[pending.touched];
            let row = &fold.keys[fold.objects[pending.object].key].key;
            let Some(other) = self.end(fold.rule, row, link.end, key)? else { continue };
            let values = link.properties.iter().enumerate();
            let properties: Vec<(KeyId, Value)> = values
                .filter_map(|(number, key)| {
                    let cell = cells.get(pending.touched, pending.object, first + 1 + number);
                    Some((*key, cell.value()?.clone()))
                })
                .collect();
            self.put_link(link, pending.vertex, other, &properties)?;
        }
        Ok(())
    }

    /// Makes the edge of a row's foreign key to a vertex that appeared, unless it is there.
    pub(super) fn link_waiting(
        &mut self,
        link: &LinkSchema,
        vertex: VertexId,
        other: VertexId,
    ) -> ApplyResult<()> {
        let (source, target) = link_ends(link, vertex, other);
        let edge = EdgeId { source, edge_type: link.edge_type, target, discriminator: 0 };
        if self.has_edge(edge)? {
            return Ok(());
        }
        let mut properties = Vec::new();
        if let Some((_, kept)) = &link.waiting {
            for (key, kept) in link.properties.iter().zip(kept) {
                properties.extend(self.property(vertex, *kept)?.map(|value| (*key, value)));
            }
        }
        self.put_link(link, vertex, other, &properties)
    }

    /// Sets and removes what differs; cells that are kept stay.
    pub(super) fn set_edge_properties<'c>(
        &mut self,
        edge: EdgeId,
        keys: &[KeyId],
        values: impl Iterator<Item = &'c CellChange>,
    ) -> ApplyResult<()> {
        if keys.is_empty() {
            return Ok(());
        }
        let current = self.graph.edge_property_map(edge)?;
        let mut is_changed = false;
        for (key, value) in keys.iter().zip(values) {
            let old = current.iter().find(|(known, _)| known == key).map(|(_, value)| value);
            if matches!(value, CellChange::Kept) || old == value.value() {
                continue;
            }
            self.graph.set_edge_property(edge, *key, value.value().cloned())?;
            is_changed = true;
        }
        self.figures.edges_changed += u64::from(is_changed);
        Ok(())
    }

    /// The link, and its first cell.
    fn link_of(&self, pending: &PendingLink) -> (&'a LinkSchema, usize) {
        let rule = self.fold.touched()[pending.touched].rule;
        let RulePlan::Vertex(plan) = self.schema.rules.rule(rule) else {
            unreachable!("links are those of vertices")
        };
        (&self.schema.vertex(rule).links[pending.link], link_cells(plan, pending.link).start)
    }
}
