//! Database: a graph that grows by a chain of persons, on a disk in memory that fails as planned.

use evergraph::engines::engine::AnyEngine;
use evergraph::graph::transaction::Transaction as _;
use evergraph::storage::io::environment::Environment;
use evergraph::storage::io::failing::FailingDirectory;
use evergraph::storage::io::memory::MemoryDirectory;
use evergraph::storage::open::{OpenOptions, OpenStore};
use evergraph::{Durability, EngineKind, ReadByName, Result, Value, VertexId};
use evergraph_tests::contents::Contents;
use evergraph_tests::store::{assert_healthy, open_synced, small_files};
use std::sync::Arc;

/// A database, the disk below it, and the failures between them.
pub struct Faulty {
    /// What a power cut leaves is taken from here.
    pub disk: MemoryDirectory,
    pub faults: FailingDirectory,
    pub open: OpenStore<AnyEngine>,
    engine: EngineKind,
}

impl Faulty {
    /// A database with `persons` in it.
    pub fn new(engine: EngineKind, persons: u64) -> Self {
        let disk = MemoryDirectory::new("db");
        let faults = FailingDirectory::new(Arc::new(disk.clone()));
        // Nothing goes on beside the caller: a planned failure meets what the test does next.
        let options =
            OpenOptions { environment: Environment::simulated(1), ..small_files(engine, Durability::Sync) };
        let open = OpenStore::<AnyEngine>::open(Arc::new(faults.clone()), &options).unwrap();
        open.store().create_unique_index("Person", "number").unwrap();
        let faulty = Self { disk, faults, open, engine };
        (0..persons).for_each(|_| faulty.add_person().unwrap());
        faulty
    }

    /// Adds the next person of the chain, who knows the one before.
    pub fn add_person(&self) -> Result<()> {
        self.open.store().transact(|tx| {
            // What a writer sees: after a failed sync that is one more than what is durable.
            let number = tx.vertices(Some("Person"))?.len() as u64;
            let (label, key) = (tx.label("Person")?, tx.key("number")?);
            let (knows, since) = (tx.edge_type("KNOWS")?, tx.key("since")?);
            let person = tx.add_vertex(label, &[(key, Value::I64(number as i64))])?;
            if let Some(before) = find(tx, number.wrapping_sub(1))? {
                tx.add_edge(person, knows, before, &[(since, Value::from(format!("year {number}")))])?;
            }
            Ok(())
        })
    }

    /// How many persons a snapshot shows.
    pub fn persons(&self) -> u64 {
        persons(&self.open)
    }

    pub fn contents(&self) -> Contents {
        contents(&self.open)
    }

    /// What the machine finds after a power cut, opened and sound.
    pub fn after_a_power_cut(&self) -> OpenStore<AnyEngine> {
        let found = open_synced(self.engine, &self.disk.power_cut()).unwrap();
        assert_healthy(&found);
        found
    }
}

fn find<V: evergraph::GraphView>(view: &V, number: u64) -> Result<Option<VertexId>> {
    view.find("Person", "number", number as i64)
}

/// How many persons a snapshot of `open` shows: a chain without a gap.
pub fn persons(open: &OpenStore<AnyEngine>) -> u64 {
    let snapshot = open.store().snapshot();
    let count = snapshot.vertices(Some("Person")).unwrap().len() as u64;
    assert!((0..count).all(|number| find(&snapshot, number).unwrap().is_some()), "a chain has no gap");
    count
}

/// Everything that a snapshot of `open` shows.
pub fn contents(open: &OpenStore<AnyEngine>) -> Contents {
    Contents::of(&open.store().snapshot(), 100)
}
