//! Counting reader: a partition whose store counts how often snapshots of it are opened, or refuses to.

use crate::log_position::LogPosition;
use crate::node::own_partitions::PartitionReader;
use crate::remote::partition_view::PartitionView;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::PartitionId;
use evergraph_graph::partition::{OwnGroups, PartitionCount};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::view::GraphView;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::io::environment::Environment;
use evergraph_storage::io::memory::MemoryDirectory;
use evergraph_storage::log::options::Durability;
use evergraph_storage::open::{OpenOptions, OpenStore};
use evergraph_storage::snapshot::index_entries::CheckTime;
use evergraph_storage::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// Reads a store without content, or refuses to.
pub(in crate::node) struct CountingReader {
    store: OpenStore<MemoryEngine>,
    is_refusing: bool,
    opens: AtomicU64,
}

/// The store of the first of two partitions.
pub(in crate::node) fn empty_store() -> OpenStore<MemoryEngine> {
    let count = PartitionCount::new(2).expect("two are possible");
    let options = OpenOptions {
        durability: Durability::None,
        environment: Environment::simulated(7),
        own_groups: Some(OwnGroups::new(PartitionId(0), count).expect("it is one of them")),
        ..OpenOptions::default()
    };
    OpenStore::open(Arc::new(MemoryDirectory::new("part")), &options).expect("nothing is there")
}

impl CountingReader {
    pub(in crate::node) fn new() -> Arc<Self> {
        Arc::new(Self { store: empty_store(), is_refusing: false, opens: AtomicU64::new(0) })
    }

    /// One that cannot be opened.
    pub(in crate::node) fn refusing() -> Arc<Self> {
        Arc::new(Self { store: empty_store(), is_refusing: true, opens: AtomicU64::new(0) })
    }

    /// How many snapshots of the store are open.
    pub(in crate::node) fn open(&self) -> u32 {
        self.store.store().statistics().readers
    }

    /// How often one was asked for.
    pub(in crate::node) fn opens(&self) -> u64 {
        self.opens.load(Ordering::Relaxed)
    }
}

impl PartitionReader for CountingReader {
    fn answer(&self, _: LogPosition, _: &[u8], _: CheckTime<'_>) -> Result<Vec<u8>> {
        panic!("no message comes here")
    }

    fn open_stage_view(&self, _: LogPosition) -> Result<Box<dyn GraphView>> {
        panic!("no query comes here")
    }

    fn open_partition_view(&self, _: LogPosition) -> Result<Box<dyn PartitionView>> {
        self.opens.fetch_add(1, Ordering::Relaxed);
        match self.is_refusing {
            true => Err(Error::conflict("it is merged away")),
            false => Ok(Box::new(self.store.store().snapshot_at(Timestamp::ZERO)?)),
        }
    }
}
