//! The memory engine as a `DurableEngine`: its files are those of its checkpoints.

use crate::checkpoint::body_file::file_number;
use crate::checkpoint::check::check_files;
use crate::checkpoint::copy::PinnedBodies;
use crate::checkpoint::read;
use crate::checkpoint::segment_list::SegmentList;
use crate::checkpoint::write::Checkpointer;
use crate::engine::{DisplacedVersions, MemoryEngine};
use crate::load::build::BuiltLoad;
use crate::salvage::new_bodies::NewBodies;
use crate::salvage::run::salvage;
use crate::segments::Segments;
use crate::view::MemoryView;
use evergraph_bodies::graph_bodies::write_bodies;
use evergraph_graph::error::Result;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::contract::{CheckpointOutcome, CheckpointSources, OnCheckpointProgress};
use evergraph_storage::checkpoint::error::CheckpointResult;
use evergraph_storage::checkpoint::manifest::Manifest;
use evergraph_storage::checkpoint::report::{CheckProgress, Report};
use evergraph_storage::conversion::source::GraphSource;
use evergraph_storage::durable_engine::{
    DurableEngine, EngineStep, LoadPlan, OnLoadProgress, OpenContext, OpenedEngine, PinnedFiles,
};
use evergraph_storage::io::directory::Directory;
use evergraph_storage::salvage::new_database::SalvageTarget;
use evergraph_storage::salvage::salvaged::Salvaged;
use evergraph_storage::salvage::source::SalvageSource;
use evergraph_storage::view::View;
use std::sync::Arc;

impl DurableEngine for MemoryEngine {
    type Load = BuiltLoad;

    const NEW: &'static str = Self::NAME;

    fn opens(engine: &str) -> bool {
        engine == Self::NAME
    }

    fn takes_partition(engine: &str) -> bool {
        engine == Self::NAME
    }

    fn empty_section(_engine: &str) -> Vec<u8> {
        SegmentList::empty_section()
    }

    fn is_file(name: &str) -> bool {
        file_number(name).is_some()
    }

    fn open(opening: &OpenContext<'_>) -> CheckpointResult<OpenedEngine<Self>> {
        let OpenContext { directory, manifest, timeline, background, budget, .. } = *opening;
        let list = SegmentList::of(&**directory, manifest)?;
        let checkpointer = Checkpointer::open(Arc::clone(directory), manifest, &list)?;
        let segments = Segments::new(Arc::clone(timeline)).of_groups(manifest.partition);
        let attach = |group| segments.attach(Arc::new(group));
        let loaded = read::load(&**directory, &manifest.groups, &list, background, attach)?;
        let engine = Self::with_files(segments, checkpointer, budget);
        Ok(OpenedEngine { engine, bytes_count: loaded.bytes_count })
    }

    fn checkpoint(
        &self,
        sources: &CheckpointSources<'_>,
        progress: &mut OnCheckpointProgress<'_>,
    ) -> CheckpointResult<CheckpointOutcome> {
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

    fn takes_vertex_changes(&self) -> bool {
        true
    }

    fn build_load(&self, plan: &LoadPlan<'_>, progress: &mut OnLoadProgress<'_>) -> Result<BuiltLoad> {
        BuiltLoad::new(self.segments(), plan, progress)
    }

    fn view_load<'a>(&'a self, load: &'a BuiltLoad, timestamp: Timestamp) -> MemoryView<'a> {
        load.view(timestamp)
    }

    fn install_load(&self, timestamp: Timestamp, load: &BuiltLoad) -> DisplacedVersions {
        DisplacedVersions::of_load(load.install(self.segments(), timestamp))
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

    fn write_graph<V: View>(
        _engine: &str,
        source: &mut GraphSource<'_, V>,
        directory: &Arc<dyn Directory>,
    ) -> Result<(Manifest, u64)> {
        let mut bodies = NewBodies::new(directory, source.timestamp());
        write_bodies(source, &mut bodies)?;
        bodies.into_manifest(source.catalogue().clone(), source.groups().to_vec())
    }

    fn salvage(
        source: SalvageSource<'_>,
        target: &SalvageTarget<'_>,
        progress: &mut CheckProgress<'_>,
    ) -> Result<Salvaged> {
        salvage(source, target, progress)
    }
}
