//! `ResultValue`: a result as a client reads it, with elements that are detached from the graph.

use evergraph_graph::value::Value;
use evergraph_graph::value::collection::{List, Map, Set};
use evergraph_query::gremlin::token::Token;

/// Collections, elements, paths and levels of trees around a value in GraphBinary. JSON has a limit of its own.
pub(crate) const RESULT_DEPTH_MAX: usize = 600;

/// A result that was read from a response.
///
/// Concerning equality: collections are compared item by item, in their order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ResultValue {
    /// Null.
    Null,
    /// A value that is no collection.
    Value(Value),
    /// A list.
    List(Vec<ResultValue>),
    /// A set, in the order in which the server wrote it.
    Set(Vec<ResultValue>),
    /// A map, in the order in which the server wrote it.
    Map(Vec<(ResultValue, ResultValue)>),
    /// A word of an enumeration, such as `T.id` as a key of a map.
    Token(Token),
    /// A vertex.
    Vertex(Box<DetachedVertex>),
    /// An edge.
    Edge(Box<DetachedEdge>),
    /// A property of a vertex.
    VertexProperty(Box<DetachedVertexProperty>),
    /// A property of an edge or of a property.
    Property(Box<DetachedProperty>),
    /// A path.
    Path(Vec<DetachedStep>),
    /// A tree.
    Tree(DetachedTree),
    /// A graph.
    Graph(Box<DetachedGraph>),
}

/// A result, and how many times it occurs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BulkResult {
    /// The result.
    pub value: ResultValue,
    /// How many times it occurs; 1 unless it is a traverser.
    pub bulk: u64,
}

/// A vertex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DetachedVertex {
    /// Its id.
    pub id: ResultValue,
    /// Its label.
    pub label: Box<str>,
    /// Its properties, those of one key one after the other; empty if they were not sent.
    pub properties: Vec<DetachedVertexProperty>,
}

/// An edge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DetachedEdge {
    /// Its id.
    pub id: ResultValue,
    /// Its label.
    pub label: Box<str>,
    /// The vertex that it goes out of, without properties. Without a label in a graph in GraphBinary.
    pub source: DetachedVertex,
    /// The vertex that it goes into.
    pub target: DetachedVertex,
    /// Its properties; empty if they were not sent.
    pub properties: Vec<DetachedProperty>,
}

/// A property of a vertex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DetachedVertexProperty {
    /// Its id.
    pub id: ResultValue,
    /// Its key.
    pub key: Box<str>,
    /// Its value.
    pub value: ResultValue,
    /// Its own properties; empty if they were not sent.
    pub properties: Vec<DetachedProperty>,
}

/// A property of an edge or of a property.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DetachedProperty {
    /// Its key.
    pub key: Box<str>,
    /// Its value.
    pub value: ResultValue,
}

/// A step of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DetachedStep {
    /// Where the traverser was.
    pub value: ResultValue,
    /// The labels that `as()` gave it.
    pub labels: Vec<Box<str>>,
}

/// A tree: keys with the tree below each.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DetachedTree {
    /// The branches, in the order in which the server wrote them.
    pub branches: Vec<(ResultValue, DetachedTree)>,
}

/// A graph.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DetachedGraph {
    /// Its vertices.
    pub vertices: Vec<DetachedVertex>,
    /// Its edges.
    pub edges: Vec<DetachedEdge>,
}

impl DetachedVertex {
    fn heap_bytes(&self) -> usize {
        let properties = self.properties.iter().map(DetachedVertexProperty::heap_bytes).sum::<usize>();
        self.id.heap_bytes() + self.label.len() + size_of_val(&*self.properties) + properties
    }
}

impl DetachedEdge {
    fn heap_bytes(&self) -> usize {
        let ends = self.source.heap_bytes() + self.target.heap_bytes();
        self.id.heap_bytes() + self.label.len() + ends + heap_bytes_of(&self.properties)
    }
}

impl DetachedVertexProperty {
    fn heap_bytes(&self) -> usize {
        let own = self.id.heap_bytes() + self.key.len() + self.value.heap_bytes();
        own + heap_bytes_of(&self.properties)
    }
}

impl DetachedProperty {
    fn heap_bytes(&self) -> usize {
        self.key.len() + self.value.heap_bytes()
    }
}

impl DetachedTree {
    fn heap_bytes(&self) -> usize {
        let branch = |(key, below): &(ResultValue, Self)| key.heap_bytes() + below.heap_bytes();
        size_of_val(&*self.branches) + self.branches.iter().map(branch).sum::<usize>()
    }
}

