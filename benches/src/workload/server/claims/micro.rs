//! Micro: Lissandrini's queries as servers get them, in Gremlin and in Cypher, and what each should find at first.
//!
//! ```text
//! embedded (lbv)              in Gremlin                               in Cypher
//! g.V(a)                      g.V().has('uid', a)                      MATCH (a:Vertex {uid: $a})
//! g.E(edge)                   g.E().has('eid', edge)                   MATCH ()-[e:TYPE {eid: $edge}]->()
//! a row if it was found       .count() behind what adds or sets        RETURN count(*)
//! ```
//!
//! Servers give ids of their own, so that vertices and edges are told by keys, which every server has an index on. Cypher
//! takes no parameter for a label or a type, and finds an edge by an index of its type alone.

use crate::workload::lbv::graph::{NAMES, SINCE, Shape};
use crate::workload::lbv::query::{self, Draw, Population, WRITES};
use crate::workload::property_graph::{
    Column, EdgeRows, IndexedKeys, PropertyGraph, Uniqueness, VertexRows, labels_in_cypher,
};
use evergraph::Value;
use evergraph::generate::random::Random;
use evergraph_graph::value::ValueType;
use std::collections::BTreeSet;

const PURPOSE: u64 = 432;
/// The label of all vertices where one may have several.
const VERTEX: &str = "Vertex";

/// An edge of the load.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EdgeKey {
    /// Its number.
    pub eid: i64,
    /// The place of its type.
    pub edge_type: usize,
    /// The number of the vertex where it begins.
    pub source: i64,
    /// Where it ends.
    pub target: i64,
    since: i64,
}

/// What a client asks a query about, by keys.
pub type KeyDraw = Draw<i64, EdgeKey>;

/// The graph of the mixes, before a run.
pub struct MicroGraph {
    /// What servers load.
    pub graph: PropertyGraph,
    labels: Vec<String>,
    edge_types: Vec<String>,
    names: Vec<String>,
    edges: Vec<EdgeKey>,
}

impl MicroGraph {
    /// Of a shape, without its loops, which Cypher sees once in both directions and Gremlin twice.
    #[must_use]
    pub fn new(shape: &Shape, seed: u64) -> Self {
        let mut random = Random::new(seed, PURPOSE, 0);
        let all: u32 = shape.labels.iter().map(|(_, vertices)| vertices).sum();
        let share = u64::from(all) / NAMES as u64;
        let names: Vec<String> = (0..all).map(|_| format!("name {}", random.below(share))).collect();
        let firsts: Vec<u32> = shape
            .labels
            .iter()
            .scan(0, |next, (_, vertices)| Some(std::mem::replace(next, *next + vertices)))
            .collect();
        let types: BTreeSet<&String> = shape.edges.keys().map(|(edge_type, _, _)| edge_type).collect();
        let edge_types: Vec<String> = types.into_iter().cloned().collect();
        let (mut graph, mut edges) = (PropertyGraph::default(), Vec::new());
        for ((label, vertices), first) in shape.labels.iter().zip(&firsts) {
            let numbers = *first..*first + *vertices;
            let columns = vec![
                column("uid", ValueType::I64, numbers.clone().map(|uid| i64::from(uid).into())),
                column("name", ValueType::String, numbers.map(|uid| names[uid as usize].as_str().into())),
            ];
            let (label, rows) = (label.clone(), *vertices as usize);
            graph.vertices.push(VertexRows { label, also: Some(VERTEX), rows, columns });
        }
        for ((edge_type, source, target), ends) in &shape.edges {
            let at = edge_types.iter().position(|known| known == edge_type).unwrap_or_default();
            let begin = edges.len();
            let is_loop = |(from, to): &&(u32, u32)| source == target && from == to;
            let ends: Vec<(u32, u32)> = ends.iter().filter(|ends| !is_loop(ends)).copied().collect();
            edges.extend(ends.iter().zip(begin as i64..).map(|((from, to), eid)| EdgeKey {
                eid,
                edge_type: at,
                source: i64::from(firsts[*source] + from),
                target: i64::from(firsts[*target] + to),
                since: random.below(SINCE as u64) as i64,
            }));
            let new = &edges[begin..];
            let columns = vec![
                column("eid", ValueType::I64, new.iter().map(|edge| edge.eid.into())),
                column("since", ValueType::I64, new.iter().map(|edge| edge.since.into())),
            ];
            let (edge_type, source, target) = (edge_type.clone(), *source, *target);
            graph.edges.push(EdgeRows { edge_type, source, target, ends, columns });
        }
        let labels: Vec<String> = shape.labels.iter().map(|(label, _)| label.clone()).collect();
        let keys = [("uid", Uniqueness::Unique), ("name", Uniqueness::Shared)];
        let of_label = |label: &String| keys.map(|(key, uniqueness)| (label.clone(), key, uniqueness));
        let of_type = |edge_type: &String| ["eid", "since"].map(|key| (edge_type.clone(), key));
        graph.indexed = IndexedKeys {
            vertices: labels.iter().flat_map(of_label).collect(),
            edges: edge_types.iter().flat_map(of_type).collect(),
        };
        Self { graph, labels, edge_types, names, edges }
    }

