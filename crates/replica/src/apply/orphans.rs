//! Orphans: rows whose edge went with a vertex, and which are still there.
//!
//! A vertex that is deleted takes all of its edges. Edges of its own row go with it; the others have rows that may stay, since
//! no foreign key at the source holds them back. What becomes of these is decided when all vertices are written.

use crate::apply::attempt::{Attempt, NEIGHBORS};
use crate::apply::error::ApplyResult;
use crate::apply::kept_rows::row_key;
use crate::apply::orphan::Orphan;
use crate::apply::schema::{EdgeSource, IfMissing};
use crate::planted::{Bug, planted};
use crate::row_note::WaitingEdge;
use crate::translate::rules::RuleNumber;
use evergraph_graph::id::{Direction, EdgeId, VertexId};
use evergraph_graph::transaction::Transaction as _;
use evergraph_graph::value::Value;
use evergraph_graph::view::{GraphView as _, NeighborBatch, NeighborCursor};

impl Attempt<'_> {
    /// Deletes a vertex with its edges, and notes whose they were.
    pub(super) fn let_go(&mut self, rule: RuleNumber, key: &Value, vertex: VertexId) -> ApplyResult<()> {
        let label = self.schema.vertex(rule).label;
        let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
        let (mut labels, mut loops) = (Vec::new(), Vec::new());
        while !cursor.done {
            batch.clear();
            self.graph.neighbors(&[vertex], None, Direction::Both, &mut cursor, NEIGHBORS, &mut batch)?;
            labels.clear();
            self.graph.labels(&batch.neighbors, &mut labels)?;
            for ((edge, other), other_label) in batch.edges.iter().zip(&batch.neighbors).zip(&labels) {
                let Some(other_label) = *other_label else { continue };
                // A loop comes twice.
                if *other == vertex {
                    if loops.contains(edge) {
                        continue;
                    }
                    loops.push(*edge);
                }
                self.figures.edges_deleted += 1;
                let (start, end) =
                    if edge.source == vertex { (label, other_label) } else { (other_label, label) };
                match self.schema.source(edge.edge_type, start, end) {
                    Some(EdgeSource::Link { rule, link }) => {
                        self.lose_link(rule, link, vertex, key, *edge, *other)?;
                    }
                    Some(EdgeSource::Rule(rule)) => self.lose_edge(rule, vertex, key, *edge)?,
                    None => {}
                }
            }
        }
        for link in &self.schema.vertex(rule).links {
            if let Some((kept, _)) = &link.waiting
                && self.property(vertex, *kept)?.is_some()
            {
                self.count_waiting(link, -1);
            }
        }
        self.graph.delete_vertex(vertex)?;
        self.figures.vertices_deleted += 1;
        Ok(())
    }

    fn lose_link(
        &mut self,
        rule: RuleNumber,
        link: usize,
        vertex: VertexId,
        key: &Value,
        edge: EdgeId,
        other: VertexId,
    ) -> ApplyResult<()> {
        let schema = &self.schema.vertex(rule).links[link];
        self.count_waiting(schema, 1);
        let row = if schema.side == Direction::In { edge.target } else { edge.source };
        if row == vertex {
            self.loosen(schema.end, other);
            return Ok(());
        }
        // One that waits finds its end by the property that its vertex keeps.
        if schema.end.if_missing == IfMissing::Wait {
            return Ok(());
        }
        let values = self.edge_values(edge, &schema.properties)?;
        let properties = schema.properties.iter().zip(values);
        let properties = properties.filter_map(|(key, value)| Some((*key, value?))).collect();
        self.orphans.push(Orphan::Link { rule, link, vertex: row, key: key.clone(), properties });
        Ok(())
    }

    fn lose_edge(
        &mut self,
        rule: RuleNumber,
        vertex: VertexId,
        key: &Value,
        edge: EdgeId,
    ) -> ApplyResult<()> {
        let schema = self.schema.edge(rule);
        let (start, end) = if edge.source == vertex {
            let end =
                if edge.target == vertex { key.clone() } else { self.key_of(schema.end.rule, edge.target)? };
            (key.clone(), end)
        } else {
            (self.key_of(schema.start.rule, edge.source)?, key.clone())
        };
        if edge.source != vertex {
            self.loosen(schema.start, edge.source);
        }
        if edge.target != vertex {
            self.loosen(schema.end, edge.target);
        }
        let edge_key = match schema.key {
            Some(key) => self.edge_values(edge, &[key])?.pop().flatten(),
            None => None,
        };
        let properties = self.edge_values(edge, &schema.properties)?;
        let place = self.schema.rules.rule(rule).place();
        let orphan = WaitingEdge { rule: place, key: edge_key, start, end, properties };
        // What the transaction itself says of the row counts, until it is written.
        let is_touched = !self.is_written
            && self.fold.of_rule(rule).is_some_and(|fold| fold.key(&row_key(&orphan)).is_some());
        if !is_touched && !planted(Bug::OrphansForgotten) {
            self.orphans.push(Orphan::Edge { rule, edge: orphan });
        }
        Ok(())
    }

    /// Finds the ends of what lost them: they wait, are created, or stop everything. Rows that are gone are no orphans.
    pub(super) fn place_orphans(&mut self) -> ApplyResult<()> {
        for orphan in std::mem::take(&mut self.orphans) {
            match orphan {
                Orphan::Link { rule, link, vertex, key, properties } => {
                    if !self.is_alive(vertex)? {
                        continue;
                    }
                    let schema = self.schema.vertex(rule);
                    let link = &schema.links[link];
                    let row = self.key_of(rule, vertex)?;
                    if let Some(other) = self.end(rule, &row, link.end, &key)? {
                        self.put_link(link, vertex, other, &properties)?;
                    }
                }
                Orphan::Edge { rule, edge } => self.place_edge(rule, edge)?,
            }
        }
        Ok(())
    }
}
