//! Merge: what `mergeV()` and `mergeE()` search for, and what they create.
//!
//! ```text
//! mergeE([(T.label): 'knows', (OUT): 1, (IN): Merge.inV, since: 2020]).option(Merge.inV, select('v'))
//!   label knows   ends [1, asked]   properties [since = 2020]      ends [-, select v]
//! ```
//!
//! A map that the query spells out is checked before anything runs, one that a traversal gives when it is there. The rules
//! and the messages are TinkerPop's: keys are texts or tokens, `onMatch` takes texts alone, and `onCreate` may repeat what
//! the first map says and add to it, but never say otherwise.

use crate::plan::new_element::{checked_key, checked_label};
use crate::plan::operator::{By, Name};
use crate::value::item::{Item, Token};
use evergraph_graph::id::Direction;

/// How a value is added to the values that a vertex has for the same key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cardinality {
    /// It replaces them.
    Single,
    /// It is appended.
    List,
    /// It is added unless it is one of them.
    Set,
}

/// A property to write.
#[derive(Clone, PartialEq, Debug)]
pub struct NewProperty {
    /// Its key.
    pub key: By,
    /// Its value.
    pub value: By,
    /// How it is added to other values; as in the schema if `None`.
    pub cardinality: Option<Cardinality>,
    /// Keys and values of its meta-properties.
    pub properties: Vec<(By, By)>,
}

impl From<(By, By)> for NewProperty {
    fn from((key, value): (By, By)) -> Self {
        Self { key, value, cardinality: None, properties: Vec::new() }
    }
}

/// `mergeV()` or `mergeE()`.
#[derive(Clone, PartialEq, Debug)]
pub struct Merge {
    /// Which elements are merged.
    pub kind: Merged,
    /// The elements to search for.
    pub map: MergeMap,
    /// The element to add if none is found.
    pub on_create: Option<MergeMap>,
    /// The properties to set on found elements.
    pub on_match: Option<MergeMap>,
    /// The vertices that `Merge.outV` and `Merge.inV` mean.
    pub ends: [Option<MergeMap>; 2],
}

/// Which elements are merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Merged {
    /// Vertices.
    Vertices,
    /// Edges.
    Edges,
}

/// A map that describes an element, known or computed.
#[derive(Clone, PartialEq, Debug)]
pub enum MergeMap {
    /// A map in the query's text.
    Literal(Description),
    /// A modulated value of the traverser.
    Of(By),
}

/// The use of a map, which decides its permitted keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// To search for an element, or to add it.
    Wanted,
    /// To set properties of a found element.
    OnMatch,
}

/// The description of an element by a map.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Description {
    /// Its id.
    pub id: Option<Item>,
    /// Its label.
    pub label: Option<Name>,
    /// Its source and target, if it is an edge.
    pub ends: [Option<End>; 2],
    /// Its properties, each key once.
    pub properties: Vec<Described>,
}

/// What a map says of a property.
#[derive(Clone, PartialEq, Debug)]
pub struct Described {
    /// Its key.
    pub key: Name,
    /// Its value; null if the element must not have the property.
    pub value: Item,
    /// How it joins others.
    pub cardinality: Option<Cardinality>,
}

/// What a map says of an end of an edge.
#[derive(Clone, PartialEq, Debug)]
pub enum End {
    /// A vertex or its id.
    Is(Item),
    /// What `option(Merge.outV, ...)` or `option(Merge.inV, ...)` says.
    Asked,
}

/// What a key leads to.
pub enum Given {
    /// An item.
    Item(Item),
    /// An item and how it joins others.
    With(Cardinality, Item),
    /// `Merge.outV` or `Merge.inV`.
    End(Direction),
}

impl Merged {
    /// The name of the step.
    #[must_use]
    pub fn step(self) -> &'static str {
        match self {
            Self::Vertices => "mergeV",
            Self::Edges => "mergeE",
        }
    }
}

