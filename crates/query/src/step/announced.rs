//! Announced elements: what a step reads of the elements of a column one by one, said beforehand.
//!
//! A view of other machines asks for all of it at once then: a message to each machine, and not one an element. Where reading
//! takes no messages nothing is gathered.

use crate::batch::column::Column;
use crate::execute::context::Context;
use crate::plan::function::MapShape;
use crate::value::item::Item;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::id::{Direction, EdgeId, KeyId, VertexId};
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::view::GraphView;

/// The elements of a column, and the view that is told what is read of them.
pub struct AnnouncedElements<'v> {
    vertices: Vec<VertexId>,
    edges: Vec<EdgeId>,
    view: &'v dyn GraphView,
}

impl<'v> AnnouncedElements<'v> {
    /// The elements of `column`; `None` if there is nothing to gain.
    #[must_use]
    pub fn of(column: &Column, cx: &'v Context<'_>) -> Option<Self> {
        let mut elements = Self::none(column.len(), cx)?;
        for item in column.items() {
            match item {
                Item::Vertex(vertex) => elements.vertices.push(vertex),
                Item::Edge(edge) => elements.edges.push(edge),
                _ => {}
            }
        }
        Some(elements)
    }

    /// These vertices, `count` of them or fewer; `None` if there is nothing to gain.
    #[must_use]
    pub fn of_vertices(
        count: usize,
        vertices: impl Iterator<Item = VertexId>,
        cx: &'v Context<'_>,
    ) -> Option<Self> {
        let mut elements = Self::none(count, cx)?;
        elements.vertices.extend(vertices);
        Some(elements)
    }

    /// Room for `count` elements.
    fn none(count: usize, cx: &'v Context<'_>) -> Option<Self> {
        // Of a single element several things are read, too.
        let gains = count > 0 && cx.is_remote();
        gains.then(|| Self { vertices: Vec::new(), edges: Vec::new(), view: cx.view() })
    }

    /// The label of each vertex is read.
    pub fn labels(&self) {
        self.view.ahead(NextReads::Labels(&self.vertices));
    }

    /// A property of each element is read, and the labels of vertices.
    pub fn values(&self, key: KeyId) {
        self.labels();
        self.view.ahead(NextReads::VertexProperties(&self.vertices, key));
        self.view.ahead(NextReads::EdgeProperties(&self.edges, key));
    }

    /// All properties of each element are read, the labels of vertices and what is known of the values of `keys`, or of all.
    pub fn properties(&self, keys: &[KeyId]) {
        self.labels();
        self.view.ahead(NextReads::VertexPropertyMaps(&self.vertices));
        self.view.ahead(NextReads::EdgePropertyMaps(&self.edges));
        let catalogue = self.view.catalogue();
        if !catalogue.has_meta_keys() {
            return;
        }
        let labels = catalogue.labels().map(|(label, _)| label);
        let known = labels.flat_map(|label| {
            let all = catalogue.properties_of(Owner::Label(label)).map(|(key, _)| key);
            let wanted = all.filter(|key| keys.is_empty() || keys.contains(key));
            wanted.filter_map(|key| catalogue.meta_key(label, key)).collect::<Vec<_>>()
        });
        let mut known: Vec<KeyId> = known.collect();
        known.sort_unstable();
        known.dedup();
        for meta in known {
            self.view.ahead(NextReads::VertexProperties(&self.vertices, meta));
        }
    }

    /// Maps of this shape are made: of edges with the labels of their ends, unless they are of lists.
    pub fn maps(&self, shape: &MapShape) {
        let catalogue = self.view.catalogue();
        let keys: Vec<KeyId> = shape.keys.iter().filter_map(|key| catalogue.key(key)).collect();
        self.properties(&keys);
        if !shape.lists {
            let ends: Vec<VertexId> = self.edges.iter().flat_map(|edge| [edge.source, edge.target]).collect();
            self.view.ahead(NextReads::Labels(&ends));
        }
    }

    /// Whether each element is there is read, before it is written.
    pub fn presence(&self) {
        self.labels();
        self.view.ahead(NextReads::Edges(&self.edges));
    }

    /// Each element is deleted, if it is there: vertices with all of their edges.
    pub fn deletion(&self) {
        self.presence();
        self.view.ahead(NextReads::EdgesOf(&self.vertices, Direction::Both));
    }
}
