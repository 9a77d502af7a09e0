//! References: the meaning of the ends of a link, which is not declared and is inferred from the nodes before it.
//!
//! | nodes have | an end is | it means |
//! |---|---|---|
//! | ids | an id | that node |
//! | ids that are texts, not all of them whole numbers | a number | the node at that place, from 0 (NetworkX before 2, D3 before 4) |
//! | ids that are texts of whole numbers; whole numbers | a number; its text | the id of the same number |
//! | no ids | a number | the node at that place, from 0 |
//! | no ids, but names | a text | the node of that name |
//!
//! Links before their nodes mean ids, or places if the nodes have none. Memory: the ids that are texts, or the
//! names; none where ids are numbers.

use std::collections::HashMap;

use evergraph_graph::value::Value;

/// What is known of the nodes so far.
#[derive(Clone, Debug, Default)]
pub struct References {
    /// How many nodes there were.
    pub count: u64,
    /// Ids of all nodes, if all are texts.
    texts: Vec<String>,
    has_texts: bool,
    has_numbers: bool,
    has_other_texts: bool,
    /// Names of the nodes that have no ids, each with its place; `None` for one of several nodes.
    names: HashMap<String, Option<u64>>,
}

/// What an end means.
#[derive(Clone, PartialEq, Debug)]
pub enum End {
    /// The node of this id.
    Id(Value),
    /// The node of this id, which the link states by its place.
    ByPlace(Value),
}

impl References {
    /// Takes notice of a node with an id.
    pub fn add_id(&mut self, id: &Value) {
        self.count += 1;
        match id {
            Value::String(text) => {
                self.has_texts = true;
                self.has_other_texts |= text.parse::<i64>().is_err();
                if !self.has_numbers {
                    self.texts.push(text.to_string());
                }
            }
            _ => {
                self.has_numbers = true;
                self.texts = Vec::new();
            }
        }
    }

    /// Takes notice of a node without an id, which may have a name. Gives the id that it gets.
    pub fn add_nameless(&mut self, name: Option<&str>) -> Value {
        let place = self.count;
        self.count += 1;
        if let Some(name) = name {
            let known = self.names.entry(name.to_owned()).or_insert(Some(place));
            if *known != Some(place) {
                *known = None;
            }
        }
        Value::I64(i64::try_from(place).unwrap_or(i64::MAX))
    }

    /// What the end `stated` of a link means.
    ///
    /// # Errors
    /// A text for people, if it is the name of several nodes.
    pub fn resolve(&self, stated: Value) -> Result<End, String> {
        match &stated {
            Value::I64(number) if self.has_texts && !self.has_numbers => {
                if !self.has_other_texts {
                    return Ok(End::Id(Value::from(number.to_string())));
                }
                let place = usize::try_from(*number).ok().and_then(|place| self.texts.get(place));
                Ok(place.map_or(End::Id(stated.clone()), |id| End::ByPlace(Value::from(id.as_str()))))
            }
            Value::String(text) if self.has_numbers && !self.has_texts => {
                Ok(End::Id(text.parse().map_or(stated.clone(), Value::I64)))
            }
            Value::String(name) => match self.names.get(&**name) {
                Some(Some(place)) => Ok(End::Id(Value::I64(i64::try_from(*place).unwrap_or(i64::MAX)))),
                Some(None) => Err(format!("{name:?} is the name of several nodes: links need ids here")),
                None => Ok(End::Id(stated)),
            },
            _ => Ok(End::Id(stated)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ids: &[Value]) -> References {
        let mut references = References::default();
        ids.iter().for_each(|id| references.add_id(id));
        references
    }

    fn id(value: impl Into<Value>) -> Result<End, String> {
        Ok(End::Id(value.into()))
    }

    #[test]
    fn numbers_are_places_among_ids_that_are_other_texts() {
        let texts = of(&["a".into(), "7".into()]);
        assert_eq!(texts.resolve("a".into()), id("a"));
        assert_eq!(texts.resolve(1_i64.into()), Ok(End::ByPlace("7".into())));
        assert_eq!(texts.resolve(2_i64.into()), id(2_i64), "which nobody has");
        assert_eq!(texts.resolve((-1_i64).into()), id(-1_i64));
    }

    #[test]
    fn numbers_and_their_texts_are_one_id_where_all_ids_are_of_one_kind() {
        assert_eq!(of(&["1".into(), "0".into()]).resolve(0_i64.into()), id("0"));
        assert_eq!(of(&[1_i64.into(), 2_i64.into()]).resolve("2".into()), id(2_i64));
        let mixed = of(&["1".into(), 2_i64.into()]);
        assert_eq!((mixed.resolve("2".into()), mixed.resolve(1_i64.into())), (id("2"), id(1_i64)));
    }

    #[test]
    fn nodes_without_ids_are_known_by_place_and_name() {
        let mut references = References::default();
        for name in [Some("a"), None, Some("b"), Some("b")] {
            references.add_nameless(name);
        }
        assert_eq!(references.resolve(1_i64.into()), id(1_i64));
        assert_eq!(references.resolve("a".into()), id(0_i64));
        assert_eq!(references.resolve("c".into()), id("c"));
        assert!(references.resolve("b".into()).unwrap_err().contains("several nodes"));
    }
}
