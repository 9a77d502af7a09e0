//! What a snapshot shows, as the rows that it must come from.

use crate::shop::Shop;
use evergraph::{Database, Direction, ReadByName, Value};
use evergraph_replica::position::{POSITION_NOTE, Position};
use std::collections::BTreeMap;

/// Owners and items with their properties, and the owner that each item has an edge to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Graph {
    owners: BTreeMap<i64, Option<String>>,
    items: BTreeMap<i64, (Option<String>, Vec<i64>)>,
}

impl Graph {
    /// What must be there after `shop`: an edge exists exactly while its row and its end exist.
    pub fn of(shop: &Shop) -> Self {
        let edges = |owner: &Option<i32>| {
            owner
                .iter()
                .filter(|owner| shop.owners.contains_key(owner))
                .map(|owner| i64::from(*owner))
                .collect()
        };
        Self {
            owners: shop.owners.iter().map(|(key, name)| (i64::from(*key), name.clone())).collect(),
            items: shop
                .items
                .iter()
                .map(|(key, (owner, title))| (i64::from(*key), (title.clone(), edges(owner))))
                .collect(),
        }
    }

    /// How many items there are.
    pub fn items_count(&self) -> usize {
        self.items.len()
    }

    /// What is there.
    pub fn read(snapshot: &evergraph::Snapshot) -> Self {
        let mut graph = Self::default();
        let number = |vertex, key: &str| match snapshot.get(vertex, key).unwrap() {
            Some(Value::I32(number)) => i64::from(number),
            Some(Value::I64(number)) => number,
            other => panic!("{key} is {other:?}"),
        };
        let text = |vertex, key: &str| {
            snapshot.get(vertex, key).unwrap().map(|value| value.as_str().expect("a text").to_owned())
        };
        for vertex in labelled(snapshot, "Owner") {
            let before = graph.owners.insert(number(vertex, "id"), text(vertex, "name"));
            assert_eq!(before, None, "an owner is there twice");
        }
        for vertex in labelled(snapshot, "Item") {
            let edges = snapshot.edges(vertex, Direction::Out, &["OF"]).unwrap_or_default();
            let owners = edges.into_iter().map(|(_, owner)| number(owner, "id")).collect();
            let before = graph.items.insert(number(vertex, "id"), (text(vertex, "title"), owners));
            assert_eq!(before, None, "an item is there twice");
        }
        graph
    }
}

/// The vertices of a label, which the database may not know yet.
fn labelled(snapshot: &evergraph::Snapshot, label: &str) -> Vec<evergraph::VertexId> {
    snapshot.vertices(Some(label)).unwrap_or_default()
}

/// Where a snapshot is, as its note says.
pub fn position(snapshot: &evergraph::Snapshot) -> Option<Position> {
    snapshot.note(POSITION_NOTE).map(|note| Position::decode(&note).unwrap())
}

/// How many vertices of `label` the newest snapshot has.
pub fn count(database: &Database, label: &str) -> usize {
    database.snapshot().vertices(Some(label)).unwrap().len()
}
