//! Functions of lists: `combine()`, `merge()`, `intersect()` and similar, `conjoin()`, `reverse()`, `index()`.

use crate::value::item::Item;
use crate::value::item_list::ItemList;
use crate::value::map::ItemMap;
use crate::value::room::Room;
use crate::value::same::ByValue;
use crate::value::text;
use crate::value::types::kind_name;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::value::Value;
use std::collections::HashSet;
use std::sync::Arc;

/// What makes one collection of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListFunction {
    /// One behind the other.
    Combine,
    /// What is in the first and not in the second.
    Difference,
    /// What is in one of them and not in both.
    Disjunct,
    /// What is in both.
    Intersect,
    /// What is in either, or the entries of two maps.
    Merge,
    /// All pairs.
    Product,
}

/// What a list of two takes: its place in a list, and itself.
const PAIR_BYTES: usize = size_of::<Item>() + ItemList::BYTES + 2 * size_of::<Item>();

/// Where the second collection comes from; messages differ by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// It was written.
    Literal,
    /// A traversal gave it.
    Traversal,
}

impl ListFunction {
    /// What the step is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Combine => "combine",
            Self::Difference => "difference",
            Self::Disjunct => "disjunct",
            Self::Intersect => "intersect",
            Self::Merge => "merge",
            Self::Product => "product",
        }
    }

    /// What it makes of `left` and `right`, if there is `room` for it: a set where each counts once, else a list.
    ///
    /// # Errors
    /// `invalid` of what isn't a list, set or path; `merge` takes two maps too. `limit` if there isn't room.
    pub fn of(self, left: &Item, right: &Item, given: Given, room: Room) -> Result<Item> {
        // A set takes a table besides.
        room.check(left.heap_bytes().saturating_add(right.heap_bytes()).saturating_mul(2))?;
        if self == Self::Merge
            && let Some(map) = entries(left)
        {
            return merge_maps(map, right);
        }
        let left = incoming(self.name(), left)?;
        let right = self.argument(right, given)?;
        let set = |items: &[Item]| items.iter().cloned().map(ByValue).collect::<HashSet<ByValue>>();
        let without = |items: Vec<Item>, others: &HashSet<ByValue>| {
            let left = items.into_iter().map(ByValue).filter(|item| !others.contains(item));
            left.map(|item| item.0).collect::<Vec<_>>()
        };
        Ok(match self {
            Self::Combine => Item::List(left.into_iter().chain(right).collect()),
            Self::Product => {
                room.check(left.len().saturating_mul(right.len()).saturating_mul(PAIR_BYTES))?;
                let pair = |one: &Item, other: &Item| Item::List([one.clone(), other.clone()].into());
                let pairs = left.iter().flat_map(|one| right.iter().map(move |other| pair(one, other)));
                Item::List(pairs.collect())
            }
            Self::Merge => once(left.into_iter().chain(right)),
            Self::Difference => {
                let others = set(&right);
                once(without(left, &others).into_iter())
            }
            Self::Intersect => {
                let others = set(&right);
                let both = left.into_iter().map(ByValue).filter(|item| others.contains(item));
                once(both.map(|item| item.0))
            }
            Self::Disjunct => {
                let (mine, others) = (set(&left), set(&right));
                once(without(left, &others).into_iter().chain(without(right, &mine)))
            }
        })
    }

    fn argument(self, right: &Item, given: Given) -> Result<Vec<Item>> {
        let name = self.name();
        let kind = kind_name(right);
        right.elements().ok_or_else(|| {
            Error::invalid(match (right, given) {
                (Item::Null, Given::Literal) => format!("Argument provided for {name} step can't be null."),
                (Item::Null, Given::Traversal) => {
                    format!("traversal argument for {name} step must yield an iterable type, not null")
                }
                (Item::Map(_) | Item::Value(Value::Map(_)), Given::Literal) if self == Self::Merge => {
                    "step type mismatch: expected argument to be Iterable but got Map".to_owned()
                }
                (_, Given::Literal) => format!(
                    "{name} step can only take an array or an Iterable as an argument, encountered {kind}"
                ),
                (_, Given::Traversal) => {
                    format!(
                        "traversal argument for {name} step must yield an iterable type, encountered {kind}"
                    )
                }
            })
        })
    }
}

/// The items of the collection that a traverser brings to the step `name`.
fn incoming(name: &str, item: &Item) -> Result<Vec<Item>> {
    item.elements().ok_or_else(|| {
        Error::invalid(match item {
            Item::Null => format!("Incoming traverser for {name} step can't be null"),
            other => format!(
                "{name} step can only take an array or an Iterable type for incoming traversers, encountered {}",
                kind_name(other)
            ),
        })
    })
}

