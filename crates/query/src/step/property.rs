//! Properties of vertices as Gremlin sees them: one value of a key, or several where the schema says so.
//!
//! | type of the property | cardinality | in Gremlin |
//! |---|---|---|
//! | list | list | each element is a property of its own: `values('k')` gives them all |
//! | set | set | the same, and none twice |
//! | any other, `any` too | single | one property; a list within `any` is one value |
//!
//! A property that has no type yet gets one from its first write, as everywhere in Evergraph: `property(list, 'k', 1)` makes it
//! a list, `property('k', [1, 2])` gives it type `any`, so that the list stays the one value that it was written as. A
//! value that comes without a cardinality joins others as the schema says; a collection that comes so to a property of
//! type list or set is all its values. Edges have one value of each key.

use crate::execute::context::Context;
use crate::plan::merge::Cardinality;
use crate::value::item::Item;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{EdgeId, KeyId, LabelId, VertexId};
use evergraph_graph::value::collection::{List, Map, Set, TooDeepError};
use evergraph_graph::value::{Value, ValueType};

/// A key with its value, and how it joins others.
#[derive(Clone, Debug)]
pub struct Written {
    /// The key.
    pub key: KeyId,
    /// The value; null takes the property away.
    pub value: Item,
    /// How it joins others; as the schema says if nothing is said.
    pub cardinality: Option<Cardinality>,
}

/// Whether the vertices of a label may have several values of a key, and how these are kept.
#[must_use]
pub fn several(catalogue: &Catalogue, label: LabelId, key: KeyId) -> Option<Cardinality> {
    match catalogue.property_type(Owner::Label(label), key) {
        Some(ValueType::List) => Some(Cardinality::List),
        Some(ValueType::Set) => Some(Cardinality::Set),
        _ => None,
    }
}

/// Whether vertices of any label may have several values of a key.
#[must_use]
pub fn may_be_several(catalogue: &Catalogue, key: KeyId) -> bool {
    catalogue.labels().any(|(label, _)| several(catalogue, label, key).is_some())
}

/// The values that are stored as one.
#[must_use]
pub fn each(stored: Value) -> Vec<Value> {
    match stored {
        Value::List(list) => list.into_vec(),
        Value::Set(set) => set.into_vec(),
        value => vec![value],
    }
}

fn too_deep(error: TooDeepError) -> Error {
    Error::invalid(error.to_string())
}

/// The value that a graph can hold.
///
/// # Errors
/// `invalid` for what is no value.
pub fn stored(item: Item) -> Result<Value> {
    let all = |items: &[Item]| items.iter().cloned().map(stored).collect::<Result<Vec<Value>>>();
    Ok(match item {
        Item::Value(value) => value,
        Item::List(items) => Value::List(List::new(all(&items)?).map_err(too_deep)?),
        Item::Set(items) => Value::Set(Set::new(all(&items)?).map_err(too_deep)?),
        Item::Map(map) => {
            let entries = map.entries().iter().cloned();
            let entries =
                entries.map(|(key, value)| Ok((stored(key)?, stored(value)?))).collect::<Result<_>>()?;
            Value::Map(Map::new(entries).map_err(too_deep)?)
        }
        other => return Err(Error::invalid(format!("a property holds a value, not {}", other.kind()))),
    })
}

/// The properties of a new vertex: what is `written`, one after the other.
///
/// # Errors
/// As [`set_of_vertex`].
pub fn of_new_vertex(
    label: LabelId,
    written: Vec<Written>,
    cx: &mut Context<'_>,
) -> Result<Vec<(KeyId, Value)>> {
    let mut all: Vec<(KeyId, Value)> = Vec::with_capacity(written.len());
    for Written { key, value, cardinality } in written {
        let at = all.iter().position(|(other, _)| *other == key);
        let before = at.map(|at| all.remove(at).1);
        if let Some(value) = joined(label, key, before, value, cardinality, cx)? {
            all.insert(at.unwrap_or(all.len()), (key, value));
        }
    }
    Ok(all)
}

/// The properties of a new edge: of two with one key the later counts.
///
/// # Errors
/// As [`set_of_edge`].
pub fn of_new_edge(written: Vec<Written>, cx: &Context<'_>) -> Result<Vec<(KeyId, Value)>> {
    let mut all: Vec<(KeyId, Value)> = Vec::with_capacity(written.len());
    for written in written {
        only_one(&written, cx)?;
        all.retain(|(other, _)| *other != written.key);
        if !matches!(written.value, Item::Null) {
            all.push((written.key, stored(written.value)?));
        }
    }
    Ok(all)
}

