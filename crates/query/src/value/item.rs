//! `Item`: what a traverser can be at, in 24 bytes.
//!
//! ```text
//! stored     null · a value (evergraph_graph::value, nineteen types, widths kept)
//! elements   vertex · edge · property of a vertex · property of an edge or of such a property
//! made       list · set · map · entry of a map · path · tree · graph
//! tokens     T.id and so on as keys of maps · a direction
//! ```
//!
//! Its collections are generic in what they hold, and of items they are called
//! [`ItemList`](crate::value::item_list::ItemList), [`ItemMap`](crate::value::map::ItemMap) and
//! [`Tree`](crate::value::tree::Tree).
//!
//! What is made lies behind an [`Arc`]: rows share it, and a copy of an item is a copy of a pointer. Collections of
//! items keep the order they were made in, as TinkerPop's do; a collection that was stored is a [`Value`] until
//! a step looks into it.

use crate::value::extent::{Extent, HasExtent};
use crate::value::ordered_map::OrderedMap;
use crate::value::path::Path;
use crate::value::shared_list::SharedList;
use crate::value::subgraph::Subgraph;
use crate::value::trie::Trie;
use evergraph_graph::id::Direction;
use evergraph_graph::id::{EdgeId, KeyId, VertexId};
use evergraph_graph::value::Value;
use evergraph_graph::value::collection::Map;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What a traverser is at.
#[derive(Clone, Debug)]
pub enum Item {
    /// Nothing that is something: `inject(null)`. An expression without a result is no item at all.
    Null,
    /// A value as properties hold it.
    Value(Value),
    /// A vertex.
    Vertex(VertexId),
    /// An edge.
    Edge(EdgeId),
    /// A property, with the element that owns it.
    Property(Arc<Property>),
    /// Items in order.
    List(SharedList<Item>),
    /// Different items, in the order they came.
    Set(SharedList<Item>),
    /// Items by key, in the order they came.
    Map(Arc<OrderedMap<Item, Item>>),
    /// One key of a map and what it leads to.
    Entry(Arc<(Item, Item)>),
    /// Where a traverser has been.
    Path(Arc<Path<Item>>),
    /// Paths laid over each other.
    Tree(Arc<Trie<Item>>),
    /// Edges and their ends.
    Graph(Arc<Subgraph>),
    /// A part of every element, as a key.
    Token(Token),
    /// A direction, as a key.
    Direction(Direction),
}

// Columns of items count on it.
const _: () = assert!(size_of::<Item>() == 24 && size_of::<Option<Item>>() == 24);

/// What every element has: keys of `valueMap(true)` and `by(T.id)`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Token {
    /// Its id.
    Id,
    /// Its label or type.
    Label,
    /// The key of a property.
    Key,
    /// The value of a property.
    Value,
}

/// Who owns a property.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Owner {
    /// A vertex.
    Vertex(VertexId),
    /// An edge.
    Edge(EdgeId),
    /// A property of a vertex.
    Property(Arc<Property>),
}

/// A property of a vertex, an edge or a vertex' property, as it was read.
///
/// Two of vertices are the same if owner, key, value and place are: equal values of two vertices are two properties, since
/// they are elements. Of edges and properties key and value count alone.
#[derive(Clone, Debug)]
pub struct Property {
    /// Whose it is.
    pub owner: Owner,
    /// Its key.
    pub key: KeyId,
    /// Its value.
    pub value: Value,
    /// Its place among equal values that a vertex has of the key, from 0.
    pub nth: u32,
    /// How many equal values there were.
    pub equals: u32,
    /// Of a vertex' property: what is known of it, as maps are stored.
    pub known: Map,
}

impl Item {
    /// The value, if this is one.
    #[must_use]
    #[inline]
    pub fn as_value(&self) -> Option<&Value> {
        match self {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }

    /// The truth, if this is one.
    #[must_use]
    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        self.as_value().and_then(Value::as_bool)
    }

    /// The text, if this is one.
    #[must_use]
    #[inline]
    pub fn as_str(&self) -> Option<&str> {
        self.as_value().and_then(Value::as_str)
    }

    /// The vertex, if this is one.
    #[must_use]
    #[inline]
    pub fn as_vertex(&self) -> Option<VertexId> {
        match self {
            Self::Vertex(vertex) => Some(*vertex),
            _ => None,
        }
    }

    /// The length of something that is in memory, as an `i64`.
    #[must_use]
    pub fn count(count: u64) -> Self {
        Self::Value(Value::I64(i64::try_from(count).unwrap_or(i64::MAX)))
    }

    /// The items inside a list or set, made or stored. `None` of anything else.
    #[must_use]
    pub fn elements(&self) -> Option<Vec<Item>> {
        let stored = |values: &[Value]| values.iter().cloned().map(Item::Value).collect();
        match self {
            Self::List(items) | Self::Set(items) => Some(items.to_vec()),
            Self::Value(Value::List(list)) => Some(stored(list.as_slice())),
            Self::Value(Value::Set(set)) => Some(stored(set.as_slice())),
            Self::Path(path) => Some(path.items().cloned().collect()),
            _ => None,
        }
    }