/// Bytes on the heap of properties in a vector, their entries in it included.
fn heap_bytes_of(properties: &[DetachedProperty]) -> usize {
    size_of_val(properties) + properties.iter().map(DetachedProperty::heap_bytes).sum::<usize>()
}

impl ResultValue {
    /// The value that this is; `None` of what the types of properties cannot hold: null, a token, an element, a path,
    /// a tree, a graph, and collections of these or nested deeper than 128 levels.
    ///
    /// Cost: for sets and maps a sort.
    #[must_use]
    pub fn into_value(self) -> Option<Value> {
        let all =
            |values: Vec<ResultValue>| values.into_iter().map(Self::into_value).collect::<Option<Vec<_>>>();
        Some(match self {
            Self::Value(value) => value,
            Self::List(values) => List::new(all(values)?).ok()?.into(),
            Self::Set(values) => Set::new(all(values)?).ok()?.into(),
            Self::Map(entries) => {
                let entry = |(key, value): (Self, Self)| Some((key.into_value()?, value.into_value()?));
                let entries = entries.into_iter().map(entry).collect::<Option<Vec<_>>>()?;
                Map::new(entries).ok()?.into()
            }
            _ => return None,
        })
    }

    /// Bytes on the heap, without what the allocator adds.
    ///
    /// Cost: a look at each item inside.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Null | Self::Token(_) => 0,
            Self::Value(value) => value.heap_bytes(),
            Self::List(values) | Self::Set(values) => {
                size_of_val(&**values) + values.iter().map(Self::heap_bytes).sum::<usize>()
            }
            Self::Map(entries) => {
                let entry = |(key, value): &(Self, Self)| key.heap_bytes() + value.heap_bytes();
                size_of_val(&**entries) + entries.iter().map(entry).sum::<usize>()
            }
            Self::Vertex(vertex) => size_of::<DetachedVertex>() + vertex.heap_bytes(),
            Self::Edge(edge) => size_of::<DetachedEdge>() + edge.heap_bytes(),
            Self::VertexProperty(property) => size_of::<DetachedVertexProperty>() + property.heap_bytes(),
            Self::Property(property) => size_of::<DetachedProperty>() + property.heap_bytes(),
            Self::Path(steps) => {
                let step = |step: &DetachedStep| {
                    let labels = step.labels.iter().map(|label| label.len()).sum::<usize>();
                    step.value.heap_bytes() + size_of_val(&*step.labels) + labels
                };
                size_of_val(&**steps) + steps.iter().map(step).sum::<usize>()
            }
            Self::Tree(tree) => tree.heap_bytes(),
            Self::Graph(graph) => {
                size_of::<DetachedGraph>()
                    + size_of_val(&*graph.vertices)
                    + graph.vertices.iter().map(DetachedVertex::heap_bytes).sum::<usize>()
                    + size_of_val(&*graph.edges)
                    + graph.edges.iter().map(DetachedEdge::heap_bytes).sum::<usize>()
            }
        }
    }

    /// The text, if this is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Value(value) => value.as_str(),
            _ => None,
        }
    }
}

impl<T: Into<Value>> From<T> for ResultValue {
    /// A value; collections become collections of results.
    fn from(value: T) -> Self {
        let all = |values: Vec<Value>| values.into_iter().map(Self::from).collect();
        match value.into() {
            Value::List(list) => Self::List(all(list.into_vec())),
            Value::Set(set) => Self::Set(all(set.into_vec())),
            Value::Map(map) => {
                let entries = map.into_vec().into_iter();
                Self::Map(entries.map(|(key, value)| (Self::from(key), Self::from(value))).collect())
            }
            value => Self::Value(value),
        }
    }
}

/// A path of `objects` with the labels of each.
///
/// # Errors
/// What is wrong, if they do not fit.
pub(crate) fn path_of(
    labels: Vec<ResultValue>,
    objects: Vec<ResultValue>,
) -> Result<Vec<DetachedStep>, String> {
    if labels.len() != objects.len() {
        return Err(format!("a path has labels for {} of its {} objects", labels.len(), objects.len()));
    }
    let names = |labels: ResultValue| match labels {
        ResultValue::Set(names) | ResultValue::List(names) => {
            names.iter().map(|name| name.as_str().map(Box::from)).collect::<Option<Vec<Box<str>>>>()
        }
        _ => None,
    };
    let step = |(labels, value)| Some(DetachedStep { value, labels: names(labels)? });
    let steps = labels.into_iter().zip(objects).map(step).collect::<Option<Vec<_>>>();
    steps.ok_or_else(|| "the labels of a path are sets of strings".to_owned())
}
