//! `AnyEngine`: one of the engines that a database can have.

use crate::kind::EngineKind;
use crate::topology::AnyTopology;
use crate::view::AnyView;
#[cfg(feature = "cluster")]
use evergraph_cluster::engine::cluster_engine::ClusterEngine;
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_disk_engine::statistics::TreeStatistics;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, GroupId, LabelId, TypeId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId};
use evergraph_graph::mutation::Mutation;
use evergraph_graph::timestamp::Timestamp;
use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph_mapped_engine::reader::reader_engine::MappedReader;
use evergraph_mapped_engine::statistics::MappedStatistics;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::engine::{ChangedSince, Engine, EngineStatistics, FreezeRequest, Key};
use evergraph_storage::index::changes::IndexChanges;
use evergraph_storage::index::fill::IndexFill;
use std::sync::Arc;
use std::time::Duration;

/// One of the storage engines.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one a database; the memory engine is read without a step more"
)]
pub enum AnyEngine {
    /// Records and bodies in RAM.
    Memory(MemoryEngine),
    /// Newest commits in RAM, the others in files.
    Disk(Box<DiskEngine>),
    /// Records in memory that processes share, bodies in mapped files.
    Mapped(Box<MappedEngine>),
    /// The same in a process that does not write.
    Reader(Box<MappedReader>),
    /// Partitions on the nodes of a cluster.
    #[cfg(feature = "cluster")]
    Cluster(Arc<ClusterEngine>),
}

/// What a snapshot holds on to in an engine.
#[derive(Debug)]
pub enum AnyPin {
    /// In the memory engine.
    Memory(<MemoryEngine as Engine>::Pin),
    /// In the disk engine.
    Disk(<DiskEngine as Engine>::Pin),
    /// In the mapped engine.
    Mapped(<MappedEngine as Engine>::Pin),
    /// In the mapped engine of a process that does not write.
    Reader(<MappedReader as Engine>::Pin),
    /// On the nodes of a cluster.
    #[cfg(feature = "cluster")]
    Cluster(<ClusterEngine as Engine>::Pin),
}

/// What an engine prepared for a commit.
#[derive(Debug)]
pub enum AnyPrepared {
    /// The memory engine.
    Memory(<MemoryEngine as Engine>::Prepared),
    /// The disk engine.
    Disk(<DiskEngine as Engine>::Prepared),
    /// The mapped engine.
    Mapped(<MappedEngine as Engine>::Prepared),
}

/// What a commit or a load replaced in an engine.
#[derive(Debug)]
pub enum AnyDisplaced {
    /// In the memory engine.
    Memory(<MemoryEngine as Engine>::Displaced),
    /// In the disk engine.
    Disk(<DiskEngine as Engine>::Displaced),
    /// In the mapped engine.
    Mapped(<MappedEngine as Engine>::Displaced),
}

/// Does the same with whichever engine it is.
macro_rules! with_engine {
    ($any:expr, $engine:ident => $call:expr) => {
        match $any {
            AnyEngine::Memory($engine) => $call,
            AnyEngine::Disk($engine) => $call,
            AnyEngine::Mapped($engine) => $call,
            AnyEngine::Reader($engine) => $call,
            #[cfg(feature = "cluster")]
            AnyEngine::Cluster($engine) => $call,
        }
    };
}

/// Why what belongs to one engine is never given to another.
#[cold]
pub(crate) fn of_another_engine() -> ! {
    unreachable!("a store has one engine, and gives it back what came from it")
}

impl AnyEngine {
    /// Which one it is.
    #[must_use]
    pub fn kind(&self) -> EngineKind {
        match self {
            Self::Memory(_) => EngineKind::Memory,
            Self::Disk(_) => EngineKind::Disk,
            Self::Mapped(_) | Self::Reader(_) => EngineKind::Mapped,
            #[cfg(feature = "cluster")]
            Self::Cluster(_) => EngineKind::Cluster,
        }
    }

