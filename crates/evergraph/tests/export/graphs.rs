//! Graphs: a random graph, put into a database, and what a database holds, in a form that compares.

use crate::values::{Kind, kind, name};
use evergraph::graph::transaction::Transaction as _;
use evergraph::{Database, Direction, GraphView, ReadByName, Value};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option::weighted;
use proptest::prelude::*;

/// A property that all vertices have, different in their label.
pub const ID: &str = "id";
/// A text that all vertices have, different in the graph. In comparisons they are known by both.
pub const CODE: &str = "code";

/// A graph that was made up.
#[derive(Clone, Debug)]
pub struct Graph {
    pub labels: Vec<String>,
    /// The unique keys of each label.
    pub unique: Vec<Vec<&'static str>>,
    pub types: Vec<String>,
    /// The properties that vertices and edges may have.
    pub keys: Vec<(String, Kind)>,
    /// The label, and a value for some of the keys.
    pub vertices: Vec<(usize, Vec<Option<Value>>)>,
    /// The type, both ends, and a value for some of the keys.
    pub edges: Vec<(usize, usize, usize, Vec<Option<Value>>)>,
    /// Whether vertices of two labels may have one id.
    pub shares_ids: bool,
}

/// Properties by key, their values as text that shows every digit and type.
pub type Properties = Vec<(String, String)>;

/// What a graph holds, sorted: equal graphs are equal lists.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Content {
    /// Label and properties.
    pub vertices: Vec<(String, Properties)>,
    /// Type, ids of the ends, properties.
    pub edges: Vec<(String, String, String, Properties)>,
}

/// Graphs with everything that a graph can have.
pub fn graph() -> impl Strategy<Value = Graph> {
    let names = || btree_set(name(), 1..4).prop_map(|names| names.into_iter().collect::<Vec<_>>());
    let keys = btree_map(name(), kind(), 1..4).prop_map(|mut keys| {
        keys.remove(ID);
        keys.remove(CODE);
        keys.into_iter().collect::<Vec<_>>()
    });
    (names(), names(), keys, 0..4_usize).prop_flat_map(move |(labels, types, keys, unique)| {
        let unique: Vec<Vec<&'static str>> = (0..labels.len())
            .map(|label| match (unique, label % 3) {
                (0, _) | (1, 0) => vec![ID],
                (2, _) | (1, 1) => vec![CODE],
                (3, 0) => vec![ID, CODE],
                _ => vec![],
            })
            .collect();
        let vertices = vec((0..labels.len(), values(&keys)), 0..10);
        (Just((labels, unique, types, keys.clone())), vertices).prop_flat_map(
            move |((labels, unique, types, keys), vertices)| {
                let ends = 0..vertices.len().max(1);
                let most = if vertices.is_empty() { 1 } else { 16 };
                let edges = vec((0..types.len(), ends.clone(), ends, values(&keys)), 0..most);
                (edges, any::<bool>()).prop_map(move |(edges, shares_ids)| Graph {
                    labels: labels.clone(),
                    unique: unique.clone(),
                    types: types.clone(),
                    keys: keys.clone(),
                    vertices: vertices.clone(),
                    edges,
                    shares_ids,
                })
            },
        )
    })
}

/// A value for each of `keys`, or none.
fn values(keys: &[(String, Kind)]) -> Vec<BoxedStrategy<Option<Value>>> {
    keys.iter().map(|(_, kind)| weighted(0.7, kind.values()).boxed()).collect()
}

impl Graph {
    /// The id of a vertex: negative ones among them.
    pub fn id(&self, vertex: usize) -> i64 {
        let of_its_label = |(label, _): &&(usize, _)| *label == self.vertices[vertex].0;
        let number = if self.shares_ids {
            self.vertices[..vertex].iter().filter(of_its_label).count()
        } else {
            vertex
        };
        number as i64 * 7 - 9
    }

    fn code(vertex: usize) -> String {
        format!(" {vertex},\"é\n")
    }

    /// The graph in a database.
    pub fn build(&self) -> Database {
        let db = Database::in_memory().unwrap();
        db.transact(|tx| {
            let tx = tx.by_id();
            for (key, kind) in &self.keys {
                let key = tx.key(key)?;
                for label in &self.labels {
                    let label = tx.label(label)?;
                    tx.declare_vertex_property(label, key, kind.value_type())?;
                }
                for edge_type in &self.types {
                    let edge_type = tx.edge_type(edge_type)?;
                    tx.declare_edge_property(edge_type, key, kind.value_type())?;
                }
            }
            Ok(())
        })
        .unwrap();
        db.transact(|tx| {
            let properties = |values: &[Option<Value>]| {
                let named = self.keys.iter().zip(values);
                named.filter_map(|((key, _), value)| Some((key.clone(), value.clone()?))).collect::<Vec<_>>()
            };
            let mut ids = Vec::new();
            for (vertex, (label, values)) in self.vertices.iter().enumerate() {
                let mut all = properties(values);
                all.push((ID.to_owned(), self.id(vertex).into()));
                all.push((CODE.to_owned(), Self::code(vertex).into()));
                let all: Vec<(&str, Value)> =
                    all.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
                ids.push(tx.add_vertex(&self.labels[*label], &all)?);
            }
            for (edge_type, source, target, values) in &self.edges {
                let all = properties(values);
                let all: Vec<(&str, Value)> =
                    all.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
                tx.add_edge(ids[*source], &self.types[*edge_type], ids[*target], &all)?;
            }
            Ok(())
        })
        .unwrap();
        for (label, keys) in self.labels.iter().zip(&self.unique) {
            keys.iter().for_each(|key| db.create_unique_index(label, key).unwrap());
        }
        db
    }
}

/// `properties` in an order of their own.
pub fn shown(properties: Vec<(String, Value)>) -> Properties {
    let mut shown: Vec<_> = properties.into_iter().map(|(key, value)| (key, format!("{value:?}"))).collect();
    shown.sort();
    shown
}

impl Content {
    /// What `db` holds.
    pub fn of(db: &Database) -> Self {
        let snapshot = db.snapshot();
        let catalogue = snapshot.catalogue();
        let mut content = Self::default();
        let id = |vertex| [ID, CODE].map(|key| format!("{:?}", snapshot.get(vertex, key).unwrap())).join(" ");
        for vertex in snapshot.vertices(None).unwrap() {
            let label = snapshot.label_of(vertex).unwrap().unwrap();
            content.vertices.push((label, shown(snapshot.properties(vertex).unwrap())));
            for (edge, target) in snapshot.edges(vertex, Direction::Out, &[]).unwrap() {
                let properties = shown(snapshot.edge_property_list(edge).unwrap());
                let edge_type = catalogue.edge_type_name(edge.edge_type).to_string();
                content.edges.push((edge_type, id(vertex), id(target), properties));
            }
        }
        content.sorted()
    }

    /// The same, sorted.
    pub fn sorted(mut self) -> Self {
        self.vertices.sort();
        self.edges.sort();
        self
    }
}
