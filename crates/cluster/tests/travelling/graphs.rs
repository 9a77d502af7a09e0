//! Graphs: the same random graph on a cluster and in one store.

use crate::nodes::ClusterStore;
use evergraph_cluster::seeded::SeededChance;
use evergraph_graph::error::Result;
use evergraph_graph::id::VertexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Transaction;
use evergraph_graph::value::Value;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use std::sync::Arc;

pub const LABELS: [&str; 2] = ["person", "city"];
pub const TYPES: [&str; 2] = ["knows", "likes"];

/// A graph as it is described, of vertices and edges by number.
pub struct Described {
    /// Label, weight.
    vertices: Vec<(usize, Option<i64>)>,
    /// Source, type, target, weight.
    edges: Vec<(usize, usize, usize, Option<i64>)>,
}

impl Described {
    pub fn random(chance: &mut SeededChance, vertices: u64, edges: u64) -> Self {
        let weight = |chance: &mut SeededChance| (chance.below(3) > 0).then(|| chance.below(7) as i64);
        let vertices: Vec<_> = (0..vertices).map(|_| (chance.below(2) as usize, weight(chance))).collect();
        let count = vertices.len() as u64;
        let edge = |chance: &mut SeededChance| {
            // A few vertices have most edges.
            let end = |chance: &mut SeededChance| {
                let end = chance.below(count);
                (if chance.below(2) == 0 { end % 5 } else { end }) as usize
            };
            (end(chance), chance.below(2) as usize, end(chance), weight(chance))
        };
        let edges = (0..edges).map(|_| edge(chance)).collect();
        Self { vertices, edges }
    }

    /// Sources and targets of all edges, by number.
    pub fn ends(&self) -> impl Iterator<Item = (usize, usize)> {
        self.edges.iter().map(|(source, _, target, _)| (*source, *target))
    }

    /// Adds vertices of a part of all, and returns them.
    fn add_vertices(
        &self,
        part: usize,
        of: usize,
        to: &mut impl Transaction,
    ) -> Result<Vec<(usize, VertexId)>> {
        let mut made = Vec::new();
        let weight_key = to.key("w")?;
        let name_key = to.key("name")?;
        for (number, (label, weight)) in
            self.vertices.iter().enumerate().filter(|(number, _)| number % of == part)
        {
            let label = to.label(LABELS[*label])?;
            let mut properties = vec![(name_key, Value::from(format!("n{}", number % 9)))];
            properties.extend(weight.map(|weight| (weight_key, Value::I64(weight))));
            made.push((number, to.add_vertex(label, &properties)?));
        }
        Ok(made)
    }

    fn add_edges(&self, vertices: &[VertexId], to: &mut impl Transaction) -> Result<()> {
        let weight_key = to.key("w")?;
        for (source, edge_type, target, weight) in &self.edges {
            let edge_type = to.edge_type(TYPES[*edge_type])?;
            let properties: Vec<_> = weight.iter().map(|weight| (weight_key, Value::I64(*weight))).collect();
            to.add_edge(vertices[*source], edge_type, vertices[*target], &properties)?;
        }
        Ok(())
    }

    /// Builds it by several transactions, so that it lies in several partitions.
    pub fn on_cluster(&self, store: &ClusterStore) -> Timestamp {
        let mut vertices = vec![VertexId(0); self.vertices.len()];
        let parts = 6;
        for part in 0..parts {
            let made = store.transact(|to| self.add_vertices(part, parts, to)).unwrap();
            made.into_iter().for_each(|(number, vertex)| vertices[number] = vertex);
        }
        store.transact(|to| self.add_edges(&vertices, to)).unwrap();
        let snapshot = store.snapshot();
        evergraph_graph::view::GraphView::timestamp(&snapshot)
    }

    /// Builds it in one store.
    pub fn in_one(&self) -> OpenStore<MemoryEngine> {
        let options = OpenOptions {
            durability: Durability::None,
            environment: Environment::simulated(7),
            ..OpenOptions::default()
        };
        let store = OpenStore::open(Arc::new(MemoryDirectory::new("one")), &options).unwrap();
        let mut vertices = vec![VertexId(0); self.vertices.len()];
        let made = store.store().transact(|to| self.add_vertices(0, 1, to)).unwrap();
        made.into_iter().for_each(|(number, vertex)| vertices[number] = vertex);
        store.store().transact(|to| self.add_edges(&vertices, to)).unwrap();
        store
    }
}
