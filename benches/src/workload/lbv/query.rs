//! Query: the texts of the micro-benchmarks, and the values that a client draws for one.
//!
//! ```text
//! Q2  a vertex        Q11  vertices by a property     Q18  drop a vertex             Q22  sources
//! Q3  an edge         Q12  edges by a property        Q19  drop an edge              Q23  targets
//! Q4  with property   Q13  edges of a type            Q20  a vertex' property        Q24  both, of one type
//! Q5  on a vertex     Q14  a vertex by id             Q21  an edge's property        Q25  types of edges in
//! Q6  on an edge      Q15  an edge by id              Q16  change a vertex' property Q26  types of edges out
//! Q7  vertex, edges                                   Q17  change an edge's property Q27  types of all edges
//! ```

use crate::workload::lbv::graph::{NAMES, SINCE};
use evergraph::generate::random::Random;
use evergraph::gremlin::query::Query;
use evergraph::{EdgeId, Value, VertexId};
use evergraph_graph::error::{Error, Result};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

/// Queries that read.
pub const READS: [u8; 11] = [11, 12, 13, 14, 15, 22, 23, 24, 25, 26, 27];
/// Queries that write.
pub const WRITES: [u8; 12] = [2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21];
/// Numbers that a client gives to what it writes.
const NUMBERS: i64 = 1 << 40;

/// A query as text.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// Its Gremlin. One that adds or sets gives a row if it found what it is about.
    pub gremlin: &'static str,
    /// The variables in it.
    pub variables: &'static [&'static str],
}

/// The text of a query.
///
/// # Panics
/// For a number that is none.
#[must_use]
pub const fn text(query: u8) -> Text {
    let (gremlin, variables): (_, &[&str]) = match query {
        2 => ("g.addV(label).property('uid', uid).property('name', name)", &["label", "uid", "name"]),
        3 => ("g.V(a).as('a').V(b).addE(type).from('a')", &["a", "b", "type"]),
        4 => (
            "g.V(a).as('a').V(b).addE(type).from('a').property('since', since)",
            &["a", "b", "type", "since"],
        ),
        5 => ("g.V(a).property('mark', number)", &["a", "number"]),
        6 => ("g.E(edge).property('mark', number)", &["edge", "number"]),
        7 => (
            "g.V(a).as('a').V(b).as('b').addV(label).property('uid', uid).property('name', name).as('new')\
             .addE(type).to('a').select('new').addE(type).to('b')",
            &["a", "b", "label", "uid", "name", "type"],
        ),
        11 => ("g.V().has('name', name).count()", &["name"]),
        12 => ("g.E().has('since', since).count()", &["since"]),
        13 => ("g.E().hasLabel(type).count()", &["type"]),
        14 => ("g.V(a)", &["a"]),
        15 => ("g.E(edge)", &["edge"]),
        16 => ("g.V(a).property('name', new_name)", &["a", "new_name"]),
        17 => ("g.E(edge).property('since', number)", &["edge", "number"]),
        18 => ("g.V(a).drop()", &["a"]),
        19 => ("g.E(dropped).drop()", &["dropped"]),
        20 => ("g.V(a).properties('name').drop()", &["a"]),
        21 => ("g.E(edge).properties('since').drop()", &["edge"]),
        22 => ("g.V(a).in()", &["a"]),
        23 => ("g.V(a).out()", &["a"]),
        24 => ("g.V(a).both(type)", &["a", "type"]),
        25 => ("g.V(a).inE().label().dedup()", &["a"]),
        26 => ("g.V(a).outE().label().dedup()", &["a"]),
        27 => ("g.V(a).bothE().label().dedup()", &["a"]),
        _ => panic!("no such query"),
    };
    Text { gremlin, variables }
}

/// What there is to ask about, in the words of a database or of its clients, and what clients share.
pub struct Population<V, E> {
    /// Labels.
    pub labels: Vec<String>,
    /// Edge types.
    pub edge_types: Vec<String>,
    /// Vertices of the load.
    pub vertices: Vec<V>,
    /// Edges of the load.
    pub edges: Vec<E>,
    /// Places of edges in the order in which they are dropped.
    drops: Vec<u32>,
    /// How many were.
    next_drop: AtomicUsize,
    /// The next vertex' number.
    next_uid: AtomicI64,
    /// The next value that is written.
    next_number: AtomicI64,
}