    /// Bytes on the heap that a copy of it takes: a text or a stored value is copied, a collection that was made is shared.
    #[must_use]
    pub fn copied_bytes(&self) -> usize {
        if matches!(self, Self::Value(_)) { self.heap_bytes() } else { 0 }
    }

    /// Bytes on the heap that the item owns or shares, about: what a charge counts beside its 24. What is shared
    /// counts each time that it is met.
    ///
    /// Cost: as [`Item::extent`].
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.extent().heap_bytes
    }

    /// How much the item holds, and how deep it is nested.
    ///
    /// Cost: a look at each element; of lists, sets, maps and paths the first time only. A stored value, a tree or
    /// a property is visited as a whole.
    #[must_use]
    pub fn extent(&self) -> Extent {
        match self {
            Self::Value(value) => Extent { heap_bytes: value.heap_bytes(), depth: value.depth() },
            Self::Property(property) => {
                let known = property.known.as_slice().iter();
                let known =
                    known.map(|(key, value)| 2 * size_of::<Value>() + key.heap_bytes() + value.heap_bytes());
                let heap_bytes = size_of::<Property>() + property.value.heap_bytes() + known.sum::<usize>();
                Extent { heap_bytes, depth: 1 + property.value.depth() }
            }
            Self::List(items) | Self::Set(items) => items.extent(),
            Self::Map(map) => map.extent(),
            Self::Entry(entry) => Extent::of_all([&entry.0, &entry.1]).enclosed(),
            Self::Path(path) => path.extent(),
            Self::Tree(tree) => tree.extent(),
            Self::Graph(graph) => Extent { heap_bytes: graph.heap_bytes(), depth: 1 },
            Self::Null | Self::Vertex(_) | Self::Edge(_) | Self::Token(_) | Self::Direction(_) => {
                Extent::default()
            }
        }
    }

    /// Whether both are copies of one thing in memory, and not only equal.
    #[must_use]
    #[inline]
    pub fn shares(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(one), Self::List(other)) | (Self::Set(one), Self::Set(other)) => one.shares(other),
            (Self::Map(one), Self::Map(other)) => Arc::ptr_eq(one, other),
            (Self::Entry(one), Self::Entry(other)) => Arc::ptr_eq(one, other),
            (Self::Path(one), Self::Path(other)) => Arc::ptr_eq(one, other),
            (Self::Tree(one), Self::Tree(other)) => Arc::ptr_eq(one, other),
            (Self::Graph(one), Self::Graph(other)) => Arc::ptr_eq(one, other),
            (Self::Property(one), Self::Property(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl HasExtent for Item {
    fn extent(&self) -> Extent {
        Item::extent(self)
    }
}

impl Property {
    /// A property that nothing is known of, with no equal beside it.
    #[must_use]
    pub fn new(owner: Owner, key: KeyId, value: Value) -> Self {
        Self { owner, key, value, nth: 0, equals: 1, known: Map::default() }
    }

    #[inline]
    fn identity(&self) -> (Option<VertexId>, KeyId, &Value, u32) {
        let owner = match self.owner {
            Owner::Vertex(vertex) => Some(vertex),
            Owner::Edge(_) | Owner::Property(_) => None,
        };
        (owner, self.key, &self.value, self.nth)
    }
}

impl PartialEq for Property {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Property {}

impl Hash for Property {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl<T: Into<Value>> From<T> for Item {
    fn from(value: T) -> Self {
        Self::Value(value.into())
    }
}

impl Item {
    /// The edge, if this is one.
    #[must_use]
    pub fn as_edge(&self) -> Option<EdgeId> {
        match self {
            Self::Edge(edge) => Some(*edge),
            _ => None,
        }
    }

    /// The property, if this is one.
    #[must_use]
    pub fn as_property(&self) -> Option<&Property> {
        match self {
            Self::Property(property) => Some(property),
            _ => None,
        }
    }

    /// What it is, for people: "a vertex", "an int".
    #[must_use]
    pub fn kind(&self) -> String {
        let kind = match self {
            Self::Null => "null",
            Self::Value(value) => return format!("a value of type {}", value.value_type()),
            Self::Vertex(_) => "a vertex",
            Self::Edge(_) => "an edge",
            Self::Property(_) => "a property",
            Self::List(_) => "a list",
            Self::Set(_) => "a set",
            Self::Map(_) => "a map",
            Self::Entry(_) => "an entry of a map",
            Self::Path(_) => "a path",
            Self::Tree(_) => "a tree",
            Self::Graph(_) => "a graph",
            Self::Token(_) => "a token",
            Self::Direction(_) => "a direction",
        };
        kind.to_owned()
    }
}
