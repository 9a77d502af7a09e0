//! The disk engine as a `DurableEngine`.

use crate::durable::background;
use crate::durable::check::files::check_files;
use crate::durable::checkpoint::checkpoint;
use crate::durable::copy::PinnedCsrFiles;
use crate::durable::graph_writer::write_graph;
use crate::durable::load::built::{BuiltLoad, LoadContext};
use crate::durable::memory_limit::memory_limit;
use crate::durable::open::open_tuned;
use crate::durable::salvage::run::salvage;
use crate::durable::section::FileList;
use crate::engine::{DiskEngine, DisplacedState};
use crate::file::csr_file::CsrFile;
use crate::format::file_name::CsrFileName;
use crate::index_fill::{DiskIndexFill, OnFilled, used_up};
use crate::tuning::Tuning;
use crate::view::disk_view::DiskView;
use crate::view::view_sources::ViewSources;
use evergraph_graph::budget::Budget as _;
use evergraph_graph::error::Result;
use evergraph_graph::index::IndexId;
use evergraph_graph::timestamp::Timestamp;
use evergraph_storage::checkpoint::contract::{CheckpointOutcome, CheckpointSources, OnCheckpointProgress};
use evergraph_storage::checkpoint::error::CheckpointResult;
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

/// A checkpoint is due when replaced files have more bytes, while compactions go on: more than this, and than a share of the
/// set's.
const REPLACED_BYTES_MIN: u64 = 256 << 20;
/// One part in so many of the set's bytes.
const REPLACED_SHARE: u64 = 4;
/// What the memory of a load's sorting is called in a budget.
const SORTING_PURPOSE: &str = "sorting a load";

/// The part of the memory limit that writes of one transaction may take by default.
const TRANSACTION_DIVISOR: u64 = 8;

impl DurableEngine for DiskEngine {
    type Load = BuiltLoad<CsrFile>;

    const NEW: &'static str = Self::NAME;

    fn opens(engine: &str) -> bool {
        engine == Self::NAME
    }

    fn empty_section(_engine: &str) -> Vec<u8> {
        FileList::empty_section()
    }

    fn memory_limit(_engine: &str, asked_bytes: u64) -> Result<u64> {
        memory_limit(asked_bytes)
    }

    fn transaction_bytes_max(_engine: &str, memory_limit_bytes: u64) -> u64 {
        memory_limit_bytes / TRANSACTION_DIVISOR
    }

    fn is_file(name: &str) -> bool {
        CsrFileName::parse(name).is_some()
    }

    fn open(opening: &OpenContext<'_>) -> CheckpointResult<OpenedEngine<Self>> {
        open_tuned(opening, Tuning::default())
    }

    fn checkpoint(
        &self,
        sources: &CheckpointSources<'_>,
        progress: &mut OnCheckpointProgress<'_>,
    ) -> CheckpointResult<CheckpointOutcome> {
        checkpoint(self, sources, progress)
    }

    /// An index that no checkpoint has is built anew when the database is opened, and a compaction done again. Files that
    /// were replaced take space until then.
    fn wants_checkpoint(&self, is_closing: bool) -> bool {
        let files = self.files();
        let is_large = || {
            let current = self.tree().current();
            let set_bytes: u64 = current.set.iter().map(|file| file.stored().bytes()).sum();
            files.replaced_bytes() > REPLACED_BYTES_MIN.max(set_bytes / REPLACED_SHARE)
        };
        self.indexes().has_unnamed()
            || files.has_unnamed_outputs() && (is_closing || !self.is_compaction_due() || is_large())
    }

    fn holding<T>(&self, work: impl FnOnce() -> T) -> T {
        let _lock = self.files().lock_checkpoint();
        work()
    }

    fn pin_files(&self, manifest: &Manifest) -> CheckpointResult<Box<dyn PinnedFiles>> {
        let directory = &**self.files().directory();
        let list = FileList::of(directory, manifest)?;
        Ok(Box::new(PinnedCsrFiles::open(directory, &list)?))
    }

    fn build_load(
        &self,
        plan: &LoadPlan<'_>,
        progress: &mut OnLoadProgress<'_>,
    ) -> Result<BuiltLoad<CsrFile>> {
        // The gate is closed: the checkpoint behind the load, whose failure comes too late, finds nothing left to flush.
        self.flush_all()?;
        // Whoever loads may know nothing of the limit, as a generator.
        let memory_bytes = plan.memory_bytes.min(self.budget().limit_bytes() / 4);
        let _sorting = self.budget().reserve(SORTING_PURPOSE, memory_bytes)?;
        debug_assert!(plan.changes.is_empty(), "the store refuses them: `takes_vertex_changes`");
        let LoadPlan { load, numbers, ref indexed, .. } = *plan;
        let plan = &LoadPlan { load, numbers, memory_bytes, indexed: indexed.clone(), changes: Vec::new() };
        let (pin, newest) = (self.tree().pin(), self.timeline().published());
        let directory = self.files().directory();
        let context = LoadContext {
            directory,
            next_number: &|| self.files().take_number(),
            sources: &Self::sources(&pin, newest),
            newest,
            groups: self.groups(),
            set: pin.set(),
            filters: self.tuning().filters,
            open: &|stored| CsrFile::open(directory, stored, self.page_reader()),
        };
        BuiltLoad::build(plan, &context, progress)
    }

    fn view_load<'a>(&'a self, load: &'a BuiltLoad<CsrFile>, timestamp: Timestamp) -> Self::View<'a> {
        DiskView::new(load.groups(), ViewSources::List(load.sources()), timestamp)
    }

    fn fill_load<'a>(
        &'a self,
        load: &'a BuiltLoad<CsrFile>,
        index: IndexId,
        at: Timestamp,
    ) -> Result<Option<Box<dyn IndexFill + 'a>>> {
        let known = self.indexes().load().get(&index).map(|stored| stored.subject);
        let (subject, on_filled): (_, Box<OnFilled<'a>>) = match known {
            Some(subject) => (
                subject,
                Box::new(|run| {
                    load.add_entries(run);
                    Ok(())
                }),
            ),
            None => {
                let subject = self.indexes().take_subject().ok_or_else(used_up)?;
                let on_filled = move |run| {
                    load.add_index(index, subject, run);
                    Ok(())
                };
                (subject, Box::new(on_filled))
            }
        };
        Ok(Some(Box::new(DiskIndexFill::new(self, subject, at, on_filled)?)))
    }

    fn install_load(&self, timestamp: Timestamp, load: &BuiltLoad<CsrFile>) -> DisplacedState {
        self.loads().push(timestamp, load.touched());
        // Before the files: a compaction that sees them leaves out what no index is there for.
        for (index, subject) in load.new_indexes() {
            self.indexes().add_ready(index, subject, timestamp);
        }
        let replaced = load.install(self.tree(), self.groups());
        DisplacedState::of_load(replaced)
    }

    fn run_background(&self) {
        background::run(self);
    }

    fn step(&self, _step: EngineStep) {
        background::step(self);
    }

    fn close(&self) {
        self.pacing().close();
        // Others may open the database from now on, and have other files of the same names.
        self.page_reader().handles().close();
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
        write_graph(source, directory)
    }

    fn salvage(
        source: SalvageSource<'_>,
        target: &SalvageTarget<'_>,
        progress: &mut CheckProgress<'_>,
    ) -> Result<Salvaged> {
        salvage(source, target, progress)
    }
}
