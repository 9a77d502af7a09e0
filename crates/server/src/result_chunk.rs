//! Result chunk: some results with the elements in them, on their way into an answer.

use evergraph::graph::catalogue::Catalogue;
use evergraph::gremlin::elements::{ElementData, ElementDetail, Elements};
use evergraph::gremlin::graph::after_commit;
use evergraph::gremlin::results::{Results, Traverser};
use evergraph_graph::error::Result;
use evergraph_graph::id::{EdgeId, KeyId, TypeId, VertexId};
use evergraph_graph::value::Value;
use evergraph_protocol::response::attributes::Attributes;
use evergraph_protocol::result::element_reader::{ElementReader, PropertyView};
use evergraph_query::value::element_id::edge_id_text;
use evergraph_query::value::item::Item;
use std::collections::HashMap;
use std::sync::Arc;

/// Results in a chunk, whose elements are read together, by column, and rows of a batch: a query that waits for its client
/// holds what is left of one, with its texts.
pub(crate) const RESULTS_MAX: usize = 256;
/// The same if an answer has fewer in a part, and of the first batches: computing few at a time costs more for each.
pub(crate) const RESULTS_MIN: usize = 64;
/// Bytes of a unique key that is sent.
const KEY_BYTES_MAX: usize = 1024;

/// Some results, and labels and properties of the elements in them.
pub struct ResultChunk {
    traversers: std::vec::IntoIter<Traverser>,
    /// The result that the next part goes on with.
    current: Option<Traverser>,
    elements: Elements,
    /// What numbers the keys of properties.
    catalogue: Arc<Catalogue>,
    /// By the name of an edge since the commit, the one before.
    former_edges: HashMap<EdgeId, EdgeId>,
    /// Whether somebody wants the unique keys of its vertices, and has not got them.
    owes_keys: bool,
}

/// What a client wants to know of the elements in results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkDetail {
    /// Labels, and perhaps properties.
    pub elements: ElementDetail,
    /// Whether vertices come with their unique keys.
    pub vertex_keys: bool,
}

impl ResultChunk {
    /// The next results, at most `most`; `None` if there are no more. At most one batch is computed.
    ///
    /// # Errors
    /// Errors of the query.
    pub fn next(results: &mut Results<'_>, detail: ChunkDetail, most: usize) -> Result<Option<Self>> {
        let traversers = results.next_traversers(most)?;
        if traversers.is_empty() {
            return Ok(None);
        }
        let elements = if detail.vertex_keys { ElementDetail::PropertiesOfEnds } else { detail.elements };
        let elements = results.elements(traversers.iter().map(|traverser| &traverser.item), elements)?;
        let catalogue = results.catalogue();
        let former_edges = HashMap::new();
        Ok(Some(Self {
            traversers: traversers.into_iter(),
            current: None,
            elements,
            catalogue,
            former_edges,
            owes_keys: detail.vertex_keys,
        }))
    }

    /// The unique keys of the vertices in it, once and if they are wanted: pairs of a vertex and its key. Long keys are left
    /// out.
    #[must_use]
    pub fn take_vertex_keys(&mut self) -> Vec<(Value, Value)> {
        if !std::mem::take(&mut self.owes_keys) {
            return Vec::new();
        }
        let key = |(vertex, data): (VertexId, &ElementData)| {
            let label = self.catalogue.label(&data.label)?;
            let name = self.catalogue.key_name(self.catalogue.vertex_key(label)?);
            let property = data.properties.iter().find(|property| property.key == name)?;
            is_short(&property.value).then(|| (Value::I64(i64::from(vertex.0)), property.value.clone()))
        };
        self.elements.vertices().filter_map(key).collect()
    }

