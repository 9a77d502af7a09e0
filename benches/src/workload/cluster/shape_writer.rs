//! Shape writer: the graph of the micro-benchmarks, written by transactions: a cluster takes no bulk loads.

use crate::workload::lbv::graph::{NAMES, SINCE, Shape};
use crate::workload::lbv::query::Population;
use evergraph::generate::random::Random;
use evergraph::{Database, EdgeId, IndexOptions, VertexId};
use evergraph_graph::error::Result;
use std::collections::BTreeSet;
use std::thread;

const PURPOSE: u64 = 412;
/// Vertices of a transaction: few enough that they lie in all partitions.
const VERTICES: usize = 32;
/// Edges of a transaction.
const EDGES: usize = 200;
/// Transactions that are under way at once.
const WRITERS: usize = 4;

/// Vertices and edges of a graph, by their ids in a database.
pub type Written = Population<VertexId, EdgeId>;

/// By what a cluster places vertices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlacedBy {
    /// Those of a transaction lie together: nothing is known to be unique before they are there.
    Transaction,
    /// By the hash of their `uid`, which is unique from the beginning.
    Value,
}

/// Writes `shape` with its properties and indexes, as [`Shape::make`] makes them.
///
/// # Errors
/// What the database says.
pub fn write(database: &Database, shape: &Shape, placed_by: PlacedBy, seed: u64) -> Result<Written> {
    if placed_by == PlacedBy::Value {
        shape.labels.iter().try_for_each(|(label, _)| database.create_unique_index(label, "uid"))?;
    }
    let mut random = Random::new(seed, PURPOSE, 0);
    let all: u64 = shape.labels.iter().map(|(_, vertices)| u64::from(*vertices)).sum();
    let (names, mut uid) = (all / NAMES as u64, 0_i64);
    let mut vertices: Vec<Vec<VertexId>> = Vec::new();
    for (label, count) in &shape.labels {
        let properties: Vec<(i64, String)> =
            (uid..).take(*count as usize).map(|uid| (uid, format!("name {}", random.below(names)))).collect();
        uid += i64::from(*count);
        vertices.push(in_turn(&properties, VERTICES, |properties| {
            database.transact(|transaction| {
                let add = |(uid, name): &(i64, String)| {
                    transaction.add_vertex(label, &[("uid", (*uid).into()), ("name", name.as_str().into())])
                };
                properties.iter().map(add).collect()
            })
        })?);
    }
    let mut edges: Vec<EdgeId> = Vec::new();
    for ((edge_type, from, to), pairs) in &shape.edges {
        let pairs: Vec<(VertexId, VertexId, i64)> = pairs
            .iter()
            .map(|(source, target)| {
                let since = random.below(SINCE as u64) as i64;
                (vertices[*from][*source as usize], vertices[*to][*target as usize], since)
            })
            .collect();
        edges.extend(in_turn(&pairs, EDGES, |pairs| {
            database.transact(|transaction| {
                let add = |(source, target, since): &(VertexId, VertexId, i64)| {
                    transaction.add_edge(*source, edge_type, *target, &[("since", (*since).into())])
                };
                pairs.iter().map(add).collect()
            })
        })?);
    }
    let edge_types: BTreeSet<&String> = shape.edges.keys().map(|(edge_type, ..)| edge_type).collect();
    for (label, _) in &shape.labels {
        database.create_unique_index(label, "uid")?;
        database.create_index(&IndexOptions::on_label(label, "name"))?;
    }
    for edge_type in &edge_types {
        database.create_index(&IndexOptions::on_edges(edge_type, "since"))?;
    }
    let labels = shape.labels.iter().map(|(label, _)| label.clone()).collect();
    let edge_types = edge_types.into_iter().cloned().collect();
    Ok(Population::new(labels, edge_types, vertices.concat(), edges, &mut random))
}

/// What `write` gives for each `size` of `of`, in their order; the first alone, the others several at a time.
///
/// # Errors
/// Those of `write`.
pub(super) fn in_turn<T: Sync, W: Send + Clone>(
    of: &[T],
    size: usize,
    write: impl Fn(&[T]) -> Result<Vec<W>> + Sync,
) -> Result<Vec<W>> {
    let (first, others) = of.split_at(size.min(of.len()));
    // It brings what all of them need: names.
    let mut written = write(first)?;
    let chunks: Vec<&[T]> = others.chunks(size).collect();
    let parts = thread::scope(|scope| {
        let write = &write;
        let each = chunks.len().div_ceil(WRITERS).max(1);
        let running: Vec<_> = chunks
            .chunks(each)
            .map(|chunks| {
                scope.spawn(move || chunks.iter().map(|chunk| write(chunk)).collect::<Result<Vec<_>>>())
            })
            .collect();
        let joined =
            running.into_iter().map(|thread| thread.join().expect("a panic was printed by its thread"));
        joined.collect::<Result<Vec<_>>>()
    })?;
    written.extend(parts.into_iter().flatten().flatten());
    Ok(written)
}
