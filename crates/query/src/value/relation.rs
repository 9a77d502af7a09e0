//! Relations of Gremlin between items: which are equal, and how they are ordered. Which are
//! the same is in `same`.
//!
//! | relation | used by | 1 and 1.0 | NaN and NaN | a number and a text |
//! |---|---|---|---|---|
//! | [`equal`] | `eq`, `neq`, `within` | equal | not equal | not equal |
//! | [`compare`] | `lt`, `lte`, `gt`, `gte` | equal | neither | neither |
//! | [`order`] | `order()`, `min`, `max` of texts | side by side | side by side, last of numbers | numbers first |
//!
//! What `compare` says nothing about is false for `lt` and for `gte` alike. Source: TinkerPop 3.8's Gremlin semantics,
//! "Comparability, Equality, Orderability, and Equivalence".

use crate::value::item::{Item, Owner, Property, Token};
use evergraph_graph::value::Value;
use std::cmp::Ordering;

/// Whether `eq` holds.
#[must_use]
pub fn equal(left: &Item, right: &Item) -> bool {
    if let (Item::Value(left), Item::Value(right)) = (left, right)
        && !is_collection(left)
        && !is_collection(right)
    {
        return comparable_values(left, right) && left.compare_alike(right) == Some(Ordering::Equal);
    }
    comparable(left, right) && order(left, right).is_eq()
}

/// The order of two items of one kind, `None` where there is none: other kinds, NaN.
#[must_use]
pub fn compare(left: &Item, right: &Item) -> Option<Ordering> {
    if let (Item::Value(left), Item::Value(right)) = (left, right)
        && !is_collection(left)
        && !is_collection(right)
    {
        return comparable_values(left, right).then(|| left.compare_alike(right)).flatten();
    }
    comparable(left, right).then(|| order(left, right))
}

/// The order of any two items: by kind, then within it. `Equal` for numbers of equal value, whatever their widths.
#[must_use]
pub fn order(left: &Item, right: &Item) -> Ordering {
    let (kind, other) = (Kind::in_order(left), Kind::in_order(right));
    if kind != other {
        return kind.cmp(&other);
    }
    if left.shares(right) {
        return Ordering::Equal;
    }
    match (left, right) {
        (Item::Value(left), Item::Value(right)) if !is_collection(left) => left.compare_content(right),
        (Item::Vertex(left), Item::Vertex(right)) => left.cmp(right),
        (Item::Edge(left), Item::Edge(right)) => left.cmp(right),
        (Item::Property(left), Item::Property(right)) => order_properties(left, right),
        (Item::Entry(left), Item::Entry(right)) => order_entries(left, right),
        (Item::Token(_), _) | (_, Item::Token(_)) => {
            let is_token = |item: &Item| matches!(item, Item::Token(_));
            let by_text = text_of(left).zip(text_of(right)).map(|(left, right)| left.compare_content(&right));
            by_text.unwrap_or(Ordering::Equal).then_with(|| is_token(left).cmp(&is_token(right)))
        }
        (Item::Direction(left), Item::Direction(right)) => left.cmp(right),
        (Item::Graph(left), Item::Graph(right)) => left.cmp(right),
        _ => match (entries(left), entries(right)) {
            (Some(mut left), Some(mut right)) => {
                left.sort_by(order_entries);
                right.sort_by(order_entries);
                lexicographic(&left, &right, order_entries)
            }
            _ => {
                let (mut left, mut right) =
                    (left.elements().unwrap_or_default(), right.elements().unwrap_or_default());
                if kind == Kind::Set {
                    left.sort_by(order);
                    right.sort_by(order);
                }
                lexicographic(&left, &right, order)
            }
        },
    }
}

/// A token's name, or a text: keys of `elementMap()` are both.
fn text_of(item: &Item) -> Option<Value> {
    let name = match item {
        Item::Token(Token::Id) => "id",
        Item::Token(Token::Label) => "label",
        Item::Token(Token::Key) => "key",
        Item::Token(Token::Value) => "value",
        other => return other.as_value().cloned(),
    };
    Some(Value::from(name))
}

