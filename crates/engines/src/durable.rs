//! Files of any engine: the manifest names the engine that opens them.

use crate::engine::{AnyDisplaced, AnyEngine, of_another_engine};
use crate::kind::EngineKind;
use crate::view::AnyView;
use evergraph_disk_engine::engine::DiskEngine;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::index::IndexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_mapped_engine::engine::mapped_engine::MappedEngine;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::checkpoint::contract::{CheckpointOutcome, CheckpointSources, OnCheckpointProgress};
use evergraph_storage::checkpoint::error::{CheckpointError, CheckpointResult};
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::checkpoint::report::{CheckProgress, Report};
use evergraph_storage::conversion::source::GraphSource;
use evergraph_storage::durable_engine::{
    DurableEngine, EngineStep, LoadPlan, OnLoadProgress, OpenContext, OpenedEngine, PinnedFiles,
};
use evergraph_storage::index::fill::IndexFill;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::salvage::new_database::SalvageTarget;
use evergraph_storage::salvage::salvaged::Salvaged;
use evergraph_storage::salvage::source::SalvageSource;
use evergraph_storage::view::View;
use std::sync::Arc;

/// A load that an engine built.
#[derive(Debug)]
pub enum AnyLoad {
    /// The memory engine.
    Memory(<MemoryEngine as DurableEngine>::Load),
    /// The disk engine.
    Disk(<DiskEngine as DurableEngine>::Load),
    /// The mapped engine.
    Mapped(<MappedEngine as DurableEngine>::Load),
}

/// Does the same with whichever engine it is, of those that write.
macro_rules! with_writer {
    ($any:expr, $engine:ident => $call:expr, else $other:expr) => {
        match $any {
            AnyEngine::Memory($engine) => $call,
            AnyEngine::Disk($engine) => $call,
            AnyEngine::Mapped($engine) => $call,
            AnyEngine::Reader(_) => $other,
            #[cfg(feature = "cluster")]
            AnyEngine::Cluster(_) => $other,
        }
    };
}

/// Does the same with whichever engine a manifest names.
macro_rules! with_engine_named {
    ($name:expr, $engine:ident => $call:expr) => {
        match kind_of($name) {
            EngineKind::Memory => {
                type $engine = MemoryEngine;
                $call
            }
            EngineKind::Disk => {
                type $engine = DiskEngine;
                $call
            }
            EngineKind::Mapped => {
                type $engine = MappedEngine;
                $call
            }
            EngineKind::Cluster => in_no_manifest(),
        }
    };
}

/// Why no manifest names the engine of a cluster.
#[cold]
fn in_no_manifest() -> ! {
    unreachable!("a manifest is read if a database can be created with its engine")
}

/// What a process that does not write files can't do: its store says so ahead of this.
#[cold]
fn only_reads() -> Error {
    Error::invalid("the files of the database are not written by this process")
}

/// The engine of a manifest that was read: another one would have been refused.
fn kind_of(engine: &str) -> EngineKind {
    EngineKind::named(engine).expect("a manifest is read if its engine is known")
}

impl DurableEngine for AnyEngine {
    type Load = AnyLoad;

    const NEW: &'static str = EngineKind::DEFAULT.name();

    #[inline]
    fn opens(engine: &str) -> bool {
        EngineKind::named(engine).is_some()
    }

    fn takes_partition(engine: &str) -> bool {
        with_engine_named!(engine, NamedEngine => NamedEngine::takes_partition(engine))
    }

    #[inline]
    fn empty_section(engine: &str) -> Vec<u8> {
        with_engine_named!(engine, NamedEngine => NamedEngine::empty_section(engine))
    }

    fn memory_limit(engine: &str, asked_bytes: u64) -> Result<u64> {
        with_engine_named!(engine, NamedEngine => NamedEngine::memory_limit(engine, asked_bytes))
    }

    fn transaction_bytes_max(engine: &str, memory_limit_bytes: u64) -> u64 {
        with_engine_named!(engine, NamedEngine => NamedEngine::transaction_bytes_max(engine, memory_limit_bytes))
    }

    #[inline]
    fn is_file(name: &str) -> bool {
        Self::engine_of_file(name).is_some()
    }