/// A set of `items`, of which those that are one are the first of them.
pub fn once(items: impl Iterator<Item = Item>) -> Item {
    let mut seen = HashSet::new();
    Item::Set(items.filter(|item| seen.insert(ByValue(item.clone()))).collect())
}

fn entries(item: &Item) -> Option<Vec<(Item, Item)>> {
    match item {
        Item::Map(map) => Some(map.entries().to_vec()),
        Item::Value(Value::Map(map)) => {
            let entries = map.as_slice().iter().cloned();
            Some(entries.map(|(key, value)| (Item::Value(key), Item::Value(value))).collect())
        }
        _ => None,
    }
}

/// The entries of both; the second map's where both have a key.
fn merge_maps(left: Vec<(Item, Item)>, right: &Item) -> Result<Item> {
    let right = entries(right).ok_or_else(|| {
        Error::invalid(format!(
            "merge step expected provided argument to evaluate to a Map, encountered {}",
            kind_name(right)
        ))
    })?;
    Ok(Item::Map(Arc::new(left.into_iter().chain(right).collect::<ItemMap>())))
}

/// `conjoin()`: the items as one text with `delimiter` between them, if there is `room` for it; null is left out.
///
/// # Errors
/// `invalid` of what isn't a collection; `limit` if there isn't room.
pub fn conjoin(item: &Item, delimiter: &str, catalogue: &Catalogue, room: Room) -> Result<Item> {
    let items = incoming("conjoin", item)?;
    let (mut all, mut first) = (String::new(), true);
    for item in items.iter().filter(|item| !matches!(item, Item::Null)) {
        let shown = text::shown(item, catalogue, room)?;
        room.check(all.len().saturating_add(delimiter.len()).saturating_add(shown.len()))?;
        if !std::mem::replace(&mut first, false) {
            all.push_str(delimiter);
        }
        all.push_str(&shown);
    }
    Ok(Item::from(all))
}

/// `reverse()`: a text or a collection from its end, if there is `room` for it; anything else as it is.
///
/// # Errors
/// `limit` if there isn't room.
pub fn reverse(item: &Item, room: Room) -> Result<Item> {
    room.check(item.heap_bytes())?;
    Ok(match (item.as_str(), item.elements()) {
        (Some(text), _) => Item::from(text.chars().rev().collect::<String>()),
        (None, Some(items)) => Item::List(items.into_iter().rev().collect()),
        (None, None) => item.clone(),
    })
}