/// Whether two numbers, or two items of one kind, can stand in an order that `lt` may ask for.
fn comparable(left: &Item, right: &Item) -> bool {
    let kind = Kind::of(left);
    if kind != Kind::of(right) {
        return false;
    }
    match (left, right) {
        (Item::Value(left), Item::Value(right)) if !is_collection(left) && !is_collection(right) => {
            comparable_values(left, right)
        }
        (Item::Property(left), Item::Property(right)) => comparable_values(&left.value, &right.value),
        (Item::Entry(left), Item::Entry(right)) => {
            comparable(&left.0, &right.0) && comparable(&left.1, &right.1)
        }
        _ => match (entries(left), entries(right)) {
            (Some(mut left), Some(mut right)) => {
                left.sort_by(order_entries);
                right.sort_by(order_entries);
                let alike = |((key, value), (other_key, other_value)): (&(Item, Item), &(Item, Item))| {
                    comparable(key, other_key) && comparable(value, other_value)
                };
                left.len() == right.len() && left.iter().zip(&right).all(alike)
            }
            _ => match (left.elements(), right.elements()) {
                (Some(mut left), Some(mut right)) => {
                    if kind == Kind::Set {
                        left.sort_by(order);
                        right.sort_by(order);
                    }
                    left.len() == right.len()
                        && left.iter().zip(&right).all(|(left, right)| comparable(left, right))
                }
                _ => true,
            },
        },
    }
}

fn comparable_values(left: &Value, right: &Value) -> bool {
    !is_nan(left) && !is_nan(right)
}

fn is_nan(value: &Value) -> bool {
    match value {
        Value::F32(number) => number.is_nan(),
        Value::F64(number) => number.is_nan(),
        _ => false,
    }
}

fn is_collection(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Set(_) | Value::Map(_))
}

/// The entries of a map, made or stored.
fn entries(item: &Item) -> Option<Vec<(Item, Item)>> {
    match item {
        Item::Map(map) => Some(map.entries().to_vec()),
        Item::Value(Value::Map(map)) => {
            let entries = map.as_slice().iter();
            Some(entries.map(|(key, value)| (Item::Value(key.clone()), Item::Value(value.clone()))).collect())
        }
        _ => None,
    }
}

#[inline]
fn order_entries(left: &(Item, Item), right: &(Item, Item)) -> Ordering {
    order(&left.0, &right.0).then_with(|| order(&left.1, &right.1))
}

/// Properties of vertices are elements, and ordered as those are, by what they are of; others by key, value.
fn order_properties(left: &Property, right: &Property) -> Ordering {
    let content = |left: &Property, right: &Property| {
        left.key.cmp(&right.key).then_with(|| left.value.compare_content(&right.value))
    };
    match (&left.owner, &right.owner) {
        (Owner::Vertex(owner), Owner::Vertex(other)) => {
            owner.cmp(other).then_with(|| content(left, right)).then_with(|| left.nth.cmp(&right.nth))
        }
        _ => content(left, right),
    }
}

fn lexicographic<T>(left: &[T], right: &[T], order: impl Fn(&T, &T) -> Ordering) -> Ordering {
    let different =
        left.iter().zip(right).map(|(left, right)| order(left, right)).find(|found| found.is_ne());
    different.unwrap_or_else(|| left.len().cmp(&right.len()))
}

/// The kinds in the order of `order()`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Null,
    Bool,
    Number,
    Date,
    Text,
    Uuid,
    Vertex,
    Edge,
    VertexProperty,
    Property,
    Path,
    Set,
    List,
    Map,
    Entry,
    Bytes,
    Duration,
    Tree,
    Graph,
    Token,
    Direction,
}

impl Kind {
    /// The kind where it stands in an order: a token stands among the texts, by its name.
    fn in_order(item: &Item) -> Self {
        if let Item::Token(_) = item { Self::Text } else { Self::of(item) }
    }

    fn of(item: &Item) -> Self {
        match item {
            Item::Null => Self::Null,
            Item::Value(value) => Self::of_value(value),
            Item::Vertex(_) => Self::Vertex,
            Item::Edge(_) => Self::Edge,
            Item::Property(property) => match property.owner {
                Owner::Vertex(_) => Self::VertexProperty,
                Owner::Edge(_) | Owner::Property(_) => Self::Property,
            },
            Item::List(_) => Self::List,
            Item::Set(_) => Self::Set,
            Item::Map(_) => Self::Map,
            Item::Entry(_) => Self::Entry,
            Item::Path(_) => Self::Path,
            Item::Tree(_) => Self::Tree,
            Item::Graph(_) => Self::Graph,
            Item::Token(_) => Self::Token,
            Item::Direction(_) => Self::Direction,
        }
    }

    fn of_value(value: &Value) -> Self {
        match value {
            Value::Bool(_) => Self::Bool,
            Value::I8(_)
            | Value::I16(_)
            | Value::I32(_)
            | Value::I64(_)
            | Value::F32(_)
            | Value::F64(_)
            | Value::BigInteger(_)
            | Value::Decimal(_) => Self::Number,
            Value::Char(_) | Value::String(_) => Self::Text,
            Value::Bytes(_) => Self::Bytes,
            Value::Date(_) | Value::DateTime(_) => Self::Date,
            Value::Duration(_) => Self::Duration,
            Value::Uuid(_) => Self::Uuid,
            Value::List(_) => Self::List,
            Value::Set(_) => Self::Set,
            Value::Map(_) => Self::Map,
        }
    }
}