impl Description {
    /// The description that a map with these entries gives.
    ///
    /// # Errors
    /// A message for keys and values that such a map must not have.
    pub fn of(
        entries: impl IntoIterator<Item = (Item, Given)>,
        kind: Merged,
        role: Role,
    ) -> Result<Self, String> {
        let mut description = Self::default();
        for (key, given) in entries {
            description.take(key, given, kind, role)?;
        }
        Ok(description)
    }

    fn take(&mut self, key: Item, given: Given, kind: Merged, role: Role) -> Result<(), String> {
        if let Some(key) = key.as_str() {
            checked_key(key)?;
            let (value, cardinality) = match given {
                Given::Item(value) => (value, None),
                Given::With(cardinality, value) => (value, Some(cardinality)),
                Given::End(_) => {
                    return Err(format!("a property holds a value: {key} can't be a token of Merge"));
                }
            };
            if kind == Merged::Edges && cardinality.is_some() {
                return Err(format!(
                    "Cardinality is only for properties of vertices, and {key} is one of an edge"
                ));
            }
            self.properties.retain(|other| *other.key != *key);
            self.properties.push(Described { key: key.into(), value, cardinality });
            return Ok(());
        }
        if role == Role::OnMatch {
            return Err(format!(
                "option(onMatch) expects keys in Map to be of String - check: {}",
                shown(&key)
            ));
        }
        match (key, given) {
            (Item::Token(Token::Id), Given::Item(Item::Null)) => {
                Err("the T.id of a merge can't be null".to_owned())
            }
            (Item::Token(Token::Id), Given::Item(id)) => {
                self.id = Some(id);
                Ok(())
            }
            (Item::Token(Token::Label), Given::Item(label)) => {
                let Some(label) = label.as_str() else {
                    return Err(format!(
                        "{}() and option(onCreate) args expect T.label value to be of String - found: {}",
                        kind.step(),
                        label.kind()
                    ));
                };
                self.label = Some(checked_label(label)?.into());
                Ok(())
            }
            (Item::Direction(direction @ (Direction::Out | Direction::In)), given)
                if kind == Merged::Edges =>
            {
                let (place, token) = if direction == Direction::Out { (0, "outV") } else { (1, "inV") };
                let name = if direction == Direction::Out { "OUT" } else { "IN" };
                self.ends[place] = Some(match given {
                    Given::End(end) if end == direction => End::Asked,
                    Given::End(_) => {
                        return Err(format!("Only Merge.{token} token may be used for Direction.{name}"));
                    }
                    Given::Item(Item::Null) => {
                        return Err(format!("Direction.{name} of mergeE() can't be null"));
                    }
                    Given::Item(item) => End::Is(item),
                    Given::With(..) => return Err(format!("Direction.{name} takes a vertex or its id")),
                });
                Ok(())
            }
            (key, _) => {
                let tokens = match kind {
                    Merged::Vertices => "[id, label]",
                    Merged::Edges => "[id, label, IN, OUT]",
                };
                Err(format!(
                    "{}() and option(onCreate) args expect keys in Map to be either String or {tokens} - check: {}",
                    kind.step(),
                    shown(&key)
                ))
            }
        }
    }

    /// What is added where this isn't there, and `created` says more of it.
    ///
    /// # Errors
    /// If `created` says otherwise.
    pub fn extended(mut self, created: &Self) -> Result<Self, String> {
        let other =
            |key: &str| format!("option(onCreate) cannot override values from merge() argument: {key}");
        same(&mut self.id, &created.id, || other("T.id"))?;
        same(&mut self.label, &created.label, || other("T.label"))?;
        let [source, target] = &mut self.ends;
        same(source, &created.ends[0], || other("Direction.OUT"))?;
        same(target, &created.ends[1], || other("Direction.IN"))?;
        for more in &created.properties {
            match self.properties.iter().find(|own| own.key == more.key) {
                None => self.properties.push(more.clone()),
                Some(own) if own == more => {}
                Some(_) => return Err(other(&more.key)),
            }
        }
        Ok(self)
    }
}