/// `index()`: each item with its place, as pairs or, if `as_map`, as a map from places. What is no collection is one of
/// itself.
///
/// # Errors
/// `limit` if there isn't `room` for it.
pub fn index(item: &Item, as_map: bool, room: Room) -> Result<Item> {
    let length = item.elements().map_or(1, |items| items.len());
    room.check(item.heap_bytes().saturating_add(length.saturating_mul(2 * PAIR_BYTES)))?;
    let items = match entries(item) {
        Some(entries) => entries.into_iter().map(|entry| Item::Entry(Arc::new(entry))).collect(),
        None => item.elements().unwrap_or_else(|| vec![item.clone()]),
    };
    let placed = (0_i32..).map(Item::from).zip(items);
    if as_map {
        return Ok(Item::Map(Arc::new(placed.collect())));
    }
    Ok(Item::List(placed.map(|(place, item)| Item::List([item, place].into())).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(texts: &[&str]) -> ItemList {
        let item = |text: &&str| if *text == "null" { Item::Null } else { Item::from(*text) };
        texts.iter().map(item).collect()
    }

    #[test]
    fn two_lists_become_one() {
        use ListFunction as F;
        let left = Item::List(items(&["a", "null", "b"]));
        for (function, right, expected) in [
            (F::Combine, &["a", "c"][..], Item::List(items(&["a", "null", "b", "a", "c"]))),
            (F::Difference, &["a", "c"], Item::Set(items(&["null", "b"]))),
            (F::Difference, &["a", "null", "c"], Item::Set(items(&["b"]))),
            (F::Disjunct, &["a", "c"], Item::Set(items(&["null", "b", "c"]))),
            (F::Disjunct, &["a", "null", "c"], Item::Set(items(&["b", "c"]))),
            (F::Intersect, &["a", "c"], Item::Set(items(&["a"]))),
            (F::Intersect, &["a", "null", "c"], Item::Set(items(&["a", "null"]))),
            (F::Merge, &["a", "null", "c"], Item::Set(items(&["null", "a", "c", "b"]))),
            (
                F::Product,
                &["c"],
                Item::List(
                    [["a", "c"], ["null", "c"], ["b", "c"]]
                        .iter()
                        .map(|pair| Item::List(items(pair)))
                        .collect(),
                ),
            ),
        ] {
            let right = Item::List(items(right));
            assert_eq!(
                function.of(&left, &right, Given::Literal, Room::UNLIMITED).unwrap(),
                expected,
                "{function:?}"
            );
        }
    }

    #[test]
    fn each_misuse_has_its_words() {
        let (list, number) = (Item::List(items(&["a"])), Item::from(2_i32));
        let map = Item::Map(Arc::new([(Item::from("k"), Item::from("v"))].into_iter().collect()));
        let combine = ListFunction::Combine;
        let merge = ListFunction::Merge;
        for (function, left, right, given, expected) in [
            (
                combine,
                &Item::Null,
                &list,
                Given::Literal,
                "Incoming traverser for combine step can't be null",
            ),
            (
                combine,
                &number,
                &list,
                Given::Literal,
                "combine step can only take an array or an Iterable type for incoming traversers, encountered Integer",
            ),
            (
                combine,
                &list,
                &Item::Null,
                Given::Traversal,
                "traversal argument for combine step must yield an iterable type, not null",
            ),
            (
                combine,
                &list,
                &number,
                Given::Traversal,
                "traversal argument for combine step must yield an iterable type, encountered",
            ),
            (
                combine,
                &list,
                &number,
                Given::Literal,
                "combine step can only take an array or an Iterable as an argument, encountered",
            ),
            (combine, &list, &Item::Null, Given::Literal, "Argument provided for combine step can't be null"),
            (
                merge,
                &map,
                &number,
                Given::Traversal,
                "merge step expected provided argument to evaluate to a Map, encountered",
            ),
            (
                merge,
                &list,
                &map,
                Given::Traversal,
                "traversal argument for merge step must yield an iterable type, encountered",
            ),
            (
                merge,
                &list,
                &map,
                Given::Literal,
                "step type mismatch: expected argument to be Iterable but got Map",
            ),
        ] {
            let error = function.of(left, right, given, Room::UNLIMITED).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_second_map_wins_where_both_have_a_key() {
        let map = |entries: &[(&str, i32)]| {
            let entries = entries.iter().map(|(key, value)| (Item::from(*key), Item::from(*value)));
            Item::Map(Arc::new(entries.collect()))
        };
        let merged = ListFunction::Merge.of(
            &map(&[("a", 1), ("b", 2)]),
            &map(&[("b", 3)]),
            Given::Literal,
            Room::UNLIMITED,
        );
        assert_eq!(merged.unwrap(), map(&[("a", 1), ("b", 3)]));
    }

    #[test]
    fn lists_joined_turned_and_numbered() {
        let catalogue = Catalogue::default();
        let list = Item::List(items(&["a", "null", "b"]));
        assert_eq!(conjoin(&list, "xyz", &catalogue, Room::UNLIMITED).unwrap(), Item::from("axyzb"));
        assert_eq!(
            conjoin(&Item::List(items(&[])), ";", &catalogue, Room::UNLIMITED).unwrap(),
            Item::from("")
        );
        let error = conjoin(&Item::from("a"), ";", &catalogue, Room::UNLIMITED).unwrap_err().to_string();
        assert!(error.contains("conjoin step can only take an array or an Iterable type"), "{error}");
        assert_eq!(reverse(&list, Room::UNLIMITED).unwrap(), Item::List(items(&["b", "null", "a"])));
        assert_eq!(reverse(&Item::from("test one"), Room::UNLIMITED).unwrap(), Item::from("eno tset"));
        assert_eq!(reverse(&Item::from(29_i32), Room::UNLIMITED).unwrap(), Item::from(29_i32));
        let pair = |text: &str, place: i32| Item::List([Item::from(text), Item::from(place)].into());
        let ab = Item::List(items(&["a", "b"]));
        assert_eq!(
            index(&ab, false, Room::UNLIMITED).unwrap(),
            Item::List([pair("a", 0), pair("b", 1)].into())
        );
        assert_eq!(
            index(&Item::from("a"), false, Room::UNLIMITED).unwrap(),
            Item::List([pair("a", 0)].into())
        );
        let Item::Map(map) = index(&ab, true, Room::UNLIMITED).unwrap() else {
            panic!("a map was asked for")
        };
        assert_eq!(map.get(&Item::from(1_i32)), Some(&Item::from("b")));
    }
}
