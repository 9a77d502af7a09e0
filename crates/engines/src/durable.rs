//! Files of any engine: the manifest names the engine that opens them.

use crate::engine::{AnyDisplaced, AnyEngine, with_engine};
use crate::view::AnyView;
use evergraph_graph::error::Result;
use evergraph_graph::index::IndexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_memory_engine::engine::MemoryEngine;
use evergraph_storage::checkpoint::contract::{CheckpointOutcome, CheckpointSources, OnCheckpointProgress};
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::checkpoint::report::{CheckProgress, Report};
use evergraph_storage::durable_engine::{
    DurableEngine, EngineStep, LoadPlan, OnLoadProgress, OpenContext, OpenedEngine, PinnedFiles,
};
use evergraph_storage::index::fill::IndexFill;
use evergraph_storage::io::directory::Directory;
use evergraph_storage::salvage::new_database::SalvageTarget;
use evergraph_storage::salvage::salvaged::Salvaged;
use evergraph_storage::salvage::source::SalvageSource;

/// A load that an engine built.
#[derive(Debug)]
pub enum AnyLoad {
    /// The memory engine.
    Memory(<MemoryEngine as DurableEngine>::Load),
}

/// Which engine a manifest names.
#[derive(Clone, Copy)]
enum EngineKind {
    Memory,
}

impl EngineKind {
    /// Every one: a kind that is missing here is never made, and the compiler says so.
    const ALL: [Self; 1] = [Self::Memory];

    /// Whether the engine opens databases whose manifest names `engine`.
    fn opens(self, engine: &str) -> bool {
        match self {
            Self::Memory => MemoryEngine::opens(engine),
        }
    }

    /// Whether a file of this name belongs to the engine.
    fn is_file(self, name: &str) -> bool {
        match self {
            Self::Memory => MemoryEngine::is_file(name),
        }
    }

    fn named(engine: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.opens(engine))
    }

    /// The engine of a manifest that was read: another one would have been refused.
    fn of(engine: &str) -> Self {
        Self::named(engine).expect("a manifest is read if its engine is known")
    }
}

impl DurableEngine for AnyEngine {
    type Load = AnyLoad;

    /// A new database is the memory engine's.
    const NEW: &'static str = MemoryEngine::NEW;

    #[inline]
    fn opens(engine: &str) -> bool {
        EngineKind::named(engine).is_some()
    }

    #[inline]
    fn empty_section(engine: &str) -> Vec<u8> {
        match EngineKind::of(engine) {
            EngineKind::Memory => MemoryEngine::empty_section(engine),
        }
    }

    #[inline]
    fn is_file(name: &str) -> bool {
        EngineKind::ALL.into_iter().any(|kind| kind.is_file(name))
    }

    fn open(opening: &OpenContext<'_>) -> CheckpointResult<OpenedEngine<Self>> {
        match EngineKind::of(&opening.manifest.engine) {
            EngineKind::Memory => MemoryEngine::open(opening).map(|opened| opened.map(Self::Memory)),
        }
    }

    #[inline]
    fn checkpoint(
        &self,
        sources: &CheckpointSources<'_>,
        progress: &mut OnCheckpointProgress<'_>,
    ) -> CheckpointResult<CheckpointOutcome> {
        with_engine!(self, engine => engine.checkpoint(sources, progress))
    }

    #[inline]
    fn wants_checkpoint(&self) -> bool {
        with_engine!(self, engine => engine.wants_checkpoint())
    }

    fn holding<T>(&self, work: impl FnOnce() -> T) -> T {
        with_engine!(self, engine => engine.holding(work))
    }

    #[inline]
    fn pin_files(&self, manifest: &Manifest) -> CheckpointResult<Box<dyn PinnedFiles>> {
        with_engine!(self, engine => engine.pin_files(manifest))
    }

    #[inline]
    fn build_load(&self, plan: &LoadPlan<'_>, progress: &mut OnLoadProgress<'_>) -> Result<AnyLoad> {
        match self {
            Self::Memory(engine) => engine.build_load(plan, progress).map(AnyLoad::Memory),
        }
    }

    #[inline]
    fn view_load<'a>(&'a self, load: &'a AnyLoad, timestamp: Timestamp) -> AnyView<'a> {
        match (self, load) {
            (Self::Memory(engine), AnyLoad::Memory(load)) => {
                AnyView::Memory(engine.view_load(load, timestamp))
            }
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
        }
    }

    #[inline]
    fn install_load(&self, timestamp: Timestamp, load: &AnyLoad) -> AnyDisplaced {
        match (self, load) {
            (Self::Memory(engine), AnyLoad::Memory(load)) => {
                AnyDisplaced::Memory(engine.install_load(timestamp, load))
            }
        }
    }

    #[inline]
    fn run_background(&self) {
        with_engine!(self, engine => engine.run_background());
    }

    fn step(&self, step: EngineStep) {
        with_engine!(self, engine => engine.step(step));
    }

    #[inline]
    fn close(&self) {
        with_engine!(self, engine => engine.close());
    }

    #[inline]
    fn check_files(
        directory: &dyn Directory,
        manifest: &Manifest,
        report: &mut Report,
        progress: &mut CheckProgress<'_>,
    ) -> Result<()> {
        match EngineKind::of(&manifest.engine) {
            EngineKind::Memory => MemoryEngine::check_files(directory, manifest, report, progress),
        }
    }

    fn salvage(
        source: SalvageSource<'_>,
        target: &SalvageTarget<'_>,
        progress: &mut CheckProgress<'_>,
    ) -> Result<Salvaged> {
        match EngineKind::of(&source.manifest.engine) {
            EngineKind::Memory => MemoryEngine::salvage(source, target, progress),
        }
    }
}
