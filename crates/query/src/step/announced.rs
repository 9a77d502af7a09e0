//! Announced elements: what a step reads of the elements of a column one by one, said beforehand.
//!
//! A view of other machines asks for all of it at once then: a message to each machine, and not one an element. Where reading
//! takes no messages nothing is gathered.

use crate::batch::Batch;
use crate::batch::column::Column;
use crate::execute::context::Context;
use crate::plan::element_reads::{ElementPart, ElementSource};
use crate::plan::function::MapShape;
use crate::plan::operator::Name;
use crate::step::stored_property::may_be_several;
use crate::value::item::Item;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::id::{Direction, EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor};

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
        column.items().for_each(|item| elements.add(&item));
        Some(elements)
    }

    /// Those that the rows of `batch` have there, each once; `None` if there is nothing to gain.
    #[must_use]
    pub fn of_rows(batch: &Batch, source: ElementSource, cx: &'v Context<'_>) -> Option<Self> {
        let mut elements = Self::none(batch.len(), cx)?;
        match source {
            ElementSource::Slot(slot) => {
                (0..batch.len()).filter_map(|row| batch.slot(slot, row)).for_each(|item| elements.add(&item));
            }
            ElementSource::Current | ElementSource::Edge => match batch.current.vertices() {
                Some(vertices) => elements.vertices = vertices,
                None => batch.current.items().for_each(|item| elements.add(&item)),
            },
        }
        elements.keep_once();
        Some(elements)
    }

    fn keep_once(&mut self) {
        self.vertices.sort_unstable();
        self.vertices.dedup();
        self.edges.sort_unstable();
        self.edges.dedup();
    }

    fn add(&mut self, item: &Item) {
        match item {
            Item::Vertex(vertex) => self.vertices.push(*vertex),
            Item::Edge(edge) => self.edges.push(*edge),
            _ => {}
        }
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
        let gains = count > 0 && cx.heeds_ahead();
        gains.then(|| Self { vertices: Vec::new(), edges: Vec::new(), view: cx.view() })
    }

    /// The label of each vertex is read.
    pub fn labels(&self) {
        self.view.ahead(NextReads::Labels(&self.vertices));
    }

    /// This part of each element is read.
    pub fn part(&self, part: &ElementPart) {
        match part {
            ElementPart::Label => self.labels(),
            ElementPart::Value(name) => {
                let catalogue = self.view.catalogue();
                let Some(key) = catalogue.key(name) else { return };
                if may_be_several(&catalogue, key) {
                    self.labels();
                }
                self.view.ahead(NextReads::VertexProperties(&self.vertices, key));
                self.view.ahead(NextReads::EdgeProperties(&self.edges, key));
            }
            ElementPart::Edges(names, direction) => {
                let types = self.types(names.as_deref());
                if types.as_ref().is_none_or(|types| types.len() > 1) {
                    self.view.ahead(NextReads::EdgeTypes(&self.vertices, *direction));
                }
                for edge_type in types.into_iter().flatten() {
                    self.view.ahead(NextReads::EdgesOfType(&self.vertices, edge_type, *direction));
                }
            }
            ElementPart::EdgeCount(names, direction) => match self.types(names.as_deref()).as_deref() {
                Some([]) => {}
                Some([one]) => self.view.ahead(NextReads::Degrees(&self.vertices, Some(*one), *direction)),
                Some(_) | None => {
                    self.view.ahead(NextReads::EdgeTypes(&self.vertices, *direction));
                    self.view.ahead(NextReads::Degrees(&self.vertices, None, *direction));
                }
            },
        }
    }

    /// The vertices behind edges of these types, and the edges, each once; `None` if they are more than `limit`, or cannot be read.
    #[must_use]
    pub fn beyond(
        &self,
        names: Option<&[Name]>,
        direction: Direction,
        limit: usize,
        cx: &'v Context<'_>,
    ) -> Option<[Self; 2]> {
        let types = self.types(names);
        let (mut cursor, mut found) = (NeighborCursor::default(), NeighborBatch::default());
        let of = types.as_deref();
        cx.view().neighbors(&self.vertices, of, direction, &mut cursor, limit, &mut found).ok()?;
        let vertices = Self { vertices: found.neighbors, edges: Vec::new(), view: cx.view() };
        let edges = Self { vertices: Vec::new(), edges: found.edges, view: cx.view() };
        let mut both = [vertices, edges];
        both.iter_mut().for_each(Self::keep_once);
        cursor.done.then_some(both)
    }

    /// How many they are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.vertices.len() + self.edges.len()
    }

    /// Edge types by their names, ascending; `None`: all.
    fn types(&self, names: Option<&[Name]>) -> Option<Vec<TypeId>> {
        let catalogue = self.view.catalogue();
        let mut types: Option<Vec<TypeId>> =
            names.map(|names| names.iter().filter_map(|name| catalogue.edge_type(name)).collect());
        types.iter_mut().for_each(|types| types.sort_unstable());
        types
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