impl<V, E> Population<V, E> {
    /// What a load of these vertices and edges left, whose vertices have the numbers up to theirs.
    #[must_use]
    pub fn new(
        labels: Vec<String>,
        edge_types: Vec<String>,
        vertices: Vec<V>,
        edges: Vec<E>,
        random: &mut Random,
    ) -> Self {
        Self {
            drops: random.permutation(edges.len() as u32),
            next_drop: AtomicUsize::new(0),
            next_uid: AtomicI64::new(vertices.len() as i64),
            next_number: AtomicI64::new(0),
            labels,
            edge_types,
            vertices,
            edges,
        }
    }
}

/// What a client asks a query about.
pub struct Draw<V, E> {
    /// A vertex of the load.
    pub a: V,
    /// Another, or the same.
    pub b: V,
    /// An edge of the load.
    pub edge: E,
    /// An edge of the load that nobody else drops.
    pub dropped: Option<E>,
    /// A number that no other write has.
    pub number: i64,
    /// The label of a new vertex.
    pub label: String,
    /// A type of edges.
    pub edge_type: String,
    /// A name that vertices may have.
    pub name: String,
    /// A number that edges may have.
    pub since: i64,
    uid: Option<i64>,
}

impl<V: Copy, E: Copy> Draw<V, E> {
    /// What `client` asks `query` about.
    ///
    /// # Errors
    /// `invalid` if all edges were dropped.
    pub fn new(query: u8, of: &Population<V, E>, client: usize, random: &mut Random) -> Result<Self> {
        let mut below = |end: usize| random.below(end as u64) as usize;
        let vertices = &of.vertices;
        let [a, b] = [(); 2].map(|()| vertices[below(vertices.len())]);
        let edge = of.edges[below(of.edges.len())];
        // Relaxed: they only keep clients apart.
        let dropped = if query == 19 {
            let next = of.next_drop.fetch_add(1, Ordering::Relaxed);
            let edge = of.drops.get(next).map(|at| of.edges[*at as usize]);
            Some(edge.ok_or_else(|| Error::invalid("a run dropped all edges of its graph"))?)
        } else {
            None
        };
        let uid = matches!(query, 2 | 7).then(|| of.next_uid.fetch_add(1, Ordering::Relaxed));
        Ok(Self {
            a,
            b,
            edge,
            dropped,
            uid,
            number: client as i64 * NUMBERS + of.next_number.fetch_add(1, Ordering::Relaxed),
            label: of.labels[below(of.labels.len())].clone(),
            edge_type: of.edge_types[below(of.edge_types.len())].clone(),
            name: format!("name {}", below(vertices.len() / NAMES)),
            since: below(SINCE as usize) as i64,
        })
    }

    /// The name that a vertex gets.
    #[must_use]
    pub fn new_name(&self) -> String {
        format!("new {}", self.number)
    }

    /// The value of a variable that names no vertex and no edge.
    ///
    /// # Panics
    /// For the number of a new vertex of a query without one.
    #[must_use]
    pub fn value(&self, variable: &str) -> Value {
        match variable {
            "uid" => self.uid.expect("a query with a new vertex has its number").into(),
            "label" => self.label.as_str().into(),
            "type" => self.edge_type.as_str().into(),
            "name" => self.name.as_str().into(),
            "new_name" => self.new_name().as_str().into(),
            "since" => self.since.into(),
            _ => self.number.into(),
        }
    }
}

impl Draw<VertexId, EdgeId> {
    /// `query` with the variables of `text`.
    pub fn bind<'q, G>(&self, text: Text, query: Query<'q, G>) -> Query<'q, G> {
        text.variables.iter().fold(query, |query, variable| match *variable {
            "a" => query.bind("a", self.a),
            "b" => query.bind("b", self.b),
            "edge" => query.bind("edge", self.edge),
            "dropped" => query.bind("dropped", self.dropped),
            plain => query.bind(plain, self.value(plain)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_query_is_told_the_variables_in_it_and_no_others() {
        const ALL: [&str; 11] =
            ["a", "b", "edge", "dropped", "uid", "label", "type", "name", "new_name", "since", "number"];
        for query in READS.iter().chain(&WRITES) {
            let Text { gremlin, variables } = text(*query);
            let has = |name: &str| {
                let marks = [["(", ")"], ["(", ","], [" ", ")"], [" ", ","]];
                marks.iter().any(|[before, after]| gremlin.contains(&format!("{before}{name}{after}")))
            };
            let found: Vec<&str> = ALL.into_iter().filter(|name| has(name)).collect();
            let mut told = variables.to_vec();
            told.sort_by_key(|name| ALL.iter().position(|known| known == name));
            assert_eq!(found, told, "Q{query}");
        }
    }
}