    /// What a run may ask about.
    #[must_use]
    pub fn population(&self, seed: u64) -> Population<i64, EdgeKey> {
        let vertices = (0..self.names.len() as i64).collect();
        let mut random = Random::new(seed, PURPOSE, 1);
        let (labels, types) = (self.labels.clone(), self.edge_types.clone());
        Population::new(labels, types, vertices, self.edges.clone(), &mut random)
    }

    /// How many vertices, edges or types the read `query` finds before anything is written.
    #[must_use]
    pub fn expected(&self, query: u8, draw: &KeyDraw) -> usize {
        let count = |has: &dyn Fn(&EdgeKey) -> bool| self.edges.iter().filter(|edge| has(edge)).count();
        let types = |has: &dyn Fn(&EdgeKey) -> bool| {
            let of = self.edges.iter().filter(|edge| has(edge)).map(|edge| edge.edge_type);
            of.collect::<BTreeSet<usize>>().len()
        };
        let is_typed = |edge: &EdgeKey| self.edge_types[edge.edge_type] == draw.edge_type;
        match query {
            11 => self.names.iter().filter(|name| **name == draw.name).count(),
            12 => count(&|edge| edge.since == draw.since),
            13 => count(&is_typed),
            22 => count(&|edge| edge.target == draw.a),
            23 => count(&|edge| edge.source == draw.a),
            24 => count(&|edge| is_typed(edge) && [edge.source, edge.target].contains(&draw.a)),
            25 => types(&|edge| edge.target == draw.a),
            26 => types(&|edge| edge.source == draw.a),
            27 => types(&|edge| [edge.source, edge.target].contains(&draw.a)),
            _ => 1,
        }
    }

    /// The query in Gremlin.
    #[must_use]
    pub fn gremlin(query: u8, wanted: Wanted) -> String {
        let mut text = query::text(query).gremlin.to_owned();
        for (ours, keyed) in [
            ("V(a)", "V().has('uid', a)"),
            ("V(b)", "V().has('uid', b)"),
            ("E(edge)", "E().has('eid', edge)"),
            ("E(dropped)", "E().has('eid', dropped)"),
        ] {
            text = text.replace(ours, keyed);
        }
        let is_counted = text.ends_with(".count()") || text.ends_with(".drop()");
        if !is_counted && (wanted == Wanted::Count || WRITES.contains(&query)) {
            text += ".count()";
        }
        text
    }

    /// The query in Cypher, for what is drawn.
    #[must_use]
    pub fn cypher(&self, query: u8, draw: &KeyDraw, wanted: Wanted) -> String {
        let of = |edge: Option<&EdgeKey>| edge.map_or("", |edge| self.edge_types[edge.edge_type].as_str());
        let (edge, dropped, new) = (of(Some(&draw.edge)), of(draw.dropped.as_ref()), &draw.edge_type);
        let label = labels_in_cypher(&draw.label, Some(VERTEX));
        let [a, b] = ["a", "b"].map(|name| format!("MATCH ({name}:{VERTEX} {{uid: ${name}}})"));
        let edge = format!("MATCH ()-[e:{edge} {{eid: $edge}}]->()");
        let (body, rows) = match query {
            2 => (format!("CREATE ({label} {{uid: $uid, name: $name}})"), ""),
            3 => (format!("{a} {b} CREATE (a)-[:{new}]->(b)"), ""),
            4 => (format!("{a} {b} CREATE (a)-[:{new} {{since: $since}}]->(b)"), ""),
            5 => (format!("{a} SET a.mark = $number"), ""),
            6 => (format!("{edge} SET e.mark = $number"), ""),
            7 => {
                let vertex = format!("CREATE (v{label} {{uid: $uid, name: $name}})");
                (format!("{a} {b} {vertex} CREATE (v)-[:{new}]->(a) CREATE (v)-[:{new}]->(b)"), "")
            }
            11 => (format!("MATCH (v:{VERTEX} {{name: $name}})"), ""),
            12 => {
                let of_type = |edge_type| format!("MATCH ()-[e:{edge_type} {{since: $since}}]->() RETURN e");
                let all: Vec<String> = self.edge_types.iter().map(of_type).collect();
                (format!("CALL () {{ {} }}", all.join(" UNION ALL ")), "")
            }
            13 => (format!("MATCH ()-[e:{new}]->()"), ""),
            14 => (a, "a"),
            15 => (edge, "e"),
            16 => (format!("{a} SET a.name = $new_name"), ""),
            17 => (format!("{edge} SET e.since = $number"), ""),
            18 => return format!("{a} DETACH DELETE a"),
            19 => return format!("MATCH ()-[e:{dropped} {{eid: $dropped}}]->() DELETE e"),
            20 => return format!("{a} REMOVE a.name"),
            21 => return format!("{edge} REMOVE e.since"),
            22 => (format!("{a} MATCH (a)<--(v)"), "v"),
            23 => (format!("{a} MATCH (a)-->(v)"), "v"),
            24 => (format!("{a} MATCH (a)-[:{new}]-(v)"), "v"),
            25 => (format!("{a} MATCH (a)<-[e]-() WITH DISTINCT type(e) AS t"), "t"),
            26 => (format!("{a} MATCH (a)-[e]->() WITH DISTINCT type(e) AS t"), "t"),
            _ => (format!("{a} MATCH (a)-[e]-() WITH DISTINCT type(e) AS t"), "t"),
        };
        let wants_rows = wanted == Wanted::Rows && !rows.is_empty();
        format!("{body} RETURN {}", if wants_rows { rows } else { "count(*)" })
    }
}

