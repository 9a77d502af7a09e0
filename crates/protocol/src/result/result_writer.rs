//! `ResultWriter`: the parts of results, which each format writes in its own way.

use evergraph_graph::id::{EdgeId, VertexId};
use evergraph_graph::value::Value;
use evergraph_graph::value::collection::Map;

use crate::error::EncodeError;

/// A collection of results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Collection {
    List,
    Set,
    /// Key, value, key, value.
    Map,
}

/// A word of an enumeration that results contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Word {
    T(&'static str),
    Direction(&'static str),
}

/// An end of an edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndView<'a> {
    pub(crate) vertex: VertexId,
    pub(crate) label: &'a str,
}

/// An edge without its properties.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeView<'a> {
    pub(crate) edge: EdgeId,
    pub(crate) label: &'a str,
    pub(crate) source: EndView<'a>,
    pub(crate) target: EndView<'a>,
}

/// A property of a vertex.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VertexPropertyView<'a> {
    pub(crate) id: &'a str,
    pub(crate) key: &'a str,
    pub(crate) value: &'a Value,
    /// `None` if they are not sent.
    pub(crate) properties: Option<&'a Map>,
}

/// What encloses an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ElementContext {
    /// A result, a collection, a path.
    Value,
    /// A graph.
    Graph,
}

/// The properties of an element that is being written.
#[derive(Debug, Default)]
pub(crate) struct PropertyList {
    /// Where their number is, in bytes of the output.
    pub(crate) count_offset: usize,
    /// How many there are so far.
    pub(crate) count: usize,
    /// The key of the last one, of a vertex in a format that groups them by key.
    pub(crate) last_key: Option<Box<str>>,
}

/// Writes the parts of results, one after the other.
///
/// What begins, ends: collections, paths, trees and elements have a method for either. Whoever calls them in the wrong
/// order gets output that nobody can read.
///
/// # Errors
/// Every method fails if the format has no form for a value. A part of it may be written then: the caller goes back to
/// an earlier length.
pub(crate) trait ResultWriter {
    /// Bytes written so far.
    fn size(&self) -> usize;

    /// Takes back all but the first `size` bytes.
    fn truncate(&mut self, size: usize);

    fn null(&mut self);
    fn value(&mut self, value: &Value) -> Result<(), EncodeError>;
    fn text(&mut self, text: &str) -> Result<(), EncodeError>;
    fn word(&mut self, word: Word) -> Result<(), EncodeError>;

    /// A collection of `count` items; of a map, entries.
    fn begin(&mut self, collection: Collection, count: usize) -> Result<(), EncodeError>;
    fn end(&mut self);

    /// A result with the number of times that it occurs; its value comes next.
    fn begin_traverser(&mut self, bulk: i64);
    fn end_traverser(&mut self);

    /// A path: a list of sets of labels, [`Self::path_objects`], a list of objects.
    fn begin_path(&mut self);
    fn path_objects(&mut self);
    fn end_path(&mut self);

    /// A tree of `count` branches; `is_root` unless it is inside another.
    fn begin_tree(&mut self, count: usize, is_root: bool) -> Result<(), EncodeError>;
    /// A branch: its key, [`Self::branch_tree`], the tree below it.
    fn begin_branch(&mut self);
    fn branch_tree(&mut self);
    fn end_branch(&mut self);
    fn end_tree(&mut self);

    /// A graph: `vertices` of them, [`Self::graph_edges`], `edges` of them.
    fn begin_graph(&mut self, vertices: usize) -> Result<(), EncodeError>;
    fn graph_edges(&mut self, edges: usize) -> Result<(), EncodeError>;
    fn end_graph(&mut self);

    /// A vertex: then its properties or [`Self::no_properties`].
    fn begin_vertex(
        &mut self,
        vertex: VertexId,
        label: &str,
        context: ElementContext,
    ) -> Result<(), EncodeError>;
    /// An edge: then its properties or [`Self::no_properties`].
    fn begin_edge(&mut self, edge: EdgeView<'_>, context: ElementContext) -> Result<(), EncodeError>;
    fn end_element(&mut self);

    /// Properties of a vertex or an edge.
    fn begin_properties(&mut self, context: ElementContext) -> PropertyList;
    fn property_of_vertex(
        &mut self,
        list: &mut PropertyList,
        property: VertexPropertyView<'_>,
        context: ElementContext,
    ) -> Result<(), EncodeError>;
    fn property_of_edge(
        &mut self,
        list: &mut PropertyList,
        key: &str,
        value: &Value,
    ) -> Result<(), EncodeError>;
    fn end_properties(&mut self, list: PropertyList) -> Result<(), EncodeError>;
    fn no_properties(&mut self, context: ElementContext);

    /// A property of a vertex as a result.
    fn vertex_property(&mut self, property: VertexPropertyView<'_>) -> Result<(), EncodeError>;
    /// A property of an edge or of a property as a result.
    fn property(&mut self, key: &str, value: &Value) -> Result<(), EncodeError>;
}
