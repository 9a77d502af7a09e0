//! Answers: the Rust types that a result can become.

use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{Direction, EdgeId, VertexId};
use evergraph_graph::value::Value;
use evergraph_graph::value::collection::{List, Map, Set};
use evergraph_query::value::item::{Item, Token};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// What a result may become.
///
/// | type | results |
/// |---|---|
/// | [`Item`] | any |
/// | [`Value`] | values; lists, sets and maps of values |
/// | integers | integers of every width that the type holds |
/// | `f64`, `f32` | numbers, rounded |
/// | `bool`, `String` | truth and text; a `String` is also what `T.id` and the like are called as keys of maps |
/// | [`VertexId`], [`EdgeId`] | vertices and edges |
/// | `Option<T>` | null, or what `T` may be made of |
/// | `Vec<T>` | lists, sets and paths |
/// | `(A, B)` | entries of maps, and lists of two |
/// | `HashMap<K, V>`, `BTreeMap<K, V>` | maps |
pub trait FromItem: Sized {
    /// This, made of `item`.
    ///
    /// # Errors
    /// `invalid`, saying what `item` is.
    fn from_item(item: Item) -> Result<Self>;
}

fn refused<T>(item: &Item, wanted: &str) -> Result<T> {
    Err(Error::invalid(format!("{wanted} was requested, but the result is {}", item.kind())))
}

impl FromItem for Item {
    fn from_item(item: Item) -> Result<Self> {
        Ok(item)
    }
}

impl FromItem for Value {
    fn from_item(item: Item) -> Result<Self> {
        let all = |items: &[Item]| items.iter().cloned().map(Value::from_item).collect::<Result<Vec<_>>>();
        let too_deep = |error| Error::invalid("a result is nested too deeply for a value").because(error);
        Ok(match &item {
            Item::Value(value) => value.clone(),
            Item::List(items) => Value::List(List::new(all(items)?).map_err(too_deep)?),
            Item::Set(items) => Value::Set(Set::new(all(items)?).map_err(too_deep)?),
            Item::Map(map) => {
                let entry = |(key, value): &(Item, Item)| Ok((of(key)?, of(value)?));
                let entries = map.entries().iter().map(entry).collect::<Result<Vec<(Value, Value)>>>()?;
                Value::Map(Map::new(entries).map_err(too_deep)?)
            }
            _ => return refused(&item, "a value"),
        })
    }
}

macro_rules! integers_are_answers {
    ($($integer:ty),*) => {$(
        impl FromItem for $integer {
            fn from_item(item: Item) -> Result<Self> {
                let Some(number) = item.as_value().and_then(Value::as_i64) else {
                    return refused(&item, "an integer");
                };
                <$integer>::try_from(number).map_err(|error| {
                    let text = format!("the result is {number}, which no {} holds", stringify!($integer));
                    Error::invalid(text).because(error)
                })
            }
        }
    )*};
}

integers_are_answers!(i8, i16, i32, i64, i128, u8, u16, u32, u64, usize);

impl FromItem for f64 {
    fn from_item(item: Item) -> Result<Self> {
        item.as_value().and_then(Value::as_f64).map_or_else(|| refused(&item, "a number"), Ok)
    }
}

impl FromItem for f32 {
    fn from_item(item: Item) -> Result<Self> {
        f64::from_item(item).map(|number| number as f32)
    }
}

impl FromItem for bool {
    fn from_item(item: Item) -> Result<Self> {
        item.as_bool().map_or_else(|| refused(&item, "a truth"), Ok)
    }
}

impl FromItem for String {
    fn from_item(item: Item) -> Result<Self> {
        let text = match &item {
            Item::Token(Token::Id) => "id",
            Item::Token(Token::Label) => "label",
            Item::Token(Token::Key) => "key",
            Item::Token(Token::Value) => "value",
            Item::Direction(Direction::Out) => "OUT",
            Item::Direction(Direction::In) => "IN",
            Item::Direction(Direction::Both) => "BOTH",
            _ => return item.as_str().map_or_else(|| refused(&item, "a text"), |text| Ok(text.to_owned())),
        };
        Ok(text.to_owned())
    }
}

impl FromItem for VertexId {
    fn from_item(item: Item) -> Result<Self> {
        item.as_vertex().map_or_else(|| refused(&item, "a vertex"), Ok)
    }
}

impl FromItem for EdgeId {
    fn from_item(item: Item) -> Result<Self> {
        item.as_edge().map_or_else(|| refused(&item, "an edge"), Ok)
    }
}

impl<T: FromItem> FromItem for Option<T> {
    fn from_item(item: Item) -> Result<Self> {
        match item {
            Item::Null => Ok(None),
            item => T::from_item(item).map(Some),
        }
    }
}

impl<T: FromItem> FromItem for Vec<T> {
    fn from_item(item: Item) -> Result<Self> {
        let Some(items) = item.elements() else { return refused(&item, "a list") };
        items.into_iter().map(T::from_item).collect()
    }
}

impl<A: FromItem, B: FromItem> FromItem for (A, B) {
    fn from_item(item: Item) -> Result<Self> {
        if let Item::Entry(entry) = &item {
            return Ok((of(&entry.0)?, of(&entry.1)?));
        }
        match item.elements().as_deref() {
            Some([first, second]) => Ok((of(first)?, of(second)?)),
            _ => refused(&item, "a pair"),
        }
    }
}

impl<K: FromItem + Eq + Hash, V: FromItem> FromItem for HashMap<K, V> {
    fn from_item(item: Item) -> Result<Self> {
        entries(&item)
    }
}

impl<K: FromItem + Ord, V: FromItem> FromItem for BTreeMap<K, V> {
    fn from_item(item: Item) -> Result<Self> {
        entries(&item)
    }
}

fn of<T: FromItem>(item: &Item) -> Result<T> {
    T::from_item(item.clone())
}

fn entries<K: FromItem, V: FromItem, M: FromIterator<(K, V)>>(item: &Item) -> Result<M> {
    match item {
        Item::Map(map) => map.entries().iter().map(|(key, value)| Ok((of(key)?, of(value)?))).collect(),
        Item::Value(Value::Map(map)) => {
            let stored = |value: &Value| Item::Value(value.clone());
            map.as_slice().iter().map(|(key, value)| Ok((of(&stored(key))?, of(&stored(value))?))).collect()
        }
        _ => refused(item, "a map"),
    }
}
