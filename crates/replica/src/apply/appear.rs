//! Appear: makes the edges that waited for a vertex once it is there, and removes vertices created for edges that are gone.

use crate::apply::attempt::Attempt;
use crate::apply::error::ApplyResult;
use crate::apply::schema::{EdgeSource, IfMissing};
use crate::translate::rules::RuleNumber;
use evergraph_graph::id::{Direction, VertexId};
use evergraph_graph::look_up::{MatchCursor, Matches};
use evergraph_graph::value::Value;
use evergraph_graph::view::{GraphView as _, NeighborBatch, NeighborCursor};

/// Waiting rows that are looked at at once.
const WAITING_ROWS: usize = 4096;

impl Attempt<'_> {
    /// Makes the edges that waited for vertices that appeared.
    pub(super) fn link_appeared(&mut self) -> ApplyResult<()> {
        let mut appeared = std::mem::take(&mut self.appeared);
        appeared.sort_by_key(|vertex| vertex.rule);
        for vertices in appeared.chunk_by(|one, other| one.rule == other.rule) {
            let rule = vertices[0].rule;
            if !self.schema.waiting_links[rule].is_empty() {
                let keys: Vec<Value> = vertices.iter().map(|vertex| vertex.key.clone()).collect();
                let ids: Vec<VertexId> = vertices.iter().map(|vertex| vertex.vertex).collect();
                self.link_rows(rule, &keys, &ids)?;
            }
            for vertex in vertices {
                for (rule, key) in self.rows.waiting_for(rule, &vertex.key) {
                    let Some(edge) = self.rows.waiting(rule, &key).cloned() else { continue };
                    let schema = self.schema.edge(rule);
                    let start = self.find(schema.start.rule, &edge.start)?;
                    let end = self.find(schema.end.rule, &edge.end)?;
                    if let (Some(start), Some(end)) = (start, end) {
                        self.rows.stop_waiting(self.graph, rule, &key)?;
                        self.add_edge(rule, start, end, edge)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Makes the edges of rows whose foreign keys wait for vertices of a rule with these keys.
    fn link_rows(&mut self, rule: RuleNumber, keys: &[Value], vertices: &[VertexId]) -> ApplyResult<()> {
        for (of_row, link) in &self.schema.waiting_links[rule] {
            let schema = self.schema.vertex(*of_row);
            let link = &schema.links[*link];
            let Some((kept_key, _)) = &link.waiting else { continue };
            let mut cursor = MatchCursor::default();
            while !cursor.done {
                let mut matches = Matches::default();
                let label = schema.label;
                self.graph.look_up_vertices(
                    label,
                    *kept_key,
                    keys,
                    &mut cursor,
                    WAITING_ROWS,
                    &mut matches,
                )?;
                for (key, row) in matches.rows.iter().zip(&matches.items) {
                    self.link_waiting(link, *row, vertices[*key as usize])?;
                }
            }
        }
        Ok(())
    }

    /// Deletes the vertices that were created for edges, if none of these is left.
    pub(super) fn remove_unneeded(&mut self) -> ApplyResult<()> {
        self.is_written = true;
        let mut loosened = std::mem::take(&mut self.loosened);
        loosened.sort_unstable();
        loosened.dedup();
        for (rule, vertex) in loosened {
            if !self.is_alive(vertex)? {
                continue;
            }
            let key = self.key_of(rule, vertex)?;
            if self.rows.is_created(rule, &key) && !self.is_needed(rule, vertex)? {
                self.rows.set_created(self.graph, rule, &key, false)?;
                self.let_go(rule, &key, vertex)?;
            }
        }
        // Edges that wait for it, without having created it.
        self.place_orphans()
    }

    /// Whether an edge of a vertex is one that creates such vertices.
    fn is_needed(&mut self, rule: RuleNumber, vertex: VertexId) -> ApplyResult<bool> {
        let label = self.schema.vertex(rule).label;
        let (mut cursor, mut batch) = (NeighborCursor::default(), NeighborBatch::default());
        let mut labels = Vec::new();
        while !cursor.done {
            batch.clear();
            self.graph.neighbors(&[vertex], None, Direction::Both, &mut cursor, WAITING_ROWS, &mut batch)?;
            labels.clear();
            self.graph.labels(&batch.neighbors, &mut labels)?;
            for (edge, other) in batch.edges.iter().zip(&labels) {
                let Some(other) = *other else { continue };
                let is_start = edge.source == vertex;
                let (start, end) = if is_start { (label, other) } else { (other, label) };
                let if_missing = match self.schema.source(edge.edge_type, start, end) {
                    Some(EdgeSource::Link { rule, link }) => {
                        self.schema.vertex(rule).links[link].end.if_missing
                    }
                    Some(EdgeSource::Rule(rule)) => {
                        let schema = self.schema.edge(rule);
                        // A loop is made by either end.
                        let is_loop = edge.source == edge.target;
                        match is_start && !(is_loop && schema.end.if_missing == IfMissing::Create) {
                            true => schema.start.if_missing,
                            false => schema.end.if_missing,
                        }
                    }
                    None => continue,
                };
                if if_missing == IfMissing::Create {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
