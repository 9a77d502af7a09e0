//! Check: a graph after a run is what clients were acknowledged, neither more nor less.
//!
//! ```text
//! vertices     those of the load and the added ones, without the dropped ones
//! edges        those of the load and the added ones, without the dropped ones and those that lost an end
//! properties   what somebody set last: with one client the last value, with several one of those that were set
//! ```
//!
//! And the database's own check: both sides of every edge, every entry of every index.

use crate::plan::{expect, wrong};
use crate::workload::lbv::graph::Made;
use crate::workload::lbv::query::{Draw, Population};
use evergraph::{EdgeId, ReadByName as _, Snapshot, Value, VertexId};
use evergraph_graph::error::Result;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::ops::ControlFlow;

/// The values that a property was given, in the order of one client; `None` where it was dropped.
type Written<T> = Vec<(T, &'static str, Option<Value>)>;

/// What one client was acknowledged.
#[derive(Clone, Debug)]
pub struct Acknowledged<V, E> {
    vertices: u64,
    edges: Vec<(V, V)>,
    /// Edges of a vertex that was added: it stays, this end may go.
    new_vertex_edges: Vec<V>,
    dropped_vertices: Vec<V>,
    dropped_edges: Vec<E>,
    on_vertices: Written<V>,
    on_edges: Written<E>,
}

impl<V, E> Default for Acknowledged<V, E> {
    fn default() -> Self {
        Self {
            vertices: 0,
            edges: Vec::new(),
            new_vertex_edges: Vec::new(),
            dropped_vertices: Vec::new(),
            dropped_edges: Vec::new(),
            on_vertices: Vec::new(),
            on_edges: Vec::new(),
        }
    }
}

impl<V: Copy, E: Copy> Acknowledged<V, E> {
    /// Notes `query`, which gave so many rows.
    pub fn note(&mut self, query: u8, draw: &Draw<V, E>, rows: usize) {
        let found = rows > 0;
        match query {
            2 => self.vertices += 1,
            3 | 4 if found => self.edges.push((draw.a, draw.b)),
            5 if found => self.on_vertices.push((draw.a, "mark", Some(draw.number.into()))),
            6 if found => self.on_edges.push((draw.edge, "mark", Some(draw.number.into()))),
            7 if found => {
                self.vertices += 1;
                self.new_vertex_edges.extend([draw.a, draw.b]);
            }
            16 if found => self.on_vertices.push((draw.a, "name", Some(draw.new_name().into()))),
            17 if found => self.on_edges.push((draw.edge, "since", Some(draw.number.into()))),
            18 => self.dropped_vertices.push(draw.a),
            19 => self.dropped_edges.extend(draw.dropped),
            20 => self.on_vertices.push((draw.a, "name", None)),
            21 => self.on_edges.push((draw.edge, "since", None)),
            _ => {}
        }
    }
}

/// What a graph has after all that clients were acknowledged.
pub struct Remainder<V, E> {
    dead: HashSet<V>,
    gone: HashSet<E>,
    /// How many vertices there are.
    pub vertices: u64,
    /// How many edges there are.
    pub edges: usize,
}

impl<V: Copy + Eq + Hash, E: Copy + Eq + Hash> Remainder<V, E> {
    /// Of a population whose edges have these `ends`.
    #[must_use]
    pub fn of(
        population: &Population<V, E>,
        clients: &[&Acknowledged<V, E>],
        ends: impl Fn(&E) -> [V; 2],
    ) -> Self {
        let all = || clients.iter().copied();
        let dead: HashSet<V> = all().flat_map(|client| &client.dropped_vertices).copied().collect();
        let gone: HashSet<E> = all().flat_map(|client| &client.dropped_edges).copied().collect();
        let added: u64 = all().map(|client| client.vertices).sum();
        let mut remainder = Self { vertices: population.vertices.len() as u64 + added, edges: 0, dead, gone };
        remainder.vertices -= remainder.dead.len() as u64;
        let kept = population.edges.iter().filter(|edge| remainder.stays(edge, ends(edge))).count();
        let lives = |vertex: &V| remainder.lives(vertex);
        let new = all().flat_map(|client| &client.edges);
        let new = new.filter(|(source, target)| lives(source) && lives(target)).count();
        let of_new = all().flat_map(|client| &client.new_vertex_edges).filter(|vertex| lives(vertex)).count();
        remainder.edges = kept + new + of_new;
        remainder
    }

    fn lives(&self, vertex: &V) -> bool {
        !self.dead.contains(vertex)
    }

    fn stays(&self, edge: &E, ends: [V; 2]) -> bool {
        !self.gone.contains(edge) && ends.iter().all(|end| self.lives(end))
    }
}

/// Holds what is there against what all clients were acknowledged.
///
/// # Errors
/// `corrupt`, saying what differs.
pub fn check(made: &Made, clients: &[&Acknowledged<VertexId, EdgeId>]) -> Result<()> {
    check_contents(&made.database.snapshot(), &made.population, clients, 0)?;
    let report = made.database.check(&mut |_, _, _| ControlFlow::Continue(()))?;
    if report.findings_count > 0 {
        return Err(wrong("evergraph", "its own check", &report.findings, "nothing"));
    }
    Ok(())
}

/// The same, without the database's own check, which a database on a cluster does not have; `others` vertices are not the clients'.
///
/// # Errors
/// `corrupt`, saying what differs.
pub fn check_contents(
    snapshot: &Snapshot,
    population: &Population<VertexId, EdgeId>,
    clients: &[&Acknowledged<VertexId, EdgeId>],
    others: u64,
) -> Result<()> {
    let ends = |edge: &EdgeId| [edge.source, edge.target];
    let remainder = Remainder::of(population, clients, ends);
    expect(
        "evergraph",
        "vertices",
        snapshot.gremlin("g.V().count()").one::<u64>()?,
        remainder.vertices + others,
    )?;
    expect("evergraph", "edges", snapshot.gremlin("g.E().count()").one::<usize>()?, remainder.edges)?;

    let vertices = clients.iter().map(|client| &client.on_vertices);
    properties(vertices, |vertex| remainder.lives(vertex), |vertex, key| snapshot.get(vertex, key))?;
    let edges = clients.iter().map(|client| &client.on_edges);
    properties(edges, |edge| remainder.stays(edge, ends(edge)), |edge, key| snapshot.get_edge(edge, key))
}

/// Every property that was written has a value that it was given: of each client's the last, unless another's came later.
fn properties<'a, T: Copy + Eq + Hash + std::fmt::Debug + 'a>(
    clients: impl Iterator<Item = &'a Written<T>>,
    stays: impl Fn(&T) -> bool,
    get: impl Fn(T, &str) -> Result<Option<Value>>,
) -> Result<()> {
    let mut written: HashMap<(T, &str), Vec<&Option<Value>>> = HashMap::new();
    for client in clients {
        let last: HashMap<(T, &str), &Option<Value>> =
            client.iter().map(|(item, key, value)| ((*item, *key), value)).collect();
        last.into_iter().for_each(|(at, value)| written.entry(at).or_default().push(value));
    }
    for ((item, key), values) in written {
        if stays(&item) {
            let found = get(item, key)?;
            if !values.contains(&&found) {
                return Err(wrong("evergraph", &format!("{key} of {item:?}"), found, values));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::workload::lbv::PURPOSE;
    use crate::workload::lbv::client::{Client, Workload};
    use crate::workload::lbv::graph::Shape;
    use evergraph::Isolation;
    use evergraph::generate::random::Random;

    #[test]
    fn whatever_differs_from_what_was_acknowledged_is_found() {
        let made = Shape::of(&Plan::smoke()).unwrap().make(1).unwrap();
        let mut client = Client::new(0, Random::new(1, PURPOSE, 0));
        let workload = Workload::new(&made.population, 20, Isolation::Serializable);
        for _ in 0..1000 {
            client.step(&made.database, &workload).unwrap();
        }
        check(&made, &[&client.acknowledged]).unwrap();
        let differing = |change: fn(&mut Acknowledged<VertexId, EdgeId>)| {
            let mut other = client.acknowledged.clone();
            change(&mut other);
            check(&made, &[&other]).unwrap_err().to_string()
        };
        type Change = fn(&mut Acknowledged<VertexId, EdgeId>);
        let cases: [(&str, Change); 8] = [
            ("answer, vertices:", |client| client.vertices += 1),
            ("answer, vertices:", |client| client.dropped_vertices.clear()),
            ("answer, edges:", |client| client.edges.clear()),
            ("answer, edges:", |client| client.new_vertex_edges.clear()),
            ("answer, edges:", |client| client.dropped_edges.clear()),
            (" of VertexId", |client| client.on_vertices.iter_mut().for_each(|(_, _, value)| *value = None)),
            ("answer, name of", |client| {
                client.on_vertices.retain(|(_, key, value)| *key == "name" && value.is_none())
            }),
            ("answer, ", |client| {
                client.on_edges.iter_mut().for_each(|(_, _, value)| *value = Some("other".into()))
            }),
        ];
        for (at, (expected, change)) in cases.into_iter().enumerate() {
            let found = differing(change);
            assert!(found.contains(expected), "case {at}: {found}");
        }
    }
}