/// What of a query is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// What it asks for.
    Rows,
    /// How much that is.
    Count,
}

/// The values of the variables of `query`.
#[must_use]
pub fn variables(query: u8, draw: &KeyDraw) -> Vec<(&'static str, Value)> {
    let value = |variable: &&'static str| {
        let value = match *variable {
            "a" => draw.a.into(),
            "b" => draw.b.into(),
            "edge" => draw.edge.eid.into(),
            "dropped" => draw.dropped.map_or(-1, |edge| edge.eid).into(),
            plain => draw.value(plain),
        };
        (*variable, value)
    };
    query::text(query).variables.iter().map(value).collect()
}

fn column(key: &str, value_type: ValueType, values: impl Iterator<Item = Value>) -> Column {
    Column { key: key.to_owned(), value_type, values: values.map(Some).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::workload::lbv::query::READS;
    use evergraph::Database;

    #[test]
    fn texts_by_keys_name_no_ids_and_an_embedded_database_finds_what_is_expected() {
        let micro = MicroGraph::new(&Shape::of(&Plan::smoke()).unwrap(), 1);
        let folder = tempfile::tempdir().unwrap();
        micro.graph.make_database(&folder.path().join("micro.eg")).unwrap();
        let database = Database::open(folder.path().join("micro.eg")).unwrap();
        let (population, mut random) = (micro.population(1), Random::new(1, 1, 1));
        for query in READS {
            let text = MicroGraph::gremlin(query, Wanted::Count);
            for id in ["V(a", "V(b", "E(e", "E(d"] {
                assert!(!text.contains(id), "Q{query}: {text}");
            }
            let mut sum = 0;
            for _ in 0..30 {
                let draw = KeyDraw::new(query, &population, 0, &mut random).unwrap();
                let ask = variables(query, &draw).into_iter();
                let ask = ask.fold(database.gremlin(&text), |text, (name, value)| text.bind(name, value));
                let expected = micro.expected(query, &draw);
                assert_eq!(ask.one::<usize>().unwrap(), expected, "Q{query}");
                sum += expected;
            }
            assert!(sum > 0, "Q{query} finds nothing");
        }
    }

    #[test]
    fn cypher_has_the_parameters_of_the_query_and_no_others() {
        let micro = MicroGraph::new(&Shape::of(&Plan::smoke()).unwrap(), 1);
        let (population, mut random) = (micro.population(1), Random::new(1, 1, 1));
        for query in READS.into_iter().chain(WRITES) {
            let draw = KeyDraw::new(query, &population, 0, &mut random).unwrap();
            let text = micro.cypher(query, &draw, Wanted::Rows);
            let found = text.split('$').skip(1).map(|rest| {
                rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap()
            });
            let found: BTreeSet<&str> = found.collect();
            // Labels and types are in the text.
            let known = query::text(query).variables.iter().copied();
            let known = known.filter(|name| !["label", "type"].contains(name)).collect::<BTreeSet<&str>>();
            assert_eq!(found, known, "Q{query}: {text}");
        }
    }
}
