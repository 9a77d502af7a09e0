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
use crate::workload::lbv::query::Draw;
use evergraph::{EdgeId, ReadByName as _, Value, VertexId};
use evergraph_graph::error::Result;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

/// The values that a property was given, in the order of one client; `None` where it was dropped.
type Written<T> = Vec<(T, &'static str, Option<Value>)>;

/// What one client was acknowledged.
#[derive(Clone, Default, Debug)]
pub struct Acknowledged {
    vertices: u64,
    edges: Vec<(VertexId, VertexId)>,
    /// Edges of a vertex that was added: it stays, this end may go.
    new_vertex_edges: Vec<VertexId>,
    dropped_vertices: Vec<VertexId>,
    dropped_edges: Vec<EdgeId>,
    on_vertices: Written<VertexId>,
    on_edges: Written<EdgeId>,
}

impl Acknowledged {
    /// Notes `query`, which gave so many rows.
    pub fn note(&mut self, query: u8, draw: &Draw, rows: usize) {
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

/// Holds what is there against what all clients were acknowledged.
///
/// # Errors
/// `corrupt`, saying what differs.
pub fn check(made: &Made, clients: &[&Acknowledged]) -> Result<()> {
    let snapshot = made.database.snapshot();
    let all = || clients.iter().copied();
    let dead: HashSet<VertexId> = all().flat_map(|client| &client.dropped_vertices).copied().collect();
    let gone: HashSet<EdgeId> = all().flat_map(|client| &client.dropped_edges).copied().collect();
    let added: u64 = all().map(|client| client.vertices).sum();
    let vertices = made.vertices.len() as u64 + added - dead.len() as u64;
    expect("evergraph", "vertices", snapshot.gremlin("g.V().count()").one::<u64>()?, vertices)?;

    let lives = |vertex: &VertexId| !dead.contains(vertex);
    let joins = |source: &VertexId, target: &VertexId| lives(source) && lives(target);
    let stays = |edge: &&EdgeId| !gone.contains(edge) && joins(&edge.source, &edge.target);
    let kept = made.edges.iter().filter(stays).count();
    let new = all().flat_map(|client| &client.edges).filter(|(source, target)| joins(source, target)).count();
    let of_new = all().flat_map(|client| &client.new_vertex_edges).filter(|vertex| lives(vertex)).count();
    let edges = snapshot.gremlin("g.E().count()").one::<usize>()?;
    expect("evergraph", "edges", edges, kept + new + of_new)?;

    let vertices = all().map(|client| &client.on_vertices);
    properties(vertices, lives, |vertex, key| snapshot.get(vertex, key))?;
    let edges = all().map(|client| &client.on_edges);
    properties(edges, |edge| stays(&edge), |edge, key| snapshot.get_edge(edge, key))?;

    let report = made.database.check(&mut |_, _, _| ControlFlow::Continue(()))?;
    if report.findings_count > 0 {
        return Err(wrong("evergraph", "its own check", &report.findings, "nothing"));
    }
    Ok(())
}

/// Every property that was written has a value that it was given: of each client's the last, unless another's came later.
fn properties<'a, T: Copy + Eq + std::hash::Hash + std::fmt::Debug + 'a>(
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
    use crate::workload::lbv::graph::Shape;
    use crate::workload::lbv::{Client, PURPOSE};
    use evergraph::Isolation;
    use evergraph::generate::random::Random;

    #[test]
    fn whatever_differs_from_what_was_acknowledged_is_found() {
        let made = Shape::of(&Plan::smoke()).unwrap().make(1).unwrap();
        let mut client = Client::new(0, Random::new(1, PURPOSE, 0));
        for _ in 0..1000 {
            client.step(&made, 20, Isolation::Serializable).unwrap();
        }
        check(&made, &[&client.acknowledged]).unwrap();
        let differing = |change: fn(&mut Acknowledged)| {
            let mut other = client.acknowledged.clone();
            change(&mut other);
            check(&made, &[&other]).unwrap_err().to_string()
        };
        type Change = fn(&mut Acknowledged);
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
