//! Meta-properties: what is known of each value of a key, where the schema asks for it.
//!
//! ```text
//! location       ["ny",                              "va"]
//! its meta key   [{startTime: 2014, endTime: 2016},  {startTime: 2016}]
//! ```
//!
//! They lie beside the values, under a key that has no name ([`Catalogue::meta_key`]): a map for each value, in the order of
//! the values; a key with one value has a list of one map. Where nothing is known of any value there is no list.
//!
//! A value and what is known of it are always written together, so that two transactions that change either one meet in a
//! conflict. Whoever sets a value by other means than Gremlin leaves nothing known of it: storage sees to that.
//!
//! Properties have no ids. What a traverser met is found again by its value and its place among equal values, or where
//! some of these have come or gone by what was known of it.

use crate::execute::context::Context;
use crate::plan::merge::Cardinality;
use crate::step::property::{Written, each, only_one, several, stored, too_deep};
use crate::value::item::{Item, Owner, Property};
use crate::write::Writer as _;
use evergraph_graph::catalogue::{self, Catalogue};
use evergraph_graph::column::Column;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{KeyId, LabelId, VertexId};
use evergraph_graph::value::collection::{List, Map, Set};
use evergraph_graph::value::{Value, ValueType};
use std::collections::HashMap;
use std::sync::Arc;

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
    /// What `vertex` has of `key`.
    ///
    /// # Errors
    /// What reading may meet.
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
    /// What writing may meet.
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
    /// Changes what is known.
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

/// What is said to who writes what the schema doesn't ask for.
#[must_use]
pub fn not_declared(catalogue: &Catalogue, label: LabelId, key: KeyId) -> Error {
    let property = catalogue.property_name(catalogue::Owner::Label(label), key);
    let (label, key) = (catalogue.label_name(label), catalogue.key_name(key));
    Error::invalid(format!(
        "the schema doesn't ask for properties of {property} (meta-properties): \
         `declare_meta_properties(\"{label}\", \"{key}\")` in a transaction asks for them"
    ))
}

/// The key of which `property` is one value, with its vertex, and all values as they are now. `None` if the vertex is gone.
struct Place {
    vertex: VertexId,
    several: Option<Cardinality>,
    meta: Option<KeyId>,
    label: LabelId,
    all: Vec<Occurrence>,
}

fn place(property: &Property, cx: &Context<'_>) -> Result<Option<Place>> {
    let Owner::Vertex(vertex) = property.owner else { return Ok(None) };
    let mut label = Vec::new();
    cx.view().labels(&[vertex], &mut label)?;
    let Some(label) = label.first().copied().flatten() else { return Ok(None) };
    let catalogue = cx.catalogue();
    let several = several(&catalogue, label, property.key);
    let all = Stored::read(vertex, label, property.key, cx)?.split(several);
    Ok(Some(Place { vertex, several, meta: catalogue.meta_key(label, property.key), label, all }))
}

/// Which of `all` is `property`: the one at its place, as long as none that equals it came or went since it was met; else
/// the surest match.
fn position(all: &[Occurrence], property: &Property) -> Option<usize> {
    let equal = || (0..all.len()).filter(|at| all[*at].value == property.value);
    let here = equal().nth(property.nth as usize);
    if equal().count() == property.equals as usize {
        return here;
    }
    let same = |at: &usize| all[*at].known == property.known;
    here.filter(same).or_else(|| equal().find(same)).or(here).or_else(|| equal().next_back())
}

/// What is known of a property of a vertex: as it was met, or as it is now where the query may have changed it.
///
/// # Errors
/// What reading may meet.
pub fn known(property: &Property, cx: &Context<'_>) -> Result<Map> {
    if !cx.writes() {
        return Ok(property.known.clone());
    }
    let Some(mut place) = place(property, cx)? else { return Ok(Map::default()) };
    let at = position(&place.all, property);
    Ok(at.map(|at| place.all.swap_remove(at).known).unwrap_or_default())
}

/// The properties of a property, by key.
///
/// # Errors
/// What reading may meet.
pub fn properties_of(property: &Property, cx: &Context<'_>) -> Result<Vec<(KeyId, Value)>> {
    let catalogue = cx.catalogue();
    let entries = known(property, cx)?.into_vec().into_iter();
    // Who writes one names its key, too.
    Ok(entries.filter_map(|(key, value)| Some((catalogue.key(key.as_str()?)?, value))).collect())
}

/// Sets a property of a property; the property as it is then.
///
/// # Errors
/// `invalid` for a property that can have none, and where the schema doesn't ask for them; `not_found` if it is gone; what
/// writing may meet.
pub fn set(property: &Property, written: Written, cx: &mut Context<'_>) -> Result<Property> {
    only_one(&written, "a property", cx)?;
    if !matches!(property.owner, Owner::Vertex(_)) {
        return Err(Error::invalid(
            "properties of vertices can have properties; those of edges and those of properties have none",
        ));
    }
    if !written.properties.is_empty() {
        return Err(Error::invalid("a property of a property has no properties"));
    }
    let gone =
        || Error::new(ErrorKind::NotFound, "the property that is to have a property isn't there any more");
    let catalogue = cx.catalogue();
    let Some(place) = place(property, cx)? else { return Err(gone()) };
    if place.meta.is_none() {
        return Err(not_declared(&catalogue, place.label, property.key));
    }
    let value = match written.value {
        Item::Null => None,
        value => Some(stored(value)?),
    };
    let name = Value::from(&*catalogue.key_name(written.key));
    changed(property, place, (name, value), cx)?.ok_or_else(gone)
}

