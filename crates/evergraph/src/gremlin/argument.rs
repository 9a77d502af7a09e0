//! Arguments: the Rust types that a variable of a query can take.

use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, EdgeId, VertexId};
use evergraph_graph::value::Value;
use evergraph_graph::value::collection::{List, Map, Set};
use evergraph_graph::value::date::Date;
use evergraph_graph::value::datetime::DateTime;
use evergraph_graph::value::duration::Duration;
use evergraph_graph::value::number::{BigInteger, Decimal};
use evergraph_query::gremlin::call::{Argument, ArgumentKind};
use evergraph_query::gremlin::token::{self, T, Token};
use evergraph_query::value::element_id::element_id;
use evergraph_query::value::item::{self, Item};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What a variable of a query may be: values of the model, vertices and edges, results of other queries, and lists, sets
/// and maps of them. `None` is null.
///
/// A vertex or an edge becomes its id, which may stand wherever an element may.
pub trait IntoArgument {
    /// The argument that this is.
    ///
    /// # Errors
    /// `invalid` of a result that no text can say: a property, a path, a tree.
    fn into_argument(self) -> Result<ArgumentKind>;
}

macro_rules! values_are_arguments {
    ($($value:ty),* $(,)?) => {$(
        impl IntoArgument for $value {
            fn into_argument(self) -> Result<ArgumentKind> {
                Ok(Value::from(self).into())
            }
        }
    )*};
}

values_are_arguments! {
    bool, i8, i16, i32, i64, f32, f64, char, &str, String, Box<str>, BigInteger, Decimal, Date, DateTime, Duration,
    List, Set, Map, Value,
}

impl IntoArgument for VertexId {
    fn into_argument(self) -> Result<ArgumentKind> {
        Item::Vertex(self).into_argument()
    }
}

impl IntoArgument for EdgeId {
    fn into_argument(self) -> Result<ArgumentKind> {
        Item::Edge(self).into_argument()
    }
}

impl IntoArgument for ArgumentKind {
    fn into_argument(self) -> Result<ArgumentKind> {
        Ok(self)
    }
}

impl IntoArgument for Item {
    fn into_argument(self) -> Result<ArgumentKind> {
        (&self).into_argument()
    }
}

impl IntoArgument for &Item {
    fn into_argument(self) -> Result<ArgumentKind> {
        Ok(match self {
            Item::Null => ArgumentKind::Null,
            Item::Value(value) => value.clone().into(),
            Item::List(items) => ArgumentKind::List(all(items.iter())?),
            Item::Set(items) => ArgumentKind::Set(all(items.iter())?),
            Item::Map(map) => {
                ArgumentKind::Map(entries(map.entries().iter().map(|(key, value)| (key, value)))?)
            }
            Item::Token(token) => ArgumentKind::Token(Token::T(match token {
                item::Token::Id => T::Id,
                item::Token::Label => T::Label,
                item::Token::Key => T::Key,
                item::Token::Value => T::Value,
            })),
            Item::Direction(direction) => ArgumentKind::Token(Token::Direction(match direction {
                Direction::Out => token::Direction::Out,
                Direction::In => token::Direction::In,
                Direction::Both => token::Direction::Both,
            })),
            other => match element_id(other) {
                Some(id) => return id.into_argument(),
                None => {
                    let text = format!("{} can't be the value of a variable", other.kind());
                    return Err(Error::invalid(text));
                }
            },
        })
    }
}

impl<T: IntoArgument> IntoArgument for Option<T> {
    fn into_argument(self) -> Result<ArgumentKind> {
        self.map_or(Ok(ArgumentKind::Null), T::into_argument)
    }
}

impl<T: IntoArgument> IntoArgument for Vec<T> {
    fn into_argument(self) -> Result<ArgumentKind> {
        Ok(ArgumentKind::List(all(self)?))
    }
}

impl<T: IntoArgument, const N: usize> IntoArgument for [T; N] {
    fn into_argument(self) -> Result<ArgumentKind> {
        Ok(ArgumentKind::List(all(self)?))
    }
}

impl<T: IntoArgument + Clone> IntoArgument for &[T] {
    fn into_argument(self) -> Result<ArgumentKind> {
        Ok(ArgumentKind::List(all(self.iter().cloned())?))
    }
}

impl<T: IntoArgument> IntoArgument for BTreeSet<T> {
    fn into_argument(self) -> Result<ArgumentKind> {
        Ok(ArgumentKind::Set(all(self)?))
    }
}

impl<T: IntoArgument, S> IntoArgument for HashSet<T, S> {
    fn into_argument(self) -> Result<ArgumentKind> {
        Ok(ArgumentKind::Set(all(self)?))
    }
}

impl<K: IntoArgument, V: IntoArgument> IntoArgument for BTreeMap<K, V> {
    fn into_argument(self) -> Result<ArgumentKind> {
        Ok(ArgumentKind::Map(entries(self)?))
    }
}

impl<K: IntoArgument, V: IntoArgument, S> IntoArgument for HashMap<K, V, S> {
    fn into_argument(self) -> Result<ArgumentKind> {
        Ok(ArgumentKind::Map(entries(self)?))
    }
}

fn all<T: IntoArgument>(values: impl IntoIterator<Item = T>) -> Result<Vec<Argument>> {
    values.into_iter().map(|value| value.into_argument().map(Argument::from)).collect()
}

fn entries<K: IntoArgument, V: IntoArgument>(
    of: impl IntoIterator<Item = (K, V)>,
) -> Result<Vec<(Argument, Argument)>> {
    of.into_iter()
        .map(|(key, value)| Ok((key.into_argument()?.into(), value.into_argument()?.into())))
        .collect()
}
