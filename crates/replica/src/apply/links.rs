//! Links: the edges of foreign keys, which belong to the vertex of their row.

use crate::apply::attempt::{Attempt, Cells, PendingLink, SameLink, link_ends};
use crate::apply::batches::{BATCH_ROWS, EdgeBatch};
use crate::apply::error::ApplyResult;
use crate::apply::schema::LinkSchema;
use crate::translate::row_change::CellChange;
use crate::translate::rules::{RulePlan, link_cells};
use evergraph_graph::id::{EdgeId, KeyId, VertexId};
use evergraph_graph::transaction::Transaction as _;
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
            let mut rows = Vec::new();
            for (number, key) in fold.keys.iter().enumerate() {
                let Some(vertex) = self.states[touched].vertices[number] else { continue };
                rows.extend(fold.shown(key).map(|object| (object, vertex)));
            }
            for (link, end) in schema.links.iter().enumerate() {
                let cell = link_cells(plan, link).start;
                for rows in rows.chunks(BATCH_ROWS) {
                    let pending =
                        rows.iter().map(|row| PendingLink { touched, object: row.0, link, vertex: row.1 });
                    self.unlink(end, pending.collect(), cell, cells)?;
                }
            }
        }
        Ok(())
    }

    /// Compares the edges of a foreign key with its cell, of many rows.
    fn unlink(
        &mut self,
        link: &LinkSchema,
        rows: Vec<PendingLink>,
        cell: usize,
        cells: Cells<'_>,
    ) -> ApplyResult<()> {
        let end_of = |row: &PendingLink| cells.get(row.touched, row.object, cell);
        let wanted = self.find_each(link.end.rule, rows.iter().map(|row| end_of(row).value()))?;
        let edge_to = |(row, other): (&PendingLink, &Option<VertexId>)| {
            let (source, target) = link_ends(link, row.vertex, (*other)?);
            Some(EdgeId { source, edge_type: link.edge_type, target, discriminator: 0 })
        };
        let edges: Vec<Option<EdgeId>> = rows.iter().zip(&wanted).map(edge_to).collect();
        let known: Vec<EdgeId> = edges.iter().copied().flatten().collect();
        let mut are_there = self.have_edges(&known)?.into_iter();
        for (row, edge) in rows.into_iter().zip(edges) {
            // Mostly it refers to what it did before.
            if let Some(edge) = edge
                && are_there.next() == Some(true)
            {
                if !link.properties.is_empty() {
                    self.same_links.push(SameLink { link: row, edge });
                }
                continue;
            }
            let end = end_of(&row);
            if *end == CellChange::Kept && link.properties.is_empty() {
                continue;
            }
            let current = self.current_link(row.vertex, link)?;
            if *end == CellChange::Kept {
                self.same_links.extend(current.map(|(edge, _)| SameLink { link: row, edge }));
                continue;
            }
            if let Some((edge, other)) = current {
                self.graph.delete_edge(edge)?;
                self.figures.edges_deleted += 1;
                self.count_waiting(link, 1);
                self.loosen(link.end, other);
            }
            if end.value().is_some() {
                self.links.push(row);
            }
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
        let mut links = std::mem::take(&mut self.links);
        links.sort_by_key(|pending| (pending.touched, pending.link));
        for links in links.chunk_by(|one, other| (one.touched, one.link) == (other.touched, other.link)) {
            for links in links.chunks(BATCH_ROWS) {
                self.put_links(links, cells)?;
            }
        }
        Ok(())
    }

    /// Makes the edges of one foreign key.
    fn put_links(&mut self, links: &[PendingLink], cells: Cells<'_>) -> ApplyResult<()> {
        let (link, first) = self.link_of(&links[0]);
        let cell = |pending: &PendingLink, number| cells.get(pending.touched, pending.object, first + number);
        let others = self.find_ends(link.end.rule, links.iter().map(|pending| cell(pending, 0).value()))?;
        let mut batch = EdgeBatch::default();
        for (pending, other) in links.iter().zip(others) {
            let CellChange::Value(key) = cell(pending, 0) else { continue };
            let other = match other {
                Some(other) => other,
                None => {
                    let fold = &self.fold.touched()[pending.touched];
                    let row = &fold.keys[fold.objects[pending.object].key()].key;
                    let Some(other) = self.end(fold.rule, row, link.end, key)? else { continue };
                    other
                }
            };
            let (start, end) = link_ends(link, pending.vertex, other);
            let properties = link.properties.iter().enumerate();
            let properties = properties
                .filter_map(|(number, key)| Some((*key, cell(pending, 1 + number).value()?.clone())));
            batch.push(start, end, properties);
        }
        self.put_edges(link.edge_type, &batch)?;
        self.count_waiting(link, -(batch.len() as i64));
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
