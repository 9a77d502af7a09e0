//! Graph: a database in memory, for tests to run algorithms on.

use evergraph_algorithms::control::Control;
use evergraph_algorithms::scope::Scope;
use evergraph_analysis::algorithm::Algorithm;
use evergraph_analysis::answer::Answer;
use evergraph_analysis::arguments::Arguments;
use evergraph_analysis::input::{Caller, Input};
use evergraph_analysis::snapshot::Snapshot;
use evergraph_engines::engine::AnyEngine;
use evergraph_graph::budget::Budget;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{Direction, KeyId, VertexId};
use evergraph_graph::topology::{Projection, Topology as _};
use evergraph_graph::transaction::Transaction;
use evergraph_graph::value::Value;
use evergraph_graph::view::{Freeze, GraphView};
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use std::sync::Arc;

/// A graph whose edges weigh 1.
pub struct Graph {
    snapshot: Snapshot,
}

impl Graph {
    /// Vertices from 0 on, and edges between them.
    pub fn new(vertices: u32, edges: &[(u32, u32)]) -> Self {
        let options = OpenOptions { create: true, durability: Durability::None, ..OpenOptions::default() };
        let open = OpenStore::<AnyEngine>::open(Arc::new(MemoryDirectory::new("graph")), &options).unwrap();
        let mut transaction = open.store().begin();
        let (label, edge_type) = (transaction.label("V").unwrap(), transaction.edge_type("E").unwrap());
        let weight = transaction.key("weight").unwrap();
        for _ in 0..vertices {
            transaction.add_vertex(label, &[]).unwrap();
        }
        for (source, target) in edges {
            let (source, target) = (VertexId(*source), VertexId(*target));
            transaction.add_edge(source, edge_type, target, &[(weight, Value::from(1.0))]).unwrap();
        }
        transaction.commit().unwrap();
        Self { snapshot: open.store().snapshot() }
    }

    /// Runs `algorithm` on all of it.
    pub fn run(&self, algorithm: &Algorithm, arguments: &Arguments) -> Result<Answer> {
        self.run_on(algorithm, arguments, self.snapshot.budget())
    }

    /// The same with memory from `budget`.
    pub fn run_on(
        &self,
        algorithm: &Algorithm,
        arguments: &Arguments,
        budget: &dyn Budget,
    ) -> Result<Answer> {
        let scope = Scope::default();
        let input = Input::new(&self.snapshot, &scope, self);
        algorithm.run(&input, arguments, &Control::new(budget))
    }

    /// Ids of vertices in the lists that it freezes into: those between the last and the end of its group included.
    pub fn bound(&self) -> u64 {
        u64::from(self.snapshot.freeze(&Projection::all(Direction::Out)).unwrap().bound())
    }
}

impl Caller for Graph {
    fn key(&self, name: &str) -> Result<KeyId> {
        let catalogue = self.snapshot.catalogue();
        catalogue.key(name).ok_or_else(|| Error::new(ErrorKind::NotFound, format!("no property {name}")))
    }
}
