//! Meta-properties: the properties of one value of a vertex property.
//!
//! Properties have no ids. What a traverser met is found again by its value and its place among equal values, or where
//! some of these have come or gone by what was known of it.

use crate::execute::context::Context;
use crate::plan::merge::Cardinality;
use crate::step::property::{Written, only_one};
use crate::step::stored_property::{Change, Occurrence, Stored, not_declared, several, stored};
use crate::value::item::{Item, Owner, Property};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{KeyId, LabelId, VertexId};
use evergraph_graph::value::Value;
use evergraph_graph::value::collection::Map;
use std::collections::HashMap;
use std::sync::Arc;

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
/// Errors of reading.
pub fn known(property: &Property, cx: &Context<'_>) -> Result<Map> {
    if !cx.writes() {
        return Ok(property.known.clone());
    }
    let Some(mut place) = place(property, cx)? else { return Ok(Map::default()) };
    let at = position(&place.all, property);
    Ok(at.map(|at| place.all.swap_remove(at).known).unwrap_or_default())
}

/// The meta-properties of a property, by key.
///
/// # Errors
/// Errors of reading.
pub fn properties_of(property: &Property, cx: &Context<'_>) -> Result<Vec<(KeyId, Value)>> {
    let catalogue = cx.catalogue();
    let entries = known(property, cx)?.into_vec().into_iter();
    // Who writes one names its key, too.
    Ok(entries.filter_map(|(key, value)| Some((catalogue.key(key.as_str()?)?, value))).collect())
}

/// Sets a meta-property, and returns the changed property.
///
/// # Errors
/// `invalid` for a property that can have none, and where the schema doesn't ask for them; `not_found` if it is gone; errors
/// of writing.
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
        || Error::new(ErrorKind::NotFound, "the property that is to get a meta-property no longer exists");
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

/// Removes a property from `of`, if it still exists.
///
/// # Errors
/// Errors of writing.
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

/// Removes one value of a key from a vertex, with its meta-properties; other values of the key stay.
///
/// # Errors
/// Errors of writing.
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

/// The element to which a meta-property belongs.
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

    fn one(value: &str, since: i32) -> Occurrence {
        let entries = if since == 0 { Vec::new() } else { vec![("since".into(), since.into())] };
        Occurrence { value: value.into(), known: Map::new(entries).unwrap() }
    }

    fn met(value: &str, nth: u32, since: i32) -> Property {
        let Occurrence { value, known } = one(value, since);
        Property { owner: Owner::Vertex(VertexId(0)), key: KeyId(0), value, nth, equals: 9, known }
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