    /// The numbers of an engine whose graph lies in a tree of files; `None` for the others. Cost: a look at each
    /// file.
    #[must_use]
    pub fn tree_statistics(&self) -> Option<TreeStatistics> {
        match self {
            Self::Disk(engine) => Some(engine.tree_statistics()),
            _ => None,
        }
    }

    /// What the mapped engine takes in its files, in the process that writes them; `None` for the others. Cost: a look at each
    /// file.
    #[must_use]
    pub fn mapped_statistics(&self) -> Option<MappedStatistics> {
        match self {
            Self::Mapped(engine) => Some(MappedStatistics::of(engine.graph())),
            _ => None,
        }
    }

    /// Brings everything that is readable now into the form in which it is read fastest. For tests, benchmarks and
    /// quiet times.
    pub fn merge_everything(&self) {
        match self {
            Self::Memory(engine) => engine.merge_everything(),
            Self::Disk(engine) => engine.merge_everything(),
            Self::Mapped(engine) => engine.merge_everything(),
            // Whoever writes merges.
            Self::Reader(_) => {}
            // Each node merges its own partitions.
            #[cfg(feature = "cluster")]
            Self::Cluster(_) => {}
        }
    }
}

impl Engine for AnyEngine {
    type Pin = AnyPin;
    type View<'a> = AnyView<'a>;
    type Topology = AnyTopology;
    type Prepared = AnyPrepared;
    type Displaced = AnyDisplaced;

    /// If one of them does.
    const KEEPS_INDEXES: bool =
        MemoryEngine::KEEPS_INDEXES || DiskEngine::KEEPS_INDEXES || MappedEngine::KEEPS_INDEXES;

    #[inline]
    fn keeps_index(&self, index: IndexId) -> bool {
        with_engine!(self, engine => engine.keeps_index(index))
    }

    #[inline]
    fn begin_index(&self, index: IndexId) {
        with_engine!(self, engine => engine.begin_index(index));
    }

