//! Elements: vertices and edges of a snapshot, in the form that files of elements need.

use crate::export::identity::Identity;
use crate::export::pages;
use crate::export::scope::ExportScope;
use crate::export::survey::{LabelSurvey, Survey};
use evergraph_formats::element::{Edge, Vertex, VertexProperty};
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, EdgeId, KeyId, VertexId};
use evergraph_graph::value::Value;
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor};
use std::collections::BTreeMap;

/// Makes elements of what a view holds.
pub struct ElementReader<'a> {
    view: &'a dyn GraphView,
    survey: &'a Survey,
    scope: &'a ExportScope,
    /// What vertices are called.
    pub identity: Identity,
    /// Whether edges get an id, made of their ends, the number of their type, and the number among edges
    /// that run parallel.
    pub names_edges: bool,
}

impl<'a> ElementReader<'a> {
    /// Reads `view`, of which `survey` knows what is in `scope`. Cost: see [`Identity::of_graph`].
    ///
    /// # Errors
    /// Errors of reading.
    pub fn new(view: &'a dyn GraphView, survey: &'a Survey, scope: &'a ExportScope) -> Result<Self> {
        let identity = Identity::of_graph(view, survey)?;
        Ok(Self { view, survey, scope, identity, names_edges: false })
    }

    /// The vertices of `label` in `page`, with all properties but the one that is the id.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn vertices(&self, label: &LabelSurvey, page: &[VertexId]) -> Result<Vec<Vertex>> {
        let name = self.survey.catalogue.label_name(label.label).to_string();
        let ids = self.identity.column(self.view, Some(label.label), page)?;
        let keys = label.facts.keys().filter(|key| self.identity.key() != Some(**key));
        let columns: Vec<(String, Column)> = keys
            .map(|key| Ok((self.key(*key), pages::vertex_column(self.view, label.label, page, *key)?)))
            .collect::<Result<_>>()?;
        let vertex = |row| {
            let property = |(key, column): &(String, Column)| {
                column.get(row).map(|value| (key.clone(), vec![VertexProperty::from(value)]))
            };
            Ok(Vertex {
                id: id_at(&ids, row)?,
                labels: vec![name.clone()],
                properties: columns.iter().filter_map(property).collect(),
            })
        };
        (0..page.len()).map(vertex).collect()
    }

    /// `edges`, in this order.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn edges(&self, edges: &[EdgeId]) -> Result<Vec<Edge>> {
        let ends = |end: fn(&EdgeId) -> VertexId| {
            self.identity.column(self.view, None, &edges.iter().map(end).collect::<Vec<_>>())
        };
        let (sources, targets) = (ends(|edge| edge.source)?, ends(|edge| edge.target)?);
        let mut found = Vec::with_capacity(edges.len());
        for of_type in edges.chunk_by(|left, right| left.edge_type == right.edge_type) {
            let edge_type = of_type[0].edge_type;
            let name = self.survey.catalogue.edge_type_name(edge_type).to_string();
            let keys = self.survey.edge_facts.get(&edge_type).into_iter().flat_map(BTreeMap::keys);
            let columns: Vec<(String, Column)> = keys
                .map(|key| Ok((self.key(*key), pages::edge_column(self.view, edge_type, of_type, *key)?)))
                .collect::<Result<_>>()?;
            for (row, edge) in of_type.iter().enumerate() {
                let at = found.len();
                let property =
                    |(key, column): &(String, Column)| column.get(row).map(|value| (key.clone(), value));
                found.push(Edge {
                    id: self.names_edges.then(|| edge_name(edge)),
                    edge_type: name.clone(),
                    source: id_at(&sources, at)?,
                    target: id_at(&targets, at)?,
                    properties: columns.iter().filter_map(property).collect(),
                });
            }
        }
        Ok(found)
    }

    /// The edges of `vertex` on one side that are in the scope, by type.
    ///
    /// Cost: memory for all of them.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn adjacent(&self, vertex: VertexId, direction: Direction) -> Result<Vec<EdgeId>> {
        let (mut batch, mut labels) = (NeighborBatch::default(), Vec::new());
        let (mut cursor, mut found) = (NeighborCursor::default(), Vec::new());
        let types = Some(self.scope.types.as_slice());
        while !cursor.done {
            batch.clear();
            labels.clear();
            self.view.neighbors(&[vertex], types, direction, &mut cursor, pages::PAGE_ROWS, &mut batch)?;
            self.view.labels(&batch.neighbors, &mut labels)?;
            let edges = batch.edges.iter().zip(&labels);
            found.extend(
                edges
                    .filter(|(_, label)| label.is_some_and(|label| self.scope.has_label(label)))
                    .map(|(edge, _)| *edge),
            );
        }
        Ok(found)
    }

    fn key(&self, key: KeyId) -> String {
        self.survey.catalogue.key_name(key).to_string()
    }
}

fn id_at(ids: &Column, row: usize) -> Result<Value> {
    ids.get(row).ok_or_else(|| Error::new(ErrorKind::Corrupt, "a vertex has no id that it had before"))
}

/// A name that both ends of an edge give it.
fn edge_name(edge: &EdgeId) -> Value {
    let EdgeId { source, edge_type, target, discriminator } = edge;
    Value::from(format!("{}-{}-{}-{discriminator}", source.0, edge_type.0, target.0))
}
