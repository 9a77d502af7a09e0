//! Computed properties: results of algorithms, visible in one query only.
//!
//! `g.V().pageRank().order().by('gremlin.pageRankVertexProgram.pageRank')`: nothing is written to the graph, so a
//! snapshot will do. Steps that read a property by its key find these first.

use crate::batch::column::Column;
use crate::plan::operator::Name;
use crate::value::item::Item;
use evergraph_algorithms::labels::Labels;
use evergraph_algorithms::peer_pressure::PeerPressure;
use evergraph_graph::id::VertexId;
use evergraph_graph::vertex_set::VertexSet;
use std::sync::Arc;

/// What was computed, by key. Copies share it.
#[derive(Clone, Debug, Default)]
pub struct Computed {
    all: Vec<(Name, Arc<Values>)>,
}

/// Something of each vertex.
#[derive(Debug)]
pub enum Values {
    /// A score for each of these, by id.
    Scores(VertexSet, Vec<f64>),
    /// A cluster, called by the id of a vertex.
    Clusters(PeerPressure),
    /// A component, called by the least id in it, as a text.
    Components(Labels),
}

impl Values {
    fn of(&self, vertex: VertexId) -> Option<Item> {
        match self {
            Self::Scores(vertices, scores) => {
                vertices.contains(vertex.0).then(|| Item::from(scores[vertex.0 as usize]))
            }
            Self::Clusters(clusters) => {
                clusters.cluster(vertex).map(|vertex| Item::from(i64::from(vertex.0)))
            }
            Self::Components(labels) => labels.of(vertex).map(|vertex| Item::from(vertex.0.to_string())),
        }
    }
}

impl Computed {
    /// Stores `values` under `key`, and replaces earlier values.
    pub fn set(&mut self, key: Name, values: Values) {
        self.all.retain(|(other, _)| *other != key);
        self.all.push((key, Arc::new(values)));
    }

    /// Whether there are values for `key`.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.all.iter().any(|(other, _)| **other == *key)
    }

    /// The value by `key` of each of `vertices` that has one, and which they are; `None` if nothing was computed by it.
    #[must_use]
    pub fn column(&self, key: &str, vertices: &[VertexId]) -> Option<(Vec<u32>, Column)> {
        let (_, values) = self.all.iter().find(|(other, _)| **other == *key)?;
        let found = (0..).zip(vertices).filter_map(|(row, vertex)| Some((row, values.of(*vertex)?)));
        let (rows, items): (Vec<u32>, Vec<Item>) = found.unzip();
        Some((rows, Column::of_items(items)))
    }

    /// What was computed of `vertex` by one of `keys`, or by any if none is named, in the order it was computed in.
    pub fn of<'c>(&'c self, vertex: VertexId, keys: &'c [Name]) -> impl Iterator<Item = (&'c Name, Item)> {
        let wanted = |key: &Name| keys.is_empty() || keys.contains(key);
        self.all
            .iter()
            .filter_map(move |(key, values)| Some((key, values.of(vertex).filter(|_| wanted(key))?)))
    }
}