    #[inline]
    fn fill_index<'a>(&'a self, index: IndexId, at: Timestamp) -> Result<Option<Box<dyn IndexFill + 'a>>> {
        with_engine!(self, engine => engine.fill_index(index, at))
    }

    #[inline]
    fn complete_index(&self, index: IndexId, at: Timestamp) {
        with_engine!(self, engine => engine.complete_index(index, at));
    }

    #[inline]
    fn drop_index(&self, index: IndexId) {
        with_engine!(self, engine => engine.drop_index(index));
    }

    #[inline]
    fn has_index(&self, index: IndexId) -> bool {
        with_engine!(self, engine => engine.has_index(index))
    }

    #[inline]
    fn retain_indexes(&self, is_kept: &dyn Fn(IndexId) -> bool) {
        with_engine!(self, engine => engine.retain_indexes(is_kept));
    }

    #[inline]
    fn leaving_entries(prepared: &AnyPrepared) -> &[Mutation] {
        match prepared {
            AnyPrepared::Memory(prepared) => MemoryEngine::leaving_entries(prepared),
            AnyPrepared::Disk(prepared) => DiskEngine::leaving_entries(prepared),
            AnyPrepared::Mapped(prepared) => MappedEngine::leaving_entries(prepared),
        }
    }

    #[inline]
    #[expect(clippy::unit_arg, reason = "a pin of the memory engine is empty, which is that engine's affair")]
    fn pin(&self, timestamp: Timestamp) -> AnyPin {
        match self {
            Self::Memory(engine) => AnyPin::Memory(engine.pin(timestamp)),
            Self::Disk(engine) => AnyPin::Disk(engine.pin(timestamp)),
            Self::Mapped(engine) => AnyPin::Mapped(engine.pin(timestamp)),
            Self::Reader(engine) => AnyPin::Reader(engine.pin(timestamp)),
            #[cfg(feature = "cluster")]
            Self::Cluster(engine) => AnyPin::Cluster(engine.pin(timestamp)),
        }
    }

    #[inline]
    fn view<'a>(&'a self, pin: &'a AnyPin, timestamp: Timestamp) -> AnyView<'a> {
        match (self, pin) {
            (Self::Memory(engine), AnyPin::Memory(pin)) => AnyView::Memory(engine.view(pin, timestamp)),
            (Self::Disk(engine), AnyPin::Disk(pin)) => AnyView::Disk(engine.view(pin, timestamp)),
            (Self::Mapped(engine), AnyPin::Mapped(pin)) => AnyView::Mapped(engine.view(pin, timestamp)),
            (Self::Reader(engine), AnyPin::Reader(pin)) => AnyView::Mapped(engine.view(pin, timestamp)),
            #[cfg(feature = "cluster")]
            (Self::Cluster(engine), AnyPin::Cluster(pin)) => AnyView::Cluster(engine.view(pin, timestamp)),
            _ => of_another_engine(),
        }
    }

    fn freeze(&self, pin: &AnyPin, timestamp: Timestamp, request: &FreezeRequest<'_>) -> Result<AnyTopology> {
        match (self, pin) {
            (Self::Memory(engine), AnyPin::Memory(pin)) => {
                engine.freeze(pin, timestamp, request).map(AnyTopology::Memory)
            }
            (Self::Disk(engine), AnyPin::Disk(pin)) => {
                engine.freeze(pin, timestamp, request).map(AnyTopology::Disk)
            }
            (Self::Mapped(engine), AnyPin::Mapped(pin)) => {
                engine.freeze(pin, timestamp, request).map(AnyTopology::Mapped)
            }
            (Self::Reader(engine), AnyPin::Reader(pin)) => {
                engine.freeze(pin, timestamp, request).map(AnyTopology::Mapped)
            }
            #[cfg(feature = "cluster")]
            (Self::Cluster(engine), AnyPin::Cluster(pin)) => match engine.freeze(pin, timestamp, request)? {},
            _ => of_another_engine(),
        }
    }

    #[inline]
    fn open_group(&self, group: GroupId, label: LabelId) {
        with_engine!(self, engine => engine.open_group(group, label));
    }

    #[inline]
    fn prepare(
        &self,
        mutations: &[Mutation],
        changes: &IndexChanges,
        patience: Duration,
    ) -> Result<AnyPrepared> {
        match self {
            Self::Memory(engine) => engine.prepare(mutations, changes, patience).map(AnyPrepared::Memory),
            Self::Disk(engine) => engine.prepare(mutations, changes, patience).map(AnyPrepared::Disk),
            Self::Mapped(engine) => engine.prepare(mutations, changes, patience).map(AnyPrepared::Mapped),
            Self::Reader(engine) => match engine.prepare(mutations, changes, patience)? {},
            #[cfg(feature = "cluster")]
            Self::Cluster(engine) => match engine.prepare(mutations, changes, patience)? {},
        }
    }

    #[inline]
    fn group_count(&self) -> u32 {
        with_engine!(self, engine => engine.group_count())
    }

    #[inline]
    fn has_group(&self, group: GroupId) -> bool {
        with_engine!(self, engine => engine.has_group(group))
    }

    #[inline]
    fn edge_types(&self, group: GroupId, side: Direction) -> Vec<TypeId> {
        with_engine!(self, engine => engine.edge_types(group, side))
    }

    #[inline]
    fn newer(&self, key: &Key, since: Timestamp) -> ChangedSince {
        with_engine!(self, engine => engine.newer(key, since))
    }

    #[inline]
    fn taken_discriminators(
        &self,
        source: VertexId,
        edge_type: TypeId,
        target: VertexId,
        taken: &mut Vec<u16>,
    ) -> Result<()> {
        with_engine!(self, engine => engine.taken_discriminators(source, edge_type, target, taken))
    }

    #[inline]
    fn append(&self, timestamp: Timestamp, prepared: AnyPrepared) -> AnyDisplaced {
        match (self, prepared) {
            (Self::Memory(engine), AnyPrepared::Memory(prepared)) => {
                AnyDisplaced::Memory(engine.append(timestamp, prepared))
            }
            (Self::Disk(engine), AnyPrepared::Disk(prepared)) => {
                AnyDisplaced::Disk(engine.append(timestamp, prepared))
            }
            (Self::Mapped(engine), AnyPrepared::Mapped(prepared)) => {
                AnyDisplaced::Mapped(engine.append(timestamp, prepared))
            }
            _ => of_another_engine(),
        }
    }

    #[inline]
    fn replay(&self, mutations: &[(Timestamp, Mutation)]) -> Result<()> {
        with_engine!(self, engine => engine.replay(mutations))
    }

    #[inline]
    fn catalogue_changed(&self, timestamp: Timestamp, catalogue: &Arc<Catalogue>) {
        with_engine!(self, engine => engine.catalogue_changed(timestamp, catalogue));
    }

    #[inline]
    fn readable_grew(&self) {
        with_engine!(self, engine => engine.readable_grew());
    }

    #[inline]
    fn shared_catalogue(&self, pin: &AnyPin) -> Option<Arc<Catalogue>> {
        match (self, pin) {
            (Self::Memory(engine), AnyPin::Memory(pin)) => engine.shared_catalogue(pin),
            (Self::Disk(engine), AnyPin::Disk(pin)) => engine.shared_catalogue(pin),
            (Self::Mapped(engine), AnyPin::Mapped(pin)) => engine.shared_catalogue(pin),
            (Self::Reader(engine), AnyPin::Reader(pin)) => engine.shared_catalogue(pin),
            #[cfg(feature = "cluster")]
            (Self::Cluster(engine), AnyPin::Cluster(pin)) => engine.shared_catalogue(pin),
            _ => of_another_engine(),
        }
    }

    #[inline]
    fn check_begun(&self, pin: &AnyPin) -> Result<()> {
        match (self, pin) {
            (Self::Memory(engine), AnyPin::Memory(pin)) => engine.check_begun(pin),
            (Self::Disk(engine), AnyPin::Disk(pin)) => engine.check_begun(pin),
            (Self::Mapped(engine), AnyPin::Mapped(pin)) => engine.check_begun(pin),
            (Self::Reader(engine), AnyPin::Reader(pin)) => engine.check_begun(pin),
            #[cfg(feature = "cluster")]
            (Self::Cluster(engine), AnyPin::Cluster(pin)) => engine.check_begun(pin),
            _ => of_another_engine(),
        }
    }

    fn shared_builds(&self, pin: &AnyPin) -> Vec<IndexDefinition> {
        match (self, pin) {
            (Self::Memory(engine), AnyPin::Memory(pin)) => engine.shared_builds(pin),
            (Self::Disk(engine), AnyPin::Disk(pin)) => engine.shared_builds(pin),
            (Self::Mapped(engine), AnyPin::Mapped(pin)) => engine.shared_builds(pin),
            (Self::Reader(engine), AnyPin::Reader(pin)) => engine.shared_builds(pin),
            #[cfg(feature = "cluster")]
            (Self::Cluster(engine), AnyPin::Cluster(pin)) => engine.shared_builds(pin),
            _ => of_another_engine(),
        }
    }

    fn shared_index(&self, pin: &AnyPin, index: IndexId) -> Option<Timestamp> {
        match (self, pin) {
            (Self::Memory(engine), AnyPin::Memory(pin)) => engine.shared_index(pin, index),
            (Self::Disk(engine), AnyPin::Disk(pin)) => engine.shared_index(pin, index),
            (Self::Mapped(engine), AnyPin::Mapped(pin)) => engine.shared_index(pin, index),
            (Self::Reader(engine), AnyPin::Reader(pin)) => engine.shared_index(pin, index),
            #[cfg(feature = "cluster")]
            (Self::Cluster(engine), AnyPin::Cluster(pin)) => engine.shared_index(pin, index),
            _ => of_another_engine(),
        }
    }

    #[inline]
    fn snapshot_ended(&self) {
        with_engine!(self, engine => engine.snapshot_ended());
    }

    #[inline]
    fn statistics(&self) -> EngineStatistics {
        with_engine!(self, engine => engine.statistics())
    }
}
