//! Properties as Gremlin sees them: one value for a key, or several if the schema says so.
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
//!
//! What is known of a value ([`stored_property`](crate::step::stored_property)) comes and goes with it.

use crate::execute::context::Context;
use crate::plan::merge::Cardinality;
use crate::step::stored_property::{Change, Occurrence, Stored, each, not_declared, several, stored};
use crate::value::item::Item;
use crate::value::same::ByValue;
use crate::write::Writer as _;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{EdgeId, KeyId, LabelId, VertexId};
use evergraph_graph::value::collection::Map;
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
    /// What is known of the value.
    pub properties: Vec<Change>,
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
    let mut all: Vec<(KeyId, Stored)> = Vec::with_capacity(written.len());
    for written in written {
        let key = written.key;
        let at = all.iter().position(|(other, _)| *other == key);
        let before = at.map(|at| std::mem::take(&mut all[at].1)).unwrap_or_default();
        let after = joined(label, before, written, cx)?;
        match at {
            Some(at) => all[at].1 = after,
            None => all.push((key, after)),
        }
    }
    let catalogue = cx.catalogue();
    let both = all.into_iter().flat_map(|(key, stored)| {
        let known = catalogue.meta_key(label, key).zip(stored.known);
        [stored.value.map(|value| (key, value)), known].into_iter().flatten()
    });
    Ok(both.collect())
}

/// The properties of a new edge: the last value of a key counts.
///
/// # Errors
/// As [`set_of_edge`].
pub fn of_new_edge(written: Vec<Written>, cx: &Context<'_>) -> Result<Vec<(KeyId, Value)>> {
    let mut all: Vec<(KeyId, Value)> = Vec::with_capacity(written.len());
    for written in written {
        only_one(&written, "an edge", cx)?;
        no_properties(&written)?;
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
/// `invalid` for what is no value, and where the schema says that there is one value; errors of writing.
pub fn set_of_vertex(vertex: VertexId, written: Written, cx: &mut Context<'_>) -> Result<()> {
    let mut label = Vec::new();
    cx.view().labels(&[vertex], &mut label)?;
    let key = written.key;
    let Some(label) = label.first().copied().flatten() else {
        // Nobody is there: writing says so.
        return cx.writer()?.set_vertex_property(vertex, key, None);
    };
    let before = match several(&cx.catalogue(), label, key) {
        Some(_) => Stored::read(vertex, label, key, cx)?,
        None => Stored::default(),
    };
    let after = joined(label, before, written, cx)?;
    let meta = cx.catalogue().meta_key(label, key);
    after.write(vertex, key, meta, cx)
}

/// Sets a property of an edge.
///
/// # Errors
/// `invalid` for what is no value, and for a list or a set of values; errors of writing.
pub fn set_of_edge(edge: EdgeId, written: Written, cx: &mut Context<'_>) -> Result<()> {
    only_one(&written, "an edge", cx)?;
    no_properties(&written)?;
    let value = match written.value {
        Item::Null => None,
        value => Some(stored(value)?),
    };
    cx.writer()?.set_edge_property(edge, written.key, value)
}

/// Returns an error for a cardinality of several values on a property of `what`.
pub(super) fn only_one(written: &Written, what: &str, cx: &Context<'_>) -> Result<()> {
    match written.cardinality {
        None | Some(Cardinality::Single) => Ok(()),
        Some(_) => Err(Error::invalid(format!(
            "Property cardinality can only be set for a Vertex but the traversal encountered {what} for key: {}",
            cx.catalogue().key_name(written.key)
        ))),
    }
}

fn no_properties(written: &Written) -> Result<()> {
    if written.properties.is_empty() {
        return Ok(());
    }
    Err(Error::invalid(
        "properties of vertices can have properties (meta-properties); those of edges have none",
    ))
}

/// What is stored of a key once `written` has joined what was stored `before`.
fn joined(label: LabelId, before: Stored, written: Written, cx: &mut Context<'_>) -> Result<Stored> {
    let catalogue = cx.catalogue();
    let owner = Owner::Label(label);
    let Written { key, value, cardinality, properties } = written;
    if !properties.is_empty() && catalogue.meta_key(label, key).is_none() {
        return Err(not_declared(&catalogue, label, key));
    }
    let occurrence = |value: Value| {
        let mut one = Occurrence { value, known: Map::default() };
        one.change(&properties).map(|()| one)
    };
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
                return Ok(Stored::default());
            }
            let value = stored(value)?;
            if known.is_none() && matches!(value, Value::List(_) | Value::Set(_)) {
                cx.writer()?.declare_vertex_property(label, key, ValueType::Any)?;
            }
            return Stored::of(vec![occurrence(value)?], None);
        }
    };
    let mut all = match cardinality {
        Some(Cardinality::Single) => Vec::new(),
        _ => before.split(Some(schema)),
    };
    let once = schema == Cardinality::Set || cardinality == Some(Cardinality::Set);
    match (cardinality, value) {
        // Null is no value: a single null leaves none, and to several it adds none.
        (None, Item::Null) => all.clear(),
        (_, Item::Null) => {}
        (None, values) if values.elements().is_some() => {
            all = each(stored(values)?).into_iter().map(occurrence).collect::<Result<_>>()?;
        }
        (_, value) => {
            let value = stored(value)?;
            let is_there = |other: &Occurrence| {
                once && ByValue::are_one(&Item::Value(other.value.clone()), &Item::Value(value.clone()))
            };
            match all.iter_mut().find(|other| is_there(other)) {
                Some(there) => there.change(&properties)?,
                None => all.push(occurrence(value)?),
            }
        }
    }
    Stored::of(all, Some(schema))
}