    /// Bytes of its results in memory, with the elements in them.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        let bytes = |traverser: &Traverser| size_of::<Traverser>() + traverser.item.heap_bytes();
        let results_bytes: usize = self.traversers.as_slice().iter().map(bytes).sum();
        results_bytes as u64 + self.elements.memory_bytes()
    }

    /// Gives edges the names that they have since a commit, which lists those before and after.
    #[must_use]
    pub fn renamed(mut self, renamed: &[(EdgeId, EdgeId)]) -> Self {
        if renamed.is_empty() {
            return self;
        }
        let new_names: HashMap<_, _> = renamed.iter().copied().collect();
        let rename =
            |traverser: Traverser| Traverser { item: after_commit(&traverser.item, &new_names), ..traverser };
        self.traversers = self.traversers.map(rename).collect::<Vec<_>>().into_iter();
        self.former_edges = renamed.iter().map(|(before, after)| (*after, *before)).collect();
        self
    }

    /// Gives results to `push`, which takes an item and how often it occurs and returns how many of these it has no room
    /// for, until there are some of these or none left here.
    ///
    /// # Errors
    /// Those of `push`.
    pub fn write<E>(
        &mut self,
        mut push: impl FnMut(&Item, u64, &Self) -> std::result::Result<u64, E>,
    ) -> std::result::Result<ChunkState, E> {
        while let Some(traverser) = self.current.take().or_else(|| self.traversers.next()) {
            let left = push(&traverser.item, traverser.bulk, &*self)?;
            if left > 0 {
                self.current = Some(Traverser { bulk: left, ..traverser });
                return Ok(ChunkState::PartIsFull);
            }
        }
        Ok(ChunkState::Empty)
    }

    /// Gives each result to `push`, with how often it occurs, without taking it out.
    ///
    /// # Errors
    /// Those of `push`.
    pub fn try_each<E>(
        &self,
        mut push: impl FnMut(&Item, u64, &Self) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.traversers
            .as_slice()
            .iter()
            .try_for_each(|traverser| push(&traverser.item, traverser.bulk, self))
    }

    /// The names of what is in the results.
    #[must_use]
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    fn edge(&self, edge: EdgeId) -> Option<&ElementData> {
        self.elements.edge(self.former_edges.get(&edge).copied().unwrap_or(edge))
    }

    fn visit(&self, element: Option<&ElementData>, visit: &mut dyn FnMut(PropertyView<'_>)) {
        for property in element.into_iter().flat_map(|element| &element.properties) {
            let Some(key) = self.catalogue.key(&property.key) else { continue };
            let meta = &property.meta_properties;
            let properties = (!meta.as_slice().is_empty()).then_some(meta);
            visit(PropertyView { key, value: &property.value, nth: property.nth, properties });
        }
    }
}

fn is_short(key: &Value) -> bool {
    match key {
        Value::String(text) => text.len() <= KEY_BYTES_MAX,
        Value::Bytes(bytes) => bytes.len() <= KEY_BYTES_MAX,
        Value::BigInteger(number) => number.heap_bytes() <= KEY_BYTES_MAX,
        Value::List(_) | Value::Set(_) | Value::Map(_) => false,
        _ => true,
    }
}

/// What is left of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChunkState {
    /// Nothing.
    Empty,
    /// Something, for the next part.
    PartIsFull,
}

impl ElementReader for ResultChunk {
    fn vertex_label(&self, vertex: VertexId) -> Result<Option<Arc<str>>> {
        Ok(self.elements.vertex(vertex).map(|vertex| Arc::clone(&vertex.label)))
    }

    fn edge_type_name(&self, edge_type: TypeId) -> Arc<str> {
        self.elements.edge_type_name(edge_type)
    }

    fn key_name(&self, key: KeyId) -> Arc<str> {
        self.catalogue.key_name(key)
    }

    fn vertex_properties(&self, vertex: VertexId, visit: &mut dyn FnMut(PropertyView<'_>)) -> Result<()> {
        self.visit(self.elements.vertex(vertex), visit);
        Ok(())
    }

    fn edge_properties(&self, edge: EdgeId, visit: &mut dyn FnMut(PropertyView<'_>)) -> Result<()> {
        self.visit(self.edge(edge), visit);
        Ok(())
    }
}

/// The edges that a commit gave other names: pairs of ids, before and after.
pub(crate) fn renamed_attribute(renamed: &[(EdgeId, EdgeId)]) -> Attributes {
    if renamed.is_empty() {
        return Attributes::new();
    }
    let pairs: Vec<String> = renamed
        .iter()
        .map(|(before, after)| format!("{} {}", edge_id_text(*before), edge_id_text(*after)))
        .collect();
    Attributes::new().with(Attributes::RENAMED_EDGES, pairs.join("\n"))
}
