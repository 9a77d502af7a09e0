//! The memory engine behind `DurableEngine`: its files are those of its checkpoints.

use crate::checkpoint::contract::{CheckpointSources, Checkpointed, TellCheckpoint};
use crate::checkpoint::error::CheckpointResult;
use crate::checkpoint::manifest::Manifest;
use crate::checkpoint::report::{CheckProgress, Report};
use crate::durable_engine::{DurableEngine, EngineStep, LoadPlan, Opened, Opening, PinnedFiles, TellLoad};
use crate::io::directory::Directory;
use crate::memory::checkpoint::body_file::file_number;
use crate::memory::checkpoint::check::check_files;
use crate::memory::checkpoint::copy::PinnedBodies;
use crate::memory::checkpoint::read;
use crate::memory::checkpoint::segment_list::SegmentList;
use crate::memory::checkpoint::write::Checkpointer;
use crate::memory::engine::{Displaced, MemoryEngine};
use crate::memory::load::build::BuiltLoad;
use crate::memory::salvage::run::salvage;
use crate::memory::segments::Segments;
use crate::memory::view::MemoryView;
use crate::salvage::new_database::SalvageTarget;
use crate::salvage::salvaged::Salvaged;
use crate::salvage::source::SalvageSource;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use std::sync::Arc;

impl DurableEngine for MemoryEngine {
    type Load = BuiltLoad;

    const NEW: &'static str = Self::NAME;

    fn opens(engine: &str) -> bool {
        engine == Self::NAME
    }

    fn empty_section(_engine: &str) -> Vec<u8> {
        SegmentList::empty_section()
    }

    fn is_file(name: &str) -> bool {
        file_number(name).is_some()
    }

    fn open(opening: &Opening<'_>) -> CheckpointResult<Opened<Self>> {
        let Opening { directory, manifest, timeline, background } = *opening;
        let list = SegmentList::of(&**directory, manifest)?;
        let checkpointer = Checkpointer::open(Arc::clone(directory), manifest, &list)?;
        let segments = Segments::new(Arc::clone(timeline));
        let attach = |group| segments.attach(Arc::new(group));
        let loaded = read::load(&**directory, &manifest.groups, &list, background, attach)?;
        let engine = Self::with_files(segments, checkpointer);
        Ok(Opened { engine, bytes_count: loaded.bytes_count })
    }

    fn checkpoint(
        &self,
        sources: &CheckpointSources<'_>,
        progress: &mut TellCheckpoint<'_>,
    ) -> CheckpointResult<Checkpointed> {
        self.checkpointer().checkpoint(Self::NAME, self.segments(), sources, progress)
    }

    fn holding<T>(&self, work: impl FnOnce() -> T) -> T {
        self.checkpointer().holding(work)
    }

    fn pin_files(&self, manifest: &Manifest) -> CheckpointResult<Box<dyn PinnedFiles>> {
        let directory = &**self.checkpointer().directory();
        let list = SegmentList::of(directory, manifest)?;
        Ok(Box::new(PinnedBodies::open(directory, &list)?))
    }

    fn build_load(&self, plan: &LoadPlan<'_>, progress: &mut TellLoad<'_>) -> Result<BuiltLoad> {
        BuiltLoad::new(self.segments(), plan, progress)
    }

    fn view_load<'a>(&'a self, load: &'a BuiltLoad, timestamp: Timestamp) -> MemoryView<'a> {
        load.view(timestamp)
    }

    fn install_load(&self, timestamp: Timestamp, load: &BuiltLoad) -> Displaced {
        Displaced::of_load(load.install(self.segments(), timestamp))
    }

    fn run_background(&self) {
        self.segments().run_merges();
    }

    fn step(&self, step: EngineStep) {
        self.step_merges(step == EngineStep::Idle);
    }

    fn close(&self) {
        self.segments().merger().close();
    }

    fn check_files(
        directory: &dyn Directory,
        manifest: &Manifest,
        report: &mut Report,
        progress: &mut CheckProgress<'_>,
    ) -> Result<()> {
        check_files(directory, manifest, report, progress)
    }

    fn salvage(
        source: SalvageSource<'_>,
        target: &SalvageTarget<'_>,
        progress: &mut CheckProgress<'_>,
    ) -> Result<Salvaged> {
        salvage(source, target, progress)
    }
}
