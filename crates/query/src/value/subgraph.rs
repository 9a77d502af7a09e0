//! `Subgraph`: edges and the vertices at their ends, as `subgraph('x')` gathers them.

use evergraph_graph::id::{EdgeId, VertexId};
use std::collections::BTreeSet;

/// Some edges of the graph and all their ends, each once. Labels and properties are those of the graph itself.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Subgraph {
    vertices: BTreeSet<VertexId>,
    edges: BTreeSet<EdgeId>,
}

impl Subgraph {
    /// Adds `edge` with both its ends; whether it is new.
    pub fn add(&mut self, edge: EdgeId) -> bool {
        self.vertices.extend([edge.source, edge.target]);
        self.edges.insert(edge)
    }

    /// The vertices, ascending.
    #[inline]
    pub fn vertices(&self) -> impl ExactSizeIterator<Item = VertexId> {
        self.vertices.iter().copied()
    }

    /// The edges, ascending.
    #[inline]
    pub fn edges(&self) -> impl ExactSizeIterator<Item = EdgeId> {
        self.edges.iter().copied()
    }

    /// Bytes on the heap, about.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.vertices.len() * size_of::<VertexId>() + self.edges.len() * size_of::<EdgeId>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evergraph_graph::id::TypeId;

    #[test]
    fn an_edge_brings_its_ends_along_and_is_there_once() {
        let edge = |source, target| EdgeId {
            source: VertexId(source),
            edge_type: TypeId(0),
            target: VertexId(target),
            discriminator: 0,
        };
        let mut graph = Subgraph::default();
        let added = [edge(3, 1), edge(3, 2), edge(3, 1)].map(|edge| graph.add(edge));
        assert_eq!(added, [true, true, false]);
        assert_eq!(graph.vertices().collect::<Vec<_>>(), [1, 2, 3].map(VertexId));
        assert_eq!(graph.edges().collect::<Vec<_>>(), [edge(3, 1), edge(3, 2)]);
    }
}