    #[inline]
    fn engine_of_file(name: &str) -> Option<&'static str> {
        MemoryEngine::engine_of_file(name)
            .or_else(|| DiskEngine::engine_of_file(name))
            .or_else(|| MappedEngine::engine_of_file(name))
    }

    fn open(opening: &OpenContext<'_>) -> CheckpointResult<OpenedEngine<Self>> {
        match kind_of(&opening.manifest.engine) {
            EngineKind::Memory => MemoryEngine::open(opening).map(|opened| opened.map(Self::Memory)),
            EngineKind::Disk => {
                DiskEngine::open(opening).map(|opened| opened.map(|engine| Self::Disk(Box::new(engine))))
            }
            EngineKind::Mapped => {
                MappedEngine::open(opening).map(|opened| opened.map(|engine| Self::Mapped(Box::new(engine))))
            }
            EngineKind::Cluster => in_no_manifest(),
        }
    }

    #[inline]
    fn checkpoint(
        &self,
        sources: &CheckpointSources<'_>,
        progress: &mut OnCheckpointProgress<'_>,
    ) -> CheckpointResult<CheckpointOutcome> {
        with_writer!(self, engine => engine.checkpoint(sources, progress), else Err(CheckpointError::Refused(only_reads())))
    }

    #[inline]
    fn wants_checkpoint(&self, is_closing: bool) -> bool {
        with_writer!(self, engine => engine.wants_checkpoint(is_closing), else false)
    }

    fn holding<T>(&self, work: impl FnOnce() -> T) -> T {
        with_writer!(self, engine => engine.holding(work), else work())
    }

    #[inline]
    fn pin_files(&self, manifest: &Manifest) -> CheckpointResult<Box<dyn PinnedFiles>> {
        with_writer!(self, engine => engine.pin_files(manifest), else Err(CheckpointError::Refused(only_reads())))
    }

    fn takes_vertex_changes(&self) -> bool {
        match self {
            Self::Memory(engine) => engine.takes_vertex_changes(),
            Self::Disk(engine) => engine.takes_vertex_changes(),
            Self::Mapped(engine) => engine.takes_vertex_changes(),
            Self::Reader(_) => false,
            #[cfg(feature = "cluster")]
            Self::Cluster(_) => false,
        }
    }

    #[inline]
    fn build_load(&self, plan: &LoadPlan<'_>, progress: &mut OnLoadProgress<'_>) -> Result<AnyLoad> {
        match self {
            Self::Memory(engine) => engine.build_load(plan, progress).map(AnyLoad::Memory),
            Self::Disk(engine) => engine.build_load(plan, progress).map(AnyLoad::Disk),
            Self::Mapped(engine) => engine.build_load(plan, progress).map(AnyLoad::Mapped),
            Self::Reader(_) => Err(only_reads()),
            #[cfg(feature = "cluster")]
            Self::Cluster(_) => Err(only_reads()),
        }
    }

    #[inline]
    fn view_load<'a>(&'a self, load: &'a AnyLoad, timestamp: Timestamp) -> AnyView<'a> {
        match (self, load) {
            (Self::Memory(engine), AnyLoad::Memory(load)) => {
                AnyView::Memory(engine.view_load(load, timestamp))
            }
            (Self::Disk(engine), AnyLoad::Disk(load)) => AnyView::Disk(engine.view_load(load, timestamp)),
            (Self::Mapped(engine), AnyLoad::Mapped(load)) => {
                AnyView::Mapped(engine.view_load(load, timestamp))
            }
            _ => of_another_engine(),
        }
    }

    #[inline]
    fn fill_load<'a>(
        &'a self,
        load: &'a AnyLoad,
        index: IndexId,
        at: Timestamp,
    ) -> Result<Option<Box<dyn IndexFill + 'a>>> {
        match (self, load) {
            (Self::Memory(engine), AnyLoad::Memory(load)) => engine.fill_load(load, index, at),
            (Self::Disk(engine), AnyLoad::Disk(load)) => engine.fill_load(load, index, at),
            (Self::Mapped(engine), AnyLoad::Mapped(load)) => engine.fill_load(load, index, at),
            _ => of_another_engine(),
        }
    }

    #[inline]
    fn install_load(&self, timestamp: Timestamp, load: &AnyLoad) -> AnyDisplaced {
        match (self, load) {
            (Self::Memory(engine), AnyLoad::Memory(load)) => {
                AnyDisplaced::Memory(engine.install_load(timestamp, load))
            }
            (Self::Disk(engine), AnyLoad::Disk(load)) => {
                AnyDisplaced::Disk(engine.install_load(timestamp, load))
            }
            (Self::Mapped(engine), AnyLoad::Mapped(load)) => {
                AnyDisplaced::Mapped(engine.install_load(timestamp, load))
            }
            _ => of_another_engine(),
        }
    }

    #[inline]
    fn run_background(&self) {
        with_writer!(self, engine => engine.run_background(), else ());
    }

    fn step(&self, step: EngineStep) {
        with_writer!(self, engine => engine.step(step), else ());
    }

    #[inline]
    fn let_go(&self) {
        with_writer!(self, engine => engine.let_go(), else ())
    }

    fn close(&self) {
        match self {
            Self::Memory(engine) => engine.close(),
            Self::Disk(engine) => engine.close(),
            Self::Mapped(engine) => engine.close(),
            Self::Reader(engine) => engine.close(),
            // Whoever opened its node closes it.
            #[cfg(feature = "cluster")]
            Self::Cluster(_) => {}
        }
    }

    #[inline]
    fn check_files(
        directory: &dyn Directory,
        manifest: &Manifest,
        report: &mut Report,
        progress: &mut CheckProgress<'_>,
    ) -> Result<()> {
        with_engine_named!(&manifest.engine, NamedEngine => NamedEngine::check_files(directory, manifest, report, progress))
    }

    fn write_graph<V: View>(
        engine: &str,
        source: &mut GraphSource<'_, V>,
        directory: &Arc<dyn Directory>,
    ) -> Result<(Manifest, u64)> {
        with_engine_named!(engine, NamedEngine => NamedEngine::write_graph(engine, source, directory))
    }

    fn salvage(
        source: SalvageSource<'_>,
        target: &SalvageTarget<'_>,
        progress: &mut CheckProgress<'_>,
    ) -> Result<Salvaged> {
        with_engine_named!(&source.manifest.engine, NamedEngine => NamedEngine::salvage(source, target, progress))
    }
}