/// Sets a property of a vertex.
///
/// # Errors
/// `invalid` for what is no value, and where the schema says that there is one value; what writing may meet.
pub fn set_of_vertex(vertex: VertexId, written: Written, cx: &mut Context<'_>) -> Result<()> {
    let Written { key, value, cardinality } = written;
    let mut label = Vec::new();
    cx.view().labels(&[vertex], &mut label)?;
    let value = match label.first().copied().flatten() {
        Some(label) => {
            let before = match several(&cx.catalogue(), label, key) {
                Some(_) => value_of(vertex, key, cx)?,
                None => None,
            };
            joined(label, key, before, value, cardinality, cx)?
        }
        // Nobody is there: writing says so.
        None => None,
    };
    cx.writer()?.set_vertex_property(vertex, key, value)
}

/// Sets a property of an edge.
///
/// # Errors
/// `invalid` for what is no value, and for a list or a set of values; what writing may meet.
pub fn set_of_edge(edge: EdgeId, written: Written, cx: &mut Context<'_>) -> Result<()> {
    only_one(&written, cx)?;
    let value = match written.value {
        Item::Null => None,
        value => Some(stored(value)?),
    };
    cx.writer()?.set_edge_property(edge, written.key, value)
}

/// Takes one value of a key away from a vertex; others of that key stay.
///
/// # Errors
/// What writing may meet.
pub fn drop_of_vertex(vertex: VertexId, key: KeyId, value: &Value, cx: &mut Context<'_>) -> Result<()> {
    let mut label = Vec::new();
    cx.view().labels(&[vertex], &mut label)?;
    let several = label.first().copied().flatten().and_then(|label| several(&cx.catalogue(), label, key));
    let mut left = match several {
        Some(_) => value_of(vertex, key, cx)?.map(each).unwrap_or_default(),
        None => Vec::new(),
    };
    if let Some(at) = left.iter().position(|other| other == value) {
        left.remove(at);
    }
    let left = match several {
        _ if left.is_empty() => None,
        Some(Cardinality::Set) => Some(Value::Set(Set::new(left).map_err(too_deep)?)),
        _ => Some(Value::List(List::new(left).map_err(too_deep)?)),
    };
    cx.writer()?.set_vertex_property(vertex, key, left)
}

fn value_of(vertex: VertexId, key: KeyId, cx: &Context<'_>) -> Result<Option<Value>> {
    let mut column = evergraph_graph::column::Column::new(ValueType::Any);
    cx.view().vertex_properties(&[vertex], key, &mut column)?;
    Ok(column.get(0))
}

fn only_one(written: &Written, cx: &Context<'_>) -> Result<()> {
    match written.cardinality {
        None | Some(Cardinality::Single) => Ok(()),
        Some(_) => Err(Error::invalid(format!(
            "Property cardinality can only be set for a Vertex but the traversal encountered an edge for key: {}",
            cx.catalogue().key_name(written.key)
        ))),
    }
}

/// What is stored of a key once `value` has joined what was stored `before`; `None` if nothing is.
fn joined(
    label: LabelId,
    key: KeyId,
    before: Option<Value>,
    value: Item,
    cardinality: Option<Cardinality>,
    cx: &mut Context<'_>,
) -> Result<Option<Value>> {
    let catalogue = cx.catalogue();
    let owner = Owner::Label(label);
    let (schema, cardinality) = match (catalogue.property_type(owner, key), cardinality) {
        (Some(ValueType::List), cardinality) => (Cardinality::List, cardinality),
        (Some(ValueType::Set), cardinality) => (Cardinality::Set, cardinality),
        (Some(other), Some(Cardinality::List | Cardinality::Set)) => {
            return Err(Error::invalid(format!(
                "{} holds one value, since its type is {}: several values of a key need a property of type list or set",
                catalogue.property_name(owner, key),
                other.name()
            )));
        }
        (None, Some(first @ (Cardinality::List | Cardinality::Set))) => {
            let first_type = if first == Cardinality::List { ValueType::List } else { ValueType::Set };
            cx.writer()?.declare_vertex_property(label, key, first_type)?;
            (first, Some(first))
        }
        (known, None | Some(Cardinality::Single)) => {
            if matches!(value, Item::Null) {
                return Ok(None);
            }
            let value = stored(value)?;
            if known.is_none() && matches!(value, Value::List(_) | Value::Set(_)) {
                cx.writer()?.declare_vertex_property(label, key, ValueType::Any)?;
            }
            return Ok(Some(value));
        }
    };
    let mut values = match cardinality {
        Some(Cardinality::Single) => Vec::new(),
        _ => before.map(each).unwrap_or_default(),
    };
    match (cardinality, value) {
        // Null is no value: a single null leaves none, and to several it adds none.
        (None, Item::Null) => values.clear(),
        (_, Item::Null) => {}
        (None, all) if all.elements().is_some() => values = each(stored(all)?),
        (cardinality, value) => {
            let value = stored(value)?;
            if cardinality.unwrap_or(schema) != Cardinality::Set || !values.contains(&value) {
                values.push(value);
            }
        }
    }
    if values.is_empty() {
        return Ok(None);
    }
    Ok(Some(match schema {
        Cardinality::Set => Value::Set(Set::new(values).map_err(too_deep)?),
        _ => Value::List(List::new(values).map_err(too_deep)?),
    }))
}
