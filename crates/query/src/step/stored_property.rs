//! Stored properties: the values and meta-properties that a vertex has for a key.
//!
//! ```text
//! location       ["ny",                              "va"]
//! its meta key   [{startTime: 2014, endTime: 2016},  {startTime: 2016}]
//! ```
//!
//! What is known of values (their meta-properties) lies beside them where the schema asks for it, under a key that has no
//! name ([`Catalogue::meta_key`]): a map for each value, in the order of the values; a key with one value has a list of one
//! map. Where nothing is known of any value there is no list.
//!
//! A value and what is known of it are always written together, so that two transactions that change either one meet in a
//! conflict. Whoever sets a value by other means than Gremlin leaves nothing known of it: storage sees to that.

use crate::execute::context::Context;
use crate::plan::merge::Cardinality;
use crate::value::item::Item;
use crate::write::Writer as _;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{KeyId, LabelId, VertexId};
use evergraph_graph::value::collection::{List, Map, Set, TooDeepError};
use evergraph_graph::value::{Value, ValueType};

/// What a vertex has of a key, as the graph holds it.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// The value, or all of several.
    pub value: Option<Value>,
    /// What is known of each.
    pub known: Option<Value>,
}

/// One value of a key.
#[derive(Clone, PartialEq, Debug)]
pub struct Occurrence {
    /// The value.
    pub value: Value,
    /// What is known of it.
    pub known: Map,
}

/// A change of what is known: a key, and its value or its removal.
pub type Change = (Value, Option<Value>);

impl Stored {
    /// The values that `vertex` has for `key`.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn read(vertex: VertexId, label: LabelId, key: KeyId, cx: &Context<'_>) -> Result<Self> {
        let meta = cx.catalogue().meta_key(label, key);
        let known = meta.map(|meta| value_of(vertex, meta, cx)).transpose()?.flatten();
        Ok(Self { value: value_of(vertex, key, cx)?, known })
    }

    /// Each value for itself.
    #[must_use]
    pub fn split(self, several: Option<Cardinality>) -> Vec<Occurrence> {
        let values = match (self.value, several) {
            (None, _) => Vec::new(),
            (Some(value), None) => vec![value],
            (Some(value), Some(_)) => each(value),
        };
        let mut known = self.known.map(each).unwrap_or_default().into_iter();
        let of_next = |value| {
            let known = match known.next() {
                Some(Value::Map(map)) => map,
                _ => Map::default(),
            };
            Occurrence { value, known }
        };
        values.into_iter().map(of_next).collect()
    }

    /// `all` as the graph holds them, of a key that has one value or several.
    ///
    /// # Errors
    /// `invalid` for what would be nested too deeply.
    pub fn of(mut all: Vec<Occurrence>, several: Option<Cardinality>) -> Result<Self> {
        if several == Some(Cardinality::Set) {
            all.sort_by(|left, right| left.value.cmp(&right.value));
            all.dedup_by(|later, kept| later.value == kept.value);
        }
        if all.is_empty() {
            return Ok(Self::default());
        }
        let is_known = all.iter().any(|one| !one.known.as_slice().is_empty());
        let (mut values, known): (Vec<Value>, Vec<Value>) =
            all.into_iter().map(|one| (one.value, Value::Map(one.known))).unzip();
        let value = match several {
            Some(Cardinality::Set) => Some(Value::Set(Set::new(values).map_err(too_deep)?)),
            Some(_) => Some(Value::List(List::new(values).map_err(too_deep)?)),
            None => values.pop(),
        };
        let known = is_known.then(|| List::new(known).map(Value::List)).transpose().map_err(too_deep)?;
        Ok(Self { value, known })
    }

    /// Writes it.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn write(
        self,
        vertex: VertexId,
        key: KeyId,
        meta: Option<KeyId>,
        cx: &mut Context<'_>,
    ) -> Result<()> {
        // With the value goes what was known of the one before.
        cx.writer()?.set_vertex_property(vertex, key, self.value)?;
        match (meta, self.known) {
            (Some(meta), Some(known)) => cx.writer()?.set_vertex_property(vertex, meta, Some(known)),
            _ => Ok(()),
        }
    }
}

impl Occurrence {
    /// Changes meta-properties.
    ///
    /// # Errors
    /// `invalid` for what would be nested too deeply.
    pub fn change(&mut self, changes: &[Change]) -> Result<()> {
        let mut entries = std::mem::take(&mut self.known).into_vec();
        for (key, value) in changes {
            entries.retain(|(other, _)| other != key);
            entries.extend(value.clone().map(|value| (key.clone(), value)));
        }
        self.known = Map::new(entries).map_err(too_deep)?;
        Ok(())
    }
}

fn value_of(vertex: VertexId, key: KeyId, cx: &Context<'_>) -> Result<Option<Value>> {
    let mut column = Column::new(ValueType::Any);
    cx.view().vertex_properties(&[vertex], key, &mut column)?;
    Ok(column.get(0))
}

/// The error for writing a meta-property that the schema does not declare.
#[must_use]
pub fn not_declared(catalogue: &Catalogue, label: LabelId, key: KeyId) -> Error {
    let property = catalogue.property_name(Owner::Label(label), key);
    let (label, key) = (catalogue.label_name(label), catalogue.key_name(key));
    Error::invalid(format!(
        "the schema doesn't declare meta-properties of {property}: call \
         `declare_meta_properties(\"{label}\", \"{key}\")` in a transaction first"
    ))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn map(entries: &[(&str, i32)]) -> Map {
        Map::new(entries.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()).unwrap()
    }

    fn one(value: &str, since: i32) -> Occurrence {
        let known = if since == 0 { Map::default() } else { map(&[("since", since)]) };
        Occurrence { value: value.into(), known }
    }

    #[test]
    fn values_and_what_is_known_of_them_stay_together() {
        let all = vec![one("b", 2), one("a", 0), one("b", 3)];
        for several in [Some(Cardinality::List), Some(Cardinality::Set)] {
            let kept = Stored::of(all.clone(), several).unwrap().split(several);
            let wanted = match several {
                Some(Cardinality::Set) => vec![one("a", 0), one("b", 2)],
                _ => all.clone(),
            };
            assert_eq!(kept, wanted, "{several:?}");
        }
        let single = Stored::of(vec![one("a", 1)], None).unwrap();
        assert_eq!(single.value, Some("a".into()));
        assert_eq!(single.split(None), [one("a", 1)]);
    }

    #[test]
    fn where_nothing_is_known_nothing_is_stored() {
        let stored = Stored::of(vec![one("a", 0), one("b", 0)], Some(Cardinality::List)).unwrap();
        assert_eq!(stored.known, None);
        assert_eq!(stored.split(Some(Cardinality::List)), [one("a", 0), one("b", 0)]);
        assert_eq!(Stored::of(Vec::new(), None).unwrap().value, None);
    }

    #[test]
    fn a_change_replaces_adds_and_removes() {
        let mut one = one("a", 1);
        one.change(&[("since".into(), Some(2.into())), ("until".into(), Some(3.into()))]).unwrap();
        assert_eq!(one.known, map(&[("since", 2), ("until", 3)]));
        one.change(&[("since".into(), None), ("else".into(), None)]).unwrap();
        assert_eq!(one.known, map(&[("until", 3)]));
    }
}
