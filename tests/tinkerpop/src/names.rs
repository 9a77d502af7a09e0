//! Names: the elements of a graph by what scenarios call them.

use evergraph::graph::view::GraphView;
use evergraph::{Direction, EdgeId, ReadByName, Result, VertexId};
use std::collections::HashMap;

/// Vertices by their property `name`, edges as `marko-knows->josh`. Of several that are called the same the last counts.
#[derive(Default)]
pub struct Names {
    vertices: HashMap<String, VertexId>,
    edges: HashMap<String, EdgeId>,
}

impl Names {
    /// The names of all elements of `view`.
    ///
    /// Cost: one look at each vertex and each edge.
    ///
    /// # Errors
    /// What reading may meet.
    pub fn of(view: &impl GraphView) -> Result<Self> {
        let mut names = Self::default();
        let mut name_of = HashMap::new();
        let vertices = view.vertices(None)?;
        for vertex in &vertices {
            if let Some(name) = view.get(*vertex, "name")? {
                name_of.insert(*vertex, name.to_string());
                names.vertices.insert(name.to_string(), *vertex);
            }
        }
        let catalogue = view.catalogue();
        for vertex in vertices {
            let Some(source) = name_of.get(&vertex) else { continue };
            for (edge, neighbor) in view.edges(vertex, Direction::Out, &[])? {
                let Some(target) = name_of.get(&neighbor) else { continue };
                let edge_type = catalogue.edge_type_name(edge.edge_type);
                names.edges.insert(format!("{source}-{edge_type}->{target}"), edge);
            }
        }
        Ok(names)
    }

    /// The vertex called `name`.
    #[must_use]
    pub fn vertex(&self, name: &str) -> Option<VertexId> {
        self.vertices.get(name).copied()
    }

    /// The edge called `name`.
    #[must_use]
    pub fn edge(&self, name: &str) -> Option<EdgeId> {
        self.edges.get(name).copied()
    }

    /// What a vertex is called.
    #[must_use]
    pub fn name_of_vertex(&self, vertex: VertexId) -> Option<String> {
        self.vertices.iter().find(|(_, other)| **other == vertex).map(|(name, _)| name.clone())
    }

    /// What an edge is called.
    #[must_use]
    pub fn name_of_edge(&self, edge: EdgeId) -> Option<String> {
        self.edges.iter().find(|(_, other)| **other == edge).map(|(name, _)| name.clone())
    }
}
