//! Engine: which one a simulation runs on, and what it may be asked.

use evergraph_disk_engine::engine::DiskEngine;
use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::durable_engine::DurableEngine;

/// An engine that a simulation runs on.
pub trait SimulatedEngine: DurableEngine {
    /// Whether files are read after opening too. Then a disk whose reads fail, or bring turned bits, is told to whoever
    /// reads a graph, and the comparison with the model is no such reader.
    const READS_WHEN_OPEN: bool;
}

impl SimulatedEngine for MemoryEngine {
    const READS_WHEN_OPEN: bool = false;
}

impl SimulatedEngine for DiskEngine {
    const READS_WHEN_OPEN: bool = true;
}

impl SimulatedEngine for MappedEngine {
    const READS_WHEN_OPEN: bool = true;
}
