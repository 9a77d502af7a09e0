//! Parts: a store of a partition, closed and opened again, with power cuts in between.

use crate::shown::Shown;
use evergraph_graph::error::Result;
use evergraph_graph::id::PartitionId;
use evergraph_graph::mutation::Mutation;
use evergraph_graph::partition::{OwnGroups, PartitionCount};
use evergraph_graph::timestamp::Timestamp;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::store::Store;
use std::ops::ControlFlow;
use std::sync::Arc;

pub type Open = OpenStore<MemoryEngine>;

pub fn open(directory: &MemoryDirectory, own_groups: Option<OwnGroups>) -> Result<Open> {
    let options = OpenOptions {
        durability: Durability::None,
        environment: Environment::simulated(7),
        replay_batch_mutations: 3,
        own_groups,
        ..OpenOptions::default()
    };
    OpenStore::open(Arc::new(directory.clone()), &options)
}

pub fn own(partition: u16, count: u16) -> OwnGroups {
    OwnGroups::new(PartitionId(partition), PartitionCount::new(count).unwrap()).unwrap()
}

pub fn go_on(_: &str, _: u64, _: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A commit of the whole graph.
pub struct Decided {
    pub at: Timestamp,
    pub mutations: Vec<Mutation>,
    /// What the whole graph showed after it.
    pub shown: Shown,
}

pub struct Part {
    pub own: OwnGroups,
    pub directory: MemoryDirectory,
    pub open: Open,
}

impl Part {
    pub fn new(own: OwnGroups) -> Self {
        let directory = MemoryDirectory::new("part");
        let open = open(&directory, Some(own)).unwrap();
        Self { own, directory, open }
    }

    pub fn store(&self) -> &Store<MemoryEngine> {
        self.open.store()
    }

    pub fn published(&self) -> Timestamp {
        self.store().timeline().published()
    }

    /// Goes on behind what is published, as whoever has all commits does; of those that don't concern it, it gets some.
    pub fn apply_missing(&self, decided: &[Decided]) {
        for Decided { at, mutations, .. } in decided {
            let is_missing = !at.visible_at(self.published());
            let concerns = mutations.iter().any(|mutation| self.own.concerns(mutation));
            if is_missing && (concerns || at.0.is_multiple_of(3)) {
                self.store().apply(*at, mutations).unwrap();
            }
        }
    }

    pub fn reopen(&mut self, loses_power: bool) {
        match loses_power {
            true => self.directory = self.directory.power_cut(),
            false => self.open.close().unwrap(),
        }
        self.open = open(&self.directory, Some(self.own)).unwrap();
    }
}