/// Takes a property away from `of`, unless it is gone.
///
/// # Errors
/// What writing may meet.
pub fn drop_of(of: &Property, key: KeyId, cx: &mut Context<'_>) -> Result<()> {
    let name = Value::from(&*cx.catalogue().key_name(key));
    match place(of, cx)? {
        Some(place) => changed(of, place, (name, None), cx).map(drop),
        None => Ok(()),
    }
}

fn changed(
    property: &Property,
    place: Place,
    change: Change,
    cx: &mut Context<'_>,
) -> Result<Option<Property>> {
    let Place { vertex, several, meta, mut all, .. } = place;
    let Some(at) = position(&all, property) else { return Ok(None) };
    all[at].change(&[change])?;
    let count = |of: &[Occurrence]| of.iter().filter(|other| other.value == property.value).count() as u32;
    let (nth, equals, known) = (count(&all[..at]), count(&all), all[at].known.clone());
    let now = Property { nth, equals, known, ..property.clone() };
    Stored::of(all, several)?.write(vertex, property.key, meta, cx)?;
    Ok(Some(now))
}

/// Takes one value of a key away from a vertex, with what is known of it; others of that key stay.
///
/// # Errors
/// What writing may meet.
pub fn drop_value(property: &Property, cx: &mut Context<'_>) -> Result<()> {
    let Some(Place { vertex, several, meta, mut all, .. }) = place(property, cx)? else { return Ok(()) };
    match (several, position(&all, property)) {
        (None, _) => all.clear(),
        (Some(_), Some(at)) => drop(all.remove(at)),
        // Somebody took it away already.
        (Some(_), None) => return Ok(()),
    }
    Stored::of(all, several)?.write(vertex, property.key, meta, cx)
}

/// The properties that `all` values of a key of a vertex are, in their order.
pub fn as_properties(owner: &Owner, key: KeyId, all: Vec<Occurrence>, found: &mut Vec<Property>) {
    let mut places = vec![(0, 1); all.len()];
    if all.len() > 1 {
        let mut equal: HashMap<&Value, u32> = HashMap::new();
        for (one, (nth, _)) in all.iter().zip(&mut places) {
            let count = equal.entry(&one.value).or_default();
            *nth = std::mem::replace(count, *count + 1);
        }
        all.iter().zip(&mut places).for_each(|(one, (_, equals))| *equals = equal[&one.value]);
    }
    let property = |(Occurrence { value, known }, (nth, equals))| {
        let owner = owner.clone();
        Property { owner, key, value, nth, equals, known }
    };
    found.extend(all.into_iter().zip(places).map(property));
}

/// The element that a property of a property is of.
#[must_use]
pub fn owner_of(property: &Property) -> Item {
    match &property.owner {
        Owner::Vertex(vertex) => Item::Vertex(*vertex),
        Owner::Edge(edge) => Item::Edge(*edge),
        Owner::Property(of) => Item::Property(Arc::clone(of)),
    }
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

    fn met(value: &str, nth: u32, since: i32) -> Property {
        let Occurrence { value, known } = one(value, since);
        Property { owner: Owner::Vertex(VertexId(0)), key: KeyId(0), value, nth, equals: 9, known }
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

    #[test]
    fn what_was_met_is_found_again_by_the_surest_sign() {
        let all = [one("a", 1), one("b", 1), one("a", 3)];
        let at = |met: &Property| position(&all, met);
        assert_eq!(at(&met("a", 1, 3)), Some(2), "all alike");
        assert_eq!(at(&met("a", 2, 3)), Some(2), "one before it went");
        assert_eq!(at(&met("a", 0, 3)), Some(2), "one before it came");
        assert_eq!(at(&met("a", 0, 9)), Some(0), "something else is known of it now");
        assert_eq!(at(&met("a", 7, 9)), Some(2), "all that is left is the value");
        assert_eq!(at(&met("c", 0, 1)), None);
        let changed = Property { equals: 2, ..met("a", 0, 3) };
        assert_eq!(at(&changed), Some(0), "none came or went, and something else is known of it now");
    }

    #[test]
    fn equal_values_are_numbered() {
        let mut found = vec![met("a", 0, 0)];
        let all = vec![one("a", 1), one("b", 0), one("a", 2)];
        as_properties(&Owner::Vertex(VertexId(1)), KeyId(0), all, &mut found);
        let places = found[1..].iter().map(|property| (property.nth, property.equals));
        assert_eq!(places.collect::<Vec<_>>(), [(0, 2), (0, 1), (1, 2)]);
    }
}