/// Takes what is said, if nothing was before; it may be said twice.
fn same<T: Clone + PartialEq>(
    place: &mut Option<T>,
    said: &Option<T>,
    otherwise: impl FnOnce() -> String,
) -> Result<(), String> {
    match (&place, said) {
        (_, None) => {}
        (None, said) => place.clone_from(said),
        (Some(own), Some(said)) if own == said => {}
        _ => return Err(otherwise()),
    }
    Ok(())
}

fn shown(key: &Item) -> String {
    match key {
        Item::Token(token) => format!("{token:?}").to_lowercase(),
        Item::Direction(direction) => format!("{direction:?}").to_uppercase(),
        Item::Value(value) => value.to_string(),
        other => other.kind(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vertex(entries: Vec<(Item, Item)>) -> Result<Description, String> {
        let entries = entries.into_iter().map(|(key, value)| (key, Given::Item(value)));
        Description::of(entries, Merged::Vertices, Role::Wanted)
    }

    const ID: Item = Item::Token(Token::Id);
    const LABEL: Item = Item::Token(Token::Label);

    #[test]
    fn a_map_says_id_label_and_properties() {
        let found =
            vertex(vec![(LABEL, "person".into()), (ID, 1.into()), ("name".into(), "marko".into())]).unwrap();
        assert_eq!((found.id, found.label.as_deref()), (Some(1.into()), Some("person")));
        let name = Described { key: "name".into(), value: "marko".into(), cardinality: None };
        assert_eq!(found.properties, [name]);
    }

    #[test]
    fn what_may_not_stand_in_a_map_is_named() {
        let says = |entries, text: &str| {
            let error = vertex(entries).unwrap_err();
            assert!(error.contains(text), "{error}");
        };
        says(vec![("~id".into(), 1.into())], "Property key can not be a hidden key: ~id");
        says(vec![("".into(), 1.into())], "Property key can not be empty");
        says(vec![(LABEL, "~vertex".into())], "Label can not be a hidden key: ~vertex");
        says(vec![(LABEL, Item::Null)], "expect T.label value to be of String - found: null");
        says(vec![(ID, Item::Null)], "can't be null");
        says(vec![(1.into(), 1.into())], "keys in Map to be either String or [id, label] - check: 1");
        says(vec![(Item::Direction(Direction::Out), 1.into())], "check: OUT");
        let matched = Description::of([(LABEL, Given::Item("a".into()))], Merged::Vertices, Role::OnMatch);
        assert!(matched.unwrap_err().contains("option(onMatch) expects keys in Map to be of String"));
    }

    #[test]
    fn an_end_asks_for_its_own_option_alone() {
        let edge = |direction, end| {
            let entries = [(Item::Direction(direction), Given::End(end))];
            Description::of(entries, Merged::Edges, Role::Wanted)
        };
        assert_eq!(edge(Direction::In, Direction::In).unwrap().ends, [None, Some(End::Asked)]);
        assert!(edge(Direction::Out, Direction::In).unwrap_err().contains("Only Merge.outV"));
        assert!(edge(Direction::Both, Direction::In).is_err());
    }

    #[test]
    fn what_is_created_may_say_more_and_never_otherwise() {
        let wanted = || vertex(vec![(LABEL, "a".into()), ("k".into(), 1.into())]).unwrap();
        let more = vertex(vec![("k".into(), 1.into()), ("l".into(), 2.into())]).unwrap();
        let both = wanted().extended(&more).unwrap();
        assert_eq!((both.label.as_deref(), both.properties.len()), (Some("a"), 2));
        for other in [vec![(LABEL, "b".into())], vec![("k".into(), 2.into())], vec![("k".into(), Item::Null)]]
        {
            let error = wanted().extended(&vertex(other).unwrap()).unwrap_err();
            assert!(
                error.starts_with("option(onCreate) cannot override values from merge() argument"),
                "{error}"
            );
        }
    }
}
